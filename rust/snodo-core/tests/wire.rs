//! Literal messages in, literal answers out: every refusal before a handler, with its text and code.

mod common;

use common::{ask, call, demo, http, literal, settings, stdio, tool, with_tools};
use snodo_core::call::Target;
use snodo_core::context::Transport;
use snodo_core::envelope::Id;
use snodo_core::json::Json;
use snodo_core::pipeline::{Prepared, Verdict, prepare};
use snodo_core::runtime::{Cache, Scope};

/// Says each message over stdio and compares the whole answer.
fn refusals(cases: &[(&str, i64, &str)]) {
    let runtime = demo();
    for (message, code, answer) in cases {
        let got = ask(&runtime, message, stdio());
        assert_eq!(
            got,
            ((*answer).to_owned(), Verdict::Error(*code)),
            "{message}"
        );
    }
}

fn silent(message: &str, transport: Transport) -> bool {
    let arrival = if transport == Transport::Http {
        http("")
    } else {
        stdio()
    };
    matches!(
        prepare(&demo(), literal(message).as_bytes(), arrival),
        Prepared::Silence
    )
}

#[test]
fn what_is_not_json_is_a_parse_error_without_id() {
    for message in [
        "",
        "{",
        "nope",
        "{\"id\":NaN}",
        "{\"a\":1,\"a\":2}",
        "[] x",
        "\"\\ud800\"",
    ] {
        let (answer, verdict) = ask(&demo(), message, stdio());
        assert!(
            answer.starts_with(
                r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error","data":{"reason":""#
            ),
            "{message}: {answer}"
        );
        assert_eq!(verdict, Verdict::Error(-32700));
    }
}

#[test]
fn what_is_not_a_request_is_an_invalid_request() {
    refusals(&[
        (
            "[]",
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}"#,
        ),
        (
            "7",
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#,
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}"#,
        ),
        (
            "{}",
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Expected a JSON-RPC 2.0 request"}}"#,
        ),
        (
            r#"{"jsonrpc":"1.0","id":3,"method":"tools/list"}"#,
            -32600,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Expected a JSON-RPC 2.0 request"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
            -32600,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Request method must be a string"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0"}"#,
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Request method must be a string"}}"#,
        ),
    ]);
}

#[test]
fn params_must_be_an_object() {
    for params in ["[]", "null", "1", "\"x\""] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        refusals(&[(
            &message,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Request params must be an object"}}"#,
        )]);
    }
}

#[test]
fn ids_come_back_with_the_type_they_had() {
    let runtime = demo();
    let longest = format!("\"{}\"", "x".repeat(256));
    for id in [
        "0",
        "-1",
        "1",
        "\"1\"",
        "\"\"",
        "\"a\"",
        "-9223372036854775808",
        "\"é\"",
        &longest,
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{META}}}}"#
        );
        let (answer, _) = ask(&runtime, &message, stdio());
        assert!(
            answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
            "{answer}"
        );
    }
}

#[test]
fn an_unreadable_id_is_refused_and_not_echoed() {
    let too_long = format!("\"{}\"", "x".repeat(257));
    for id in [
        "null",
        "1.5",
        "1.0",
        "true",
        "{}",
        "[]",
        "9223372036854775808",
        &too_long,
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{META}}}}"#
        );
        refusals(&[(
            &message,
            -32600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Request id must be a string of at most 256 bytes or an int64 integer"}}"#,
        )]);
    }
}

#[test]
fn a_response_is_refused_over_http_and_dropped_elsewhere() {
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
    ] {
        assert!(silent(message, Transport::Stdio));
        assert_eq!(
            ask(&demo(), message, http("")),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"A server takes requests and notifications, not responses"}}"#.to_owned(),
                Verdict::Error(-32600)
            )
        );
    }
}

#[test]
fn notifications_are_never_answered_whatever_is_wrong_with_them() {
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/foo","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{META,"name":"greet"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        assert!(silent(message, Transport::Stdio), "{message}");
        assert!(silent(message, Transport::Http), "{message}");
    }
}

#[test]
fn a_cancellation_names_its_request() {
    for (id, expected) in [("5", Id::Int(5)), ("\"5\"", Id::String("5".to_owned()))] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"stop"}}}}"#
        );
        match prepare(&demo(), message.as_bytes(), stdio()) {
            Prepared::Cancel(got) => assert_eq!(got, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_message_of_no_revision_is_refused() {
    refusals(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"foo/bar"}"#,
            -32600,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"No configured protocol dialect recognized the request"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
            -32022,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version; this server supports 2026-07-28","data":{"requested":"2025-06-18","supported":["2026-07-28"]}}}"#,
        ),
    ]);
}

#[test]
fn request_metadata_is_required() {
    refusals(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Required request _meta is missing"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[]}}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"_meta must be an object"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required io.modelcontextprotocol/protocolVersion metadata"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"io.modelcontextprotocol/protocolVersion metadata must be a string"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}"#,
            -32022,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2099-01-01","supported":["2026-07-28"]}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required client capabilities metadata"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}}"#,
            -32602,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required client capabilities metadata"}}"#,
        ),
    ]);
}

/// `tools/list` with one more member in `_meta`, and the text of the refusal (none: served).
fn metadata(member: &str, expected: Option<&str>) {
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},{member}}}}}}}"#
    );
    let (answer, verdict) = ask(&demo(), &message, stdio());
    match expected {
        None => assert_eq!(verdict, Verdict::Result, "{member}: {answer}"),
        Some(text) => assert_eq!(
            answer,
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{text}"}}}}"#),
            "{member}"
        ),
    }
}

#[test]
fn metadata_keys_follow_the_grammar() {
    metadata(
        r#""com.example/ok":{"any":[1]},"x":null,"traceparent":"junk""#,
        None,
    );
    let text = "_meta contains an invalid key or non-JSON value";
    metadata(r#""a b":1"#, Some(text));
    metadata(r#""1bad.x/y":1"#, Some(text));
}

#[test]
fn progress_tokens_are_bounded_like_ids() {
    metadata(r#""progressToken":12"#, None);
    metadata(r#""progressToken":"p""#, None);
    let text = "progressToken must be a string of at most 256 bytes or an int64 integer";
    for bad in [
        "null",
        "1.5",
        "{}",
        "9223372036854775808",
        &format!("\"{}\"", "x".repeat(257)),
    ] {
        metadata(&format!(r#""progressToken":{bad}"#), Some(text));
    }
}

#[test]
fn the_log_level_is_one_of_eight() {
    metadata(r#""io.modelcontextprotocol/logLevel":"warning""#, None);
    for bad in ["\"loud\"", "3", "null"] {
        let member = format!(r#""io.modelcontextprotocol/logLevel":{bad}"#);
        metadata(&member, Some("Invalid MCP request log level"));
    }
}

#[test]
fn client_info_is_optional_but_well_formed() {
    for (info, text) in [
        (
            r#"{"name":"c","version":"1","title":"C","websiteUrl":"https://c.example","icons":[{"src":"data:,x","sizes":["any"],"theme":"dark"}]}"#,
            None,
        ),
        (
            r#"{"name":"c"}"#,
            Some("Client info must include string name and version"),
        ),
        (
            "[]",
            Some("Client info must include string name and version"),
        ),
        (
            r#"{"name":"c","version":"1","title":2}"#,
            Some("Client info title must be a string"),
        ),
        (
            r#"{"name":"c","version":"1","websiteUrl":"/x"}"#,
            Some("Client info websiteUrl must be a URI string"),
        ),
        (
            r#"{"name":"c","version":"1","icons":{}}"#,
            Some("Client info icons must be a list"),
        ),
        (
            r#"{"name":"c","version":"1","icons":[{}]}"#,
            Some("Client info icon src must be a URI string"),
        ),
    ] {
        metadata(
            &format!(r#""io.modelcontextprotocol/clientInfo":{info}"#),
            text,
        );
    }
}

#[test]
fn client_capabilities_are_objects_of_objects() {
    for (capabilities, good) in [
        (
            r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{}},"x":1}"#,
            true,
        ),
        (
            r#"{"experimental":{"a":{}},"extensions":{"com.example/x":{}}}"#,
            true,
        ),
        (r#"{"elicitation":[]}"#, false),
        (r#"{"elicitation":{"url":true}}"#, false),
        (r#"{"extensions":{"x":1}}"#, false),
        (r#"{"experimental":{"x":1}}"#, false),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}}}"#
        );
        let (answer, verdict) = ask(&demo(), &message, stdio());
        let expected = if good {
            Verdict::Result
        } else {
            Verdict::Error(-32602)
        };
        assert_eq!(verdict, expected, "{capabilities}: {answer}");
    }
}

#[test]
fn methods_that_are_unknown_removed_or_not_offered_are_not_found() {
    let long = "x".repeat(1000);
    for method in [
        "foo/bar",
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "tasks/get",
        "tools/Call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "subscriptions/listen",
        "",
        &long,
    ] {
        let shown = if method == long {
            format!("{}…", &long[..256])
        } else {
            method.to_owned()
        };
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META}}}}"#);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"Method not found: {shown}"}}}}"#
        );
        refusals(&[(&message, -32601, &answer)]);
    }
}

#[test]
fn a_server_without_tools_has_no_tools_methods() {
    let runtime = with_tools(settings(), Vec::new());
    let (answer, _) = ask(
        &runtime,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}"#,
        stdio(),
    );
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: tools/list"}}"#
    );
    let (answer, _) = ask(
        &runtime,
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}"#,
        stdio(),
    );
    assert_eq!(
        answer,
        literal(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private",SERVER}}"#
        )
    );
}

#[test]
fn a_method_of_another_kind_is_an_invalid_request() {
    refusals(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{META,"requestId":2}}"#,
            -32600,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"notifications/cancelled must be a notification, received request"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{META}}"#,
            -32600,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"elicitation/create is only valid as an embedded MRTR input request"}}"#,
        ),
    ]);
}

#[test]
fn discovery_says_what_this_server_is() {
    let mut settings = settings();
    settings.instructions = Some("Greet \"first\".".to_owned());
    settings.discover_cache = Cache {
        ttl_ms: 3_600_000,
        scope: Scope::Public,
    };
    let runtime = with_tools(settings, vec![tool(common::GREET)]);
    assert_eq!(
        ask(
            &runtime,
            r#"{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{META}}"#,
            stdio()
        ),
        (
            literal(
                r#"{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{}},"instructions":"Greet \"first\".","ttlMs":3600000,"cacheScope":"public",SERVER}}"#
            ),
            Verdict::Result
        )
    );
}

#[test]
fn tools_are_listed_in_byte_order_as_they_were_defined() {
    let tools = ["b", "a", "Z"].map(|name| {
        tool(&format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","zzz":[1.0]}}}}"#
        ))
    });
    let mut settings = settings();
    settings.tools_cache = Cache {
        ttl_ms: 60_000,
        scope: Scope::Private,
    };
    let runtime = with_tools(settings, tools.into());
    let (answer, _) = ask(
        &runtime,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}"#,
        stdio(),
    );
    assert_eq!(
        answer,
        literal(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"Z","inputSchema":{"type":"object","zzz":[1.0]}},{"name":"a","inputSchema":{"type":"object","zzz":[1.0]}},{"name":"b","inputSchema":{"type":"object","zzz":[1.0]}}],"ttlMs":60000,"cacheScope":"private",SERVER}}"#
        )
    );
}

#[test]
fn the_shape_of_a_call_is_checked_before_the_tool_is_looked_up() {
    let case = |params: &str, text: &str| {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{META{params}}}}}"#
        );
        let answer =
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{text}"}}}}"#);
        refusals(&[(&message, -32602, &answer)]);
    };
    case("", "Tool name must be a non-empty string");
    case(r#","name":"""#, "Tool name must be a non-empty string");
    case(r#","name":7"#, "Tool name must be a non-empty string");
    case(
        r#","name":"nope","arguments":[]"#,
        "Tool arguments must be an object",
    );
    case(
        r#","name":"nope","arguments":null"#,
        "Tool arguments must be an object",
    );
    case(
        r#","name":"nope","inputResponses":[]"#,
        "inputResponses must be an object",
    );
    case(
        r#","name":"nope","inputResponses":{"a":1}"#,
        "inputResponses must map string IDs to bare result objects",
    );
    case(
        r#","name":"nope","requestState":5"#,
        "requestState must be a string",
    );
    case(r#","name":"nope""#, "Unknown tool: nope");
}

#[test]
fn an_unknown_tool_is_named_in_part_and_a_slip_gets_a_hint_in_data() {
    let long = "x".repeat(70_000);
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{META,"name":"{long}"}}}}"#
    );
    let (answer, _) = ask(&demo(), &message, stdio());
    assert!(answer.len() < 400 && answer.contains("Unknown tool: xxx") && answer.contains('…'));
    refusals(&[(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"Greet"}}"#,
        -32602,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: Greet","data":{"didYouMean":"greet"}}}"#,
    )]);
}

#[test]
fn missing_required_arguments_are_a_result_that_the_model_can_read() {
    let (answer, verdict) = ask(
        &demo(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"greet","arguments":{}}}"#,
        stdio(),
    );
    assert_eq!(
        answer,
        literal(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"Missing required arguments: name"}],"isError":true,SERVER}}"#
        )
    );
    assert_eq!(verdict, Verdict::Result);
}

#[test]
fn a_call_carries_its_arguments_and_its_terms() {
    let runtime = demo();
    let call = call(
        &runtime,
        r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"greet","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"cli","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":3,"traceparent":"00-11111111111111111111111111111111-2222222222222222-01"},"arguments":{"name":"Ada"},"inputResponses":{"who":{"action":"accept"}},"requestState":"s","unknown":1}}"#,
        stdio(),
    );
    let greet = runtime.registry.find_tool("greet").expect("a tool");
    assert_eq!(call.target, Target::Tool(greet));
    assert_eq!(call.arguments, common::object(r#"{"name":"Ada"}"#));
    let context = &call.context;
    assert_eq!(context.id, Id::String("c".to_owned()));
    assert_eq!(
        (context.method, context.protocol_version()),
        ("tools/call", "2026-07-28")
    );
    assert_eq!(
        context.client_info(),
        Some(&common::object(r#"{"name":"cli","version":"2"}"#))
    );
    assert_eq!(
        context.client_capabilities(),
        Some(&common::object(r#"{"elicitation":{}}"#))
    );
    assert_eq!(context.progress_token(), Some(&Json::Int(3)));
    assert!(context.trace().traceparent.is_some());
    assert_eq!(
        context.input_responses,
        Some(common::object(r#"{"who":{"action":"accept"}}"#))
    );
    assert_eq!(context.request_state.as_deref(), Some("s"));
}

#[test]
fn absent_arguments_are_an_empty_object() {
    let message =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"count"}}"#;
    assert!(call(&demo(), message, stdio()).arguments.is_empty());
}

#[test]
fn null_is_not_given_where_the_tool_says_so() {
    let mut greet = tool(
        r#"{"name":"greet","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#,
    );
    greet.null_is_absent = vec!["n".to_owned()];
    let runtime = with_tools(settings(), vec![greet]);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"greet","arguments":{"n":null,"x":null}}}"#;
    let arguments = call(&runtime, message, stdio()).arguments;
    assert_eq!(arguments, common::object(r#"{"x":null}"#));
}
