//! Connections to the other processes, kept for the next request when one has been answered.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

/// A connection, which goes with this.
pub(crate) struct Link {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    /// What reads and writes.
    pub(crate) _connection: JoinSet<()>,
}

/// Why another worker did not answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failed {
    /// It is not there, or ended before it could.
    Gone,
    /// There is no room for another connection.
    Full,
    /// It does not answer anything.
    Hung,
}

/// Those that nothing is asked on.
#[derive(Default)]
pub(crate) struct Links(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// To which process, and since when; those that were used last come last.
    idle: Vec<(u8, Instant, Link)>,
    closed: bool,
}

/// How many are kept. More: the one idle for longest goes.
pub(crate) const MOST: usize = 32;

/// How long one may be idle. The other end keeps it for longer, so that it does not close it while a
/// request is on its way.
pub(crate) const IDLE: Duration = Duration::from_secs(1);

/// How long the other end keeps one that is idle, and how long when it is about to end itself.
pub(crate) const HELD: Duration = Duration::from_secs(5);
pub(crate) const HELD_AT_LAST: Duration = Duration::from_secs(2);

impl Links {
    /// The one to this process that was used last, if it is open still.
    pub(crate) fn take(&self, worker: u8) -> Option<Link> {
        let mut kept = self.kept();
        kept.forget();
        let at = kept.idle.iter().rposition(|(to, ..)| *to == worker)?;
        Some(kept.idle.remove(at).2)
    }

    /// Keeps one, on which everything has been answered.
    pub(crate) fn put(&self, worker: u8, link: Link) {
        let mut kept = self.kept();
        kept.forget();
        if kept.closed || link.sender.is_closed() {
            return;
        }
        if kept.idle.len() == MOST {
            kept.idle.remove(0);
        }
        kept.idle.push((worker, Instant::now(), link));
    }

    /// Keeps none from here on: the others end, too, and wait for nobody who asks nothing.
    pub(crate) fn close(&self) {
        let mut kept = self.kept();
        kept.closed = true;
        kept.idle.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget(&mut self) {
        self.idle
            .retain(|(_, since, link)| since.elapsed() < IDLE && !link.sender.is_closed());
    }
}

/// Sends a request to another worker, on a connection of its own. That is open as long as the second part
/// of what this gives, and goes with this future.
pub(crate) async fn exchange(
    socket: &Path,
    mut request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Link), Failed> {
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let link = connected(socket).await?;
    sent(link, request).await.map_err(|_| Failed::Gone)
}

pub(crate) async fn connect(socket: &Path) -> Result<UnixStream, Failed> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    UnixStream::connect(socket)
        .await
        .map_err(|error| match error.kind() {
            ConnectionRefused | NotFound => Failed::Gone,
            _ => Failed::Full,
        })
}

pub(crate) async fn connected(socket: &Path) -> Result<Link, Failed> {
    let stream = connect(socket).await?;
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Failed::Gone)?;
    let mut reads = JoinSet::new();
    reads.spawn(async move {
        let _ = connection.await;
    });
    Ok(Link {
        sender,
        _connection: reads,
    })
}

/// An error has the request, if nothing of it was sent.
pub(crate) async fn sent(
    mut link: Link,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Link), Option<Request<Full<Bytes>>>> {
    if link.sender.ready().await.is_err() {
        return Err(Some(request));
    }
    match link.sender.try_send_request(request).await {
        Ok(response) => Ok((response, link)),
        Err(mut error) => Err(error.take_message()),
    }
}
