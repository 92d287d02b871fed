//! Templates that match by code of their own: asked one after the other, and held to their answers.

mod common;

use common::{call, failure, request, result, server, stdio, template, text};
use snodo_core::call::{Call, Target};
use snodo_core::error::Error;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Step, Verdict, proceed};
use snodo_core::registry::{Components, Template};
use snodo_core::runtime::Runtime;

/// A template that no compiled one could be.
fn own(name: &str) -> Template {
    let text = format!("x://h/{name}{{a}}{{b}}");
    let definition = format!(r#"{{"uriTemplate":"x://h/{{a}}","name":"{name}"}}"#);
    Template {
        template: None,
        text,
        ..template(&definition, &[])
    }
}

/// Two templates with code of their own and a compiled one.
fn demo() -> Runtime {
    server(Components {
        templates: vec![
            own("one"),
            own("two"),
            template(r#"{"uriTemplate":"s://h/{id}","name":"compiled"}"#, &[]),
        ],
        ..Components::default()
    })
}

fn json(text: &str) -> Outcome {
    Value::Structured(text.as_bytes().to_vec()).into()
}

/// What a read of a URI comes to when the matchers answer this, in order: the call of the read, or
/// the refusal.
fn read(runtime: &Runtime, uri: &str, answers: Vec<Outcome>) -> Result<Call, (String, Verdict)> {
    let params = format!(r#""uri":"{uri}""#);
    let mut next = call(runtime, &request("resources/read", &params), stdio());
    for answer in answers {
        match &next.target {
            Target::Matcher(search) => assert_eq!(search.uri, uri),
            other => panic!("{other:?} instead of a matcher"),
        }
        match proceed(runtime, &next.context, next.target, &answer) {
            Step::Call(call) => next = call,
            Step::Answer(answer) => return Err(text(answer)),
            step => panic!("nobody is asked: {step:?}"),
        }
    }
    assert!(
        !matches!(next.target, Target::Matcher(_)),
        "asked once more"
    );
    Ok(next)
}

#[test]
fn each_is_asked_once_and_the_one_that_matches_is_read() {
    let runtime = demo();
    let (one, two) = ("x://h/one{a}{b}", "x://h/two{a}{b}");
    for (answers, text, bound) in [
        (vec![json("true"), json("false")], one, "{}"),
        (
            vec![json("false"), json(r#"{"k":"v"}"#)],
            two,
            r#"{"k":"v"}"#,
        ),
    ] {
        let call = read(&runtime, "any:thing", answers).expect("a call");
        let at = runtime.registry.find_template(text).expect("a template");
        let uri = "any:thing".to_owned();
        assert_eq!(call.target, Target::Template { at, uri });
        assert_eq!(call.arguments, common::object(bound));
        let value = Value::Text("t".to_owned());
        let Step::Answer(answer) = proceed(&runtime, &call.context, call.target, &value.into())
        else {
            panic!("another call")
        };
        assert_eq!(
            common::text(answer),
            result(
                r#"{"resultType":"complete","contents":[{"uri":"any:thing","text":"t"}],"ttlMs":0,"cacheScope":"private",SERVER}"#
            )
        );
    }
}

#[test]
fn a_compiled_template_is_read_when_no_other_wants_the_uri() {
    let runtime = demo();
    let answers = vec![json("false"), json("false")];
    let call = read(&runtime, "s://h/1", answers).expect("a call");
    assert_eq!(call.arguments, common::object(r#"{"id":"1"}"#));
    assert_eq!(
        read(&runtime, "any:thing", vec![json("false"), json("false")]).map(drop),
        Err(failure(
            -32602,
            "Resource not found",
            r#"{"uri":"any:thing"}"#
        ))
    );
}

#[test]
fn two_that_want_the_same_uri_are_a_fault_of_the_server() {
    let ambiguous = || {
        let text = "Multiple resource routes matched the requested URI";
        Err(failure(-32603, text, ""))
    };
    let runtime = demo();
    let both = vec![json("true"), json("{}")];
    assert_eq!(read(&runtime, "any:thing", both).map(drop), ambiguous());
    let with_compiled = vec![json("true")];
    assert_eq!(
        read(&runtime, "s://h/1", with_compiled).map(drop),
        ambiguous()
    );
}

#[test]
fn an_answer_that_is_none_is_a_failure() {
    let (at, uri) = (0, String::new());
    for answer in [
        json("5"),
        json("null"),
        json("[]"),
        json(r#"{"k":5}"#),
        json(r#"{"uri":"x"}"#),
        json(r#"{"_meta":"x"}"#),
        Value::Text("true".to_owned()).into(),
        Value::Failure("secret".to_owned()).into(),
        Error::invalid_params("secret").into(),
        Target::Template { at, uri }.raised().into(),
    ] {
        let shown = format!("{answer:?}");
        assert_eq!(
            read(&demo(), "any:thing", vec![answer]).map(drop),
            Err(failure(-32603, "Resource matcher failed", "")),
            "{shown}"
        );
    }
}
