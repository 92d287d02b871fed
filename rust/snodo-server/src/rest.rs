//! The second door of a layer: the way to ask for what is below it, from any thread.

use std::fmt;
use std::time::Duration;

use snodo_core::context::Carried;
use snodo_core::error::Error;
use snodo_core::json::Object;
use tokio::sync::mpsc;

use crate::cancel::CancelToken;

/// Asks for what is below a layer while the layer's own call runs.
#[derive(Debug, Clone)]
pub struct Rest(mpsc::Sender<Asked>);

/// What a layer wants to know of what is below it.
#[derive(Debug)]
pub enum What {
    /// What the checks before it come to.
    Check,
    /// What it answers, given this.
    Run(Option<Carried>),
    /// The same, with the answers and the state of a question that it gave before.
    Resume(Option<Carried>, Object, Option<String>),
}

/// What came of it: the result object, or `None` if the checks hold and something would be run.
pub type Granted = Result<Option<Vec<u8>>, Error>;

type Done = Box<dyn FnOnce(Granted) + Send>;

/// A wish under way. Dropped unfulfilled nobody is told: the layer is over then.
pub(crate) struct Wish {
    pub(crate) what: What,
    pub(crate) cancel: CancelToken,
    pub(crate) done: Done,
}

/// What comes through the door.
#[derive(Debug)]
pub(crate) enum Asked {
    Wish(Wish),
    /// Another door, through which wishes come when this one is closed.
    Detached(Detached),
}

/// What is wished for when the layer may have answered.
#[derive(Debug)]
pub(crate) struct Detached {
    pub(crate) wishes: mpsc::Receiver<Asked>,
    /// For each wish, where it is not the component's own.
    pub(crate) time: Option<Duration>,
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wish").finish_non_exhaustive()
    }
}

/// Wishes that may wait for the one that is being fulfilled.
const WAITING: usize = 4;

impl Rest {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (sender, wishes) = mpsc::channel(WAITING);
        (Self(sender), wishes)
    }

    /// Asks; `done` is told, on any thread, and must be quick. `cancel` says that nobody wants to know any
    /// more. `false`: the layer is over, or asks for too much at once.
    pub fn ask(
        &self,
        what: What,
        cancel: CancelToken,
        done: impl FnOnce(Granted) + Send + 'static,
    ) -> bool {
        let done = Box::new(done);
        let wish = Wish { what, cancel, done };
        self.0.try_send(Asked::Wish(wish)).is_ok()
    }

    /// A door that stays open when the layer has answered, as long as somebody holds it. What is asked
    /// for there runs as a call of its own, one after the other: in a place of its own, for this time,
    /// and without a way to the client. `None`: the layer is over, or asks for too much at once.
    #[must_use]
    pub fn detach(&self, time: Option<Duration>) -> Option<Self> {
        let (rest, wishes) = Self::new();
        let detached = Asked::Detached(Detached { wishes, time });
        self.0.try_send(detached).is_ok().then_some(rest)
    }
}
