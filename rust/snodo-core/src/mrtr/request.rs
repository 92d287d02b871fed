//! Requests embedded in a result, and what answers them. What each kind says is its own file's.

use std::fmt::Display;

use super::{elicitation, roots, sampling};
use crate::error::excerpt;
use crate::json::{Json, Object};

/// Why a request may not be embedded: where, and what is wrong there. Never quotes a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", if path.is_empty() { "the request" } else { path })]
pub struct RequestError {
    path: String,
    reason: &'static str,
}

pub(super) type Checked = Result<(), RequestError>;

impl RequestError {
    /// What is wrong with the value itself that is looked at.
    pub(super) fn new(reason: &'static str) -> Self {
        let path = String::new();
        Self { path, reason }
    }

    /// The same, seen from the value that has this one under `key`.
    pub(super) fn under(mut self, key: impl Display) -> Self {
        self.path = match self.path.as_str() {
            "" => key.to_string(),
            below => format!("{key}.{below}"),
        };
        self
    }
}

/// Holds an embedded request to the rules of its kind: nothing is missing, nothing wrong, and nothing
/// there that does not belong to it.
pub fn check_request(request: &Json) -> Checked {
    let Some(request) = request.as_object() else {
        return Err(RequestError::new("must be an object"));
    };
    closed(request, &["method", "params"])?;
    let params = request.get("params");
    let checked = match method(request) {
        Some("elicitation/create") => elicitation::check(params),
        Some("sampling/createMessage") => sampling::check(params),
        Some("roots/list") => roots::check(params),
        _ => {
            let reason = "must be elicitation/create, sampling/createMessage or roots/list";
            return Err(RequestError::new(reason).under("method"));
        }
    };
    checked.map_err(|error| error.under("params"))
}

/// Holds a response to this request, which is a good one. Members that nobody knows are left alone: the
/// client may speak a later revision.
pub fn check_response(request: &Json, response: &Json) -> Checked {
    let whole = |error: RequestError| error.under("response");
    let (Some(request), Some(response)) = (request.as_object(), response.as_object()) else {
        return Err(whole(RequestError::new("must be an object")));
    };
    let checked = match method(request) {
        Some("elicitation/create") => elicitation::check_response(request.get("params"), response),
        Some("sampling/createMessage") => sampling::check_response(response),
        Some("roots/list") => roots::check_response(response),
        _ => Err(RequestError::new("answers no question")),
    };
    checked.map_err(whole)
}

/// The capabilities that a good request needs, each with a member (`""` for none in particular).
pub(crate) fn needs(request: &Json) -> Vec<[&'static str; 2]> {
    let Some(request) = request.as_object() else {
        return Vec::new();
    };
    let params = request.get("params").and_then(Json::as_object);
    match (method(request), params) {
        (Some("elicitation/create"), Some(params)) => vec![elicitation::need(params)],
        (Some("sampling/createMessage"), Some(params)) => sampling::needs(params),
        (Some("roots/list"), _) => vec![["roots", ""]],
        _ => Vec::new(),
    }
}

fn method(request: &Object) -> Option<&str> {
    request.get("method").and_then(Json::as_str)
}

/// Refuses members that are not known.
pub(super) fn closed(object: &Object, known: &[&str]) -> Checked {
    match object.iter().find(|(key, _)| !known.contains(key)) {
        None => Ok(()),
        Some((key, _)) => Err(RequestError::new("does not belong here").under(excerpt(key))),
    }
}

/// Holds a member to a rule, if it is there.
pub(super) fn optional(
    object: &Object,
    key: &str,
    holds: impl FnOnce(&Json) -> bool,
    reason: &'static str,
) -> Checked {
    match object.get(key) {
        Some(value) if !holds(value) => Err(RequestError::new(reason).under(key)),
        _ => Ok(()),
    }
}

/// Holds a member that must be there to a rule.
pub(super) fn required(
    object: &Object,
    key: &str,
    holds: impl FnOnce(&Json) -> bool,
    reason: &'static str,
) -> Checked {
    match object.get(key) {
        Some(value) if holds(value) => Ok(()),
        _ => Err(RequestError::new(reason).under(key)),
    }
}

pub(super) fn is_string(value: &Json) -> bool {
    value.as_str().is_some()
}

pub(super) fn is_object(value: &Json) -> bool {
    value.as_object().is_some()
}

pub(super) fn is_number(value: &Json) -> bool {
    matches!(value, Json::Int(_) | Json::Big(_) | Json::Float(_))
}

pub(super) fn is_strings(value: &Json) -> bool {
    matches!(value, Json::Array(items) if items.iter().all(is_string))
}
