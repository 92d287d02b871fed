//! Who takes part in a request, decided in one place: negotiated, surrounded, routed like any other.

mod common;

use std::sync::Arc;

use common::{GREET, META, ask, http, object, settings, stdio, tool, with_tools};
use snodo_core::call::{Call, Target};
use snodo_core::context::Arrival;
use snodo_core::dialect::ALL;
use snodo_core::error::{Error, Kind};
use snodo_core::extension::{Around, Extension, Method};
use snodo_core::json::Json;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{self, Check, Prepared, Step, Telling, finish, prepare, proceed};
use snodo_core::runtime::{Runtime, Settings};
use snodo_core::schema::{Schema, Validator};
use snodo_core::subscription::{Event, Filter, Listen, Own, Selection};

const JOBS: &str = "com.example/jobs";

fn jobs() -> Extension {
    Extension {
        id: JOBS.to_owned(),
        versions: vec!["2026-07-28".to_owned()],
        settings: object(r#"{"v":1}"#),
        advertised: true,
        methods: vec![Method {
            name: "jobs/get",
            mirrored: Some(("mcp-name".to_owned(), "jobId".to_owned())),
            schema: None,
        }],
        negotiates: false,
        missing: None,
        around: Around::Nothing,
        result_types: vec!["job".to_owned()],
        filter_keys: vec!["jobIds".to_owned()],
        tells_current: false,
    }
}

fn extended(extensions: Vec<Extension>) -> Runtime {
    let settings = Settings {
        extensions,
        dialects: ALL.to_vec(),
        subscriptions: true,
        ..settings()
    };
    with_tools(settings, vec![tool(GREET)])
}

/// A request whose client declares these extensions (the members of an object).
fn request(method: &str, params: &str, declared: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{{declared}}}}}}}}}}}"#
    )
}

const DECLARED: &str = r#""com.example/jobs":{"a":1}"#;
const GREET_ADA: &str = r#""name":"greet","arguments":{"name":"Ada"}"#;

fn called(runtime: &Runtime, message: &str) -> Call {
    match prepare(runtime, message.as_bytes(), stdio()) {
        Prepared::Call(call) => call,
        other => panic!("not a call: {other:?}"),
    }
}

fn code(runtime: &Runtime, message: &str) -> i64 {
    let (body, _) = ask(runtime, message, stdio());
    let error = object(&body).take("error").expect("an error");
    match error.as_object().and_then(|error| error.get("code")) {
        Some(Json::Int(code)) => *code,
        other => panic!("no code: {other:?}"),
    }
}

fn structured(text: &str) -> Outcome {
    Value::Structured(text.as_bytes().to_vec()).into()
}

#[test]
fn a_method_is_there_for_those_who_declare_it() {
    let runtime = extended(vec![jobs()]);
    let call = called(&runtime, &request("jobs/get", r#""jobId":"j""#, DECLARED));
    assert!(matches!(&call.target, Target::Method(method) if method.name == "jobs/get"));
    assert_eq!(call.arguments, object(r#"{"jobId":"j"}"#));
    assert_eq!(call.context.method, "jobs/get");
    let agreed = call.context.extensions.as_deref().expect("agreed");
    assert_eq!(*agreed, object(r#"{"com.example/jobs":{"a":1}}"#));
    assert_eq!(
        code(&runtime, &request("jobs/get", r#""jobId":"j""#, "")),
        -32601
    );
    assert_eq!(code(&runtime, &request("jobs/other", "", DECLARED)), -32601);
}

#[test]
fn parameters_are_held_to_the_schema_of_the_method() {
    let schema =
        r#"{"type":"object","properties":{"jobId":{"type":"string"}},"required":["jobId"]}"#;
    let schema = Json::Object(object(schema));
    let schema = Schema::input(&schema, Validator::Full).expect("a good schema");
    let mut extension = jobs();
    extension.methods[0].schema = Some(Arc::new(schema));
    let runtime = extended(vec![extension]);
    called(
        &runtime,
        &request("jobs/get", r#""jobId":"j","more":1"#, DECLARED),
    );
    for wrong in [r#""jobId":1"#, ""] {
        assert_eq!(
            code(&runtime, &request("jobs/get", wrong, DECLARED)),
            -32602
        );
        // Who may not use it is told that first.
        assert_eq!(code(&runtime, &request("jobs/get", wrong, "")), -32601);
    }
}

#[test]
fn who_did_not_declare_it_is_told_what_is_missing() {
    let missing = Error::new(-32021, Kind::Extension, "Declare it");
    let runtime = extended(vec![Extension {
        missing: Some(missing),
        ..jobs()
    }]);
    assert_eq!(
        code(&runtime, &request("jobs/get", r#""jobId":"j""#, "")),
        -32021
    );
    let listen = request(
        "subscriptions/listen",
        r#""notifications":{"jobIds":["j"]}"#,
        "",
    );
    assert_eq!(code(&runtime, &listen), -32021);
}

#[test]
fn what_is_not_advertised_does_nothing() {
    let runtime = extended(vec![Extension {
        advertised: false,
        around: Around::Everything,
        negotiates: true,
        missing: Some(Error::internal("never said")),
        ..jobs()
    }]);
    assert_eq!(
        code(&runtime, &request("jobs/get", r#""jobId":"j""#, DECLARED)),
        -32601
    );
    let call = called(&runtime, &request("tools/call", GREET_ADA, DECLARED));
    assert_eq!(call.target, Target::Tool(0));
    assert_eq!(call.context.extensions, None);
    let (discovered, _) = ask(&runtime, &request("server/discover", "", ""), stdio());
    assert!(!discovered.contains("extensions"), "{discovered}");
}

#[test]
fn it_is_advertised_where_it_can_be_used() {
    let runtime = extended(vec![jobs()]);
    let (discovered, _) = ask(&runtime, &request("server/discover", "", ""), stdio());
    let advertised = r#""extensions":{"com.example/jobs":{"v":1}}}"#;
    assert!(discovered.contains(advertised), "{discovered}");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    match prepare(&runtime, initialize.as_bytes(), stdio()) {
        Prepared::Open { answer, .. } => {
            let body = String::from_utf8(answer.body).expect("text");
            assert!(!body.contains("extensions"), "{body}");
        }
        other => panic!("not opened: {other:?}"),
    }
}

#[test]
fn a_callback_decides_what_is_agreed_on() {
    let runtime = extended(vec![Extension {
        negotiates: true,
        ..jobs()
    }]);
    let message = request("jobs/get", r#""jobId":"j""#, DECLARED);
    let call = called(&runtime, &message);
    assert!(matches!(&call.target, Target::Negotiation(_)));
    assert_eq!(call.arguments, object(r#"{"a":1}"#));
    let after = |outcome: &Outcome| {
        let Call {
            target, context, ..
        } = called(&runtime, &message);
        proceed(&runtime, &context, target, outcome)
    };
    match after(&structured(r#"{"settings":{"b":2}}"#)) {
        Step::Call(Call {
            target: Target::Method(_),
            context,
            ..
        }) => {
            let agreed = context.extensions.as_deref().expect("agreed");
            assert_eq!(*agreed, object(r#"{"com.example/jobs":{"b":2}}"#));
        }
        other => panic!("not called: {other:?}"),
    }
    for (outcome, code) in [
        (structured("{}"), -32601),
        (structured(r#"{"settings":1}"#), -32603),
        (structured("1"), -32603),
        (Value::Text("yes".to_owned()).into(), -32603),
        (Error::invalid_params("Not these").into(), -32602),
    ] {
        match after(&outcome) {
            Step::Answer(answer) => {
                let body = String::from_utf8(answer.body).expect("text");
                assert!(body.contains(&format!(r#""code":{code}"#)), "{body}");
            }
            other => panic!("not answered: {other:?}"),
        }
    }
    // Who does not declare it is not asked.
    let call = called(&runtime, &request("tools/call", GREET_ADA, ""));
    assert_eq!(call.target, Target::Tool(0));
}

fn layered(around: Around) -> Extension {
    Extension { around, ..jobs() }
}

fn other() -> Extension {
    Extension {
        id: "com.example/other".to_owned(),
        methods: vec![Method {
            name: "other/get",
            mirrored: None,
            schema: None,
        }],
        filter_keys: Vec::new(),
        tells_current: false,
        ..layered(Around::Everything)
    }
}

fn place(call: &Call) -> Option<usize> {
    match &call.target {
        Target::Layer(layer) => Some(layer.at),
        _ => None,
    }
}

#[test]
fn layers_are_around_whether_agreed_on_or_not_the_first_outermost() {
    let runtime = extended(vec![layered(Around::Everything), other()]);
    for declared in [DECLARED, ""] {
        let outer = called(&runtime, &request("tools/call", GREET_ADA, declared));
        assert_eq!(place(&outer), Some(0));
        assert_eq!(outer.context.agrees_on(JOBS), !declared.is_empty());
        let sent = object(r#"{"name":"greet","arguments":{"name":"Ada"}}"#);
        assert_eq!(outer.arguments, sent);
        let inner = below(&runtime, &outer);
        assert_eq!(place(&inner), Some(1));
        assert_eq!(inner.arguments, sent);
        let tool = below(&runtime, &inner);
        assert_eq!(tool.target, Target::Tool(0));
        assert_eq!(tool.arguments, object(r#"{"name":"Ada"}"#));
    }
    // Around what an extension adds, and what is listened to, there is nothing.
    let method = called(
        &runtime,
        &request("other/get", "", r#""com.example/other":{}"#),
    );
    assert!(matches!(method.target, Target::Method(_)));
}

fn below(runtime: &Runtime, call: &Call) -> Call {
    let Target::Layer(layer) = &call.target else {
        panic!("no layer: {call:?}");
    };
    match pipeline::rest(runtime, &call.context, layer, None) {
        Step::Call(call) => call,
        other => panic!("not a call: {other:?}"),
    }
}

#[test]
fn layers_are_around_the_operations_they_name() {
    let runtime = extended(vec![layered(Around::These(vec!["tools/call".to_owned()]))]);
    let call = called(&runtime, &request("tools/call", GREET_ADA, ""));
    assert_eq!(place(&call), Some(0));
    let (list, _) = ask(&runtime, &request("tools/list", "", ""), stdio());
    assert!(list.contains("greet"));
}

#[test]
fn the_checks_can_be_made_without_the_call() {
    let runtime = extended(vec![layered(Around::Everything), other()]);
    let check = |params: &str| {
        let call = called(&runtime, &request("tools/call", params, ""));
        let Target::Layer(layer) = &call.target else {
            panic!("no layer: {call:?}");
        };
        pipeline::check(&runtime, &call.context, layer)
    };
    assert!(matches!(check(GREET_ADA), Check::Runs));
    for (params, said) in [
        (r#""name":"greet","arguments":{}"#, r#""isError":true"#),
        (r#""name":"nobody""#, r#""code":-32602"#),
    ] {
        match check(params) {
            Check::Answer(answer) => {
                let body = String::from_utf8(answer.body).expect("text");
                assert!(body.contains(said), "{body}");
            }
            other => panic!("not answered: {other:?}"),
        }
    }
}

#[test]
fn an_answer_passes_through_a_layer_as_it_is() {
    let runtime = extended(vec![layered(Around::Everything)]);
    let layer = called(&runtime, &request("tools/call", GREET_ADA, ""));
    let tool = below(&runtime, &layer);
    let given: Outcome = Outcome {
        metadata: object(r#"{"com.example/x":1}"#),
        ..Value::Text("héllo".to_owned()).into()
    };
    let answer = finish(&runtime, &tool.context, &tool.target, &given);
    let result = pipeline::passed(&layer.context, &answer).expect("a result");
    let again = finish(
        &runtime,
        &layer.context,
        &layer.target,
        &Value::Wire(result).into(),
    );
    assert_eq!(again, answer);
    let refused: Outcome = Error::new(-7, Kind::Execution, "no")
        .with_data(Json::Int(5))
        .into();
    let answer = finish(&runtime, &tool.context, &tool.target, &refused);
    let error = pipeline::passed(&layer.context, &answer).expect_err("an error");
    assert_eq!((error.code, &*error.message), (-7, "no"));
    let again = finish(&runtime, &layer.context, &layer.target, &error.into());
    assert_eq!(again, answer);
}

fn shaped(runtime: &Runtime, call: &Call, value: Value) -> String {
    let outcome = Outcome {
        named: true,
        ..value.into()
    };
    let answer = finish(runtime, &call.context, &call.target, &outcome);
    String::from_utf8(answer.body).expect("text")
}

#[test]
fn a_result_type_is_sent_to_those_who_declare_it() {
    let runtime = extended(vec![layered(Around::Everything)]);
    let job = || Value::Wire(br#"{"resultType":"job","jobId":"j"}"#.to_vec());
    for (declared, said) in [
        (
            DECLARED,
            r#""result":{"resultType":"job","jobId":"j","_meta""#,
        ),
        ("", r#""code":-32603"#),
    ] {
        let layer = called(&runtime, &request("tools/call", GREET_ADA, declared));
        let body = shaped(&runtime, &layer, job());
        assert!(body.contains(said), "{body}");
        let tool = below(&runtime, &layer);
        let body = shaped(&runtime, &tool, job());
        assert!(body.contains(said), "{body}");
    }
}

#[test]
fn a_layer_answers_as_what_it_is_around() {
    let runtime = extended(vec![layered(Around::Everything)]);
    let tool = called(&runtime, &request("tools/call", GREET_ADA, ""));
    let list = called(&runtime, &request("tools/list", "", ""));
    let invalid = "Extension middleware returned an invalid result";
    assert!(shaped(&runtime, &tool, Value::Text("x".to_owned())).contains(r#""text":"x""#));
    assert!(shaped(&runtime, &list, Value::Text("x".to_owned())).contains(invalid));
    let wire = || Value::Wire(br#"{"resultType":"complete","tools":[]}"#.to_vec());
    assert!(shaped(&runtime, &list, wire()).contains(r#""tools":[]"#));
    let asks = || Value::InputRequired {
        requests: None,
        state: Some("s".to_owned()),
    };
    assert!(shaped(&runtime, &tool, asks()).contains("input_required"));
    assert!(shaped(&runtime, &list, asks()).contains("not permitted"));
    // A plain value is no result.
    let plain = Value::Text("x".to_owned()).into();
    let answer = finish(&runtime, &tool.context, &tool.target, &plain);
    assert!(
        String::from_utf8(answer.body)
            .expect("text")
            .contains(invalid)
    );
}

#[test]
fn a_method_gives_an_object() {
    let runtime = extended(vec![jobs()]);
    let call = called(&runtime, &request("jobs/get", r#""jobId":"j""#, DECLARED));
    let server = common::SERVER;
    let result = |object: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{object}}}"#);
    for (given, sent) in [
        ("{}", format!(r#"{{"resultType":"complete",{server}}}"#)),
        (
            r#"{"a":1}"#,
            format!(r#"{{"resultType":"complete","a":1,{server}}}"#),
        ),
        (
            r#"{"resultType":"job"}"#,
            format!(r#"{{"resultType":"job",{server}}}"#),
        ),
    ] {
        let body = shaped(
            &runtime,
            &call,
            Value::Structured(given.as_bytes().to_vec()),
        );
        assert_eq!(body, result(&sent));
    }
    // What is said as it is to be sent, is.
    let body = shaped(&runtime, &call, Value::Wire(br#"{"a":1}"#.to_vec()));
    assert_eq!(body, result(&format!(r#"{{"a":1,{server}}}"#)));
    for nonsense in [
        Value::Text("x".to_owned()),
        Value::Structured(b"[]".to_vec()),
        Value::Content(b"[]".to_vec()),
    ] {
        let body = shaped(&runtime, &call, nonsense);
        assert!(
            body.contains("Extension method returned an invalid result"),
            "{body}"
        );
    }
    for asks in [
        Value::InputRequired {
            requests: None,
            state: Some("s".to_owned()),
        },
        Value::Wire(br#"{"resultType":"input_required","requestState":"s"}"#.to_vec()),
    ] {
        let body = shaped(&runtime, &call, asks);
        assert!(body.contains("not permitted"), "{body}");
    }
}

#[test]
fn a_header_repeats_the_parameter_it_was_declared_for() {
    let runtime = extended(vec![jobs()]);
    let message = request("jobs/get", r#""jobId":"jö""#, DECLARED);
    let with = |name: &str| {
        let headers = format!("mcp-protocol-version: 2026-07-28\nmcp-method: jobs/get\n{name}");
        let arrival: Arrival = http(&headers);
        match prepare(&runtime, message.as_bytes(), arrival) {
            Prepared::Call(_) => None,
            Prepared::Answer(answer) => Some(String::from_utf8(answer.body).expect("text")),
            other => panic!("neither: {other:?}"),
        }
    };
    assert_eq!(with("mcp-name: =?base64?asO2?="), None);
    for wrong in ["", "mcp-name: j", "mcp-name: =?base64?asO2?=\nmcp-name: x"] {
        let refused = with(wrong).expect("refused");
        assert!(refused.contains(r#""code":-32020"#), "{wrong}: {refused}");
    }
}

fn listening(runtime: &Runtime, filter: &str, declared: &str) -> Listen {
    let params = format!(r#""notifications":{filter}"#);
    let message = request("subscriptions/listen", &params, declared);
    match prepare(runtime, message.as_bytes(), stdio()) {
        Prepared::Listen(listen) => listen,
        other => panic!("does not listen: {other:?}"),
    }
}

#[test]
fn an_extension_says_what_is_heard_of_it() {
    let runtime = extended(vec![jobs()]);
    let filter = r#"{"toolsListChanged":true,"jobIds":["a","b"],"others":["x"]}"#;
    // Nobody is asked for whom nothing is agreed on; then the member is somebody else's.
    assert!(listening(&runtime, filter, "").before.is_none());
    let asked = || {
        let mut listen = listening(&runtime, filter, DECLARED);
        let call = listen.before.take().expect("a call");
        (listen, *call)
    };
    let (listen, call) = asked();
    assert_eq!(call.arguments, object(r#"{"jobIds":["a","b"]}"#));
    let accepted = structured(r#"{"jobIds":["b"]}"#);
    let heard = pipeline::heard(&runtime, listen, call.target, &accepted).expect("accepted");
    assert!(heard.before.is_none());
    let id = heard.id().clone();
    let acknowledged = heard.context.dialect.acknowledge(&id, &heard.filter);
    let acknowledged = String::from_utf8(acknowledged).expect("text");
    let told = r#""notifications":{"toolsListChanged":true,"jobIds":["b"]}"#;
    assert!(acknowledged.contains(told), "{acknowledged}");
    for (selector, heard_of) in [("b", true), ("a", false)] {
        assert_eq!(heard.filter.selects(&event(JOBS, selector)), heard_of);
    }
    assert!(!heard.filter.selects(&event("com.example/other", "b")));
    for (outcome, code) in [
        (structured(r#"{"jobIds":["c"]}"#), -32603),
        (structured(r#"{"other":true}"#), -32603),
        (structured(r#"{"jobIds":1}"#), -32603),
        (structured("1"), -32603),
        (Error::invalid_params("Unknown job").into(), -32602),
    ] {
        let (listen, call) = asked();
        let refused = pipeline::heard(&runtime, listen, call.target, &outcome);
        assert_eq!(refused.expect_err("refused").code, code);
    }
    let (listen, call) = asked();
    let nothing = pipeline::heard(&runtime, listen, call.target, &structured("{}"));
    assert!(nothing.expect("accepted").filter.extensions.is_empty());
}

#[test]
fn a_member_of_a_filter_selects_by_name_or_by_list() {
    let runtime = extended(vec![jobs()]);
    let message = |filter: &str| {
        let params = format!(r#""notifications":{{"jobIds":{filter}}}"#);
        request("subscriptions/listen", &params, DECLARED)
    };
    for wrong in ["1", "[1]", r#""a""#, "{}"] {
        assert_eq!(code(&runtime, &message(wrong)), -32602, "{wrong}");
    }
    let many = vec![r#""x""#; 1001].join(",");
    assert_eq!(code(&runtime, &message(&format!("[{many}]"))), -32602);
    assert!(
        listening(&runtime, r#"{"jobIds":false}"#, DECLARED)
            .before
            .is_none()
    );
    let mut listen = listening(&runtime, r#"{"jobIds":true}"#, DECLARED);
    let call = listen.before.take().expect("a call");
    let accepted = structured(r#"{"jobIds":true}"#);
    let heard = pipeline::heard(&runtime, listen, call.target, &accepted).expect("accepted");
    assert!(heard.filter.selects(&event(JOBS, "jobIds")));
    assert!(!heard.filter.selects(&event(JOBS, "a")));
}

#[test]
fn a_listener_is_settled_after_a_negotiation_too() {
    let runtime = extended(vec![Extension {
        negotiates: true,
        ..jobs()
    }]);
    let mut listen = listening(&runtime, r#"{"jobIds":["a"]}"#, DECLARED);
    let call = listen.before.take().expect("a call");
    assert!(matches!(call.target, Target::Negotiation(_)));
    let agreed = structured(r#"{"settings":{}}"#);
    let mut listen = pipeline::heard(&runtime, listen, call.target, &agreed).expect("agreed");
    let call = listen.before.take().expect("another call");
    assert!(matches!(call.target, Target::Selection(_)));
    assert!(call.context.agrees_on(JOBS));
}

fn event(extension: &str, selector: &str) -> Event {
    let own = Own {
        extension: extension.to_owned(),
        selector: selector.to_owned(),
    };
    let payload = Json::Object(object(r#"{"n":1}"#));
    Event::of_extension(own, payload, object(r#"{"com.example/k":2}"#)).expect("an event")
}

#[test]
fn a_listener_is_told_first_how_things_stand_if_the_extension_says_so() {
    let context = |runtime: &Runtime| listening(runtime, "{}", DECLARED).context;
    let accepted = Filter {
        extensions: vec![
            Selection::new(JOBS, object(r#"{"jobIds":["a","b"]}"#)).expect("a selection"),
        ],
        ..Filter::default()
    };
    let silent = extended(vec![jobs()]);
    assert!(pipeline::current(&silent, &context(&silent), &accepted).is_empty());
    let runtime = extended(vec![Extension {
        tells_current: true,
        ..jobs()
    }]);
    let context = context(&runtime);
    let events = pipeline::current(&runtime, &context, &accepted);
    let asked: Vec<_> = events
        .iter()
        .filter_map(|event| pipeline::event(&runtime, &context, event, Telling::Current))
        .map(|call| call.arguments)
        .collect();
    // Without a payload, which the extension knows.
    let expected = [r#"{"selector":"a"}"#, r#"{"selector":"b"}"#].map(object);
    assert_eq!(asked, expected);
    assert!(pipeline::current(&runtime, &context, &Filter::default()).is_empty());
}

#[test]
fn an_event_is_put_into_words_by_its_extension() {
    let runtime = extended(vec![jobs()]);
    let context = listening(&runtime, "{}", DECLARED).context;
    let event = event(JOBS, "a");
    let call = pipeline::event(&runtime, &context, &event, Telling::Change).expect("a call");
    assert_eq!(call.target, Target::Event(0));
    assert_eq!(
        call.arguments,
        object(r#"{"selector":"a","payload":{"n":1}}"#)
    );
    let told = |text: &str| pipeline::told(&context, &event, &structured(text));
    let said = told(r#"{"method":"notifications/jobs","params":{"n":1,"_meta":{"x":1}}}"#);
    let said = said.expect("good").expect("something");
    assert_eq!(
        String::from_utf8(said).expect("text"),
        r#"{"jsonrpc":"2.0","method":"notifications/jobs","params":{"_meta":{"x":1,"com.example/k":2,"io.modelcontextprotocol/subscriptionId":1},"n":1}}"#
    );
    assert_eq!(told("{}"), Ok(None));
    for nonsense in [
        r#"{"method":"jobs","params":{}}"#,
        r#"{"method":"notifications/message","params":{}}"#,
        r#"{"method":"notifications/jobs","params":[]}"#,
        r#"{"method":"notifications/jobs"}"#,
        "[]",
    ] {
        assert_eq!(
            told(nonsense).expect_err("refused").code,
            -32603,
            "{nonsense}"
        );
    }
}

#[test]
fn nothing_is_different_without_extensions() {
    let plain = with_tools(settings(), vec![tool(GREET)]);
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{GREET_ADA},{META}}}}}"#
    );
    assert_eq!(called(&plain, &message).target, Target::Tool(0));
    let message = request("tools/call", GREET_ADA, DECLARED);
    assert_eq!(called(&plain, &message).context.extensions, None);
}

#[test]
fn other_eras_are_served_as_they_were() {
    let runtime = extended(vec![layered(Around::Everything)]);
    let mut arrival = common::opened("2025-11-25", "{}");
    arrival.can_ask = false;
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{GREET_ADA}}}}}"#);
    match prepare(&runtime, message.as_bytes(), arrival.clone()) {
        Prepared::Call(call) => assert_eq!(call.target, Target::Tool(0)),
        other => panic!("not a call: {other:?}"),
    }
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"jobs/get","params":{"jobId":"j"}}"#;
    let (body, _) = ask(&runtime, message, arrival);
    assert!(body.contains(r#""code":-32601"#), "{body}");
}
