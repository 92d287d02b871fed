//! What a handler gives, and the bytes that become of it.

mod common;

use common::{SERVER, call, demo, give, literal, object, settings, stdio, text, tool, with_tools};
use snodo_core::call::Target;
use snodo_core::error::{Error, Kind};
use snodo_core::json::Json;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Verdict, explain_output, finish, is_owed, refuse};

/// What the tool `greet` (no output schema) gives, and the result object.
fn result(value: Value, expected: &str) {
    let shown = format!("{value:?}");
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#,
        literal(expected)
    );
    assert_eq!(
        give(&demo(), "greet", value),
        (expected, Verdict::Result),
        "{shown}"
    );
}

fn internal(tool: &str, outcome: impl Into<Outcome>, message: &str) {
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32603,"message":"{message}"}}}}"#);
    assert_eq!(
        give(&demo(), tool, outcome),
        (expected, Verdict::Error(-32603))
    );
}

#[test]
fn a_text_is_one_block() {
    result(
        Value::Text("Hello, \"Ada\" ✓\n".to_owned()),
        r#"{"resultType":"complete","content":[{"type":"text","text":"Hello, \"Ada\" ✓\n"}],"isError":false,SERVER}"#,
    );
}

#[test]
fn a_tool_failure_is_a_text_with_a_flag() {
    result(
        Value::Failure("upstream down".to_owned()),
        r#"{"resultType":"complete","content":[{"type":"text","text":"upstream down"}],"isError":true,SERVER}"#,
    );
}

#[test]
fn every_kind_of_json_is_structured_and_the_same_as_text() {
    result(
        Value::Structured(r#"{"sum":3,"s":"\"\\é"}"#.as_bytes().to_vec()),
        r#"{"resultType":"complete","content":[{"type":"text","text":"{\"sum\":3,\"s\":\"\\\"\\\\é\"}"}],"structuredContent":{"sum":3,"s":"\"\\é"},"isError":false,SERVER}"#,
    );
    for json in ["[1,2]", "5", "true", "null"] {
        result(
            Value::Structured(json.as_bytes().to_vec()),
            &format!(
                r#"{{"resultType":"complete","content":[{{"type":"text","text":"{json}"}}],"structuredContent":{json},"isError":false,SERVER}}"#
            ),
        );
    }
}

#[test]
fn content_goes_out_as_given() {
    result(
        Value::Content(br#"[{"type":"image","data":"AA==","mimeType":"image/png"}]"#.to_vec()),
        r#"{"resultType":"complete","content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":false,SERVER}"#,
    );
    result(
        Value::Content(b"[]".to_vec()),
        r#"{"resultType":"complete","content":[],"isError":false,SERVER}"#,
    );
    internal(
        "greet",
        Value::Content(b"5".to_vec()),
        "Tool returned an invalid result",
    );
}

#[test]
fn a_raw_result_gets_what_it_lacks() {
    result(
        Value::Raw(br#"{"x":1}"#.to_vec()),
        r#"{"resultType":"complete","x":1,"content":[],"isError":false,SERVER}"#,
    );
    result(
        Value::Raw(
            br#"{"resultType":"odd","isError":true,"content":[{"type":"text","text":"{}"}]}"#
                .to_vec(),
        ),
        r#"{"resultType":"complete","isError":true,"content":[{"type":"text","text":"{}"}],SERVER}"#,
    );
    internal(
        "greet",
        Value::Raw(b"[]".to_vec()),
        "Tool returned an invalid result",
    );
}

#[test]
fn a_wire_result_gets_nothing_but_the_server() {
    result(
        Value::Wire(br#"{"resultType":"complete","x":[1]}"#.to_vec()),
        r#"{"resultType":"complete","x":[1],SERVER}"#,
    );
    result(Value::Wire(b"{}".to_vec()), "{SERVER}");
}

#[test]
fn a_wire_result_is_of_no_type_that_nobody_declared() {
    for kind in [r#""task""#, "1", "null"] {
        let object = format!(r#"{{"resultType":{kind}}}"#);
        internal(
            "greet",
            Value::Wire(object.into_bytes()),
            "Result type is of no extension that the request declares",
        );
    }
}

fn with_metadata(value: Value, metadata: &str) -> String {
    give(
        &demo(),
        "greet",
        Outcome {
            metadata: object(metadata),
            ..value.into()
        },
    )
    .0
}

#[test]
fn metadata_is_merged_and_the_server_always_wins() {
    let server = SERVER
        .trim_start_matches(r#""_meta":{"#)
        .trim_end_matches('}');
    let answer = with_metadata(
        Value::Text(String::new()),
        r#"{"com.x/y":1,"io.modelcontextprotocol/serverInfo":"junk"}"#,
    );
    assert!(
        answer.contains(&format!(r#""_meta":{{"com.x/y":1,{server}}}"#)),
        "{answer}"
    );
    assert!(!answer.contains("junk"));
    let answer = with_metadata(
        Value::Raw(
            br#"{"_meta":{"k":1,"j":0,"io.modelcontextprotocol/serverInfo":{"name":"junk"}}}"#
                .to_vec(),
        ),
        r#"{"k":2}"#,
    );
    assert!(
        answer.contains(&format!(r#""_meta":{{"j":0,"k":2,{server}}}"#)),
        "{answer}"
    );
    let answer = with_metadata(Value::Wire(br#"{"_meta":{"k":1}}"#.to_vec()), "{}");
    assert!(
        answer.contains(&format!(r#"{{"_meta":{{"k":1,{server}}}"#)),
        "{answer}"
    );
}

fn input_required(requests: Option<&str>, state: Option<&str>) -> Value {
    let requests = requests.map(|text| text.as_bytes().to_vec());
    Value::InputRequired {
        requests,
        state: state.map(str::to_owned),
    }
}

#[test]
fn input_may_be_asked_for_with_requests_or_state() {
    result(
        input_required(None, Some("s")),
        r#"{"resultType":"input_required","requestState":"s",SERVER}"#,
    );
    result(
        input_required(Some("{}"), Some("s")),
        r#"{"resultType":"input_required","inputRequests":{},"requestState":"s",SERVER}"#,
    );
    for requests in [
        "[]",
        r#"{"a":1}"#,
        r#"{"a":{"method":"tools/call"}}"#,
        r#"{"a":{"id":1,"method":"roots/list"}}"#,
    ] {
        internal(
            "greet",
            input_required(Some(requests), None),
            "Invalid input-required result",
        );
    }
    internal(
        "greet",
        input_required(None, None),
        "Invalid input-required result",
    );
}

#[test]
fn input_is_only_asked_of_clients_that_can_give_it() {
    let requests = r#"{"form":FORM,"url":URL,"tools":SAMPLING_TOOLS,"context":SAMPLING_CONTEXT,"none":SAMPLING_NONE}"#
        .replace("FORM", r#"{"method":"elicitation/create","params":{"message":"","requestedSchema":{"type":"object","properties":{}}}}"#)
        .replace("URL", r#"{"method":"elicitation/create","params":{"mode":"url","message":"","url":"https://a.example"}}"#)
        .replace("SAMPLING_TOOLS", r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":""}}],"maxTokens":1,"toolChoice":{}}}"#)
        .replace("SAMPLING_CONTEXT", r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":""}}],"maxTokens":1,"includeContext":"thisServer"}}"#)
        .replace("SAMPLING_NONE", r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":""}}],"maxTokens":1,"includeContext":"none"}}"#);
    let requests = requests.as_str();
    let ask = |capabilities: &str, value: Value| {
        let runtime = demo();
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":CAPABILITIES},"name":"count"}}"#;
        let call = call(
            &runtime,
            &message.replace("CAPABILITIES", capabilities),
            stdio(),
        );
        text(finish(&runtime, &call.context, &call.target, &value.into()))
    };
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"url":{}},"sampling":{"tools":{},"context":{}}}}}}"#;
    let expected = (refusal.to_owned(), Verdict::Error(-32021));
    assert_eq!(
        ask(
            r#"{"elicitation":{}}"#,
            input_required(Some(requests), None)
        ),
        expected
    );
    let wire = format!(r#"{{"resultType":"input_required","inputRequests":{requests}}}"#);
    assert_eq!(
        ask(
            r#"{"elicitation":{"form":{}}}"#,
            Value::Wire(wire.into_bytes())
        ),
        expected
    );
    let able = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}}}"#;
    assert_eq!(
        ask(able, input_required(Some(requests), None)).1,
        Verdict::Result
    );
}

#[test]
fn kinds_of_other_operations_are_no_results_of_a_tool() {
    let read = Value::ResourceRead {
        contents: b"[]".to_vec(),
        ttl_ms: None,
        cache_scope: None,
    };
    let prompt = Value::PromptGet {
        messages: b"[]".to_vec(),
        description: None,
    };
    let completion = Value::Completion {
        values: b"[]".to_vec(),
        total: None,
        has_more: None,
    };
    for value in [read, prompt, completion] {
        internal("greet", value, "Tool returned an invalid result");
    }
}

#[test]
fn an_output_schema_wants_structured_content_that_it_accepts() {
    let omitted = "Tool omitted structured output required by output schema";
    internal("count", Value::Text("x".to_owned()), omitted);
    internal("count", Value::Content(b"[]".to_vec()), omitted);
    internal("count", Value::Raw(b"{}".to_vec()), omitted);
    internal("count", Value::Wire(b"{}".to_vec()), omitted);
    let failed = "Tool output failed schema validation";
    internal("count", Value::Structured(br#"{"n":"x"}"#.to_vec()), failed);
    internal(
        "count",
        Value::Raw(br#"{"structuredContent":{"n":"x"}}"#.to_vec()),
        failed,
    );
    for value in [
        Value::Structured(br#"{"n":1}"#.to_vec()),
        Value::Raw(br#"{"structuredContent":{"n":1}}"#.to_vec()),
        Value::Raw(br#"{"isError":true}"#.to_vec()),
        Value::Wire(br#"{"resultType":"input_required","requestState":"s"}"#.to_vec()),
        Value::Failure("x".to_owned()),
        input_required(None, Some("s")),
    ] {
        assert_eq!(give(&demo(), "count", value).1, Verdict::Result);
    }
}

#[test]
fn what_is_owed_is_known_before_the_call_has_ended() {
    let runtime = demo();
    let owed = |name: &str, value: Value| {
        let tools = &runtime.registry.tools;
        let at = tools.iter().position(|tool| tool.name == name).unwrap();
        is_owed(tools[at].output.as_ref(), &Target::Tool(at), &value)
    };
    let structured = |json: &str| Value::Structured(json.as_bytes().to_vec());
    let raw = |json: &str| Value::Raw(json.as_bytes().to_vec());
    let wire = |json: &str| Value::Wire(json.as_bytes().to_vec());
    assert!(owed("count", structured(r#"{"n":1}"#)));
    assert!(owed("count", raw(r#"{"structuredContent":{"n":1}}"#)));
    assert!(owed("greet", Value::Text(String::new())));
    assert!(owed("greet", wire(r#"{"content":[],"isError":false}"#)));
    for value in [
        structured(r#"{"n":"x"}"#),
        raw(r#"{"structuredContent":{"n":"x"}}"#),
        Value::Text(String::new()),
    ] {
        assert!(!owed("count", value));
    }
    for value in [
        raw(r#"{"content":[],"isError":true}"#),
        wire(r#"{"isError":true}"#),
        wire(r#"{"resultType":"input_required","requestState":"s"}"#),
        raw("[]"),
        Value::Failure(String::new()),
        Value::Error(Error::internal("x")),
        Value::Blob(String::new()),
        input_required(None, Some("s")),
    ] {
        assert!(!owed("greet", value));
    }
}

#[test]
fn the_log_is_told_why_an_output_fails() {
    let runtime = demo();
    let explain = |name: &str, value: Value| {
        let tools = &runtime.registry.tools;
        let at = tools.iter().position(|tool| tool.name == name).unwrap();
        explain_output(&runtime, &Target::Tool(at), &value.into())
    };
    let structured = |json: &str| Value::Structured(json.as_bytes().to_vec());
    for (value, expected) in [
        (structured(r#"{"n":1}"#), None),
        (
            structured(r#"{"n":"secret"}"#),
            Some("at /n: expected integer, got string"),
        ),
        (
            structured("5"),
            Some("at the root: expected object, got integer"),
        ),
        (
            Value::Text("secret".to_owned()),
            Some("expected structured content, got text"),
        ),
        (
            Value::Raw(b"{}".to_vec()),
            Some("expected structured content, got a result object without structuredContent"),
        ),
        (Value::Failure("x".to_owned()), None),
    ] {
        assert_eq!(explain("count", value).as_deref(), expected);
    }
    assert_eq!(explain("greet", Value::Text("x".to_owned())), None);
}

#[test]
fn an_error_is_code_and_message_and_data_if_there_is_any() {
    let error = Error::new(-32050 - 1000, Kind::Execution, "m");
    assert_eq!(
        give(&demo(), "greet", error.clone()),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-33050,"message":"m"}}"#.to_owned(),
            Verdict::Error(-33050)
        )
    );
    assert_eq!(
        give(
            &demo(),
            "greet",
            error.clone().with_data(Json::Object(object(r#"{"k":1}"#)))
        )
        .0,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-33050,"message":"m","data":{"k":1}}}"#
    );
    assert_eq!(
        give(&demo(), "greet", error.with_data(Json::Null)).0,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-33050,"message":"m"}}"#
    );
}

#[test]
fn codes_that_the_revision_reserves_are_not_given_another_meaning() {
    for code in [-32002, -32042, -32023, -32099] {
        internal(
            "greet",
            Error::new(code, Kind::Execution, "m"),
            "Internal error",
        );
    }
    for code in [-32003, -32050 - 1000, 7, -32602, -32022] {
        let (_, verdict) = give(&demo(), "greet", Error::new(code, Kind::Authorization, "m"));
        assert_eq!(verdict, Verdict::Error(code));
    }
}

#[test]
fn a_result_over_the_limit_is_refused() {
    let mut settings = settings();
    settings.limits.result_bytes = 200;
    let runtime = with_tools(settings, vec![tool(common::GREET)]);
    assert_eq!(
        give(&runtime, "greet", Value::Text("short".to_owned())).1,
        Verdict::Result
    );
    assert_eq!(
        give(&runtime, "greet", Value::Text("x".repeat(200))).0,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Tool result is too large"}}"#
    );
}

#[test]
fn a_refusal_of_a_transport_has_the_same_body_as_any_other() {
    let error = Error::internal("Server is shutting down");
    let answer = refuse(None, &error, Verdict::Closing);
    assert_eq!(
        text(answer),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"Server is shutting down"}}"#
                .to_owned(),
            Verdict::Closing
        )
    );
}
