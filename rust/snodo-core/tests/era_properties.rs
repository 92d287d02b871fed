//! Laws of all revisions together: nothing panics whatever a client of whichever era sends, and a message
//! of the newest revision is answered as if there were no other.

mod common;

use std::sync::Arc;

use common::values::values;
use common::{
    GREET, every_era, http, object, peer, prompt, resource, settings, stdio, template, tool,
};
use proptest::prelude::*;
use snodo_core::context::Arrival;
use snodo_core::dialect::ALL;
use snodo_core::envelope::{self, Id};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::pipeline::{Prepared, Step, answered, batch, prepare, proceed};
use snodo_core::registry::Components;
use snodo_core::runtime::{Runtime, Settings};

const METHODS: [&str; 18] = [
    "initialize",
    "ping",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "notifications/initialized",
    "foo/bar",
];

fn everything(settings: Settings) -> Runtime {
    Runtime::new(
        settings,
        Components {
            tools: vec![tool(GREET)],
            resources: vec![resource(r#"{"uri":"a:b","name":"b"}"#)],
            templates: vec![template(
                r#"{"uriTemplate":"s://h/{a}","name":"a"}"#,
                &["a"],
            )],
            prompts: vec![prompt(r#"{"name":"p"}"#, Vec::new())],
        },
    )
    .expect("a good server")
}

fn version() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
        "2030-01-01",
        "é",
    ])
}

/// A word that means something in a message, or nothing.
fn word() -> impl Strategy<Value = Json> {
    let words = prop::sample::select(vec![
        "greet",
        "p",
        "a:b",
        "s://h/1",
        "error",
        "ref/prompt",
        "ref/resource",
        "s://h/{a}",
        "a",
        "1",
        "accept",
        "form",
    ]);
    prop_oneof![
        words.prop_map(|word| Json::String(word.to_owned())),
        version().prop_map(|version| Json::String(version.to_owned())),
        values(),
    ]
}

/// Parameters with members that some method has.
fn params() -> impl Strategy<Value = Object> {
    let keys = prop::sample::select(vec![
        "protocolVersion",
        "capabilities",
        "clientInfo",
        "name",
        "version",
        "arguments",
        "uri",
        "cursor",
        "level",
        "ref",
        "type",
        "argument",
        "value",
        "context",
        "requestId",
        "_meta",
        "notifications",
        "progressToken",
    ]);
    let leaf = prop::collection::vec((keys.clone(), word()), 0..5).prop_map(gathered);
    let leaf = leaf.boxed();
    let inner = leaf.clone().prop_map(Json::Object);
    (leaf, prop::collection::vec((keys, inner), 0..3)).prop_map(|(mut params, more)| {
        for (key, value) in more {
            params.insert(key, value);
        }
        params
    })
}

fn gathered(members: Vec<(&str, Json)>) -> Object {
    let mut object = Object::new();
    for (key, value) in members {
        object.insert(key, value);
    }
    object
}

fn message(method: &str, params: Object, is_request: bool) -> Vec<u8> {
    let mut message = object(r#"{"jsonrpc":"2.0"}"#);
    if is_request {
        message.insert("id", Json::Int(1));
    }
    message.insert("method", Json::String(method.to_owned()));
    message.insert("params", Json::Object(params));
    message.to_vec()
}

/// Any way in: a pipe or HTTP, with or without headers, a peer and a way to ask it.
fn arrival() -> impl Strategy<Value = Arrival> {
    let header = prop::option::of(version());
    let peers = prop::option::of(0..ALL.len());
    (any::<bool>(), header, peers, values(), any::<bool>()).prop_map(
        |(over_http, header, of, declared, can_ask)| {
            let header = header.map_or_else(String::new, |version| {
                format!("mcp-protocol-version: {version}\nmcp-method: tools/list")
            });
            let arrival = if over_http { http(&header) } else { stdio() };
            let capabilities = match declared {
                Json::Object(object) => object,
                other => gathered(vec![("elicitation", other)]),
            };
            let capabilities = String::from_utf8(capabilities.to_vec()).expect("UTF-8");
            Arrival {
                peer: of.map(|at| peer(ALL[at].version(), &capabilities)),
                can_ask,
                ..arrival
            }
        },
    )
}

fn is_good(prepared: &Prepared) -> bool {
    match prepared {
        Prepared::Answer(answer)
        | Prepared::Open { answer, .. }
        | Prepared::Settle { answer, .. } => is_response(&answer.body),
        _ => true,
    }
}

fn is_response(body: &[u8]) -> bool {
    matches!(json::parse(body, &Limits::default()), Ok(Json::Object(answer))
        if answer.contains("result") != answer.contains("error"))
}

proptest! {
    #[test]
    fn messages_of_any_era_are_answered_with_json(
        method in prop::sample::select(&METHODS[..]),
        params in params(),
        is_request: bool,
        arrival in arrival(),
    ) {
        let runtime = everything(every_era());
        let message = message(method, params, is_request);
        let prepared = prepare(&runtime, &message, arrival.clone());
        prop_assert!(is_good(&prepared), "{:?}", prepared);
        prop_assert!(is_request || matches!(prepared, Prepared::Silence | Prepared::Cancel(_) | Prepared::Answer(_)));
        let twice = [b"[", &message[..], b",", &message, b"]"].concat();
        for message in batch(&runtime, &twice, &arrival).unwrap_or_default() {
            prop_assert!(is_good(&prepare(&runtime, &message, arrival.clone())));
        }
        prop_assert!(is_good(&prepare(&runtime, &twice, arrival)));
    }

    #[test]
    fn bytes_of_any_kind_are_answered_with_json(bytes: Vec<u8>, value in values(), arrival in arrival()) {
        let runtime = everything(every_era());
        for bytes in [bytes, value.to_vec()] {
            batch(&runtime, &bytes, &arrival);
            prop_assert!(is_good(&prepare(&runtime, &bytes, arrival.clone())));
        }
    }

    #[test]
    fn a_response_is_read_or_refused(id in values(), result in values(), error in values(), arrival in arrival()) {
        let runtime = everything(every_era());
        let mut response = object(r#"{"jsonrpc":"2.0"}"#);
        response.insert("id", id.clone());
        for (key, value) in [("result", result), ("error", error)] {
            response.insert(key, value);
            let prepared = prepare(&runtime, &response.to_vec(), arrival.clone());
            if let Prepared::Reply(reply) = &prepared {
                prop_assert!(arrival.peer.is_some());
                prop_assert_eq!(Some(reply.id.clone()), Id::from_json(id.clone(), &Limits::default()));
            }
            prop_assert!(is_good(&prepared));
        }
        prop_assert!(envelope::read(&response.to_vec(), &Limits::default()).is_ok());
    }

    #[test]
    fn the_newest_revision_is_answered_as_if_there_were_no_other(
        method in prop::sample::select(&METHODS[..]),
        mut params in params(),
        is_request: bool,
        header in prop::option::of(version()),
        over_http: bool,
        of in prop::option::of(1..ALL.len()),
    ) {
        params.insert("_meta", Json::Object(object(
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
        )));
        let header = header.map_or_else(String::new, |version| format!("mcp-protocol-version: {version}\n"));
        let header = format!("{header}mcp-method: {method}");
        let arrival = if over_http { http(&header) } else { stdio() };
        let message = message(method, params, is_request);
        let mut alone = settings();
        alone.subscriptions = true;
        let alone = prepare(&everything(alone), &message, arrival.clone());
        let session = Arrival { peer: of.map(|at| peer(ALL[at].version(), "{}")), can_ask: true, ..arrival };
        let among = prepare(&everything(every_era()), &message, session);
        // Only what lists the versions reads otherwise.
        let listed = ["2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05", r#""2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05""#];
        let told = |prepared: &Prepared| match prepared {
            Prepared::Answer(answer) => {
                let text = String::from_utf8(answer.body.clone()).expect("UTF-8");
                let text = text.replace(listed[0], "2026-07-28").replace(listed[1], r#""2026-07-28""#);
                format!("{text} {:?}", answer.verdict)
            }
            other => format!("{other:?}"),
        };
        prop_assert_eq!(told(&alone), told(&among));
    }

    #[test]
    fn what_a_handler_gives_is_json_in_every_revision(value in values(), text: String, at in 1..ALL.len()) {
        let runtime = everything(every_era());
        let arrival = Arrival { peer: Some(peer(ALL[at].version(), "{}")), ..stdio() };
        let raw = gathered(vec![("structuredContent", value.clone()), ("content", Json::Array(vec![value.clone()]))]);
        let value = || value.to_vec();
        for (method, params) in [
            ("tools/call", r#"{"name":"greet","arguments":{"name":"Ada"}}"#),
            ("resources/read", r#"{"uri":"s://h/1"}"#),
            ("prompts/get", r#"{"name":"p"}"#),
        ] {
            let message = message(method, object(params), true);
            let Prepared::Call(call) = prepare(&runtime, &message, arrival.clone()) else {
                panic!("no call")
            };
            for value in [
                Value::Text(text.clone()),
                Value::Structured(value()),
                Value::Content(value()),
                Value::Raw(value()),
                Value::Raw(raw.to_vec()),
                Value::Wire(value()),
                Value::ResourceRead { contents: value(), ttl_ms: None, cache_scope: None },
                Value::PromptGet { messages: value(), description: Some(text.clone()) },
            ] {
                let step = proceed(&runtime, &call.context, call.target.clone(), &value.into());
                let Step::Answer(answer) = step else {
                    panic!("no answer")
                };
                prop_assert!(is_response(&answer.body), "{}", String::from_utf8_lossy(&answer.body));
            }
        }
    }

    #[test]
    fn what_a_handler_asks_is_asked_or_refused(
        request in prop::sample::select(vec![
            r#"{"method":"roots/list"}"#,
            r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"PROPERTY":SCHEMA}}}}"#,
            r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}"#,
            r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":BLOCK}],"maxTokens":1}}"#,
            "SCHEMA",
        ]),
        schema in prop_oneof![
            Just(r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#.to_owned()),
            Just(r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#.to_owned()),
            Just(r#"{"type":"number","default":1}"#.to_owned()),
            values().prop_map(|value| String::from_utf8(value.to_vec()).expect("UTF-8")),
        ],
        key: String,
        arrival in arrival(),
        response in values(),
    ) {
        let runtime = everything(every_era());
        let block = r#"[{"type":"text","text":"x"},{"type":"image","data":"","mimeType":"image/png"}]"#;
        let request = request.replace("SCHEMA", &schema).replace("BLOCK", block);
        let key = String::from_utf8(Json::String(key).to_vec()).expect("UTF-8");
        let outcome = Value::InputRequired {
            requests: Some(format!("{{{key}:{request}}}").into_bytes()),
            state: None,
        };
        let message = message("tools/call", object(r#"{"name":"greet","arguments":{"name":"Ada"}}"#), true);
        let Prepared::Call(call) = prepare(&runtime, &message, arrival) else {
            return Ok(());
        };
        let outcome = outcome.into();
        match proceed(&runtime, &call.context, call.target.clone(), &outcome) {
            Step::Ask(questions) => {
                prop_assert!(call.context.asks());
                let request = json::parse(&questions.request(0, "q"), &Limits::default());
                prop_assert!(matches!(request, Ok(Json::Object(request)) if request.contains("method")));
                let response = match response {
                    Json::Object(response) => Ok(response),
                    other => Err(snodo_core::error::Error::internal(format!("{other:?}"))),
                };
                let context = Arc::clone(&call.context);
                let step = answered(&runtime, &context, call.target, call.arguments, questions, vec![response]);
                match step {
                    Step::Call(call) => prop_assert_eq!(call.context.round, 1),
                    Step::Answer(answer) => prop_assert!(is_response(&answer.body)),
                    Step::Ask(_) => prop_assert!(false, "asked twice"),
                    step => prop_assert!(false, "{step:?}"),
                }
            }
            Step::Answer(answer) => prop_assert!(is_response(&answer.body)),
            Step::Call(_) => prop_assert!(false, "called again"),
            step => prop_assert!(false, "{step:?}"),
        }
    }
}
