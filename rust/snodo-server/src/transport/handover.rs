//! Requests for a session that another worker has: handed over to it, and its answer passed on.
//!
//! The worker that a client has come to admits the request: `Host` and `Origin`, identity, media types
//! and the bounds of the body. The other one trusts it in who asks, for only workers can connect to it.

use std::net::SocketAddr;
use std::path::Path;
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

use crate::authenticate::Principal;
use crate::fleet::words;
use crate::session::Key;
use crate::transport::body::Incoming;
use crate::transport::connection::{Life, Streaming};
use crate::transport::http::{Body, CLOSING, Endpoint, empty, incomplete, respond};
use crate::transport::identity::arrival;
use crate::transport::sessions::gone;

/// Bytes that what is vouched for may add to a head.
pub(crate) const VOUCHED_BYTES: usize = 64 << 10;

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
            principal: arrival(&head.extensions).principal,
            peer: life.peer(),
        };
        head.headers.insert(VOUCHED, vouched.write());
        head.version = http::Version::HTTP_11;
        let request = Request::from_parts(head, Full::new(body));
        match exchange(&fleet.socket(worker), request).await {
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
                let error = Error::internal("Server execution capacity exhausted");
                respond(refuse(None, &error, Verdict::Busy))
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
}

/// Sends a request to another worker. The connection is open as long as the second part of what this
/// gives, and goes with this future: so the other one knows that the client is gone.
pub(crate) async fn exchange(
    socket: &Path,
    mut request: Request<Full<Bytes>>,
) -> Result<(Response<Received>, JoinSet<()>), Failed> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ConnectionRefused | NotFound) => {
            return Err(Failed::Gone);
        }
        Err(_) => return Err(Failed::Full),
    };
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Failed::Gone)?;
    let mut connections = JoinSet::new();
    connections.spawn(async move {
        let _ = connection.await;
    });
    let response = sender.send_request(request).await;
    Ok((response.map_err(|_| Failed::Gone)?, connections))
}

fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

/// The body of another worker's answer.
struct Passed {
    body: Received,
    _connection: JoinSet<()>,
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
}
