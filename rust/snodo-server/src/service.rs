//! The walk: prepare → call → finish, once, for every transport.

use std::sync::Arc;

use snodo_core::context::Arrival;
use snodo_core::envelope::Id;
use snodo_core::pipeline::{Answer, Prepared};
use snodo_core::runtime::Runtime;

use crate::cancel::CancelToken;
use crate::handler::Handler;

/// A runtime with somebody to run its calls.
pub struct Service {
    /// What is served.
    pub runtime: Arc<Runtime>,
    /// One for each tool, in the registry's order.
    pub handlers: Vec<Arc<dyn Handler>>,
}

impl Service {
    /// Parse, admit, route, validate.
    pub fn prepare(&self, body: &[u8], arrival: Arrival) -> Prepared {
        snodo_core::pipeline::prepare(&self.runtime, body, arrival)
    }

    /// Runs a prepared call to its answer. `None`: cancelled by the client, nothing may be sent.
    /// Dropping the future cancels the call.
    pub async fn run(&self, call: snodo_core::call::Call, cancel: CancelToken) -> Option<Answer> {
        let _ = (call, cancel);
        todo!()
    }

    /// The answer to a message that could not even be framed (line too long, body too large …).
    pub fn refuse(&self, id: Option<&Id>, error: &snodo_core::error::Error) -> Answer {
        let _ = (id, error);
        todo!()
    }
}
