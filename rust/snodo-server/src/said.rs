//! What is said of a request before and at its end.

use futures_util::Stream;
use snodo_core::pipeline::Answer;

use crate::listening::Listening;
use crate::voice::Conversation;

/// A message on its way to the client.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// A notification that belongs to the request: the whole JSON-RPC message, compact.
    Notice(Vec<u8>),
    /// A request to the client that belongs to the request, or its withdrawal, which the client hears
    /// although it has cancelled the request.
    Question(Vec<u8>),
    /// The answer; nothing follows it.
    Answer(Answer),
}

/// The messages of one request, in order. Dropping it cancels the request.
pub(crate) trait Speech: Stream<Item = Said> + Send + Unpin + 'static {
    /// The server is about to stop: what goes on by itself comes to its end, with an answer.
    fn end(&mut self);

    /// The client has cancelled the request, whose token says so already. Whether there may be
    /// something left to say.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Speech for Listening {
    fn end(&mut self) {
        Self::end(self);
    }
}

impl Speech for Conversation {
    fn end(&mut self) {
        Self::end(self);
    }

    /// What it has been asked is withdrawn.
    fn cancelled(&self) -> bool {
        self.asks()
    }
}
