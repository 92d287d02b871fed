//! A server whose tools are closures, for the tests of what is around them.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test crate uses its part of the kit"
)]

pub mod exchange;

use std::sync::Arc;
use std::time::Duration;

use snodo_core::call::{Call, Target};
use snodo_core::dialect;
use snodo_core::extension::{Around, Extension, Method};
use snodo_core::json::{Json, Object};
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::registry::{Components, Resource, Tool};
use snodo_core::runtime::{Cache, Runtime, Settings};
use snodo_core::schema::{Schema, Validator};
use snodo_server::handler::Reply;
use snodo_server::hub::Hub;
use snodo_server::service::Service;
use snodo_server::source::{Opening, Source};
use snodo_server::telemetry::Telemetry;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

/// No wait in these tests is longer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a request under the stateless revision carries.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The future's output, which must not take long.
pub async fn soon<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("it took too long")
}

/// Calls of the tool `hold`, which the test answers.
pub struct Held(UnboundedReceiver<(Call, Reply)>);

impl Held {
    pub async fn next(&mut self) -> (Call, Reply) {
        soon(self.0.recv()).await.expect("the server runs")
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `add` answers at once, `big` with 100 KB, `hold` when the test says so.
pub fn service(limits: Limits) -> (Arc<Service>, Held) {
    service_that_beats(limits, None)
}

/// The same, with a sign of life from calls that are silent for so long.
pub fn service_that_beats(limits: Limits, heartbeat: Option<Duration>) -> (Arc<Service>, Held) {
    let (service, held) = server(limits, heartbeat, false);
    (Arc::new(service), held)
}

/// A server of the initialize era's clients: `hold` and the others, a resource, and a hub of events.
pub fn eventful(limits: Limits) -> (Arc<Service>, Held, Hub) {
    let (service, held) = server(limits, None, true);
    let hub = Hub::default();
    let service = service.with_source(Arc::new(hub.clone()));
    (Arc::new(service), held, hub)
}

/// The same, with a hub that takes its time before it opens a feed.
pub fn eventful_late(limits: Limits) -> (Arc<Service>, Held, Hub) {
    let (service, held) = server(limits, None, true);
    let hub = Hub::default();
    let slow = hub.clone();
    let source = move |filter, context| -> Opening {
        let hub = slow.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            hub.open(filter, context).await
        })
    };
    let service = service.with_source(Arc::new(source));
    (Arc::new(service), held, hub)
}

/// The first, told of by this telemetry, with a source of events if there is one.
pub fn watched(
    limits: Limits,
    telemetry: Arc<Telemetry>,
    source: Option<Arc<dyn Source>>,
) -> (Arc<Service>, Held) {
    let (service, held) = server(limits, None, source.is_some());
    let mut service = service.with_telemetry(telemetry);
    if let Some(source) = source {
        service = service.with_source(source);
    }
    (Arc::new(service), held)
}

/// The same, and a resource, with a source of events.
pub fn subscribed(limits: Limits, source: impl Source) -> Arc<Service> {
    let (service, _) = server(limits, None, true);
    Arc::new(service.with_source(Arc::new(source)))
}

/// The same, with a policy, which the test runs as it does `hold`.
pub fn policed(limits: Limits, telemetry: Arc<Telemetry>) -> (Arc<Service>, Held) {
    let authorized = |settings: &mut Settings| settings.authorized = true;
    let (service, held) = with(limits, true, authorized);
    let service = service
        .with_telemetry(telemetry)
        .with_source(Arc::new(Hub::default()));
    (Arc::new(service), held)
}

/// A server whose operations have this many layers around, which the test runs as it does `hold`.
pub fn layered(limits: Limits, layers: usize) -> (Arc<Service>, Held) {
    let extension = |at: usize| Extension {
        id: format!("com.example/{at}"),
        versions: vec!["2026-07-28".to_owned()],
        settings: Object::new(),
        advertised: true,
        methods: vec![Method {
            name: ["one/get", "two/get"][at],
            mirrored: None,
            schema: None,
        }],
        negotiates: false,
        missing: None,
        around: Around::Everything,
        result_types: Vec::new(),
        filter_keys: Vec::new(),
        tells_current: false,
    };
    let extensions = (0..layers).map(extension).collect();
    let (service, held) = with(limits, false, |settings| settings.extensions = extensions);
    (Arc::new(service), held)
}

fn server(limits: Limits, heartbeat: Option<Duration>, subscriptions: bool) -> (Service, Held) {
    with(limits, subscriptions, |settings| {
        settings.heartbeat = heartbeat;
    })
}

fn with(
    limits: Limits,
    subscriptions: bool,
    change: impl FnOnce(&mut Settings),
) -> (Service, Held) {
    let (sender, held) = unbounded_channel();
    // In the order of the registry, which is that of their names.
    let tools = ["add", "big", "hold"].map(tool);
    let handler = move |call: Call, reply: Reply| match call.target {
        Target::Tool(0) => reply.send(Value::Text("5".to_owned()).into()),
        Target::Tool(1) => reply.send(Value::Text("x".repeat(100_000)).into()),
        _ => {
            let _ = sender.send((call, reply));
        }
    };
    let mut server_info = Object::new();
    server_info.insert("name", Json::String("kit".to_owned()));
    server_info.insert("version", Json::String("1".to_owned()));
    let mut settings = Settings {
        server_info,
        instructions: None,
        dialects: dialect::ALL.to_vec(),
        limits,
        heartbeat: None,
        page_size: None,
        discover_cache: Cache::default(),
        tools_cache: Cache::default(),
        resources_cache: Cache::default(),
        prompts_cache: Cache::default(),
        authorized: false,
        conceals_refusals: false,
        extensions: Vec::new(),
        subscriptions,
    };
    change(&mut settings);
    let runtime = Runtime::new(
        settings,
        Components {
            tools: tools.into(),
            resources: subscriptions.then(resource).into_iter().collect(),
            ..Components::default()
        },
    )
    .expect("good settings");
    let service = Service::new(Arc::new(runtime), Arc::new(handler));
    (service, Held(held))
}

fn resource() -> Resource {
    let mut definition = Object::new();
    definition.insert("uri", Json::String("note://a".to_owned()));
    definition.insert("name", Json::String("a".to_owned()));
    Resource {
        uri: "note://a".to_owned(),
        definition,
        mime_type: None,
        content: None,
        cache: None,
        timeout_ms: None,
    }
}

fn tool(name: &str) -> Tool {
    let mut schema = Object::new();
    schema.insert("type", Json::String("object".to_owned()));
    let schema = Json::Object(schema);
    let input = Schema::input(&schema, Validator::Full).expect("a good schema");
    let mut definition = Object::new();
    definition.insert("name", Json::String(name.to_owned()));
    definition.insert("inputSchema", schema);
    Tool {
        name: name.to_owned(),
        definition,
        input,
        output: None,
        timeout_ms: None,
        null_is_absent: Vec::new(),
    }
}

/// A `tools/call` as one line. `id` is JSON.
pub fn call(id: &str, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{META},"name":"{tool}","arguments":{{}}}}}}"#
    )
}

/// The same, by a client that wants to hear of progress, and log entries from `info` on.
pub fn loud_call(id: &str, tool: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/logLevel":"info","progressToken":"t","#;
    call(id, tool).replacen(r#""_meta":{"#, &format!(r#""_meta":{meta}"#), 1)
}

/// A `subscriptions/listen` as one line. `id` and `filter` are JSON.
pub fn listen(id: &str, filter: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{META},"notifications":{filter}}}}}"#
    )
}

/// An `initialize` as one line, of a client that can do everything.
pub fn initialize(id: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{"form":{{}},"url":{{}}}},"sampling":{{}},"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A request as earlier revisions spell it. `id` and `params` are JSON.
pub fn plain(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A `tools/call` of earlier revisions.
pub fn plain_call(id: &str, tool: &str) -> String {
    plain(
        id,
        "tools/call",
        &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#),
    )
}

/// What a tool gives that asks its client something.
pub fn question(key: &str, state: Option<&str>) -> Outcome {
    let requests = format!(
        r#"{{"{key}":{{"method":"elicitation/create","params":{{"mode":"form","message":"Sure?","requestedSchema":{{"type":"object","properties":{{"ok":{{"type":"boolean"}}}}}}}}}}}}"#
    );
    Value::InputRequired {
        requests: Some(requests.into_bytes()),
        state: state.map(str::to_owned),
    }
    .into()
}

/// The id of a request of the server, as JSON text.
pub fn id_of(request: &str) -> &str {
    let (_, rest) = request.split_once(r#""id":"#).expect("a request");
    let end = rest[1..].find('"').expect("a string") + 2;
    &rest[..end]
}
