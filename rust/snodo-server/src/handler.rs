//! The one door out of Rust: a `Handler` takes a `Call` and a `Reply`, which it must use once.

use std::sync::Arc;

use snodo_core::call::Call;
use snodo_core::outcome::Outcome;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::cancel::CancelToken;
use crate::rest::Rest;
use crate::voice::Voice;

/// Whatever can run a call: a lane of Python threads, an event loop, a closure in a test.
pub trait Handler: Send + Sync + 'static {
    /// Takes the call and returns at once; the answer goes through `reply`, from any thread.
    fn call(&self, call: Call, reply: Reply);
}

impl<F: Fn(Call, Reply) + Send + Sync + 'static> Handler for F {
    fn call(&self, call: Call, reply: Reply) {
        self(call, reply);
    }
}

/// The way back. Consumed by use; dropped unused, the request fails as one whose handler died.
#[derive(Debug)]
pub struct Reply {
    sender: Option<oneshot::Sender<Outcome>>,
    cancel: CancelToken,
    voice: Option<Voice>,
    /// Held until the work is really gone.
    _place: Option<Place>,
    rest: Option<Rest>,
}

/// A place among the running calls.
#[derive(Debug)]
pub enum Place {
    /// A call's own.
    Own(OwnedSemaphorePermit),
    /// One that a layer shares with what is below it: it would wait for a second one while it holds the
    /// first.
    Shared(Arc<OwnedSemaphorePermit>),
}

impl Reply {
    /// A reply whose outcome arrives at the receiver.
    pub fn new(
        cancel: CancelToken,
        voice: Option<Voice>,
        place: Option<Place>,
    ) -> (Self, oneshot::Receiver<Outcome>) {
        let (sender, receiver) = oneshot::channel();
        (
            Self {
                sender: Some(sender),
                cancel,
                voice,
                _place: place,
                rest: None,
            },
            receiver,
        )
    }

    /// Lets a layer ask for what is below it.
    #[must_use]
    pub(crate) fn with_rest(mut self, rest: Rest) -> Self {
        self.rest = Some(rest);
        self
    }

    /// What is below, for the call of a layer.
    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }

    /// Tells when nobody wants the answer any more.
    pub fn cancelled(&self) -> &CancelToken {
        &self.cancel
    }

    /// Whether nobody wants the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.reason().is_some()
    }

    /// Speaks before the answer; `None` where nobody wants to hear anything.
    pub fn voice(&self) -> Option<&Voice> {
        self.voice.as_ref()
    }

    /// Answers.
    pub fn send(mut self, outcome: Outcome) {
        if let Some(sender) = self.sender.take() {
            self.cancel.forget_hook();
            // An error means that nobody waits any more: cancelled, or out of time.
            let _ = sender.send(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.sender.is_some() {
            self.cancel.forget_hook();
        }
    }
}
