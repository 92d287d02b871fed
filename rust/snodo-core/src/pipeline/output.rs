//! What a handler gave against what it owes: a tool to its output schema, and for the log why anything
//! cannot be sent.

use crate::call::Target;
use crate::error::Error;
use crate::mrtr;
use crate::outcome::{self, Outcome, Value};
use crate::registry::Tool;
use crate::runtime::Runtime;
use crate::schema::Schema;

/// With an output schema a result must carry structured content that the schema accepts, unless
/// the tool failed or asks for input.
pub(super) fn check_output(tool: &Tool, value: &Value) -> Result<(), Error> {
    check_owed(tool.output.as_ref(), value)
}

fn check_owed(schema: Option<&Schema>, value: &Value) -> Result<(), Error> {
    let (Some(schema), Some(content)) = (schema, promised(value)) else {
        return Ok(());
    };
    match content {
        Err(_) => Err(Error::internal(
            "Tool omitted structured output required by output schema",
        )),
        Ok(content) if schema.accepts_output(content) => Ok(()),
        Ok(_) => Err(Error::internal("Tool output failed schema validation")),
    }
}

/// Whether a value is a success that a call of `target` owes, with the output schema of a tool: for
/// whoever has the value before the call has ended, and would keep it.
pub fn is_owed(schema: Option<&Schema>, target: &Target, value: &Value) -> bool {
    let out = &mut Vec::new();
    match target {
        Target::Tool(_) => match value {
            Value::Text(_) | Value::Structured(_) | Value::Content(_) => {
                check_owed(schema, value).is_ok()
            }
            Value::Raw(object) | Value::Wire(object) => {
                let Some(members) = outcome::members(object) else {
                    return false;
                };
                let fails = members.contains(&(b"isError", b"true"));
                let is_own = outcome::own_type(&members).is_some();
                !fails && !is_own && check_owed(schema, value).is_ok()
            }
            _ => false,
        },
        Target::Resource { uri, .. } | Target::Template { uri, .. } => {
            outcome::write_read(value, uri, None, out).is_ok()
        }
        Target::Prompt(_) => outcome::write_messages(value, out).is_ok(),
        Target::Completion { .. } => outcome::write_completion(target, value, out).is_ok(),
        _ => false,
    }
}

/// Why an outcome cannot be sent, for the server's log: what is wrong with the input it asks for, with
/// the contents or messages it gives, or where a tool does not keep what its output schema promises.
/// `None` where nothing is wrong, or nothing more to tell. Never tells a value.
pub fn explain_output(runtime: &Runtime, target: &Target, outcome: &Outcome) -> Option<String> {
    let registry = &runtime.registry;
    match (target, &outcome.value) {
        (
            Target::Matcher(_)
            | Target::Policy(_)
            | Target::Completion { .. }
            | Target::Method(_)
            | Target::Negotiation(_)
            | Target::Layer(_)
            | Target::Selection(_)
            | Target::Event(_),
            _,
        ) => None,
        (_, Value::InputRequired { requests, state }) => {
            let checked = mrtr::check_requests(requests.as_deref(), state.is_some());
            checked.err().map(|error| error.to_string())
        }
        (Target::Tool(at), value) => explain_tool(registry.tools.get(*at)?, value),
        (_, Value::Failure(_) | Value::Raised(_)) => {
            Some("a failure that is not an Error (ToolError, Declined) only tools can tell".into())
        }
        (Target::Resource { uri, .. } | Target::Template { uri, .. }, value) => {
            let unfit = outcome::write_read(value, uri, None, &mut Vec::new()).err()?;
            unfit.reason()
        }
        (Target::Prompt(_), value) => {
            let unfit = outcome::write_messages(value, &mut Vec::new()).err()?;
            unfit.reason()
        }
    }
}

fn explain_tool(tool: &Tool, value: &Value) -> Option<String> {
    if let Value::Wire(object) = value
        && let Some((requests, has_state)) = outcome::asked(&outcome::members(object)?)
    {
        let checked = mrtr::check_requests(requests, has_state);
        return checked.err().map(|error| error.to_string());
    }
    let schema = tool.output.as_ref()?;
    match promised(value)? {
        Err(instead) => Some(format!("expected structured content, got {instead}")),
        Ok(content) => {
            let (path, rule) = schema.output_failure(content)?;
            let at = if path.is_empty() { "the root" } else { &path };
            Some(format!("at {at}: {rule}"))
        }
    }
}

/// The structured content of a value that owes some, or what it is instead.
fn promised(value: &Value) -> Option<Result<&[u8], &'static str>> {
    let instead = match value {
        Value::Failure(_) | Value::Raised(_) | Value::InputRequired { .. } | Value::Error(_) => {
            return None;
        }
        Value::Structured(json) => return Some(Ok(json)),
        Value::Raw(object) | Value::Wire(object) => {
            let members = outcome::members(object).unwrap_or_default();
            let find = |name: &[u8]| {
                members
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| *value)
            };
            let is_own = matches!(value, Value::Wire(_)) && outcome::own_type(&members).is_some();
            if is_own || find(b"isError") == Some(b"true") {
                return None;
            }
            return Some(
                find(b"structuredContent").ok_or("a result object without structuredContent"),
            );
        }
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
        Value::Content(_) => "content blocks",
        Value::ResourceRead { .. } => "the contents of a resource",
        Value::PromptGet { .. } => "the messages of a prompt",
        Value::Completion { .. } => "a completion",
        Value::Decisions(_) => "the decisions of a policy",
    };
    Some(Err(instead))
}
