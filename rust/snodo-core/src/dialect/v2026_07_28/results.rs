//! What a handler gave, as the result object of this revision.

use super::render::{COMPLETE, cache_hints};
use super::{V2026_07_28, shape};
use crate::call::Target;
use crate::context::Context;
use crate::error::Error;
use crate::json::{Object, write_string};
use crate::meta;
use crate::mrtr;
use crate::outcome::{self, Outcome, Value};
use crate::runtime::{Cache, Runtime, Scope};

/// Appends the result object.
pub(super) fn write(
    runtime: &Runtime,
    context: &Context,
    target: &Target,
    outcome: &Outcome,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let Outcome {
        value, metadata, ..
    } = outcome;
    let mut given_meta = None;
    match (target, value) {
        (
            Target::Matcher(_)
            | Target::Policy(_)
            | Target::Negotiation(_)
            | Target::Selection(_)
            | Target::Event(_),
            _,
        ) => return Err(target.failed()),
        (_, Value::InputRequired { .. }) if !target.may_ask() => return Err(not_permitted()),
        (_, Value::InputRequired { requests, state }) => {
            input_required(requests.as_deref(), state.as_deref(), context, out)?;
        }
        (Target::Tool(_), value) => given_meta = tool(runtime, context, target, value, out)?,
        (Target::Method(_), Value::Structured(object)) => {
            given_meta = own(runtime, context, target, object, out)?;
        }
        (Target::Method(_) | Target::Layer(_), Value::Error(error)) => return Err(error.clone()),
        (Target::Method(_), Value::Wire(object)) => {
            given_meta = wire(runtime, context, target, object, out)?;
        }
        (Target::Layer(_), Value::Wire(object)) => {
            if !answers(context.method, object) {
                return Err(target.invalid_result());
            }
            given_meta = own(runtime, context, target, object, out)?;
        }
        (Target::Layer(layer), value) if layer.is_around_tool() && outcome.named => {
            given_meta = tool(runtime, context, target, value, out)?;
        }
        (Target::Method(_) | Target::Layer(_), _) => return Err(target.invalid_result()),
        (_, _) if outcome.is_of_tools() => return Err(target.wrong_kind()),
        (Target::Resource { at, uri }, value) => {
            let resource = &runtime.registry.resources[*at];
            read(target, value, uri, resource.mime_type.as_deref(), out)?;
            hints(runtime, resource.cache, value, out)?;
        }
        (Target::Template { at, uri }, value) => {
            let template = &runtime.registry.templates[*at];
            read(target, value, uri, template.mime_type.as_deref(), out)?;
            hints(runtime, template.cache, value, out)?;
        }
        (Target::Prompt(at), value) => {
            prompt(
                target,
                value,
                runtime.registry.prompts[*at].description(),
                out,
            )?;
        }
        (Target::Completion { .. }, value) => {
            out.extend_from_slice(COMPLETE);
            out.extend_from_slice(br#""completion":"#);
            outcome::write_completion(target, value, out)?;
        }
    }
    shape::separate(out);
    let tail = &runtime.rendered(&V2026_07_28).meta;
    close_with_meta(given_meta, metadata, tail, out);
    Ok(())
}

/// Gives the `_meta` that the value brought along.
fn tool<'a>(
    runtime: &Runtime,
    context: &Context,
    target: &Target,
    value: &'a Value,
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    match value {
        Value::Text(text) => tool_text(text, false, out),
        Value::Failure(text) | Value::Raised(text) => tool_text(text, true, out),
        Value::Structured(json) => structured(json, out)?,
        Value::Content(blocks) => content(blocks, out)?,
        Value::Raw(object) => return raw(object, out),
        Value::Wire(object) => return wire(runtime, context, target, object, out),
        Value::Error(error) => return Err(error.clone()),
        Value::Blob(_)
        | Value::InputRequired { .. }
        | Value::ResourceRead { .. }
        | Value::PromptGet { .. }
        | Value::Completion { .. }
        | Value::Decisions(_) => return Err(invalid_result()),
    }
    Ok(None)
}

fn read(
    target: &Target,
    value: &Value,
    uri: &str,
    mime_type: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    out.extend_from_slice(COMPLETE);
    out.extend_from_slice(br#""contents":"#);
    outcome::write_read(value, uri, mime_type, out).map_err(|unfit| unfit.into_error(target))
}

/// The read's own policy, or the component's, or the server's.
fn hints(
    runtime: &Runtime,
    own: Option<Cache>,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut cache = own.unwrap_or(runtime.settings.resources_cache);
    if let Value::ResourceRead {
        ttl_ms,
        cache_scope,
        ..
    } = value
    {
        let invalid = || Error::internal("Resource returned invalid cache metadata");
        if let Some(ttl_ms) = ttl_ms {
            cache.ttl_ms = u64::try_from(*ttl_ms).map_err(|_| invalid())?;
        }
        if let Some(scope) = cache_scope {
            cache.scope = Scope::named(scope).ok_or_else(invalid)?;
        }
    }
    if runtime.settings.authorized {
        // What one caller may read another may not.
        cache.scope = Scope::Private;
    }
    cache_hints(cache, out);
    Ok(())
}

fn prompt(
    target: &Target,
    value: &Value,
    declared: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    out.extend_from_slice(COMPLETE);
    shape::prompt_description(value, declared, out);
    out.extend_from_slice(br#""messages":"#);
    outcome::write_messages(value, out).map_err(|unfit| unfit.into_error(target))
}

fn invalid_result() -> Error {
    Error::internal("Tool returned an invalid result")
}

fn tool_text(text: &str, failed: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(COMPLETE);
    shape::text_content(text, out);
    shape::is_error(failed, out);
}

/// The value, and for clients that cannot read it the same as text.
fn structured(json: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let text = std::str::from_utf8(json).map_err(|_| invalid_result())?;
    // Twice the value, and some of its quotes escaped.
    out.reserve(2 * json.len() + json.len() / 4);
    out.extend_from_slice(COMPLETE);
    shape::text_content(text, out);
    out.extend_from_slice(br#","structuredContent":"#);
    out.extend_from_slice(json);
    shape::is_error(false, out);
    Ok(())
}

fn content(blocks: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    if !blocks.starts_with(b"[") {
        return Err(invalid_result());
    }
    out.extend_from_slice(COMPLETE);
    out.extend_from_slice(br#""content":"#);
    out.extend_from_slice(blocks);
    shape::is_error(false, out);
    Ok(())
}

/// Gives the `_meta` that the object brought along.
fn raw<'a>(object: &'a [u8], out: &mut Vec<u8>) -> Result<Option<&'a [u8]>, Error> {
    let members = outcome::members(object).ok_or_else(invalid_result)?;
    let mut meta = None;
    let (mut has_content, mut has_flag) = (false, false);
    out.extend_from_slice(br#"{"resultType":"complete""#);
    for (key, value) in members {
        match key {
            b"_meta" => meta = Some(value),
            b"resultType" => {}
            _ => {
                has_content |= key == b"content";
                has_flag |= key == b"isError";
                splice(key, value, out);
            }
        }
    }
    if !has_content {
        out.extend_from_slice(br#","content":[]"#);
    }
    if !has_flag {
        shape::is_error(false, out);
    }
    Ok(meta)
}

/// As [`raw`], but nothing is added. It is no way around the rules for input requests, nor to a type of
/// result that the client does not know.
fn wire<'a>(
    runtime: &Runtime,
    context: &Context,
    target: &Target,
    object: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    let members = outcome::members(object).ok_or_else(|| target.invalid_result())?;
    if let Some((requests, has_state)) = outcome::asked(&members) {
        if !target.may_ask() {
            return Err(not_permitted());
        }
        mrtr::admit(requests, has_state, context)?;
    } else if let Some(kind) = outcome::own_type(&members) {
        // MCP 2026-07-28, "result types": those that both sides declared, and no others.
        let extensions = runtime.extensions(context.dialect);
        let known = outcome::string(kind).is_some_and(|kind| {
            extensions.is_some_and(|extensions| extensions.have_type(&kind, context))
        });
        if !known {
            let text = "Result type is of no extension that the request declares";
            return Err(Error::internal(text));
        }
    }
    out.push(b'{');
    let mut meta = None;
    for (key, value) in members {
        match key {
            b"_meta" => meta = Some(value),
            _ => splice(key, value, out),
        }
    }
    Ok(meta)
}

/// Whether a layer's object can be the result of an operation. One that is not complete is of a type
/// with rules of its own.
fn answers(method: &str, object: &[u8]) -> bool {
    let Some(members) = outcome::members(object) else {
        return false;
    };
    let find = |name: &str| members.iter().find(|(key, _)| *key == name.as_bytes());
    if find("resultType").is_some_and(|(_, kind)| *kind != br#""complete""#) {
        return true;
    }
    let (required, opening) = match method {
        "server/discover" => ("supportedVersions", b'['),
        "tools/list" => ("tools", b'['),
        "tools/call" => ("content", b'['),
        "prompts/list" => ("prompts", b'['),
        "prompts/get" => ("messages", b'['),
        "resources/list" => ("resources", b'['),
        "resources/templates/list" => ("resourceTemplates", b'['),
        "resources/read" => ("contents", b'['),
        "completion/complete" => ("completion", b'{'),
        _ => return true,
    };
    find(required).is_some_and(|(_, value)| value.first() == Some(&opening))
}

/// What a method of an extension or a layer gives: an object that is complete unless it says otherwise.
fn own<'a>(
    runtime: &Runtime,
    context: &Context,
    target: &Target,
    object: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    let start = out.len();
    let meta = wire(runtime, context, target, object, out)?;
    let members = outcome::members(object).unwrap_or_default();
    if !members.iter().any(|(key, _)| *key == b"resultType") {
        let given = out.split_off(start + 1);
        out.extend_from_slice(br#""resultType":"complete""#);
        if !given.is_empty() {
            out.push(b',');
            out.extend_from_slice(&given);
        }
    }
    Ok(meta)
}

fn not_permitted() -> Error {
    Error::internal("Input-required result is not permitted for this operation")
}

fn input_required(
    requests: Option<&[u8]>,
    state: Option<&str>,
    context: &Context,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    mrtr::admit(requests, state.is_some(), context)?;
    out.extend_from_slice(br#"{"resultType":"input_required""#);
    if let Some(requests) = requests {
        shape::member("inputRequests", requests, out);
    }
    if let Some(state) = state {
        out.extend_from_slice(br#","requestState":"#);
        write_string(state, out);
    }
    Ok(())
}

/// A member whose key is encoded already.
fn splice(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    shape::separate(out);
    out.push(b'"');
    out.extend_from_slice(key);
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

/// Ends a result: what it says of itself, and, over anything it said, who the server is.
fn close_with_meta(given: Option<&[u8]>, metadata: &Object, tail: &[u8], out: &mut Vec<u8>) {
    const OPEN: &[u8] = br#""_meta":{"#;
    if given.is_none() && metadata.is_empty() {
        out.extend_from_slice(tail);
    } else {
        out.extend_from_slice(OPEN);
        shape::meta_members(given, metadata, meta::SERVER_INFO, out);
        shape::separate(out);
        out.extend_from_slice(&tail[OPEN.len()..]);
    }
    out.push(b'}');
}
