//! Why an ask, a tell or an actor tool comes to nothing: every text that callers read, in one table.

use pyo3::prelude::*;
use snodo_core::error::Error;
use snodo_core::outcome::{Outcome, Value};

use crate::imports;

/// What went wrong. Never tells a value, a message, a reply or an exception.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No actor has the name.
    Unavailable,
    /// The mailbox has as many letters as it takes.
    Full,
    /// There was no reply in time. The message is not withdrawn.
    TimedOut,
    /// The actor died, or would have waited for itself.
    Failed,
    /// The generated handler was called with what no client can send.
    NotJson,
    /// The basic validator refuses the arguments: the rule.
    Invalid(String),
    /// The builder raised.
    Builder,
    /// The encoder raised.
    Encoder,
    /// The encoder takes anything but one argument.
    NoEncoder,
    /// The encoder gave anything but a JSON object.
    NotObject,
    /// The builder refuses: the request fails with this error, raised or given as that.
    Refused(Error, Py<PyAny>),
}

impl Fault {
    /// What the model reads.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Unavailable => "Actor target unavailable",
            Self::Full => "Actor mailbox is full",
            Self::TimedOut => "Actor call timed out",
            Self::Failed => "Actor call failed",
            Self::NotJson => "Tool arguments must be JSON values with string keys",
            Self::Invalid(rule) => return format!("Invalid tool arguments: {rule}"),
            Self::Builder => "Could not build actor message",
            Self::Encoder => "Could not encode actor reply",
            Self::NoEncoder => "Actor reply encoder is invalid",
            Self::NotObject => "Actor reply is not a JSON object",
            Self::Refused(error, _) => &error.message,
        };
        text.to_owned()
    }

    /// The same for programs: `ActorError.reason`.
    fn reason(&self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Full => "full",
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
            Self::NotJson | Self::Invalid(_) => "arguments",
            Self::Builder | Self::Refused(..) => "message",
            Self::Encoder | Self::NoEncoder | Self::NotObject => "reply",
        }
    }

    /// The exception that says so.
    pub(crate) fn raised(&self, py: Python<'_>) -> PyErr {
        if let Self::Refused(_, exception) = self {
            return PyErr::from_value(exception.bind(py).clone());
        }
        let made =
            imports::actor_error(py).and_then(|kind| kind.call1((self.text(), self.reason())));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error, _) => error.into(),
            fault => Value::Failure(fault.text()).into(),
        }
    }
}
