//! The methods of these revisions, and how those are read that no other has.

use crate::dialect::params::{call_tool, complete, get_prompt, list, read_resource};
use crate::error::Error;
use crate::json::{Json, Object};
use crate::limits::{PEER_BYTES, WATCHED_URI_BYTES};
use crate::meta::is_absolute_uri;
use crate::notice::Level;
use crate::operation::{Change, Feature, Listed, Operation};

/// What is known of a method besides its name.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Offered only together with these.
    pub(super) needs: &'static [Feature],
    /// Reads the parameters.
    pub(super) operation: fn(Object) -> Result<Operation, Error>,
}

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const PING: &str = "ping";

/// The one notification of a client that anything follows on.
pub(super) const CANCELLED: &str = "notifications/cancelled";

/// What a client may request. A method that is not here does not exist.
static REQUESTS: [Method; 13] = [
    method("tools/call", &[Feature::Tools], call_tool),
    method("tools/list", &[Feature::Tools], |params| {
        list(Listed::Tools, params)
    }),
    method(INITIALIZE, &[], initialize),
    method(PING, &[], |_| Ok(Operation::Ping)),
    method("resources/list", &[Feature::Resources], |params| {
        list(Listed::Resources, params)
    }),
    method(
        "resources/templates/list",
        &[Feature::Resources],
        |params| list(Listed::Templates, params),
    ),
    method("resources/read", &[Feature::Resources], read_resource),
    method(
        "resources/subscribe",
        &[Feature::Resources, Feature::Subscriptions],
        |params| watched(params).map(|uri| Operation::Settle(Change::Watch(uri))),
    ),
    method(
        "resources/unsubscribe",
        &[Feature::Resources, Feature::Subscriptions],
        |params| watched(params).map(|uri| Operation::Settle(Change::Unwatch(uri))),
    ),
    method("prompts/list", &[Feature::Prompts], |params| {
        list(Listed::Prompts, params)
    }),
    method("prompts/get", &[Feature::Prompts], get_prompt),
    method("completion/complete", &[Feature::Completions], complete),
    method("logging/setLevel", &[Feature::Logging], set_level),
];

const fn method(
    name: &'static str,
    needs: &'static [Feature],
    operation: fn(Object) -> Result<Operation, Error>,
) -> Method {
    Method {
        name,
        needs,
        operation,
    }
}

pub(super) fn find(method: &str) -> Option<&'static Method> {
    REQUESTS.iter().find(|known| known.name == method)
}

fn initialize(mut params: Object) -> Result<Operation, Error> {
    let (Some(Json::String(_)), Some(Json::Object(capabilities)), Some(Json::Object(mut info))) = (
        params.take("protocolVersion"),
        params.take("capabilities"),
        params.take("clientInfo"),
    ) else {
        return Err(handshake());
    };
    let is_text = |key| info.get(key).is_some_and(|value| value.as_str().is_some());
    if !is_text("name") || !is_text("version") {
        return Err(handshake());
    }
    // Pictures are large, and nobody looks at them here.
    info.take("icons");
    if info.to_vec().len() + capabilities.to_vec().len() > PEER_BYTES {
        let text = format!("clientInfo and capabilities must not exceed {PEER_BYTES} bytes");
        return Err(Error::invalid_params(text));
    }
    Ok(Operation::Open {
        client_info: info,
        capabilities,
    })
}

fn handshake() -> Error {
    let text = "initialize requires protocolVersion, capabilities and clientInfo name/version";
    Error::invalid_params(text)
}

fn watched(mut params: Object) -> Result<String, Error> {
    match params.take("uri") {
        Some(Json::String(uri)) if !is_absolute_uri(&uri) => {
            Err(Error::invalid_params("Resource URI must be absolute").with_uri(&uri))
        }
        Some(Json::String(uri)) if uri.len() > WATCHED_URI_BYTES => {
            let text = format!("A URI to subscribe to has at most {WATCHED_URI_BYTES} bytes");
            Err(Error::invalid_params(text))
        }
        Some(Json::String(uri)) => Ok(uri),
        _ => Err(Error::invalid_params("Resource URI must be a string")),
    }
}

fn set_level(mut params: Object) -> Result<Operation, Error> {
    let level = params.take("level");
    match level.as_ref().and_then(Json::as_str).and_then(Level::named) {
        Some(level) => Ok(Operation::Settle(Change::LogLevel(level))),
        None => Err(Error::invalid_params(
            "level must be debug, info, notice, warning, error, critical, alert or emergency",
        )),
    }
}
