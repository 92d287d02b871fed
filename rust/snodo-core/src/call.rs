//! What is to be run, and what must be remembered to answer it.

use std::sync::Arc;

use crate::context::Context;
use crate::json::Object;

/// A validated call of a component, ready for its handler.
#[derive(Debug)]
pub struct Call {
    /// Which tool: its place in [`crate::registry::Registry::tools`].
    pub tool: usize,
    /// The arguments, as sent.
    pub arguments: Object,
    /// Who asks.
    pub context: Arc<Context>,
}
