//! Input requests, responses and how a retry joins them to its call.
//!
//! Which operations may ask for input is the dialect's business; what state means, its author's.

mod elicitation;
mod form;
mod format;
mod request;
mod roots;
mod sampling;
pub mod state;

pub use request::{RequestError, check_request, check_response};

use crate::context::Context;
use crate::error::{Error, Kind, code, excerpt};
use crate::json::{self, Json, Object};
use crate::limits::Limits;
pub(crate) use request::needs;

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

/// Why a result that asks for input cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InputError {
    #[error("it has neither input requests nor a request state")]
    Nothing,
    #[error("input requests must be an object")]
    NotObject,
    #[error("input request {key:?}: {error}")]
    Request { key: String, error: RequestError },
}

/// Holds a result that asks for input to the rules: something is asked or kept, every request is
/// one there is, and the client declared, with this very request, that it can answer it.
pub fn admit(requests: Option<&[u8]>, has_state: bool, context: &Context) -> Result<(), Error> {
    let invalid = |_| Error::internal("Invalid input-required result");
    let requests = check_requests(requests, has_state).map_err(invalid)?;
    let nothing = Object::new();
    let declared = context.client_capabilities().unwrap_or(&nothing);
    let mut missing = Object::new();
    for (_, request) in requests.iter() {
        for [capability, member] in needs(request) {
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

/// The requests of a result that asks for input, if every one is good whatever the client can do.
pub(crate) fn check_requests(
    requests: Option<&[u8]>,
    has_state: bool,
) -> Result<Object, InputError> {
    let Some(requests) = requests else {
        return if has_state {
            Ok(Object::new())
        } else {
            Err(InputError::Nothing)
        };
    };
    let Ok(Json::Object(requests)) = json::parse(requests, &Limits::default()) else {
        return Err(InputError::NotObject);
    };
    if requests.is_empty() && !has_state {
        return Err(InputError::Nothing);
    }
    for (key, request) in requests.iter() {
        check_request(request).map_err(|error| InputError::Request {
            key: excerpt(key).into_owned(),
            error,
        })?;
    }
    Ok(requests)
}

pub(crate) fn declares(declared: &Object, capability: &str, member: &str) -> bool {
    let Some(capability_object) = declared.get(capability).and_then(Json::as_object) else {
        return false;
    };
    // An empty elicitation capability means forms.
    let implied = capability == "elicitation" && member == "form" && capability_object.is_empty();
    member.is_empty() || implied || capability_object.contains(member)
}

pub(crate) fn require(missing: &mut Object, capability: &str, member: &str) {
    let mut members = match missing.take(capability) {
        Some(Json::Object(members)) => members,
        _ => Object::new(),
    };
    if !member.is_empty() {
        members.insert(member, Json::Object(Object::new()));
    }
    missing.insert(capability, Json::Object(members));
}
