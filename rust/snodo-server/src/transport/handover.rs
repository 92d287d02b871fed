//! Requests for a session that another worker has: handed over to it, and its answer passed on.
//!
//! The worker that a client has come to admits the request: `Host` and `Origin`, identity, media types
//! and the bounds of the body. The other one trusts it in who asks, for only workers can connect to it.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body as Stream;
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming as Received;
use snodo_core::error::Error;
use snodo_core::pipeline::{Verdict, refuse};
use tokio::time::{Duration, sleep, timeout};

use crate::fleet::links::{Failed, Link, connect, connected, exchange, sent};
use crate::fleet::{Fleet, words};
use crate::service::TIMED_OUT;
use crate::session::Key;
use crate::transport::body::Incoming;
use crate::transport::connection::{Life, Streaming};
use crate::transport::http::{Endpoint, HEALTH};
use crate::transport::identity::principal;
use crate::transport::response::{Body, CLOSING, empty, incomplete, respond};
use crate::transport::sessions::gone;
use crate::transport::vouched::Vouched;

/// Headers of a request that is handed over: as many as hyper takes of a client, and what is added here.
pub(crate) const MOST_HEADERS: usize = 100 + 8;

/// How long a worker may be silent until it is asked whether it lives, and how long it may take to say so.
/// A call may take long; a process that cannot say this much will never answer.
const LOOK: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// Headers that are of one connection, not of the message (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    EXPECT,
    HeaderName::from_static("keep-alive"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

impl Endpoint {
    /// Which other worker has what is kept under this key. What was handed over is not passed on again.
    pub(super) fn elsewhere(&self, key: Option<Key>, life: &Life) -> Option<u8> {
        let fleet = self.fleet.as_ref().filter(|_| !life.is_from_worker())?;
        fleet.other(key?)
    }

    /// Another worker tells what happened to its hub.
    pub(super) async fn hear(&self, body: impl Incoming, life: &Arc<Life>) -> Response<Body> {
        let hub = self
            .fleet
            .as_ref()
            .and_then(|fleet| fleet.member.hub.as_ref());
        match self.text(body, life).await {
            Ok(text) => {
                if let Some(hub) = hub {
                    words::hear(hub, &text, self.limits());
                }
                empty(StatusCode::NO_CONTENT)
            }
            Err(reason) => incomplete(reason),
        }
    }

    /// Lets another worker answer. One that is not there any more has taken its sessions along.
    pub(super) async fn hand_over(
        &self,
        worker: u8,
        mut head: Parts,
        body: Bytes,
        life: &Arc<Life>,
    ) -> Response<Body> {
        let Some(fleet) = &self.fleet else {
            return gone();
        };
        strip(&mut head.headers);
        head.headers.remove(CONTENT_LENGTH);
        let vouched = Vouched {
            principal: principal(&head.extensions),
            peer: life.peer(),
        };
        vouched.pack(&mut head.headers);
        head.version = http::Version::HTTP_11;
        let request = Request::from_parts(head, Full::new(body));
        let mut watch: Watch = Box::pin(hung(fleet.socket(worker)));
        match watched(fleet, worker, request, &mut watch).await {
            Ok((response, link)) => {
                let (mut head, body) = response.into_parts();
                strip(&mut head.headers);
                let passed = Passed {
                    body,
                    link: Some(link),
                    watch,
                    worker,
                    fleet: fleet.clone(),
                    _streaming: life.stream(),
                };
                Response::from_parts(head, Body::Stream(Stream::new(passed)))
            }
            Err(_) if life.is_closing() => {
                respond(refuse(None, &Error::internal(CLOSING), Verdict::Closing))
            }
            Err(Failed::Full) => {
                tracing::warn!("no room for a request at worker {worker}, which has its session");
                let error = Error::internal("Server execution capacity exhausted");
                respond(refuse(None, &error, Verdict::Busy))
            }
            Err(Failed::Hung) => {
                tracing::warn!("worker {worker}, which has the session of a request, hangs");
                let error = Error::internal(TIMED_OUT);
                respond(refuse(None, &error, Verdict::Late))
            }
            Err(Failed::Gone) => gone(),
        }
    }
}

/// The other worker has not told all of its answer.
#[derive(Debug, thiserror::Error)]
#[error("the worker that answers has ended or hangs")]
struct Cut;

/// Waits until a worker hangs.
type Watch = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sends a request to another worker, on a connection that is kept if there is one, and as long as that worker
/// lives. The connection goes with this future: so the other one knows that the client is gone.
async fn watched(
    fleet: &Fleet,
    worker: u8,
    mut request: Request<Full<Bytes>>,
    watch: &mut Watch,
) -> Result<(Response<Received>, Link), Failed> {
    let socket = fleet.socket(worker);
    loop {
        let (link, kept) = match fleet.links.take(worker) {
            Some(link) => (link, true),
            None => (connected(&socket).await?, false),
        };
        let answer = tokio::select! {
            biased;
            answer = sent(link, request) => answer,
            () = &mut *watch => return Err(Failed::Hung),
        };
        match answer {
            Ok(answer) => return Ok(answer),
            // The other end had closed it before anything was sent.
            Err(Some(unsent)) if kept => request = unsent,
            // It has closed the connection, for want of something. Its sessions are gone with it, not
            // before.
            Err(_) => {
                return Err(match connect(&socket).await {
                    Ok(_) => Failed::Full,
                    Err(failed) => failed,
                });
            }
        }
    }
}

/// Waits until a worker does not say any more that it lives.
async fn hung(socket: PathBuf) {
    loop {
        sleep(LOOK).await;
        let request = Request::get(HEALTH).body(Full::new(Bytes::new()));
        let said = exchange(&socket, request.expect("a legal request"));
        if timeout(PATIENCE, said).await.is_err() {
            return;
        }
    }
}

fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

/// The body of another worker's answer.
struct Passed {
    body: Received,
    /// `None` once it is kept for others.
    link: Option<Link>,
    watch: Watch,
    worker: u8,
    fleet: Arc<Fleet>,
    _streaming: Streaming,
}

impl Passed {
    /// All of it is here.
    fn end(&mut self) {
        if let Some(link) = self.link.take() {
            self.fleet.links.put(self.worker, link);
        }
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.end();
        }
    }
}

impl http_body::Body for Passed {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match frame {
            Poll::Ready(None) => self.end(),
            Poll::Pending
                if self.link.is_some() && self.watch.as_mut().poll(context).is_ready() =>
            {
                self.link = None;
                return Poll::Ready(Some(Err(Cut)));
            }
            _ => {}
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(|_| Cut)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::path::Path;

    use http_body_util::BodyExt;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::net::UnixListener;
    use tokio::task::JoinSet;

    use super::*;
    use crate::fleet::Worker;
    use crate::fleet::links::{IDLE, MOST};

    fn fleet(folder: &Path) -> Arc<Fleet> {
        Arc::new(Fleet::new(Worker {
            index: 0,
            count: 2,
            folder: folder.to_owned(),
            hub: None,
        }))
    }

    /// A folder for sockets, which is gone with this.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("snodo-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).expect("a folder");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A worker that answers with which of its connections it was asked on.
    fn worker(folder: &Path) -> JoinSet<()> {
        let socket = folder.join("1");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a socket");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            for number in 0_u32.. {
                let (stream, _) = listener.accept().await.expect("a connection");
                let answer = service_fn(move |_: Request<Received>| {
                    let body = Full::new(Bytes::from(number.to_string()));
                    ready(Ok::<_, std::convert::Infallible>(Response::new(body)))
                });
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer);
                connections.spawn(async move {
                    let _ = served.await;
                });
            }
        });
        tasks
    }

    fn streaming() -> Streaming {
        Arc::new(Life::hosted(None, 0)).stream()
    }

    /// A request, and its answer before it has been read.
    async fn begun(fleet: &Arc<Fleet>) -> Result<Passed, Failed> {
        let request = Request::get("/mcp").body(Full::default()).expect("legal");
        let mut watch: Watch = Box::pin(hung(fleet.socket(1)));
        let (response, link) = watched(fleet, 1, request, &mut watch).await?;
        Ok(Passed {
            body: response.into_body(),
            link: Some(link),
            watch,
            worker: 1,
            fleet: fleet.clone(),
            _streaming: streaming(),
        })
    }

    /// Which connection answers.
    async fn number(fleet: &Arc<Fleet>) -> String {
        let passed = begun(fleet).await.expect("an answer");
        let body = passed.collect().await.expect("all of it").to_bytes();
        String::from_utf8(body.to_vec()).expect("digits")
    }

    #[tokio::test]
    async fn a_connection_is_used_again_once_all_is_answered() {
        let folder = Folder::new("links");
        let fleet = fleet(&folder.0);
        let mut before = worker(&folder.0);
        assert_eq!(number(&fleet).await, "0");
        assert_eq!(number(&fleet).await, "0");
        // One that is not read to its end is of no use to others, and ends.
        drop(begun(&fleet).await.expect("an answer"));
        assert_eq!(number(&fleet).await, "1");
        let both = (begun(&fleet).await, begun(&fleet).await);
        let (Ok(one), Ok(other)) = both else {
            panic!("answers")
        };
        one.collect().await.expect("all of it");
        other.collect().await.expect("all of it");
        assert_eq!(number(&fleet).await, "2", "the one used last");
        // In the place of the worker another one answers, or none.
        before.shutdown().await;
        let mut after = worker(&folder.0);
        assert_eq!(number(&fleet).await, "0");
        after.shutdown().await;
        std::fs::remove_file(fleet.socket(1)).expect("it is there");
        let answer = begun(&fleet).await.map(drop);
        assert!(matches!(answer, Err(Failed::Gone)), "{answer:?}");
    }

    #[tokio::test]
    async fn so_many_connections_are_kept_and_none_for_long() {
        let folder = Folder::new("idle");
        let fleet = fleet(&folder.0);
        let _worker = worker(&folder.0);
        let mut all = Vec::new();
        for _ in 0..MOST + 8 {
            all.push(begun(&fleet).await.expect("an answer"));
        }
        for passed in all {
            passed.collect().await.expect("all of it");
        }
        let mut kept = Vec::new();
        while let Some(link) = fleet.links.take(1) {
            kept.push(link);
        }
        assert!(!kept.is_empty() && kept.len() <= MOST, "{}", kept.len());
        assert!(fleet.links.take(0).is_none(), "to another");
        tokio::time::pause();
        fleet.links.put(1, kept.pop().expect("one"));
        tokio::time::advance(IDLE).await;
        assert!(fleet.links.take(1).is_none());
        fleet.links.put(1, kept.pop().expect("one"));
        fleet.links.close();
        fleet.links.put(1, kept.pop().expect("one"));
        assert!(fleet.links.take(1).is_none());
    }

    async fn asked(socket: &Path) -> Option<Failed> {
        let request = Request::get("/mcp").body(Full::default());
        let fleet = fleet(socket.parent().expect("a folder"));
        let mut watch: Watch = Box::pin(hung(fleet.socket(1)));
        let answer = watched(&fleet, 1, request.expect("legal"), &mut watch).await;
        answer.err()
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_worker_that_is_not_there_is_gone() {
        let folder = Folder::new("peer");
        let socket = folder.0.join("1");
        assert!(matches!(asked(&socket).await, Some(Failed::Gone)));

        let listener = UnixListener::bind(&socket).expect("a socket");
        let rude = async {
            loop {
                drop(listener.accept().await);
            }
        };
        let failed = tokio::select! {
            failed = asked(&socket) => failed,
            () = rude => None,
        };
        assert!(matches!(failed, Some(Failed::Full)));

        // It takes connections, and does nothing with them.
        assert!(matches!(asked(&socket).await, Some(Failed::Hung)));

        drop(listener);
        assert!(matches!(asked(&socket).await, Some(Failed::Gone)));
    }
}
