//! What the validator library found, as sentences a model can act on: where, and which rule.
//!
//! A sentence names the rule and what the *schema* says about it. Of what was sent it tells the type
//! and, for a name that is not known, the name; never a value.

use std::collections::VecDeque;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::check::find;
use super::node::View;
use super::pattern::{Excess, mismatch};
use crate::json::{Json, Object, write_string};
use crate::limits::{ECHOED_CHARACTERS, FAILURES_TOLD};
use crate::suggest::closest;

/// How the rule begins that is broken by an argument which the tool does not have.
const UNKNOWN_ARGUMENT: &str = "unknown argument";

/// One way in which a value breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// Keys and indexes from the root to the place.
    pub path: Vec<String>,
    /// The rule, without full stop.
    pub rule: String,
}

impl Failure {
    /// Whether it is about an argument that the tool does not have.
    pub(super) fn is_unknown_argument(&self) -> bool {
        self.rule.starts_with(UNKNOWN_ARGUMENT)
    }

    /// The path as it is shown: `/items/1/n`, or empty for the root.
    pub(super) fn place(&self) -> String {
        // A key is the caller's own text: bounded, and it cannot start a line of its own.
        self.path.iter().fold(String::new(), |mut place, key| {
            place.push('/');
            place.extend(
                shortened(key)
                    .chars()
                    .map(|char| if char.is_control() { '\u{FFFD}' } else { char }),
            );
            place
        })
    }
}

/// What an error speaks of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    /// The schema, for suggestions.
    pub schema: &'a Json,
    /// The value, for the names that are not known.
    pub value: View<'a>,
    /// Whether that is the arguments of a tool.
    pub arguments: bool,
}

/// What an error says.
pub(super) fn explain(error: &ValidationError<'_>, context: Option<Context<'_>>) -> Vec<Failure> {
    let one = |rule: String| vec![failure(error, rule)];
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .take(FAILURES_TOLD)
                .map(|name| failure(error, unknown(name, error, context)))
                .collect()
        }
        // Without `properties` every member is unknown, and the library names none.
        Kind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            let place = failure(error, String::new()).path;
            let object = context.and_then(|context| context.value.members_at(&place));
            let names = object
                .into_iter()
                .flat_map(Object::iter)
                .map(|(name, _)| name);
            names
                .take(FAILURES_TOLD)
                .map(|name| failure(error, unknown(name, error, context)))
                .collect()
        }
        Kind::AnyOf { context: branches } | Kind::OneOfNotValid { context: branches } => {
            alternatives(error, branches, context)
        }
        Kind::PropertyNames { error: inner } => {
            let rules = explain(inner, context).into_iter();
            rules
                .map(|inner| failure(error, format!("every property name {}", inner.rule)))
                .collect()
        }
        Kind::Type { kind } => one(wrong_type(&types(kind), error)),
        kind => one(sentence(kind)),
    }
}

/// The rules that need nothing but their own parameter.
fn sentence(kind: &Kind) -> String {
    match kind {
        Kind::Constant { expected_value } => one_of(&[expected_value.as_ref()]),
        Kind::Enum { options } => {
            let options: Vec<&Value> = options
                .as_array()
                .map_or_else(Vec::new, |options| options.iter().collect());
            one_of(&options)
        }
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!(
            "must have at least {}",
            count(*limit, "character", "characters")
        ),
        Kind::MaxLength { limit } => format!(
            "must have at most {}",
            count(*limit, "character", "characters")
        ),
        Kind::MinItems { limit } => {
            format!("must have at least {}", count(*limit, "item", "items"))
        }
        Kind::MaxItems { limit } => format!("must have at most {}", count(*limit, "item", "items")),
        Kind::AdditionalItems { limit } => format!(
            "must have at most {}",
            count(*limit as u64, "item", "items")
        ),
        Kind::MinProperties { limit } => format!(
            "must have at least {}",
            count(*limit, "property", "properties")
        ),
        Kind::MaxProperties { limit } => format!(
            "must have at most {}",
            count(*limit, "property", "properties")
        ),
        Kind::Required { property } => format!("missing required property {}", shown(property)),
        Kind::Pattern { pattern } => mismatch(pattern),
        // Our own keyword words it.
        Kind::Custom { message, .. } => message.clone(),
        Kind::UniqueItems => "must not have the same item twice".to_owned(),
        Kind::Contains => {
            "must have the items that `contains` asks for, in the right number".to_owned()
        }
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Not { .. } => "must not match the schema under `not`".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "must match exactly one of the alternatives, and matches several".to_owned()
        }
        Kind::Format { format } => format!("must be of the format {}", quoted(format)),
        Kind::ContentEncoding { .. } | Kind::ContentMediaType { .. } | Kind::FromUtf8 { .. } => {
            "must be encoded as the schema says".to_owned()
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            Excess::TooMuch.rule()
        }
        _ => "does not match the schema".to_owned(),
    }
}

fn failure(error: &ValidationError<'_>, rule: String) -> Failure {
    let path = error
        .instance_path()
        .segments()
        .map(|segment| match segment {
            LocationSegment::Property(name) => name.into_owned(),
            LocationSegment::Index(index) => index.to_string(),
        });
    Failure {
        path: path.collect(),
        rule,
    }
}

fn unknown(name: &str, error: &ValidationError<'_>, context: Option<Context<'_>>) -> String {
    let arguments =
        context.is_some_and(|context| context.arguments) && error.instance_path().is_empty();
    let unknown = if arguments {
        UNKNOWN_ARGUMENT
    } else {
        "unknown property"
    };
    let keyword = error.schema_path().as_str();
    let known = context
        .and_then(|context| {
            find(
                context.schema,
                keyword.rsplit_once('/').map_or("", |(parent, _)| parent),
            )
        })
        .and_then(|schema| schema.as_object()?.get("properties")?.as_object());
    let meant = known.and_then(|known| closest(name, known.iter().map(|(name, _)| name)));
    let name = quoted(&shortened(name));
    meant.map_or_else(
        || format!("{unknown} {name}"),
        |meant| format!("{unknown} {name}; did you mean {}?", quoted(meant)),
    )
}

/// What to say when none of several schemas matches: the nearest of them.
fn alternatives(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    context: Option<Context<'_>>,
) -> Vec<Failure> {
    let here = error.instance_path();
    // An alternative for another type altogether was not meant.
    let meant = branches.iter().filter(|branch| {
        !branch.is_empty()
            && branch
                .iter()
                .all(|error| expected_types(error, here).is_none())
    });
    let meant: Vec<_> = meant.collect();
    let told = if meant.is_empty() {
        let mut expected = Vec::new();
        for types in branches
            .iter()
            .flatten()
            .filter_map(|error| expected_types(error, here))
        {
            expected.extend(types);
        }
        if expected.is_empty() {
            Vec::new()
        } else {
            vec![failure(error, wrong_type(&expected, error))]
        }
    } else if let Some(values) = values(&meant, here) {
        vec![failure(error, one_of(&values))]
    } else {
        // A wrong constant tells that another kind of object was meant (`kind: "circle"`).
        let nearest = meant.iter().min_by_key(|branch| {
            let other = branch
                .iter()
                .any(|error| matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. }));
            (other, branch.len())
        });
        nearest
            .into_iter()
            .flat_map(|branch| branch.iter())
            .flat_map(|error| explain(error, context))
            .collect()
    };
    if told.is_empty() {
        vec![failure(
            error,
            "must match one of the alternatives".to_owned(),
        )]
    } else {
        told
    }
}

/// The types that were wanted at this place, if that is all this error is about.
fn expected_types(error: &ValidationError<'_>, here: &Location) -> Option<Vec<JsonType>> {
    if error.instance_path() != here {
        return None;
    }
    match error.kind() {
        Kind::Type { kind } => Some(types(kind)),
        Kind::AnyOf { context: branches } | Kind::OneOfNotValid { context: branches } => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(
                    branch
                        .iter()
                        .find_map(|error| expected_types(error, here))?,
                );
            }
            Some(all)
        }
        _ => None,
    }
}

/// The values that were wanted at this place, if all alternatives are about that alone.
fn values<'a>(
    branches: &[&'a Vec<ValidationError<'static>>],
    here: &Location,
) -> Option<Vec<&'a Value>> {
    let mut all = Vec::new();
    for error in branches.iter().flat_map(|branch| branch.iter()) {
        if error.instance_path() != here {
            return None;
        }
        match error.kind() {
            Kind::Constant { expected_value } => all.push(expected_value.as_ref()),
            Kind::Enum { options } => all.extend(options.as_array()?),
            _ => return None,
        }
    }
    Some(all)
}

fn types(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(kind) => vec![*kind],
        TypeKind::Multiple(kinds) => kinds.iter().collect(),
    }
}

fn wrong_type(expected: &[JsonType], error: &ValidationError<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for kind in expected {
        if !names.contains(&kind.as_str()) {
            names.push(kind.as_str());
        }
    }
    // `null` reads best at the end.
    names.sort_by_key(|name| *name == "null");
    let (last, first) = names
        .split_last()
        .map_or(("value", &[][..]), |(last, first)| (*last, first));
    let expected = if first.is_empty() {
        last.to_owned()
    } else {
        format!("{} or {last}", first.join(", "))
    };
    format!("expected {expected}, got {}", type_name(error.instance()))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        other => JsonType::from(other).as_str(),
    }
}

fn one_of(options: &[&Value]) -> String {
    /// Bytes of options that are listed; a model can find the rest in the schema.
    const LISTED: usize = 400;
    let mut listed = String::new();
    let mut rest: VecDeque<&Value> = options.iter().copied().collect();
    while let Some(option) = rest.pop_front() {
        if !listed.is_empty() {
            listed.push_str(", ");
        }
        listed.push_str(&shown(option));
        if listed.len() > LISTED && !rest.is_empty() {
            listed.push_str(", …");
            break;
        }
    }
    if options.len() == 1 {
        format!("must be {listed}")
    } else {
        format!("must be one of {listed}")
    }
}

/// A value of the schema, as JSON and not too long.
fn shown(value: &Value) -> String {
    const SHOWN: usize = 100;
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        text
    } else {
        text.chars().take(SHOWN).chain(['…']).collect()
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ECHOED_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
