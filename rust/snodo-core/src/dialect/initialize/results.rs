//! What a handler gave, as the result object of these revisions: nothing says what kind it is, how long
//! it may be kept or who gave it.

use super::{Revision, shape};
use crate::call::Target;
use crate::error::Error;
use crate::json::Object;
use crate::meta;
use crate::outcome::{self, Outcome, Value};
use crate::runtime::Runtime;

/// Appends the result object.
pub(super) fn write(
    revision: &Revision,
    runtime: &Runtime,
    target: &Target,
    outcome: &Outcome,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let Outcome {
        value, metadata, ..
    } = outcome;
    let registry = &runtime.registry;
    let mut given_meta = None;
    match (target, value) {
        (
            Target::Matcher(_)
            | Target::Policy(_)
            | Target::Method(_)
            | Target::Negotiation(_)
            | Target::Layer(_)
            | Target::Selection(_)
            | Target::Event(_),
            _,
        ) => return Err(target.failed()),
        // Where the client can be asked, it was.
        (_, Value::InputRequired { .. }) => {
            let text = "Input-required result is not permitted for this operation";
            return Err(Error::internal(text));
        }
        (Target::Tool(_), value) => given_meta = tool(revision, target, value, out)?,
        (_, _) if outcome.is_of_tools() => return Err(target.wrong_kind()),
        (Target::Resource { at, uri }, value) => {
            read(
                target,
                value,
                uri,
                registry.resources[*at].mime_type.as_deref(),
                out,
            )?;
        }
        (Target::Template { at, uri }, value) => {
            read(
                target,
                value,
                uri,
                registry.templates[*at].mime_type.as_deref(),
                out,
            )?;
        }
        (Target::Prompt(at), value) => {
            let declared = registry.prompts[*at].description();
            prompt(revision, target, value, declared, out)?;
        }
        (Target::Completion { .. }, value) => {
            out.extend_from_slice(br#"{"completion":"#);
            outcome::write_completion(target, value, out)?;
        }
    }
    close_with_meta(given_meta, metadata, out);
    Ok(())
}

/// Gives the `_meta` that the value brought along.
fn tool<'a>(
    revision: &Revision,
    target: &Target,
    value: &'a Value,
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    match value {
        Value::Text(text) => tool_text(text, false, out),
        Value::Failure(text) | Value::Raised(text) => tool_text(text, true, out),
        Value::Structured(json) => {
            let text = std::str::from_utf8(json).map_err(|_| target.invalid_result())?;
            out.push(b'{');
            shape::text_content(text, out);
            if revision.takes(json) {
                shape::member("structuredContent", json, out);
            }
            shape::is_error(false, out);
        }
        Value::Content(blocks) => {
            if !blocks.starts_with(b"[") {
                return Err(target.invalid_result());
            }
            out.extend_from_slice(br#"{"content":"#);
            revision.write_blocks(blocks, out);
            shape::is_error(false, out);
        }
        Value::Raw(object) | Value::Wire(object) => return raw(revision, target, object, out),
        Value::Error(error) => return Err(error.clone()),
        Value::Blob(_)
        | Value::InputRequired { .. }
        | Value::ResourceRead { .. }
        | Value::PromptGet { .. }
        | Value::Completion { .. }
        | Value::Decisions(_) => return Err(target.invalid_result()),
    }
    Ok(None)
}

fn tool_text(text: &str, failed: bool, out: &mut Vec<u8>) {
    out.push(b'{');
    shape::text_content(text, out);
    shape::is_error(failed, out);
}

/// A result object as given. Structured content that is no object is told as text, if there is no other
/// content. Gives the `_meta` that the object brought along.
fn raw<'a>(
    revision: &Revision,
    target: &Target,
    object: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    let members = outcome::members(object).ok_or_else(|| target.invalid_result())?;
    let find = |name: &[u8]| {
        let found = members.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    let structured = find(b"structuredContent");
    out.push(b'{');
    match (find(b"content"), structured) {
        (None | Some(b"[]"), Some(json)) if !revision.takes(json) => {
            let text = std::str::from_utf8(json).map_err(|_| target.invalid_result())?;
            shape::text_content(text, out);
        }
        (content, _) => {
            out.extend_from_slice(br#""content":"#);
            revision.write_blocks(content.unwrap_or(b"[]"), out);
        }
    }
    for (key, value) in &members {
        match *key {
            b"_meta" | b"content" | b"resultType" | b"ttlMs" | b"cacheScope" => {}
            b"structuredContent" if !revision.takes(value) => {}
            key => {
                out.extend_from_slice(b",\"");
                out.extend_from_slice(key);
                out.extend_from_slice(b"\":");
                out.extend_from_slice(value);
            }
        }
    }
    if find(b"isError").is_none() {
        shape::is_error(false, out);
    }
    Ok(find(b"_meta"))
}

impl Revision {
    /// Whether this is structured content here.
    fn takes(&self, json: &[u8]) -> bool {
        self.structured && json.starts_with(b"{")
    }
}

fn read(
    target: &Target,
    value: &Value,
    uri: &str,
    mime_type: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    out.extend_from_slice(br#"{"contents":"#);
    outcome::write_read(value, uri, mime_type, out).map_err(|unfit| unfit.into_error(target))
}

fn prompt(
    revision: &Revision,
    target: &Target,
    value: &Value,
    declared: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    out.push(b'{');
    shape::prompt_description(value, declared, out);
    out.extend_from_slice(br#""messages":"#);
    let mut messages = Vec::new();
    outcome::write_messages(value, &mut messages).map_err(|unfit| unfit.into_error(target))?;
    revision.write_messages(&messages, out);
    Ok(())
}

/// Ends a result with what it says of itself, if anything.
fn close_with_meta(given: Option<&[u8]>, metadata: &Object, out: &mut Vec<u8>) {
    if given.is_some() || !metadata.is_empty() {
        let end = out.len();
        out.extend_from_slice(br#","_meta":{"#);
        let start = out.len();
        shape::meta_members(given, metadata, meta::SERVER_INFO, out);
        if out.len() == start {
            out.truncate(end);
        } else {
            out.push(b'}');
        }
    }
    out.push(b'}');
}
