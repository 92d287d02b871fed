//! A resource's definition and a template's, as data.

use super::{Completable, RegistryError, UriTemplate, check_completions};
use crate::json::Object;
use crate::meta::is_absolute_uri;
use crate::outcome::{self, Encoded};
use crate::runtime::Cache;

/// A resource at one URI.
#[derive(Debug)]
pub struct Resource {
    /// Unique in the server; compared byte for byte.
    pub uri: String,
    /// The definition as listed: `uri`, `name`, `title`?, `description`?, `mimeType`?, `size`?,
    /// `icons`?, `annotations`?, `_meta`?
    pub definition: Object,
    /// What its contents are where a handler gives a plain value.
    pub mime_type: Option<String>,
    /// Contents (a JSON array) that never change: reads are answered from here, without a handler.
    pub content: Option<Encoded>,
    /// Policy of its reads; `None` for the server's.
    pub cache: Option<Cache>,
    /// Longest run in ms; `None` for the server's default.
    pub timeout_ms: Option<u64>,
}

/// Resources at every URI of a shape.
#[derive(Debug)]
pub struct Template {
    /// What it matches; `None` for one that matches by code of its own.
    pub template: Option<UriTemplate>,
    /// Its text, as listed; unique in the server.
    pub text: String,
    /// The definition as listed: `uriTemplate`, `name`, and the rest as for [`Resource`].
    pub definition: Object,
    /// What its contents are where a handler gives a plain value.
    pub mime_type: Option<String>,
    /// Policy of its reads; `None` for the server's.
    pub cache: Option<Cache>,
    /// Longest run in ms; `None` for the server's default.
    pub timeout_ms: Option<u64>,
    /// The arguments that can be completed.
    pub completions: Vec<Completable>,
}

impl Resource {
    /// Its name, as listed.
    pub fn name(&self) -> &str {
        name(&self.definition)
    }

    /// Checks it, and brings static contents into the form they are sent in.
    pub(super) fn check(&mut self) -> Result<(), RegistryError> {
        if self.name().is_empty() {
            return Err(RegistryError::EmptyName("resource"));
        }
        if !is_absolute_uri(&self.uri) {
            return Err(RegistryError::RelativeUri);
        }
        if let Some(content) = self.content.take() {
            let mut out = Vec::with_capacity(content.len());
            outcome::write_contents(&content, &self.uri, &mut out)?;
            self.content = Some(out);
        }
        Ok(())
    }
}

impl Template {
    /// Its name, as listed.
    pub fn name(&self) -> &str {
        name(&self.definition)
    }

    /// What a URI binds, if it matches; nothing does where other code decides.
    pub(super) fn matches(&self, uri: &str) -> Option<Object> {
        self.template.as_ref()?.matches(uri)
    }

    pub(super) fn check(&self) -> Result<(), RegistryError> {
        if self.name().is_empty() {
            return Err(RegistryError::EmptyName("resource"));
        }
        check_completions(&self.completions, |_| true)
            .map_err(|()| RegistryError::TemplateCompletions)
    }
}

fn name(definition: &Object) -> &str {
    let name = definition.get("name").and_then(crate::json::Json::as_str);
    name.unwrap_or_default()
}
