//! Values that cannot be sent as what they were asked for.

use super::ContentError;
use crate::call::Target;
use crate::error::Error;

/// Why a value is no result of its operation. The client is told the same for every component of a
/// kind; the reason is for the author.
#[derive(Debug, PartialEq)]
pub(crate) enum Unfit {
    /// It breaks a rule.
    Content(ContentError),
    /// It is an answer to another kind of question.
    Kind,
    /// It says that the handler failed.
    Failed,
    /// It is an error, which fails the request.
    Error(Error),
}

impl From<ContentError> for Unfit {
    fn from(error: ContentError) -> Self {
        Self::Content(error)
    }
}

impl Unfit {
    /// What the client is told.
    pub(crate) fn into_error(self, target: &Target) -> Error {
        match self {
            Self::Content(_) => target.invalid_result(),
            Self::Kind => target.wrong_kind(),
            Self::Failed => target.failed(),
            Self::Error(error) => error,
        }
    }

    /// What the author is told, where there is more to tell.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Content(error) => Some(error.to_string()),
            Self::Kind | Self::Failed | Self::Error(_) => None,
        }
    }
}
