//! One HTTP connection: what it is doing, how long it may, and how it ends.
//!
//! hyper reads and writes the messages. This file keeps the time: one timer a connection, looked at
//! when it expires, instead of one a request.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use snodo_core::limits::Limits;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::fleet::links::{HELD, HELD_AT_LAST};
use crate::transport::handover;
use crate::transport::http::Endpoint;
use crate::transport::response::end_connection;
use crate::transport::socket::Socket;
use crate::transport::vouched::VOUCHED_BYTES;

/// How long a connection is still read after its last answer, so that a client which is busy
/// sending gets to read it: closing over unread bytes makes TCP throw the answer away.
const LINGER: Duration = Duration::from_secs(2);

/// How often it is looked whether a client that waits for an answer is still there. hyper notices by
/// itself when the socket closes, but not behind bytes that it has no use for yet.
const LOOK: Duration = Duration::from_secs(1);

/// How young a connection may be that is still awaited when the server stops: its first request is on
/// its way.
const YOUNG: Duration = Duration::from_millis(500);

/// Who opened a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From {
    /// A client, at this address if it came by TCP.
    Client(Option<SocketAddr>),
    /// Another worker, which hands over what a client has asked it.
    Worker,
}

/// What a connection waits for. One task owns a connection, so the fields need no ordering.
#[derive(Debug)]
pub(crate) struct Life {
    from: From,
    phase: AtomicU8,
    /// Milliseconds from `opened` to the begin of the phase; `UNKNOWN` until somebody looks.
    since: AtomicU64,
    opened: Instant,
    /// Bytes of a head received, while it is not complete.
    heard: AtomicUsize,
    /// The client does not take what is written.
    stalled: AtomicBool,
    /// The body is overdue.
    late: AtomicBool,
    /// The server stops.
    closing: AtomicBool,
    /// An answer was given without reading the whole body.
    unread: AtomicBool,
    /// It is time to look whether the client is still there.
    due: AtomicBool,
}

const HEAD: u8 = 0;
const BODY: u8 = 1;
const RUNNING: u8 = 2;
const STREAMING: u8 = 3;
const UNKNOWN: u64 = u64::MAX;

impl Life {
    fn new(from: From) -> Self {
        Self {
            from,
            phase: AtomicU8::new(HEAD),
            since: AtomicU64::new(0),
            opened: Instant::now(),
            heard: AtomicUsize::new(0),
            stalled: AtomicBool::new(false),
            late: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            due: AtomicBool::new(false),
        }
    }

    /// Of a request whose connection is somebody else's, with a head of so many bytes.
    pub(crate) fn hosted(peer: Option<SocketAddr>, head: usize) -> Self {
        let life = Self::new(From::Client(peer));
        life.heard.store(head, Relaxed);
        life
    }

    /// Who is at the other end, where that has an address.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match self.from {
            From::Client(peer) => peer,
            From::Worker => None,
        }
    }

    /// Whether another worker is at the other end.
    pub(crate) fn is_from_worker(&self) -> bool {
        matches!(self.from, From::Worker)
    }

    /// A head has arrived. Until the guard is dropped the connection does not wait for another.
    /// Gives the bytes that came with it, too.
    pub(crate) fn begin(&self) -> (usize, Request<'_>) {
        self.phase.store(RUNNING, Relaxed);
        (self.heard.swap(0, Relaxed), Request(self))
    }

    /// The answer will come piece by piece. Until the guard is dropped the connection does not wait
    /// for another head.
    pub(crate) fn stream(self: &Arc<Self>) -> Streaming {
        self.phase.store(STREAMING, Relaxed);
        Streaming(self.clone())
    }

    /// A body is awaited. The clock is only read once it has been missed twice, which the body
    /// of a small request never is.
    pub(crate) fn await_body(&self) {
        if self.phase.swap(BODY, Relaxed) != BODY {
            self.since.store(UNKNOWN, Relaxed);
        } else if self.since.load(Relaxed) == UNKNOWN {
            self.stamp();
        }
    }

    /// The body is here.
    pub(crate) fn run(&self) {
        self.phase.store(RUNNING, Relaxed);
    }

    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Relaxed)
    }

    /// The body has taken too long.
    pub(crate) fn overdue(&self) {
        self.late.store(true, Relaxed);
    }

    /// The server stops, or whoever it is in.
    pub(crate) fn close(&self) {
        self.closing.store(true, Relaxed);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// An answer leaves although not all of the body has been read.
    pub(crate) fn leave_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    /// Whether the connection ends with this answer for want of a body that was read.
    pub(crate) fn is_left_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    fn await_head(&self) {
        self.phase.store(HEAD, Relaxed);
        self.stamp();
    }

    fn stamp(&self) {
        self.since.store(self.millis(), Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(UNKNOWN - 1)
    }

    /// Whether it has just been opened, and nothing has come yet.
    fn is_young(&self) -> bool {
        let nothing_came = self.phase.load(Relaxed) == HEAD
            && self.since.load(Relaxed) == 0
            && self.heard.load(Relaxed) == 0;
        nothing_came && self.opened.elapsed() < YOUNG
    }

    /// Whether the current phase has lasted too long, and if not, when to look again.
    fn check(&self, limits: &Limits) -> Check {
        let phase = self.phase.load(Relaxed);
        let allowed = match phase {
            HEAD | STREAMING if self.stalled.load(Relaxed) => limits.write_timeout,
            HEAD if self.is_from_worker() && self.is_closing() => HELD_AT_LAST,
            HEAD if self.is_from_worker() => HELD,
            HEAD if self.is_closing() => YOUNG.min(limits.head_timeout),
            HEAD => limits.head_timeout,
            BODY => limits.body_timeout,
            _ => {
                self.due.store(true, Relaxed);
                return Check::Again(Instant::now() + period(limits).min(LOOK));
            }
        };
        if self.since.load(Relaxed) == UNKNOWN {
            self.stamp();
        }
        let end = self.opened + Duration::from_millis(self.since.load(Relaxed)) + allowed;
        let now = Instant::now();
        if now < end {
            // A request may come meanwhile, and its client go.
            return Check::Again(end.min(now + LOOK));
        }
        if phase == BODY {
            self.overdue();
            return Check::Again(now + period(limits));
        }
        Check::Overdue
    }
}

enum Check {
    Again(Instant),
    Overdue,
}

/// How long no phase can run out that has not begun yet.
fn period(limits: &Limits) -> Duration {
    limits
        .head_timeout
        .min(limits.body_timeout)
        .min(limits.write_timeout)
}

/// A request being served.
pub(crate) struct Request<'a>(&'a Life);

impl Drop for Request<'_> {
    fn drop(&mut self) {
        if self.0.phase.load(Relaxed) != STREAMING {
            self.0.await_head();
        }
    }
}

/// A request whose answer comes piece by piece.
pub(crate) struct Streaming(Arc<Life>);

impl Streaming {
    pub(crate) fn is_closing(&self) -> bool {
        self.0.is_closing()
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.await_head();
    }
}

/// Whole responses for when there is no request that could be answered.
#[derive(Debug)]
pub(crate) struct LastWords {
    /// hyper could not read the head.
    pub(crate) malformed: Bytes,
    /// The head is too large.
    pub(crate) too_large: Bytes,
    /// The head did not arrive in time.
    pub(crate) late: Bytes,
    /// The server stops before the head has arrived.
    pub(crate) closing: Bytes,
}

/// Serves a connection until it ends, or until its last answer after `closing` turned true.
pub(crate) async fn serve(
    stream: Socket,
    from: From,
    endpoint: Arc<Endpoint>,
    mut closing: watch::Receiver<bool>,
) {
    let limits = endpoint.limits().clone();
    let _counted = endpoint.service.connected();
    let life = Arc::new(Life::new(from));
    let io = Io {
        stream,
        life: life.clone(),
        endpoint: endpoint.clone(),
    };
    let both = Arc::new((endpoint.clone(), life.clone()));
    let service = service_fn(move |request| {
        let both = both.clone();
        async move {
            let (endpoint, life) = &*both;
            let mut response = endpoint.serve(request, life).await;
            if life.is_closing() {
                end_connection(&mut response);
            }
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_header_size(limits.head_bytes);
    if let From::Worker = from {
        builder
            .max_header_size(limits.head_bytes + VOUCHED_BYTES)
            .max_headers(handover::MOST_HEADERS);
    }
    let mut connection = builder.serve_connection(TokioIo::new(io), service);
    let timer = sleep_until(Instant::now() + period(&limits).min(LOOK));
    let stop = closing.wait_for(|closing| *closing);
    tokio::pin!(timer, stop);

    let last_words = loop {
        tokio::select! {
            biased;
            _ = &mut connection => break None,
            () = timer.as_mut() => match life.check(&limits) {
                Check::Again(when) => timer.as_mut().reset(when),
                Check::Overdue if life.is_closing() => break Some(&endpoint.last_words().closing),
                Check::Overdue => break Some(&endpoint.last_words().late),
            },
            _ = stop.as_mut(), if !life.is_closing() => {
                life.close();
                if life.is_from_worker() {
                    // What it hands over has been accepted: it may come until this has been idle.
                    timer.as_mut().reset(Instant::now());
                    continue;
                }
                if life.is_young() {
                    timer.as_mut().reset(Instant::now()); // which knows how long it is awaited
                    continue;
                }
                if life.phase.load(Relaxed) == HEAD && !life.stalled.load(Relaxed) {
                    break Some(&endpoint.last_words().closing);
                }
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let stream = connection.into_parts().io.into_inner().stream;
    let last_words = last_words.filter(|_| life.heard.load(Relaxed) > 0);
    if last_words.is_some() || life.unread.load(Relaxed) {
        let _ = timeout(LINGER, part(stream, last_words)).await;
    }
}

/// Says the last words and reads on until the client closes.
async fn part(mut stream: Socket, last_words: Option<&Bytes>) -> io::Result<()> {
    if let Some(words) = last_words {
        stream.write_all(words).await?;
    }
    stream.shutdown().await?;
    let mut unread = vec![0; 16 << 10];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// The socket, watched.
struct Io {
    stream: Socket,
    life: Arc<Life>,
    endpoint: Arc<Endpoint>,
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.life.phase.load(Relaxed) == HEAD {
            self.life
                .heard
                .fetch_add(buffer.filled().len() - before, Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // hyper answers a head it cannot read by itself and without a body. No answer of ours is
        // an error without one, so this is that answer, and ours goes out in its place.
        if bytes.starts_with(b"HTTP/1.1 4") && is_bodiless(bytes) {
            let endpoint = self.endpoint.clone();
            let words = if bytes.starts_with(b"HTTP/1.1 431") {
                &endpoint.last_words().too_large
            } else {
                &endpoint.last_words().malformed
            };
            ready!(Pin::new(&mut self.stream).poll_write(context, words))?;
            self.life.leave_unread();
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_pending() {
            if !self.life.stalled.swap(true, Relaxed) {
                self.life.stamp();
            }
        } else if self.life.stalled.swap(false, Relaxed) {
            self.life.stamp();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.life.due.swap(false, Relaxed) && self.stream.is_closed() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

fn is_bodiless(head: &[u8]) -> bool {
    const LENGTH: &[u8] = b"content-length: 0\r\n";
    head.windows(LENGTH.len()).any(|window| window == LENGTH)
}
