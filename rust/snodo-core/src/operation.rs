//! The protocol-neutral verbs a dialect can ask for, and what a server may offer of them.

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

/// A part of the protocol that a server offers or does not, depending on what is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `tools/*`
    Tools,
    /// `resources/*`
    Resources,
    /// `prompts/*`
    Prompts,
    /// `completion/complete`
    Completions,
    /// `subscriptions/listen`
    Subscriptions,
}

impl Feature {
    /// Those that have a name in a capabilities object, with it.
    pub const ADVERTISED: [(Self, &'static str); 4] = [
        (Self::Completions, "completions"),
        (Self::Prompts, "prompts"),
        (Self::Resources, "resources"),
        (Self::Tools, "tools"),
    ];
}
