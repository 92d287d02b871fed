//! What the room promises, one table for each topic.

mod accept;
mod basic;
mod bounds;
mod full;
mod mirrors;
mod patterns;
mod stringified;

use super::*;

/// The value of a JSON text that is known to be well-formed.
pub(super) fn json(text: &str) -> Json {
    parse(
        text.as_bytes(),
        &Limits {
            json_depth: MAX_JSON_DEPTH,
            ..Limits::default()
        },
    )
    .unwrap()
}

/// An input schema with these members besides its type.
fn input(members: &str, validator: Validator) -> Schema {
    let comma = if members.is_empty() { "" } else { "," };
    Schema::input(
        &json(&format!(r#"{{"type":"object"{comma}{members}}}"#)),
        validator,
    )
    .unwrap()
}

fn check(schema: &Schema, arguments: &str) -> Result<(), String> {
    schema.check_arguments(json(arguments).as_object().unwrap())
}

/// What is said of a value under a schema for it alone: `path: rule`.
fn failures(schema: &str, value: &str) -> Vec<String> {
    let schema = Schema::standalone(&json(schema)).unwrap();
    schema
        .failures(&json(value))
        .into_iter()
        .map(|(path, rule)| format!("{path}: {rule}"))
        .collect()
}
