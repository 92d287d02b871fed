//! Responses: the status of each answer, refusals that need no message, and bodies.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body as Stream;
use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use snodo_core::error::{Error, Kind, code};
use snodo_core::pipeline::{Answer, Verdict, refuse};

use crate::transport::body::Incomplete;
use crate::transport::connection::LastWords;

pub(super) const CLOSING: &str = "Server is shutting down";

/// The one table from what an answer says to its status.
pub(crate) fn status(verdict: Verdict) -> StatusCode {
    match verdict {
        Verdict::Result | Verdict::Raised | Verdict::Told(_) => StatusCode::OK,
        Verdict::Busy | Verdict::Closing => StatusCode::SERVICE_UNAVAILABLE,
        Verdict::Late => StatusCode::GATEWAY_TIMEOUT,
        Verdict::Error(code) => match code {
            code::PARSE_ERROR
            | code::INVALID_REQUEST
            | code::INVALID_PARAMS
            | code::HEADER_MISMATCH
            | code::MISSING_CAPABILITY
            | code::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::INTERNAL_ERROR => StatusCode::INTERNAL_SERVER_ERROR,
            // The application's own: the exchange itself went well.
            _ => StatusCode::OK,
        },
    }
}

pub(super) fn respond(answer: Answer) -> Response<Body> {
    json(status(answer.verdict), answer.body)
}

pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

pub(super) fn malformed(message: &'static str) -> Error {
    Error::new(code::INVALID_REQUEST, Kind::Transport, message)
}

/// Marks a response that nothing else tells of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused;

pub(super) fn refusal(status: StatusCode, message: &'static str) -> Response<Body> {
    let error = malformed(message);
    let mut response = json(
        status,
        refuse(None, &error, Verdict::Error(error.code)).body,
    );
    response.extensions_mut().insert(Refused);
    response
}

pub(super) fn not_allowed() -> Response<Body> {
    let mut response = refusal(
        StatusCode::METHOD_NOT_ALLOWED,
        "The MCP endpoint takes POST",
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

pub(super) fn incomplete(reason: Incomplete) -> Response<Body> {
    let mut response = match reason {
        Incomplete::TooLarge => refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "HTTP request body is too large",
        ),
        Incomplete::Late => refusal(
            StatusCode::REQUEST_TIMEOUT,
            "HTTP request body took too long",
        ),
        Incomplete::Malformed => refusal(StatusCode::BAD_REQUEST, "Malformed HTTP request body"),
        Incomplete::Closing => respond(refuse(None, &Error::internal(CLOSING), Verdict::Closing)),
    };
    end_connection(&mut response);
    response
}

/// Says that nothing follows on this connection, and has hyper close it.
pub(super) fn end_connection(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}

/// What is said where there is no request to answer.
pub(super) fn last_words() -> LastWords {
    LastWords {
        malformed: last_word("400 Bad Request", &malformed("Malformed HTTP request")),
        too_large: last_word(
            "431 Request Header Fields Too Large",
            &malformed("HTTP request headers are too large"),
        ),
        late: last_word(
            "408 Request Timeout",
            &malformed("HTTP request headers took too long"),
        ),
        closing: last_word("503 Service Unavailable", &Error::internal(CLOSING)),
    }
}

/// A whole response, for a client that has not sent a whole request.
fn last_word(status: &str, error: &Error) -> Bytes {
    let body = refuse(None, error, Verdict::Error(error.code)).body;
    let mut response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    response.extend(body);
    response.into()
}

/// A response body: all at once, or as it comes.
#[derive(Debug)]
pub(crate) enum Body {
    Whole(Bytes),
    Stream(Stream),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => Pin::new(stream).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_of_statuses() {
        for (verdict, expected) in [
            (Verdict::Result, 200),
            (Verdict::Raised, 200),
            (Verdict::Error(-32700), 400),
            (Verdict::Error(-32600), 400),
            (Verdict::Error(-32602), 400),
            (Verdict::Error(-32020), 400),
            (Verdict::Error(-32021), 400),
            (Verdict::Error(-32022), 400),
            (Verdict::Error(-32601), 404),
            (Verdict::Error(-32603), 500),
            (Verdict::Error(-32003), 200),
            (Verdict::Error(1), 200),
            (Verdict::Busy, 503),
            (Verdict::Closing, 503),
            (Verdict::Late, 504),
        ] {
            assert_eq!(status(verdict).as_u16(), expected, "{verdict:?}");
        }
    }
}
