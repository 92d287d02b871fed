//! Server-sent events: the messages of one request as a response that comes piece by piece.
//!
//! MCP 2026-07-28, Streamable HTTP, "responses": one event a message, compact, without id or retry.
//! Sessions of earlier revisions have both.

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
use crate::session::replay::EventId;
use crate::transport::connection::{Life, Streaming};
use crate::transport::response::Body;

/// Events that are ready are sent together, up to about so many bytes.
const FRAME: usize = 64 << 10;

pub(crate) const COMMENT: &[u8] = b":\n\n";

/// What a stream of events is made of.
pub(crate) trait Script: Send + Unpin + 'static {
    /// Appends the next event, if there is one. `false`: no more will come after what is appended.
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool>;

    /// The server is about to stop: what goes on by itself comes to its end.
    fn end(&mut self);
}

/// The messages of a request, each sent once.
pub(crate) struct Once<S>(S);

impl<S: Speech> Script for Once<S> {
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool> {
        self.0.poll_next_unpin(task).map(|said| match said {
            Some(Said::Notice(message) | Said::Question(message)) => {
                event(&message, frame);
                true
            }
            Some(Said::Answer(answer)) => {
                event(&answer.body, frame);
                false
            }
            None => false,
        })
    }

    fn end(&mut self) {
        self.0.end();
    }
}

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
pub(crate) async fn first<S: Speech>(
    mut speech: S,
    life: &Arc<Life>,
    quiet: Duration,
) -> First<Once<S>> {
    let mut frame = Vec::new();
    match timeout(quiet, speech.next()).await {
        Ok(Some(Said::Answer(answer))) => return First::Answer(answer),
        Ok(None) => return First::Nothing,
        Ok(Some(Said::Notice(message) | Said::Question(message))) => event(&message, &mut frame),
        Err(_) => frame.extend_from_slice(COMMENT),
    }
    First::Stream(Events::new(Once(speech), frame, life, quiet))
}

/// The body of such a response.
pub(crate) struct Events<S> {
    script: S,
    /// What is not sent yet.
    frame: Vec<u8>,
    over: bool,
    quiet: Duration,
    comment: Pin<Box<Sleep>>,
    streaming: Streaming,
}

impl<S: Script> Events<S> {
    /// Begins with what is in the frame.
    pub(crate) fn new(script: S, frame: Vec<u8>, life: &Arc<Life>, quiet: Duration) -> Self {
        Self {
            script,
            frame,
            over: false,
            quiet,
            comment: Box::pin(sleep(quiet)),
            streaming: life.stream(),
        }
    }

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
            match self.script.poll_event(task, &mut self.frame) {
                Poll::Pending => break,
                Poll::Ready(more) => self.over = !more,
            }
        }
    }
}

impl<S: Script> http_body::Body for Events<S> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.streaming.is_closing() {
            this.script.end();
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
pub(crate) fn event(message: &[u8], frame: &mut Vec<u8>) {
    const OPEN: &[u8] = b"event: message\ndata: ";
    frame.reserve(OPEN.len() + message.len() + 2);
    frame.extend_from_slice(OPEN);
    frame.extend_from_slice(message);
    frame.extend_from_slice(b"\n\n");
}

/// The same, with an id to come back with.
pub(crate) fn numbered(id: EventId, message: &[u8], frame: &mut Vec<u8>) {
    frame.extend_from_slice(format!("id: {id}\n").as_bytes());
    event(message, frame);
}

/// An event of nothing but an id, and how soon to come back with it.
pub(crate) fn priming(id: EventId, frame: &mut Vec<u8>) {
    let retry = RETRY.as_millis();
    frame.extend_from_slice(format!("id: {id}\nretry: {retry}\ndata: \n\n").as_bytes());
}

/// How long a client waits before it comes back for the rest of a stream.
const RETRY: Duration = Duration::from_secs(1);
