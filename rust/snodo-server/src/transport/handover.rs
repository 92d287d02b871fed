//! Requests for a session that another worker has: handed over to it, and its answer passed on.
//!
//! The worker that a client has come to admits the request: `Host` and `Origin`, identity, media types
//! and the bounds of the body. The other one trusts it in who asks, for only workers can connect to it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body as Stream;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming as Received;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use snodo_core::error::Error;
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::pipeline::{Verdict, refuse};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep, timeout};

use crate::authenticate::Principal;
use crate::fleet::words;
use crate::service::TIMED_OUT;
use crate::session::Key;
use crate::transport::body::Incoming;
use crate::transport::connection::{Life, Streaming};
use crate::transport::http::{Endpoint, HEALTH};
use crate::transport::identity::principal;
use crate::transport::response::{Body, CLOSING, empty, incomplete, respond};
use crate::transport::sessions::gone;

/// Bytes that what is vouched for may add to a head.
pub(crate) const VOUCHED_BYTES: usize = 64 << 10;

/// Headers of a request that is handed over: as many as hyper takes of a client, and what is added here.
pub(crate) const MOST_HEADERS: usize = 100 + 8;

/// How long a worker may be silent until it is asked whether it lives, and how long it may take to say so.
/// A call may take long; a process that cannot say this much will never answer.
const LOOK: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

const VOUCHED: HeaderName = HeaderName::from_static("snodo-vouched");

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

/// What the worker that admitted a request says of it.
#[derive(Debug, Clone)]
pub(crate) struct Vouched {
    pub(crate) principal: Option<Json>,
    pub(crate) peer: Option<SocketAddr>,
}

impl Vouched {
    /// Takes it from the headers of a request that a worker hands over to where it is looked for.
    pub(super) fn unpack(head: &mut Parts) {
        let vouched = head.headers.remove(VOUCHED);
        if let Some(vouched) = vouched.and_then(|value| Self::read(&value)) {
            if let Some(principal) = vouched.principal.clone() {
                head.extensions.insert(Principal(principal));
            }
            head.extensions.insert(vouched);
        }
    }

    fn write(&self) -> HeaderValue {
        let mut said = Object::new();
        if let Some(principal) = &self.principal {
            said.insert("principal", principal.clone());
        }
        if let Some(peer) = self.peer {
            said.insert("peer", Json::String(peer.to_string()));
        }
        let text = STANDARD.encode(said.to_vec());
        HeaderValue::try_from(text).expect("base64 is legal in a header")
    }

    fn read(value: &HeaderValue) -> Option<Self> {
        let limits = Limits {
            json_depth: snodo_core::limits::MAX_JSON_DEPTH,
            ..Limits::default()
        };
        let text = STANDARD.decode(value.as_bytes()).ok()?;
        let Ok(Json::Object(mut said)) = json::parse(&text, &limits) else {
            return None;
        };
        let peer = said.get("peer").and_then(Json::as_str);
        Some(Self {
            peer: peer.and_then(|peer| peer.parse().ok()),
            principal: said.take("principal"),
        })
    }
}

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
        head.headers.insert(VOUCHED, vouched.write());
        head.version = http::Version::HTTP_11;
        let request = Request::from_parts(head, Full::new(body));
        match watched(fleet.socket(worker), request).await {
            Ok((response, connection)) => {
                let (mut head, body) = response.into_parts();
                strip(&mut head.headers);
                let passed = Passed {
                    body,
                    _connection: connection,
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

/// Sends a request to another worker. The connection is open as long as the second part of what this
/// gives, and goes with this future: so the other one knows that the client is gone.
pub(crate) async fn exchange(
    socket: &Path,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Received>, JoinSet<Failed>), Failed> {
    ask(socket, request, std::future::pending()).await
}

/// The same, as long as the other worker lives.
async fn watched(
    socket: PathBuf,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Received>, JoinSet<Failed>), Failed> {
    let answer = ask(&socket, request, hung(socket.clone())).await;
    match answer {
        // It has closed the connection, for want of something. Its sessions are gone with it, not before.
        Err(Failed::Gone) => match connect(&socket).await {
            Ok(_) => Err(Failed::Full),
            Err(failed) => Err(failed),
        },
        answer => answer,
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

async fn connect(socket: &Path) -> Result<UnixStream, Failed> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    UnixStream::connect(socket)
        .await
        .map_err(|error| match error.kind() {
            ConnectionRefused | NotFound => Failed::Gone,
            _ => Failed::Full,
        })
}

/// `given_up` ends the connection, whenever it comes.
async fn ask(
    socket: &Path,
    mut request: Request<Full<Bytes>>,
    given_up: impl Future<Output = ()> + Send + 'static,
) -> Result<(Response<Received>, JoinSet<Failed>), Failed> {
    let stream = connect(socket).await?;
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Failed::Gone)?;
    let mut connections = JoinSet::new();
    connections.spawn(async move {
        tokio::select! {
            _ = connection => Failed::Gone,
            () = given_up => Failed::Hung,
        }
    });
    match sender.send_request(request).await {
        Ok(response) => Ok((response, connections)),
        Err(_) => Err(match connections.join_next().await {
            Some(Ok(failed)) => failed,
            _ => Failed::Gone,
        }),
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
    _connection: JoinSet<Failed>,
    _streaming: Streaming,
}

impl http_body::Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    use tokio::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_vouched_for_is_read_as_it_was_written() {
        let deep = json::parse(
            r#"{"sub":"Ada \u007f é","n":[1,2.5,null]}"#.as_bytes(),
            &Limits::default(),
        );
        for (principal, peer) in [
            (None, None),
            (Some(Json::String("ada".to_owned())), Some("127.0.0.1:80")),
            (Some(deep.expect("JSON")), Some("[::1]:65535")),
        ] {
            let peer = peer.map(|peer| peer.parse().expect("an address"));
            let written = Vouched { principal, peer };
            let read = Vouched::read(&written.write()).expect("as written");
            assert_eq!(
                (read.principal, read.peer),
                (written.principal, written.peer)
            );
        }
        for junk in ["", "e30", "bm90IEpTT04=", "W10="] {
            assert!(Vouched::read(&HeaderValue::from_static(junk)).is_none());
        }
    }

    async fn asked(socket: &Path) -> Option<Failed> {
        let request = Request::get("/mcp").body(Full::default());
        let answer = watched(socket.to_owned(), request.expect("legal")).await;
        answer.err()
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_worker_that_is_not_there_is_gone() {
        let socket = std::env::temp_dir().join(format!("snodo-peer-{}", std::process::id()));
        let _ = std::fs::remove_file(&socket);
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
        let _ = std::fs::remove_file(&socket);
    }
}
