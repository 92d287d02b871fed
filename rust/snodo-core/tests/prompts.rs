//! Prompts: what their arguments are held to, and what becomes of what they render.

mod common;

use common::{answer, ask, call, failure, literal, prompt, request, result, server, stdio, text};
use snodo_core::call::Target;
use snodo_core::error::{Error, Kind};
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Prepared, Verdict, prepare};
use snodo_core::registry::Components;
use snodo_core::runtime::{Cache, Runtime, Scope};

const SUMMARISE: &str = r#"{"name":"summarise","title":"Summarise","description":"Summarise a text","arguments":[{"name":"text","description":"What","required":true},{"name":"tone"}]}"#;
const PLAIN: &str = r#"{"name":"plain"}"#;

fn demo() -> Runtime {
    server(Components {
        prompts: vec![
            prompt(SUMMARISE, vec![common::completable("tone", None)]),
            prompt(PLAIN, Vec::new()),
        ],
        ..Components::default()
    })
}

fn refused(params: &str, message: &str, data: &str) {
    assert_eq!(
        ask(&demo(), &request("prompts/get", params), stdio()),
        failure(-32602, message, data),
        "{params}"
    );
}

/// The answer to a prompt without a description that rendered this.
fn given(outcome: impl Into<Outcome>) -> (String, Verdict) {
    answer(&demo(), "prompts/get", r#""name":"plain""#, outcome)
}

fn messages(messages: &str) -> (String, Verdict) {
    result(&format!(
        r#"{{"resultType":"complete","messages":{messages},SERVER}}"#
    ))
}

fn prompt_get(messages: &str, description: Option<&str>) -> Value {
    Value::PromptGet {
        messages: messages.as_bytes().to_vec(),
        description: description.map(str::to_owned),
    }
}

const INVALID: &str = "Prompt returned an invalid result";

#[test]
fn prompts_are_listed_by_name_without_what_completes() {
    let mut settings = common::settings();
    settings.prompts_cache = Cache {
        ttl_ms: 7,
        scope: Scope::Public,
    };
    let components = Components {
        prompts: vec![prompt(SUMMARISE, Vec::new()), prompt(PLAIN, Vec::new())],
        ..Components::default()
    };
    let runtime = Runtime::new(settings, components).expect("a good server");
    assert_eq!(
        ask(
            &runtime,
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{META}}"#,
            stdio()
        ),
        result(&format!(
            r#"{{"resultType":"complete","prompts":[{PLAIN},{SUMMARISE}],"ttlMs":7,"cacheScope":"public",SERVER}}"#
        ))
    );
}

#[test]
fn a_call_carries_every_argument_declared_or_not() {
    let runtime = demo();
    let params = r#""name":"summarise","arguments":{"text":"t","extra":"e"},"inputResponses":{"a":{}},"requestState":"s""#;
    let call = call(&runtime, &request("prompts/get", params), stdio());
    let at = runtime.registry.find_prompt("summarise").expect("a prompt");
    assert_eq!(call.target, Target::Prompt(at));
    assert_eq!(
        call.arguments,
        common::object(r#"{"text":"t","extra":"e"}"#)
    );
    assert_eq!(call.context.request_state.as_deref(), Some("s"));
}

#[test]
fn the_shape_of_a_request_is_checked_before_the_prompt_is_looked_up() {
    let name = "Prompt name must be a non-empty string";
    for params in [r#""x":1"#, r#""name":"""#, r#""name":7"#, r#""name":null"#] {
        refused(params, name, "");
    }
    for arguments in ["[]", "null", "\"x\""] {
        let params = format!(r#""name":"nope","arguments":{arguments}"#);
        refused(&params, "prompts/get arguments must be an object", "");
    }
    for value in ["1", "null", "true", "[]", "{}"] {
        let params = format!(r#""name":"nope","arguments":{{"text":{value}}}"#);
        refused(
            &params,
            "prompts/get arguments must map strings to strings",
            "",
        );
    }
    refused(
        r#""name":"nope","requestState":5"#,
        "requestState must be a string",
        "",
    );
}

#[test]
fn an_unknown_prompt_is_named_and_a_slip_gets_a_hint() {
    refused(r#""name":"x""#, "Unknown prompt: x", "");
    refused(
        r#""name":"Summarize""#,
        "Unknown prompt: Summarize",
        r#"{"didYouMean":"summarise"}"#,
    );
}

#[test]
fn missing_arguments_are_an_error_that_names_them() {
    let missing = "Missing required prompt arguments";
    for params in [
        r#""name":"summarise""#,
        r#""name":"summarise","arguments":{}"#,
        r#""name":"summarise","arguments":{"tone":"dry"}"#,
    ] {
        refused(params, missing, r#"{"missing":["text"]}"#);
    }
}

#[test]
fn a_text_is_one_message_of_the_user() {
    assert_eq!(
        given(Value::Text("Say \"hi\"".to_owned())),
        messages(r#"[{"role":"user","content":{"type":"text","text":"Say \"hi\""}}]"#)
    );
}

#[test]
fn one_message_a_list_and_blocks_of_content_become_messages() {
    let structured = |text: &str| Value::Structured(text.as_bytes().to_vec());
    let assistant = r#"{"role":"assistant","content":{"type":"text","text":"a"}}"#;
    assert_eq!(
        given(structured(assistant)),
        messages(&format!("[{assistant}]"))
    );
    assert_eq!(
        given(structured(&format!(
            r#"["q",{assistant},{{"type":"image","data":"AA==","mimeType":"image/png"}}]"#
        ))),
        messages(&format!(
            r#"[{{"role":"user","content":{{"type":"text","text":"q"}}}},{assistant},{{"role":"user","content":{{"type":"image","data":"AA==","mimeType":"image/png"}}}}]"#
        ))
    );
    let blocks = br#"[{"type":"text","text":"b"}]"#.to_vec();
    assert_eq!(
        given(Value::Content(blocks)),
        messages(r#"[{"role":"user","content":{"type":"text","text":"b"}}]"#)
    );
    for bad in ["5", "null", "{}", "[5]", "[null]", r#"[{"x":1}]"#] {
        assert_eq!(
            given(structured(bad)),
            failure(-32603, INVALID, ""),
            "{bad}"
        );
    }
    assert_eq!(
        given(Value::Content(b"[]".to_vec())),
        failure(-32603, INVALID, "")
    );
    assert_eq!(
        given(Value::Blob("AA==".to_owned())),
        failure(-32603, INVALID, "")
    );
}

#[test]
fn the_description_is_the_results_own_or_the_declared_one() {
    let params = r#""name":"summarise","arguments":{"text":"t"}"#;
    let described = |description: &str| {
        result(&format!(
            r#"{{"resultType":"complete","description":"{description}","messages":[],SERVER}}"#
        ))
    };
    let get = |description| {
        answer(
            &demo(),
            "prompts/get",
            params,
            prompt_get("[]", description),
        )
    };
    assert_eq!(get(Some("own")), described("own"));
    assert_eq!(get(None), described("Summarise a text"));
    assert_eq!(given(prompt_get("[]", None)), messages("[]"));
}

#[test]
fn valid_messages_go_out_as_given() {
    for content in [
        r#"{"type":"text","text":""}"#,
        r#"{"type":"text","text":"t","annotations":{"audience":["user"]},"_meta":{"k":1}}"#,
        r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
        r#"{"mimeType":"audio/wav","data":"","type":"audio"}"#,
        r#"{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"t"}}"#,
        r#"{"type":"resource","resource":{"uri":"x://y","blob":"AA=="}}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n"}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","title":"t","description":"d","mimeType":"m","size":0,"icons":[{"src":"data:,x"}]}"#,
    ] {
        for role in ["user", "assistant"] {
            let sent = format!(r#"[{{"role":"{role}","content":{content}}}]"#);
            assert_eq!(given(prompt_get(&sent, None)), messages(&sent));
        }
    }
}

#[test]
fn messages_that_break_the_rules_are_never_sent() {
    let text = r#"{"type":"text","text":"t"}"#;
    for bad in [
        "5".to_owned(),
        "{}".to_owned(),
        "[5]".to_owned(),
        r#"["t"]"#.to_owned(),
        "[{}]".to_owned(),
        format!("[{text}]"),
        format!(r#"[{{"role":"system","content":{text}}}]"#),
        format!(r#"[{{"role":5,"content":{text}}}]"#),
        format!(r#"[{{"content":{text}}}]"#),
        r#"[{"role":"user"}]"#.to_owned(),
        format!(r#"[{{"role":"user","content":{text},"name":"x"}}]"#),
        format!(r#"[{{"role":"user","content":[{text}]}}]"#),
        r#"[{"role":"user","content":"t"}]"#.to_owned(),
    ] {
        assert_eq!(
            given(prompt_get(&bad, None)),
            failure(-32603, INVALID, ""),
            "{bad}"
        );
    }
}

#[test]
fn content_that_breaks_the_rules_is_never_sent() {
    for bad in [
        "{}",
        r#"{"type":5}"#,
        r#"{"type":"video","data":""}"#,
        r#"{"type":"tool_use"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":5}"#,
        r#"{"type":"text","text":"t","extra":1}"#,
        r#"{"type":"text","text":"t","annotations":[]}"#,
        r#"{"type":"text","text":"t","_meta":null}"#,
        r#"{"type":"image","data":"AA=="}"#,
        r#"{"type":"image","mimeType":"image/png"}"#,
        r#"{"type":"image","data":"A","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"AA==","mimeType":1}"#,
        r#"{"type":"resource"}"#,
        r#"{"type":"resource","resource":5}"#,
        r#"{"type":"resource","resource":{"text":"t"}}"#,
        r#"{"type":"resource","resource":{"uri":"/x","text":"t"}}"#,
        r#"{"type":"resource","resource":{"uri":"x://y"}}"#,
        r#"{"type":"resource_link","uri":"x://y"}"#,
        r#"{"type":"resource_link","uri":"x://y","name":""}"#,
        r#"{"type":"resource_link","uri":"/y","name":"n"}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","title":5}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","size":-1}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","size":1.5}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","mimeType":1}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","icons":{}}"#,
        r#"{"type":"resource_link","uri":"x://y","name":"n","icons":[{"src":"a"}]}"#,
    ] {
        let sent = format!(r#"[{{"role":"user","content":{bad}}}]"#);
        assert_eq!(
            given(prompt_get(&sent, None)),
            failure(-32603, INVALID, ""),
            "{bad}"
        );
    }
}

#[test]
fn other_outcomes_have_their_own_texts() {
    let internal = |message: &str| failure(-32603, message, "");
    let wrong = internal("Prompt returned the wrong result kind");
    let read = Value::ResourceRead {
        contents: b"[]".to_vec(),
        ttl_ms: None,
        cache_scope: None,
    };
    let completion = Value::Completion {
        values: b"[]".to_vec(),
        total: None,
        has_more: None,
    };
    assert_eq!(given(read), wrong);
    assert_eq!(given(completion), wrong);
    assert_eq!(given(Value::Raw(b"{}".to_vec())), wrong);
    assert_eq!(given(Value::Wire(b"{}".to_vec())), wrong);
    assert_eq!(
        given(Value::Failure("secret".to_owned())),
        internal("Prompt rendering failed")
    );
    assert_eq!(
        given(Error::new(-32602, Kind::Execution, "m")),
        failure(-32602, "m", "")
    );
    let target = Target::Prompt(0);
    assert_eq!(
        given(target.raised()),
        internal("Prompt raised an exception")
    );
    assert_eq!(
        given(target.terminated()),
        internal("Prompt terminated unexpectedly")
    );
    assert_eq!(given(target.invalid_result()), internal(INVALID));
}

#[test]
fn what_is_called_the_result_of_a_tool_is_no_prompt() {
    let wrong = failure(-32603, "Prompt returned the wrong result kind", "");
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
fn a_prompt_may_ask_for_input() {
    let value = Value::InputRequired {
        requests: None,
        state: Some("s".to_owned()),
    };
    assert_eq!(
        given(value),
        result(r#"{"resultType":"input_required","requestState":"s",SERVER}"#)
    );
}

#[test]
fn the_name_header_mirrors_the_name() {
    let runtime = demo();
    let say = |name: &str| {
        let headers = format!("mcp-protocol-version: 2026-07-28\nmcp-method: prompts/get\n{name}");
        let message = literal(&request("prompts/get", r#""name":"plain""#));
        match prepare(&runtime, message.as_bytes(), common::http(&headers)) {
            Prepared::Answer(answer) => text(answer),
            Prepared::Call(_) => ("called".to_owned(), Verdict::Result),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(say("mcp-name: plain").0, "called");
    assert_eq!(
        say("mcp-name: Plain"),
        failure(-32020, "mcp-name does not match the request body", "")
    );
    assert_eq!(
        say(""),
        failure(-32020, "Missing or repeated required header: mcp-name", "")
    );
}
