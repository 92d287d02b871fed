//! A tool's definition, as data.

use crate::json::Object;
use crate::schema::Schema;

/// A tool: what is published of it, and what its calls are held to.
#[derive(Debug)]
pub struct Tool {
    /// Unique in the server.
    pub name: String,
    /// The definition as listed: `name`, `title`?, `description`?, `inputSchema`, `outputSchema`?,
    /// `annotations`?, `icons`?, `_meta`?; schemas verbatim.
    pub definition: Object,
    /// What arguments are held to.
    pub input: Schema,
    /// What structured content is held to.
    pub output: Option<Schema>,
    /// Arguments for which `null` means *not given*, although their schema does not say so.
    pub null_is_absent: Vec<String>,
    /// Longest run in ms; `None` for the server's default.
    pub timeout_ms: Option<u64>,
}
