//! One message from its arrival to its end: told to begin once, and to end once, whatever happens.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use http::StatusCode;
use snodo_core::context::Transport;
use snodo_core::envelope::Id;
use snodo_core::error::code;
use snodo_core::pipeline::{Answer, Component, Gist, Verdict};

use crate::telemetry::{Event, Telemetry, transport};
use crate::transport::response::status;

/// A message that is served, as far as it may be told of.
#[derive(Debug)]
pub struct Dispatch {
    /// What it is known by; no other one of this server has the same.
    pub span: u64,
    /// Its method, if this library has such a one.
    pub method: Option<&'static str>,
    /// `None`: it wants no answer, or has none that can be read.
    pub request_id: Option<Id>,
    /// How it came.
    pub transport: Transport,
    /// The revision it is spoken in.
    pub protocol_version: Option<&'static str>,
    /// What it is about, as it is registered.
    pub component: Option<Component>,
    /// Where the client stands in a trace.
    pub traceparent: Option<String>,
    /// What vendors add to that.
    pub tracestate: Option<String>,
    /// What the application hands on. It may say who the user is, so it is for the handler's own
    /// surroundings and in no event.
    pub baggage: Option<String>,
    /// When it arrived.
    pub system_time: SystemTime,
}

impl Dispatch {
    /// The method, under a name that nobody can make up.
    pub fn method(&self) -> &'static str {
        self.method.unwrap_or("unknown")
    }

    /// The name of its component, or nothing.
    pub fn component(&self) -> &str {
        self.component
            .as_ref()
            .map_or("", |component| &component.name)
    }

    /// How it came, in a word.
    pub fn transport(&self) -> &'static str {
        transport(self.transport)
    }
}

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a result.
    Ok,
    /// With an error.
    Error,
    /// With a subscription, which goes on.
    Stream,
    /// Nothing was to be said.
    NoReply,
    /// Nobody wanted the answer any more.
    Cancelled,
}

impl Outcome {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Stream => "stream",
            Self::NoReply => "no_reply",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How a message ended, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// How.
    pub outcome: Outcome,
    /// Of the error, if it was one.
    pub error_code: Option<i64>,
    /// `tool_error` where a result says that the tool failed, `raised` where that is a bug of the
    /// tool's; `timeout`, `busy` and `closing` where an error's code does not tell.
    pub error_type: Option<&'static str>,
    /// The HTTP status that the answer stands for.
    pub status: Option<u16>,
}

impl End {
    const fn silent(outcome: Outcome) -> Self {
        Self {
            outcome,
            error_code: None,
            error_type: None,
            status: None,
        }
    }

    /// How it ended in one word, in which a tool that failed has its own.
    pub fn flat(&self) -> &'static str {
        match (self.outcome, self.error_type) {
            (Outcome::Ok, Some(kind)) => kind,
            (outcome, _) => outcome.name(),
        }
    }

    fn of(verdict: Verdict) -> Self {
        let (error_code, error_type) = match verdict {
            Verdict::Result => (None, None),
            Verdict::Raised => (None, Some("raised")),
            Verdict::Error(code) | Verdict::Told(code) => (Some(code), None),
            Verdict::Busy => (Some(code::INTERNAL_ERROR), Some("busy")),
            Verdict::Late => (Some(code::INTERNAL_ERROR), Some("timeout")),
            Verdict::Closing => (Some(code::INTERNAL_ERROR), Some("closing")),
        };
        Self {
            outcome: error_code.map_or(Outcome::Ok, |_| Outcome::Error),
            error_code,
            error_type,
            status: Some(status(verdict).as_u16()),
        }
    }
}

/// A message that has been told to begin. Dropped without an end it is told to be cancelled.
#[derive(Debug)]
pub struct Span {
    telemetry: Arc<Telemetry>,
    dispatch: Arc<Dispatch>,
    began: Instant,
    open: bool,
}

/// When a message arrived, and what it is known by.
pub(crate) struct Arrived {
    pub(crate) span: u64,
    began: Instant,
    system_time: SystemTime,
}

impl Arrived {
    pub(crate) fn now(telemetry: &Telemetry) -> Self {
        Self {
            span: telemetry.next_span(),
            began: Instant::now(),
            system_time: SystemTime::now(),
        }
    }

    /// Tells that it is served.
    pub(crate) fn begin(
        self,
        telemetry: &Arc<Telemetry>,
        transport: Transport,
        gist: Gist,
    ) -> Span {
        let dispatch = Arc::new(Dispatch {
            span: self.span,
            method: gist.method,
            request_id: gist.id,
            transport,
            protocol_version: gist.version,
            component: gist.component,
            traceparent: gist.traceparent,
            tracestate: gist.tracestate,
            baggage: gist.baggage,
            system_time: self.system_time,
        });
        telemetry.in_flight.fetch_add(1, Relaxed);
        telemetry.tell(&Event::Start(&dispatch));
        Span {
            telemetry: telemetry.clone(),
            dispatch,
            began: self.began,
            open: true,
        }
    }
}

impl Span {
    /// Who is told.
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// It is answered.
    pub(crate) fn answered(self, answer: &Answer) {
        let mut end = End::of(answer.verdict);
        if self.dispatch.method == Some("tools/call") && answer.is_failure() {
            end.error_type = end.error_type.or(Some("tool_error"));
        }
        self.end(end);
    }

    /// It was refused with this error.
    pub(crate) fn refused(self, code: i64) {
        self.end(End::of(Verdict::Error(code)));
    }

    /// Nothing was to be said.
    pub(crate) fn silent(self) {
        self.end(End {
            status: Some(StatusCode::ACCEPTED.as_u16()),
            ..End::silent(Outcome::NoReply)
        });
    }

    /// It goes on as a subscription.
    pub(crate) fn streams(self) {
        self.end(End {
            status: Some(status(Verdict::Result).as_u16()),
            ..End::silent(Outcome::Stream)
        });
    }

    /// A bug of this library ended it.
    pub(crate) fn broke(mut self) {
        let duration = self.close();
        self.tell(&Event::Exception(&self.dispatch, duration));
    }

    fn end(mut self, end: End) {
        let duration = self.close();
        self.tell(&Event::Stop(&self.dispatch, duration, end));
    }

    fn close(&mut self) -> Duration {
        self.open = false;
        self.telemetry.in_flight.fetch_sub(1, Relaxed);
        self.began.elapsed()
    }

    fn tell(&self, event: &Event<'_>) {
        self.telemetry.tell(event);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if self.open {
            let duration = self.close();
            if std::thread::panicking() {
                self.tell(&Event::Exception(&self.dispatch, duration));
            } else {
                let end = End::silent(Outcome::Cancelled);
                self.tell(&Event::Stop(&self.dispatch, duration, end));
            }
        }
    }
}
