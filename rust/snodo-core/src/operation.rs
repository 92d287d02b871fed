//! The protocol-neutral verbs a dialect can ask for, and what a server may offer of them.

use crate::json::Object;
use crate::notice::Level;
use crate::subscription::Filter;

/// What a request wants, whatever revision spelled it.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// What this server is and can do.
    Discover,
    /// One page of a list.
    List {
        /// Which.
        of: Listed,
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
    /// Read what is at a URI.
    ReadResource {
        /// Absolute.
        uri: String,
    },
    /// Render a prompt.
    GetPrompt {
        /// Its name.
        name: String,
        /// Its arguments: strings all.
        arguments: Object,
    },
    /// Values for an argument.
    Complete(Completion),
    /// Hear of changes.
    Listen {
        /// Of these.
        filter: Filter,
        /// Members of the filter that are none of the core's.
        others: Object,
    },
    /// Nothing but an answer.
    Ping,
    /// Say once for all requests who the client is.
    Open {
        /// `Implementation` object.
        client_info: Object,
        /// What it can do.
        capabilities: Object,
    },
    /// Have something different from now on.
    Settle(Change),
}

/// What a client can change of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// From which level on it wants log entries.
    LogLevel(Level),
    /// To hear when what is at this URI changes.
    Watch {
        /// Which.
        uri: String,
        /// Whether nobody has a say in it, or whoever has allows it. Else that is asked again before
        /// anything is heard: nobody owned it yet, or it is concealed.
        vetted: bool,
    },
    /// Not to hear it any more.
    Unwatch(String),
}

/// The lists there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Tools.
    Tools,
    /// Direct resources.
    Resources,
    /// Resource templates.
    Templates,
    /// Prompts.
    Prompts,
}

/// What is to be completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Whose argument.
    pub of: Reference,
    /// Its name.
    pub argument: String,
    /// What is written of its value so far.
    pub value: String,
    /// The arguments that are given already: strings all.
    pub arguments: Object,
}

/// What an argument to complete belongs to, by name.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// The prompt of this name.
    Prompt(String),
    /// The template of this text.
    Template(String),
}

impl Reference {
    /// Its type on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "ref/prompt",
            Self::Template(_) => "ref/resource",
        }
    }
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
    /// `subscriptions/listen`, and with it telling that lists and resources change.
    Subscriptions,
    /// Log messages, which anything that runs may send.
    Logging,
}

impl Feature {
    /// Those that have a name in a capabilities object, with it.
    pub const ADVERTISED: [(Self, &'static str); 5] = [
        (Self::Completions, "completions"),
        (Self::Logging, "logging"),
        (Self::Prompts, "prompts"),
        (Self::Resources, "resources"),
        (Self::Tools, "tools"),
    ];
}
