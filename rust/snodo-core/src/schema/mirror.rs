//! `x-mcp-header`: arguments that HTTP clients repeat in a header, so that gateways can route
//! without reading the body. Here is which declarations are sound (MCP 2026-07-28, Streamable HTTP).

use jsonschema::Draft;

use super::SchemaError;
use super::walk::{Holds, escape, holds};
use crate::json::{Json, Object};

const KEYWORD: &str = "x-mcp-header";

/// An argument that HTTP clients mirror into a header (`x-mcp-header`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Lower-case header name: `mcp-param-<name>`.
    pub header: String,
    /// Property names from the root to the argument.
    pub path: Vec<String>,
    /// How header and argument are compared.
    pub kind: MirrorKind,
}

/// The declared type of a mirrored argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorKind {
    /// Equal texts.
    String,
    /// Equal numbers.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// All mirrored arguments of an input schema.
pub(super) fn mirrors(schema: &Json, draft: Draft) -> Result<Vec<Mirror>, SchemaError> {
    let mut scan = Scan {
        draft,
        found: Vec::new(),
    };
    scan.value(schema, "", Some(&[]))?;
    Ok(scan.found)
}

struct Scan {
    draft: Draft,
    found: Vec<Mirror>,
}

impl Scan {
    /// Looks at a schema, or at whatever an unknown keyword holds. `path` is there as long as only
    /// `properties` led here from the root.
    fn value(
        &mut self,
        value: &Json,
        at: &str,
        path: Option<&[String]>,
    ) -> Result<(), SchemaError> {
        match value {
            Json::Object(object) => self.schema(object, at, path),
            Json::Array(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| self.value(item, &format!("{at}/{index}"), None)),
            _ => Ok(()),
        }
    }

    fn schema(
        &mut self,
        schema: &Object,
        at: &str,
        path: Option<&[String]>,
    ) -> Result<(), SchemaError> {
        if let Some(name) = schema.get(KEYWORD) {
            let mirror = self.mirror(schema, name, path);
            self.found.push(
                mirror.map_err(|reason| SchemaError::new(format!("{at}/{KEYWORD}"), reason))?,
            );
        }
        for (key, value) in schema.iter() {
            // Data, in which the word means nothing.
            if matches!(key, "const" | "default" | "enum" | "examples") {
                continue;
            }
            let below = format!("{at}/{}", escape(key));
            match value {
                Json::Object(named) if holds(self.draft, key) == Some(Holds::Named) => {
                    for (name, property) in named.iter() {
                        let below = format!("{below}/{}", escape(name));
                        let path = path.filter(|_| key == "properties").map(|path| {
                            path.iter()
                                .cloned()
                                .chain([name.to_owned()])
                                .collect::<Vec<_>>()
                        });
                        self.value(property, &below, path.as_deref())?;
                    }
                }
                _ => self.value(value, &below, None)?,
            }
        }
        Ok(())
    }

    fn mirror(
        &self,
        schema: &Object,
        name: &Json,
        path: Option<&[String]>,
    ) -> Result<Mirror, String> {
        let Json::String(name) = name else {
            return Err(format!(
                "x-mcp-header must be a string, got: {}",
                text(name)
            ));
        };
        if name.is_empty() {
            return Err("x-mcp-header must not be empty".to_owned());
        }
        if !name.bytes().all(is_token) {
            return Err(format!(
                "x-mcp-header {} is not a valid header name token",
                text(&Json::String(name.clone()))
            ));
        }
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Err(
                "x-mcp-header is only allowed on properties reached through `properties`"
                    .to_owned(),
            );
        };
        let kind = match schema.get("type").and_then(Json::as_str) {
            Some("string") => MirrorKind::String,
            Some("integer") => MirrorKind::Integer,
            Some("boolean") => MirrorKind::Boolean,
            _ => {
                let got = schema.get("type").map_or_else(|| "none".to_owned(), text);
                return Err(format!(
                    "x-mcp-header \"{name}\" requires type string, integer, or boolean, got: {got}"
                ));
            }
        };
        let header = format!("mcp-param-{}", name.to_ascii_lowercase());
        if self.found.iter().any(|other| other.header == header) {
            return Err(format!(
                "x-mcp-header \"{name}\" is used more than once, ignoring case"
            ));
        }
        Ok(Mirror {
            header,
            path: path.to_vec(),
            kind,
        })
    }
}

/// A character of an HTTP token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn text(value: &Json) -> String {
    String::from_utf8_lossy(&value.to_vec()).into_owned()
}
