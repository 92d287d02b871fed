//! Whether a schema is one we accept: its draft, its root, where its references lead.

use std::borrow::Cow;

use jsonschema::{Draft, uri};

use super::SchemaError;
use super::walk::{Map, Reference, walk};
use crate::json::{Json, Object};

const DRAFT_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";

/// The draft of a schema document, from its `$schema`.
pub(super) fn draft(schema: &Object) -> Result<Draft, SchemaError> {
    let Some(declared) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    named_draft(declared).ok_or_else(|| {
        let reason = format!("$schema must be \"{DRAFT_2020_12}\" (the default) or \"{DRAFT_7}#\"");
        SchemaError::new("/$schema", reason)
    })
}

fn named_draft(declared: &Json) -> Option<Draft> {
    let name = declared.as_str()?;
    match name.strip_suffix('#').unwrap_or(name) {
        DRAFT_2020_12 => Some(Draft::Draft202012),
        DRAFT_7 => Some(Draft::Draft7),
        _ => None,
    }
}

/// Whether the root describes the arguments of a tool.
pub(super) fn input_root(schema: &Object) -> Result<(), SchemaError> {
    match schema.get("type") {
        Some(Json::String(name)) if name == "object" => Ok(()),
        None => Err(SchemaError::new(
            "",
            "the root must have \"type\": \"object\"",
        )),
        Some(_) => Err(SchemaError::new(
            "/type",
            "the type of the root must be exactly \"object\"",
        )),
    }
}

/// The root's `required` list, in order.
pub(super) fn required(schema: &Object) -> Result<Vec<String>, SchemaError> {
    let wrong = || SchemaError::new("/required", "required must be a list of unique strings");
    let names = match schema.get("required") {
        None => return Ok(Vec::new()),
        Some(Json::Array(names)) => names,
        Some(_) => return Err(wrong()),
    };
    let names: Option<Vec<&str>> = names.iter().map(Json::as_str).collect();
    let names = names.ok_or_else(wrong)?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(wrong());
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Whether every reference stays within the document and lands on a schema, and no part of it is of
/// another draft.
pub(super) fn references(schema: &Json, draft: Draft) -> Result<(), SchemaError> {
    let map = walk(schema, draft)?;
    for pointer in map.schemas.keys().filter(|pointer| !pointer.is_empty()) {
        let declared = find(schema, pointer)
            .and_then(Json::as_object)
            .and_then(|nested| nested.get("$schema"));
        if declared.is_some_and(|declared| named_draft(declared) != Some(draft)) {
            let reason = "a nested $schema must be the same as the root's";
            return Err(SchemaError::new(format!("{pointer}/$schema"), reason));
        }
    }
    map.references
        .iter()
        .try_for_each(|reference| lands(schema, &map, reference))
}

fn lands(schema: &Json, map: &Map, reference: &Reference) -> Result<(), SchemaError> {
    let keyword = reference.keyword;
    let refuse = |reason: String| Err(SchemaError::new(reference.pointer.clone(), reason));
    let (document, fragment) = reference
        .target
        .split_once('#')
        .unwrap_or((&reference.target, ""));
    let Some(resource) = resource(map, reference.resource, document) else {
        return if is_bundled(document) {
            Ok(())
        } else {
            refuse(format!(
                "{keyword} must stay within this schema, as in \"#/$defs/name\"; nothing is fetched"
            ))
        };
    };
    let Some(fragment) = decode(fragment) else {
        return refuse(format!("{keyword} has a malformed percent escape"));
    };
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return if map.anchors.contains_key(&(resource, fragment.into_owned())) {
            Ok(())
        } else {
            refuse(format!("{keyword} names an anchor that does not exist"))
        };
    }
    if fragment
        .split('~')
        .skip(1)
        .any(|rest| !rest.starts_with(['0', '1']))
    {
        return refuse(format!("{keyword} has a malformed ~ escape"));
    }
    let pointer = format!("{}{fragment}", map.resources[resource].pointer);
    if map.schemas.contains_key(&pointer) {
        Ok(())
    } else if find(schema, &pointer).is_some() {
        refuse(format!("{keyword} leads to a place that is not a schema"))
    } else {
        refuse(format!("{keyword} leads nowhere"))
    }
}

/// The resource that the part of a reference before `#` names.
fn resource(map: &Map, from: usize, document: &str) -> Option<usize> {
    if document.is_empty() {
        return Some(from);
    }
    let target = uri::resolve_against(&map.resources[from].base.borrow(), document).ok()?;
    map.resources
        .iter()
        .position(|resource| resource.base == target)
}

/// The meta-schemas come with the library.
fn is_bundled(document: &str) -> bool {
    document == DRAFT_7 || document.starts_with("https://json-schema.org/draft/2020-12/")
}

/// What is at a JSON pointer.
pub(super) fn find<'a>(schema: &'a Json, pointer: &str) -> Option<&'a Json> {
    pointer.split('/').skip(1).try_fold(schema, |value, key| {
        let key = key.replace("~1", "/").replace("~0", "~");
        match value {
            Json::Object(object) => object.get(&key),
            Json::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    })
}

/// Percent escapes undone, if they are well-formed UTF-8.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
