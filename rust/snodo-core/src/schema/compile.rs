//! An accepted schema to a validator, once. No network, no files; formats and contents are notes.

use std::collections::HashMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::check::find;
use super::node::Ours;
use super::pattern::{Fancy, KEYWORD, NAME_STEPS, Pattern, is_fancy};
use super::rule::explain;
use super::{SchemaError, walk};
use crate::json::Json;

/// A schema ready for the library.
#[derive(Debug)]
pub(super) struct Compiled {
    pub validator: Validator<Ours>,
    /// How many names of `patternProperties` need backtracking.
    pub fancy_names: usize,
}

/// Holds a schema to its meta-schema and compiles it.
pub(super) fn compile(schema: &Json, draft: Draft) -> Result<Compiled, SchemaError> {
    let mut rewritten = schema.to_serde();
    let (fancy, fancy_names) = rename_fancy(schema, draft, &mut rewritten)?;
    let mut options = jsonschema::options_for::<Ours>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json");
    options = if fancy_names == 0 {
        options.with_pattern_options(PatternOptions::regex())
    } else {
        options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(NAME_STEPS))
    };
    if fancy {
        options = options.with_keyword(KEYWORD, |_, value, _| {
            let pattern = value.as_str().and_then(Fancy::new);
            pattern
                .map(|pattern| Box::new(pattern) as _)
                .ok_or_else(|| ValidationError::custom("pattern is not a valid regular expression"))
        });
    }
    let validator = options.build(&rewritten).map_err(|error| refusal(&error))?;
    Ok(Compiled {
        validator,
        fancy_names,
    })
}

/// Gives every `pattern` that needs backtracking to our own keyword. Tells whether there is one, and
/// how many there are among the names of `patternProperties`, where the library has no such door.
fn rename_fancy(
    schema: &Json,
    draft: Draft,
    rewritten: &mut Value,
) -> Result<(bool, usize), SchemaError> {
    let mut found = false;
    let mut names = 0;
    for pointer in walk::walk(schema, draft)?.schemas.keys() {
        let Some(object) = find(schema, pointer).and_then(Json::as_object) else {
            continue;
        };
        if let Some(Json::Object(patterns)) = object.get("patternProperties") {
            names += patterns.iter().filter(|(name, _)| is_fancy(name)).count();
        }
        let pattern = object.get("pattern").and_then(Json::as_str);
        if pattern.is_some_and(is_fancy)
            && let Some(Value::Object(object)) = rewritten.pointer_mut(pointer)
            && let Some(pattern) = object.remove("pattern")
        {
            object.insert(KEYWORD.to_owned(), pattern);
            found = true;
        }
    }
    Ok((found, names))
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

/// Every `pattern` in a document, compiled; `None` for what is not a regular expression.
pub(super) fn patterns(schema: &Json, found: &mut HashMap<String, Option<Pattern>>) {
    match schema {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                if let ("pattern", Json::String(text)) = (key, value) {
                    found
                        .entry(text.clone())
                        .or_insert_with(|| Pattern::new(text));
                }
                patterns(value, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| patterns(item, found)),
        _ => {}
    }
}
