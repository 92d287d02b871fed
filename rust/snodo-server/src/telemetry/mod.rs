//! What whoever watches a server is told of it: a [`Sink`] gets an [`Event`] for each thing that happens.
//!
//! Nothing that was sent or answered is ever in one, no identity, and no text that anybody but the
//! server's author wrote, the request's id and its place in a trace apart.

mod access;
mod metrics;
mod span;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

pub use access::AccessLog;
pub(crate) use metrics::CONTENT_TYPE;
pub use metrics::Metrics;
pub(crate) use span::Arrived;
pub use span::{Dispatch, End, Outcome, Span};

use crate::hub::{Overflow, Report};
use crate::source::End as Closed;
use snodo_core::context::Transport;
use snodo_core::envelope::Id;
use snodo_core::subscription::Change;

/// Whatever is told of events. It is called on the thread that something happens on, so it has to be
/// quick and must not wait. One that panics changes nothing.
pub trait Sink: Send + Sync + 'static {
    /// Something has happened.
    fn tell(&self, event: &Event<'_>);
}

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A message is served from here on.
    Start(&'a Arc<Dispatch>),
    /// It is answered, or ended without.
    Stop(&'a Arc<Dispatch>, Duration, End),
    /// A bug of this library ended it.
    Exception(&'a Arc<Dispatch>, Duration),
    /// A listener hears of changes from here on.
    Opened(&'a Subscriber, usize),
    /// It hears of them no more.
    Closed(&'a Subscriber, usize, Closed),
    /// An event was published to a hub.
    Published(&'a Published),
    /// A hub ends its listeners: how many, and how many events they are still to hear.
    Completed {
        /// Listeners.
        subscriptions: usize,
        /// Events.
        queued: usize,
    },
    /// An HTTP request was refused, with this status, before there was a message to serve.
    Refused(u16),
}

/// One listener.
#[derive(Debug)]
pub struct Subscriber {
    /// Of the request that opened the subscription.
    pub request_id: Id,
    /// How it came.
    pub transport: Transport,
    /// What it hears of, in order: keys of its filter.
    pub filter: Vec<String>,
}

/// What became of a published event.
#[derive(Debug)]
pub struct Published {
    /// Which kind of event.
    pub kind: &'static str,
    /// Whose it is, if it is an extension's.
    pub extension: Option<String>,
    /// In listeners.
    pub report: Report,
    /// Events that wait, for all listeners together.
    pub queued: usize,
    /// What becomes of those for which there is no room.
    pub overflow: Overflow,
}

/// What a change is called, without what it is of.
pub(crate) fn kind_of(change: &Change) -> &'static str {
    match change {
        Change::ToolsList => "tools_list_changed",
        Change::PromptsList => "prompts_list_changed",
        Change::ResourcesList => "resources_list_changed",
        Change::Resource(_) => "resource_updated",
        Change::Extension(_) => "extension",
    }
}

/// The extension that something of has changed.
pub(crate) fn extension_of(change: &Change) -> Option<String> {
    match change {
        Change::Extension(own) => Some(own.extension.clone()),
        _ => None,
    }
}

/// How something came, in a word.
pub fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Http => "http",
        Transport::Stdio => "stdio",
        Transport::Direct => "direct",
    }
}

/// How much a server has to do just now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Messages that are being served.
    pub in_flight: usize,
    /// Calls that have a place, those included that nobody waits for any more.
    pub running: usize,
    /// Calls that wait for one.
    pub queued: usize,
    /// Subscriptions, and event streams of sessions.
    pub streams: usize,
    /// HTTP connections.
    pub connections: usize,
    /// Clients that opened with a handshake, over HTTP.
    pub sessions: usize,
}

/// Everybody who watches one server.
#[derive(Default)]
pub struct Telemetry {
    sinks: Vec<Arc<dyn Sink>>,
    metrics: Option<Arc<Metrics>>,
    spans: AtomicU64,
    in_flight: AtomicUsize,
}

impl Telemetry {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more is told.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn Sink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// These are kept, and served over HTTP.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = Some(metrics.clone());
        self.with_sink(metrics)
    }

    /// Those that are kept.
    pub fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// How many messages are being served.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    pub(crate) fn next_span(&self) -> u64 {
        self.spans.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        for sink in &self.sinks {
            let _ = catch_unwind(AssertUnwindSafe(|| sink.tell(event)));
        }
    }
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telemetry").finish_non_exhaustive()
    }
}
