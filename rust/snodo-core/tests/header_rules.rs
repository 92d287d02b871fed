//! What HTTP headers must say about a body, with the order and the texts of the refusals.

mod common;

use common::{ask, call, demo, http, literal, stdio};
use snodo_core::pipeline::{Prepared, Verdict, prepare};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}"#;
const GREET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"greet","arguments":{"name":"Ada"}}}"#;
const GOOD: &str = "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: greet";

fn refused(message: &str, headers: &str, code: i64, text: &str) {
    let (answer, verdict) = ask(&demo(), message, http(headers));
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{text}""#);
    assert!(answer.starts_with(&expected), "{headers}\n{answer}");
    assert_eq!(verdict, Verdict::Error(code));
}

#[test]
fn good_headers_are_accepted_in_any_case_and_with_spaces_around_values() {
    call(&demo(), GREET, http(GOOD));
    call(
        &demo(),
        GREET,
        http("mcp-protocol-version:2026-07-28\nMCP-METHOD:  tools/call \nmcp-name:\tgreet"),
    );
}

#[test]
fn the_three_headers_must_be_there_exactly_once() {
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        let text = format!("Missing or repeated required header: {name}");
        let without: Vec<_> = GOOD
            .lines()
            .filter(|line| !line.to_lowercase().starts_with(name))
            .collect();
        refused(GREET, &without.join("\n"), -32020, &text);
        let line = GOOD
            .lines()
            .find(|line| line.to_lowercase().starts_with(name))
            .expect("it");
        refused(GREET, &format!("{GOOD}\n{line}"), -32020, &text);
    }
}

#[test]
fn header_values_must_equal_the_body() {
    refused(
        LIST,
        "mcp-protocol-version: 2025-11-25\nmcp-method: tools/list",
        -32020,
        r#"Protocol header does not match request metadata","data":{"header":"2025-11-25","body":"2026-07-28"}}"#.trim_end_matches('}').trim_end_matches('"'),
    );
    let text = "mcp-method does not match the request body";
    refused(
        LIST,
        "mcp-protocol-version: 2026-07-28\nmcp-method: Tools/List",
        -32020,
        text,
    );
    let text = "mcp-name does not match the request body";
    refused(GREET, &GOOD.replace("greet", "Greet"), -32020, text);
}

#[test]
fn values_outside_visible_ascii_are_malformed() {
    for (name, headers) in [
        (
            "mcp-protocol-version",
            GOOD.replace("2026-07-28", "2026-07-28é"),
        ),
        ("mcp-method", GOOD.replace("tools/call", "tools/call\u{7f}")),
        ("mcp-name", GOOD.replace("greet", "=?base64?@@?=")),
        ("mcp-name", GOOD.replace("greet", "é")),
    ] {
        refused(GREET, &headers, -32020, &format!("{name} is malformed"));
    }
}

#[test]
fn a_name_may_come_encoded() {
    let message = GREET.replace(r#""name":"greet""#, r#""name":"blåbær 茶""#);
    let headers = GOOD.replace("greet", "=?base64?YmzDpWLDpnIg6Iy2?=");
    refused(&message, &headers, -32602, "Unknown tool: blåbær 茶");
    call(
        &demo(),
        GREET,
        http(&GOOD.replace("greet", "=?base64?Z3JlZXQ=?=")),
    );
}

#[test]
fn a_name_is_ignored_where_no_method_defines_it_and_where_the_body_has_none() {
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: tools/list\nmcp-name: x";
    assert_eq!(ask(&demo(), LIST, http(headers)).1, Verdict::Result);
    let nameless = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META}}"#;
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: tools/call";
    refused(
        nameless,
        headers,
        -32602,
        "Tool name must be a non-empty string",
    );
}

#[test]
fn eras_are_told_apart_by_header_and_body() {
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    let named = "Unsupported protocol version; this server supports 2026-07-28";
    let missing = "Missing or repeated required header: mcp-protocol-version; this server supports 2026-07-28";
    refused(bare, "", -32020, missing);
    refused(&bare.replace("tools/list", "foo/bar"), "", -32020, missing);
    refused(initialize, "", -32022, named);
    refused(
        initialize,
        "mcp-protocol-version: 2025-06-18",
        -32022,
        named,
    );
    refused(bare, "mcp-protocol-version: 2025-06-18", -32022, named);
    refused(bare, "mcp-protocol-version: tomorrow", -32022, named);
    refused(
        bare,
        "mcp-protocol-version: 2026-07-28",
        -32602,
        "Required request _meta is missing",
    );
    let unsupported = LIST
        .replace("META", common::META)
        .replace("2026-07-28", "2030-01-01");
    refused(
        &unsupported,
        "mcp-protocol-version: 2030-01-01",
        -32022,
        "Unsupported protocol version",
    );
    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{META}}"#;
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: initialize";
    refused(modern, headers, -32601, "Method not found: initialize");
}

#[test]
fn checks_come_in_order() {
    let all_wrong = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"},"name":"nope"}}"#;
    let right_version = all_wrong.replace("2030-01-01", "2026-07-28");
    let capable = right_version.replace(
        r#""2026-07-28"}"#,
        r#""2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
    );
    let version = "mcp-protocol-version: 2026-07-28";
    let method = format!("{version}\nmcp-method: tools/call");
    let missing = "Missing or repeated required header";
    refused(
        all_wrong,
        "",
        -32020,
        &format!("{missing}: mcp-protocol-version"),
    );
    refused(
        all_wrong,
        version,
        -32020,
        "Protocol header does not match request metadata",
    );
    refused(
        all_wrong,
        "mcp-protocol-version: 2030-01-01",
        -32022,
        "Unsupported protocol version",
    );
    refused(
        &right_version,
        version,
        -32602,
        "Missing required client capabilities metadata",
    );
    refused(&capable, version, -32020, &format!("{missing}: mcp-method"));
    refused(&capable, &method, -32020, &format!("{missing}: mcp-name"));
    refused(
        &capable,
        &format!("{method}\nmcp-name: nope"),
        -32602,
        "Unknown tool: nope",
    );
}

#[test]
fn a_notification_needs_no_headers_but_may_not_contradict_its_body() {
    let message = r#"{"jsonrpc":"2.0","method":"notifications/foo","params":{META}}"#;
    let silent = |headers: &str| {
        matches!(
            prepare(&demo(), literal(message).as_bytes(), http(headers)),
            Prepared::Silence
        )
    };
    assert!(silent(""));
    assert!(silent(
        "mcp-protocol-version: 2026-07-28\nmcp-method: notifications/foo"
    ));
    for (headers, text) in [
        (
            "mcp-method: tools/list",
            "mcp-method does not match the request body",
        ),
        (
            "mcp-protocol-version: 2025-06-18",
            "mcp-protocol-version does not match the request body",
        ),
    ] {
        assert_eq!(
            ask(&demo(), message, http(headers)),
            (
                format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32020,"message":"{text}"}}}}"#),
                Verdict::Error(-32020)
            )
        );
    }
}

/// A call of the tool with mirrored arguments; `None`: it reaches the handler.
fn mirrored(arguments: &str, headers: &str, refusal: Option<&str>) {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"mirrored","arguments":ARGS}}"#
        .replace("ARGS", arguments);
    let headers = format!("{}\n{headers}", GOOD.replace("greet", "mirrored"));
    match refusal {
        Some(text) => refused(&message, &headers, -32020, text),
        None => drop(call(&demo(), &message, http(&headers))),
    }
}

#[test]
fn a_mirrored_argument_must_have_its_header() {
    let missing = "Missing or repeated required header: mcp-param-region";
    mirrored(r#"{"region":"eu"}"#, "", Some(missing));
    mirrored(
        r#"{"region":"eu"}"#,
        "mcp-param-region: eu\nMcp-Param-Region: eu",
        Some(missing),
    );
    mirrored(r#"{"region":"eu"}"#, "MCP-PARAM-REGION: eu", None);
    mirrored(r#"{"region":""}"#, "mcp-param-region:", None);
    mirrored(r#"{"region":""}"#, "mcp-param-region: =?base64??=", None);
    mirrored(r#"{"region":""}"#, "", Some(missing));
}

#[test]
fn a_mirrored_argument_must_equal_its_header() {
    let differs = |name| format!("mcp-param-{name} does not match the request body");
    mirrored(
        r#"{"region":"eu"}"#,
        "mcp-param-region: EU",
        Some(&differs("region")),
    );
    mirrored(
        r#"{"region":"a b"}"#,
        "mcp-param-region: a%20b",
        Some(&differs("region")),
    );
    mirrored(
        r#"{"region":"é"}"#,
        "mcp-param-region: =?base64?w6k=?=",
        None,
    );
    mirrored(
        r#"{"region":"é"}"#,
        "mcp-param-region: =?base64?w6k?=",
        Some("mcp-param-region is malformed"),
    );
    mirrored(r#"{"n":42}"#, "mcp-param-n: 42.0", None);
    mirrored(r#"{"n":42}"#, "mcp-param-n: 42abc", Some(&differs("n")));
    mirrored(
        r#"{"n":9007199254740991}"#,
        "mcp-param-n: 9007199254740990",
        Some(&differs("n")),
    );
    mirrored(r#"{"opts":{"dry":true}}"#, "mcp-param-dry-run: true", None);
    mirrored(
        r#"{"opts":{"dry":true}}"#,
        "mcp-param-dry-run: TRUE",
        Some(&differs("dry-run")),
    );
    mirrored(
        r#"{"opts":{"dry":true}}"#,
        "",
        Some("Missing or repeated required header: mcp-param-dry-run"),
    );
}

#[test]
fn an_absent_argument_may_not_have_a_header() {
    mirrored("{}", "", None);
    mirrored("{}", "mcp-param-other: x", None);
    mirrored(r#"{"opts":{}}"#, "", None);
    let text = "mcp-param-region does not match the request body";
    mirrored("{}", "mcp-param-region: eu", Some(text));
}

#[test]
fn a_null_argument_needs_no_header_and_is_left_to_the_schema() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"mirrored","arguments":{"region":null}}}"#;
    for headers in ["", "mcp-param-region: eu"] {
        let headers = format!("{}\n{headers}", GOOD.replace("greet", "mirrored"));
        let (answer, verdict) = ask(&demo(), message, http(&headers));
        assert_eq!(verdict, Verdict::Result, "{answer}");
        assert!(answer.contains(r#""isError":true"#), "{answer}");
    }
}

#[test]
fn an_argument_of_another_type_with_the_same_text_is_left_to_the_schema() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"mirrored","arguments":{"region":5}}}"#;
    let headers = format!("{}\nmcp-param-region: 5", GOOD.replace("greet", "mirrored"));
    let (answer, _) = ask(&demo(), message, http(&headers));
    assert!(answer.contains(r#""isError":true"#), "{answer}");
}

#[test]
fn other_transports_have_no_headers_to_compare() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"mirrored","arguments":{"region":"eu","n":1}}}"#;
    call(&demo(), message, stdio());
}
