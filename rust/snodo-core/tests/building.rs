//! What a server refuses to be built from.

mod common;

use common::{demo, object, settings, tool};
use snodo_core::dialect::{self, ALL, Opening};
use snodo_core::registry::Components;
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

#[test]
fn tools_are_found_by_name() {
    let registry = demo().registry;
    for (at, tool) in registry.tools.iter().enumerate() {
        assert_eq!(registry.find_tool(&tool.name), Some(at));
    }
    assert_eq!(registry.find_tool("nope"), None);
}

#[test]
fn two_dialects_may_not_claim_the_same_message() {
    let twice = [ALL[0], ALL[0]];
    let opening = Opening {
        method: "tools/list",
        params: None,
        headers: None,
    };
    let error = dialect::choose(&twice, &opening).expect_err("ambiguous");
    assert_eq!(
        error.message,
        "Multiple protocol dialects matched the request"
    );
}
