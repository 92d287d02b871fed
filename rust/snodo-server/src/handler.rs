//! The one door out of Rust: a `Handler` takes a `Call` and a `Reply`, which it must use once.

use snodo_core::call::Call;
use snodo_core::outcome::Outcome;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::cancel::CancelToken;
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
    /// The place among the running calls, held until the work is really gone.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Reply {
    /// A reply whose outcome arrives at the receiver.
    pub fn new(
        cancel: CancelToken,
        voice: Option<Voice>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> (Self, oneshot::Receiver<Outcome>) {
        let (sender, receiver) = oneshot::channel();
        (
            Self {
                sender: Some(sender),
                cancel,
                voice,
                _permit: permit,
            },
            receiver,
        )
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
