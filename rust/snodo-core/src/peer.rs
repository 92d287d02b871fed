//! Who is at the other end, where that is told once and not with every request.

use crate::dialect::Dialect;
use crate::json::Object;

/// What a client said of itself at `initialize`, and what was agreed on. Immutable.
#[derive(Debug)]
pub struct Peer {
    /// The revision agreed on.
    pub dialect: &'static dyn Dialect,
    /// `Implementation` object: `name`, `version` and what else it said. For display and logs.
    pub client_info: Object,
    /// What it can do.
    pub capabilities: Object,
}
