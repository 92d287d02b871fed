//! Server-sent events: the messages of one request as a response that comes piece by piece.
//!
//! MCP 2026-07-28, Streamable HTTP, "responses": one event a message, compact, without id or retry.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body as Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body::Frame;
use snodo_core::pipeline::Answer;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::said::{Said, Speech};
use crate::transport::connection::{Life, Streaming};
use crate::transport::http::Body;

/// Events that are ready are sent together, up to about so many bytes.
const FRAME: usize = 64 << 10;

const COMMENT: &[u8] = b":\n\n";

/// What came first of a request's messages.
pub(crate) enum First<S> {
    /// The answer, before anything else: no stream is needed.
    Answer(Answer),
    /// Something else; the response is a stream.
    Stream(Events<S>),
    /// Nothing: the client has cancelled.
    Nothing,
}

/// Waits for the first message. A request that stays silent becomes a stream too, so that nothing on
/// the way takes the connection for dead.
pub(crate) async fn first<S: Speech>(mut speech: S, life: &Arc<Life>, quiet: Duration) -> First<S> {
    let mut frame = Vec::new();
    match timeout(quiet, speech.next()).await {
        Ok(Some(Said::Answer(answer))) => return First::Answer(answer),
        Ok(None) => return First::Nothing,
        Ok(Some(Said::Notice(message))) => event(&message, &mut frame),
        Err(_) => frame.extend_from_slice(COMMENT),
    }
    First::Stream(Events {
        speech,
        frame,
        over: false,
        quiet,
        comment: Box::pin(sleep(quiet)),
        streaming: life.stream(),
    })
}

/// The body of such a response.
pub(crate) struct Events<S> {
    speech: S,
    /// What is not sent yet.
    frame: Vec<u8>,
    over: bool,
    quiet: Duration,
    comment: Pin<Box<Sleep>>,
    streaming: Streaming,
}

impl<S: Speech> Events<S> {
    pub(crate) fn respond(self) -> Response<Body> {
        let mut response = Response::new(Body::Stream(Stream::new(self)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // Proxies that collect responses, nginx among them, would hold events back.
        headers.insert(
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        );
        response
    }

    /// Collects what is ready.
    fn collect(&mut self, task: &mut Context<'_>) {
        while !self.over && self.frame.len() < FRAME {
            match self.speech.poll_next_unpin(task) {
                Poll::Pending => break,
                Poll::Ready(Some(Said::Notice(message))) => event(&message, &mut self.frame),
                Poll::Ready(Some(Said::Answer(answer))) => {
                    event(&answer.body, &mut self.frame);
                    self.over = true;
                }
                Poll::Ready(None) => self.over = true,
            }
        }
    }
}

impl<S: Speech> http_body::Body for Events<S> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.streaming.is_closing() {
            this.speech.end();
        }
        this.collect(task);
        if this.frame.is_empty() && !this.over {
            if this.comment.as_mut().poll(task).is_pending() {
                return Poll::Pending;
            }
            this.frame.extend_from_slice(COMMENT);
        }
        if this.frame.is_empty() {
            return Poll::Ready(None);
        }
        this.comment.as_mut().reset(Instant::now() + this.quiet);
        let frame = std::mem::take(&mut this.frame);
        Poll::Ready(Some(Ok(Frame::data(frame.into()))))
    }
}

/// One message as an event. It is compact JSON, so it has no line breaks.
fn event(message: &[u8], frame: &mut Vec<u8>) {
    const OPEN: &[u8] = b"event: message\ndata: ";
    frame.reserve(OPEN.len() + message.len() + 2);
    frame.extend_from_slice(OPEN);
    frame.extend_from_slice(message);
    frame.extend_from_slice(b"\n\n");
}
