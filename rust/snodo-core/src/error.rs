//! The protocol error as an answer: the one table of codes, and what may be told of each.

use std::borrow::Cow;

use crate::json::{Json, Object};
use crate::limits::{ECHOED_NAME_CHARACTERS, ECHOED_URI_CHARACTERS};

/// What a code in this table means. Codes outside it are the application's.
pub mod code {
    /// The text is not JSON within the limits.
    pub const PARSE_ERROR: i64 = -32700;
    /// Not a JSON-RPC 2.0 request or notification.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method, or its capability is not advertised.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong, or name something that does not exist.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed on the server's side.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// An HTTP header is missing, repeated, malformed, or disagrees with the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the answer needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol version is not one this server speaks.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// Until 2025-11-25: nothing is at this URI.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// In 2025-11-25 alone: the client's user has to open a page first.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
}

/// Which part of the house an error speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A malformed message.
    JsonRpc,
    /// The request breaks the protocol, or its parameters are wrong.
    Protocol,
    /// Headers and connections.
    Transport,
    /// Something failed while running.
    Execution,
    /// The application refused.
    Authorization,
    /// Raised by an extension.
    Extension,
}

/// An error that becomes a JSON-RPC error response. What caused it never gets in here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Error {
    /// A code of [`code`], or the application's own.
    pub code: i64,
    /// One sentence for the reader.
    pub message: Cow<'static, str>,
    /// What a program can act on.
    pub data: Option<Json>,
    /// Which part of the house it speaks for.
    pub kind: Kind,
}

impl Error {
    /// An error of any code.
    pub fn new(code: i64, kind: Kind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            kind,
        }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: Json) -> Self {
        self.data = Some(data);
        self
    }

    /// -32700.
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::PARSE_ERROR, Kind::JsonRpc, message)
    }

    /// -32600.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, Kind::JsonRpc, message)
    }

    /// -32601 `Method not found: <method>`.
    pub fn method_not_found(method: &str) -> Self {
        let message = format!("Method not found: {}", excerpt(method));
        Self::new(code::METHOD_NOT_FOUND, Kind::Protocol, message)
    }

    /// -32602.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, Kind::Protocol, message)
    }

    /// -32602 `Resource not found`, with the URI in the data.
    pub fn resource_not_found(uri: &str) -> Self {
        Self::invalid_params(RESOURCE_NOT_FOUND).with_uri(uri)
    }

    /// Whether it is that, whoever made it.
    pub(crate) fn is_resource_not_found(&self) -> bool {
        self.code == code::INVALID_PARAMS && self.message == RESOURCE_NOT_FOUND
    }

    /// The same error with data that names a URI.
    pub(crate) fn with_uri(self, uri: &str) -> Self {
        let mut data = Object::new();
        data.insert(
            "uri",
            Json::String(beginning(uri, ECHOED_URI_CHARACTERS).into_owned()),
        );
        self.with_data(Json::Object(data))
    }

    /// -32603.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, Kind::Execution, message)
    }

    /// -32020.
    pub fn header(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::HEADER_MISMATCH, Kind::Transport, message)
    }
}

const RESOURCE_NOT_FOUND: &str = "Resource not found";

/// The beginning of a text that a caller sent, for quoting it in a message.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    beginning(text, ECHOED_NAME_CHARACTERS)
}

fn beginning(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}
