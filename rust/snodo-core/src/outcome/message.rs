//! What a prompt gives: messages, held to their rules and written one after the other.

use super::content::{
    Content, ContentError, check_content, is_base64_string, is_object, is_string,
};
use super::encoded::{items, string};
use super::{Encoded, Unfit, Value};
use crate::json::{self, Json, write_string};
use crate::limits::Limits;
use crate::meta::{self, IconError, is_absolute_uri};

/// Appends what a prompt gave as an array of messages: a text or a block of content is one of the
/// user's.
pub(crate) fn write_messages(value: &Value, out: &mut Encoded) -> Result<(), Unfit> {
    match value {
        Value::Text(text) => {
            out.push(b'[');
            user_text(out, |out| write_string(text, out));
            out.push(b']');
        }
        Value::Structured(json) if is_object(json) => {
            write_list(&[b"[", &json[..], b"]"].concat(), out)?;
        }
        Value::Content(list) if list == b"[]" => return Err(ContentError::NoMessages.into()),
        Value::Structured(list) | Value::Content(list) => write_list(list, out)?,
        Value::PromptGet { messages, .. } => {
            check_messages(messages)?;
            out.extend_from_slice(messages);
        }
        Value::Blob(_) => return Err(ContentError::Bytes.into()),
        Value::Failure(_) | Value::Raised(_) => return Err(Unfit::Failed),
        Value::Error(error) => return Err(Unfit::Error(error.clone())),
        Value::Raw(_)
        | Value::Wire(_)
        | Value::InputRequired { .. }
        | Value::ResourceRead { .. }
        | Value::Completion { .. }
        | Value::Decisions(_) => return Err(Unfit::Kind),
    }
    Ok(())
}

/// Appends a list in which a message, a block of content and a string may stand side by side.
fn write_list(list: &[u8], out: &mut Encoded) -> Result<(), ContentError> {
    out.push(b'[');
    for (at, item) in items(list)
        .ok_or(ContentError::NotMessages)?
        .into_iter()
        .enumerate()
    {
        if at > 0 {
            out.push(b',');
        }
        if is_string(item) {
            user_text(out, |out| out.extend_from_slice(item));
            continue;
        }
        let object = Content::read(item).ok_or(ContentError::NotMessages)?;
        if object.get("type").is_some() {
            check_block(&object)?;
            out.extend_from_slice(br#"{"role":"user","content":"#);
            out.extend_from_slice(item);
            out.push(b'}');
        } else {
            check_message(&object)?;
            out.extend_from_slice(item);
        }
    }
    out.push(b']');
    Ok(())
}

fn user_text(out: &mut Encoded, write: impl FnOnce(&mut Encoded)) {
    out.extend_from_slice(br#"{"role":"user","content":{"type":"text","text":"#);
    write(out);
    out.extend_from_slice(b"}}");
}

fn check_messages(messages: &[u8]) -> Result<(), ContentError> {
    let messages = items(messages).ok_or(ContentError::NotMessages)?;
    messages.into_iter().try_for_each(|message| {
        let message = Content::read(message).ok_or(ContentError::NotMessages)?;
        check_message(&message)
    })
}

fn check_message(message: &Content<'_>) -> Result<(), ContentError> {
    let (Some(role), Some(content), 2) = (
        message.get("role"),
        message.get("content"),
        message.keys().count(),
    ) else {
        return Err(ContentError::MessageFields);
    };
    if role != br#""user""# && role != br#""assistant""# {
        return Err(ContentError::Role);
    }
    check_block(&Content::read(content).ok_or(ContentError::Kind)?)
}

/// What a kind of content has of its own; annotations and metadata any may have.
const KINDS: [(&str, &[&str]); 5] = [
    ("text", &["text"]),
    ("image", &["data", "mimeType"]),
    ("audio", &["data", "mimeType"]),
    ("resource", &["resource"]),
    (
        "resource_link",
        &[
            "uri",
            "name",
            "title",
            "description",
            "mimeType",
            "size",
            "icons",
        ],
    ),
];

/// Whether a value is a block of content, such as a message of a prompt and a result of a tool have.
pub(crate) fn is_block(block: &Json) -> bool {
    Content::read(&block.to_vec()).is_some_and(|block| check_block(&block).is_ok())
}

fn check_block(block: &Content<'_>) -> Result<(), ContentError> {
    let kind = block
        .get("type")
        .and_then(string)
        .ok_or(ContentError::Kind)?;
    let (_, own) = KINDS
        .iter()
        .find(|(known, _)| *known == kind)
        .ok_or(ContentError::Kind)?;
    let known = |key: &[u8]| {
        let mut known = ["type", "annotations", "_meta"].iter().chain(*own);
        known.any(|known| known.as_bytes() == key)
    };
    if !block.keys().all(known) {
        return Err(ContentError::Fields);
    }
    if !block.optional("annotations", is_object) || !block.optional("_meta", is_object) {
        return Err(ContentError::MessageExtras);
    }
    match &*kind {
        "text" => must(block.get("text").is_some_and(is_string), ContentError::Text),
        "image" | "audio" => {
            must(
                block.get("data").is_some_and(is_base64_string),
                ContentError::Data,
            )?;
            must(
                block.get("mimeType").is_some_and(is_string),
                ContentError::MediaType,
            )
        }
        "resource" => {
            let resource = block.get("resource").and_then(Content::read);
            let named = check_content(&resource.ok_or(ContentError::NotList)?)?;
            must(named, ContentError::Uri)
        }
        _ => check_link(block),
    }
}

fn check_link(link: &Content<'_>) -> Result<(), ContentError> {
    let text = |key| link.get(key).and_then(string).unwrap_or_default();
    must(
        is_absolute_uri(&text("uri")) && !text("name").is_empty(),
        ContentError::Link,
    )?;
    let texts = ["title", "description"];
    must(
        texts.iter().all(|key| link.optional(key, is_string)),
        ContentError::LinkText,
    )?;
    must(
        link.optional("mimeType", is_string),
        ContentError::MediaType,
    )?;
    must(link.optional("size", is_size), ContentError::LinkSize)?;
    match link.get("icons") {
        None => Ok(()),
        Some(icons) => {
            let icons = json::parse(icons, &Limits::default()).map_err(|_| IconError::NotList)?;
            Ok(meta::check_icons(&icons)?)
        }
    }
}

/// An integer of zero or more.
fn is_size(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_digit)
}

fn must(good: bool, error: ContentError) -> Result<(), ContentError> {
    if good { Ok(()) } else { Err(error) }
}
