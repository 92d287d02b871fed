//! What is to be run, and what must be remembered to answer it.

use std::sync::Arc;

use crate::context::Context;
use crate::error::Error;
use crate::json::Object;
use crate::operation::Operation;
use crate::policy::{Inquiry, Purpose};
use crate::subscription::{Filter, Selection};

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
    /// Whether the application's policy lets a request see or use components. The handler gives
    /// [`Value::Decisions`](crate::outcome::Value::Decisions), or an error that is a fault of the
    /// policy. What follows is [`crate::pipeline::proceed`]'s to say.
    Policy(Box<Inquiry>),
    /// A prompt.
    Prompt(usize),
    /// Values for an argument.
    Completion {
        /// Whose argument.
        of: Completed,
        /// Its name.
        argument: String,
    },
    /// A method of an extension, which is given the request's parameters. The handler gives a result or
    /// [`Value::Structured`](crate::outcome::Value::Structured), an object.
    Method(Box<Method>),
    /// Whether an extension takes part in a request, given what the client says of it. The handler gives
    /// [`Value::Structured`](crate::outcome::Value::Structured): an object, with `settings` if it does.
    Negotiation(Box<Negotiation>),
    /// What an extension puts around an operation, given the request's parameters. Through its reply the
    /// handler can ask for what is below.
    Layer(Box<Layer>),
    /// What a listener hears of an extension, given what it asks for. The handler gives
    /// [`Value::Structured`](crate::outcome::Value::Structured): the part that is accepted.
    Selection(Box<Selecting>),
    /// An event of an extension, which is given as `selector` and `payload`, in words. The handler gives
    /// [`Value::Structured`](crate::outcome::Value::Structured): an object, with `method` and `params`
    /// if there is something to say.
    Event(usize),
}

/// What an argument to complete belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completed {
    /// A prompt.
    Prompt(usize),
    /// A template.
    Template(usize),
}

/// A method of an extension's.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// The extension's place among those installed.
    pub at: usize,
    /// The method's place among the extension's.
    pub method: usize,
    /// Its name.
    pub name: &'static str,
}

/// A request while it is settled which extensions take part in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiation {
    /// The place of the one that is asked.
    pub at: usize,
    /// Those to be asked after it, the next one last.
    pub(crate) waiting: Vec<usize>,
    pub(crate) wanted: Wanted,
}

/// What a request is for that extensions take part in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    /// An operation of the core, with the parameters as they were sent.
    Core(Arc<Operation>, Arc<Object>),
    /// A method, with its parameters.
    Method(Method, Object),
    /// To listen; the members of the filter that are none of the core's.
    Listen(Filter, Object),
}

/// What an extension puts around an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The extension's place.
    pub at: usize,
    /// The layers below, the next one last.
    pub(crate) below: Vec<usize>,
    pub(crate) operation: Arc<Operation>,
    pub(crate) params: Arc<Object>,
}

impl Layer {
    /// Whether it is around a call of a tool, so that it may answer as a tool does.
    pub(crate) fn is_around_tool(&self) -> bool {
        matches!(*self.operation, Operation::CallTool { .. })
    }

    /// Whether it is around what may be answered with a question.
    pub(crate) fn may_ask(&self) -> bool {
        matches!(
            *self.operation,
            Operation::CallTool { .. }
                | Operation::ReadResource { .. }
                | Operation::GetPrompt { .. }
        )
    }
}

/// A listener while it is settled what it hears of extensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Selecting {
    /// The place of the one that is asked.
    pub at: usize,
    /// What is asked for.
    pub(crate) asked: Selection,
    /// Those to be asked after it, the next one last, each with what is asked for.
    pub(crate) waiting: Vec<(usize, Object)>,
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
    /// What for.
    pub(crate) purpose: Purpose,
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
        if matches!(self, Self::Policy(_)) {
            return Error::internal(format!("{} returned an invalid decision", self.noun()));
        }
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
            Self::Policy(_) => "Authorization policy failed",
            Self::Prompt(_) => "Prompt rendering failed",
            Self::Completion { .. } => "Completion failed",
            Self::Method(_) => "Extension method failed",
            Self::Negotiation(_) => "Extension negotiation failed",
            Self::Layer(_) => "Extension middleware failed",
            Self::Selection(_) => "Extension subscription failed",
            Self::Event(_) => "Extension event failed",
        })
    }

    /// Whether its call may end in a change of the client's session.
    pub fn settles(&self) -> bool {
        match self {
            Self::Matcher(search) => search.purpose == Purpose::Watch,
            Self::Policy(inquiry) => inquiry.settles(),
            _ => false,
        }
    }

    /// The URI that is read.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Resource { uri, .. } | Self::Template { uri, .. } => Some(uri),
            _ => None,
        }
    }

    /// The name of the argument that is completed.
    pub fn argument(&self) -> Option<&str> {
        match self {
            Self::Completion { argument, .. } => Some(argument),
            _ => None,
        }
    }

    /// What kind of component it is, in a word.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Tool(_) => "Tool",
            Self::Resource { .. } | Self::Template { .. } => "Resource",
            Self::Matcher(_) => "Resource matcher",
            Self::Policy(_) => "Authorization policy",
            Self::Prompt(_) => "Prompt",
            Self::Completion { .. } => "Completion",
            Self::Method(_) => "Extension method",
            Self::Negotiation(_) => "Extension negotiation",
            Self::Layer(_) => "Extension middleware",
            Self::Selection(_) => "Extension subscription",
            Self::Event(_) => "Extension event",
        }
    }

    /// Whether it is what an extension has to say.
    pub fn is_of_extension(&self) -> bool {
        matches!(
            self,
            Self::Method(_)
                | Self::Negotiation(_)
                | Self::Layer(_)
                | Self::Selection(_)
                | Self::Event(_)
        )
    }

    /// Whether its outcome says what is to be called, and is no answer: part of the checks before.
    pub fn is_lookup(&self) -> bool {
        matches!(
            self,
            Self::Matcher(_) | Self::Policy(_) | Self::Negotiation(_)
        )
    }

    /// Whether a request for more input may be the answer.
    pub(crate) fn may_ask(&self) -> bool {
        match self {
            Self::Tool(_) | Self::Resource { .. } | Self::Template { .. } | Self::Prompt(_) => true,
            Self::Layer(layer) => layer.may_ask(),
            _ => false,
        }
    }
}
