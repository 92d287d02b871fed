//! Accepting, compiling and applying JSON Schema. No network, no files, no tool names.

use crate::json::{Json, Object};

/// Which validator a server holds its calls to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validator {
    /// JSON Schema 2020-12, and draft 7 where declared.
    #[default]
    Full,
    /// The reference's subset.
    Basic,
    /// Accepts everything; the root `required` list still holds.
    Passthrough,
    /// The application's own, applied by whoever runs the call; here only `required` is enforced.
    Custom,
}

/// Why a schema is not accepted: where (a JSON pointer, or empty for the root) and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", if path.is_empty() { String::new() } else { format!(" (at {path})") })]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub path: String,
    /// One sentence.
    pub reason: String,
}

/// An argument that HTTP clients mirror into a header (`x-mcp-header`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Lower-case header name: `mcp-param-<name>`.
    pub header: String,
    /// Property names from the root to the argument.
    pub path: Vec<String>,
}

/// A schema accepted, compiled and ready to be applied.
#[derive(Debug)]
pub struct Schema {
    /// The root `required` list, in order.
    pub required: Vec<String>,
    /// Arguments mirrored into headers.
    pub mirrors: Vec<Mirror>,
}

impl Schema {
    /// Accepts and compiles the schema of a tool's arguments: an object with `type: "object"`.
    pub fn input(schema: &Json, validator: Validator) -> Result<Self, SchemaError> {
        let _ = (schema, validator);
        todo!()
    }

    /// Accepts and compiles the schema of a tool's structured content: any JSON object.
    pub fn output(schema: &Json, validator: Validator) -> Result<Self, SchemaError> {
        let _ = (schema, validator);
        todo!()
    }

    /// The text of the tool failure that these arguments deserve, or `Ok`.
    pub fn check_arguments(&self, arguments: &Object) -> Result<(), String> {
        let _ = arguments;
        todo!()
    }

    /// Whether this structured content (compact JSON text) is accepted.
    pub fn accepts_output(&self, content: &[u8]) -> bool {
        let _ = content;
        todo!()
    }
}
