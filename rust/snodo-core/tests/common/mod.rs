//! A small server to say literal messages to. Builds nothing of what is said.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its part")]

pub mod values;

use std::sync::Arc;

use snodo_core::call::Call;
use snodo_core::context::{Arrival, Headers, Transport};
use snodo_core::dialect::ALL;
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::outcome::Outcome;
use snodo_core::peer::Peer;
use snodo_core::pipeline::{Answer, Prepared, Verdict, finish, prepare};
use snodo_core::registry::{
    Completable, Components, Prompt, Resource, Template, Tool, UriTemplate,
};
use snodo_core::runtime::{Cache, Runtime, Settings};
use snodo_core::schema::{Schema, Validator};

/// What every request carries; `META` in a literal stands for it.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
/// What every result ends with; `SERVER` in a literal stands for it.
pub const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0.0"}}"#;

pub fn literal(text: &str) -> String {
    text.replace("META", META).replace("SERVER", SERVER)
}

pub fn object(text: &str) -> Object {
    match json::parse(text.as_bytes(), &Limits::default()) {
        Ok(Json::Object(object)) => object,
        other => panic!("not an object: {other:?}"),
    }
}

/// A tool from its listed definition.
pub fn tool(definition: &str) -> Tool {
    let definition = object(definition);
    let name = definition
        .get("name")
        .and_then(Json::as_str)
        .expect("a name")
        .to_owned();
    let input = definition.get("inputSchema").expect("an input schema");
    let input = Schema::input(input, Validator::Full).expect("a good input schema");
    let output = definition
        .get("outputSchema")
        .map(|schema| Schema::output(schema, Validator::Full).expect("a good output schema"));
    Tool {
        name,
        definition,
        input,
        output,
        null_is_absent: Vec::new(),
        timeout_ms: None,
    }
}

pub const GREET: &str = r#"{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#;
pub const COUNT: &str = r#"{"name":"count","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
pub const MIRRORED: &str = r#"{"name":"mirrored","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"opts":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry-Run"}}}}}}"#;

/// Of a server that speaks the newest revision alone.
pub fn settings() -> Settings {
    Settings {
        server_info: object(r#"{"name":"demo","version":"1.0.0"}"#),
        instructions: None,
        dialects: vec![ALL[0]],
        limits: Limits::default(),
        heartbeat: None,
        page_size: None,
        discover_cache: Cache::default(),
        tools_cache: Cache::default(),
        resources_cache: Cache::default(),
        prompts_cache: Cache::default(),
        authorized: false,
        conceals_refusals: false,
        extensions: Vec::new(),
        subscriptions: false,
    }
}

/// Of a server that speaks every revision there is.
pub fn every_era() -> Settings {
    Settings {
        dialects: ALL.to_vec(),
        subscriptions: true,
        ..settings()
    }
}

/// Who opened with this revision and declared these capabilities.
pub fn peer(version: &str, capabilities: &str) -> Arc<Peer> {
    let dialect = ALL.iter().find(|dialect| dialect.version() == version);
    Arc::new(Peer {
        dialect: *dialect.expect("a revision"),
        client_info: object(r#"{"name":"old","version":"1"}"#),
        capabilities: object(capabilities),
    })
}

/// A message on a pipe whose peer can be asked.
pub fn opened(version: &str, capabilities: &str) -> Arrival {
    Arrival {
        peer: Some(peer(version, capabilities)),
        can_ask: true,
        ..stdio()
    }
}

pub fn demo() -> Runtime {
    let tools = [MIRRORED, GREET, COUNT].map(tool).into();
    with_tools(settings(), tools)
}

/// A server of nothing but tools.
pub fn with_tools(settings: Settings, tools: Vec<Tool>) -> Runtime {
    let components = Components {
        tools,
        ..Components::default()
    };
    Runtime::new(settings, components).expect("a good server")
}

pub fn stdio() -> Arrival {
    Arrival::new(Transport::Stdio)
}

/// Headers, one a line.
pub fn http(headers: &str) -> Arrival {
    let headers: Vec<(String, Vec<u8>)> = headers
        .lines()
        .filter_map(|line| line.trim_start().split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .collect();
    let headers: Arc<dyn Headers> = Arc::new(headers);
    Arrival {
        headers: Some(headers),
        ..Arrival::new(Transport::Http)
    }
}

pub fn text(answer: Answer) -> (String, Verdict) {
    (
        String::from_utf8(answer.body).expect("UTF-8"),
        answer.verdict,
    )
}

/// The answer that needs no handler.
pub fn ask(runtime: &Runtime, message: &str, arrival: Arrival) -> (String, Verdict) {
    match prepare(runtime, literal(message).as_bytes(), arrival) {
        Prepared::Answer(answer) => text(answer),
        other => panic!("no answer to {message}: {other:?}"),
    }
}

/// The call that a message leads to.
pub fn call(runtime: &Runtime, message: &str, arrival: Arrival) -> Call {
    match prepare(runtime, literal(message).as_bytes(), arrival) {
        Prepared::Call(call) => call,
        other => panic!("no call from {message}: {other:?}"),
    }
}

/// The answer to a call of `tool` (without arguments) whose handler gave `outcome`.
pub fn give(runtime: &Runtime, tool: &str, outcome: impl Into<Outcome>) -> (String, Verdict) {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"TOOL","arguments":{"name":"Ada"}}}"#;
    let call = call(runtime, &message.replace("TOOL", tool), stdio());
    text(finish(
        runtime,
        &call.context,
        &call.target,
        &outcome.into(),
    ))
}

fn member(definition: &Object, key: &str) -> Option<String> {
    definition
        .get(key)
        .and_then(Json::as_str)
        .map(str::to_owned)
}

/// A direct resource from its listed definition.
pub fn resource(definition: &str) -> Resource {
    let definition = object(definition);
    Resource {
        uri: member(&definition, "uri").expect("a URI"),
        mime_type: member(&definition, "mimeType"),
        definition,
        content: None,
        cache: None,
        timeout_ms: None,
    }
}

/// A resource that never changes, with its contents.
pub fn constant(definition: &str, content: &str) -> Resource {
    Resource {
        content: Some(content.as_bytes().to_vec()),
        ..resource(definition)
    }
}

/// A template from its listed definition; these arguments complete by asking a handler.
pub fn template(definition: &str, completions: &[&str]) -> Template {
    let definition = object(definition);
    let text = member(&definition, "uriTemplate").expect("a template");
    Template {
        template: Some(UriTemplate::compile(&text).expect("a good template")),
        text,
        mime_type: member(&definition, "mimeType"),
        definition,
        cache: None,
        timeout_ms: None,
        completions: completions
            .iter()
            .map(|name| completable(name, None))
            .collect(),
    }
}

/// A prompt from its listed definition; these arguments complete.
pub fn prompt(definition: &str, completions: Vec<Completable>) -> Prompt {
    let definition = object(definition);
    let (mut arguments, mut required) = (Vec::new(), Vec::new());
    if let Some(Json::Array(all)) = definition.get("arguments") {
        for argument in all.iter().filter_map(Json::as_object) {
            let name = member(argument, "name").expect("a name");
            if argument.get("required") == Some(&Json::Bool(true)) {
                required.push(name.clone());
            }
            arguments.push(name);
        }
    }
    Prompt {
        name: member(&definition, "name").expect("a name"),
        definition,
        required,
        arguments,
        completions,
        timeout_ms: None,
    }
}

pub fn completable(argument: &str, values: Option<&[&str]>) -> Completable {
    Completable {
        argument: argument.to_owned(),
        values: values.map(|values| values.iter().map(|value| (*value).to_owned()).collect()),
    }
}

pub fn server(components: Components) -> Runtime {
    Runtime::new(settings(), components).expect("a good server")
}

/// A request of this method with these members in its parameters.
pub fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META,{params}}}}}"#)
}

/// The answer to a request whose handler gave `outcome`.
pub fn answer(
    runtime: &Runtime,
    method: &str,
    params: &str,
    outcome: impl Into<Outcome>,
) -> (String, Verdict) {
    let call = call(runtime, &request(method, params), stdio());
    text(finish(
        runtime,
        &call.context,
        &call.target,
        &outcome.into(),
    ))
}

/// The whole response around a result object, and its verdict.
pub fn result(object: &str) -> (String, Verdict) {
    let result = literal(object);
    (
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
        Verdict::Result,
    )
}

/// The whole response around an error's code, message and data (empty for none).
pub fn failure(code: i64, message: &str, data: &str) -> (String, Verdict) {
    let data = if data.is_empty() {
        String::new()
    } else {
        format!(r#","data":{data}"#)
    };
    (
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"{data}}}}}"#
        ),
        Verdict::Error(code),
    )
}
