//! What handlers ask of clients that are asked by requests of the server: the requests, the answers and
//! what becomes of the call.

mod common;

use common::{call, constant, every_era, object, opened, prompt, resource, text, tool, with_tools};
use snodo_core::call::Call;
use snodo_core::context::Arrival;
use snodo_core::dialect::ALL;
use snodo_core::error::{Error, Kind};
use snodo_core::json::Object;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Questions, Step, Verdict, answered, proceed, withdraw};
use snodo_core::registry::Components;
use snodo_core::runtime::Runtime;

const FORM: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"Go?","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"ok":{"type":"boolean","default":true},"n":{"type":"integer","default":3},"c":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"default":"a"}},"required":["ok"]}}}"#;
const MANY: &str = r#"{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"c":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}}}"#;
const PAGE: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"Look","url":"https://a.example/x"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}],"maxTokens":5}}"#;
const TOOLS: &str = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}"#;
const CONTEXT: &str = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5,"includeContext":"thisServer"}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

const EVERYTHING: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}"#;

fn server() -> Runtime {
    Runtime::new(
        every_era(),
        Components {
            tools: vec![tool(r#"{"name":"t","inputSchema":{"type":"object"}}"#)],
            resources: vec![
                resource(r#"{"uri":"a:b","name":"b"}"#),
                constant(r#"{"uri":"a:c","name":"c"}"#, r#"[{"text":"x"}]"#),
            ],
            prompts: vec![prompt(
                r#"{"name":"p","arguments":[{"name":"a"}]}"#,
                vec![common::completable("a", None)],
            )],
            ..Components::default()
        },
    )
    .expect("a good server")
}

const TOOL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":1},"_meta":{"progressToken":7}}}"#;
const PROMPT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}"#;
const READ: &str = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}"#;

fn asking(requests: &str, state: Option<&str>) -> Outcome {
    Value::InputRequired {
        requests: (!requests.is_empty()).then(|| requests.as_bytes().to_vec()),
        state: state.map(str::to_owned),
    }
    .into()
}

fn after(runtime: &Runtime, message: &str, arrival: Arrival, outcome: &Outcome) -> (Call, Step) {
    let call = call(runtime, message, arrival);
    let step = proceed(runtime, &call.context, call.target.clone(), outcome);
    (call, step)
}

fn questions(step: Step) -> Questions {
    match step {
        Step::Ask(questions) => questions,
        other => panic!("no questions: {other:?}"),
    }
}

fn answer(step: Step) -> (String, Verdict) {
    match step {
        Step::Answer(answer) => text(answer),
        other => panic!("no answer: {other:?}"),
    }
}

/// The one request of a tool that asks this.
fn asked(version: &str, request: &str) -> String {
    let outcome = asking(&format!(r#"{{"k":{request}}}"#), None);
    let (_, step) = after(&server(), TOOL, opened(version, EVERYTHING), &outcome);
    let questions = questions(step);
    assert_eq!(questions.questions.len(), 1);
    String::from_utf8(questions.request(0, "q1")).expect("UTF-8")
}

/// Why a tool of this client cannot ask this.
fn unasked(arrival: Arrival, request: &str) -> String {
    let outcome = asking(&format!(r#"{{"k":{request}}}"#), None);
    let (body, verdict) = answer(after(&server(), TOOL, arrival, &outcome).1);
    assert_eq!(verdict, Verdict::Result);
    let text = body
        .strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""#)
        .and_then(|body| body.strip_suffix(r#""}],"isError":true}}"#));
    text.unwrap_or_else(|| panic!("no failure: {body}"))
        .to_owned()
}

#[test]
fn the_newest_revision_asks_everything_as_it_is() {
    let envelope = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"q1","method":"{method}"{params}}}"#)
    };
    for request in [FORM, MANY, SAMPLE, TOOLS, CONTEXT] {
        let request_object = object(request);
        let params = request_object.get("params").expect("parameters").to_vec();
        let params = format!(r#","params":{}"#, String::from_utf8(params).expect("UTF-8"));
        let method = if request.contains("elicitation") {
            "elicitation/create"
        } else {
            "sampling/createMessage"
        };
        assert_eq!(asked("2025-11-25", request), envelope(method, &params));
    }
    assert_eq!(
        asked("2025-11-25", PAGE),
        envelope(
            "elicitation/create",
            r#","params":{"mode":"url","message":"Look","url":"https://a.example/x","elicitationId":"q1"}"#
        )
    );
}

#[test]
fn every_revision_asks_for_roots() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        assert_eq!(
            asked(version, ROOTS),
            r#"{"jsonrpc":"2.0","id":"q1","method":"roots/list"}"#
        );
        let empty = r#"{"method":"roots/list","params":{}}"#;
        assert_eq!(
            asked(version, empty),
            r#"{"jsonrpc":"2.0","id":"q1","method":"roots/list"}"#
        );
    }
}

#[test]
fn an_older_revision_asks_simply() {
    assert_eq!(
        asked("2025-06-18", FORM),
        r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean","default":true},"n":{"type":"integer"},"c":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}},"required":["ok"]}}}"#
    );
    for version in ["2025-06-18", "2025-03-26"] {
        assert_eq!(
            asked(version, SAMPLE),
            r#"{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{"maxTokens":5,"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"audio","data":"AAAA","mimeType":"audio/wav"}}]}}"#
        );
    }
    // Any client of theirs that samples takes this.
    let (_, step) = after(
        &server(),
        TOOL,
        opened("2025-06-18", r#"{"sampling":{}}"#),
        &asking(&format!(r#"{{"k":{CONTEXT}}}"#), None),
    );
    questions(step);
    let (_, step) = after(
        &server(),
        TOOL,
        opened("2025-06-18", r#"{"elicitation":{}}"#),
        &asking(&format!(r#"{{"k":{FORM}}}"#), None),
    );
    questions(step);
}

#[test]
fn what_a_revision_has_not_is_not_asked() {
    for (version, request, why) in [
        (
            "2025-06-18",
            PAGE,
            "elicitation/create of a page is no request of this protocol revision",
        ),
        (
            "2025-06-18",
            MANY,
            "elicitation/create with a choice of several at once is no request of this protocol revision",
        ),
        (
            "2025-06-18",
            TOOLS,
            "sampling/createMessage with tools is no request of this protocol revision",
        ),
        (
            "2025-03-26",
            FORM,
            "elicitation/create is no request of this protocol revision",
        ),
        (
            "2025-03-26",
            PAGE,
            "elicitation/create is no request of this protocol revision",
        ),
        (
            "2024-11-05",
            FORM,
            "elicitation/create is no request of this protocol revision",
        ),
        (
            "2024-11-05",
            SAMPLE,
            "sampling/createMessage with such content is no request of this protocol revision",
        ),
    ] {
        assert_eq!(unasked(opened(version, EVERYTHING), request), why);
    }
}

#[test]
fn what_a_client_did_not_declare_is_not_asked() {
    let why = "The client did not declare the capability that this needs: ";
    for (version, capabilities, request, missing) in [
        ("2025-11-25", "{}", FORM, "elicitation.form"),
        (
            "2025-11-25",
            r#"{"elicitation":{"url":{}}}"#,
            FORM,
            "elicitation.form",
        ),
        (
            "2025-11-25",
            r#"{"elicitation":{}}"#,
            PAGE,
            "elicitation.url",
        ),
        ("2025-11-25", r#"{"sampling":{}}"#, TOOLS, "sampling.tools"),
        ("2025-11-25", r#"{"sampling":true}"#, SAMPLE, "sampling"),
        ("2025-06-18", "{}", FORM, "elicitation"),
        ("2024-11-05", "{}", ROOTS, "roots"),
    ] {
        assert_eq!(
            unasked(opened(version, capabilities), request),
            format!("{why}{missing}")
        );
    }
    // A client that cannot be asked and would not answer is told the latter.
    let mute = Arrival {
        can_ask: false,
        ..opened("2025-11-25", "{}")
    };
    assert_eq!(unasked(mute, PAGE), format!("{why}elicitation.url"));
    let outcome = asking(&format!(r#"{{"k":{ROOTS}}}"#), None);
    for message in [PROMPT, READ] {
        let (body, verdict) =
            answer(after(&server(), message, opened("2025-06-18", "{}"), &outcome).1);
        assert_eq!(
            body,
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{why}roots","data":{{"requiredCapabilities":{{"roots":{{}}}}}}}}}}"#
            )
        );
        assert_eq!(verdict, Verdict::Told(-32602));
    }
}

#[test]
fn who_cannot_be_asked_is_told_what_is_needed() {
    let needed = "This needs an answer of the client, which cannot be asked over its connection: it needs a session with an event stream, or a newer protocol revision";
    let stateless = || common::http("mcp-protocol-version: 2025-11-25");
    let mute = || Arrival {
        can_ask: false,
        ..opened("2025-06-18", EVERYTHING)
    };
    for arrival in [stateless(), mute()] {
        assert_eq!(unasked(arrival, FORM), needed);
    }
    for message in [PROMPT, READ] {
        let outcome = asking(&format!(r#"{{"k":{ROOTS}}}"#), None);
        let (body, verdict) = answer(after(&server(), message, stateless(), &outcome).1);
        assert_eq!(
            body,
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32603,"message":"{needed}"}}}}"#)
        );
        assert_eq!(verdict, Verdict::Told(-32603));
    }
    let (body, _) = answer(after(&server(), TOOL, stateless(), &asking("", Some("s"))).1);
    assert!(body.contains(needed));
}

#[test]
fn a_page_can_be_told_to_who_cannot_be_asked() {
    let told = |arrival: Arrival, state: Option<&str>, message: &str| {
        let outcome = asking(&format!(r#"{{"k":{PAGE}}}"#), state);
        let (body, verdict) = answer(after(&server(), message, arrival, &outcome).1);
        assert_eq!(verdict, Verdict::Told(-32042), "{body}");
        let body = body.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"This request needs the user to open a page first","data":{"elicitations":[{"mode":"url","message":"Look","url":"https://a.example/x","elicitationId":""#);
        let id = body.and_then(|body| body.strip_suffix(r#""}]}}}"#));
        id.expect("a page").to_owned()
    };
    let stateless = || common::http("mcp-protocol-version: 2025-11-25");
    let mute = || Arrival {
        can_ask: false,
        ..opened("2025-11-25", EVERYTHING)
    };
    let ids = [
        told(stateless(), Some("s"), TOOL),
        told(stateless(), Some("other"), TOOL),
        told(stateless(), Some("s"), TOOL),
        told(mute(), None, PROMPT),
    ];
    assert!(ids.iter().all(|id| id.len() == 22));
    assert!(ids[0] != ids[1] && ids[0] == ids[2] && ids[0] != ids[3]);
    // With anything else beside it that is of no use.
    let both = asking(&format!(r#"{{"k":{PAGE},"r":{ROOTS}}}"#), None);
    let (body, _) = answer(after(&server(), TOOL, stateless(), &both).1);
    assert!(body.contains("cannot be asked over its connection"));
}

#[test]
fn a_result_on_the_wire_may_ask_too() {
    let wire = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"k":{ROOTS}}},"requestState":"a\"b"}}"#
    );
    let (_, step) = after(
        &server(),
        TOOL,
        opened("2025-11-25", EVERYTHING),
        &Value::Wire(wire.into_bytes()).into(),
    );
    let questions = questions(step);
    assert_eq!(questions.state.as_deref(), Some("a\"b"));
    assert_eq!(questions.questions[0].key, "k");
}

#[test]
fn a_result_that_asks_wrongly_is_an_internal_error() {
    for (requests, state) in [
        ("", None),
        ("[]", None),
        (r#"{"k":{"method":"ping"}}"#, Some("s")),
        (r#"{"k":{"method":"roots/list","params":{"x":1}}}"#, None),
    ] {
        let (body, verdict) = answer(
            after(
                &server(),
                TOOL,
                opened("2025-11-25", EVERYTHING),
                &asking(requests, state),
            )
            .1,
        );
        assert!(body.contains("Invalid input-required result"), "{body}");
        assert_eq!(verdict, Verdict::Told(-32603));
    }
    let complete = r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}"#;
    let (body, _) = answer(
        after(
            &server(),
            complete,
            opened("2025-11-25", EVERYTHING),
            &asking("", Some("s")),
        )
        .1,
    );
    assert!(body.contains("Input-required result is not permitted for this operation"));
}

/// A tool's call goes on with these responses to a form and a request for roots.
fn go_on(message: &str, responses: Vec<Result<Object, Error>>) -> Step {
    let runtime = server();
    let outcome = asking(&format!(r#"{{"f":{FORM},"r":{ROOTS}}}"#), Some("kept"));
    let (call, step) = after(
        &runtime,
        message,
        opened("2025-06-18", EVERYTHING),
        &outcome,
    );
    answered(
        &runtime,
        &call.context,
        call.target,
        call.arguments,
        questions(step),
        responses,
    )
}

#[test]
fn with_the_answers_the_call_begins_again() {
    let form = r#"{"action":"accept","content":{"ok":true,"n":2}}"#;
    let roots = r#"{"roots":[{"uri":"file:///x"}]}"#;
    match go_on(TOOL, vec![Ok(object(form)), Ok(object(roots))]) {
        Step::Call(call) => {
            assert_eq!(call.arguments, object(r#"{"x":1}"#));
            let context = &call.context;
            assert_eq!(
                context.input_responses,
                Some(object(&format!(r#"{{"f":{form},"r":{roots}}}"#)))
            );
            assert_eq!(context.request_state.as_deref(), Some("kept"));
            assert_eq!(context.round, 1);
            assert_eq!(
                context.progress_token(),
                Some(&snodo_core::json::Json::Int(7))
            );
            assert!(context.asks());
        }
        other => panic!("no call: {other:?}"),
    }
    for declined in [
        r#"{"action":"decline"}"#,
        r#"{"action":"cancel","content":null,"_meta":null}"#,
    ] {
        let step = go_on(TOOL, vec![Ok(object(declined)), Ok(object(roots))]);
        assert!(matches!(step, Step::Call(_)));
    }
}

#[test]
fn without_good_answers_the_call_fails() {
    let form = || Ok(object(r#"{"action":"decline"}"#));
    let roots = || Ok(object(r#"{"roots":[]}"#));
    let refusal = Error::new(-1, Kind::JsonRpc, "User \"rejected\"");
    for (responses, why) in [
        (
            vec![
                Ok(object(r#"{"action":"accept","content":{"ok":1}}"#)),
                roots(),
            ],
            "The client's answer to elicitation/create is not valid: response.content.ok is not what the form asks for",
        ),
        (
            vec![form(), Ok(object(r#"{"roots":[{"uri":"http://x"}]}"#))],
            "The client's answer to roots/list is not valid: response.roots must be a list of objects with a file:// uri and perhaps a name",
        ),
        (
            vec![Err(refusal), roots()],
            r#"The client did not answer elicitation/create: User \"rejected\" (-1)"#,
        ),
        (vec![form()], "The client did not answer roots/list"),
    ] {
        let expected = format!(r#""content":[{{"type":"text","text":"{why}"}}],"isError":true"#);
        let (body, verdict) = answer(go_on(TOOL, responses.clone()));
        assert!(body.contains(&expected), "{body}");
        assert_eq!(verdict, Verdict::Result);
        let (body, verdict) = answer(go_on(READ, responses));
        assert!(
            body.contains(&format!(r#""error":{{"code":-32603,"message":"{why}"}}"#)),
            "{body}"
        );
        assert_eq!(verdict, Verdict::Told(-32603));
    }
}

#[test]
fn there_is_an_end_to_asking() {
    let mut settings = every_era();
    settings.limits.input_rounds = 3;
    let runtime = with_tools(
        settings,
        vec![tool(r#"{"name":"t","inputSchema":{"type":"object"}}"#)],
    );
    let mut next = call(&runtime, TOOL, opened("2025-11-25", EVERYTHING));
    for round in 0.. {
        // Nothing but a state: the handler only wants to be run again.
        match proceed(
            &runtime,
            &next.context,
            next.target.clone(),
            &asking("", Some("s")),
        ) {
            Step::Ask(questions) => {
                assert!(questions.questions.is_empty());
                match answered(
                    &runtime,
                    &next.context,
                    next.target,
                    next.arguments,
                    questions,
                    Vec::new(),
                ) {
                    Step::Call(call) => next = call,
                    other => panic!("no call: {other:?}"),
                }
            }
            step => {
                assert_eq!(round, 3);
                let (body, _) = answer(step);
                assert!(
                    body.contains("Gave up after 3 rounds of questions"),
                    "{body}"
                );
                break;
            }
        }
    }
}

#[test]
fn a_question_can_be_withdrawn() {
    assert_eq!(
        String::from_utf8(withdraw("q\"1")).expect("UTF-8"),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q\"1"}}"#
    );
    let request = object(ROOTS);
    assert!(ALL[0].question(&request, "q").is_err());
}
