//! The methods of these revisions, and how those are read that no other has.

use crate::dialect::params::{call_tool, complete, get_prompt, list, read_resource};
use crate::error::Error;
use crate::json::{Json, Object};
use crate::limits::{PEER_BYTES, PEER_VALUES, WATCHED_URI_BYTES};
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
        |params| {
            let watch = |uri| Change::Watch { uri, vetted: true };
            watched(params).map(|uri| Operation::Settle(watch(uri)))
        },
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

/// Notifications of a client that nothing follows on.
static NOTIFICATIONS: [&str; 3] = [
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];

/// The name of a method or notification of these revisions.
pub(in crate::dialect) fn name_of(method: &str) -> Option<&'static str> {
    let mut notified = std::iter::once(&CANCELLED).chain(&NOTIFICATIONS);
    let request = find(method).map(|known| known.name);
    request.or_else(|| notified.find(|known| **known == method).copied())
}

fn initialize(mut params: Object) -> Result<Operation, Error> {
    let (Some(Json::String(_)), Some(Json::Object(mut capabilities)), Some(Json::Object(mut info))) = (
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
    // Of the rest, pictures above all, nothing is looked at here.
    let mut client_info = Object::new();
    for key in ["name", "title", "version", "description", "websiteUrl"] {
        if let Some(text @ Json::String(_)) = info.take(key) {
            client_info.insert(key, text);
        }
    }
    let info = client_info;
    if info.to_vec().len() + capabilities.to_vec().len() > PEER_BYTES {
        let text = format!("clientInfo and capabilities must not exceed {PEER_BYTES} bytes");
        return Err(Error::invalid_params(text));
    }
    if count(&capabilities) > PEER_VALUES {
        capabilities = known(&capabilities);
    }
    Ok(Operation::Open {
        client_info: info,
        capabilities,
    })
}

/// Values in an object and in everything in it.
fn count(object: &Object) -> usize {
    let inner = |value: &Json| match value {
        Json::Object(object) => count(object),
        Json::Array(items) => items.len() * PEER_VALUES, // there is no such capability
        _ => 0,
    };
    object.iter().map(|(_, value)| 1 + inner(value)).sum()
}

/// What of the capabilities the protocol knows.
fn known(capabilities: &Object) -> Object {
    let mut kept = Object::new();
    for (name, members) in [
        ("roots", &[][..]),
        ("sampling", &["context", "tools"]),
        ("elicitation", &["form", "url"]),
    ] {
        if let Some(Json::Object(declared)) = capabilities.get(name) {
            let mut object = Object::new();
            for member in members.iter().filter(|member| declared.contains(member)) {
                object.insert(*member, Json::Object(Object::new()));
            }
            kept.insert(name, Json::Object(object));
        }
    }
    kept
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
