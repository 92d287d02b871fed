//! The protocol-neutral verbs a dialect can ask for.

use crate::json::Object;

/// What a request wants, whatever revision spelled it.
#[derive(Debug, PartialEq)]
pub enum Operation {
    /// What this server is and can do.
    Discover,
    /// One page of the tools.
    ListTools {
        /// Where the page begins; `None` for the first.
        cursor: Option<String>,
    },
    /// Run a tool.
    CallTool {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Object,
    },
}
