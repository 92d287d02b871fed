//! Result members spelled the same in every revision, and the envelope around them.
//!
//! Everything is spliced around bytes that exist already; nothing is parsed here.

use crate::envelope::Id;
use crate::error::Error;
use crate::json::{Json, Object, write_string};
use crate::operation::Feature;
use crate::outcome;
use crate::outcome::Value;
use crate::registry::Registry;
use crate::runtime::Settings;

/// Begins a response: all that stands before the result object.
pub(crate) fn open_response(id: &Id, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
}

/// Ends what [`open_response`] began.
pub(crate) fn close_response(out: &mut Vec<u8>) {
    out.push(b'}');
}

/// A whole response around a result that is written already.
pub(crate) fn response(id: &Id, result: &[u8]) -> Vec<u8> {
    // The envelope and an id of ordinary length.
    let mut out = Vec::with_capacity(result.len() + 96);
    open_response(id, &mut out);
    out.extend_from_slice(result);
    close_response(&mut out);
    out
}

/// A whole error response. Without a readable id the member is left out.
pub(crate) fn error_response(id: Option<&Id>, error: &Error) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + error.message.len());
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        id.write(&mut out);
    }
    out.extend_from_slice(br#","error":{"code":"#);
    Json::Int(error.code).write(&mut out);
    out.extend_from_slice(br#","message":"#);
    write_string(&error.message, &mut out);
    if let Some(data) = error.data.as_ref().filter(|data| **data != Json::Null) {
        out.extend_from_slice(br#","data":"#);
        data.write(&mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// `"content":[{"type":"text","text":…}]`
pub(crate) fn text_content(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#""content":[{"type":"text","text":"#);
    write_string(text, out);
    out.extend_from_slice(b"}]");
}

/// What a prompt is about, with a comma behind it: what its handler says, or what was declared.
pub(crate) fn prompt_description(value: &Value, declared: Option<&str>, out: &mut Vec<u8>) {
    let own = match value {
        Value::PromptGet { description, .. } => description.as_deref(),
        _ => None,
    };
    if let Some(description) = own.or(declared) {
        out.extend_from_slice(br#""description":"#);
        write_string(description, out);
        out.push(b',');
    }
}

/// `,"isError":…`
pub(crate) fn is_error(flag: bool, out: &mut Vec<u8>) {
    let member: &[u8] = if flag {
        br#","isError":true"#
    } else {
        br#","isError":false"#
    };
    out.extend_from_slice(member);
}

/// `"key":value`, with a comma before it unless it is the first member.
pub(crate) fn member(key: &str, value: &[u8], out: &mut Vec<u8>) {
    separate(out);
    write_string(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}

/// Appends the members of a capabilities object: what the server offers, but for the features that the
/// revision has no capability for.
pub(crate) fn capabilities(
    settings: &Settings,
    registry: &Registry,
    unnamed: &[Feature],
    out: &mut Vec<u8>,
) {
    for (feature, name) in Feature::ADVERTISED {
        if registry.offers(feature) && !unnamed.contains(&feature) {
            let tells: &[u8] = match feature {
                Feature::Resources => br#"{"subscribe":true,"listChanged":true}"#,
                Feature::Tools | Feature::Prompts => br#"{"listChanged":true}"#,
                _ => b"{}",
            };
            let told = if settings.subscriptions { tells } else { b"{}" };
            member(name, told, out);
        }
    }
}

/// A comma, unless an object has just been opened.
pub(crate) fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

/// Appends the members of a `_meta` object, lowest precedence first: what a result object brought
/// along (`given`, encoded), then `metadata`. The key `reserved` is left out of both.
pub(crate) fn meta_members(
    given: Option<&[u8]>,
    metadata: &Object,
    reserved: &str,
    out: &mut Vec<u8>,
) {
    for (key, value) in given.and_then(outcome::members).unwrap_or_default() {
        let key_text = std::str::from_utf8(key).unwrap_or_default();
        if key_text == reserved || metadata.contains(key_text) {
            continue;
        }
        separate(out);
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    }
    for (key, value) in metadata.iter().filter(|(key, _)| *key != reserved) {
        separate(out);
        write_string(key, out);
        out.push(b':');
        value.write(out);
    }
}
