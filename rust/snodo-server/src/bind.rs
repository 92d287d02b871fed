//! Bind, accept, connection limit, graceful stop.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::service::Service;
use crate::transport::connection;
use crate::transport::http::Endpoint;
use crate::transport::mailbox;
use crate::transport::origin::{BadEntry, Gate};
use crate::transport::scrape::METRICS;

/// Where and for whom to serve over HTTP. Bounds come from the runtime's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// A host name or address.
    pub host: String,
    /// 0 for any free one.
    pub port: u16,
    /// Of the endpoint.
    pub path: String,
    /// Names in `Host` besides those of loopback: `app.example`, `app.example:8000`, `*.example`, `*`.
    pub allowed_hosts: Vec<String>,
    /// Origins besides those of loopback: `https://app.example`, `*.example`, `null`, `*`.
    pub allowed_origins: Vec<String>,
    /// Whether clients of 2024-11-05 are served too, at `/sse` and `/messages`.
    pub legacy_sse: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            path: "/mcp".to_owned(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            legacy_sse: false,
        }
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody listens there.
    #[error("{0} is in use: another server is running there, or --port names another port")]
    InUse(String),
    /// Ports below 1024 belong to the administrator on most systems.
    #[error("not allowed to listen on {0}: --port takes one from 1024 on")]
    Denied(String),
    /// The host has no address, or not one of this machine's.
    #[error("{0} is not an address of this machine: --host takes one, or 0.0.0.0 for all")]
    NoAddress(String),
    /// A path without a slash at its beginning, or with more than a path in it.
    #[error("path {0:?} must begin with a slash and hold neither spaces, ? nor #")]
    Path(String),
    /// HTTP+SSE is served there.
    #[error("path {0:?} is taken by --legacy-sse: --path takes another one")]
    Taken(String),
    /// Metrics are served there.
    #[error("path {0:?} is taken by --metrics: --path takes another one")]
    Metrics(String),
    /// An entry of an allow-list that names nothing.
    #[error(transparent)]
    Entry(#[from] BadEntry),
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Other {
        /// What was asked for.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A server that has its port and waits to be started.
pub struct HttpServer {
    socket: StdListener,
    address: SocketAddr,
    endpoint: Arc<Endpoint>,
}

impl HttpServer {
    /// Takes the port. Needs no async runtime, so that a mistake is told before anything runs.
    pub fn bind(service: Arc<Service>, options: &HttpOptions) -> Result<Self, BindError> {
        let path = &options.path;
        if !path.starts_with('/') || path.contains(|c: char| "?# ".contains(c) || c.is_control()) {
            return Err(BindError::Path(path.clone()));
        }
        let bare = path.trim_end_matches('/');
        if options.legacy_sse && [mailbox::STREAM, mailbox::MESSAGES].contains(&bare) {
            return Err(BindError::Taken(path.clone()));
        }
        if bare == METRICS && service.telemetry().is_some_and(|it| it.metrics().is_some()) {
            return Err(BindError::Metrics(path.clone()));
        }
        let (socket, address) = listen(&options.host, options.port)?;
        let gate = Gate::new(
            address.ip().is_loopback(),
            &options.allowed_hosts,
            &options.allowed_origins,
        )?;
        make_room(service.limits().connections);
        let endpoint = Arc::new(Endpoint::new(service, path, gate, options.legacy_sse));
        Ok(Self {
            socket,
            address,
            endpoint,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`, then lets what runs finish for as long as the limits say.
    ///
    /// Connections without a request are closed at once, half-sent requests are answered with 503.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let listener = TcpListener::from_std(self.socket)?;
        let limits = self.endpoint.limits();
        let (close, closing) = watch::channel(false);
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = shutdown.as_mut() => break,
                Some(_) = connections.join_next() => {}
                stream = accept(&listener) => {
                    if connections.len() < limits.connections {
                        connections.spawn(connection::serve(
                            stream,
                            self.endpoint.clone(),
                            closing.clone(),
                        ));
                    } else {
                        tracing::warn!(
                            "closed a connection unread: {} are open, the most that limits allow",
                            connections.len()
                        );
                    }
                }
            }
        }
        drop(listener);
        close.send_replace(true);
        let loose = &self.endpoint.loose;
        loose.stop();
        let drained = async {
            while connections.join_next().await.is_some() {}
            loose.ended().await;
        };
        if timeout(limits.drain_timeout, drained).await.is_err() {
            tracing::warn!(
                "closed {} connections before they were done",
                connections.len()
            );
        }
        loose.close();
        connections.shutdown().await;
        Ok(())
    }
}

/// Connections that may wait to be accepted. Listeners come back all at once when a server is restarted.
const BACKLOG: i32 = 1024;

/// File descriptors for everything but connections.
const OWN_FILES: u64 = 256;

/// Lets the process have as many files open as the limits allow connections, as far as the system lets
/// it: what many systems begin with is less.
fn make_room(connections: usize) {
    let wanted = OWN_FILES.saturating_add(connections as u64);
    let limit = getrlimit(Resource::Nofile);
    let possible = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|current| current < possible) {
        let raised = Rlimit {
            current: Some(possible),
            ..limit
        };
        // Refused, it is as before: connections wait until others close.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// How long to wait when there are no file descriptors left: closing connections give some back.
const EXHAUSTED: Duration = Duration::from_millis(50);

async fn accept(listener: &TcpListener) -> TcpStream {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole; waiting for more to write only delays them.
                let _ = stream.set_nodelay(true);
                return stream;
            }
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

fn listen(host: &str, port: u16) -> Result<(StdListener, SocketAddr), BindError> {
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
    let socket = StdListener::bind(&addresses[..]).map_err(fail)?;
    // Said anew: the standard library lets 128 wait, of whom the rest would knock again after a second.
    rustix::net::listen(&socket, BACKLOG).map_err(|error| fail(error.into()))?;
    socket.set_nonblocking(true).map_err(fail)?;
    let address = socket.local_addr().map_err(fail)?;
    Ok((socket, address))
}
