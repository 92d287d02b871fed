//! An accepted schema to a validator, once. No network, no files; formats and contents are notes.

use std::collections::HashMap;

use fancy_regex::{Regex, RegexBuilder};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};

use super::node::Ours;
use super::rule::explain;
use super::{SchemaError, walk};
use crate::json::Json;
use crate::limits::PATTERN_STEPS;

/// Holds a schema to its meta-schema and compiles it.
pub(super) fn compile(schema: &Json, draft: Draft) -> Result<Validator<Ours>, SchemaError> {
    jsonschema::options_for::<Ours>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(PATTERN_STEPS))
        .build(&schema.to_serde())
        .map_err(|error| refusal(&error))
}

/// Why a schema does not compile, for the developer who wrote it.
fn refusal(error: &ValidationError<'_>) -> SchemaError {
    let at = error.instance_path().as_str().to_owned();
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            SchemaError::new(at, "pattern is not a valid regular expression")
        }
        ValidationErrorKind::Referencing(cause) => SchemaError::new(at, cause.to_string()),
        ValidationErrorKind::Custom { message, .. } => SchemaError::new(at, message.clone()),
        _ => match explain(error, None).into_iter().next() {
            Some(failure) => SchemaError::new(pointer(&failure.path), failure.rule),
            None => SchemaError::new(at, "is not a valid schema"),
        },
    }
}

fn pointer(path: &[String]) -> String {
    path.iter()
        .flat_map(|key| ["/".to_owned(), walk::escape(key)])
        .collect()
}

/// One regular expression for the basic validator.
pub(super) fn pattern(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern)
        .backtrack_limit(PATTERN_STEPS)
        .build()
        .ok()
}

/// Every `pattern` in a document, compiled; `None` for what is not a regular expression.
pub(super) fn patterns(schema: &Json, found: &mut HashMap<String, Option<Regex>>) {
    match schema {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                if let ("pattern", Json::String(text)) = (key, value) {
                    found.entry(text.clone()).or_insert_with(|| pattern(text));
                }
                patterns(value, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| patterns(item, found)),
        _ => {}
    }
}
