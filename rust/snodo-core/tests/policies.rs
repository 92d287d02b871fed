//! What a policy is asked, when, and how a request goes on with its decisions.

mod common;

use common::{
    ask, call, constant, every_era, failure, opened, prompt, resource, result, settings, stdio,
    template, text, tool,
};
use snodo_core::call::{Call, Target};
use snodo_core::error::{Error, Kind};
use snodo_core::json::Json;
use snodo_core::operation::Listed;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Change, Step, Verdict, heed, proceed};
use snodo_core::policy::{Hearing, Inquiry, Phase, Subject};
use snodo_core::registry::Components;
use snodo_core::runtime::{Cache, Runtime, Scope, Settings, SettingsError};

fn say(method: &str, params: &str) -> String {
    // A member that nobody knows, where there is none.
    common::request(
        method,
        if params.is_empty() {
            r#""x":0"#
        } else {
            params
        },
    )
}

fn components() -> Components {
    let greet = |name: &str| tool(&common::GREET.replace("greet", name));
    Components {
        tools: ["a", "b", "c"].map(greet).into(),
        resources: vec![
            resource(r#"{"uri":"x://live","name":"live"}"#),
            constant(
                r#"{"uri":"x://still","name":"still"}"#,
                r#"[{"uri":"x://still","text":"s"}]"#,
            ),
        ],
        templates: vec![template(
            r#"{"uriTemplate":"t://{id}/x","name":"thing"}"#,
            &["id"],
        )],
        prompts: vec![prompt(
            r#"{"name":"p","arguments":[{"name":"text","required":true}]}"#,
            Vec::new(),
        )],
    }
}

fn guarded(settings: Settings, conceals_refusals: bool) -> Runtime {
    let settings = Settings {
        authorized: true,
        conceals_refusals,
        page_size: Some(2),
        ..settings
    };
    Runtime::new(settings, components()).expect("a good server")
}

/// What a call of the policy is about.
fn inquiry(call: &Call) -> &Inquiry {
    match &call.target {
        Target::Policy(inquiry) => inquiry,
        other => panic!("{other:?} instead of a policy"),
    }
}

fn decisions(decisions: Vec<Result<(), Error>>) -> Outcome {
    Value::Decisions(decisions).into()
}

fn no() -> Error {
    let error = Error::new(-32003, Kind::Authorization, "No");
    error.with_data(Json::String("why".to_owned()))
}

fn decided(runtime: &Runtime, method: &str, params: &str, outcome: &Outcome) -> Step {
    let call = call(runtime, &say(method, params), stdio());
    inquiry(&call);
    proceed(runtime, &call.context, call.target, outcome)
}

fn answered(step: Step) -> (String, Verdict) {
    match step {
        Step::Answer(answer) => text(answer),
        other => panic!("{other:?} instead of an answer"),
    }
}

fn refused(runtime: &Runtime, method: &str, params: &str) -> (String, Verdict) {
    answered(decided(
        runtime,
        method,
        params,
        &decisions(vec![Err(no())]),
    ))
}

const USES: [(&str, &str, Listed, usize); 6] = [
    (
        "tools/call",
        r#""name":"b","arguments":{"name":1}"#,
        Listed::Tools,
        1,
    ),
    ("prompts/get", r#""name":"p""#, Listed::Prompts, 0),
    (
        "resources/read",
        r#""uri":"x://live""#,
        Listed::Resources,
        0,
    ),
    (
        "resources/read",
        r#""uri":"x://still""#,
        Listed::Resources,
        1,
    ),
    ("resources/read", r#""uri":"t://1/x""#, Listed::Templates, 0),
    (
        "completion/complete",
        r#""ref":{"type":"ref/resource","uri":"t://{id}/x"},"argument":{"name":"no","value":""}"#,
        Listed::Templates,
        0,
    ),
];

#[test]
fn a_policy_is_asked_before_a_request_is_held_to_its_terms() {
    let runtime = guarded(settings(), false);
    for (method, params, of, at) in USES {
        let call = call(&runtime, &say(method, params), stdio());
        let asked = inquiry(&call);
        let requested_uri = params.contains("t://1").then(|| "t://1/x".to_owned());
        assert_eq!(asked.phase, Phase::Invocation);
        assert_eq!(
            asked.subjects,
            [Subject {
                of,
                at,
                requested_uri
            }]
        );
        assert!(call.arguments.is_empty());
        let verbatim = failure(-32003, "No", r#""why""#);
        assert_eq!(refused(&runtime, method, params), verbatim);
    }
}

#[test]
fn what_is_allowed_goes_on_as_it_would_have() {
    let (guarded, open) = (guarded(settings(), false), {
        let settings = Settings {
            page_size: Some(2),
            ..settings()
        };
        Runtime::new(settings, components()).expect("a good server")
    });
    for (method, params, ..) in USES {
        let step = decided(&guarded, method, params, &decisions(vec![Ok(())]));
        match step {
            Step::Answer(answer) => {
                assert_eq!(text(answer), ask(&open, &say(method, params), stdio()));
            }
            Step::Call(next) => {
                let plain = call(&open, &say(method, params), stdio());
                assert_eq!(
                    (next.target, next.arguments),
                    (plain.target, plain.arguments)
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_list_is_filtered_before_it_is_cut_into_pages() {
    let runtime = guarded(settings(), false);
    let list = |params: &str, allowed: [bool; 3]| {
        let decide = |allowed: bool| if allowed { Ok(()) } else { Err(no()) };
        let outcome = decisions(allowed.map(decide).into());
        answered(decided(&runtime, "tools/list", params, &outcome)).0
    };
    let names = |page: &str| -> Vec<String> {
        let parts = page.split(r#""name":""#).skip(1);
        let names = parts.map(|part| part[..1].to_owned());
        names.filter(|name| "abc".contains(name)).collect()
    };
    let first = list("", [true, true, true]);
    assert_eq!(names(&first), ["a", "b"]);
    assert!(first.contains(r#""cacheScope":"private""#));
    let cursor = first.split(r#""nextCursor":""#).nth(1).expect("a cursor");
    let cursor = &cursor[..cursor.find('"').expect("its end")];
    let second = format!(r#""cursor":"{cursor}""#);
    assert_eq!(names(&list(&second, [true, true, true])), ["c"]);
    // To whoever sees something else the cursor tells nothing.
    for allowed in [[true, true, false], [false, true, true], [false; 3]] {
        assert!(list(&second, allowed).contains("Pagination cursor has expired"));
        assert!(!list("", allowed).contains("nextCursor"));
    }
    assert_eq!(names(&list("", [false, true, true])), ["b", "c"]);
    assert_eq!(
        names(&list("", [false, false, false])),
        Vec::<String>::new()
    );
}

#[test]
fn every_entry_of_a_list_is_asked_about_and_an_empty_list_asks_nobody() {
    let runtime = guarded(settings(), false);
    for (method, of, count) in [
        ("tools/list", Listed::Tools, 3),
        ("resources/list", Listed::Resources, 2),
        ("resources/templates/list", Listed::Templates, 1),
        ("prompts/list", Listed::Prompts, 1),
    ] {
        let call = call(&runtime, &say(method, ""), stdio());
        let asked = inquiry(&call);
        assert_eq!(asked.phase, Phase::Discovery);
        let places = asked
            .subjects
            .iter()
            .map(|subject| (subject.of, subject.at));
        assert!(places.eq((0..count).map(|at| (of, at))));
        let nobody = asked.subjects.iter();
        assert!(nobody.into_iter().all(|it| it.requested_uri.is_none()));
    }
    let settings = Settings {
        authorized: true,
        ..settings()
    };
    let few = Components {
        templates: Vec::new(),
        ..components()
    };
    let few = Runtime::new(settings, few).expect("a good server");
    let (body, _) = ask(&few, &say("resources/templates/list", ""), stdio());
    assert!(body.contains(r#""resourceTemplates":[]"#));
}

#[test]
fn a_fault_is_told_in_both_phases_and_not_concealed() {
    let runtime = guarded(settings(), true);
    let fault = Error::internal("Authorization policy raised an exception");
    for (outcome, message) in [
        (fault.into(), "Authorization policy raised an exception"),
        (
            Value::Structured(b"true".to_vec()).into(),
            "Authorization policy returned an invalid decision",
        ),
        (
            decisions(vec![Ok(()); 9]),
            "Authorization policy returned an invalid decision",
        ),
        (
            decisions(Vec::new()),
            "Authorization policy returned an invalid decision",
        ),
    ] {
        let expected = failure(-32603, message, "");
        for (method, params, ..) in USES {
            let told = answered(decided(&runtime, method, params, &outcome));
            assert_eq!(told, expected);
        }
        let told = answered(decided(&runtime, "tools/list", "", &outcome));
        assert_eq!(told, expected);
    }
}

#[test]
fn a_concealed_refusal_is_the_error_of_what_there_is_not() {
    let runtime = guarded(settings(), true);
    for (method, params, ..) in USES {
        let other = params
            .replace(r#""b""#, r#""z""#)
            .replace(r#""p""#, r#""q""#)
            .replace("x://live", "x://nope")
            .replace("x://still", "x://nope")
            .replace("t://1/x", "x://nope")
            .replace("t://{id}/x", "t://nope");
        let unknown = ask(&runtime, &say(method, &other), stdio());
        let (hidden, verdict) = refused(&runtime, method, params);
        let hidden = hidden
            .replace(": b", ": z")
            .replace(": p", ": q")
            .replace("x://live", "x://nope")
            .replace("x://still", "x://nope")
            .replace("t://1/x", "x://nope")
            .replace("t://{id}/x", "t://nope");
        assert_eq!((hidden, verdict), unknown);
    }
}

#[test]
fn no_name_is_suggested_that_may_be_hidden() {
    let runtime = guarded(settings(), false);
    let body = ask(&runtime, &say("tools/call", r#""name":"A""#), stdio());
    assert_eq!(body, failure(-32602, "Unknown tool: A", ""));
}

#[test]
fn a_session_watches_what_it_may() {
    for conceals in [false, true] {
        let runtime = guarded(every_era(), conceals);
        let watch = |uri: &str| {
            let params = format!(r#"{{"uri":"{uri}"}}"#);
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{params}}}"#
            )
        };
        for uri in ["x://live", "t://1/x"] {
            let asked = call(&runtime, &watch(uri), opened("2025-11-25", "{}"));
            let subject = &inquiry(&asked).subjects[0];
            assert_eq!(subject.requested_uri.as_deref(), Some(uri));
            assert!(asked.target.settles());
            let yes = decisions(vec![Ok(())]);
            match proceed(&runtime, &asked.context, asked.target.clone(), &yes) {
                Step::Settle { change, .. } => {
                    let (uri, vetted) = (uri.to_owned(), true);
                    assert_eq!(change, Change::Watch { uri, vetted });
                }
                other => panic!("{other:?}"),
            }
            let no = decisions(vec![Err(no())]);
            let refused = proceed(&runtime, &asked.context, asked.target, &no);
            if conceals {
                // It takes its place, as what nobody owns does.
                let Step::Settle { change, answer, .. } = refused else {
                    panic!("{refused:?}");
                };
                let (uri, vetted) = (uri.to_owned(), false);
                assert_eq!(change, Change::Watch { uri, vetted });
                assert_eq!(answered(Step::Answer(answer)).0, result("{}").0);
            } else {
                let (expected, _) = failure(-32003, "No", r#""why""#);
                assert_eq!(answered(refused).0, expected);
            }
        }
    }
}

#[test]
fn a_listener_hears_of_what_it_may_and_of_what_nobody_owns() {
    for (conceals, denied) in [(false, Hearing::Refused), (true, Hearing::Concealed)] {
        let runtime = guarded(settings(), conceals);
        let context = call(&runtime, &say("tools/list", ""), stdio()).context;
        let mut inquiries = Vec::new();
        for uri in ["x://live", "t://1/x"] {
            for (decision, hearing) in [(Ok(()), Hearing::Allowed), (Err(no()), denied)] {
                let Step::Call(asked) = heed(&runtime, &context, uri.to_owned()) else {
                    panic!("nobody was asked");
                };
                inquiries.push(inquiry(&asked).clone());
                let outcome = decisions(vec![decision]);
                match proceed(&runtime, &context, asked.target, &outcome) {
                    Step::Heed(may) => assert_eq!(may, hearing),
                    other => panic!("{other:?}"),
                }
            }
        }
        let all = Inquiry::together(&inquiries).expect("some");
        let uris = all.subjects.iter().map(|it| it.requested_uri.as_deref());
        let expected = ["x://live", "x://live", "t://1/x", "t://1/x"].map(Some);
        assert_eq!(uris.collect::<Vec<_>>(), expected);
        let nobodys = heed(&runtime, &context, "z://nobody".to_owned());
        assert!(matches!(nobodys, Step::Heed(Hearing::Unowned)));
    }
    let told = |it: Hearing| (it.is_accepted(), it.is_told(), it.is_vetted());
    assert_eq!(told(Hearing::Allowed), (true, true, true));
    assert_eq!(told(Hearing::Unowned), (true, true, false));
    assert_eq!(told(Hearing::Concealed), (true, false, false));
    assert_eq!(told(Hearing::Refused), (false, false, false));
}

#[test]
fn nothing_that_is_chosen_for_its_reader_is_public() {
    let public = Cache {
        ttl_ms: 1,
        scope: Scope::Public,
    };
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = Settings {
            authorized: true,
            ..settings()
        };
        change(&mut settings);
        Runtime::new(settings, components()).err()
    };
    assert_eq!(
        refused(&|it| it.tools_cache = public),
        Some(SettingsError::PublicCache("tools_cache"))
    );
    assert_eq!(
        refused(&|it| it.resources_cache = public),
        Some(SettingsError::PublicCache("resources_cache"))
    );
    assert_eq!(
        refused(&|it| it.prompts_cache = public),
        Some(SettingsError::PublicCache("prompts_cache"))
    );
    assert_eq!(refused(&|it| it.discover_cache = public), None);
    let mut shared = components();
    shared.templates[0].cache = Some(public);
    let settings = Settings {
        authorized: true,
        ..settings()
    };
    assert_eq!(
        Runtime::new(settings, shared).err(),
        Some(SettingsError::PublicReads("thing".to_owned()))
    );
}
