//! Roots: which folders the client works in. They inform; nothing may be concluded from them.

use super::request::{Checked, RequestError, is_object, is_string, required};
use crate::json::{Json, Object};

pub(super) fn check(params: Option<&Json>) -> Checked {
    match params {
        None => Ok(()),
        Some(Json::Object(params)) if params.is_empty() => Ok(()),
        Some(_) => Err(RequestError::new("must be absent or empty")),
    }
}

pub(super) fn check_response(response: &Object) -> Checked {
    let are_roots = |roots: &Json| matches!(roots, Json::Array(roots) if roots.iter().all(is_root));
    let reason = "must be a list of objects with a file:// uri and perhaps a name";
    required(response, "roots", are_roots, reason)
}

fn is_root(root: &Json) -> bool {
    let Some(root) = root.as_object() else {
        return false;
    };
    let uri = root.get("uri").and_then(Json::as_str);
    uri.is_some_and(|uri| uri.starts_with("file://"))
        && root.get("name").is_none_or(is_string)
        && root.get("_meta").is_none_or(is_object)
}
