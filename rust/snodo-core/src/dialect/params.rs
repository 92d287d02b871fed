//! How parameters are read, where every revision has the same.

use crate::envelope;
use crate::error::Error;
use crate::json::{Json, Object};
use crate::limits::Limits;
use crate::meta;
use crate::operation::{Completion, Listed, Operation, Reference};

pub(super) fn list(of: Listed, mut params: Object) -> Result<Operation, Error> {
    match params.take("cursor") {
        None => Ok(Operation::List { of, cursor: None }),
        Some(Json::String(cursor)) => Ok(Operation::List {
            of,
            cursor: Some(cursor),
        }),
        Some(_) => Err(Error::invalid_params("Cursor must be a string")),
    }
}

pub(super) fn call_tool(mut params: Object) -> Result<Operation, Error> {
    let name = match params.take("name") {
        Some(Json::String(name)) if !name.is_empty() => name,
        _ => {
            return Err(Error::invalid_params(
                "Tool name must be a non-empty string",
            ));
        }
    };
    match params.take("arguments") {
        None => Ok(Operation::CallTool {
            name,
            arguments: Object::new(),
        }),
        Some(Json::Object(arguments)) => Ok(Operation::CallTool { name, arguments }),
        Some(_) => Err(Error::invalid_params("Tool arguments must be an object")),
    }
}

pub(super) fn read_resource(mut params: Object) -> Result<Operation, Error> {
    match params.take("uri") {
        Some(Json::String(uri)) if meta::is_absolute_uri(&uri) => {
            Ok(Operation::ReadResource { uri })
        }
        Some(Json::String(uri)) => {
            Err(Error::invalid_params("Resource URI must be absolute").with_uri(&uri))
        }
        _ => Err(Error::invalid_params("Resource URI must be a string")),
    }
}

pub(super) fn get_prompt(mut params: Object) -> Result<Operation, Error> {
    let name = match params.take("name") {
        Some(Json::String(name)) if !name.is_empty() => name,
        _ => {
            return Err(Error::invalid_params(
                "Prompt name must be a non-empty string",
            ));
        }
    };
    let arguments = strings(params.take("arguments"), "prompts/get arguments")?;
    Ok(Operation::GetPrompt { name, arguments })
}

pub(super) fn complete(mut params: Object) -> Result<Operation, Error> {
    let of = reference(params.take("ref"))?;
    let mut argument = object(params.take("argument")).unwrap_or_default();
    let (Some(Json::String(name)), Some(Json::String(value))) =
        (argument.take("name"), argument.take("value"))
    else {
        return Err(completion_argument());
    };
    if name.is_empty() {
        return Err(completion_argument());
    }
    let given = match params.take("context") {
        None => None,
        Some(Json::Object(mut context)) => context.take("arguments"),
        Some(_) => {
            return Err(Error::invalid_params(
                "Completion context must be an object",
            ));
        }
    };
    Ok(Operation::Complete(Completion {
        of,
        argument: name,
        value,
        arguments: strings(given, "Completion context arguments")?,
    }))
}

fn completion_argument() -> Error {
    Error::invalid_params("Completion argument requires string name and value")
}

fn reference(reference: Option<Json>) -> Result<Reference, Error> {
    let missing =
        || Error::invalid_params("Completion requires a prompt or resource-template reference");
    let mut reference = object(reference).ok_or_else(missing)?;
    let mut name = |key| match reference.take(key) {
        Some(Json::String(name)) if !name.is_empty() => Ok(name),
        _ => Err(missing()),
    };
    match &*name("type")? {
        "ref/prompt" => {
            let name = name("name")?;
            match reference.get("title") {
                None | Some(Json::String(_)) => Ok(Reference::Prompt(name)),
                Some(_) => Err(Error::invalid_params(
                    "Completion prompt reference title must be a string",
                )),
            }
        }
        "ref/resource" => Ok(Reference::Template(name("uri")?)),
        _ => Err(Error::invalid_params(
            "Completion reference type is not supported",
        )),
    }
}

fn object(value: Option<Json>) -> Option<Object> {
    match value {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

/// An object of strings, which may be absent; `what` begins the sentence that says what else it is.
fn strings(value: Option<Json>, what: &str) -> Result<Object, Error> {
    match value {
        None => Ok(Object::new()),
        Some(Json::Object(strings)) => {
            if strings.iter().all(|(_, value)| value.as_str().is_some()) {
                return Ok(strings);
            }
            Err(Error::invalid_params(format!(
                "{what} must map strings to strings"
            )))
        }
        Some(_) => Err(Error::invalid_params(format!("{what} must be an object"))),
    }
}

pub(super) fn check_progress_token(meta: &Object, limits: &Limits) -> Result<(), Error> {
    match meta.get(meta::PROGRESS_TOKEN) {
        None | Some(Json::Int(_)) => Ok(()),
        Some(Json::String(token)) if token.len() <= limits.id_bytes => Ok(()),
        Some(_) => {
            let text = format!("progressToken {}", envelope::id_rule(limits));
            Err(Error::invalid_params(text))
        }
    }
}
