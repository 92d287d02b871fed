//! What a server refuses to be built from.

mod common;

use common::{
    completable, constant, demo, http, object, prompt, resource, settings, template, tool,
};
use snodo_core::call::{Completed, Target};
use snodo_core::dialect::{self, ALL, Opening};
use snodo_core::registry::{Components, Registry};
use snodo_core::runtime::{Runtime, Settings};

fn refused(change: impl Fn(&mut Settings), message: &str) {
    let mut settings = settings();
    change(&mut settings);
    match Runtime::new(settings, Components::default()) {
        Err(error) => assert_eq!(error.to_string(), message),
        Ok(_) => panic!("accepted instead of {message}"),
    }
}

#[test]
fn server_info_names_a_server_and_its_version() {
    let required = "server_info requires string name and version fields";
    for (info, message) in [
        ("{}", required),
        (r#"{"name":"x"}"#, required),
        (r#"{"name":1,"version":"1"}"#, required),
        (
            r#"{"name":"x","version":"1","title":5}"#,
            "server info title must be a string",
        ),
        (
            r#"{"name":"x","version":"1","description":[]}"#,
            "server info description must be a string",
        ),
        (
            r#"{"name":"x","version":"1","websiteUrl":"/a"}"#,
            "server info websiteUrl must be a URI string",
        ),
        (
            r#"{"name":"x","version":"1","icons":{}}"#,
            "icons must be a list",
        ),
        (
            r#"{"name":"x","version":"1","icons":[{"src":"a.png"}]}"#,
            "icon src must be a URI string",
        ),
        (
            r#"{"name":"x","version":"1","icons":[{"src":"data:,x","mimeType":1}]}"#,
            "icon mimeType must be a string",
        ),
        (
            r#"{"name":"x","version":"1","icons":[{"src":"data:,x","sizes":"16"}]}"#,
            "icon sizes must be a list of strings",
        ),
        (
            r#"{"name":"x","version":"1","icons":[{"src":"data:,x","theme":"blue"}]}"#,
            "icon theme must be light or dark",
        ),
    ] {
        refused(|settings| settings.server_info = object(info), message);
    }
}

#[test]
fn policies_and_protocols_make_sense() {
    refused(
        |settings| settings.page_size = Some(0),
        "page size must be a positive integer",
    );
    refused(
        |settings| settings.dialects.clear(),
        "at least one protocol revision must be enabled",
    );
    refused(
        |settings| settings.dialects.extend(ALL),
        "protocol revision 2026-07-28 is enabled more than once",
    );
}

#[test]
fn tools_have_names_of_their_own() {
    let build = |names: [&str; 2]| {
        let tools = names.map(|name| {
            tool(&format!(
                r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#
            ))
        });
        let components = Components {
            tools: tools.into(),
            ..Components::default()
        };
        Runtime::new(settings(), components)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(build(["x", "X"]), Ok(()));
    assert_eq!(
        build(["x", "x"]),
        Err("tool name \"x\" is already registered by another tool".to_owned())
    );
    assert_eq!(
        build(["x", ""]),
        Err("tool must have a non-empty string name".to_owned())
    );
}

fn built(components: Components) -> Result<(), String> {
    Runtime::new(settings(), components)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[test]
fn resources_and_templates_have_names_uris_and_texts_of_their_own() {
    let build = |resources: &[&str], templates: &[&str]| {
        built(Components {
            resources: resources.iter().map(|one| resource(one)).collect(),
            templates: templates.iter().map(|one| template(one, &[])).collect(),
            ..Components::default()
        })
    };
    let refused = |text: &str| Err(text.to_owned());
    let x = r#"{"uri":"a:x","name":"x"}"#;
    let matching = r#"{"uriTemplate":"s://h/{a}","name":"t"}"#;
    assert_eq!(
        build(&[x, r#"{"uri":"a:X","name":"X"}"#], &[matching]),
        Ok(())
    );
    assert_eq!(
        build(&[x, r#"{"uri":"a:y","name":"x"}"#], &[]),
        refused("resource name \"x\" is already registered by another resource")
    );
    assert_eq!(
        build(&[x], &[r#"{"uriTemplate":"s://h/{a}","name":"x"}"#]),
        refused("resource name \"x\" is already registered by another resource")
    );
    assert_eq!(
        build(&[x, r#"{"uri":"a:x","name":"y"}"#], &[]),
        refused("resource URI \"a:x\" is already registered by x")
    );
    assert_eq!(
        build(
            &[],
            &[matching, r#"{"uriTemplate":"s://h/{a}","name":"u"}"#]
        ),
        refused("resource template \"s://h/{a}\" is already registered by t")
    );
    assert_eq!(
        build(&[r#"{"uri":"s://h/1","name":"one"}"#], &[matching]),
        refused("resource URI \"s://h/1\" is already matched by t")
    );
    // Which URIs two templates share is nobody's business before somebody asks for one.
    assert_eq!(
        build(
            &[],
            &[matching, r#"{"uriTemplate":"s://h/{b}","name":"u"}"#]
        ),
        Ok(())
    );
    for nameless in [r#"{"uri":"a:x","name":""}"#, r#"{"uri":"a:x"}"#] {
        assert_eq!(
            build(&[nameless], &[]),
            refused("resource requires a non-empty name")
        );
    }
    assert_eq!(
        build(&[r#"{"uri":"/x","name":"x"}"#], &[]),
        refused("resource uri must be an absolute URI")
    );
}

#[test]
fn contents_that_never_change_are_checked_at_once() {
    for (content, message) in [
        ("5", "resource contents must be a list of objects"),
        (
            "[{}]",
            "resource content requires exactly one string text or blob field",
        ),
        (r#"[{"blob":"A"}]"#, "resource blob must be valid base64"),
        (
            r#"[{"uri":5,"text":""}]"#,
            "resource content requires a URI string",
        ),
        (
            r#"[{"uri":"x","text":""}]"#,
            "resource content uri must be an absolute URI",
        ),
        (
            r#"[{"text":"","mimeType":1}]"#,
            "resource content mimeType must be a string",
        ),
    ] {
        let resources = vec![constant(r#"{"uri":"a:x","name":"x"}"#, content)];
        assert_eq!(
            built(Components {
                resources,
                ..Components::default()
            }),
            Err(message.to_owned())
        );
    }
}

#[test]
fn prompts_have_names_of_their_own_and_so_have_their_arguments() {
    let build = |definition: &str, completions: &[&str]| {
        let completions = completions.iter().map(|name| completable(name, None));
        built(Components {
            prompts: vec![
                prompt(r#"{"name":"other"}"#, Vec::new()),
                prompt(definition, completions.collect()),
            ],
            ..Components::default()
        })
    };
    let two = r#"{"name":"x","arguments":[{"name":"a"},{"name":"b"}]}"#;
    assert_eq!(build(two, &["b", "a"]), Ok(()));
    for (definition, completions, message) in [
        (
            r#"{"name":"other"}"#,
            &[][..],
            "prompt name \"other\" is already registered by another prompt",
        ),
        (r#"{"name":""}"#, &[], "prompt requires a non-empty name"),
        (
            r#"{"name":"x","arguments":[{"name":""}]}"#,
            &[],
            "each prompt argument requires a non-empty string name",
        ),
        (
            r#"{"name":"x","arguments":[{"name":"a"},{"name":"a"}]}"#,
            &[],
            "prompt argument names must be unique",
        ),
        (
            two,
            &["c"],
            "prompt completion_arguments must be unique names declared in arguments",
        ),
        (
            two,
            &["a", "a"],
            "prompt completion_arguments must be unique names declared in arguments",
        ),
    ] {
        assert_eq!(build(definition, completions), Err(message.to_owned()));
    }
    for completions in [&[""][..], &["a", "a"]] {
        let note = r#"{"uriTemplate":"s://h/{a}","name":"t"}"#;
        let refused = "resource completion_arguments must contain unique non-empty strings";
        assert_eq!(
            built(Components {
                templates: vec![template(note, completions)],
                ..Components::default()
            }),
            Err(refused.to_owned())
        );
    }
}

#[test]
fn tools_are_found_by_name() {
    let registry = demo().registry;
    for (at, tool) in registry.tools.iter().enumerate() {
        assert_eq!(registry.find_tool(&tool.name), Some(at));
    }
    assert_eq!(registry.find_tool("nope"), None);
}

#[test]
fn every_component_is_found_and_has_the_time_it_says() {
    let mut one = resource(r#"{"uri":"a:1","name":"one"}"#);
    one.timeout_ms = Some(1);
    let mut two = template(r#"{"uriTemplate":"s://h/{a}","name":"two"}"#, &["a"]);
    two.timeout_ms = Some(2);
    let mut three = prompt(r#"{"name":"three"}"#, Vec::new());
    three.timeout_ms = Some(3);
    let registry = Registry::build(Components {
        tools: Vec::new(),
        resources: vec![one, resource(r#"{"uri":"a:0","name":"zero"}"#)],
        templates: vec![two],
        prompts: vec![three, prompt(r#"{"name":"a"}"#, Vec::new())],
    })
    .expect("a good catalogue");
    let (at, uri) = (registry.find_resource("a:1").expect("it"), String::new());
    let one = Target::Resource { at, uri };
    let (at, uri) = (
        registry.find_template("s://h/{a}").expect("it"),
        String::new(),
    );
    let two = Target::Template { at, uri };
    let three = registry.find_prompt("three").expect("it");
    let completion = |of| Target::Completion {
        of,
        argument: "a".to_owned(),
    };
    for (target, timeout_ms) in [
        (one, 1),
        (two, 2),
        (completion(Completed::Template(at)), 2),
        (Target::Prompt(three), 3),
        (completion(Completed::Prompt(three)), 3),
    ] {
        assert_eq!(registry.timeout_ms(&target), Some(timeout_ms), "{target:?}");
    }
    let first = registry.find_prompt("a").expect("it");
    assert_eq!(registry.timeout_ms(&Target::Prompt(first)), None);
    assert_eq!(registry.find_resource("a:2"), None);
}

#[test]
fn two_dialects_may_not_claim_the_same_message() {
    let twice = [ALL[0], ALL[0]];
    let text = format!("mcp-protocol-version: {}", ALL[0].version());
    let arrival = http(&text);
    let opening = Opening::new("tools/list", None, &arrival);
    let error = dialect::choose(&twice, &opening).expect_err("ambiguous");
    assert_eq!(
        error.message,
        "Multiple protocol dialects matched the request"
    );
}
