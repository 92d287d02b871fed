//! Roots: which folders the client works in. They inform; nothing may be concluded from them.

use super::request::{Checked, RequestError, is_object, is_string};
use crate::json::{Json, Object};

pub(super) fn check(params: Option<&Json>) -> Checked {
    match params {
        None => Ok(()),
        Some(Json::Object(params)) if params.is_empty() => Ok(()),
        Some(_) => Err(RequestError::new("must be absent or empty")),
    }
}

pub(super) fn answers(response: &Object) -> bool {
    let Some(Json::Array(roots)) = response.get("roots") else {
        return false;
    };
    roots.iter().all(is_root)
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
