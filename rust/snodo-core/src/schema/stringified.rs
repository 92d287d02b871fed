//! Lists and objects that arrive as JSON text in a string, as some models send them. They are taken
//! for what they say only where the schema admits no string.

use super::check::{decode, find};
use crate::json::{Json, Object, parse};
use crate::limits::Limits;

/// The arguments that may be sent as text.
#[derive(Debug, Default)]
pub(super) struct Stringified {
    arguments: Vec<Argument>,
}

#[derive(Debug)]
struct Argument {
    name: String,
    array: bool,
    object: bool,
}

/// How many references and alternatives deep a type is looked for.
const DEPTH: usize = 16;

impl Stringified {
    /// Decides for every property of an input schema.
    pub(super) fn new(schema: &Json) -> Self {
        let properties = schema
            .as_object()
            .and_then(|root| root.get("properties")?.as_object());
        let arguments =
            properties
                .into_iter()
                .flat_map(Object::iter)
                .filter_map(|(name, property)| {
                    let admitted = Types::admitted(property, schema, DEPTH);
                    let wanted = !admitted.string && (admitted.array || admitted.object);
                    wanted.then(|| Argument {
                        name: name.to_owned(),
                        array: admitted.array,
                        object: admitted.object,
                    })
                });
        Self {
            arguments: arguments.collect(),
        }
    }

    /// Replaces the arguments that are such text.
    pub(super) fn decode(&self, arguments: &mut Object, limits: &Limits) {
        // What is decoded lies one level down.
        let limits = &Limits {
            json_depth: limits.json_depth.saturating_sub(1),
            ..limits.clone()
        };
        for Argument {
            name,
            array,
            object,
        } in &self.arguments
        {
            let Some(value) = arguments.get_mut(name) else {
                continue;
            };
            let Json::String(text) = value else { continue };
            let decoded = match text.trim_start().as_bytes().first() {
                Some(b'[') if *array => parse(text.as_bytes(), limits),
                Some(b'{') if *object => parse(text.as_bytes(), limits),
                _ => continue,
            };
            if let Ok(decoded) = decoded {
                *value = decoded;
            }
        }
    }
}

/// The types a schema may admit, as far as that is easily told; rather too many than too few.
#[derive(Debug, Clone, Copy)]
struct Types {
    string: bool,
    array: bool,
    object: bool,
}

impl Types {
    const ALL: Self = Self {
        string: true,
        array: true,
        object: true,
    };
    const NONE: Self = Self {
        string: false,
        array: false,
        object: false,
    };

    fn admitted(schema: &Json, root: &Json, depth: usize) -> Self {
        let schema = match schema {
            Json::Bool(false) => return Self::NONE,
            Json::Object(schema) if depth > 0 => schema,
            _ => return Self::ALL,
        };
        let mut admitted = Self::ALL;
        for (keyword, value) in schema.iter() {
            admitted = admitted.both(match (keyword, value) {
                ("type", Json::String(name)) => Self::named(name),
                ("type", Json::Array(names)) => Self::any(
                    names
                        .iter()
                        .map(|name| name.as_str().map_or(Self::ALL, Self::named)),
                ),
                ("const", value) => Self::of(value),
                ("enum", Json::Array(values)) => Self::any(values.iter().map(Self::of)),
                ("anyOf" | "oneOf", Json::Array(branches)) => Self::any(
                    branches
                        .iter()
                        .map(|branch| Self::admitted(branch, root, depth - 1)),
                ),
                ("allOf", Json::Array(branches)) => {
                    branches.iter().fold(Self::ALL, |all, branch| {
                        all.both(Self::admitted(branch, root, depth - 1))
                    })
                }
                ("$ref", Json::String(target)) => target
                    .strip_prefix('#')
                    .and_then(decode)
                    .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
                    .and_then(|pointer| find(root, &pointer))
                    .map_or(Self::ALL, |target| Self::admitted(target, root, depth - 1)),
                _ => Self::ALL,
            });
        }
        admitted
    }

    fn named(name: &str) -> Self {
        Self {
            string: name == "string",
            array: name == "array",
            object: name == "object",
        }
    }

    fn of(value: &Json) -> Self {
        match value {
            Json::String(_) => Self {
                string: true,
                ..Self::NONE
            },
            Json::Array(_) => Self {
                array: true,
                ..Self::NONE
            },
            Json::Object(_) => Self {
                object: true,
                ..Self::NONE
            },
            _ => Self::NONE,
        }
    }

    fn both(self, other: Self) -> Self {
        Self {
            string: self.string && other.string,
            array: self.array && other.array,
            object: self.object && other.object,
        }
    }

    fn any(several: impl Iterator<Item = Self>) -> Self {
        several.fold(Self::NONE, |any, types| Self {
            string: any.string || types.string,
            array: any.array || types.array,
            object: any.object || types.object,
        })
    }
}
