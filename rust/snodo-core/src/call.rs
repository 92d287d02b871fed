//! What is to be run, and what must be remembered to answer it.

use std::sync::Arc;

use crate::context::Context;
use crate::error::Error;
use crate::json::Object;

/// A validated call of a component, ready for its handler.
#[derive(Debug)]
pub struct Call {
    /// What is called.
    pub target: Target,
    /// What it is given: a tool's arguments, a template's variables (strings; unbound ones are
    /// absent), a prompt's arguments (strings), for a completion
    /// `{"value": "…", "arguments": {…}}`, for a direct resource nothing.
    pub arguments: Object,
    /// Who asks.
    pub context: Arc<Context>,
}

/// What a call is a call of. Every place is one in [`crate::registry::Registry`].
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A tool.
    Tool(usize),
    /// A read of a direct resource.
    Resource {
        /// Its place.
        at: usize,
        /// The URI asked for, which is the resource's own.
        uri: String,
    },
    /// A read through a template.
    Template {
        /// Its place.
        at: usize,
        /// The URI asked for.
        uri: String,
    },
    /// Whether a template that matches by code of its own matches a URI. The handler gives
    /// [`Value::Structured`](crate::outcome::Value::Structured): `true`, `false`, or an object of the
    /// strings it binds. What follows is [`crate::pipeline::proceed`]'s to say.
    Matcher(Box<Search>),
    /// A prompt.
    Prompt(usize),
    /// Values for an argument.
    Completion {
        /// Whose argument.
        of: Completed,
        /// Its name.
        argument: String,
    },
}

/// What an argument to complete belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completed {
    /// A prompt.
    Prompt(usize),
    /// A template.
    Template(usize),
}

/// A read on its way to whoever answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The template that is asked.
    pub at: usize,
    /// The URI asked for.
    pub uri: String,
    /// The template that matched, with what the URI binds in it.
    pub(crate) found: Option<(usize, Object)>,
    /// How many templates have been asked.
    pub(crate) next: usize,
}

/// What may become of a call that did not give what it should. The texts are the same for every
/// component of a kind; the cause stays with whoever ran the handler.
impl Target {
    /// The handler raised what nobody expected. For a tool this is a result, not an error, and whoever
    /// ran it words that.
    pub fn raised(&self) -> Error {
        Error::internal(format!("{} raised an exception", self.noun()))
    }

    /// The handler ended without an answer.
    pub fn terminated(&self) -> Error {
        Error::internal(format!("{} terminated unexpectedly", self.noun()))
    }

    /// The handler gave something that is no answer at all.
    pub fn invalid_result(&self) -> Error {
        Error::internal(format!("{} returned an invalid result", self.noun()))
    }

    /// The handler gave an answer to another kind of question.
    pub(crate) fn wrong_kind(&self) -> Error {
        match self {
            Self::Tool(_) => self.invalid_result(),
            _ => Error::internal(format!("{} returned the wrong result kind", self.noun())),
        }
    }

    /// The handler says that it failed, where a result has no way of saying so.
    pub(crate) fn failed(&self) -> Error {
        Error::internal(match self {
            Self::Tool(_) => "Tool failed",
            Self::Resource { .. } | Self::Template { .. } => "Resource read failed",
            Self::Matcher(_) => "Resource matcher failed",
            Self::Prompt(_) => "Prompt rendering failed",
            Self::Completion { .. } => "Completion failed",
        })
    }

    /// The URI that is read.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Resource { uri, .. } | Self::Template { uri, .. } => Some(uri),
            _ => None,
        }
    }

    /// What kind of component it is, in a word.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Tool(_) => "Tool",
            Self::Resource { .. } | Self::Template { .. } => "Resource",
            Self::Matcher(_) => "Resource matcher",
            Self::Prompt(_) => "Prompt",
            Self::Completion { .. } => "Completion",
        }
    }
}
