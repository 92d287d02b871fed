//! Completion: who completes what, from known values or a handler, and within which bounds.

mod common;

use common::{
    answer, ask, call, completable, failure, prompt, request, resource, result, server, stdio,
    template,
};
use snodo_core::call::{Completed, Target};
use snodo_core::error::{Error, Kind};
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::Verdict;
use snodo_core::registry::{Completable, Components};
use snodo_core::runtime::Runtime;

const SUMMARISE: &str = r#"{"name":"summarise","arguments":[{"name":"text","required":true},{"name":"tone"},{"name":"style"}]}"#;
const NOTE: &str = r#"{"uriTemplate":"note://store/{id}","name":"note"}"#;

fn demo() -> Runtime {
    let styles = ["Formal", "friendly", "FRANK", "Élan", "dry"];
    server(Components {
        resources: vec![resource(r#"{"uri":"cfg://x","name":"x"}"#)],
        templates: vec![template(NOTE, &["id"])],
        prompts: vec![prompt(
            SUMMARISE,
            vec![
                completable("tone", None),
                completable("style", Some(&styles)),
            ],
        )],
        ..Components::default()
    })
}

const TONE: &str =
    r#""ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"tone","value":"f"}"#;

fn refused(params: &str, message: &str, data: &str) {
    assert_eq!(
        ask(&demo(), &request("completion/complete", params), stdio()),
        failure(-32602, message, data),
        "{params}"
    );
}

/// The answer when the handler gave this.
fn given(outcome: impl Into<Outcome>) -> (String, Verdict) {
    answer(&demo(), "completion/complete", TONE, outcome)
}

fn completion(object: &str) -> (String, Verdict) {
    result(&format!(
        r#"{{"resultType":"complete","completion":{object},SERVER}}"#
    ))
}

fn values(count: usize) -> String {
    let values: Vec<_> = (0..count).map(|at| format!("\"{at}\"")).collect();
    format!("[{}]", values.join(","))
}

fn explicit(values: &str, total: Option<u64>, has_more: Option<bool>) -> Value {
    Value::Completion {
        values: values.as_bytes().to_vec(),
        total,
        has_more,
    }
}

fn structured(text: &str) -> Value {
    Value::Structured(text.as_bytes().to_vec())
}

const INVALID: &str = "Completion returned an invalid result";

#[test]
fn the_handler_of_an_argument_gets_what_is_typed_and_what_is_given() {
    let runtime = demo();
    let params = format!(r#"{TONE},"context":{{"arguments":{{"text":"t"}}}}"#);
    let got = call(&runtime, &request("completion/complete", &params), stdio());
    let of = Completed::Prompt(0);
    let argument = "tone".to_owned();
    assert_eq!(got.target, Target::Completion { of, argument });
    assert_eq!(
        got.arguments,
        common::object(r#"{"value":"f","arguments":{"text":"t"}}"#)
    );
    let got = call(&runtime, &request("completion/complete", TONE), stdio());
    assert_eq!(
        got.arguments,
        common::object(r#"{"value":"f","arguments":{}}"#)
    );
}

#[test]
fn a_template_completes_by_its_text_and_by_no_uri() {
    let runtime = demo();
    let params = r#""ref":{"type":"ref/resource","uri":"note://store/{id}"},"argument":{"name":"id","value":""},"context":{"arguments":{"anything":"goes"}}"#;
    let got = call(&runtime, &request("completion/complete", params), stdio());
    let of = Completed::Template(0);
    let argument = "id".to_owned();
    assert_eq!(got.target, Target::Completion { of, argument });
    for uri in ["note://store/1", "note://store/{ID}", "cfg://x"] {
        refused(
            &params.replace("note://store/{id}", uri),
            "Unknown completion resource template",
            &format!(r#"{{"uri":"{uri}"}}"#),
        );
    }
}

#[test]
fn known_values_complete_by_their_beginning_whatever_the_case() {
    let complete = |typed: &str| {
        let params = format!(
            r#""ref":{{"type":"ref/prompt","name":"summarise"}},"argument":{{"name":"style","value":"{typed}"}}"#
        );
        ask(&demo(), &request("completion/complete", &params), stdio())
    };
    for (typed, expected) in [
        (
            "f",
            r#"{"values":["Formal","friendly","FRANK"],"total":3,"hasMore":false}"#,
        ),
        (
            "FR",
            r#"{"values":["friendly","FRANK"],"total":2,"hasMore":false}"#,
        ),
        ("é", r#"{"values":["Élan"],"total":1,"hasMore":false}"#),
        ("formal!", r#"{"values":[],"total":0,"hasMore":false}"#),
        (
            "",
            r#"{"values":["Formal","friendly","FRANK","Élan","dry"],"total":5,"hasMore":false}"#,
        ),
    ] {
        assert_eq!(complete(typed), completion(expected), "{typed}");
    }
}

#[test]
fn more_known_values_than_fit_are_cut_and_counted() {
    let many: Vec<String> = (0..250).map(|at| at.to_string()).collect();
    let runtime = server(Components {
        prompts: vec![prompt(
            SUMMARISE,
            vec![Completable {
                argument: "tone".to_owned(),
                values: Some(many),
            }],
        )],
        ..Components::default()
    });
    let params = TONE.replace("\"f\"", "\"\"");
    assert_eq!(
        ask(&runtime, &request("completion/complete", &params), stdio()),
        completion(&format!(
            r#"{{"values":{},"total":250,"hasMore":true}}"#,
            values(100)
        ))
    );
}

#[test]
fn the_shape_of_a_request_is_checked_first() {
    let argument = r#""argument":{"name":"tone","value":"f"}"#;
    let reference = "Completion requires a prompt or resource-template reference";
    for bad in [
        "null",
        "5",
        "{}",
        r#"{"type":5}"#,
        r#"{"type":"ref/prompt"}"#,
        r#"{"type":"ref/prompt","name":""}"#,
        r#"{"type":"ref/prompt","name":5}"#,
        r#"{"type":"ref/resource"}"#,
        r#"{"type":"ref/resource","uri":5}"#,
    ] {
        refused(&format!(r#""ref":{bad},{argument}"#), reference, "");
    }
    refused(argument, reference, "");
    refused(
        &format!(r#""ref":{{"type":"ref/tool","name":"x"}},{argument}"#),
        "Completion reference type is not supported",
        "",
    );
    refused(
        &format!(r#""ref":{{"type":"ref/prompt","name":"x","title":5}},{argument}"#),
        "Completion prompt reference title must be a string",
        "",
    );
    let reference = r#""ref":{"type":"ref/prompt","name":"summarise","title":"T"}"#;
    for bad in [
        "null",
        "{}",
        r#"{"name":"tone"}"#,
        r#"{"value":"f"}"#,
        r#"{"name":"","value":"f"}"#,
        r#"{"name":5,"value":"f"}"#,
        r#"{"name":"tone","value":5}"#,
    ] {
        refused(
            &format!(r#"{reference},"argument":{bad}"#),
            "Completion argument requires string name and value",
            "",
        );
    }
    for (context, message) in [
        ("5", "Completion context must be an object"),
        ("null", "Completion context must be an object"),
        (
            r#"{"arguments":[]}"#,
            "Completion context arguments must be an object",
        ),
        (
            r#"{"arguments":{"text":1}}"#,
            "Completion context arguments must map strings to strings",
        ),
    ] {
        let params = format!(r#"{reference},{argument},"context":{context}"#);
        refused(&params, message, "");
    }
}

#[test]
fn an_unknown_prompt_and_an_argument_that_does_not_complete_are_named() {
    refused(
        &TONE.replace("summarise", "nope"),
        "Unknown completion prompt: nope",
        "",
    );
    for name in ["text", "nope"] {
        refused(
            &TONE.replace("tone", name),
            "Argument does not support completion",
            &format!(r#"{{"argument":"{name}","referenceType":"ref/prompt"}}"#),
        );
    }
    refused(
        r#""ref":{"type":"ref/resource","uri":"note://store/{id}"},"argument":{"name":"x","value":""}"#,
        "Argument does not support completion",
        r#"{"argument":"x","referenceType":"ref/resource"}"#,
    );
}

#[test]
fn arguments_that_the_prompt_does_not_have_cannot_be_given() {
    refused(
        &format!(r#"{TONE},"context":{{"arguments":{{"z":"1","text":"t","b":"2"}}}}"#),
        "Unknown prompt completion context arguments",
        r#"{"unknown":["b","z"]}"#,
    );
    // The argument comes first.
    refused(
        &format!(
            r#"{},"context":{{"arguments":{{"z":"1"}}}}"#,
            TONE.replace("tone", "text")
        ),
        "Argument does not support completion",
        r#"{"argument":"text","referenceType":"ref/prompt"}"#,
    );
}

#[test]
fn a_list_goes_out_as_given_and_a_long_one_is_cut_and_counted() {
    for (list, expected) in [
        (
            r#"["formal","é"]"#.to_owned(),
            r#"{"values":["formal","é"]}"#.to_owned(),
        ),
        ("[]".to_owned(), r#"{"values":[]}"#.to_owned()),
        (values(100), format!(r#"{{"values":{}}}"#, values(100))),
        (
            values(101),
            format!(r#"{{"values":{},"total":101,"hasMore":true}}"#, values(100)),
        ),
    ] {
        assert_eq!(given(structured(&list)), completion(&expected));
    }
}

#[test]
fn a_completion_goes_out_with_the_hints_it_has() {
    for (value, expected) in [
        (explicit(r#"["a"]"#, None, None), r#"{"values":["a"]}"#),
        (
            explicit(r#"["a"]"#, Some(1), Some(false)),
            r#"{"values":["a"],"total":1,"hasMore":false}"#,
        ),
        (
            explicit(r#"["a"]"#, None, Some(true)),
            r#"{"values":["a"],"hasMore":true}"#,
        ),
    ] {
        assert_eq!(given(value), completion(expected));
    }
    assert_eq!(given(explicit(&values(100), None, None)).1, Verdict::Result);
}

#[test]
fn values_out_of_bounds_are_an_invalid_result() {
    for value in [
        explicit(&values(101), None, None),
        explicit(r#"["a","b"]"#, Some(1), None),
        explicit(r#"["a",5]"#, None, None),
        explicit("{}", None, None),
        structured(r#"["a",null]"#),
        structured(r#"{"values":[]}"#),
        structured("null"),
        Value::Text("a".to_owned()),
        Value::Blob("AA==".to_owned()),
        Value::Content(b"[]".to_vec()),
    ] {
        let shown = format!("{value:?}");
        assert_eq!(given(value), failure(-32603, INVALID, ""), "{shown}");
    }
}

#[test]
fn other_outcomes_have_their_own_texts() {
    let internal = |message: &str| failure(-32603, message, "");
    let wrong = internal("Completion returned the wrong result kind");
    let read = Value::ResourceRead {
        contents: b"[]".to_vec(),
        ttl_ms: None,
        cache_scope: None,
    };
    assert_eq!(given(read), wrong);
    assert_eq!(given(Value::Raw(b"{}".to_vec())), wrong);
    assert_eq!(
        given(Value::Content(br#"[{"type":"text","text":""}]"#.to_vec())),
        wrong
    );
    assert_eq!(
        given(Value::InputRequired {
            requests: None,
            state: Some("s".to_owned())
        }),
        internal("Input-required result is not permitted for this operation")
    );
    assert_eq!(
        given(Value::Failure("secret".to_owned())),
        internal("Completion failed")
    );
    let error = Error::new(7, Kind::Execution, "m");
    assert_eq!(given(error), failure(7, "m", ""));
    let target = Target::Completion {
        of: Completed::Prompt(0),
        argument: String::new(),
    };
    assert_eq!(
        given(target.raised()),
        internal("Completion raised an exception")
    );
    assert_eq!(
        given(target.terminated()),
        internal("Completion terminated unexpectedly")
    );
    assert_eq!(given(target.invalid_result()), internal(INVALID));
}

#[test]
fn completion_is_offered_when_something_completes() {
    let capabilities = |components| {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}"#;
        ask(&server(components), message, stdio()).0
    };
    let prompts = |completions| Components {
        prompts: vec![prompt(SUMMARISE, completions)],
        ..Components::default()
    };
    let got = capabilities(prompts(Vec::new()));
    assert!(
        got.contains(r#""capabilities":{"logging":{},"prompts":{}}"#),
        "{got}"
    );
    let got = capabilities(prompts(vec![completable("tone", None)]));
    assert!(
        got.contains(r#""capabilities":{"completions":{},"logging":{},"prompts":{}}"#),
        "{got}"
    );
    let got = capabilities(Components {
        templates: vec![template(NOTE, &["id"])],
        ..Components::default()
    });
    assert!(
        got.contains(r#""capabilities":{"completions":{},"logging":{},"resources":{}}"#),
        "{got}"
    );
    assert_eq!(
        ask(
            &server(prompts(Vec::new())),
            &request("completion/complete", TONE),
            stdio()
        ),
        failure(-32601, "Method not found: completion/complete", "")
    );
}
