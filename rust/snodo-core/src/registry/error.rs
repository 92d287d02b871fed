//! Why a catalogue cannot be frozen.

use crate::outcome::ContentError;

/// Why a catalogue cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A tool without a name could never be called.
    #[error("tool must have a non-empty string name")]
    EmptyToolName,
    /// Nor any other component of this kind be told apart.
    #[error("{0} requires a non-empty name")]
    EmptyName(&'static str),
    /// A request could mean either of two components of a kind.
    #[error("{0} name \"{1}\" is already registered by another {0}")]
    Name(&'static str, String),
    /// Two direct resources at one URI; the owner of the first.
    #[error("resource URI \"{0}\" is already registered by {1}")]
    Uri(String, String),
    /// Two templates of one text; the owner of the first.
    #[error("resource template \"{0}\" is already registered by {1}")]
    Template(String, String),
    /// A direct resource at a URI that a template matches; the template's owner.
    #[error("resource URI \"{0}\" is already matched by {1}")]
    Overlap(String, String),
    /// Relative to nothing.
    #[error("resource uri must be an absolute URI")]
    RelativeUri,
    /// Static contents that could not be sent.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// What completes in a template.
    #[error("resource completion_arguments must contain unique non-empty strings")]
    TemplateCompletions,
    /// What completes in a prompt.
    #[error("prompt completion_arguments must be unique names declared in arguments")]
    PromptCompletions,
    /// An argument that could never be given.
    #[error("each prompt argument requires a non-empty string name")]
    ArgumentName,
    /// Two arguments that could not be told apart.
    #[error("prompt argument names must be unique")]
    ArgumentNames,
}
