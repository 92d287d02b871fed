//! The socket that is listened on: taken, inherited from the process that took it, accepted from.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcp, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener as StdUnix, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, getsockname};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;

use crate::bind::BindError;
use crate::transport::socket::Socket;

/// Connections that may wait to be accepted. Listeners come back all at once when a server is restarted.
const BACKLOG: i32 = 1024;

/// How often, and after what pause, a folder is tried that somebody has locked: a second in all.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Where is listened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    /// As it stands in a URL. That of a Unix socket is spelled as proxies spell it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}:", path.display()),
        }
    }
}

/// A socket that is listened on. Connections wait until somebody accepts them.
#[derive(Debug)]
pub struct BoundSocket {
    socket: StdSocket,
    address: Address,
}

#[derive(Debug)]
enum StdSocket {
    Tcp(StdTcp),
    Unix(StdUnix),
}

impl BoundSocket {
    /// Takes a port.
    pub fn tcp(host: &str, port: u16) -> Result<Self, BindError> {
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let asked = if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse(asked.clone()),
            io::ErrorKind::PermissionDenied => BindError::Denied(asked.clone()),
            io::ErrorKind::AddrNotAvailable => BindError::NoAddress(asked.clone()),
            _ => BindError::Other {
                address: asked.clone(),
                source,
            },
        };
        let addresses: Vec<_> = (host, port)
            .to_socket_addrs()
            .map_err(|_| BindError::NoAddress(host.to_owned()))?
            .collect();
        let socket = StdTcp::bind(&addresses[..]).map_err(fail)?;
        // Said anew: the standard library lets 128 wait, of whom the rest would knock again after a second.
        rustix::net::listen(&socket, BACKLOG).map_err(|error| fail(error.into()))?;
        socket.set_nonblocking(true).map_err(fail)?;
        let address = Address::Tcp(socket.local_addr().map_err(fail)?);
        Ok(Self {
            socket: StdSocket::Tcp(socket),
            address,
        })
    }

    /// Makes a Unix socket. One that was left behind gives way; one that is in use, and anything else
    /// at this path, stays.
    pub fn unix(path: &Path) -> Result<Self, BindError> {
        let asked = || path.display().to_string();
        if path.as_os_str().is_empty() {
            return Err(BindError::NoPath);
        }
        // Until this one listens: others who start now would take it for one that was left behind.
        let _alone = lock_folder(path);
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(BindError::NoSocket(asked()));
            }
            // Whoever listens accepts, or lets too many wait; nobody there refuses.
            match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(path);
                }
                _ => return Err(BindError::UnixInUse(asked())),
            }
        }
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::UnixInUse(asked()),
            _ => BindError::Other {
                address: asked(),
                source,
            },
        };
        let socket = StdUnix::bind(path).map_err(fail)?;
        rustix::net::listen(&socket, BACKLOG).map_err(|error| fail(error.into()))?;
        socket.set_nonblocking(true).map_err(fail)?;
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self {
            socket: StdSocket::Unix(socket),
            address: Address::Unix(path),
        })
    }

    /// A socket that another process has taken.
    pub fn inherited(socket: OwnedFd) -> io::Result<Self> {
        let name = getsockname(&socket)?;
        if name.address_family() == AddressFamily::UNIX {
            let socket = StdUnix::from(socket);
            socket.set_nonblocking(true)?;
            let path = socket.local_addr()?.as_pathname().map(Path::to_owned);
            return Ok(Self {
                socket: StdSocket::Unix(socket),
                address: Address::Unix(path.unwrap_or_default()),
            });
        }
        let address = SocketAddr::try_from(name)?;
        let socket = StdTcp::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: StdSocket::Tcp(socket),
            address: Address::Tcp(address),
        })
    }

    /// Where.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What a process that inherits it needs.
    pub fn into_fd(self) -> OwnedFd {
        match self.socket {
            StdSocket::Tcp(socket) => socket.into(),
            StdSocket::Unix(socket) => socket.into(),
        }
    }

    /// Lets connections be accepted by this runtime.
    pub(crate) fn listener(self) -> io::Result<Listener> {
        Ok(match self.socket {
            StdSocket::Tcp(socket) => Listener::Tcp(TcpListener::from_std(socket)?),
            StdSocket::Unix(socket) => Listener::Unix(UnixListener::from_std(socket)?),
        })
    }
}

/// Lets one process at a time look at what is in a folder and make its own socket there. Nothing is left
/// of it. Where folders cannot be locked, or somebody has this one for long, it goes without.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder?,
    };
    let folder = File::open(folder).ok()?;
    for _ in 0..LOCK_TRIES {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// The file of a Unix socket, removed with this, unless it has become another's meanwhile.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl SocketFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: Self::id(path),
        }
    }

    fn id(path: &Path) -> Option<(u64, u64)> {
        let found = fs::symlink_metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.file.is_some() && Self::id(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Accepts.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// How long to wait when there are no file descriptors left: closing connections give some back.
const EXHAUSTED: Duration = Duration::from_millis(50);

impl Listener {
    /// The next connection, and who is at its other end where that has an address.
    pub(crate) async fn accept(&self) -> (Socket, Option<SocketAddr>) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        loop {
            let accepted = match self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, peer)| {
                    // Answers are written whole; waiting for more to write only delays them.
                    let _ = stream.set_nodelay(true);
                    (Socket::Tcp(stream), Some(peer))
                }),
                Self::Unix(listener) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| (Socket::Unix(stream), None)),
            };
            match accepted {
                Ok(accepted) => return accepted,
                Err(error) => match error.kind() {
                    ConnectionAborted | ConnectionRefused | ConnectionReset => {}
                    _ => {
                        tracing::error!("cannot accept a connection: {error}");
                        sleep(EXHAUSTED).await;
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn of_two_who_find_a_socket_that_was_left_behind_one_gets_its_place() {
        let path = std::env::temp_dir().join(format!("snodo-{}.sock", process::id()));
        let _ = fs::remove_file(&path);
        drop(StdUnix::bind(&path).expect("a socket"));
        for _ in 0..200 {
            let barrier = Barrier::new(2);
            let bind = || {
                barrier.wait();
                let bound = BoundSocket::unix(&path);
                // Both have looked before either of them is gone.
                barrier.wait();
                bound.is_ok()
            };
            let (one, other) = thread::scope(|scope| {
                let one = scope.spawn(bind);
                (bind(), one.join().expect("no panic"))
            });
            assert!(one != other, "one of them serves: {one} {other}");
        }
        fs::remove_file(&path).expect("the last one's");
    }
}
