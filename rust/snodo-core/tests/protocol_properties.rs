//! Laws of the readers of outside bytes: nothing panics, and what is written is read back.

mod common;

use common::{
    GREET, answer, demo, http, literal, object, prompt, request, resource, server, stdio, template,
    tool,
};
use proptest::prelude::*;
use snodo_core::dialect::headers;
use snodo_core::envelope::{self, Id, Message};
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::page::{CursorError, Pages};
use snodo_core::pipeline::{Answer, Prepared, finish, prepare};
use snodo_core::registry::Components;
use snodo_core::runtime::Runtime;

/// JSON as a client might send it, most of it wrong somewhere.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>()
            .prop_map(|text| String::from_utf8(Json::String(text).to_vec()).expect("UTF-8")),
        Just(r#""2026-07-28""#.to_owned()),
        Just(r#""tools/call""#.to_owned()),
        Just(r#""2.0""#.to_owned()),
        Just(r#""ref/prompt""#.to_owned()),
        Just(r#""ref/resource""#.to_owned()),
        Just(r#""s://h/a/b""#.to_owned()),
        Just(r#""s://h/{a}""#.to_owned()),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let key = prop_oneof![
            Just("jsonrpc"),
            Just("id"),
            Just("method"),
            Just("params"),
            Just("_meta"),
            Just("name"),
            Just("arguments"),
            Just("cursor"),
            Just("result"),
            Just("requestId"),
            Just("io.modelcontextprotocol/protocolVersion"),
            Just("io.modelcontextprotocol/clientCapabilities"),
            Just("io.modelcontextprotocol/clientInfo"),
            Just("progressToken"),
            Just("uri"),
            Just("ref"),
            Just("type"),
            Just("argument"),
            Just("value"),
            Just("context"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key, inner), 0..6).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn is_answer(prepared: &Prepared) -> bool {
    let Prepared::Answer(Answer { body, .. }) = prepared else {
        return true;
    };
    matches!(json::parse(body, &Limits::default()), Ok(Json::Object(answer))
        if answer.contains("result") != answer.contains("error"))
}

const METHODS: &[&str] = &[
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "server/discover",
];

/// A server with something of every kind.
fn everything() -> Runtime {
    server(Components {
        tools: vec![tool(GREET)],
        resources: vec![resource(r#"{"uri":"a:b","name":"b"}"#)],
        templates: vec![template(
            r#"{"uriTemplate":"s://h/{a}","name":"a"}"#,
            &["a"],
        )],
        prompts: vec![prompt(r#"{"name":"tools/call"}"#, Vec::new())],
    })
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = envelope::read(&bytes, &Limits::default());
        prop_assert!(is_answer(&prepare(&demo(), &bytes, stdio())));
    }

    #[test]
    fn json_of_any_shape_is_answered_with_json_or_silence(text in any_json(), over_http: bool) {
        let arrival = if over_http { http("mcp-protocol-version: 2026-07-28") } else { stdio() };
        prop_assert!(is_answer(&prepare(&demo(), text.as_bytes(), arrival)));
    }

    #[test]
    fn params_of_any_shape_are_answered_with_json(
        method in prop::sample::select(METHODS),
        params in any_json(),
        member in "uri|name|ref|argument|context|arguments|cursor",
        value in any_json(),
    ) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        prop_assert!(is_answer(&prepare(&everything(), text.as_bytes(), stdio())));
        let text = literal(&request(method, "VALUE")).replace("VALUE", &format!(r#""{member}":{value}"#));
        prop_assert!(is_answer(&prepare(&everything(), text.as_bytes(), stdio())));
    }

    #[test]
    fn an_id_is_written_as_it_was_read(number: i64, text in ".{0,60}") {
        for id in [Id::Int(number), Id::String(text)] {
            let mut message = br#"{"jsonrpc":"2.0","method":"m","id":"#.to_vec();
            id.write(&mut message);
            message.push(b'}');
            let expected = Message::Request { id, method: "m".to_owned(), params: None };
            prop_assert_eq!(envelope::read(&message, &Limits::default()), Ok(Some(expected)));
        }
    }

    #[test]
    fn a_header_value_decodes_to_the_text_it_encodes(text: String) {
        let value = headers::encode(&text);
        prop_assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        // What surrounds a field value is stripped on its way.
        let value = value.trim_matches([' ', '\t']);
        let decoded = headers::decode(value.as_bytes());
        prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn header_bytes_of_any_kind_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = headers::decode(&bytes);
        let _ = headers::decode(&[b"=?base64?", &bytes[..], b"?="].concat());
    }

    #[test]
    fn cursors_lead_through_every_page(
        entries in prop::collection::vec("[a-z]{0,8}", 0..40),
        page_size in 1usize..10,
    ) {
        let pages = Pages::new("v", "m", Some(page_size), &entries);
        let mut seen = 0;
        let mut page = 0;
        loop {
            prop_assert_eq!(pages.range(page).start, seen);
            seen = pages.range(page).end;
            match pages.next_cursor(page) {
                None => break,
                Some(cursor) => {
                    page += 1;
                    prop_assert_eq!(pages.open(Some(&cursor), 2048), Ok(page));
                }
            }
        }
        prop_assert_eq!(seen, entries.len());
        prop_assert_eq!(pages.count(), page + 1);
    }

    #[test]
    fn a_cursor_of_anybody_else_is_refused(text in "(mcp1\\.)?[A-Za-z0-9_-]{0,60}") {
        let pages = Pages::new("v", "m", Some(1), &["a", "b", "c"]);
        prop_assert_eq!(pages.open(Some(&text), 2048), Err(CursorError::Invalid));
    }

    #[test]
    fn what_a_read_a_prompt_or_a_completion_gives_is_json_or_refused(value in any_json(), text: String) {
        prop_assume!(json::parse(value.as_bytes(), &Limits::default()).is_ok());
        let value = || json::parse(value.as_bytes(), &Limits::default()).expect("checked").to_vec();
        let runtime = everything();
        for (method, params) in [
            ("resources/read", r#""uri":"s://h/1""#),
            ("prompts/get", r#""name":"tools/call""#),
            ("completion/complete", r#""ref":{"type":"ref/resource","uri":"s://h/{a}"},"argument":{"name":"a","value":""}"#),
        ] {
            for value in [
                Value::Text(text.clone()),
                Value::Structured(value()),
                Value::Content(value()),
                Value::ResourceRead { contents: value(), ttl_ms: None, cache_scope: None },
                Value::PromptGet { messages: value(), description: Some(text.clone()) },
                Value::Completion { values: value(), total: None, has_more: None },
            ] {
                let (answer, _) = answer(&runtime, method, params, value);
                let answer = json::parse(answer.as_bytes(), &Limits::default());
                prop_assert!(matches!(answer, Ok(Json::Object(_))), "{:?}", answer);
            }
        }
    }

    #[test]
    fn a_result_is_json_that_says_what_the_handler_gave(value in any_json(), text: String, key in "[a-z.]{1,9}") {
        prop_assume!(json::parse(value.as_bytes(), &Limits::default()).is_ok());
        let runtime = demo();
        let message = literal(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"mirrored"}}"#);
        let Prepared::Call(call) = prepare(&runtime, message.as_bytes(), stdio()) else {
            panic!("no call")
        };
        let mut raw = object(r#"{"structuredContent":null,"content":[]}"#);
        raw.insert(key, Json::String(text.clone()));
        for value in [
            Value::Structured(value.clone().into_bytes()),
            Value::Text(text),
            Value::Raw(Json::Object(raw).to_vec()),
            Value::Wire(value.into_bytes()),
        ] {
            let answer = finish(&runtime, &call.context, &call.target, &value.into());
            let answer = json::parse(&answer.body, &Limits::default());
            prop_assert!(matches!(answer, Ok(Json::Object(_))), "{:?}", answer);
        }
    }
}
