//! A tool's result against its output schema: whether it holds, and for the log why not.

use crate::call::Target;
use crate::error::Error;
use crate::outcome::{self, Outcome, Value};
use crate::registry::Tool;
use crate::runtime::Runtime;

/// With an output schema a result must carry structured content that the schema accepts, unless
/// the tool failed or asks for input.
pub(super) fn check_output(tool: &Tool, value: &Value) -> Result<(), Error> {
    let (Some(schema), Some(content)) = (&tool.output, promised(value)) else {
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

/// Why the outcome of a tool does not keep what its output schema promises, for the server's log: the
/// first failure's path and rule, or what came instead of structured content. `None` where nothing is
/// wrong. Never tells a value.
pub fn explain_output(runtime: &Runtime, target: &Target, outcome: &Outcome) -> Option<String> {
    let Target::Tool(at) = target else {
        return None;
    };
    let schema = runtime.registry.tools.get(*at)?.output.as_ref()?;
    match promised(&outcome.value)? {
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
        Value::Failure(_) | Value::InputRequired { .. } | Value::Error(_) => return None,
        Value::Structured(json) => return Some(Ok(json)),
        Value::Raw(object) | Value::Wire(object) => {
            let members = outcome::members(object).unwrap_or_default();
            let find = |name: &[u8]| {
                members
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| *value)
            };
            let asks = matches!(value, Value::Wire(_))
                && find(b"resultType") == Some(br#""input_required""#);
            if asks || find(b"isError") == Some(b"true") {
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
    };
    Some(Err(instead))
}
