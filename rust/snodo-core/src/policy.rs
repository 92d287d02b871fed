//! What an authorization policy is asked: about which components, when, and what waits for its word.
//!
//! A policy is the application's code, so asking it is a call like any other
//! ([`Target::Policy`](crate::call::Target::Policy)); the request goes on when it has decided.

use crate::call::Completed;
use crate::json::Object;
use crate::operation::{Completion, Listed};

/// What a policy is asked, and the request that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    /// What for.
    pub phase: Phase,
    /// About whom; the handler gives a decision for each, in this order.
    pub subjects: Vec<Subject>,
    /// What goes on.
    pub(crate) found: Found,
}

/// What a policy is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Whether a component is listed.
    Discovery,
    /// Whether it may be used.
    Invocation,
}

impl Phase {
    /// Its name, for the application.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::Invocation => "invocation",
        }
    }
}

/// A component that a policy decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The list it is in.
    pub of: Listed,
    /// Its place there, in the [`Registry`](crate::registry::Registry).
    pub at: usize,
    /// The URI asked for: when a template is read, and when a resource is to be watched.
    pub requested_uri: Option<String>,
}

/// What a request is about, once that is found and before the request is held to its terms.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    List {
        of: Listed,
        cursor: Option<String>,
    },
    Tool {
        at: usize,
        arguments: Object,
    },
    Prompt {
        at: usize,
        arguments: Object,
    },
    Resource {
        at: usize,
        uri: String,
        purpose: Purpose,
    },
    Template {
        at: usize,
        uri: String,
        variables: Object,
        purpose: Purpose,
    },
    Completion {
        of: Completed,
        completion: Completion,
    },
}

/// Why somebody looks for whoever owns a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To read what is there.
    Read,
    /// To hear of it in a session.
    Watch,
    /// To hear of it on a listen stream.
    Listen,
}

/// Whether a listener hears of a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// Its owner's policy allows it.
    Allowed,
    /// It does not.
    Refused,
    /// It does not, and nobody is to know: it looks like one that nobody owns.
    Concealed,
    /// Nobody owns it, so nobody could be asked. That may change.
    Unowned,
}

impl Hearing {
    /// Whether the listener is told now that something changed there.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::Allowed | Self::Unowned)
    }

    /// Whether the listener may go on waiting to hear of it.
    pub const fn is_accepted(self) -> bool {
        !matches!(self, Self::Refused)
    }

    /// Whether nobody has to be asked again before the listener hears of it.
    pub const fn is_vetted(self) -> bool {
        matches!(self, Self::Allowed)
    }
}

impl Inquiry {
    /// What several listeners' URIs are about, to be decided on in one call. Nothing goes on with it:
    /// the decisions are for those it was put together of. `None` of none.
    pub fn together(inquiries: &[Self]) -> Option<Self> {
        let first = inquiries.first()?;
        let subjects = inquiries.iter().flat_map(|it| it.subjects.iter().cloned());
        Some(Self {
            phase: first.phase,
            subjects: subjects.collect(),
            found: first.found.clone(),
        })
    }

    /// Whether it is about a component's use or, of a list with so many entries, about each of them.
    pub(crate) fn new(found: Found, entries: impl FnOnce(Listed) -> usize) -> Self {
        let subject = |of, at, uri: Option<&String>| Subject {
            of,
            at,
            requested_uri: uri.cloned(),
        };
        let one = |of, at| vec![subject(of, at, None)];
        let at_uri = |of, at, uri| vec![subject(of, at, Some(uri))];
        let subjects = match &found {
            Found::List { of, .. } => {
                let entries = 0..entries(*of);
                entries.map(|at| subject(*of, at, None)).collect()
            }
            Found::Tool { at, .. } => one(Listed::Tools, *at),
            Found::Prompt { at, .. } => one(Listed::Prompts, *at),
            Found::Resource {
                at,
                purpose: Purpose::Read,
                ..
            } => one(Listed::Resources, *at),
            Found::Resource { at, uri, .. } => at_uri(Listed::Resources, *at, uri),
            Found::Template { at, uri, .. } => at_uri(Listed::Templates, *at, uri),
            Found::Completion { of, .. } => match of {
                Completed::Prompt(at) => one(Listed::Prompts, *at),
                Completed::Template(at) => one(Listed::Templates, *at),
            },
        };
        let phase = match &found {
            Found::List { .. } => Phase::Discovery,
            _ => Phase::Invocation,
        };
        Self {
            phase,
            subjects,
            found,
        }
    }

    /// The component whose use it is about.
    pub(crate) fn used(&self) -> Option<&Subject> {
        match self.phase {
            Phase::Discovery => None,
            Phase::Invocation => self.subjects.first(),
        }
    }

    /// Whether a client's session changes if it is granted.
    pub(crate) fn settles(&self) -> bool {
        matches!(
            self.found,
            Found::Resource {
                purpose: Purpose::Watch,
                ..
            } | Found::Template {
                purpose: Purpose::Watch,
                ..
            }
        )
    }
}
