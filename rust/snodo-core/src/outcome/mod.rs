//! What a handler may give back. JSON travels as compact, already encoded text.

mod completion;
mod content;
mod encoded;
mod message;
mod unfit;

pub(crate) use completion::write_completion;
pub use content::ContentError;
pub(crate) use content::{is_base64, write_contents, write_read};
pub(crate) use encoded::{asked, members, own_type, string};
pub(crate) use message::{is_block, write_messages};
pub(crate) use unfit::Unfit;

use crate::error::Error;
use crate::json::Object;

/// Compact JSON text, known to be valid.
pub type Encoded = Vec<u8>;

/// What came of a call: one of the result kinds, or the error that fails the request.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// Which kind, and its value.
    pub value: Value,
    /// Members for the result's `_meta`.
    pub metadata: Object,
    /// Whether the handler named the kind, instead of giving a plain value to be taken as one.
    pub named: bool,
}

impl Outcome {
    /// Whether this is what only a tool gives. A text that is read or a message stands as a plain value
    /// for what its component gives; called the text of a tool it does not.
    pub(crate) fn is_of_tools(&self) -> bool {
        let kind = matches!(
            self.value,
            Value::Text(_) | Value::Structured(_) | Value::Content(_)
        );
        self.named && kind
    }
}

/// The kinds of result, and what each carries.
#[derive(Debug, PartialEq)]
pub enum Value {
    /// A text block.
    Text(String),
    /// A JSON value: structured content, and the same as text.
    Structured(Encoded),
    /// Bytes, in standard base64.
    Blob(String),
    /// Content blocks: a JSON array of objects.
    Content(Encoded),
    /// The tool understood and failed: `isError` with this text.
    Failure(String),
    /// The same of a tool that raised what nobody meant for the model: a bug of it.
    Raised(String),
    /// A result object as given; `content` and `isError` are added where absent.
    Raw(Encoded),
    /// A result object as given; nothing is added but `_meta`.
    Wire(Encoded),
    /// More input is needed. At least one of both.
    InputRequired {
        /// Object of key to request.
        requests: Option<Encoded>,
        /// Continuation state.
        state: Option<String>,
    },
    /// Contents of a resource (a JSON array).
    ResourceRead {
        /// The contents.
        contents: Encoded,
        /// Cache time of this read in ms, overriding the policy.
        ttl_ms: Option<i64>,
        /// Cache scope of this read, overriding the policy.
        cache_scope: Option<String>,
    },
    /// Messages of a prompt (a JSON array).
    PromptGet {
        /// The messages.
        messages: Encoded,
        /// What the prompt is about.
        description: Option<String>,
    },
    /// Values of a completion (a JSON array of strings).
    Completion {
        /// The values.
        values: Encoded,
        /// How many there are in all.
        total: Option<u64>,
        /// Whether there are more.
        has_more: Option<bool>,
    },
    /// A policy's decisions: a refusal or nothing for each component it was asked about.
    Decisions(Vec<Result<(), Error>>),
    /// The request fails with this error.
    Error(Error),
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self {
            value,
            metadata: Object::new(),
            named: false,
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Value::Error(error).into()
    }
}
