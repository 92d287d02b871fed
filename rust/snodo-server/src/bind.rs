//! Bind, connection limit, graceful stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::fleet::{Fleet, Worker};
use crate::listener::{Address, BoundSocket, Listener, SocketFile};
use crate::service::Service;
use crate::tls::{TlsError, TlsFiles};
use crate::transport::connection::{self, From};
use crate::transport::http::Endpoint;
use crate::transport::mailbox;
use crate::transport::origin::{BadEntry, Gate};
use crate::transport::scrape::METRICS;
use crate::transport::socket::Socket;

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
    /// A Unix socket, in place of host and port.
    pub uds: Option<PathBuf>,
    /// Speaks TLS.
    pub tls: Option<TlsFiles>,
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
            uds: None,
            tls: None,
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
    /// Somebody listens at this Unix socket.
    #[error("{0} is in use: another server listens there")]
    UnixInUse(String),
    /// Something else is at the path of a Unix socket.
    #[error("{0} is there already and is no socket: --uds takes another path")]
    NoSocket(String),
    /// A Unix socket without a path.
    #[error("a Unix socket needs a path: --uds takes one")]
    NoPath,
    /// TLS on a Unix socket.
    #[error("a Unix socket speaks no TLS: whoever listens before it does")]
    UnixTls,
    /// Certificates or keys.
    #[error(transparent)]
    Tls(#[from] TlsError),
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

/// A server that has its address and waits to be started.
pub struct HttpServer {
    socket: BoundSocket,
    /// Removed when it ends.
    file: Option<SocketFile>,
    tls: Option<TlsAcceptor>,
    /// Where the other processes hand over to this one.
    within: Option<(BoundSocket, SocketFile)>,
    endpoint: Arc<Endpoint>,
}

impl HttpServer {
    /// Takes the address. Needs no async runtime, so that a mistake is told before anything runs.
    pub fn bind(service: Arc<Service>, options: &HttpOptions) -> Result<Self, BindError> {
        let socket = listen(options)?;
        let file = match socket.address() {
            Address::Unix(path) => Some(SocketFile::new(path)),
            Address::Tcp(_) => None,
        };
        let server = Self::on(socket, service, options, None)?;
        Ok(Self { file, ..server })
    }

    /// Serves an address that has been taken already. `worker`: other processes serve it too.
    pub fn on(
        socket: BoundSocket,
        service: Arc<Service>,
        options: &HttpOptions,
        worker: Option<Worker>,
    ) -> Result<Self, BindError> {
        check(options)?;
        let bare = options.path.trim_end_matches('/');
        if bare == METRICS && service.telemetry().is_some_and(|it| it.metrics().is_some()) {
            return Err(BindError::Metrics(options.path.clone()));
        }
        let is_loopback = match socket.address() {
            Address::Tcp(address) => address.ip().is_loopback(),
            // No web page reaches it, and what a proxy calls it is the proxy's affair.
            Address::Unix(_) => false,
        };
        let (gate, tls) = admission(options, is_loopback)?;
        // Each client may be handed over to another process, and as many may come from each of these.
        let each = worker.as_ref().map_or(1, |it| usize::from(it.count) + 1);
        make_room(service.limits().connections.saturating_mul(each));
        let fleet = worker.map(|worker| Arc::new(Fleet::new(worker)));
        // Whoever says that this one serves says that the others reach it.
        let within = fleet.as_ref().map(|fleet| fleet.bind()).transpose()?;
        let path = &options.path;
        let endpoint = Endpoint::new(service, path, gate, options.legacy_sse, fleet);
        Ok(Self {
            socket,
            file: None,
            tls,
            within,
            endpoint: Arc::new(endpoint),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.socket.address()
    }

    /// Whether it speaks TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves until `shutdown`, then lets what runs finish for as long as the limits say.
    ///
    /// Connections without a request are closed at once, half-sent requests are answered with 503. What
    /// other processes have accepted and hand over is served until the end.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let listener = self.socket.listener()?;
        let limits = self.endpoint.limits();
        let (close, closing) = watch::channel(false);
        let mut within = Within::new(self.within, &self.endpoint, closing.clone())?;
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = shutdown.as_mut() => break,
                Some(_) = connections.join_next() => {}
                () = within.next() => {}
                (socket, peer) = listener.accept() => {
                    if connections.len() < limits.connections {
                        connections.spawn(converse(
                            socket,
                            peer,
                            self.tls.clone(),
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
        if let Some(fleet) = &self.endpoint.fleet {
            fleet.links.close();
        }
        let drained = async {
            loop {
                tokio::select! {
                    Some(_) = connections.join_next() => {}
                    () = within.next() => {}
                    () = loose.ended(), if connections.is_empty() && within.is_empty() => break,
                }
            }
        };
        if timeout(limits.drain_timeout, drained).await.is_err() {
            tracing::warn!(
                "closed {} connections before they were done",
                connections.len()
            );
        }
        loose.close();
        connections.shutdown().await;
        drop(self.file);
        Ok(())
    }
}

/// A client's connection, from its handshake if there is one.
async fn converse(
    socket: Socket,
    peer: Option<SocketAddr>,
    tls: Option<TlsAcceptor>,
    endpoint: Arc<Endpoint>,
    mut closing: watch::Receiver<bool>,
) {
    let socket = match (tls, socket) {
        (Some(tls), Socket::Tcp(stream)) => {
            let shaken = timeout(endpoint.limits().head_timeout, tls.accept(stream));
            let shaken = tokio::select! {
                shaken = shaken => shaken,
                // Nothing has been asked yet.
                _ = closing.wait_for(|closing| *closing) => return,
            };
            match shaken {
                Ok(Ok(stream)) => Socket::Tls(Box::new(stream)),
                Ok(Err(error)) => return tracing::debug!("a TLS handshake failed: {error}"),
                Err(_) => return tracing::debug!("a TLS handshake took too long"),
            }
        }
        (_, socket) => socket,
    };
    connection::serve(socket, From::Client(peer), endpoint, closing).await;
}

/// Connections of the other processes that serve together with this one.
struct Within {
    listener: Option<(Listener, SocketFile)>,
    connections: JoinSet<()>,
    /// Tell the others what happens here; they end with this.
    _words: JoinSet<()>,
    endpoint: Arc<Endpoint>,
    closing: watch::Receiver<bool>,
}

impl Within {
    fn new(
        bound: Option<(BoundSocket, SocketFile)>,
        endpoint: &Arc<Endpoint>,
        closing: watch::Receiver<bool>,
    ) -> io::Result<Self> {
        let fleet = endpoint.fleet.as_ref();
        let listener = match bound {
            Some((socket, file)) => Some((socket.listener()?, file)),
            None => None,
        };
        Ok(Self {
            listener,
            connections: JoinSet::new(),
            _words: fleet.map(|fleet| fleet.relay()).unwrap_or_default(),
            endpoint: endpoint.clone(),
            closing,
        })
    }

    fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Waits until one comes or goes.
    async fn next(&mut self) {
        let Some((listener, _)) = &self.listener else {
            return std::future::pending().await;
        };
        tokio::select! {
            Some(_) = self.connections.join_next() => {}
            (socket, _) = listener.accept() => {
                // There are no more of them than the others have clients, which are counted there, and keep
                // for the next ones.
                let (endpoint, closing) = (self.endpoint.clone(), self.closing.clone());
                self.connections
                    .spawn(connection::serve(socket, From::Worker, endpoint, closing));
            }
        }
    }
}

/// Who is let in, and by what handshake.
fn admission(
    options: &HttpOptions,
    is_loopback: bool,
) -> Result<(Gate, Option<TlsAcceptor>), BindError> {
    let (hosts, origins) = (&options.allowed_hosts, &options.allowed_origins);
    let gate = Gate::new(is_loopback, hosts, origins)?;
    let tls = options.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
    Ok((gate, tls))
}

/// Takes an address for other processes, where these options can be served by them.
pub fn listen(options: &HttpOptions) -> Result<BoundSocket, BindError> {
    check(options)?;
    admission(options, false)?;
    match &options.uds {
        Some(path) => BoundSocket::unix(path),
        None => BoundSocket::tcp(&options.host, options.port),
    }
}

fn check(options: &HttpOptions) -> Result<(), BindError> {
    check_path(&options.path, options.legacy_sse)?;
    if options.uds.is_some() && options.tls.is_some() {
        return Err(BindError::UnixTls);
    }
    Ok(())
}

/// Whether an endpoint can be there.
pub(crate) fn check_path(path: &str, legacy_sse: bool) -> Result<(), BindError> {
    if !path.starts_with('/') || path.contains(|c: char| "?# ".contains(c) || c.is_control()) {
        return Err(BindError::Path(path.to_owned()));
    }
    let bare = path.trim_end_matches('/');
    if legacy_sse && [mailbox::STREAM, mailbox::MESSAGES].contains(&bare) {
        return Err(BindError::Taken(path.to_owned()));
    }
    Ok(())
}

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
