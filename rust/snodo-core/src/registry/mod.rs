//! What this server offers: built once, then frozen, sorted by name in byte order, found by name.
//!
//! Definitions only: neither callables nor anything that belongs to a request lives here.

mod tool;

use std::collections::HashMap;

pub use tool::Tool;

use crate::operation::Feature;

/// The frozen catalogue.
#[derive(Debug, Default)]
pub struct Registry {
    /// Sorted by name in byte order.
    pub tools: Vec<Tool>,
    tools_by_name: HashMap<String, usize>,
}

/// Why a catalogue cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A tool without a name could never be called.
    #[error("tool must have a non-empty string name")]
    EmptyName,
    /// A call could mean either.
    #[error("tool name \"{0}\" is already registered by another tool")]
    Duplicate(String),
}

impl Registry {
    /// Checks, sorts and freezes.
    pub fn build(mut tools: Vec<Tool>) -> Result<Self, RegistryError> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        if tools.iter().any(|tool| tool.name.is_empty()) {
            return Err(RegistryError::EmptyName);
        }
        if let Some(pair) = tools.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(RegistryError::Duplicate(pair[0].name.clone()));
        }
        let tools_by_name = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name.clone(), at))
            .collect();
        Ok(Self {
            tools,
            tools_by_name,
        })
    }

    /// Where in [`Self::tools`] the tool of this name is.
    pub fn find_tool(&self, name: &str) -> Option<usize> {
        self.tools_by_name.get(name).copied()
    }

    /// Whether anything of this feature is registered; what is not is not advertised either.
    pub fn offers(&self, feature: Feature) -> bool {
        match feature {
            Feature::Tools => !self.tools.is_empty(),
            // No such component can be registered yet.
            Feature::Resources
            | Feature::Prompts
            | Feature::Completions
            | Feature::Subscriptions => false,
        }
    }
}
