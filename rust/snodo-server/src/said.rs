//! What is said of a request before and at its end.

use snodo_core::pipeline::Answer;

/// A message on its way to the client.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// A notification that belongs to the request: the whole JSON-RPC message, compact.
    Notice(Vec<u8>),
    /// The answer; nothing follows it.
    Answer(Answer),
}
