//! The methods of this revision, and how their parameters are read. What they lead to is the router's.

use crate::error::Error;
use crate::json::{Json, Object};
use crate::meta;
use crate::operation::{Completion, Feature, Listed, Operation, Reference};
use crate::subscription::Filter;

/// What is known of a method besides its name.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Offered only together with this.
    pub(super) feature: Option<Feature>,
    /// The parameter that `Mcp-Name` mirrors.
    pub(super) mirrored: Option<&'static str>,
    /// May be answered with a request for input, and then asked again with the answers.
    pub(super) rounds: bool,
    /// Reads the parameters; `None` while the feature has no components.
    pub(super) operation: Option<fn(Object) -> Result<Operation, Error>>,
}

impl Method {
    const fn new(name: &'static str, feature: Option<Feature>) -> Self {
        Self {
            name,
            feature,
            mirrored: None,
            rounds: false,
            operation: None,
        }
    }

    const fn mirrored(mut self, parameter: &'static str) -> Self {
        self.mirrored = Some(parameter);
        self
    }

    const fn rounds(mut self) -> Self {
        self.rounds = true;
        self
    }

    const fn served(mut self, operation: fn(Object) -> Result<Operation, Error>) -> Self {
        self.operation = Some(operation);
        self
    }
}

/// What a client may request. A method that is not here does not exist.
static REQUESTS: [Method; 10] = [
    Method::new("tools/call", Some(Feature::Tools))
        .mirrored("name")
        .rounds()
        .served(call_tool),
    Method::new("tools/list", Some(Feature::Tools)).served(|params| list(Listed::Tools, params)),
    Method::new("server/discover", None).served(|_| Ok(Operation::Discover)),
    Method::new("resources/list", Some(Feature::Resources))
        .served(|params| list(Listed::Resources, params)),
    Method::new("resources/templates/list", Some(Feature::Resources))
        .served(|params| list(Listed::Templates, params)),
    Method::new("resources/read", Some(Feature::Resources))
        .mirrored("uri")
        .rounds()
        .served(read_resource),
    Method::new("prompts/list", Some(Feature::Prompts))
        .served(|params| list(Listed::Prompts, params)),
    Method::new("prompts/get", Some(Feature::Prompts))
        .mirrored("name")
        .rounds()
        .served(get_prompt),
    Method::new("completion/complete", Some(Feature::Completions)).served(complete),
    Method::new("subscriptions/listen", Some(Feature::Subscriptions)).served(listen),
];

/// The one notification of a client.
pub(super) const CANCELLED: &str = "notifications/cancelled";

/// The first message of a subscription.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Notifications, which cannot be requested; all but the first are the server's own.
pub(super) const NOTIFICATIONS: [&str; 8] = [
    CANCELLED,
    "notifications/progress",
    "notifications/message",
    ACKNOWLEDGED,
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

pub(super) fn find(method: &str) -> Option<&'static Method> {
    REQUESTS.iter().find(|known| known.name == method)
}

fn list(of: Listed, mut params: Object) -> Result<Operation, Error> {
    match params.take("cursor") {
        None => Ok(Operation::List { of, cursor: None }),
        Some(Json::String(cursor)) => Ok(Operation::List {
            of,
            cursor: Some(cursor),
        }),
        Some(_) => Err(Error::invalid_params("Cursor must be a string")),
    }
}

fn call_tool(mut params: Object) -> Result<Operation, Error> {
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

fn read_resource(mut params: Object) -> Result<Operation, Error> {
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

fn get_prompt(mut params: Object) -> Result<Operation, Error> {
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

fn listen(mut params: Object) -> Result<Operation, Error> {
    Filter::take(&mut params).map(Operation::Listen)
}

fn complete(mut params: Object) -> Result<Operation, Error> {
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
