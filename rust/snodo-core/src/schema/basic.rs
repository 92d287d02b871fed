//! The basic validator: a small subset of JSON Schema, first failure only, texts that never change.
//!
//! No references, composition or conditionals. Unlike JSON Schema it takes `1.0` for no integer.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::compile::patterns;
use super::equal::{all_distinct, equal, equal_objects};
use super::node::View;
use super::pattern::{Excess, Pattern, measured};
use super::rule::Failure;
use crate::json::{Json, Object};

/// A schema with its regular expressions compiled.
#[derive(Debug)]
pub(super) struct Basic {
    schema: Json,
    patterns: HashMap<String, Option<Pattern>>,
}

#[derive(Debug, Clone, Copy)]
enum Instance<'a> {
    Object(&'a Object),
    /// Anything but an object.
    Other(&'a Json),
}

impl<'a> From<&'a Json> for Instance<'a> {
    fn from(value: &'a Json) -> Self {
        value.as_object().map_or(Self::Other(value), Self::Object)
    }
}

type Checked = Result<(), Failure>;

impl Basic {
    pub(super) fn new(schema: &Json) -> Self {
        let mut compiled = HashMap::new();
        patterns(schema, &mut compiled);
        Self {
            schema: schema.clone(),
            patterns: compiled,
        }
    }

    pub(super) fn check_object(&self, value: &Object) -> Checked {
        self.root(Instance::Object(value))
    }

    pub(super) fn check(&self, value: &Json) -> Checked {
        self.root(value.into())
    }

    fn root(&self, instance: Instance<'_>) -> Checked {
        match &self.schema {
            // The first failure ends it, so what is too much for a pattern is always told.
            Json::Object(_) | Json::Bool(_) => {
                measured(|| self.value(&self.schema, instance, &mut Vec::new())).0
            }
            _ => refuse(&[], "schema must be a map"),
        }
    }

    fn value(&self, schema: &Json, instance: Instance<'_>, path: &mut Vec<String>) -> Checked {
        let schema = match schema {
            Json::Bool(true) => return Ok(()),
            Json::Bool(false) => return refuse(path, "value is rejected"),
            Json::Object(schema) => schema,
            _ => return refuse(path, "nested schema must be a map or boolean"),
        };
        let check = |keyword: &str, check: &dyn Fn(&Json) -> Result<(), &'static str>| {
            schema
                .get(keyword)
                .map_or(Ok(()), check)
                .or_else(|rule| refuse(path, rule))
        };
        check("type", &|names| instance.has_type(names))?;
        check("const", &|expected| {
            if instance.equals(expected) {
                Ok(())
            } else {
                Err("value does not equal the declared constant")
            }
        })?;
        check("enum", &|options| match options {
            Json::Array(options) if options.iter().any(|option| instance.equals(option)) => Ok(()),
            Json::Array(_) => Err("value is not one of the allowed values"),
            _ => Err("enum must be a list"),
        })?;
        match instance {
            Instance::Object(object) => self.object(schema, object, path),
            Instance::Other(Json::Array(items)) => self.array(schema, items, path),
            Instance::Other(value @ Json::String(text)) => {
                sizes(schema, text.chars().count(), "minLength", "maxLength")
                    .or_else(|rule| refuse(path, rule))?;
                self.pattern(schema, value).map_err(|rule| Failure {
                    path: path.clone(),
                    rule,
                })
            }
            Instance::Other(number @ (Json::Int(_) | Json::Big(_) | Json::Float(_))) => {
                numeric(schema, number).or_else(|rule| refuse(path, rule))
            }
            Instance::Other(_) => Ok(()),
        }
    }

    fn object(&self, schema: &Object, object: &Object, path: &mut Vec<String>) -> Checked {
        sizes(schema, object.len(), "minProperties", "maxProperties")
            .or_else(|rule| refuse(path, rule))?;
        if let Some(names) = schema.get("required") {
            let Json::Array(names) = names else {
                return refuse(path, "required must be a list");
            };
            let names: Option<Vec<&str>> = names.iter().map(Json::as_str).collect();
            let unique = names.filter(|names| {
                names
                    .iter()
                    .enumerate()
                    .all(|(at, name)| !names[..at].contains(name))
            });
            let Some(names) = unique else {
                return refuse(path, "required must contain unique string names");
            };
            if let Some(missing) = names.into_iter().find(|name| !object.contains(name)) {
                return refuse_at(path, missing, "required property is missing");
            }
        }
        let empty = Object::new();
        let properties = match schema.get("properties") {
            None => &empty,
            Some(Json::Object(properties)) => properties,
            Some(_) => return refuse(path, "properties must be a map"),
        };
        let mut declared: Vec<(&str, &Json)> = properties.iter().collect();
        declared.sort_unstable_by_key(|(name, _)| *name);
        for (name, property) in &declared {
            if let Some(value) = object.get(name) {
                self.below(property, value, name, path)?;
            }
        }
        let extra = schema
            .get("additionalProperties")
            .unwrap_or(&Json::Bool(true));
        if *extra == Json::Bool(true) {
            return Ok(());
        }
        let is_extra = |name: &str| {
            declared
                .binary_search_by_key(&name, |(name, _)| name)
                .is_err()
        };
        let mut extras: Vec<(&str, &Json)> =
            object.iter().filter(|(name, _)| is_extra(name)).collect();
        extras.sort_unstable_by_key(|(name, _)| *name);
        match extra {
            Json::Bool(_) => match extras.first() {
                Some((name, _)) => refuse_at(path, name, "property is not allowed"),
                None => Ok(()),
            },
            Json::Object(_) => extras
                .into_iter()
                .try_for_each(|(name, value)| self.below(extra, value, name, path)),
            _ => refuse(path, "additionalProperties must be a schema or boolean"),
        }
    }

    fn array(&self, schema: &Object, items: &[Json], path: &mut Vec<String>) -> Checked {
        sizes(schema, items.len(), "minItems", "maxItems").or_else(|rule| refuse(path, rule))?;
        match schema.get("uniqueItems") {
            None | Some(Json::Bool(false)) => {}
            Some(Json::Bool(true)) if all_distinct(items) => {}
            Some(Json::Bool(true)) => return refuse(path, "array items must be unique"),
            Some(_) => return refuse(path, "uniqueItems must be a boolean"),
        }
        let Some(item_schema) = schema.get("items") else {
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            self.below(item_schema, item, &index.to_string(), path)?;
        }
        Ok(())
    }

    fn below(&self, schema: &Json, value: &Json, key: &str, path: &mut Vec<String>) -> Checked {
        path.push(key.to_owned());
        let checked = self.value(schema, value.into(), path);
        path.pop();
        checked
    }

    fn pattern(&self, schema: &Object, text: &Json) -> Result<(), String> {
        let rule = match schema.get("pattern") {
            None => return Ok(()),
            Some(Json::String(pattern)) => match self.patterns.get(pattern) {
                Some(Some(pattern)) => match pattern.is_match(View::new(text)) {
                    Ok(true) => return Ok(()),
                    Err(Excess::TooLong) => return Err(Excess::TooLong.rule()),
                    Ok(false) | Err(Excess::TooMuch) => {
                        "string does not match the required pattern"
                    }
                },
                Some(None) | None => "pattern is not a valid regular expression",
            },
            Some(_) => "pattern must be a string",
        };
        Err(rule.to_owned())
    }
}

impl Instance<'_> {
    fn has_type(self, names: &Json) -> Result<(), &'static str> {
        const MALFORMED: &str = "type must name one or more supported JSON types";
        let names = match names {
            Json::Array(names) if !names.is_empty() => names.as_slice(),
            Json::String(_) => std::slice::from_ref(names),
            _ => return Err(MALFORMED),
        };
        let mut found = false;
        for name in names {
            found |= self.is(name.as_str().ok_or(MALFORMED)?).ok_or(MALFORMED)?;
        }
        if found {
            Ok(())
        } else {
            Err("value is not one of the declared JSON types")
        }
    }

    /// Whether it is of the type of this name; `None` for what is no type.
    fn is(self, name: &str) -> Option<bool> {
        Some(match name {
            "object" => matches!(self, Self::Object(_)),
            "array" => matches!(self, Self::Other(Json::Array(_))),
            "string" => matches!(self, Self::Other(Json::String(_))),
            "boolean" => matches!(self, Self::Other(Json::Bool(_))),
            "null" => matches!(self, Self::Other(Json::Null)),
            "integer" => matches!(self, Self::Other(Json::Int(_) | Json::Big(_))),
            "number" => matches!(
                self,
                Self::Other(Json::Int(_) | Json::Big(_) | Json::Float(_))
            ),
            _ => return None,
        })
    }

    fn equals(self, expected: &Json) -> bool {
        match self {
            Self::Object(object) => expected
                .as_object()
                .is_some_and(|expected| equal_objects(object, expected)),
            Self::Other(value) => equal(value, expected),
        }
    }
}

fn refuse(path: &[String], rule: &'static str) -> Checked {
    Err(Failure {
        path: path.to_vec(),
        rule: rule.to_owned(),
    })
}

fn refuse_at(path: &[String], key: &str, rule: &'static str) -> Checked {
    Err(Failure {
        path: path.iter().cloned().chain([key.to_owned()]).collect(),
        rule: rule.to_owned(),
    })
}

fn sizes(schema: &Object, size: usize, min: &str, max: &str) -> Result<(), &'static str> {
    let bound = |keyword: &str, wrong: Ordering| match schema.get(keyword) {
        None => Ok(()),
        Some(bound @ (Json::Int(_) | Json::Big(_))) if compare(bound, &Json::Int(0)).is_ge() => {
            let size = Json::Int(i64::try_from(size).unwrap_or(i64::MAX));
            if compare(&size, bound) == wrong {
                Err("value violates the declared size bound")
            } else {
                Ok(())
            }
        }
        Some(_) => Err("size bound must be a non-negative integer"),
    };
    bound(min, Ordering::Less)?;
    bound(max, Ordering::Greater)
}

/// A keyword, and which order of the number to its bound it allows.
type Bound = (&'static str, fn(Ordering) -> bool);

fn numeric(schema: &Object, number: &Json) -> Result<(), &'static str> {
    let bounds: [Bound; 4] = [
        ("minimum", Ordering::is_ge),
        ("maximum", Ordering::is_le),
        ("exclusiveMinimum", Ordering::is_gt),
        ("exclusiveMaximum", Ordering::is_lt),
    ];
    for (keyword, holds) in bounds {
        match schema.get(keyword) {
            Some(bound @ (Json::Int(_) | Json::Big(_) | Json::Float(_)))
                if holds(compare(number, bound)) => {}
            Some(Json::Int(_) | Json::Big(_) | Json::Float(_)) => {
                return Err("number is outside the declared bound");
            }
            Some(_) => return Err("numeric bound must be a number"),
            None => {}
        }
    }
    Ok(())
}

/// The order of two numbers; integers exactly.
pub(crate) fn compare(left: &Json, right: &Json) -> Ordering {
    match (left, right) {
        (Json::Int(left), Json::Int(right)) => left.cmp(right),
        (Json::Big(left), Json::Big(right)) => {
            let magnitude = |digits: &str| (digits.len(), digits.to_owned());
            match (left.strip_prefix('-'), right.strip_prefix('-')) {
                (None, None) => magnitude(left).cmp(&magnitude(right)),
                (Some(left), Some(right)) => magnitude(right).cmp(&magnitude(left)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            }
        }
        // What is big is so because no 64 bits hold it.
        (Json::Big(big), Json::Int(_)) => {
            if big.starts_with('-') {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (Json::Int(_), Json::Big(_)) => compare(right, left).reverse(),
        _ => double(left).total_cmp(&double(right)),
    }
}

fn double(number: &Json) -> f64 {
    match number {
        #[expect(clippy::cast_precision_loss, reason = "compared with a double")]
        Json::Int(number) => *number as f64,
        Json::Big(digits) => digits.parse().unwrap_or(f64::NAN),
        // Adding zero makes the negative zero positive.
        Json::Float(number) => *number + 0.0,
        _ => f64::NAN,
    }
}
