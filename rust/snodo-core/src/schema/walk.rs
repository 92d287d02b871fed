//! Which places of a document are schemas. A reference may lead there and nowhere else, and only
//! there a keyword is a keyword rather than somebody's property name or data.

use std::collections::HashMap;

use jsonschema::{Draft, Uri, uri};

use super::SchemaError;
use crate::json::{Json, Object};
use crate::limits::{SCHEMA_DEPTH, SUBSCHEMAS};

/// What was found in a schema document. Places are JSON pointers from its root.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Every schema, and the resource it belongs to.
    pub schemas: HashMap<String, usize>,
    /// The documents within the document: the root, and every schema with an `$id`.
    pub resources: Vec<Resource>,
    /// `$anchor` and its kin, by resource and name.
    pub anchors: HashMap<(usize, String), String>,
    /// `$ref` and its kin, in order.
    pub references: Vec<Reference>,
}

#[derive(Debug)]
pub(super) struct Resource {
    pub pointer: String,
    pub base: Uri<String>,
}

#[derive(Debug)]
pub(super) struct Reference {
    /// Where the keyword is.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'static str,
    /// What it says.
    pub target: String,
    /// The resource it speaks from.
    pub resource: usize,
}

/// Where a keyword keeps schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    One,
    List,
    Named,
    OneOrList,
}

/// Where this keyword keeps schemas in this draft, if it does.
pub(super) fn holds(draft: Draft, keyword: &str) -> Option<Holds> {
    let seven = draft == Draft::Draft7;
    match keyword {
        "additionalProperties" | "propertyNames" | "contains" | "not" | "if" | "then" | "else" => {
            Some(Holds::One)
        }
        "allOf" | "anyOf" | "oneOf" => Some(Holds::List),
        // 2020-12 keeps the older `definitions` and `dependencies` among its schemas.
        "properties" | "patternProperties" | "definitions" | "dependencies" => Some(Holds::Named),
        "items" => Some(if seven { Holds::OneOrList } else { Holds::One }),
        "additionalItems" if seven => Some(Holds::One),
        "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" if !seven => {
            Some(Holds::One)
        }
        "prefixItems" if !seven => Some(Holds::List),
        "$defs" | "dependentSchemas" if !seven => Some(Holds::Named),
        _ => None,
    }
}

/// Walks a document of this draft.
pub(super) fn walk(schema: &Json, draft: Draft) -> Result<Map, SchemaError> {
    let root = schema
        .as_object()
        .and_then(|root| root.get("$id"))
        .and_then(Json::as_str)
        .unwrap_or_default();
    let base = identifier(uri::from_str(root).ok(), "")?;
    let mut walk = Walk {
        draft,
        map: Map::default(),
    };
    walk.map.resources.push(Resource {
        pointer: String::new(),
        base,
    });
    walk.schema(schema, String::new(), 0, 0)?;
    Ok(walk.map)
}

struct Walk {
    draft: Draft,
    map: Map,
}

impl Walk {
    fn schema(
        &mut self,
        schema: &Json,
        at: String,
        mut resource: usize,
        depth: usize,
    ) -> Result<(), SchemaError> {
        if depth > SCHEMA_DEPTH {
            return Err(SchemaError::new(
                at,
                format!("schemas are nested more than {SCHEMA_DEPTH} deep"),
            ));
        }
        if self.map.schemas.len() >= SUBSCHEMAS {
            return Err(SchemaError::new(
                at,
                format!("there are more than {SUBSCHEMAS} schemas in this schema"),
            ));
        }
        let object = match schema {
            Json::Object(object) => object,
            Json::Bool(_) => {
                self.map.schemas.insert(at, resource);
                return Ok(());
            }
            // The meta-schema will say what is wrong here.
            _ => return Ok(()),
        };
        if !at.is_empty() {
            resource = self.identified(object, &at, resource)?;
        }
        self.map.schemas.insert(at.clone(), resource);
        self.anchors(object, &at, resource)?;
        for (key, value) in object.iter() {
            let below = || format!("{at}/{}", escape(key));
            if let (Some(keyword), Json::String(target)) = (reference(self.draft, key), value) {
                let target = target.clone();
                self.map.references.push(Reference {
                    pointer: below(),
                    keyword,
                    target,
                    resource,
                });
            }
            match (holds(self.draft, key), value) {
                (Some(Holds::One | Holds::OneOrList), Json::Object(_) | Json::Bool(_)) => {
                    self.schema(value, below(), resource, depth + 1)?;
                }
                (Some(Holds::List | Holds::OneOrList), Json::Array(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        self.schema(item, format!("{}/{index}", below()), resource, depth + 1)?;
                    }
                }
                (Some(Holds::Named), Json::Object(named)) => {
                    for (name, item) in named.iter() {
                        self.schema(
                            item,
                            format!("{}/{}", below(), escape(name)),
                            resource,
                            depth + 1,
                        )?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The resource of a schema below the root: its own if it has an `$id`.
    fn identified(
        &mut self,
        object: &Object,
        at: &str,
        resource: usize,
    ) -> Result<usize, SchemaError> {
        let Some(id) = object.get("$id").and_then(Json::as_str) else {
            return Ok(resource);
        };
        // In draft 7 `$id` beside `$ref` is ignored, and `#name` is an anchor.
        if self.draft == Draft::Draft7 && (object.contains("$ref") || id.starts_with('#')) {
            return Ok(resource);
        }
        let base = self.map.resources[resource].base.borrow();
        let base = identifier(uri::resolve_against(&base, id).ok(), at)?;
        if self.map.resources.iter().any(|other| other.base == base) {
            return Err(SchemaError::new(
                format!("{at}/$id"),
                "this $id is used twice",
            ));
        }
        self.map.resources.push(Resource {
            pointer: at.to_owned(),
            base,
        });
        Ok(self.map.resources.len() - 1)
    }

    fn anchors(&mut self, object: &Object, at: &str, resource: usize) -> Result<(), SchemaError> {
        let names: Vec<(&str, &str)> = if self.draft == Draft::Draft7 {
            let name = object
                .get("$id")
                .and_then(Json::as_str)
                .and_then(|id| id.strip_prefix('#'));
            name.map(|name| ("$id", name)).into_iter().collect()
        } else {
            let name = |keyword| Some((keyword, object.get(keyword)?.as_str()?));
            ["$anchor", "$dynamicAnchor"]
                .into_iter()
                .filter_map(name)
                .collect()
        };
        for (keyword, name) in names {
            let known = self
                .map
                .anchors
                .insert((resource, name.to_owned()), at.to_owned());
            if known.is_some_and(|known| known != at) {
                return Err(SchemaError::new(
                    format!("{at}/{keyword}"),
                    "this anchor is used twice",
                ));
            }
        }
        Ok(())
    }
}

fn identifier(base: Option<Uri<String>>, at: &str) -> Result<Uri<String>, SchemaError> {
    let at = format!("{at}/$id");
    let Some(mut base) = base else {
        return Err(SchemaError::new(at, "$id must be a URI"));
    };
    base.set_fragment(None);
    if base
        .authority()
        .is_some_and(|authority| authority.host().eq_ignore_ascii_case("json-schema.org"))
    {
        return Err(SchemaError::new(
            at,
            "$id must not use the host json-schema.org, which is reserved",
        ));
    }
    Ok(base)
}

fn reference(draft: Draft, key: &str) -> Option<&'static str> {
    match key {
        "$ref" => Some("$ref"),
        "$dynamicRef" if draft != Draft::Draft7 => Some("$dynamicRef"),
        _ => None,
    }
}

/// A key as a JSON pointer spells it.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
