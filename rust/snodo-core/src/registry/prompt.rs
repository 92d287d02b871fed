//! A prompt's definition, as data.

use super::{Completable, RegistryError, check_completions};
use crate::json::{Json, Object};

/// A prompt: what is published of it, and what its arguments are held to.
#[derive(Debug)]
pub struct Prompt {
    /// Unique in the server.
    pub name: String,
    /// The definition as listed: `name`, `title`?, `description`?, `arguments`?, `icons`?, `_meta`?
    pub definition: Object,
    /// The arguments it cannot do without, in the order they are declared.
    pub required: Vec<String>,
    /// All of its arguments, in the order they are declared.
    pub arguments: Vec<String>,
    /// The arguments that can be completed.
    pub completions: Vec<Completable>,
    /// Longest run in ms; `None` for the server's default.
    pub timeout_ms: Option<u64>,
}

impl Prompt {
    /// What it is about, as listed.
    pub fn description(&self) -> Option<&str> {
        self.definition.get("description").and_then(Json::as_str)
    }

    pub(super) fn check(&self) -> Result<(), RegistryError> {
        if self.name.is_empty() {
            return Err(RegistryError::EmptyName("prompt"));
        }
        if self.arguments.iter().any(String::is_empty) {
            return Err(RegistryError::ArgumentName);
        }
        let repeated = |(at, name): (usize, &String)| self.arguments[..at].contains(name);
        if self.arguments.iter().enumerate().any(repeated) {
            return Err(RegistryError::ArgumentNames);
        }
        let declared = |name: &str| self.arguments.iter().any(|argument| argument == name);
        check_completions(&self.completions, declared)
            .map_err(|()| RegistryError::PromptCompletions)
    }
}
