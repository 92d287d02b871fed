//! The forms a client can draw: a subset of JSON Schema without any depth, and what fills one in.

use super::format::{Format, format};
use super::request::{
    Checked, RequestError, closed, is_number, is_string, is_strings, optional, required,
};
use crate::json::{Json, Object};
use crate::schema::compare;

/// A form that is asked to be filled in.
pub(super) struct Form<'a> {
    fields: Vec<(&'a str, Field<'a>)>,
    required: Vec<&'a str>,
}

/// What a field takes.
enum Field<'a> {
    Text {
        length: Bounds<'a>,
        format: Option<Format>,
    },
    Choice(Vec<&'a str>),
    Number {
        whole: bool,
        range: Bounds<'a>,
    },
    Flag,
    Choices {
        options: Vec<&'a str>,
        count: Bounds<'a>,
    },
}

/// Numbers of a schema, each of which may be missing.
struct Bounds<'a> {
    least: Option<&'a Json>,
    most: Option<&'a Json>,
}

impl<'a> Form<'a> {
    /// Reads the `requestedSchema` of these parameters.
    pub(super) fn read(params: &'a Object) -> Result<Self, RequestError> {
        let schema = params.get("requestedSchema").and_then(Json::as_object);
        let schema = schema.ok_or(RequestError::new("must be an object"))?;
        closed(schema, &["$schema", "type", "properties", "required"])?;
        optional(schema, "$schema", is_string, "must be a string")?;
        required(
            schema,
            "type",
            |kind| kind.as_str() == Some("object"),
            "must be object",
        )?;
        let Some(Json::Object(properties)) = schema.get("properties") else {
            return Err(RequestError::new("must be an object").under("properties"));
        };
        let fields = properties
            .iter()
            .map(|(name, property)| {
                let field = Field::read(property);
                let field = field.map_err(|error| error.under(name).under("properties"))?;
                Ok((name, field))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let required = match schema.get("required") {
            None => Some(Vec::new()),
            Some(names) => distinct(names),
        };
        match required {
            Some(required) if required.iter().all(|name| properties.contains(name)) => {
                Ok(Self { fields, required })
            }
            _ => {
                let reason = "must be a list of distinct names of properties";
                Err(RequestError::new(reason).under("required"))
            }
        }
    }

    /// Whether this fills the form in. There may be more than was asked for; `null` is what some
    /// clients send for a field that was left empty.
    pub(super) fn check(&self, content: &Object) -> Checked {
        for (name, field) in &self.fields {
            match content.get(name) {
                None | Some(Json::Null) if self.required.contains(name) => {
                    return Err(RequestError::new("is required").under(name));
                }
                None | Some(Json::Null) => {}
                Some(value) if field.admits(value) => {}
                Some(_) => {
                    return Err(RequestError::new("is not what the form asks for").under(name));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Field<'a> {
    fn read(property: &'a Json) -> Result<Self, RequestError> {
        let Some(property) = property.as_object() else {
            return Err(RequestError::new("must be an object"));
        };
        let (field, own) = Self::kind(property)?;
        let known = ["type", "title", "description", "default"];
        closed(property, &[&known, own].concat())?;
        optional(property, "title", is_string, "must be a string")?;
        optional(property, "description", is_string, "must be a string")?;
        let reason = "must be what the property itself takes";
        optional(property, "default", |value| field.admits(value), reason)?;
        Ok(field)
    }

    /// What kind of field a property describes, and by which members of its own.
    fn kind(property: &'a Object) -> Result<(Self, &'static [&'static str]), RequestError> {
        Ok(match property.get("type").and_then(Json::as_str) {
            Some("string") if property.contains("enum") => {
                let options = named_options(property)?;
                (Self::Choice(options), &["enum", "enumNames"])
            }
            Some("string") if property.contains("oneOf") => {
                (Self::Choice(titled_options(property, "oneOf")?), &["oneOf"])
            }
            Some("string") => {
                let length = Bounds::sizes(property, "minLength", "maxLength")?;
                let format = format(property)?;
                let text = Self::Text { length, format };
                (text, &["minLength", "maxLength", "format"])
            }
            Some(kind @ ("number" | "integer")) => {
                let number = Self::Number {
                    whole: kind == "integer",
                    range: Bounds::read(
                        property,
                        "minimum",
                        "maximum",
                        is_number,
                        "must be a number",
                    )?,
                };
                (number, &["minimum", "maximum"])
            }
            Some("boolean") => (Self::Flag, &[]),
            Some("array") => {
                let count = Bounds::sizes(property, "minItems", "maxItems")?;
                let options = item_options(property).map_err(|error| error.under("items"))?;
                let choices = Self::Choices { options, count };
                (choices, &["minItems", "maxItems", "items"])
            }
            _ => {
                let reason = "must be string, number, integer, boolean or array";
                return Err(RequestError::new(reason).under("type"));
            }
        })
    }

    fn admits(&self, value: &Json) -> bool {
        match (self, value) {
            (Self::Text { length, format }, Json::String(text)) => {
                length.admit_size(text.chars().count()) && format.is_none_or(|format| format(text))
            }
            (Self::Choice(options), Json::String(text)) => options.contains(&text.as_str()),
            // A client may write a whole number with a fraction of zero, as JSON Schema has it.
            (Self::Number { whole, range }, Json::Float(number)) => {
                (!whole || number.fract() == 0.0) && range.admit(value)
            }
            (Self::Number { range, .. }, Json::Int(_) | Json::Big(_)) => range.admit(value),
            (Self::Flag, Json::Bool(_)) => true,
            (Self::Choices { options, count }, Json::Array(chosen)) => {
                let is_option =
                    |item: &Json| item.as_str().is_some_and(|item| options.contains(&item));
                count.admit_size(chosen.len()) && chosen.iter().all(is_option)
            }
            _ => false,
        }
    }
}

impl<'a> Bounds<'a> {
    fn read(
        property: &'a Object,
        least: &str,
        most: &str,
        holds: fn(&Json) -> bool,
        reason: &'static str,
    ) -> Result<Self, RequestError> {
        optional(property, least, holds, reason)?;
        optional(property, most, holds, reason)?;
        let bounds = Self {
            least: property.get(least),
            most: property.get(most),
        };
        match (bounds.least, bounds.most) {
            (Some(low), Some(high)) if compare(low, high).is_gt() => {
                Err(RequestError::new("must not be less than the least").under(most))
            }
            _ => Ok(bounds),
        }
    }

    fn sizes(property: &'a Object, least: &str, most: &str) -> Result<Self, RequestError> {
        let is_size = |value: &Json| match value {
            Json::Int(number) => *number >= 0,
            Json::Big(digits) => !digits.starts_with('-'),
            _ => false,
        };
        Self::read(
            property,
            least,
            most,
            is_size,
            "must be an integer of zero or more",
        )
    }

    fn admit(&self, number: &Json) -> bool {
        self.least
            .is_none_or(|least| compare(number, least).is_ge())
            && self.most.is_none_or(|most| compare(number, most).is_le())
    }

    fn admit_size(&self, size: usize) -> bool {
        self.admit(&Json::Int(i64::try_from(size).unwrap_or(i64::MAX)))
    }
}

/// The strings of a list that has none twice.
fn distinct(list: &Json) -> Option<Vec<&str>> {
    let Json::Array(items) = list else {
        return None;
    };
    let texts = items.iter().map(Json::as_str).collect::<Option<Vec<_>>>()?;
    are_distinct(&texts).then_some(texts)
}

fn are_distinct(texts: &[&str]) -> bool {
    let mut sorted = texts.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// The options of `enum`.
fn options(property: &Object) -> Result<Vec<&str>, RequestError> {
    match property.get("enum").and_then(distinct) {
        Some(options) if !options.is_empty() => Ok(options),
        _ => {
            let reason = "must be a list of at least one string, none twice";
            Err(RequestError::new(reason).under("enum"))
        }
    }
}

/// The options of `enum`, which `enumNames` may give names to.
fn named_options(property: &Object) -> Result<Vec<&str>, RequestError> {
    let options = options(property)?;
    let fit = |names: &Json| matches!(names, Json::Array(names) if names.len() == options.len());
    let reason = "must be a list of one string for each option";
    optional(
        property,
        "enumNames",
        |names| is_strings(names) && fit(names),
        reason,
    )?;
    Ok(options)
}

/// The options of a list in which each has a title.
fn titled_options<'a>(property: &'a Object, key: &str) -> Result<Vec<&'a str>, RequestError> {
    let options = match property.get(key) {
        Some(Json::Array(options)) => options
            .iter()
            .map(titled_option)
            .collect::<Option<Vec<_>>>(),
        _ => None,
    };
    match options {
        Some(options) if !options.is_empty() && are_distinct(&options) => Ok(options),
        _ => {
            let reason = "must be a list of at least one object of const and title, no const twice";
            Err(RequestError::new(reason).under(key))
        }
    }
}

fn titled_option(option: &Json) -> Option<&str> {
    let option = option.as_object().filter(|option| option.len() == 2)?;
    option.get("title")?.as_str()?;
    option.get("const")?.as_str()
}

/// The options that the items of a list are chosen from.
fn item_options(property: &Object) -> Result<Vec<&str>, RequestError> {
    let Some(Json::Object(items)) = property.get("items") else {
        return Err(RequestError::new("must be an object"));
    };
    if items.contains("anyOf") {
        closed(items, &["anyOf"])?;
        return titled_options(items, "anyOf");
    }
    closed(items, &["type", "enum"])?;
    required(
        items,
        "type",
        |kind| kind.as_str() == Some("string"),
        "must be string",
    )?;
    options(items)
}
