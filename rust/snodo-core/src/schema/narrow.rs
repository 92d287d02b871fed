//! The keywords that the basic validator enforces. Where nothing else checks arguments, a schema may
//! have no others: what is published and not enforced is a promise that nobody keeps.

use crate::json::{Json, Object};

const ENFORCED: [&str; 19] = [
    "type",
    "const",
    "enum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minProperties",
    "maxProperties",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];
const ANNOTATIONS: [&str; 4] = ["title", "description", "default", "x-mcp-header"];

/// The first keyword of a schema that the basic validator would not enforce, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported keyword {keyword:?}")]
pub struct Unenforced {
    /// The keyword; `invalid schema` where there is something else in the place of a schema.
    pub keyword: String,
    /// Keys from the root to the schema that has it.
    pub path: Vec<String>,
}

/// Whether the basic validator enforces every keyword of a schema.
pub fn enforced(schema: &Json) -> Result<(), Unenforced> {
    walk(schema, &mut Vec::new())
}

fn walk(schema: &Json, path: &mut Vec<String>) -> Result<(), Unenforced> {
    let schema = match schema {
        Json::Object(schema) => schema,
        Json::Bool(_) => return Ok(()),
        _ => return refuse("invalid schema", path),
    };
    let known = |key: &str| ENFORCED.contains(&key) || ANNOTATIONS.contains(&key);
    if let Some((unknown, _)) = schema.iter().find(|(key, _)| !known(key)) {
        return refuse(unknown, path);
    }
    match schema.get("properties") {
        None => {}
        Some(Json::Object(properties)) => within(path, "properties", |path| {
            let mut members = properties.iter();
            members.try_for_each(|(name, member)| within(path, name, |path| walk(member, path)))
        })?,
        Some(_) => within(path, "properties", |path| refuse("invalid schema", path))?,
    }
    below(schema, "items", path)?;
    below(schema, "additionalProperties", path)
}

fn below(schema: &Object, key: &str, path: &mut Vec<String>) -> Result<(), Unenforced> {
    match schema.get(key) {
        Some(nested) => within(path, key, |path| walk(nested, path)),
        None => Ok(()),
    }
}

fn within(
    path: &mut Vec<String>,
    key: &str,
    check: impl FnOnce(&mut Vec<String>) -> Result<(), Unenforced>,
) -> Result<(), Unenforced> {
    path.push(key.to_owned());
    let checked = check(path);
    path.pop();
    checked
}

fn refuse(keyword: &str, path: &[String]) -> Result<(), Unenforced> {
    Err(Unenforced {
        keyword: keyword.to_owned(),
        path: path.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::limits::Limits;

    fn check(schema: &str) -> Result<(), (String, String)> {
        let schema = parse(schema.as_bytes(), &Limits::default()).expect("JSON");
        enforced(&schema).map_err(|found| (found.keyword, found.path.join("/")))
    }

    fn refused(keyword: &str, path: &str) -> Result<(), (String, String)> {
        Err((keyword.to_owned(), path.to_owned()))
    }

    #[test]
    fn takes_what_the_basic_validator_enforces() {
        let all = ENFORCED.iter().chain(&ANNOTATIONS);
        for keyword in all.filter(|keyword| !["properties", "items"].contains(keyword)) {
            let schema = format!(r#"{{"{keyword}": true}}"#);
            assert_eq!(check(&schema), Ok(()), "{keyword}");
        }
        assert_eq!(
            check(r#"{"items": true, "properties": {"a": false}}"#),
            Ok(())
        );
        assert_eq!(check(r#"{"properties": {"format": {}}}"#), Ok(()));
    }

    #[test]
    fn names_the_first_other_keyword_and_its_place() {
        assert_eq!(check(r#"{"$ref": "/a"}"#), refused("$ref", ""));
        assert_eq!(
            check(r#"{"properties": {"a": {"items": {"format": "uri"}}}}"#),
            refused("format", "properties/a/items")
        );
        assert_eq!(
            check(r#"{"additionalProperties": {"oneOf": []}}"#),
            refused("oneOf", "additionalProperties")
        );
        assert_eq!(
            check(r#"{"items": {"anyOf": []}, "properties": {"a": {"not": {}}}}"#),
            refused("not", "properties/a")
        );
    }

    #[test]
    fn names_what_is_no_schema() {
        assert_eq!(
            check(r#"{"items": []}"#),
            refused("invalid schema", "items")
        );
        assert_eq!(
            check(r#"{"properties": []}"#),
            refused("invalid schema", "properties")
        );
        assert_eq!(
            check(r#"{"additionalProperties": "x"}"#),
            refused("invalid schema", "additionalProperties")
        );
        assert_eq!(
            check(r#"{"properties": {"a": null}}"#),
            refused("invalid schema", "properties/a")
        );
    }
}
