//! An endpoint in a server of somebody else: what goes in through channels, and what comes out.

mod kit;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use kit::{Held, soon};
use snodo_core::json::Json;
use snodo_core::limits::Limits;
use snodo_core::notice::{Amount, Notice, Progress};
use snodo_core::outcome::Value;
use snodo_server::cancel::Reason;
use snodo_server::service::Service;
use snodo_server::transport::{Head, Hosted, HostedOptions, Outlet, Part, Piece};
use tokio::sync::mpsc::{Receiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// A request under way, as its host has it.
struct Asked {
    body: Option<UnboundedSender<Piece>>,
    parts: Receiver<Part>,
    task: JoinHandle<()>,
}

impl Asked {
    async fn status(&mut self) -> StatusCode {
        match soon(self.parts.recv()).await {
            Some(Part::Head(status, _)) => status,
            other => panic!("{other:?} where the head was due"),
        }
    }

    async fn rest(&mut self) -> String {
        let mut body = Vec::new();
        while let Some(Part::Body(piece, more)) = soon(self.parts.recv()).await {
            body.extend_from_slice(&piece);
            if !more {
                return String::from_utf8(body).expect("UTF-8");
            }
        }
        panic!("the response broke off");
    }
}

fn hosted(service: Arc<Service>) -> Arc<Hosted> {
    let options = HostedOptions {
        path: "/mcp".to_owned(),
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        legacy_sse: false,
    };
    Arc::new(Hosted::new(service, &options).expect("good options"))
}

fn head(message: &str) -> Head {
    let method = [
        "tools/call",
        "subscriptions/listen",
        "notifications/cancelled",
    ]
    .into_iter()
    .find(|method| message.contains(method))
    .expect("one of these");
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ] {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::try_from(value).expect("legal"));
    }
    if method == "tools/call" {
        headers.insert("mcp-name", HeaderValue::from_static("hold"));
    }
    Head {
        method: Method::POST,
        root: String::new(),
        path: "/mcp".to_owned(),
        query: Vec::new(),
        headers,
        closes: true,
        loopback: true,
        peer: None,
        principal: None,
        scope: None,
    }
}

/// Begins a request whose body has not come yet.
fn begin(hosted: &Arc<Hosted>, head: Head) -> Asked {
    let (body, pieces) = unbounded_channel();
    let (outlet, parts) = Outlet::new(|| ());
    Asked {
        body: Some(body),
        parts,
        task: tokio::spawn(hosted.clone().serve(head, pieces, outlet)),
    }
}

fn ask(hosted: &Arc<Hosted>, head: Head, message: &str) -> Asked {
    let asked = begin(hosted, head);
    let body = asked.body.as_ref().expect("just begun");
    let piece = Bytes::copy_from_slice(message.as_bytes());
    body.send((piece, false)).expect("somebody reads it");
    asked
}

async fn answer(held: &mut Held) {
    let (_, reply) = held.next().await;
    reply.send(Value::Text("done".to_owned()).into());
}

#[tokio::test]
async fn a_call_comes_in_pieces_and_leaves_whole() {
    let (service, mut held) = kit::service(Limits::default());
    let message = kit::call("1", "hold");
    let mut asked = begin(&hosted(service), head(&message));
    let body = asked.body.take().expect("just begun");
    for (at, byte) in message.bytes().enumerate() {
        let piece = Bytes::copy_from_slice(&[byte]);
        body.send((piece, at + 1 < message.len())).expect("read");
    }
    answer(&mut held).await;
    assert_eq!(asked.status().await, 200);
    assert!(asked.rest().await.contains("done"));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_served() {
    let (service, held) = kit::service(Limits::default());
    let message = kit::call("1", "hold");
    let mut asked = begin(&hosted(service), head(&message));
    let body = asked.body.take().expect("just begun");
    body.send((Bytes::from(message), true)).expect("read");
    drop(body);
    assert_eq!(asked.status().await, 400);
    assert!(held.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_body_has_only_so_much_time() {
    let (service, _held) = kit::service(Limits {
        body_timeout: Duration::from_secs(3),
        ..Limits::default()
    });
    let mut asked = begin(&hosted(service), head(&kit::call("1", "hold")));
    assert_eq!(asked.status().await, 408);
}

#[tokio::test]
async fn a_task_that_is_dropped_cancels_its_call() {
    let (service, mut held) = kit::service(Limits::default());
    let message = kit::call("1", "hold");
    let asked = ask(&hosted(service), head(&message), &message);
    let (_, reply) = held.next().await;
    asked.task.abort();
    let token = reply.cancelled().clone();
    assert_eq!(soon(token.stopped()).await, Reason::Client);
}

#[tokio::test]
async fn streams_end_with_the_host_and_calls_do_not() {
    let (service, mut held, _hub) = kit::eventful(Limits::default());
    let hosted = hosted(service);
    let message = kit::listen("1", r#"{"toolsListChanged":true}"#);
    let mut stream = ask(&hosted, head(&message), &message);
    assert_eq!(stream.status().await, 200);
    let message = kit::call("2", "hold");
    let mut call = ask(&hosted, head(&message), &message);
    let (_, reply) = held.next().await;
    hosted.end_streams();
    assert!(stream.rest().await.contains(r#""result""#));
    assert!(!reply.is_cancelled());
    reply.send(Value::Text("done".to_owned()).into());
    assert_eq!(call.status().await, 200);
    // What comes after that is served as ever.
    let message = kit::listen("3", r#"{"toolsListChanged":true}"#);
    let mut later = ask(&hosted, head(&message), &message);
    assert_eq!(later.status().await, 200);
    soon(later.parts.recv()).await.expect("the acknowledgement");
    assert!(later.parts.is_empty() && !later.parts.is_closed());
}

#[tokio::test]
async fn a_caller_cancels_its_own() {
    let (service, mut held) = kit::service(Limits::default());
    let hosted = hosted(service);
    let of = |message: &str, principal: &str| Head {
        principal: Some(Json::String(principal.to_owned())),
        scope: Some(Json::Bool(true)),
        ..head(message)
    };
    let message = kit::call("1", "hold");
    let mut asked = ask(&hosted, of(&message, "ada"), &message);
    let (_, reply) = held.next().await;
    let mut again = ask(&hosted, of(&message, "ada"), &message);
    assert_eq!(again.status().await, 409);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for (principal, ends) in [("bob", false), ("ada", true)] {
        let mut told = ask(&hosted, of(cancel, principal), cancel);
        assert_eq!(told.status().await, 202);
        assert_eq!(reply.is_cancelled(), ends);
    }
    assert_eq!(asked.status().await, 204);
}

#[tokio::test]
async fn the_host_is_waited_for_before_more_is_made() {
    let (service, mut held) = kit::service(Limits::default());
    let message = kit::loud_call("1", "hold");
    let mut asked = ask(&hosted(service), head(&message), &message);
    let (_, reply) = held.next().await;
    let voice = reply.voice().expect("it wants to hear").clone();
    for step in 0..10_000 {
        voice.say(Notice::Progress(Progress::new(
            Amount::Int(step),
            None,
            None,
        )));
        tokio::task::yield_now().await;
    }
    reply.send(Value::Text("done".to_owned()).into());
    assert_eq!(asked.status().await, 200);
    let body = asked.rest().await;
    assert!(body.contains("done"));
    let notices = body.matches("notifications/progress").count();
    assert!(
        notices < 5000,
        "old progress is forgotten, not kept for the host"
    );
}
