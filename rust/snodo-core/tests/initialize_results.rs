//! What each revision that opens with a handshake is told: lists, results, errors, notices and events.

mod common;

use common::{
    ask, call, completable, constant, every_era, object, opened, prompt, resource, template, text,
    tool,
};
use snodo_core::dialect::ALL;
use snodo_core::error::{Error, Kind};
use snodo_core::notice::{Amount, Entry, Level, Notice, Progress};
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Step, Verdict, proceed};
use snodo_core::registry::Components;
use snodo_core::runtime::Runtime;
use snodo_core::subscription::{Change, Event};

const ICON: &str = r#"{"src":"https://a.example/i.png"}"#;

fn server() -> Runtime {
    let icons = |definition: &str| definition.replace("ICON", ICON);
    let mut settings = every_era();
    settings.server_info = object(&icons(
        r#"{"name":"demo","title":"Demo","version":"1","description":"d","websiteUrl":"https://a.example","icons":[ICON]}"#,
    ));
    settings.instructions = Some("Look first.".to_owned());
    let tools = [
        r#"{"name":"full","title":"T","description":"d","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"type":"integer"}}},"outputSchema":{"type":"object","properties":{"n":true}},"annotations":{"readOnlyHint":true},"icons":[ICON],"_meta":{"k":1}}"#,
        r#"{"name":"list","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
        r#"{"name":"plain","inputSchema":{"type":"object"}}"#,
    ];
    Runtime::new(
        settings,
        Components {
            tools: tools.map(|definition| tool(&icons(definition))).into(),
            resources: vec![
                constant(
                    &icons(r#"{"uri":"a:c","name":"c","title":"C","icons":[ICON]}"#),
                    r#"[{"uri":"a:c","text":"x"}]"#,
                ),
                resource(r#"{"uri":"a:d","name":"d","mimeType":"text/plain"}"#),
            ],
            templates: vec![template(
                r#"{"uriTemplate":"t://h/{a}","name":"t","_meta":{"k":1}}"#,
                &["a"],
            )],
            prompts: vec![prompt(
                r#"{"name":"p","title":"P","description":"about","arguments":[{"name":"a"}]}"#,
                vec![completable("a", None)],
            )],
        },
    )
    .expect("a good server")
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#)
}

/// The result, without its envelope, of a request that needs no handler.
fn result(version: &str, method: &str, params: &str) -> String {
    let (answer, verdict) = ask(&server(), &request(method, params), opened(version, "{}"));
    assert_eq!(verdict, Verdict::Result, "{answer}");
    unwrapped(&answer)
}

fn unwrapped(answer: &str) -> String {
    let inner = answer.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":"#);
    let inner = inner.and_then(|answer| answer.strip_suffix('}'));
    inner
        .unwrap_or_else(|| panic!("no result: {answer}"))
        .to_owned()
}

/// The whole answer to a call whose handler gave this.
fn answer(
    version: &str,
    method: &str,
    params: &str,
    outcome: impl Into<Outcome>,
) -> (String, Verdict) {
    let runtime = server();
    let call = call(&runtime, &request(method, params), opened(version, "{}"));
    match proceed(&runtime, &call.context, call.target, &outcome.into()) {
        Step::Answer(answer) => text(answer),
        other => panic!("no answer: {other:?}"),
    }
}

fn given(version: &str, method: &str, params: &str, outcome: impl Into<Outcome>) -> String {
    let (answer, verdict) = answer(version, method, params, outcome);
    assert_eq!(verdict, Verdict::Result, "{answer}");
    unwrapped(&answer)
}

fn tool_result(version: &str, value: Value) -> String {
    given(version, "tools/call", r#""name":"plain""#, value)
}

const ERA: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

#[test]
fn the_handshake_tells_what_the_revision_knows() {
    let capabilities = r#""logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}"#;
    for (version, completions, info) in [
        (
            "2025-11-25",
            r#""completions":{},"#,
            r#"{"name":"demo","title":"Demo","version":"1","description":"d","websiteUrl":"https://a.example","icons":[{"src":"https://a.example/i.png"}]}"#,
        ),
        (
            "2025-06-18",
            r#""completions":{},"#,
            r#"{"name":"demo","title":"Demo","version":"1"}"#,
        ),
        (
            "2025-03-26",
            r#""completions":{},"#,
            r#"{"name":"demo","version":"1"}"#,
        ),
        ("2024-11-05", "", r#"{"name":"demo","version":"1"}"#),
    ] {
        let params = format!(
            r#""protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}"#
        );
        let message = request("initialize", &params);
        let prepared =
            snodo_core::pipeline::prepare(&server(), message.as_bytes(), common::stdio());
        let snodo_core::pipeline::Prepared::Open { answer, .. } = prepared else {
            panic!("{prepared:?}");
        };
        assert_eq!(
            unwrapped(&text(answer).0),
            format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{{completions}{capabilities}}},"serverInfo":{info},"instructions":"Look first."}}"#
            )
        );
    }
}

#[test]
fn lists_hold_what_the_revision_knows() {
    let rest = r#"{"name":"plain","inputSchema":{"type":"object"}}"#;
    let list = r#"{"name":"list","inputSchema":{"type":"object"}}"#;
    let input = r#""inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"integer"}}}"#;
    let output = r#""outputSchema":{"type":"object","properties":{"n":{}}}"#;
    let hints = r#""annotations":{"readOnlyHint":true}"#;
    for (version, full) in [
        (
            "2025-11-25",
            format!(
                r#""title":"T","description":"d",{input},{output},{hints},"icons":[{ICON}],"_meta":{{"k":1}}"#
            ),
        ),
        (
            "2025-06-18",
            format!(r#""title":"T","description":"d",{input},{output},{hints},"_meta":{{"k":1}}"#),
        ),
        (
            "2025-03-26",
            format!(r#""description":"d",{input},{hints}"#),
        ),
        ("2024-11-05", format!(r#""description":"d",{input}"#)),
    ] {
        assert_eq!(
            result(version, "tools/list", ""),
            format!(r#"{{"tools":[{{"name":"full",{full}}},{list},{rest}]}}"#),
            "{version}"
        );
    }
    for (version, c, t, p) in [
        (
            "2025-11-25",
            r#","title":"C","icons":[{"src":"https://a.example/i.png"}]"#,
            r#","_meta":{"k":1}"#,
            r#","title":"P""#,
        ),
        (
            "2025-06-18",
            r#","title":"C""#,
            r#","_meta":{"k":1}"#,
            r#","title":"P""#,
        ),
        ("2025-03-26", "", "", ""),
        ("2024-11-05", "", "", ""),
    ] {
        assert_eq!(
            result(version, "resources/list", ""),
            format!(
                r#"{{"resources":[{{"uri":"a:c","name":"c"{c}}},{{"uri":"a:d","name":"d","mimeType":"text/plain"}}]}}"#
            )
        );
        assert_eq!(
            result(version, "resources/templates/list", ""),
            format!(r#"{{"resourceTemplates":[{{"uriTemplate":"t://h/{{a}}","name":"t"{t}}}]}}"#)
        );
        assert_eq!(
            result(version, "prompts/list", ""),
            format!(
                r#"{{"prompts":[{{"name":"p"{p},"description":"about","arguments":[{{"name":"a"}}]}}]}}"#
            )
        );
    }
}

#[test]
fn pages_are_of_one_revision() {
    let mut settings = every_era();
    settings.page_size = Some(1);
    let tools = ["a", "b"].map(|name| {
        tool(&format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#
        ))
    });
    let runtime = common::with_tools(settings, tools.into());
    let page = |version: &str, params: &str| {
        let message = request("tools/list", params);
        ask(&runtime, &message, opened(version, "{}"))
    };
    let (first, _) = page("2025-11-25", "");
    let (_, cursor) = first.split_once(r#""nextCursor":"#).expect("a cursor");
    let cursor = format!(r#""cursor":{}"#, cursor.trim_end_matches('}'));
    let (second, _) = page("2025-11-25", &cursor);
    assert_eq!(
        unwrapped(&second),
        r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#
    );
    let (other, verdict) = page("2025-06-18", &cursor);
    assert!(other.contains("Invalid pagination cursor"), "{other}");
    assert_eq!(verdict, Verdict::Told(-32602));
}

#[test]
fn a_tool_gives_content_and_where_known_an_object() {
    for version in ERA {
        assert_eq!(
            tool_result(version, Value::Text("hi".to_owned())),
            r#"{"content":[{"type":"text","text":"hi"}],"isError":false}"#
        );
        assert_eq!(
            tool_result(version, Value::Failure("no".to_owned())),
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#
        );
        // Arguments that a schema refuses fail the tool, not the request.
        let refused = result(
            version,
            "tools/call",
            r#""name":"full","arguments":{"c":"x"}"#,
        );
        assert!(refused.ends_with(r#""isError":true}"#), "{refused}");
        // What is no object has no place but the text.
        assert_eq!(
            tool_result(version, Value::Structured(b"[1]".to_vec())),
            r#"{"content":[{"type":"text","text":"[1]"}],"isError":false}"#
        );
        let list = given(
            version,
            "tools/call",
            r#""name":"list""#,
            Value::Structured(b"[1]".to_vec()),
        );
        assert_eq!(
            list,
            r#"{"content":[{"type":"text","text":"[1]"}],"isError":false}"#
        );
    }
    let object = || Value::Structured(br#"{"n":1}"#.to_vec());
    for (version, structured) in [
        ("2025-11-25", r#","structuredContent":{"n":1}"#),
        ("2025-06-18", r#","structuredContent":{"n":1}"#),
        ("2025-03-26", ""),
        ("2024-11-05", ""),
    ] {
        assert_eq!(
            tool_result(version, object()),
            format!(
                r#"{{"content":[{{"type":"text","text":"{{\"n\":1}}"}}]{structured},"isError":false}}"#
            )
        );
    }
}

#[test]
fn a_result_object_leaves_out_what_is_of_the_other_era() {
    let raw = |json: &str| Value::Raw(json.as_bytes().to_vec());
    let wire = |json: &str| Value::Wire(json.as_bytes().to_vec());
    let whole = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public","structuredContent":{"n":1},"x":2,"_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{}}}"#;
    for value in [raw(whole), wire(whole)] {
        assert_eq!(
            tool_result("2025-11-25", value),
            r#"{"content":[],"structuredContent":{"n":1},"x":2,"isError":false,"_meta":{"k":1}}"#
        );
    }
    assert_eq!(
        tool_result("2025-03-26", raw(whole)),
        r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"x":2,"isError":false,"_meta":{"k":1}}"#
    );
    let scalar = r#"{"content":[],"structuredContent":5,"isError":true}"#;
    assert_eq!(
        tool_result("2025-06-18", raw(scalar)),
        r#"{"content":[{"type":"text","text":"5"}],"isError":true}"#
    );
    let both = r#"{"structuredContent":[5],"content":[{"type":"text","text":"five"}]}"#;
    assert_eq!(
        tool_result("2025-11-25", raw(both)),
        r#"{"content":[{"type":"text","text":"five"}],"isError":false}"#
    );
    let metadata = Outcome {
        value: Value::Text("x".to_owned()),
        metadata: object(r#"{"io.modelcontextprotocol/serverInfo":{},"b":2}"#),
        named: true,
    };
    let content = r#""content":[{"type":"text","text":"x"}],"isError":false"#;
    assert_eq!(
        given("2025-11-25", "tools/call", r#""name":"plain""#, metadata),
        format!(r#"{{{content},"_meta":{{"b":2}}}}"#)
    );
    let nothing = Outcome {
        value: Value::Text("x".to_owned()),
        metadata: object(r#"{"io.modelcontextprotocol/serverInfo":{}}"#),
        named: true,
    };
    assert_eq!(
        given("2025-11-25", "tools/call", r#""name":"plain""#, nothing),
        format!("{{{content}}}")
    );
}

#[test]
fn content_that_is_not_known_is_told_in_words() {
    let link = r#"{"type":"resource_link","uri":"a:b","name":"b","title":"B","description":"about b","annotations":{"priority":1.0}}"#;
    let audio = r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#;
    let rest = r#"{"type":"text","text":"x","n":1.0}"#;
    let told_link = r#"{"type":"text","text":"B: a:b\nabout b","annotations":{"priority":1.0}}"#;
    let told_audio =
        r#"{"type":"text","text":"(audio of type audio/wav, which this client cannot be sent)"}"#;
    for (version, first, second) in [
        ("2025-11-25", link, audio),
        ("2025-06-18", link, audio),
        ("2025-03-26", told_link, audio),
        ("2024-11-05", told_link, told_audio),
    ] {
        let blocks = format!("[{link},{audio},{rest}]").into_bytes();
        let expected = format!(r#"{{"content":[{first},{second},{rest}],"isError":false}}"#);
        assert_eq!(
            tool_result(version, Value::Content(blocks.clone())),
            expected
        );
        let raw = format!(r#"{{"content":[{link},{audio},{rest}],"isError":false}}"#);
        assert_eq!(tool_result(version, Value::Raw(raw.into_bytes())), expected);
        let blocks = format!("[{link},{audio}]").into_bytes();
        assert_eq!(
            given(
                version,
                "prompts/get",
                r#""name":"p""#,
                Value::Content(blocks)
            ),
            format!(
                r#"{{"description":"about","messages":[{{"role":"user","content":{first}}},{{"role":"user","content":{second}}}]}}"#
            )
        );
    }
}

#[test]
fn reads_and_completions_say_nothing_of_how_long_they_hold() {
    for version in ERA {
        assert_eq!(
            result(version, "resources/read", r#""uri":"a:c""#),
            r#"{"contents":[{"uri":"a:c","text":"x"}]}"#
        );
        assert_eq!(
            given(
                version,
                "resources/read",
                r#""uri":"a:d""#,
                Value::Text("x".to_owned())
            ),
            r#"{"contents":[{"uri":"a:d","mimeType":"text/plain","text":"x"}]}"#
        );
        let read = Value::ResourceRead {
            contents: br#"[{"text":"y"}]"#.to_vec(),
            ttl_ms: Some(5),
            cache_scope: Some("public".to_owned()),
        };
        assert_eq!(
            given(version, "resources/read", r#""uri":"t://h/1""#, read),
            r#"{"contents":[{"uri":"t://h/1","text":"y"}]}"#
        );
        let params = r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}"#;
        assert_eq!(
            given(
                version,
                "completion/complete",
                params,
                Value::Structured(br#"["x"]"#.to_vec())
            ),
            r#"{"completion":{"values":["x"]}}"#
        );
    }
}

#[test]
fn errors_have_the_codes_of_their_era() {
    let error = |version: &str, error: Error| {
        answer(
            version,
            "tools/call",
            r#""name":"plain""#,
            Value::Error(error),
        )
    };
    let coded = |code| Error::new(code, Kind::Protocol, "m");
    for version in ERA {
        let message = request("resources/read", r#""uri":"no:where""#);
        assert_eq!(
            ask(&server(), &message, opened(version, "{}")),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"no:where"}}}"#.to_owned(),
                Verdict::Told(-32002)
            )
        );
        let raised = answer(
            version,
            "resources/read",
            r#""uri":"a:d""#,
            Error::resource_not_found("a:d"),
        );
        assert_eq!(raised.1, Verdict::Told(-32002));
        assert_eq!(error(version, coded(-32021)).1, Verdict::Told(-32602));
        assert_eq!(error(version, coded(-32602)).1, Verdict::Told(-32602));
        assert_eq!(error(version, coded(7)).1, Verdict::Told(7));
        let pages = if version == "2025-11-25" {
            -32042
        } else {
            -32603
        };
        assert_eq!(error(version, coded(-32042)).1, Verdict::Told(pages));
    }
}

#[test]
fn a_result_that_is_none_is_an_internal_error() {
    for version in ERA {
        for value in [
            Value::Blob("AAAA".to_owned()),
            Value::Raw(b"[]".to_vec()),
            Value::Content(b"{}".to_vec()),
            Value::Structured(vec![0xff]),
        ] {
            let (_, verdict) = answer(version, "tools/call", r#""name":"plain""#, value);
            assert_eq!(verdict, Verdict::Told(-32603));
        }
        let (_, verdict) = answer(
            version,
            "tools/call",
            r#""name":"full""#,
            Value::Text("x".to_owned()),
        );
        assert_eq!(verdict, Verdict::Told(-32603));
    }
}

#[test]
fn notices_are_spelled_as_ever() {
    let runtime = server();
    let message = request(
        "tools/call",
        r#""name":"plain","_meta":{"progressToken":"t"}"#,
    );
    let progress = Notice::Progress(Progress::new(
        Amount::Int(1),
        Some(Amount::Int(2)),
        Some("half".to_owned()),
    ));
    let entry = Notice::Log(Entry {
        level: Level::named("error").expect("a level"),
        logger: Some("l".to_owned()),
        data: b"1".to_vec(),
    });
    for version in ERA {
        let context = call(&runtime, &message, opened(version, "{}")).context;
        assert!(context.wants(&progress) && context.wants(&entry));
        let told = |notice: &Notice| {
            let mut out = Vec::new();
            context.dialect.notice(&context, notice, &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        let words = if version == "2024-11-05" {
            ""
        } else {
            r#","message":"half""#
        };
        assert_eq!(
            told(&progress),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t","progress":1,"total":2{words}}}}}"#
            )
        );
        assert_eq!(
            told(&entry),
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":1}}"#
        );
    }
}

#[test]
fn events_are_told_without_a_subscription() {
    let event = |change, metadata: &str| Event::new(change, object(metadata)).expect("an event");
    for (event, expected) in [
        (
            event(Change::ToolsList, "{}"),
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ),
        (
            event(Change::PromptsList, "{}"),
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
        ),
        (
            event(Change::ResourcesList, r#"{"k":1}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"k":1}}}"#,
        ),
        (
            event(Change::Resource("a:b".to_owned()), "{}"),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#,
        ),
    ] {
        let told = ALL.map(|dialect| {
            dialect
                .changed(&event)
                .map(|told| String::from_utf8(told).expect("UTF-8"))
        });
        assert_eq!(told[0], None);
        assert!(
            told[1..]
                .iter()
                .all(|told| told.as_deref() == Some(expected)),
            "{told:?}"
        );
    }
}
