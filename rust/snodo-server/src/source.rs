//! Where the events of subscriptions come from: a [`Source`] opens a [`Feed`] for each listener.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use snodo_core::context::Context;
use snodo_core::error::Error;
use snodo_core::subscription::{Event, Filter};

/// Whatever knows of changes: a [`crate::hub::Hub`], the application, a closure in a test.
pub trait Source: Send + Sync + 'static {
    /// Opens what a listener will hear; `filter` is what it asked for and the server offers. The
    /// events begin with the first one after this. An error refuses the request.
    fn open(&self, filter: Filter, context: Arc<Context>) -> Opening;
}

impl<F> Source for F
where
    F: Fn(Filter, Arc<Context>) -> Opening + Send + Sync + 'static,
{
    fn open(&self, filter: Filter, context: Arc<Context>) -> Opening {
        self(filter, context)
    }
}

/// A feed, when it is there. Dropping this gives it up.
pub type Opening = Pin<Box<dyn Future<Output = Result<Opened, Error>> + Send>>;

/// What a source gives a listener.
pub struct Opened {
    /// What it will tell of: nothing that was not asked for.
    pub accepted: Filter,
    /// The events.
    pub feed: Box<dyn Feed>,
}

/// The events of one listener.
pub trait Feed: Send {
    /// The next event; `None` when there will be no more. Called only after the one before has been
    /// taken over by the transport.
    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Arc<Event>, Failed>>>;

    /// The server is about to end it: gives what is there already, and then `None`.
    fn finish(&mut self);

    /// It is over. Called once, whatever the reason, and promptly.
    fn close(self: Box<Self>, why: End);
}

/// The source cannot go on. What happened stays with whoever it happened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// What a listener is told whose source has failed, or is not there.
pub fn failed() -> Error {
    Error::internal("Subscription source failed")
}

/// Why a feed is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client does not want it any more, or is gone.
    Cancelled,
    /// It came to its own end.
    Complete,
    /// The server ended it.
    Shutdown,
    /// It failed, or was not what it should be.
    Failed,
}
