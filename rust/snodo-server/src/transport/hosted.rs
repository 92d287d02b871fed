//! An endpoint in somebody else's server, which reads the requests and writes the responses.
//!
//! A request goes the same way as one of our own listener from its head on. What arrives of its body
//! and what leaves of its response go through channels: the host knows neither our threads nor we its.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body::{Body as _, Frame, SizeHint};
use snodo_core::json::Json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Sleep, sleep, timeout};

use crate::authenticate::Principal;
use crate::bind::{BindError, check_path};
use crate::service::Service;
use crate::transport::connection::Life;
use crate::transport::http::Endpoint;
use crate::transport::mailbox::{MESSAGES, STREAM};
use crate::transport::origin::Gate;
use crate::transport::response::refusal;
use crate::transport::scopes::{Scope, Scoped};

/// Where and for whom an endpoint is served within another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedOptions {
    /// Of the endpoint, below the root under which the host has put it.
    pub path: String,
    /// As those of [`HttpOptions`](crate::bind::HttpOptions).
    pub allowed_hosts: Vec<String>,
    /// As those of [`HttpOptions`](crate::bind::HttpOptions).
    pub allowed_origins: Vec<String>,
    /// Whether clients of 2024-11-05 are served too, at `/sse` and `/messages`.
    pub legacy_sse: bool,
}

impl HostedOptions {
    /// Whether there could be such an endpoint.
    pub fn check(&self) -> Result<(), BindError> {
        self.gate().map(drop)
    }

    fn gate(&self) -> Result<Gate, BindError> {
        check_path(&self.path, self.legacy_sse)?;
        let gate = Gate::new(true, &self.allowed_hosts, &self.allowed_origins);
        Ok(gate?)
    }
}

/// The head of a request, as the host has read it.
#[derive(Debug)]
pub struct Head {
    /// How it is asked.
    pub method: Method,
    /// The root under which the host has put the endpoint: empty, or `/api`.
    pub root: String,
    /// The whole path, decoded, the root included.
    pub path: String,
    /// What follows the path, without its question mark.
    pub query: Vec<u8>,
    /// Each as it came.
    pub headers: HeaderMap,
    /// Whether connections may be closed by a header, as those of HTTP/1 may.
    pub closes: bool,
    /// Whether the connection ends on a loopback address of this machine.
    pub loopback: bool,
    /// Where it comes from, if that has an address.
    pub peer: Option<SocketAddr>,
    /// Who the host says it is of.
    pub principal: Option<Json>,
    /// Within what it may cancel another of its requests.
    pub scope: Option<Json>,
}

/// A piece of a body, and whether more will come.
pub type Piece = (Bytes, bool);

/// A part of a response.
#[derive(Debug)]
pub enum Part {
    /// What comes first.
    Head(StatusCode, HeaderMap),
    /// Some of the body, and whether more will come.
    Body(Bytes, bool),
}

/// Where the parts of a response go: a short queue, and whoever is to look into it.
pub struct Outlet<R: Fn()> {
    parts: Option<mpsc::Sender<Part>>,
    ring: R,
}

/// Parts that wait for the host, before whoever makes them waits.
const WAITING: usize = 2;

/// Nobody wants any more of a response.
struct Closed;

impl<R: Fn()> Outlet<R> {
    /// `ring` is called when there is something in the queue, and when nothing will come any more. It
    /// must be quick and must not block.
    pub fn new(ring: R) -> (Self, mpsc::Receiver<Part>) {
        let (parts, taken) = mpsc::channel(WAITING);
        let parts = Some(parts);
        (Self { parts, ring }, taken)
    }

    async fn put(&mut self, part: Part) -> Result<(), Closed> {
        let parts = self.parts.as_ref().ok_or(Closed)?;
        parts.send(part).await.map_err(|_| Closed)?;
        (self.ring)();
        Ok(())
    }
}

impl<R: Fn()> Drop for Outlet<R> {
    fn drop(&mut self) {
        drop(self.parts.take());
        (self.ring)();
    }
}

/// The root under which the host has put the endpoint, for whoever writes addresses.
#[derive(Debug, Clone)]
pub(super) struct Root(pub(super) String);

/// The host is reached from other machines, under names that nobody has told us.
#[derive(Debug, Clone)]
pub(super) struct Outside;

/// An endpoint in somebody else's server.
pub struct Hosted {
    endpoint: Endpoint,
    path: String,
    legacy_sse: bool,
    /// Counts how often the host was about to end.
    ending: watch::Sender<u64>,
}

impl Hosted {
    /// Needs no async runtime.
    pub fn new(service: Arc<Service>, options: &HostedOptions) -> Result<Self, BindError> {
        let gate = options.gate()?;
        Ok(Self {
            endpoint: Endpoint::new(service, &options.path, gate, options.legacy_sse, None),
            path: options.path.trim_end_matches('/').to_owned(),
            legacy_sse: options.legacy_sse,
            ending: watch::channel(0).0,
        })
    }

    /// How many bytes the body of a request may have.
    pub fn body_bytes(&self) -> usize {
        self.endpoint.limits().body_bytes
    }

    /// How long a part of a response may wait for its client.
    pub fn write_timeout(&self) -> Duration {
        self.endpoint.limits().write_timeout
    }

    /// The host is about to end: streams that go on by themselves come to their end. What is asked from
    /// here on is served as before.
    pub fn end_streams(&self) {
        self.ending.send_modify(|times| *times += 1);
    }

    /// The host has ended: waits for what goes on although its client is gone, as long as the limits
    /// say.
    pub async fn drain(&self) {
        let loose = &self.endpoint.loose;
        loose.stop();
        let _ = timeout(self.endpoint.limits().drain_timeout, loose.ended()).await;
        loose.close();
    }

    /// Serves a request. Dropping the future cancels what it runs, as a client does that leaves.
    pub fn serve<R: Fn() + Send + Sync + 'static>(
        self: Arc<Self>,
        head: Head,
        body: mpsc::UnboundedReceiver<Piece>,
        mut outlet: Outlet<R>,
    ) -> impl Future<Output = ()> + Send {
        let mut ending = self.ending.subscribe();
        async move {
            let life = Arc::new(Life::hosted(head.peer, size(&head)));
            let exchange = async {
                // Nobody is left to be told that nobody listens.
                let _ = self.exchange(head, body, &life, &mut outlet).await;
            };
            tokio::pin!(exchange);
            loop {
                tokio::select! {
                    biased;
                    () = exchange.as_mut() => return,
                    Ok(()) = ending.changed(), if !life.is_closing() => life.close(),
                }
            }
        }
    }

    async fn exchange(
        &self,
        head: Head,
        body: mpsc::UnboundedReceiver<Piece>,
        life: &Arc<Life>,
        outlet: &mut Outlet<impl Fn()>,
    ) -> Result<(), Closed> {
        let (is_head, closes) = (head.method == Method::HEAD, head.closes);
        let response = match self.request(head, body, life) {
            Some(request) => self.endpoint.serve(request, life).await,
            None => refusal(
                StatusCode::NOT_FOUND,
                "There is no MCP endpoint at this path",
            ),
        };
        let (mut parts, mut body) = response.into_parts();
        if !closes {
            parts.headers.remove(CONNECTION);
        }
        let length = body.size_hint().exact();
        if let Some(length) = length.filter(|_| parts.status != StatusCode::NO_CONTENT) {
            parts.headers.insert(CONTENT_LENGTH, length.into());
        }
        // Until the last part has gone the request is under way.
        let scoped = parts.extensions.remove::<Arc<Scoped>>();
        outlet.put(Part::Head(parts.status, parts.headers)).await?;
        let mut more = !is_head && !body.is_end_stream();
        while more {
            let frame = tokio::select! {
                biased;
                frame = poll_fn(|task| Pin::new(&mut body).poll_frame(task)) => frame,
                () = cancelled(scoped.as_deref()) => None,
            };
            let Some(frame) = frame else { break };
            if let Ok(data) = frame.map_err(|_| Closed)?.into_data() {
                more = !body.is_end_stream();
                outlet.put(Part::Body(data, more)).await?;
                if !more {
                    return Ok(());
                }
            }
        }
        outlet.put(Part::Body(Bytes::new(), false)).await
    }

    /// The request as the endpoint reads it. `None`: it is about something else.
    fn request(
        &self,
        head: Head,
        body: mpsc::UnboundedReceiver<Piece>,
        life: &Arc<Life>,
    ) -> Option<Request<Incoming>> {
        let root = head.root.trim_end_matches('/');
        let below = head.path.strip_prefix(root);
        let path = below
            .filter(|below| below.is_empty() || below.starts_with('/'))
            .unwrap_or(&head.path);
        let bare = path.strip_suffix('/').unwrap_or(path);
        let is_mail = self.legacy_sse && (path == STREAM || path == MESSAGES);
        let mut target = if bare == self.path || bare.is_empty() && !root.is_empty() {
            self.path.clone()
        } else if is_mail || root.is_empty() {
            path.to_owned()
        } else {
            return None;
        };
        if target.is_empty() {
            target.push('/');
        }
        let mut target = target.into_bytes();
        if !head.query.is_empty() {
            target.push(b'?');
            target.extend(&head.query);
        }
        let announced = head.headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.trim().parse().ok());
        let mut request = Request::new(Incoming {
            pieces: body,
            missing: announced,
            is_whole: false,
            patience: self.endpoint.limits().body_timeout,
            late: None,
            life: life.clone(),
        });
        *request.method_mut() = head.method;
        *request.uri_mut() = Uri::try_from(target).ok()?;
        *request.headers_mut() = head.headers;
        let known = request.extensions_mut();
        if is_mail {
            known.insert(Root(root.to_owned()));
        }
        if !head.loopback {
            known.insert(Outside);
        }
        if let Some(principal) = head.principal {
            known.insert(Principal(principal));
        }
        if let Some(name) = head.scope {
            known.insert(Scope::new(name));
        }
        Some(request)
    }
}

/// Waits until a message of the same caller cancels the request.
async fn cancelled(scoped: Option<&Scoped>) {
    match scoped {
        Some(scoped) => drop(scoped.token.stopped().await),
        None => std::future::pending().await,
    }
}

/// About how long the head was that the host has read.
fn size(head: &Head) -> usize {
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + 4);
    head.path.len() + head.query.len() + fields.sum::<usize>()
}

/// The body of a request, as it comes from the host.
struct Incoming {
    pieces: mpsc::UnboundedReceiver<Piece>,
    /// Bytes still to come, where the head says how many there are.
    missing: Option<u64>,
    is_whole: bool,
    patience: Duration,
    late: Option<Pin<Box<Sleep>>>,
    life: Arc<Life>,
}

/// A body that is not what its head says, or that ends with its client.
#[derive(Debug, thiserror::Error)]
#[error("the body is not whole")]
struct Broken;

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        if this.is_whole {
            return Poll::Ready(None);
        }
        let Poll::Ready(piece) = this.pieces.poll_recv(task) else {
            let late = || Box::pin(sleep(this.patience));
            if this
                .late
                .get_or_insert_with(late)
                .as_mut()
                .poll(task)
                .is_ready()
            {
                this.life.overdue();
            }
            return Poll::Pending;
        };
        let Some((piece, more)) = piece else {
            return Poll::Ready(Some(Err(Broken)));
        };
        if let Some(missing) = &mut this.missing {
            let left = missing.checked_sub(piece.len() as u64);
            let Some(left) = left.filter(|left| more || *left == 0) else {
                return Poll::Ready(Some(Err(Broken)));
            };
            *missing = left;
        }
        this.is_whole = !more;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_whole
    }

    fn size_hint(&self) -> SizeHint {
        self.missing
            .map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
