//! Direct resources and templates: who answers a read, and what becomes of what was read.

mod common;

use common::{
    answer, ask, call, constant, failure, request, resource, result, server, settings, stdio,
    template, text,
};
use snodo_core::call::Target;
use snodo_core::error::{Error, Kind};
use snodo_core::json::{Json, Object};
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Prepared, Verdict, finish, prepare};
use snodo_core::registry::Components;
use snodo_core::runtime::{Cache, Runtime, Scope};

const MAIN: &str = r#"{"uri":"cfg://app/main","name":"main"}"#;
const TYPED: &str = r#"{"uri":"cfg://app/typed","name":"typed","mimeType":"text/markdown"}"#;
const NOTE: &str = r#"{"uriTemplate":"note://store/{id}","name":"note"}"#;

fn demo() -> Runtime {
    server(Components {
        resources: vec![resource(TYPED), resource(MAIN)],
        templates: vec![template(NOTE, &[])],
        ..Components::default()
    })
}

/// The answer to a read that needs no handler.
fn read(runtime: &Runtime, uri: &str) -> (String, Verdict) {
    let params = format!(r#""uri":"{uri}""#);
    ask(runtime, &request("resources/read", &params), stdio())
}

/// The answer to a read of the resource without a type whose handler gave this.
fn given(outcome: impl Into<Outcome>) -> (String, Verdict) {
    answer(
        &demo(),
        "resources/read",
        r#""uri":"cfg://app/main""#,
        outcome,
    )
}

fn typed(value: Value) -> (String, Verdict) {
    answer(
        &demo(),
        "resources/read",
        r#""uri":"cfg://app/typed""#,
        value,
    )
}

/// A complete read around its contents.
fn contents(contents: &str) -> (String, Verdict) {
    result(&format!(
        r#"{{"resultType":"complete","contents":{contents},"ttlMs":0,"cacheScope":"private",SERVER}}"#
    ))
}

fn resource_read(contents: &str) -> Value {
    Value::ResourceRead {
        contents: contents.as_bytes().to_vec(),
        ttl_ms: None,
        cache_scope: None,
    }
}

#[test]
fn resources_are_listed_by_uri_and_templates_by_text() {
    let runtime = demo();
    let list = |method| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META}}}}"#);
        ask(&runtime, &message, stdio())
    };
    assert_eq!(
        list("resources/list"),
        result(&format!(
            r#"{{"resultType":"complete","resources":[{MAIN},{TYPED}],"ttlMs":0,"cacheScope":"private",SERVER}}"#
        ))
    );
    assert_eq!(
        list("resources/templates/list"),
        result(&format!(
            r#"{{"resultType":"complete","resourceTemplates":[{NOTE}],"ttlMs":0,"cacheScope":"private",SERVER}}"#
        ))
    );
}

#[test]
fn both_lists_are_answered_whenever_there_is_either_kind() {
    let list = |components, method| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META}}}}"#);
        ask(&server(components), &message, stdio())
    };
    let direct = Components {
        resources: vec![resource(MAIN)],
        ..Components::default()
    };
    assert_eq!(
        list(direct, "resources/templates/list"),
        result(
            r#"{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":"private",SERVER}"#
        )
    );
    let templates = || Components {
        templates: vec![template(NOTE, &[])],
        ..Components::default()
    };
    assert_eq!(
        list(templates(), "resources/list"),
        result(
            r#"{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"private",SERVER}"#
        )
    );
    assert_eq!(
        list(templates(), "server/discover"),
        result(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"resources":{}},"ttlMs":0,"cacheScope":"private",SERVER}"#
        )
    );
    assert_eq!(
        list(Components::default(), "resources/list"),
        failure(-32601, "Method not found: resources/list", "")
    );
}

#[test]
fn a_direct_resource_is_read_at_exactly_its_uri() {
    let runtime = demo();
    let call = call(
        &runtime,
        &request("resources/read", r#""uri":"cfg://app/main""#),
        stdio(),
    );
    let at = runtime
        .registry
        .find_resource("cfg://app/main")
        .expect("a resource");
    let uri = "cfg://app/main".to_owned();
    assert_eq!(call.target, Target::Resource { at, uri });
    assert!(call.arguments.is_empty());
    for uri in [
        "CFG://app/main",
        "cfg://app/main/",
        "cfg://app/ma%69n",
        "cfg://app/main?x=1",
        "cfg://app/main#x",
        "cfg://user@app/main",
        "cfg://app:1/main",
    ] {
        assert_eq!(
            read(&runtime, uri),
            failure(
                -32602,
                "Resource not found",
                &format!(r#"{{"uri":"{uri}"}}"#)
            )
        );
    }
}

#[test]
fn a_template_is_read_with_what_the_uri_binds() {
    let runtime = demo();
    let call = call(
        &runtime,
        &request("resources/read", r#""uri":"note://store/a%20b""#),
        stdio(),
    );
    let at = runtime
        .registry
        .find_template("note://store/{id}")
        .expect("a template");
    let uri = "note://store/a%20b".to_owned();
    assert_eq!(call.target, Target::Template { at, uri });
    assert_eq!(call.arguments, common::object(r#"{"id":"a b"}"#));
    let got = text(finish(
        &runtime,
        &call.context,
        &call.target,
        &Value::Text("hi".to_owned()).into(),
    ));
    assert_eq!(
        got,
        contents(r#"[{"uri":"note://store/a%20b","text":"hi"}]"#)
    );
}

#[test]
fn a_uri_that_is_none_is_refused_with_the_uri() {
    let refused = |uri: &str, message: &str, data: &str| {
        let message_sent = request("resources/read", &format!(r#""uri":{uri}"#));
        assert_eq!(
            ask(&demo(), &message_sent, stdio()),
            failure(-32602, message, data),
            "{uri}"
        );
    };
    for uri in ["/etc/passwd", "app/main", "", "1x://a", "cfg:", "cfg://a b"] {
        let data = format!(r#"{{"uri":"{uri}"}}"#);
        refused(
            &format!("\"{uri}\""),
            "Resource URI must be absolute",
            &data,
        );
    }
    for uri in ["5", "null", "[]"] {
        refused(uri, "Resource URI must be a string", "");
    }
}

#[test]
fn an_over_long_uri_is_repeated_in_part() {
    let uri = format!("note://store/{}/x", "a".repeat(100_000));
    let (got, verdict) = read(&demo(), &uri);
    assert_eq!(verdict, Verdict::Error(-32602));
    assert!(got.len() < 2300 && got.contains("Resource not found") && got.contains('…'));
}

#[test]
fn two_templates_that_match_are_a_fault_of_the_server() {
    let runtime = server(Components {
        templates: vec![
            template(r#"{"uriTemplate":"s://h/{a}/x","name":"a"}"#, &[]),
            template(r#"{"uriTemplate":"s://h/y/{b}","name":"b"}"#, &[]),
        ],
        ..Components::default()
    });
    assert_eq!(
        read(&runtime, "s://h/y/x"),
        failure(
            -32603,
            "Multiple resource routes matched the requested URI",
            ""
        )
    );
    call(
        &runtime,
        &request("resources/read", r#""uri":"s://h/y/z""#),
        stdio(),
    );
}

#[test]
fn what_never_changes_is_answered_without_a_handler() {
    let runtime = server(Components {
        resources: vec![constant(
            MAIN,
            r#"[{"text":"hello"},{"uri":"cfg://app/other","mimeType":"image/png","blob":"AA=="}]"#,
        )],
        ..Components::default()
    });
    assert_eq!(
        read(&runtime, "cfg://app/main"),
        contents(
            r#"[{"uri":"cfg://app/main","text":"hello"},{"uri":"cfg://app/other","mimeType":"image/png","blob":"AA=="}]"#
        )
    );
}

#[test]
fn text_json_and_bytes_become_one_content() {
    let text = |text: &str| Value::Text(text.to_owned());
    let json = |text: &str| Value::Structured(text.as_bytes().to_vec());
    for (value, untyped, with_type) in [
        (
            text("# \"A\""),
            r##"[{"uri":"cfg://app/main","text":"# \"A\""}]"##,
            r##"[{"uri":"cfg://app/typed","mimeType":"text/markdown","text":"# \"A\""}]"##,
        ),
        (
            text(""),
            r#"[{"uri":"cfg://app/main","text":""}]"#,
            r#"[{"uri":"cfg://app/typed","mimeType":"text/markdown","text":""}]"#,
        ),
        (
            json(r#"{"a":[1]}"#),
            r#"[{"uri":"cfg://app/main","mimeType":"application/json","text":"{\"a\":[1]}"}]"#,
            r#"[{"uri":"cfg://app/typed","mimeType":"text/markdown","text":"{\"a\":[1]}"}]"#,
        ),
        (
            json("null"),
            r#"[{"uri":"cfg://app/main","mimeType":"application/json","text":"null"}]"#,
            r#"[{"uri":"cfg://app/typed","mimeType":"text/markdown","text":"null"}]"#,
        ),
        (
            Value::Blob("AAE=".to_owned()),
            r#"[{"uri":"cfg://app/main","blob":"AAE="}]"#,
            r#"[{"uri":"cfg://app/typed","mimeType":"text/markdown","blob":"AAE="}]"#,
        ),
    ] {
        let again = match &value {
            Value::Text(text) => Value::Text(text.clone()),
            Value::Structured(json) => Value::Structured(json.clone()),
            Value::Blob(blob) => Value::Blob(blob.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(given(value), contents(untyped));
        assert_eq!(typed(again), contents(with_type));
    }
}

#[test]
fn blocks_of_content_become_contents() {
    let blocks = |text: &str| Value::Content(text.as_bytes().to_vec());
    assert_eq!(
        typed(blocks(
            r#"[{"type":"text","text":"a","annotations":{"priority":1}},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x://y","text":"z"}},{"text":"own"}]"#
        )),
        contents(
            r#"[{"uri":"cfg://app/typed","mimeType":"text/markdown","text":"a","annotations":{"priority":1}},{"uri":"cfg://app/typed","mimeType":"image/png","blob":"AA=="},{"uri":"x://y","text":"z"},{"uri":"cfg://app/typed","text":"own"}]"#
        )
    );
    for bad in [
        "[]",
        "5",
        "[5]",
        r#"[{"type":"text"}]"#,
        r#"[{"type":"text","text":5}]"#,
        r#"[{"type":"image","data":"?"}]"#,
        r#"[{"type":"resource_link","uri":"x://y","name":"n"}]"#,
        r#"[{"type":5,"text":"a"}]"#,
    ] {
        assert_eq!(
            given(blocks(bad)),
            failure(-32603, "Resource returned an invalid result", ""),
            "{bad}"
        );
    }
}

#[test]
fn contents_go_out_as_given_and_name_their_uri() {
    for (sent, expected) in [
        (
            r#"[{"uri":"a:b","mimeType":"x/y","text":"t","annotations":{},"_meta":{"k":1},"extra":2}]"#,
            r#"[{"uri":"a:b","mimeType":"x/y","text":"t","annotations":{},"_meta":{"k":1},"extra":2}]"#,
        ),
        (
            r#"[{"uri":"a:b","blob":""},{"blob":"AAAA"},{"blob":"AA\u003d="}]"#,
            r#"[{"uri":"a:b","blob":""},{"uri":"cfg://app/main","blob":"AAAA"},{"uri":"cfg://app/main","blob":"AA\u003d="}]"#,
        ),
        ("[]", "[]"),
    ] {
        assert_eq!(given(resource_read(sent)), contents(expected));
    }
}

#[test]
fn contents_that_break_the_rules_are_never_sent() {
    for bad in [
        "{}",
        "5",
        "[5]",
        "[[]]",
        r#"[{"uri":"a:b"}]"#,
        r#"[{"uri":"a:b","text":"t","blob":"AA=="}]"#,
        r#"[{"uri":"a:b","text":5}]"#,
        r#"[{"uri":"a:b","text":null}]"#,
        r#"[{"uri":"a:b","blob":5}]"#,
        r#"[{"uri":"a:b","blob":"A"}]"#,
        r#"[{"uri":"a:b","blob":"AA="}]"#,
        r#"[{"uri":"a:b","blob":"A==="}]"#,
        r#"[{"uri":"a:b","blob":"AA=A"}]"#,
        r#"[{"uri":"a:b","blob":"-_-_"}]"#,
        r#"[{"uri":"a:b","blob":"AA AA==="}]"#,
        r#"[{"uri":"/a","text":"t"}]"#,
        r#"[{"uri":"","text":"t"}]"#,
        r#"[{"uri":5,"text":"t"}]"#,
        r#"[{"uri":"a:b","text":"t","mimeType":5}]"#,
        r#"[{"uri":"a:b","text":"t","mimeType":null}]"#,
        r#"[{"uri":"a:b","text":"t","annotations":[]}]"#,
        r#"[{"uri":"a:b","text":"t","_meta":5}]"#,
        r#"[{"uri":"a:b","text":"good"},{"uri":"a:b"}]"#,
    ] {
        assert_eq!(
            given(resource_read(bad)),
            failure(-32603, "Resource returned an invalid result", ""),
            "{bad}"
        );
    }
}

#[test]
fn other_outcomes_have_their_own_texts() {
    let internal = |message: &str| failure(-32603, message, "");
    let wrong = internal("Resource returned the wrong result kind");
    let prompt = Value::PromptGet {
        messages: b"[]".to_vec(),
        description: None,
    };
    let completion = Value::Completion {
        values: b"[]".to_vec(),
        total: None,
        has_more: None,
    };
    assert_eq!(given(prompt), wrong);
    assert_eq!(given(completion), wrong);
    assert_eq!(given(Value::Raw(b"{}".to_vec())), wrong);
    assert_eq!(given(Value::Wire(b"{}".to_vec())), wrong);
    assert_eq!(
        given(Value::Failure("secret".to_owned())),
        internal("Resource read failed")
    );
    let error = Error::new(7, Kind::Execution, "m");
    assert_eq!(given(error), failure(7, "m", ""));
    assert_eq!(
        given(Error::resource_not_found("cfg://app/main")),
        failure(-32602, "Resource not found", r#"{"uri":"cfg://app/main"}"#)
    );
    let (at, uri) = (0, String::new());
    let target = Target::Template { at, uri };
    assert_eq!(
        given(target.raised()),
        internal("Resource raised an exception")
    );
    assert_eq!(
        given(target.terminated()),
        internal("Resource terminated unexpectedly")
    );
    assert_eq!(
        given(target.invalid_result()),
        internal("Resource returned an invalid result")
    );
}

#[test]
fn what_is_called_the_result_of_a_tool_is_no_read() {
    let wrong = failure(-32603, "Resource returned the wrong result kind", "");
    for value in [
        || Value::Text("t".to_owned()),
        || Value::Structured(b"{}".to_vec()),
        || Value::Content(br#"[{"type":"text","text":"t"}]"#.to_vec()),
    ] {
        let named = Outcome {
            named: true,
            ..value().into()
        };
        assert_eq!(given(named), wrong, "{:?}", value());
        assert_ne!(given(value()), wrong, "a plain value");
    }
}

#[test]
fn a_read_over_the_limit_is_refused() {
    let mut settings = settings();
    settings.limits.result_bytes = 300;
    let components = Components {
        resources: vec![resource(MAIN)],
        ..Components::default()
    };
    let runtime = Runtime::new(settings, components).expect("a good server");
    let params = r#""uri":"cfg://app/main""#;
    let text = |length| Value::Text("x".repeat(length));
    assert_eq!(
        answer(&runtime, "resources/read", params, text(9)).1,
        Verdict::Result
    );
    assert_eq!(
        answer(&runtime, "resources/read", params, text(300)),
        failure(-32603, "Resource result is too large", "")
    );
}

#[test]
fn a_read_may_be_kept_as_long_as_it_says_or_the_resource_or_the_server() {
    let own = Cache {
        ttl_ms: 5,
        scope: Scope::Public,
    };
    let mut settings = settings();
    settings.resources_cache.ttl_ms = 60_000;
    let mut with_own = template(r#"{"uriTemplate":"own://h/{a}","name":"own"}"#, &[]);
    with_own.cache = Some(own);
    let mut constant_own = constant(r#"{"uri":"own:c","name":"c"}"#, r#"[{"text":""}]"#);
    constant_own.cache = Some(own);
    let components = Components {
        resources: vec![
            resource(MAIN),
            constant_own,
            constant(r#"{"uri":"x:c","name":"x"}"#, r#"[{"text":""}]"#),
        ],
        templates: vec![with_own],
        ..Components::default()
    };
    let runtime = Runtime::new(settings, components).expect("a good server");
    let hints = |uri: &str, ttl_ms, cache_scope: Option<&str>| {
        let value = Value::ResourceRead {
            contents: b"[]".to_vec(),
            ttl_ms,
            cache_scope: cache_scope.map(str::to_owned),
        };
        answer(
            &runtime,
            "resources/read",
            &format!(r#""uri":"{uri}""#),
            value,
        )
        .0
    };
    let says = |answer: String, expected: &str| {
        assert!(
            answer.contains(&format!("],{expected},\"_meta\"")),
            "{answer}"
        );
    };
    let server = r#""ttlMs":60000,"cacheScope":"private""#;
    let component = r#""ttlMs":5,"cacheScope":"public""#;
    says(hints("cfg://app/main", None, None), server);
    says(hints("own://h/1", None, None), component);
    says(
        hints("own://h/1", Some(0), None),
        r#""ttlMs":0,"cacheScope":"public""#,
    );
    says(
        hints("own://h/1", None, Some("private")),
        r#""ttlMs":5,"cacheScope":"private""#,
    );
    says(
        hints("cfg://app/main", Some(9), Some("public")),
        r#""ttlMs":9,"cacheScope":"public""#,
    );
    says(read(&runtime, "x:c").0, server);
    says(read(&runtime, "own:c").0, component);
    let invalid = failure(-32603, "Resource returned invalid cache metadata", "").0;
    assert_eq!(hints("cfg://app/main", Some(-1), None), invalid);
    assert_eq!(hints("cfg://app/main", None, Some("x")), invalid);
}

#[test]
fn a_read_that_asks_for_input_has_no_cache_hints() {
    let value = Value::InputRequired {
        requests: None,
        state: Some("s".to_owned()),
    };
    assert_eq!(
        given(value),
        result(r#"{"resultType":"input_required","requestState":"s",SERVER}"#)
    );
    let params = r#""uri":"cfg://app/main","inputResponses":{"a":{}},"requestState":"s""#;
    let call = call(&demo(), &request("resources/read", params), stdio());
    assert_eq!(call.context.request_state.as_deref(), Some("s"));
    assert!(call.context.input_responses.is_some());
}

#[test]
fn metadata_of_a_read_is_merged() {
    let mut metadata = Object::new();
    metadata.insert("com.x/y", Json::Int(1));
    let (got, _) = given(Outcome {
        metadata,
        ..Value::Text(String::new()).into()
    });
    assert!(
        got.contains(r#""_meta":{"com.x/y":1,"io.modelcontextprotocol/serverInfo":"#),
        "{got}"
    );
}

#[test]
fn the_name_header_mirrors_the_uri() {
    let runtime = demo();
    let say = |name: &str| {
        let headers =
            format!("mcp-protocol-version: 2026-07-28\nmcp-method: resources/read\n{name}");
        let message = common::literal(&request("resources/read", r#""uri":"cfg://app/main""#));
        match prepare(&runtime, message.as_bytes(), common::http(&headers)) {
            Prepared::Answer(answer) => text(answer),
            Prepared::Call(_) => ("called".to_owned(), Verdict::Result),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(say("mcp-name: cfg://app/main").0, "called");
    assert_eq!(say("mcp-name: =?base64?Y2ZnOi8vYXBwL21haW4=?=").0, "called");
    assert_eq!(
        say("mcp-name: cfg://app/other"),
        failure(-32020, "mcp-name does not match the request body", "")
    );
    assert_eq!(
        say(""),
        failure(-32020, "Missing or repeated required header: mcp-name", "")
    );
}
