//! The two pure halves of every request: `prepare` takes bytes to a call or an answer, `finish`
//! takes an outcome to bytes.

use std::sync::Arc;

use crate::call::Call;
use crate::context::{Arrival, Context};
use crate::envelope::Id;
use crate::outcome::Outcome;
use crate::runtime::Runtime;

/// What became of a message before anything ran.
#[derive(Debug)]
pub enum Prepared {
    /// Everything is known already.
    Answer(Answer),
    /// Run this, then `finish`.
    Call(Call),
    /// The client no longer wants the answer to this request.
    Cancel(Id),
    /// Accepted; nothing to say and nothing to do (a notification or a response).
    Silence,
}

/// A response, as bytes.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// The whole JSON-RPC response, compact, without line ending.
    pub body: Vec<u8>,
    /// What it says, for transports that have statuses.
    pub verdict: Verdict,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A result.
    Result,
    /// An error of this code.
    Error(i64),
    /// No place to run it.
    Busy,
    /// It ran out of time.
    Late,
    /// The server is shutting down.
    Closing,
}

/// Parse, admit, route, validate.
pub fn prepare(runtime: &Runtime, body: &[u8], arrival: Arrival) -> Prepared {
    let _ = (runtime, body, arrival);
    todo!()
}

/// Shape: the answer to `context`'s request, of tool `tool`, whose handler gave `outcome`.
pub fn finish(runtime: &Runtime, context: &Arc<Context>, tool: usize, outcome: Outcome) -> Answer {
    let _ = (runtime, context, tool, outcome);
    todo!()
}

/// An error that no handler raised, for the request `id` (busy, late, closing, malformed framing).
pub fn refuse(id: Option<&Id>, error: &crate::error::Error, verdict: Verdict) -> Answer {
    let _ = (id, error, verdict);
    todo!()
}
