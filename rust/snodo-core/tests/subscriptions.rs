//! Requests to listen, and the messages of a subscription, as literals.

mod common;

use common::*;
use snodo_core::context::{Headers, Transport};
use snodo_core::json::{Json, Object};
use snodo_core::pipeline::{Prepared, prepare};
use snodo_core::registry::Components;
use snodo_core::runtime::{Runtime, Settings};
use snodo_core::subscription::{Change, Event, EventError, Filter, Listen};

fn components() -> Components {
    Components {
        tools: vec![tool(GREET)],
        resources: vec![resource(r#"{"uri":"note://a","name":"a"}"#)],
        prompts: vec![prompt(r#"{"name":"ask"}"#, Vec::new())],
        ..Components::default()
    }
}

fn subscribed(components: Components) -> Runtime {
    let settings = Settings {
        subscriptions: true,
        ..settings()
    };
    Runtime::new(settings, components).expect("a good server")
}

/// A request to listen with these members in its parameters.
fn message(id: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    literal(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{META{comma}{params}}}}}"#
    ))
}

fn listen_as(runtime: &Runtime, id: &str, params: &str) -> Listen {
    match prepare(runtime, message(id, params).as_bytes(), stdio()) {
        Prepared::Listen(listen) => listen,
        other => panic!("no subscription from {params}: {other:?}"),
    }
}

fn acknowledged(runtime: &Runtime, id: &str, filter: &str) -> String {
    let listen = listen_as(runtime, id, &format!(r#""notifications":{filter}"#));
    let message = listen
        .context
        .dialect
        .acknowledge(listen.id(), &listen.filter);
    String::from_utf8(message).expect("UTF-8")
}

/// The acknowledgement of what is left of a filter.
fn acknowledgement(id: &str, filter: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}}}"#
    )
}

#[test]
fn what_is_asked_and_offered_is_acknowledged() {
    let runtime = subscribed(components());
    let all = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://b","note://a"]}"#;
    for (asked, kept) in [
        (all, all),
        ("{}", "{}"),
        (
            r#"{"toolsListChanged":false,"promptsListChanged":true,"resourceSubscriptions":[]}"#,
            r#"{"promptsListChanged":true}"#,
        ),
        (
            r#"{"resourceSubscriptions":["note://b","note://a","note://b"]}"#,
            r#"{"resourceSubscriptions":["note://b","note://a"]}"#,
        ),
        (
            r#"{"taskIds":["t"],"toolsListChanged":true}"#,
            r#"{"toolsListChanged":true}"#,
        ),
    ] {
        assert_eq!(
            acknowledged(&runtime, "1", asked),
            acknowledgement("1", kept)
        );
    }
}

#[test]
fn what_the_server_does_not_offer_is_left_out() {
    let all = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://a"]}"#;
    for (offered, kept) in [
        (Components::default(), "{}"),
        (
            Components {
                tools: vec![tool(GREET)],
                ..Components::default()
            },
            r#"{"toolsListChanged":true}"#,
        ),
        (
            Components {
                templates: vec![template(r#"{"uriTemplate":"note://{id}","name":"n"}"#, &[])],
                ..Components::default()
            },
            r#"{"resourcesListChanged":true,"resourceSubscriptions":["note://a"]}"#,
        ),
    ] {
        assert_eq!(
            acknowledged(&subscribed(offered), "1", all),
            acknowledgement("1", kept)
        );
    }
}

#[test]
fn a_filter_has_a_form() {
    let runtime = subscribed(components());
    let uris = |count: usize| {
        let uris: Vec<_> = (0..count).map(|n| format!(r#""note://{n}""#)).collect();
        format!(
            r#""notifications":{{"resourceSubscriptions":[{}]}}"#,
            uris.join(",")
        )
    };
    for (params, text) in [
        ("", "requires a notifications object"),
        (
            r#""notifications":[]"#,
            "notifications must be a JSON object",
        ),
        (
            r#""notifications":null"#,
            "notifications must be a JSON object",
        ),
        (
            r#""notifications":{"toolsListChanged":1}"#,
            "toolsListChanged must be a boolean",
        ),
        (
            r#""notifications":{"promptsListChanged":null}"#,
            "promptsListChanged must be a boolean",
        ),
        (
            r#""notifications":{"resourcesListChanged":"true"}"#,
            "resourcesListChanged must be a boolean",
        ),
        (
            r#""notifications":{"resourceSubscriptions":"note://a"}"#,
            "resourceSubscriptions must be a list",
        ),
        (
            r#""notifications":{"resourceSubscriptions":["note://a",1]}"#,
            "resourceSubscriptions must contain absolute URI strings",
        ),
        (
            r#""notifications":{"resourceSubscriptions":["/a"]}"#,
            "resourceSubscriptions must contain absolute URI strings",
        ),
        (
            &format!(
                r#""notifications":{{"resourceSubscriptions":["note://{}"]}}"#,
                "a".repeat(128 << 10)
            ),
            "resourceSubscriptions accepts at most 131072 bytes of URIs",
        ),
        (
            &uris(1001),
            "resourceSubscriptions accepts at most 1000 URIs",
        ),
    ] {
        assert_eq!(
            ask(&runtime, &message("1", params), stdio()),
            failure(-32602, &format!("subscriptions/listen {text}"), "")
        );
    }
    let most = listen_as(&runtime, "1", &uris(1000));
    assert_eq!(most.filter.resource_subscriptions.len(), 1000);
}

#[test]
fn without_subscriptions_there_is_no_such_method() {
    let runtime = server(components());
    assert_eq!(
        ask(&runtime, &message("1", r#""notifications":{}"#), stdio()),
        failure(-32601, "Method not found: subscriptions/listen", "")
    );
}

#[test]
fn discovery_tells_what_can_be_listened_for() {
    let discovered = |runtime: &Runtime| {
        let (answer, _) = ask(
            runtime,
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}"#,
            stdio(),
        );
        let (_, capabilities) = answer.split_once(r#""capabilities":"#).expect("some");
        let (capabilities, _) = capabilities.split_once(r#","ttlMs""#).expect("an end");
        capabilities.to_owned()
    };
    assert_eq!(
        discovered(&subscribed(components())),
        r#"{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}"#
    );
    assert_eq!(
        discovered(&server(components())),
        r#"{"logging":{},"prompts":{},"resources":{},"tools":{}}"#
    );
    let constant = constant(
        r#"{"uri":"note://a","name":"a"}"#,
        r#"[{"uri":"note://a","text":""}]"#,
    );
    let nothing_runs = Components {
        resources: vec![constant],
        ..Components::default()
    };
    assert_eq!(
        discovered(&subscribed(nothing_runs)),
        r#"{"resources":{"subscribe":true,"listChanged":true}}"#
    );
}

#[test]
fn an_event_carries_the_id_of_the_subscription() {
    let runtime = subscribed(components());
    for (id, change, metadata, told) in [
        (
            r#""w1""#,
            Change::ToolsList,
            "{}",
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"w1"}}}"#,
        ),
        (
            "5",
            Change::PromptsList,
            r#"{"com.example/why":{"n":1.0}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"com.example/why":{"n":1.0},"io.modelcontextprotocol/subscriptionId":5}}}"#,
        ),
        (
            r#""5""#,
            Change::ResourcesList,
            r#"{"io.modelcontextprotocol/subscriptionId":"forged"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"5"}}}"#,
        ),
        (
            "-1",
            Change::Resource("note://a?\"q\"".to_owned()),
            "{}",
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":-1},"uri":"note://a?\"q\""}}"#,
        ),
    ] {
        let event = Event::new(change, object(metadata)).expect("a good event");
        let listen = listen_as(&runtime, id, r#""notifications":{}"#);
        let message = listen.context.dialect.tell(listen.id(), &event);
        assert_eq!(String::from_utf8(message).expect("UTF-8"), told);
    }
}

#[test]
fn the_end_is_a_result() {
    let runtime = subscribed(components());
    let listen = listen_as(&runtime, r#""w1""#, r#""notifications":{}"#);
    let (dialect, id) = (listen.context.dialect, listen.id());
    assert_eq!(
        String::from_utf8(dialect.listened(&runtime, id)).expect("UTF-8"),
        r#"{"jsonrpc":"2.0","id":"w1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"w1","io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0.0"}}}}"#
    );
}

#[test]
fn only_what_was_asked_for_is_selected() {
    let uri = |uri: &str| Change::Resource(uri.to_owned());
    let changes = || {
        [
            Change::ToolsList,
            Change::PromptsList,
            Change::ResourcesList,
            uri("note://a"),
            uri("note://a/b"),
        ]
    };
    let selected = |filter: Filter| {
        changes()
            .map(|change| filter.selects(&Event::new(change, Object::new()).expect("a good event")))
    };
    let none = Filter::default;
    let tools_list_changed = true;
    let prompts_list_changed = true;
    let resources_list_changed = true;
    let resource_subscriptions = vec!["note://a".to_owned()];
    assert_eq!(selected(none()), [false; 5]);
    for (at, filter) in [
        Filter {
            tools_list_changed,
            ..none()
        },
        Filter {
            prompts_list_changed,
            ..none()
        },
        Filter {
            resources_list_changed,
            ..none()
        },
        Filter {
            resource_subscriptions,
            ..none()
        },
    ]
    .into_iter()
    .enumerate()
    {
        let mut expected = [false; 5];
        expected[at] = true;
        assert_eq!(selected(filter.clone()), expected);
        assert!(none().is_within(&filter));
        assert!(filter.is_within(&filter));
        assert!(!filter.is_within(&none()));
    }
}

#[test]
fn an_event_is_checked() {
    let new = |uri: &str, key: &str| {
        let mut metadata = Object::new();
        metadata.insert(key, Json::Null);
        Event::new(Change::Resource(uri.to_owned()), metadata).err()
    };
    assert_eq!(new("note://a", "ok"), None);
    assert_eq!(new("/a", "ok"), Some(EventError::Uri));
    assert_eq!(new("note://a", "not ok"), Some(EventError::Key));
}

#[test]
fn what_is_kept_of_a_request_is_who_asked_and_nothing_it_sent() {
    let runtime = subscribed(components());
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: subscriptions/listen\nx-secret: s";
    let text = message("1", r#""notifications":{"toolsListChanged":true}"#);
    let mut arrival = http(headers);
    arrival.principal = Some(Json::String("ada".to_owned()));
    let Prepared::Listen(listen) = prepare(&runtime, text.as_bytes(), arrival) else {
        panic!("a subscription");
    };
    assert!(listen.context.client_capabilities().is_some());
    let headers = listen.context.arrival.headers.as_deref();
    assert!(headers.is_some_and(|headers: &dyn Headers| !headers.all().is_empty()));
    let kept = listen.context.retained();
    assert_eq!(kept.id, listen.context.id);
    assert_eq!(kept.method, "subscriptions/listen");
    assert_eq!(kept.protocol_version(), "2026-07-28");
    assert_eq!(kept.arrival.transport, Transport::Http);
    assert_eq!(kept.arrival.principal, Some(Json::String("ada".to_owned())));
    assert!(kept.arrival.headers.is_none() && kept.meta.is_empty());
}
