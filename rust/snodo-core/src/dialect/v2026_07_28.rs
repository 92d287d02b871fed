//! The stateless revision: every request carries its own terms in `_meta`, HTTP repeats some of
//! them in headers, and every result says what kind it is and who gave it.

use std::borrow::Cow;

use super::{Claim, Dialect, List, Notification, Opening, Rendered, Request};
use super::{headers, shape, unsupported_version};
use crate::context::{Arrival, Context, Header, Headers, Transport};
use crate::envelope::{self, Id};
use crate::error::{Error, code};
use crate::json::{Json, Object, write_string};
use crate::limits::Limits;
use crate::meta::{self, ImplementationError};
use crate::mrtr;
use crate::operation::{Feature, Operation};
use crate::outcome::{self, Value};
use crate::page::Pages;
use crate::registry::Registry;
use crate::runtime::{Cache, Runtime, Settings};
use crate::schema::Mirror;

/// MCP 2026-07-28.
#[derive(Debug)]
pub struct V2026_07_28;

const VERSION: &str = "2026-07-28";

/// What is known of a method besides its name.
struct Method {
    name: &'static str,
    /// Offered only together with this.
    feature: Option<Feature>,
    /// The parameter that `Mcp-Name` mirrors.
    mirrored: Option<&'static str>,
    /// May be answered with a request for input, and then asked again with the answers.
    rounds: bool,
    /// Reads the parameters; `None` while the feature has no components.
    operation: Option<fn(Object) -> Result<Operation, Error>>,
}

impl Method {
    const fn new(name: &'static str, feature: Option<Feature>) -> Self {
        Self {
            name,
            feature,
            mirrored: None,
            rounds: false,
            operation: None,
        }
    }

    const fn mirrored(mut self, parameter: &'static str) -> Self {
        self.mirrored = Some(parameter);
        self
    }

    const fn rounds(mut self) -> Self {
        self.rounds = true;
        self
    }

    const fn served(mut self, operation: fn(Object) -> Result<Operation, Error>) -> Self {
        self.operation = Some(operation);
        self
    }
}

/// What a client may request. A method that is not here does not exist.
static REQUESTS: [Method; 10] = [
    Method::new("tools/call", Some(Feature::Tools))
        .mirrored("name")
        .rounds()
        .served(call_tool),
    Method::new("tools/list", Some(Feature::Tools)).served(list_tools),
    Method::new("server/discover", None).served(|_| Ok(Operation::Discover)),
    Method::new("resources/list", Some(Feature::Resources)),
    Method::new("resources/templates/list", Some(Feature::Resources)),
    Method::new("resources/read", Some(Feature::Resources))
        .mirrored("uri")
        .rounds(),
    Method::new("prompts/list", Some(Feature::Prompts)),
    Method::new("prompts/get", Some(Feature::Prompts))
        .mirrored("name")
        .rounds(),
    Method::new("completion/complete", Some(Feature::Completions)),
    Method::new("subscriptions/listen", Some(Feature::Subscriptions)),
];

/// The one notification of a client.
const CANCELLED: &str = "notifications/cancelled";

/// Notifications, which cannot be requested; all but the first are the server's own.
const NOTIFICATIONS: [&str; 8] = [
    CANCELLED,
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

fn find(method: &str) -> Option<&'static Method> {
    REQUESTS.iter().find(|known| known.name == method)
}

impl Dialect for V2026_07_28 {
    fn version(&self) -> &'static str {
        VERSION
    }

    fn claim(&self, opening: &Opening<'_>) -> Claim {
        let named = [opening.body_version(), opening.header_version()];
        if named.contains(&Some(VERSION)) {
            return Claim::Exact;
        }
        match named {
            [None, None] if opening.method == CANCELLED => Claim::Exact,
            [None, None] if find(opening.method).is_none() => Claim::No,
            _ => Claim::Fallback,
        }
    }

    fn admit(&self, runtime: &Runtime, request: Request) -> Result<(Context, Object), Error> {
        let Request {
            id,
            method,
            params,
            arrival,
        } = request;
        let mut params = params.unwrap_or_default();
        let headers = arrival.headers.as_deref();

        check_version(&runtime.settings, headers, &method, &params)?;
        let Some(Json::Object(meta)) = params.take("_meta") else {
            return Err(Error::invalid_params("_meta must be an object"));
        };
        check_meta(&meta, &runtime.settings.limits)?;
        if let Some(headers) = headers {
            check_headers(headers, &method, &params)?;
        }
        let Some(known) = find(&method) else {
            return Err(unknown_method(&method));
        };
        if !known
            .feature
            .is_none_or(|feature| runtime.registry.offers(feature))
        {
            return Err(Error::method_not_found(&method));
        }

        let context = Context {
            dialect: &V2026_07_28,
            id,
            method: known.name,
            arrival,
            meta,
            input_responses: None,
            request_state: None,
        };
        Ok((context, params))
    }

    fn operation(&self, context: &mut Context, mut params: Object) -> Result<Operation, Error> {
        let known = find(context.method).filter(|known| known.operation.is_some());
        let Some(Method {
            rounds,
            operation: Some(operation),
            ..
        }) = known
        else {
            return Err(Error::method_not_found(context.method));
        };
        if *rounds {
            context.input_responses = mrtr::input_responses(&mut params)?;
            context.request_state = mrtr::request_state(&mut params)?;
        }
        operation(params)
    }

    fn notification(
        &self,
        settings: &Settings,
        method: &str,
        params: Option<Object>,
        arrival: &Arrival,
    ) -> Result<Notification, Error> {
        let mut params = params.unwrap_or_default();
        if let Some(headers) = arrival.headers.as_deref() {
            check_notification_headers(headers, method, &params)?;
        }
        // Over HTTP a cancellation cannot be tied to its caller; closing the stream is the signal.
        if method != CANCELLED || arrival.transport == Transport::Http {
            return Ok(Notification::Ignored);
        }
        let id = params
            .take("requestId")
            .and_then(|id| Id::from_json(id, &settings.limits));
        Ok(id.map_or(Notification::Ignored, Notification::Cancel))
    }

    fn check_mirrors(
        &self,
        mirrors: &[Mirror],
        arguments: &Object,
        headers: &dyn Headers,
    ) -> Result<(), Error> {
        headers::check_mirrors(mirrors, arguments, headers)
    }

    fn render(&self, settings: &Settings, registry: &Registry) -> Rendered {
        let mut meta = br#""_meta":{""#.to_vec();
        meta.extend_from_slice(meta::SERVER_INFO.as_bytes());
        meta.extend_from_slice(b"\":");
        Json::Object(settings.server_info.clone()).write(&mut meta);
        meta.push(b'}');

        let entries: Vec<_> = registry
            .tools
            .iter()
            .map(|tool| Json::Object(tool.definition.clone()).to_vec())
            .collect();
        let pages = Pages::new(VERSION, "tools/list", settings.page_size, &entries);
        Rendered {
            discover: discover(settings, registry, &meta),
            tools: List::render(pages, &entries, |entries, cursor| {
                list("tools", entries, cursor, settings.tools_cache, &meta)
            }),
            meta,
        }
    }

    fn shape(
        &self,
        runtime: &Runtime,
        context: &Context,
        value: &Value,
        metadata: &Object,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut given_meta = None;
        match value {
            Value::Text(text) => tool_text(text, false, out),
            Value::Failure(text) => tool_text(text, true, out),
            Value::Structured(json) => structured(json, out)?,
            Value::Content(blocks) => content(blocks, out)?,
            Value::Raw(object) => given_meta = raw(object, out)?,
            Value::Wire(object) => given_meta = wire(object, context, out)?,
            Value::InputRequired { requests, state } => {
                input_required(requests.as_deref(), state.as_deref(), context, out)?;
            }
            Value::ResourceRead { .. } | Value::PromptGet { .. } | Value::Completion { .. } => {
                return Err(invalid_result());
            }
            Value::Error(error) => return Err(error.clone()),
        }
        shape::separate(out);
        let tail = &runtime.rendered(self).meta;
        close_with_meta(given_meta, metadata, tail, out);
        Ok(())
    }

    fn shape_error<'a>(&self, error: &'a Error) -> Cow<'a, Error> {
        // The protocol keeps -32020 to -32099 to itself, and two codes of older revisions have no
        // meaning here any more: nobody may learn a wrong one from us.
        let defined = [
            code::HEADER_MISMATCH,
            code::MISSING_CAPABILITY,
            code::UNSUPPORTED_VERSION,
        ];
        let reserved = (-32099..=-32020).contains(&error.code) || error.code == -32002;
        if reserved && !defined.contains(&error.code) {
            return Cow::Owned(Error::internal("Internal error"));
        }
        Cow::Borrowed(error)
    }
}

/// Header and body name the same version, and it is this one. MCP 2026-07-28, Streamable HTTP,
/// "order of checks".
fn check_version(
    settings: &Settings,
    headers: Option<&dyn Headers>,
    method: &str,
    params: &Object,
) -> Result<(), Error> {
    let meta = params.get("_meta");
    let named = meta
        .and_then(Json::as_object)
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION));
    let header = match headers {
        None => None,
        Some(headers) => match headers.get(headers::PROTOCOL_VERSION) {
            Header::Missing if named.is_none() => {
                return Err(headers::missing_version(settings.versions()));
            }
            _ => Some(headers::required(headers, headers::PROTOCOL_VERSION)?),
        },
    };
    let Some(named) = named else {
        // The body says nothing, but the header may say that the client is of another era.
        return Err(match header {
            Some(header) if header != VERSION => {
                let params_version = params.get("protocolVersion").and_then(Json::as_str);
                let requested = params_version.filter(|_| method == "initialize");
                unsupported_version(requested.unwrap_or(header), &settings.dialects, true)
            }
            _ => missing_meta(meta),
        });
    };
    let Json::String(named) = named else {
        return Err(Error::invalid_params(format!(
            "{} metadata must be a string",
            meta::PROTOCOL_VERSION
        )));
    };
    if let Some(header) = header.filter(|header| header != named) {
        let mut data = Object::new();
        data.insert("header", Json::String(header.to_owned()));
        data.insert("body", Json::String(named.clone()));
        let error = Error::header("Protocol header does not match request metadata");
        return Err(error.with_data(Json::Object(data)));
    }
    if named == VERSION {
        Ok(())
    } else {
        Err(unsupported_version(named, &settings.dialects, false))
    }
}

fn missing_meta(meta: Option<&Json>) -> Error {
    Error::invalid_params(match meta {
        None => Cow::Borrowed("Required request _meta is missing"),
        Some(Json::Object(_)) => Cow::Owned(format!(
            "Missing required {} metadata",
            meta::PROTOCOL_VERSION
        )),
        Some(_) => Cow::Borrowed("_meta must be an object"),
    })
}

/// Everything in `_meta` but the version.
fn check_meta(meta: &Object, limits: &Limits) -> Result<(), Error> {
    if !meta.iter().all(|(key, _)| meta::is_key(key)) {
        let text = "_meta contains an invalid key or non-JSON value";
        return Err(Error::invalid_params(text));
    }
    match meta.get(meta::PROGRESS_TOKEN) {
        None | Some(Json::Int(_)) => {}
        Some(Json::String(token)) if token.len() <= limits.id_bytes => {}
        Some(_) => {
            let text = format!("progressToken {}", envelope::id_rule(limits));
            return Err(Error::invalid_params(text));
        }
    }
    match meta.get(meta::LOG_LEVEL).map(Json::as_str) {
        None => {}
        Some(Some(level)) if meta::LOG_LEVELS.contains(&level) => {}
        Some(_) => return Err(Error::invalid_params("Invalid MCP request log level")),
    }
    if let Some(info) = meta.get(meta::CLIENT_INFO) {
        let checked = info.as_object().ok_or(ImplementationError::NameAndVersion);
        checked
            .and_then(meta::check_implementation)
            .map_err(client_info_error)?;
    }
    let Some(Json::Object(capabilities)) = meta.get(meta::CLIENT_CAPABILITIES) else {
        return Err(Error::invalid_params(
            "Missing required client capabilities metadata",
        ));
    };
    meta::check_client_capabilities(capabilities).map_err(Error::invalid_params)
}

fn client_info_error(error: ImplementationError) -> Error {
    Error::invalid_params(match error {
        ImplementationError::NameAndVersion => {
            "Client info must include string name and version".to_owned()
        }
        error => format!("Client info {error}"),
    })
}

fn check_headers(headers: &dyn Headers, method: &str, params: &Object) -> Result<(), Error> {
    headers::check(headers, headers::METHOD, method, false)?;
    let mirrored = find(method).and_then(|known| known.mirrored);
    match mirrored.and_then(|parameter| params.get(parameter)) {
        Some(Json::String(name)) => headers::check(headers, headers::NAME, name, true),
        // What is wrong with the body is better told as that.
        _ => Ok(()),
    }
}

/// A notification may come without these headers, but they may not contradict its body.
fn check_notification_headers(
    headers: &dyn Headers,
    method: &str,
    params: &Object,
) -> Result<(), Error> {
    if headers.get(headers::METHOD) != Header::Missing {
        headers::check(headers, headers::METHOD, method, false)?;
    }
    let meta = params.get("_meta").and_then(Json::as_object);
    let named = meta
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION))
        .and_then(Json::as_str);
    match (headers.get(headers::PROTOCOL_VERSION), named) {
        (Header::Missing, _) | (Header::One(_), None) => Ok(()),
        (Header::Repeated, _) => Err(headers::missing(headers::PROTOCOL_VERSION)),
        (Header::One(_), Some(named)) => {
            headers::check(headers, headers::PROTOCOL_VERSION, named, false)
        }
    }
}

fn unknown_method(method: &str) -> Error {
    if NOTIFICATIONS.contains(&method) {
        let text = format!("{method} must be a notification, received request");
        return Error::invalid_request(text);
    }
    if mrtr::METHODS.contains(&method) {
        let text = format!("{method} is only valid as an embedded MRTR input request");
        return Error::invalid_request(text);
    }
    Error::method_not_found(method)
}

fn list_tools(mut params: Object) -> Result<Operation, Error> {
    match params.take("cursor") {
        None => Ok(Operation::ListTools { cursor: None }),
        Some(Json::String(cursor)) => Ok(Operation::ListTools {
            cursor: Some(cursor),
        }),
        Some(_) => Err(Error::invalid_params("Cursor must be a string")),
    }
}

fn call_tool(mut params: Object) -> Result<Operation, Error> {
    let name = match params.take("name") {
        Some(Json::String(name)) if !name.is_empty() => name,
        _ => {
            return Err(Error::invalid_params(
                "Tool name must be a non-empty string",
            ));
        }
    };
    match params.take("arguments") {
        None => Ok(Operation::CallTool {
            name,
            arguments: Object::new(),
        }),
        Some(Json::Object(arguments)) => Ok(Operation::CallTool { name, arguments }),
        Some(_) => Err(Error::invalid_params("Tool arguments must be an object")),
    }
}

const COMPLETE: &[u8] = br#"{"resultType":"complete","#;

fn discover(settings: &Settings, registry: &Registry, meta: &[u8]) -> Vec<u8> {
    let mut out = COMPLETE.to_vec();
    out.extend_from_slice(br#""supportedVersions":["#);
    for (at, version) in settings.versions().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(version, &mut out);
    }
    out.extend_from_slice(br#"],"capabilities":{"#);
    for (feature, name) in Feature::ADVERTISED {
        if registry.offers(feature) {
            shape::member(name, b"{}", &mut out);
        }
    }
    out.push(b'}');
    if let Some(instructions) = &settings.instructions {
        out.extend_from_slice(br#","instructions":"#);
        write_string(instructions, &mut out);
    }
    cache_hints(settings.discover_cache, &mut out);
    out.push(b',');
    out.extend_from_slice(meta);
    out.push(b'}');
    out
}

fn list(
    key: &str,
    entries: &[Vec<u8>],
    cursor: Option<&str>,
    cache: Cache,
    meta: &[u8],
) -> Vec<u8> {
    let mut out = COMPLETE.to_vec();
    write_string(key, &mut out);
    out.extend_from_slice(b":[");
    out.extend_from_slice(&entries.join(&b','));
    out.push(b']');
    if let Some(cursor) = cursor {
        out.extend_from_slice(br#","nextCursor":"#);
        write_string(cursor, &mut out);
    }
    cache_hints(cache, &mut out);
    out.push(b',');
    out.extend_from_slice(meta);
    out.push(b'}');
    out
}

fn cache_hints(cache: Cache, out: &mut Vec<u8>) {
    let hints = format!(
        r#","ttlMs":{},"cacheScope":"{}""#,
        cache.ttl_ms,
        cache.scope.name()
    );
    out.extend_from_slice(hints.as_bytes());
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

/// As [`raw`], but nothing is added. It is no way around the rules for input requests.
fn wire<'a>(
    object: &'a [u8],
    context: &Context,
    out: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    let members = outcome::members(object).ok_or_else(invalid_result)?;
    let find = |name: &[u8]| {
        members
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    };
    if find(b"resultType") == Some(br#""input_required""#) {
        let has_state = find(b"requestState").is_some();
        mrtr::admit(find(b"inputRequests"), has_state, context)?;
    }
    out.push(b'{');
    for (key, value) in members.iter().filter(|(key, _)| *key != b"_meta") {
        splice(key, value, out);
    }
    Ok(find(b"_meta"))
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
