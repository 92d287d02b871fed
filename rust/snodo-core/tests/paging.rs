//! Lists in pages, and the cursors between them.

mod common;

use common::{ask, prompt, resource, settings, stdio, template, tool, with_tools};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::registry::Components;
use snodo_core::runtime::{Cache, Runtime, Scope};

fn server(tools: usize, page_size: usize) -> Runtime {
    let tools = (0..tools)
        .map(|at| {
            tool(&format!(
                r#"{{"name":"t{at:04}","inputSchema":{{"type":"object"}}}}"#
            ))
        })
        .collect();
    let mut settings = settings();
    settings.page_size = Some(page_size);
    with_tools(settings, tools)
}

fn list(runtime: &Runtime, cursor: Option<&str>) -> Object {
    list_of(runtime, "tools/list", cursor)
}

fn list_of(runtime: &Runtime, method: &str, cursor: Option<&str>) -> Object {
    let cursor = cursor
        .map(|cursor| format!(r#","cursor":{cursor}"#))
        .unwrap_or_default();
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META{cursor}}}}}"#);
    let (answer, _) = ask(runtime, &message, stdio());
    let Ok(Json::Object(mut answer)) = json::parse(answer.as_bytes(), &Limits::default()) else {
        panic!("{answer}")
    };
    match answer.take("result").or_else(|| answer.take("error")) {
        Some(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn next(page: &Object) -> Option<String> {
    page.get("nextCursor")
        .map(|cursor| String::from_utf8(cursor.to_vec()).expect("UTF-8"))
}

/// The sizes of the pages, and every name once.
fn walk(runtime: &Runtime) -> Vec<usize> {
    walk_of(runtime, "tools/list", "tools")
}

fn walk_of(runtime: &Runtime, method: &str, key: &str) -> Vec<usize> {
    let (mut sizes, mut names, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = list_of(runtime, method, cursor.as_deref());
        let Some(Json::Array(tools)) = page.get(key) else {
            panic!("{page:?}")
        };
        sizes.push(tools.len());
        names.extend(tools.iter().map(Json::to_vec));
        cursor = next(&page);
        if cursor.is_none() {
            assert!(names.is_sorted());
            names.dedup();
            assert_eq!(names.len(), sizes.iter().sum::<usize>());
            return sizes;
        }
    }
}

#[test]
fn pages_hold_each_tool_once_and_the_last_has_no_cursor() {
    assert_eq!(walk(&server(250, 100)), [100, 100, 50]);
    assert_eq!(walk(&server(200, 100)), [100, 100]);
    assert_eq!(walk(&server(3, 100)), [3]);
}

fn refusal(runtime: &Runtime, cursor: &str) -> String {
    match list(runtime, Some(cursor)).take("message") {
        Some(Json::String(message)) => message,
        other => panic!("{cursor}: {other:?}"),
    }
}

#[test]
fn bad_cursors_are_refused() {
    let runtime = server(5, 2);
    let cursor = next(&list(&runtime, None)).expect("a second page");
    let altered = cursor.replacen("mcp1.A", "mcp1.B", 1);
    let long = format!("\"{}\"", "A".repeat(2049));
    for bad in ["\"\"", "\"x\"", "\"mcp1.\"", &altered, &long] {
        assert_eq!(refusal(&runtime, bad), "Invalid pagination cursor", "{bad}");
    }
    for bad in ["5", "null", "{}"] {
        assert_eq!(refusal(&runtime, bad), "Cursor must be a string");
    }
}

#[test]
fn cursors_of_another_catalogue_or_page_size_have_expired() {
    let runtime = server(5, 2);
    for other in [server(6, 2), server(5, 1)] {
        let cursor = next(&list(&other, None)).expect("a second page");
        assert_eq!(refusal(&runtime, &cursor), "Pagination cursor has expired");
    }
}

#[test]
fn equal_servers_accept_each_others_cursors() {
    let cursor = next(&list(&server(5, 2), None));
    assert!(cursor.is_some());
    assert_eq!(
        list(&server(5, 2), cursor.as_deref()),
        list(&server(5, 2), cursor.as_deref())
    );
}

/// The four lists: method and key.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// Five of every kind, in pages of two, each kind with a policy of its own.
fn full() -> Runtime {
    let mut settings = settings();
    settings.page_size = Some(2);
    let policy = |ttl_ms| Cache {
        ttl_ms,
        scope: Scope::Public,
    };
    settings.tools_cache = policy(1);
    settings.resources_cache = policy(2);
    settings.prompts_cache = policy(3);
    let of = |text: &str, at: usize| text.replace('#', &at.to_string());
    let mut components = Components::default();
    for at in (0..5).rev() {
        let text = r#"{"name":"n#","inputSchema":{"type":"object"}}"#;
        components.tools.push(tool(&of(text, at)));
        let text = r#"{"uri":"a:#","name":"r#"}"#;
        components.resources.push(resource(&of(text, at)));
        let text = r#"{"uriTemplate":"a://#/{x}","name":"t#"}"#;
        components.templates.push(template(&of(text, at), &[]));
        let text = r#"{"name":"p#"}"#;
        components.prompts.push(prompt(&of(text, at), Vec::new()));
    }
    Runtime::new(settings, components).expect("a good server")
}

#[test]
fn every_list_is_paged() {
    for (method, key) in LISTS {
        assert_eq!(walk_of(&full(), method, key), [2, 2, 1], "{method}");
    }
}

#[test]
fn a_cursor_of_another_list_is_invalid() {
    let runtime = full();
    for (method, _) in LISTS {
        let cursor = next(&list_of(&runtime, method, None)).expect("a second page");
        for (other, _) in LISTS.iter().filter(|(other, _)| *other != method) {
            let mut refusal = list_of(&runtime, other, Some(&cursor));
            let message = Json::String("Invalid pagination cursor".to_owned());
            assert_eq!(refusal.take("message"), Some(message), "{method} {other}");
        }
        for bad in ["5", "null"] {
            let mut refusal = list_of(&runtime, method, Some(bad));
            let message = Json::String("Cursor must be a string".to_owned());
            assert_eq!(refusal.take("message"), Some(message), "{method}");
        }
    }
}

#[test]
fn every_page_of_a_list_has_the_policy_of_its_kind() {
    let runtime = full();
    for ((method, _), ttl_ms) in LISTS.iter().zip([1, 2, 2, 3]) {
        let first = list_of(&runtime, method, None);
        let second = list_of(&runtime, method, next(&first).as_deref());
        for page in [first, second] {
            assert_eq!(page.get("ttlMs"), Some(&Json::Int(ttl_ms)), "{method}");
            let scope = Json::String("public".to_owned());
            assert_eq!(page.get("cacheScope"), Some(&scope), "{method}");
        }
    }
}
