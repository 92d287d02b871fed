//! Accepting, compiling and applying JSON Schema. No network, no files, no tool names.

mod basic;
mod check;
mod compile;
mod equal;
mod mirror;
mod narrow;
mod node;
mod pattern;
mod rule;
mod stringified;
#[cfg(test)]
mod tests;
mod validate;
mod walk;

use jsonschema::Draft;

pub use mirror::{Mirror, MirrorKind};
pub use narrow::{Unenforced, enforced};

use self::basic::Basic;
pub(crate) use self::basic::compare;
use self::compile::Compiled;
use self::node::View;
use self::rule::{Context, Failure};
use self::stringified::Stringified;
use crate::json::{Json, Object, parse};
use crate::limits::{FAILURES_TOLD, Limits, MAX_JSON_DEPTH};

/// Which validator a server holds its calls to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validator {
    /// JSON Schema 2020-12, and draft 7 where declared.
    #[default]
    Full,
    /// The reference's subset.
    Basic,
    /// Accepts everything; the root `required` list still holds.
    Passthrough,
    /// The application's own, applied by whoever runs the call; here only `required` is enforced.
    Custom,
}

/// Why a schema is not accepted: where (a JSON pointer, or empty for the root) and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", if path.is_empty() { String::new() } else { format!(" (at {path})") })]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub path: String,
    /// One sentence.
    pub reason: String,
}

impl SchemaError {
    fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// A schema accepted, compiled and ready to be applied.
#[derive(Debug)]
pub struct Schema {
    /// The root `required` list, in order.
    pub required: Vec<String>,
    /// Arguments mirrored into headers.
    pub mirrors: Vec<Mirror>,
    checker: Checker,
}

#[derive(Debug)]
enum Checker {
    Full(Box<Full>),
    Basic(Basic),
    /// Nothing is checked here.
    Open,
}

#[derive(Debug)]
struct Full {
    compiled: Compiled,
    /// For suggestions.
    schema: Json,
    /// Whether the root is the arguments of a tool.
    arguments: bool,
    stringified: Stringified,
}

impl Schema {
    /// Accepts and compiles the schema of a tool's arguments: an object with `type: "object"`.
    pub fn input(schema: &Json, validator: Validator) -> Result<Self, SchemaError> {
        let root = root(schema)?;
        check::input_root(root)?;
        let draft = check::draft(root)?;
        let mut accepted = Self::accept(schema, Some(root), draft, validator)?;
        accepted.mirrors = mirror::mirrors(schema, draft)?;
        if let Checker::Full(full) = &mut accepted.checker {
            full.arguments = true;
            full.stringified = Stringified::new(schema);
        }
        Ok(accepted)
    }

    /// Accepts and compiles the schema of a tool's structured content: any JSON object.
    pub fn output(schema: &Json, validator: Validator) -> Result<Self, SchemaError> {
        let root = root(schema)?;
        Self::accept(schema, Some(root), check::draft(root)?, validator)
    }

    /// Accepts and compiles any schema for the full validator, to hold a single value to it.
    pub fn standalone(schema: &Json) -> Result<Self, SchemaError> {
        let root = if matches!(schema, Json::Bool(_)) {
            None
        } else {
            Some(root(schema)?)
        };
        let draft = root.map_or(Ok(Draft::Draft202012), check::draft)?;
        Self::accept(schema, root, draft, Validator::Full)
    }

    fn accept(
        schema: &Json,
        root: Option<&Object>,
        draft: Draft,
        kind: Validator,
    ) -> Result<Self, SchemaError> {
        let required = root.map_or_else(|| Ok(Vec::new()), check::required)?;
        check::references(schema, draft)?;
        // Whatever will be applied, what is published must be JSON Schema.
        let compiled = compile::compile(schema, draft)?;
        let checker = match kind {
            Validator::Full => Checker::Full(Box::new(Full {
                compiled,
                schema: schema.clone(),
                arguments: false,
                stringified: Stringified::default(),
            })),
            Validator::Basic => Checker::Basic(Basic::new(schema)),
            Validator::Passthrough | Validator::Custom => Checker::Open,
        };
        Ok(Self {
            required,
            mirrors: Vec::new(),
            checker,
        })
    }

    /// Takes arguments that are the JSON text of a list or an object for that list or object, where
    /// the full validator is used and the schema admits no string. To be called before
    /// [`Self::check_arguments`].
    pub fn unstringify(&self, arguments: &mut Object, limits: &Limits) {
        if let Checker::Full(full) = &self.checker {
            full.stringified.decode(arguments, limits);
        }
    }

    /// The text of the tool failure that these arguments deserve, or `Ok`. It has one line for each
    /// failure, at most [`crate::limits::FAILURES_TOLD`], and never tells a value.
    pub fn check_arguments(&self, arguments: &Object) -> Result<(), String> {
        let missing: Vec<&str> = self
            .required
            .iter()
            .map(String::as_str)
            .filter(|name| !arguments.contains(name))
            .collect();
        if !missing.is_empty() {
            return Err(self.missing(&missing, arguments));
        }
        let failures = match &self.checker {
            Checker::Full(full) => full.failures(View::object(arguments), |_| true),
            Checker::Basic(basic) => basic.check_object(arguments).err().into_iter().collect(),
            Checker::Open => Vec::new(),
        };
        if failures.is_empty() {
            Ok(())
        } else {
            Err(validate::text(&failures))
        }
    }

    /// The first rule that these arguments break, without telling where.
    pub fn broken_rule(&self, arguments: &Object) -> Option<String> {
        let failure = match &self.checker {
            Checker::Full(full) => full
                .failures(View::object(arguments), |_| true)
                .into_iter()
                .next(),
            Checker::Basic(basic) => basic.check_object(arguments).err(),
            Checker::Open => None,
        };
        failure.map(|failure| failure.rule)
    }

    /// What is missing, and which names may stand for it.
    fn missing(&self, missing: &[&str], arguments: &Object) -> String {
        let told = format!("Missing required arguments: {}", missing.join(", "));
        let Checker::Full(full) = &self.checker else {
            return told;
        };
        let mut unknown = full.failures(View::object(arguments), Failure::is_unknown_argument);
        // With the line that is there already.
        unknown.truncate(FAILURES_TOLD - 1);
        if unknown.is_empty() {
            return told;
        }
        format!("{told}\n{}", validate::text(&unknown))
    }

    /// Whether this structured content (compact JSON text) is accepted.
    pub fn accepts_output(&self, content: &[u8]) -> bool {
        match &self.checker {
            Checker::Full(full) => parse_output(content)
                .is_some_and(|value| validate::accepts(&full.compiled, View::new(&value))),
            Checker::Basic(basic) => {
                parse_output(content).is_some_and(|value| basic.check(&value).is_ok())
            }
            Checker::Open => true,
        }
    }

    /// The first reason why this structured content (compact JSON text) is refused, as path and rule.
    pub fn output_failure(&self, content: &[u8]) -> Option<(String, String)> {
        if matches!(self.checker, Checker::Open) {
            return None;
        }
        let Some(value) = parse_output(content) else {
            return Some((String::new(), "is not JSON within the limits".to_owned()));
        };
        self.failures(&value).into_iter().next()
    }

    /// Why a value is refused, as path (`/a/0`, empty for the root) and rule; empty if it is accepted.
    pub fn failures(&self, value: &Json) -> Vec<(String, String)> {
        let failures = match &self.checker {
            Checker::Full(full) => full.failures(View::new(value), |_| true),
            Checker::Basic(basic) => basic.check(value).err().into_iter().collect(),
            Checker::Open => Vec::new(),
        };
        failures
            .into_iter()
            .map(|failure| (failure.place(), failure.rule))
            .collect()
    }
}

impl Full {
    fn failures(&self, value: View<'_>, told: fn(&Failure) -> bool) -> Vec<Failure> {
        let context = Context {
            schema: &self.schema,
            value,
            arguments: self.arguments,
        };
        validate::failures(&self.compiled, context, told)
    }
}

/// Structured content. Our own encoder wrote it: only what would hurt is bounded.
fn parse_output(content: &[u8]) -> Option<Json> {
    let limits = Limits {
        json_depth: MAX_JSON_DEPTH,
        integer_digits: usize::MAX,
        ..Limits::default()
    };
    parse(content, &limits).ok()
}

fn root(schema: &Json) -> Result<&Object, SchemaError> {
    schema
        .as_object()
        .ok_or_else(|| SchemaError::new("", "a schema must be a JSON object"))
}
