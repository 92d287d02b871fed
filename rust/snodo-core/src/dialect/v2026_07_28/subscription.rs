//! The messages of a subscription. Each carries the id of the request that opened it.

use super::methods::ACKNOWLEDGED;
use super::render::COMPLETE;
use super::shape;
use crate::envelope::Id;
use crate::json::{Json, Object, write_string};
use crate::meta;
use crate::subscription::{Change, Event, Filter};

/// What will be told: of what was asked for, the part that holds.
pub(super) fn acknowledge(id: &Id, filter: &Filter) -> Vec<u8> {
    let mut out = open(ACKNOWLEDGED, id, &Object::new());
    out.extend_from_slice(br#","notifications":{"#);
    for (key, wanted) in [
        ("toolsListChanged", filter.tools_list_changed),
        ("promptsListChanged", filter.prompts_list_changed),
        ("resourcesListChanged", filter.resources_list_changed),
    ] {
        if wanted {
            shape::member(key, b"true", &mut out);
        }
    }
    if !filter.resource_subscriptions.is_empty() {
        let uris = filter.resource_subscriptions.iter().cloned();
        let uris = Json::Array(uris.map(Json::String).collect());
        shape::member("resourceSubscriptions", &uris.to_vec(), &mut out);
    }
    for (key, value) in filter
        .extensions
        .iter()
        .flat_map(|own| own.members().iter())
    {
        shape::member(key, &value.to_vec(), &mut out);
    }
    out.extend_from_slice(b"}}}");
    out
}

/// Something changed.
pub(super) fn tell(id: &Id, event: &Event) -> Vec<u8> {
    let (method, uri) = match &event.change {
        Change::ToolsList => ("notifications/tools/list_changed", None),
        Change::PromptsList => ("notifications/prompts/list_changed", None),
        Change::ResourcesList => ("notifications/resources/list_changed", None),
        Change::Resource(uri) => ("notifications/resources/updated", Some(uri)),
        // Its extension puts it into words.
        Change::Extension(_) => return Vec::new(),
    };
    let mut out = open(method, id, &event.metadata);
    if let Some(uri) = uri {
        out.extend_from_slice(br#","uri":"#);
        write_string(uri, &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// Something happened that an extension has words for. What it says in a `_meta` of its own is said too,
/// but for the id.
pub(super) fn tell_own(id: &Id, method: &str, params: &Object, metadata: &Object) -> Vec<u8> {
    let mut said = match params.get("_meta") {
        Some(Json::Object(said)) => said.clone(),
        _ => Object::new(),
    };
    for (key, value) in metadata.iter() {
        said.insert(key, value.clone());
    }
    let mut out = open(method, id, &said);
    for (key, value) in params.iter().filter(|(key, _)| *key != "_meta") {
        shape::member(key, &value.to_vec(), &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// The response to the request, which ends the subscription: a graceful end on every transport. A
/// `notifications/cancelled` before it, of which one page of the protocol speaks, is what official
/// clients take for a stream that was lost. `server` is the `_meta` that every
/// result ends with.
pub(super) fn listened(id: &Id, server: &[u8]) -> Vec<u8> {
    let mut result = COMPLETE.to_vec();
    result.extend_from_slice(OPEN_META);
    subscription_id(id, &mut result);
    result.push(b',');
    result.extend_from_slice(&server[OPEN_META.len()..]);
    result.push(b'}');
    shape::response(id, &result)
}

const OPEN_META: &[u8] = br#""_meta":{"#;

/// A notification up to the end of its `_meta`.
fn open(method: &str, id: &Id, metadata: &Object) -> Vec<u8> {
    // A line of this kind with a URI of ordinary length.
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_string(method, &mut out);
    out.extend_from_slice(br#","params":{"_meta":{"#);
    shape::meta_members(None, metadata, meta::SUBSCRIPTION_ID, &mut out);
    shape::separate(&mut out);
    subscription_id(id, &mut out);
    out.push(b'}');
    out
}

fn subscription_id(id: &Id, out: &mut Vec<u8>) {
    write_string(meta::SUBSCRIPTION_ID, out);
    out.push(b':');
    id.write(out);
}
