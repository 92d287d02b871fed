//! Input requests, responses and how a retry joins them to its call.
//!
//! Which operations may ask for input is the dialect's business; what state means, its author's.

pub mod state;

use crate::context::Context;
use crate::error::{Error, Kind, code};
use crate::json::{self, Json, Object};
use crate::limits::Limits;

/// The requests a server may embed in a result. None is ever a request of its own.
pub const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Takes the answers of a retry out of its parameters.
pub fn input_responses(params: &mut Object) -> Result<Option<Object>, Error> {
    match params.take("inputResponses") {
        None => Ok(None),
        Some(Json::Object(responses)) => {
            if responses
                .iter()
                .all(|(_, response)| response.as_object().is_some())
            {
                return Ok(Some(responses));
            }
            let text = "inputResponses must map string IDs to bare result objects";
            Err(Error::invalid_params(text))
        }
        Some(_) => Err(Error::invalid_params("inputResponses must be an object")),
    }
}

/// Takes the state of a retry out of its parameters. It is the client's word, not verified.
pub fn request_state(params: &mut Object) -> Result<Option<String>, Error> {
    match params.take("requestState") {
        None => Ok(None),
        Some(Json::String(state)) => Ok(Some(state)),
        Some(_) => Err(Error::invalid_params("requestState must be a string")),
    }
}

/// Holds a result that asks for input to the rules: something is asked or kept, every request is
/// one there is, and the client declared, with this very request, that it can answer it.
pub fn admit(requests: Option<&[u8]>, has_state: bool, context: &Context) -> Result<(), Error> {
    let Some(requests) = requests else {
        return if has_state { Ok(()) } else { Err(invalid()) };
    };
    let Ok(Json::Object(requests)) = json::parse(requests, &Limits::default()) else {
        return Err(invalid());
    };
    let nothing = Object::new();
    let declared = context.client_capabilities().unwrap_or(&nothing);
    let mut missing = Object::new();
    for (_, request) in requests.iter() {
        for [capability, member] in needs(request).ok_or_else(invalid)? {
            if !declares(declared, capability, member) {
                require(&mut missing, capability, member);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let mut data = Object::new();
    data.insert("requiredCapabilities", Json::Object(missing));
    let error = Error::new(
        code::MISSING_CAPABILITY,
        Kind::Protocol,
        "Missing required client capability",
    );
    Err(error.with_data(Json::Object(data)))
}

fn invalid() -> Error {
    Error::internal("Invalid input-required result")
}

/// The capabilities that an embedded request needs, each with a member (`""` for none in
/// particular); `None` if it is not a request that may be embedded.
fn needs(request: &Json) -> Option<Vec<[&'static str; 2]>> {
    let request = request.as_object()?;
    if request.contains("jsonrpc") || request.contains("id") {
        return None;
    }
    let params = match request.get("params") {
        None => None,
        Some(params) => Some(params.as_object()?),
    };
    match request.get("method")?.as_str()? {
        "roots/list" => Some(vec![["roots", ""]]),
        "elicitation/create" => match params?.get("mode") {
            None => Some(vec![["elicitation", "form"]]),
            Some(Json::String(mode)) if mode == "form" => Some(vec![["elicitation", "form"]]),
            Some(Json::String(mode)) if mode == "url" => Some(vec![["elicitation", "url"]]),
            Some(_) => None,
        },
        "sampling/createMessage" => {
            let params = params?;
            let tools = params.contains("tools") || params.contains("toolChoice");
            let tools = tools.then_some(["sampling", "tools"]);
            Some([["sampling", ""]].into_iter().chain(tools).collect())
        }
        _ => None,
    }
}

fn declares(declared: &Object, capability: &str, member: &str) -> bool {
    let Some(capability_object) = declared.get(capability).and_then(Json::as_object) else {
        return false;
    };
    // An empty elicitation capability means forms.
    let implied = capability == "elicitation" && member == "form" && capability_object.is_empty();
    member.is_empty() || implied || capability_object.contains(member)
}

fn require(missing: &mut Object, capability: &str, member: &str) {
    let mut members = match missing.take(capability) {
        Some(Json::Object(members)) => members,
        _ => Object::new(),
    };
    if !member.is_empty() {
        members.insert(member, Json::Object(Object::new()));
    }
    missing.insert(capability, Json::Object(members));
}
