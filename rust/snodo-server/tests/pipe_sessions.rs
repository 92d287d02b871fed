//! Clients that open with a handshake, over a pair of pipes: one session, both eras, both directions.

mod kit;

use std::fs::File;
use std::io::{BufRead, BufReader, PipeWriter, Write, pipe};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use kit::{Held, eventful, eventful_late, id_of, initialize, plain, plain_call, question, soon};
use snodo_core::json::Object;
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::subscription::{Change, Event};
use snodo_server::hub::Hub;
use snodo_server::service::Service;
use snodo_server::transport::serve_stdio;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const NEWEST: &str = "2025-11-25";

struct Pipe {
    input: PipeWriter,
    output: UnboundedReceiver<String>,
    held: Held,
    hub: Hub,
}

impl Pipe {
    fn start() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self::of(eventful(limits))
    }

    fn of((service, held, hub): (Arc<Service>, Held, Hub)) -> Self {
        let (input_reader, input) = pipe().expect("a pipe");
        let (reader, output_writer) = pipe().expect("a pipe");
        let file = |end: OwnedFd| File::from(end);
        let (from, to) = (file(input_reader.into()), file(output_writer.into()));
        tokio::spawn(serve_stdio(service, from, to, None, std::future::pending()));
        let (lines, output) = unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let _ = lines.send(line.expect("UTF-8"));
            }
        });
        Self {
            input,
            output,
            held,
            hub,
        }
    }

    /// A pipe whose client has opened with a handshake.
    async fn opened(version: &str) -> Self {
        Self::start().shaken(version).await
    }

    async fn shaken(self, version: &str) -> Self {
        let mut pipe = self;
        pipe.line(&initialize("0", version));
        let answer = pipe.next().await;
        assert!(
            answer.contains(&format!(r#""protocolVersion":"{version}""#)),
            "{answer}"
        );
        pipe.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        pipe
    }

    fn line(&mut self, text: &str) {
        self.input
            .write_all(format!("{text}\n").as_bytes())
            .expect("sent");
    }

    async fn next(&mut self) -> String {
        soon(self.output.recv()).await.expect("a line")
    }

    async fn assert_next(&mut self, parts: &[&str]) -> String {
        let line = self.next().await;
        for part in parts {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        line
    }
}

fn text(text: &str) -> snodo_core::outcome::Outcome {
    Value::Text(text.to_owned()).into()
}

#[tokio::test]
async fn a_bare_message_before_the_handshake_is_told_what_to_send() {
    let mut pipe = Pipe::start();
    pipe.line(&plain("1", "ping", "{}"));
    pipe.assert_next(&[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#])
        .await;
    pipe.line(&plain_call("2", "add"));
    pipe.assert_next(&[r#""id":2,"error":{"code":-32602"#, "initialize"])
        .await;
    pipe.line(&kit::call("3", "add"));
    pipe.assert_next(&[r#""id":3,"result""#, r#""resultType""#])
        .await;
}

#[tokio::test]
async fn both_eras_are_served_on_one_pipe() {
    let mut pipe = Pipe::opened(NEWEST).await;
    pipe.line(&plain_call("1", "add"));
    let line = pipe
        .assert_next(&[r#""id":1,"result""#, r#""text":"5""#])
        .await;
    assert!(!line.contains("resultType"), "{line}");
    pipe.line(&kit::call("2", "add"));
    pipe.assert_next(&[r#""id":2,"result""#, r#""resultType""#])
        .await;
    pipe.line(&plain_call("3", "add"));
    let line = pipe.assert_next(&[r#""id":3,"result""#]).await;
    assert!(!line.contains("resultType"), "{line}");
    // Another handshake begins anew.
    pipe.line(&initialize("4", "2025-06-18"));
    pipe.assert_next(&[r#""id":4"#, r#""protocolVersion":"2025-06-18""#])
        .await;
}

#[tokio::test]
async fn a_question_is_a_line_and_its_answer_another() {
    let mut pipe = Pipe::opened(NEWEST).await;
    pipe.line(&plain_call("1", "hold"));
    let (_, reply) = pipe.held.next().await;
    reply.send(question("sure", Some("s")));
    let asked = pipe
        .assert_next(&[r#""method":"elicitation/create""#])
        .await;
    // The reader is not blocked meanwhile.
    pipe.line(&plain("2", "ping", "{}"));
    pipe.assert_next(&[r#""id":2,"result":{}"#]).await;
    pipe.line(r#"{"jsonrpc":"2.0","id":"nobody","result":{"action":"cancel"}}"#);
    pipe.line(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#,
        id_of(&asked)
    ));
    let (call, reply) = pipe.held.next().await;
    assert!(
        call.context
            .input_responses
            .as_ref()
            .expect("answers")
            .contains("sure")
    );
    assert_eq!(call.context.request_state.as_deref(), Some("s"));
    reply.send(text("done"));
    pipe.assert_next(&[r#""id":1,"result""#, "done"]).await;
}

#[tokio::test]
async fn a_client_that_refuses_ends_the_call() {
    let mut pipe = Pipe::opened("2025-06-18").await;
    pipe.line(&plain_call("1", "hold"));
    pipe.held.next().await.1.send(question("sure", None));
    let asked = pipe
        .assert_next(&[r#""method":"elicitation/create""#])
        .await;
    pipe.line(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-1,"message":"User said no"}}}}"#,
        id_of(&asked)
    ));
    pipe.assert_next(&[r#""id":1,"result""#, r#""isError":true"#, "User said no"])
        .await;
}

#[tokio::test]
async fn a_question_is_withdrawn_when_its_call_is_cancelled() {
    let mut pipe = Pipe::opened(NEWEST).await;
    pipe.line(&plain_call("1", "hold"));
    pipe.held.next().await.1.send(question("sure", None));
    let asked = pipe
        .assert_next(&[r#""method":"elicitation/create""#])
        .await;
    pipe.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    pipe.assert_next(&["notifications/cancelled", id_of(&asked)])
        .await;
    pipe.line(&plain_call("1", "add"));
    pipe.assert_next(&[r#""id":1,"result""#, r#""text":"5""#])
        .await;
}

#[tokio::test]
async fn a_client_that_begins_anew_answers_nothing_it_was_asked_before() {
    let mut pipe = Pipe::opened(NEWEST).await;
    pipe.line(&plain_call("1", "hold"));
    pipe.held.next().await.1.send(question("sure", None));
    pipe.assert_next(&[r#""method":"elicitation/create""#])
        .await;
    pipe.line(&initialize("2", NEWEST));
    let both = [pipe.next().await, pipe.next().await].concat();
    assert!(both.contains(r#""id":2,"result""#), "{both}");
    assert!(both.contains("The client's session has ended"), "{both}");
}

#[tokio::test]
async fn a_question_is_withdrawn_when_nobody_answers() {
    let mut pipe = Pipe::with(Limits {
        answer_timeout: Duration::from_millis(50),
        ..Limits::default()
    });
    pipe.line(&initialize("0", NEWEST));
    pipe.next().await;
    pipe.line(&plain_call("1", "hold"));
    pipe.held.next().await.1.send(question("sure", None));
    let asked = pipe
        .assert_next(&[r#""method":"elicitation/create""#])
        .await;
    pipe.assert_next(&["notifications/cancelled", id_of(&asked)])
        .await;
    pipe.assert_next(&[r#""id":1"#, "did not answer in time"])
        .await;
}

#[tokio::test]
async fn a_resource_is_watched_when_the_client_is_told_so() {
    let late = Pipe::of(eventful_late(Limits::default()));
    let mut pipe = late.shaken(NEWEST).await;
    pipe.line(&plain("1", "resources/subscribe", r#"{"uri":"note://a"}"#));
    pipe.assert_next(&[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#])
        .await;
    let change = Change::Resource("note://a".to_owned());
    let event = Event::new(change, Object::new()).expect("a good event");
    assert_eq!(pipe.hub.publish(event).matched, 1);
    pipe.assert_next(&["notifications/resources/updated", "note://a"])
        .await;
}

#[tokio::test]
async fn changes_are_told_as_they_come() {
    let mut pipe = Pipe::opened(NEWEST).await;
    let event = |change| Event::new(change, Object::new()).expect("a good event");
    let resource = || event(Change::Resource("note://a".to_owned()));
    while pipe.hub.publish(event(Change::ToolsList)).matched == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let told = pipe.next().await;
    assert_eq!(
        told,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
    );
    pipe.line(&plain("1", "resources/subscribe", r#"{"uri":"note://a"}"#));
    pipe.assert_next(&[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#])
        .await;
    assert_eq!(pipe.hub.publish(resource()).matched, 1);
    pipe.assert_next(&["notifications/resources/updated", "note://a"])
        .await;
    pipe.line(&plain(
        "2",
        "resources/unsubscribe",
        r#"{"uri":"note://a"}"#,
    ));
    pipe.assert_next(&[r#""id":2,"result":{}"#]).await;
    pipe.line(&plain("3", "ping", "{}"));
    pipe.assert_next(&[r#""id":3,"result":{}"#]).await;
    assert_eq!(pipe.hub.publish(resource()).matched, 0);
}

#[tokio::test]
async fn the_log_level_is_the_pipes() {
    let mut pipe = Pipe::opened(NEWEST).await;
    pipe.line(&plain("1", "logging/setLevel", r#"{"level":"error"}"#));
    pipe.assert_next(&[r#""id":1,"result":{}"#]).await;
    pipe.line(&plain_call("2", "hold"));
    let (call, _reply) = pipe.held.next().await;
    assert_eq!(
        call.context.log_level.map(snodo_core::notice::Level::name),
        Some("error")
    );
}

#[tokio::test]
async fn a_batch_is_answered_by_one() {
    let mut pipe = Pipe::opened("2025-03-26").await;
    let (ping, held) = (plain("1", "ping", "{}"), plain_call("2", "hold"));
    pipe.line(&format!("[{ping},{held}]"));
    let (_, reply) = pipe.held.next().await;
    pipe.line(&plain("3", "ping", "{}"));
    pipe.assert_next(&[r#"{"jsonrpc":"2.0","id":3,"result":{}}"#])
        .await;
    reply.send(text("held"));
    let line = pipe
        .assert_next(&[r#"[{"jsonrpc":"2.0","id":1,"result":{}},"#, "held"])
        .await;
    assert!(line.ends_with(']'), "{line}");
    let mut other = Pipe::opened(NEWEST).await;
    other.line(&format!("[{ping}]"));
    other.assert_next(&["-32600"]).await;
}
