//! Clients that open with a handshake, over HTTP: sessions, their streams, and requests without one.

mod kit;

use std::time::Duration;

use kit::exchange::{Response, Server};
use kit::{
    Held, eventful, eventful_late, id_of, initialize, plain, plain_call, question, subscribed,
};
use snodo_core::json::Object;
use snodo_core::limits::Limits;
use snodo_core::notice::{Amount, Notice, Progress};
use snodo_core::outcome::Value;
use snodo_core::subscription::{Change, Event};
use snodo_server::cancel::Reason;
use snodo_server::hub::Hub;
use snodo_server::source::Opening;
use tokio::time::timeout;

const NEWEST: &str = "2025-11-25";
const BEFORE: &str = "2025-06-18";

fn start() -> (Server, Held, Hub) {
    let (service, held, hub) = eventful(Limits::default());
    (Server::start(service), held, hub)
}

fn event(change: Change) -> Event {
    Event::new(change, Object::new()).expect("a good event")
}

fn text(text: &str) -> snodo_core::outcome::Outcome {
    Value::Text(text.to_owned()).into()
}

async fn assert_answered(response: &mut Response, id: &str, part: &str) {
    assert_eq!(response.status, 200, "{}", response.head);
    let body = response.rest().await;
    assert!(body.contains(&format!(r#""id":{id},"result""#)), "{body}");
    assert!(body.contains(part), "{body}");
}

fn progress(done: i64) -> Notice {
    Notice::Progress(Progress::new(Amount::Int(done), None, None))
}

fn followed(id: &str, tool: &str) -> String {
    let params = format!(r#"{{"_meta":{{"progressToken":"t"}},"name":"{tool}","arguments":{{}}}}"#);
    plain(id, "tools/call", &params)
}

#[tokio::test]
async fn every_revision_is_served_with_and_without_a_session() {
    let (server, _held, _) = start();
    for version in [NEWEST, BEFORE, "2025-03-26", "2024-11-05"] {
        let client = server.session(version).await;
        let mut response = client.post(&plain_call("1", "add")).await;
        assert_answered(&mut response, "1", r#""text":"5""#).await;
        let mut stateless = server.client();
        stateless.with("MCP-Protocol-Version", version);
        let mut response = stateless.post(&plain_call("2", "add")).await;
        assert_answered(&mut response, "2", r#""text":"5""#).await;
    }
    let mut response = server.client().post(&plain_call("3", "add")).await;
    assert_answered(&mut response, "3", r#""text":"5""#).await;
}

#[tokio::test]
async fn both_eras_are_served_at_one_address_whatever_the_session() {
    let (server, _held, _) = start();
    let client = server.session(NEWEST).await;
    let headers = "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                   Mcp-Method: tools/call\r\nMcp-Name: add\r\n";
    let mut stranger = server.client();
    stranger.with("Mcp-Session-Id", "nonsense");
    for modern in [client.versionless(), stranger] {
        let mut response = modern.send("POST", headers, &kit::call("1", "add")).await;
        assert_answered(&mut response, "1", r#""resultType":"complete""#).await;
    }
    let mut response = client.post(&plain_call("2", "add")).await;
    assert_answered(&mut response, "2", r#""text":"5""#).await;
}

#[tokio::test]
async fn a_session_that_has_ended_is_not_found_and_may_begin_again() {
    let (server, _held, _) = start();
    let client = server.session(NEWEST).await;
    let mut stranger = server.client();
    stranger.with("Mcp-Session-Id", "00000000000000000000000000000000");
    for response in [
        stranger.post(&plain("1", "tools/list", "{}")).await,
        stranger.get().await,
        stranger.delete().await,
    ] {
        assert_eq!(response.status, 404, "{}", response.head);
    }
    assert_eq!(stranger.post(&initialize("2", NEWEST)).await.status, 200);
    assert_eq!(client.delete().await.status, 204);
    for response in [
        client.post(&plain("3", "tools/list", "{}")).await,
        client.get().await,
        client.delete().await,
    ] {
        assert_eq!(response.status, 404, "{}", response.head);
    }
}

#[tokio::test]
async fn without_a_session_there_is_no_stream_and_nothing_to_end() {
    let (server, _held, _) = start();
    assert_eq!(server.client().get().await.status, 405);
    assert_eq!(server.client().delete().await.status, 405);
    let client = server.session(NEWEST).await;
    assert_eq!(client.json_only().get().await.status, 406);
    let mut odd = client.versionless();
    odd.with("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(odd.get().await.status, 400);
    assert_eq!(odd.delete().await.status, 400);
}

#[tokio::test]
async fn the_longest_idle_session_goes_when_there_are_too_many() {
    let limits = Limits {
        sessions: 2,
        ..Limits::default()
    };
    let (service, _held, _) = eventful(limits);
    let server = Server::start(service);
    let (first, second) = (server.session(NEWEST).await, server.session(NEWEST).await);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(first.post(&plain("1", "ping", "{}")).await.status, 200);
    server.session(NEWEST).await;
    assert_eq!(first.post(&plain("2", "ping", "{}")).await.status, 200);
    assert_eq!(second.post(&plain("3", "ping", "{}")).await.status, 404);
}

#[tokio::test]
async fn a_session_that_is_idle_too_long_ends() {
    // So long that a stream is open before its session is idle, on any machine.
    let session_idle = Duration::from_secs(1);
    let limits = Limits {
        session_idle,
        ..Limits::default()
    };
    let (service, _held, _) = eventful(limits);
    let server = Server::start(service);
    let (client, listener) = (server.session(NEWEST).await, server.session(NEWEST).await);
    let stream = listener.get().await;
    assert_eq!(stream.status, 200, "{}", stream.head);
    tokio::time::sleep(session_idle + Duration::from_millis(100)).await;
    assert_eq!(client.post(&plain("1", "ping", "{}")).await.status, 404);
    let listening = listener.post(&plain("1", "ping", "{}")).await;
    assert_eq!(listening.status, 200, "its stream is open");
}

#[tokio::test]
async fn a_question_goes_out_on_the_stream_of_the_call() {
    let (server, mut held, _) = start();
    for version in [NEWEST, BEFORE] {
        let client = server.session(version).await;
        let calling = tokio::spawn({
            let client = client.clone();
            async move { client.post(&followed("1", "hold")).await }
        });
        let (call, reply) = held.next().await;
        assert!(call.context.input_responses.is_none());
        reply.send(question("sure", Some("s1")));
        let mut response = calling.await.expect("no panic");
        assert!(response.is_stream());
        if version == NEWEST {
            let priming = response.event().await;
            assert_eq!(priming.data.as_deref(), Some(""));
            assert!(priming.retry.is_some() && priming.id().ends_with("-0"));
        }
        let asked = response.event().await;
        assert!(
            asked.data().contains(r#""method":"elicitation/create""#),
            "{asked:?}"
        );
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"ok":true}}}}}}"#,
            id_of(asked.data())
        );
        // Nobody but the session answers it.
        assert_eq!(
            server.session(version).await.post(&answer).await.status,
            202
        );
        assert_eq!(client.post(&answer).await.status, 202);
        let (call, reply) = held.next().await;
        let answers = call.context.input_responses.as_ref().expect("answers");
        assert!(answers.contains("sure"));
        assert_eq!(call.context.request_state.as_deref(), Some("s1"));
        reply.voice().expect("a voice").say(progress(1));
        reply.send(text("done"));
        let told = response.event().await;
        assert!(told.data().contains("notifications/progress"), "{told:?}");
        let answered = response.event().await;
        assert!(answered.data().contains(r#""text":"done""#), "{answered:?}");
        assert_eq!(response.next().await, None);
    }
}

#[tokio::test]
async fn who_cannot_be_asked_is_told_why() {
    let (server, mut held, _) = start();
    let session = server.session(NEWEST).await;
    let mut stateless = server.client();
    stateless.with("MCP-Protocol-Version", NEWEST);
    for client in [session.json_only(), stateless] {
        let calling = tokio::spawn(async move { client.post(&plain_call("1", "hold")).await });
        held.next().await.1.send(question("sure", None));
        let mut response = calling.await.expect("no panic");
        assert_answered(&mut response, "1", r#""isError":true"#).await;
    }
}

#[tokio::test]
async fn a_question_nobody_answers_is_withdrawn_in_time() {
    let limits = Limits {
        answer_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    let (service, mut held, _) = eventful(limits);
    let server = Server::start(service);
    let client = server.session(BEFORE).await;
    let calling = tokio::spawn(async move { client.post(&plain_call("1", "hold")).await });
    held.next().await.1.send(question("sure", None));
    let mut response = calling.await.expect("no panic");
    let asked = response.event().await;
    let withdrawn = response.event().await;
    assert!(
        withdrawn.data().contains("notifications/cancelled"),
        "{withdrawn:?}"
    );
    assert!(
        withdrawn.data().contains(id_of(asked.data())),
        "{withdrawn:?}"
    );
    let answered = response.event().await;
    assert!(
        answered.data().contains("did not answer in time"),
        "{answered:?}"
    );
}

#[tokio::test]
async fn at_shutdown_nobody_waits_for_an_answer() {
    let (mut server, mut held, _) = start();
    let client = server.session(BEFORE).await;
    let calling = tokio::spawn(async move { client.post(&plain_call("1", "hold")).await });
    held.next().await.1.send(question("sure", None));
    let mut response = calling.await.expect("no panic");
    let asked = response.event().await;
    server.shut_down();
    let withdrawn = response.event().await;
    assert!(
        withdrawn.data().contains(id_of(asked.data())),
        "{withdrawn:?}"
    );
    let answered = response.event().await;
    assert!(
        answered.data().contains("The server is shutting down"),
        "{answered:?}"
    );
    server.ended().await;
}

#[tokio::test]
async fn the_place_is_free_while_a_client_is_asked() {
    let limits = Limits {
        running: 1,
        queued: 0,
        ..Limits::default()
    };
    let (service, mut held, _) = eventful(limits);
    let server = Server::start(service);
    let client = server.session(BEFORE).await;
    let asking = client.clone();
    let calling = tokio::spawn(async move { asking.post(&plain_call("1", "hold")).await });
    held.next().await.1.send(question("sure", None));
    let mut response = calling.await.expect("no panic");
    response.event().await;
    assert_answered(&mut client.post(&plain_call("2", "add")).await, "2", "5").await;
}

#[tokio::test]
async fn only_so_many_calls_wait_for_their_clients() {
    let limits = Limits {
        sessions: 1,
        ..Limits::default()
    };
    let (service, mut held, _) = eventful(limits);
    let server = Server::start(service);
    let client = server.session(BEFORE).await;
    let mut waiting = Vec::new();
    for id in ["1", "2"] {
        let client = client.clone();
        let calling = tokio::spawn(async move { client.post(&plain_call(id, "hold")).await });
        held.next().await.1.send(question("sure", None));
        waiting.push(calling.await.expect("no panic"));
    }
    assert!(waiting[0].is_stream());
    assert_answered(&mut waiting[1], "2", "capacity exhausted").await;
    // A session that has to go takes with it what waits for its client.
    server.session(BEFORE).await;
    let asked = waiting[0].event().await;
    let withdrawn = waiting[0].event().await;
    assert!(
        withdrawn.data().contains(id_of(asked.data())),
        "{withdrawn:?}"
    );
    assert_eq!(waiting[0].next().await, None);
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_session_and_by_no_other() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.post(&plain_call("1", "hold")).await }
    });
    let (_call, reply) = held.next().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let stranger = server.session(NEWEST).await;
    assert_eq!(stranger.post(cancel).await.status, 202);
    assert!(!reply.is_cancelled());
    assert_eq!(client.post(cancel).await.status, 202);
    assert_eq!(kit::soon(reply.cancelled().stopped()).await, Reason::Client);
    calling.await.expect("no panic");
}

#[tokio::test]
async fn a_lost_connection_cancels_nothing_and_the_stream_is_resumed() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.post(&followed("1", "hold")).await }
    });
    let (_call, reply) = held.next().await;
    reply.voice().expect("a voice").say(progress(1));
    let mut response = calling.await.expect("no panic");
    let priming = response.event().await;
    let first = response.event().await;
    assert!(first.data().contains(r#""progress":1"#), "{first:?}");
    drop(response);
    reply.voice().expect("a voice").say(progress(2));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!reply.is_cancelled());
    let mut again = client.resume(first.id()).await;
    assert!(again.is_stream());
    assert!(again.event().await.data().contains(r#""progress":2"#));
    reply.voice().expect("a voice").say(progress(3));
    assert!(again.event().await.data().contains(r#""progress":3"#));
    reply.send(text("done"));
    let last = again.event().await;
    assert!(last.data().contains(r#""text":"done""#), "{last:?}");
    assert_eq!(again.next().await, None);
    // All of it, once more.
    let mut again = client.resume(priming.id()).await;
    let mut ids = Vec::new();
    while let Some(event) = again.next().await {
        ids.push(event.id().to_owned());
    }
    assert_eq!(ids.len(), 4);
    assert!(
        ids.iter()
            .all(|id| id.split_once('-').expect("an id").0 == "1"),
        "{ids:?}"
    );
    for unknown in ["77-1", "x", "-"] {
        assert_eq!(client.resume(unknown).await.status, 400);
    }
    assert_eq!(
        server.session(NEWEST).await.resume(first.id()).await.status,
        400
    );
}

#[tokio::test]
async fn a_stream_is_read_by_one_connection_and_the_newest_has_it() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.post(&followed("1", "hold")).await }
    });
    let (_call, reply) = held.next().await;
    let voice = reply.voice().expect("a voice");
    voice.say(progress(1));
    let mut first = calling.await.expect("no panic");
    first.event().await;
    let seen = first.event().await;
    let mut second = client.resume(seen.id()).await;
    assert_eq!(first.next().await, None);
    assert!(!reply.is_cancelled());
    voice.say(progress(2));
    let told = second.event().await;
    assert!(told.data().contains(r#""progress":2"#), "{told:?}");
    let mut third = client.resume(told.id()).await;
    assert_eq!(second.next().await, None);
    reply.send(text("done"));
    let last = third.event().await;
    assert!(last.data().contains(r#""text":"done""#), "{last:?}");
    assert_eq!(third.next().await, None);
}

#[tokio::test]
async fn a_call_without_a_session_runs_to_its_end() {
    let (server, mut held, _) = start();
    let mut client = server.client();
    client.with("MCP-Protocol-Version", NEWEST);
    for client in [client.json_only(), client] {
        let calling = tokio::spawn(async move { client.post(&plain_call("1", "hold")).await });
        let (_call, reply) = held.next().await;
        calling.abort();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!reply.is_cancelled());
        reply.send(text("done"));
    }
}

#[tokio::test]
async fn a_session_hears_of_changes_and_of_what_it_watches() {
    let (server, _held, hub) = start();
    let client = server.session(NEWEST).await;
    let uri = r#"{"uri":"note://a"}"#;
    let mut stream = client.get().await;
    assert!(stream.is_stream());
    hub.publish(event(Change::Resource("note://a".to_owned())));
    hub.publish(event(Change::ToolsList));
    let told = stream.event().await;
    assert_eq!(
        told.data(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
    );
    let mut watching = client.post(&plain("1", "resources/subscribe", uri)).await;
    assert_answered(&mut watching, "1", "{}").await;
    // What happens once that is answered is told.
    let heard = hub.publish(event(Change::Resource("note://a".to_owned())));
    assert_eq!(heard.matched, 1);
    let told = stream.event().await;
    assert!(told.data().contains(r#""uri":"note://a""#), "{told:?}");
    client.post(&plain("2", "resources/unsubscribe", uri)).await;
    assert_eq!(hub.stats().subscriptions, 1, "the one to the lists");
    // The newest stream is the only one.
    let mut newer = client.get().await;
    assert_eq!(stream.next().await, None);
    hub.publish(event(Change::ResourcesList));
    let told = newer.event().await;
    assert!(told.data().contains("resources/list_changed"), "{told:?}");
    drop(newer);
    let mut again = client.resume("1-2").await;
    assert_eq!(again.event().await, told, "it is sent again");
    assert_eq!(client.delete().await.status, 204);
    assert_eq!(again.next().await, None);
    assert_eq!(hub.stats().subscriptions, 0);
}

#[tokio::test]
async fn what_a_client_was_told_that_it_hears_it_hears_whatever_time_the_source_takes() {
    let (service, _held, hub) = eventful_late(Limits::default());
    let server = Server::start(service);
    let client = server.session(NEWEST).await;
    let mut stream = client.get().await;
    hub.publish(event(Change::ToolsList));
    let told = stream.event().await;
    assert!(told.data().contains("tools/list_changed"), "{told:?}");
    let watch = plain("1", "resources/subscribe", r#"{"uri":"note://a"}"#);
    assert_answered(&mut client.post(&watch).await, "1", "{}").await;
    hub.publish(event(Change::Resource("note://a".to_owned())));
    let told = stream.event().await;
    assert!(told.data().contains(r#""uri":"note://a""#), "{told:?}");
    // Without a stream there is nothing to wait for.
    assert_eq!(client.delete().await.status, 204);
    let client = server.session(NEWEST).await;
    assert_answered(&mut client.post(&watch).await, "1", "{}").await;
}

#[tokio::test]
async fn a_source_that_never_opens_holds_up_nobody_for_long() {
    let never = |_, _| -> Opening { Box::pin(std::future::pending()) };
    let server = Server::start(subscribed(Limits::default(), never));
    let client = server.session(NEWEST).await;
    let stream = client.get().await;
    assert!(stream.is_stream());
    let watch = plain("1", "resources/subscribe", r#"{"uri":"note://a"}"#);
    assert_answered(&mut client.post(&watch).await, "1", "{}").await;
}

#[tokio::test]
async fn what_has_ended_is_heard_again_by_whoever_asks_again() {
    let (server, _held, hub) = start();
    let client = server.session(NEWEST).await;
    let mut stream = client.get().await;
    let watch = plain("1", "resources/subscribe", r#"{"uri":"note://a"}"#);
    assert_answered(&mut client.post(&watch).await, "1", "{}").await;
    hub.complete();
    let heard = async {
        // The stream may not have noticed yet.
        while hub
            .publish(event(Change::Resource("note://a".to_owned())))
            .matched
            == 0
        {
            assert_answered(&mut client.post(&watch).await, "1", "{}").await;
        }
    };
    timeout(Duration::from_secs(25), heard)
        .await
        .expect("heard");
    let told = stream.event().await;
    assert!(told.data().contains(r#""uri":"note://a""#), "{told:?}");
}

#[tokio::test]
async fn what_came_together_waits_together_for_such_a_source() {
    let never = |_, _| -> Opening { Box::pin(std::future::pending()) };
    let server = Server::start(subscribed(Limits::default(), never));
    let client = server.session("2025-03-26").await;
    let stream = client.get().await;
    assert!(stream.is_stream());
    let messages: Vec<_> = (0..50)
        .map(|id| {
            let uri = format!(r#"{{"uri":"note://{id}"}}"#);
            plain(&id.to_string(), "resources/subscribe", &uri)
        })
        .collect();
    let batch = format!("[{}]", messages.join(","));
    let answers = async { client.post(&batch).await.rest().await };
    let answers = timeout(Duration::from_secs(25), answers).await;
    let answers = answers.expect("about a second, and not for each");
    assert_eq!(answers.matches(r#""result":{}"#).count(), 50, "{answers}");
}

#[tokio::test]
async fn a_session_watches_so_much_and_no_more() {
    let (server, _held, _) = start();
    let client = server.session(NEWEST).await;
    let watch = |id: String, number: usize| {
        let uri = format!("note://{number}/{}", "x".repeat(2_000));
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        let client = client.clone();
        async move {
            client
                .post(&plain(&id, "resources/subscribe", &params))
                .await
        }
    };
    for number in 0..65 {
        let id = number.to_string();
        assert_answered(&mut watch(id.clone(), number).await, &id, "{}").await;
    }
    let mut refused = watch("1".to_owned(), 65).await;
    assert_eq!(refused.status, 200);
    let body = refused.rest().await;
    let told = "A session watches at most 1000 URIs of 131072 bytes";
    assert!(
        body.contains(r#""code":-32602"#) && body.contains(told),
        "{body}"
    );
    // One that is watched already takes no more room.
    assert_answered(&mut watch("2".to_owned(), 0).await, "2", "{}").await;
}

#[tokio::test]
async fn the_log_level_is_the_sessions() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await;
    let level = |level: &str| {
        plain(
            "1",
            "logging/setLevel",
            &format!(r#"{{"level":"{level}"}}"#),
        )
    };
    for (name, expected) in [("error", "error"), ("debug", "debug")] {
        let mut set = client.post(&level(name)).await;
        assert_answered(&mut set, "1", "{}").await;
        let calling = tokio::spawn({
            let client = client.clone();
            async move { client.post(&plain_call("2", "hold")).await }
        });
        let (call, reply) = held.next().await;
        assert_eq!(
            call.context.log_level.map(snodo_core::notice::Level::name),
            Some(expected)
        );
        reply.send(text("done"));
        calling.await.expect("no panic");
    }
}

#[tokio::test]
async fn messages_that_come_together_are_answered_together() {
    let (server, mut held, _) = start();
    let client = server.session("2025-03-26").await;
    let batch = format!(
        r#"[{},{{"jsonrpc":"2.0","method":"notifications/foo"}},{},{}]"#,
        plain("1", "ping", "{}"),
        plain_call("2", "hold"),
        plain("3", "no/such", "{}"),
    );
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.post(&batch).await }
    });
    held.next().await.1.send(text("held"));
    let mut response = calling.await.expect("no panic");
    assert_eq!(response.status, 200);
    let body = response.rest().await;
    assert!(body.starts_with('[') && body.ends_with(']'), "{body}");
    for part in [
        r#""id":1,"result":{}"#,
        r#""text":"held""#,
        r#""id":3,"error""#,
    ] {
        assert!(body.contains(part), "{body}");
    }
    let silent = r#"[{"jsonrpc":"2.0","method":"notifications/foo"}]"#;
    assert_eq!(client.post(silent).await.status, 202);
    assert_eq!(server.session(BEFORE).await.post(silent).await.status, 400);
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let (mut server, mut held, hub) = start();
    let client = server.session(NEWEST).await;
    let mut changes = client.get().await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.post(&followed("1", "hold")).await }
    });
    let (_call, reply) = held.next().await;
    reply.voice().expect("a voice").say(progress(1));
    drop(calling.await.expect("no panic"));
    server.shut_down();
    assert_eq!(changes.next().await, None);
    assert_eq!(hub.stats().subscriptions, 0);
    // The call that nobody reads has its time to finish.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!reply.is_cancelled());
    reply.send(text("done"));
    server.ended().await;
}

#[tokio::test]
async fn a_client_that_names_itself_with_json_only_gets_json() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await.json_only();
    let calling = tokio::spawn(async move { client.post(&followed("1", "hold")).await });
    let (_call, reply) = held.next().await;
    reply.voice().expect("a voice").say(progress(1));
    reply.send(text("done"));
    let mut response = calling.await.expect("no panic");
    assert!(!response.is_stream());
    assert_answered(&mut response, "1", "done").await;
}

#[tokio::test]
async fn a_call_that_stays_silent_becomes_a_stream_to_come_back_to() {
    let (server, mut held, _) = start();
    let client = server.session(NEWEST).await;
    let calling = tokio::spawn(async move { client.post(&plain_call("1", "hold")).await });
    let (_call, reply) = held.next().await;
    let mut response = calling.await.expect("no panic");
    assert!(response.event().await.retry.is_some());
    reply.send(text("done"));
    assert!(response.event().await.data().contains("done"));
}
