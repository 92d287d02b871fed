//! HTTP+SSE of 2024-11-05: the stream, the post box, and how they end.

mod kit;

use std::sync::Arc;

use kit::exchange::{Client, Response, Server};
use kit::{Held, eventful, id_of, initialize, plain, plain_call, question, soon};
use snodo_core::json::Object;
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::subscription::{Change, Event};
use snodo_server::bind::{HttpOptions, HttpServer};
use snodo_server::cancel::Reason;
use snodo_server::hub::Hub;
use snodo_server::service::Service;

const OLDEST: &str = "2024-11-05";

fn start() -> (Server, Held, Hub) {
    let (service, held, hub) = eventful(Limits::default());
    (legacy(service), held, hub)
}

fn legacy(service: Arc<Service>) -> Server {
    let options = HttpOptions {
        legacy_sse: true,
        ..HttpOptions::default()
    };
    Server::with(service, options)
}

struct Old {
    client: Client,
    stream: Response,
    address: String,
}

impl Old {
    async fn connect(server: &Server) -> Self {
        let client = server.client();
        let mut stream = client.send_to("/sse", "GET", "", "").await;
        assert!(stream.is_stream(), "{}", stream.head);
        let first = stream.event().await;
        assert_eq!(first.name.as_deref(), Some("endpoint"));
        let address = first.data().to_owned();
        assert!(address.starts_with("/messages?session="), "{address}");
        Self {
            client,
            stream,
            address,
        }
    }

    async fn open(server: &Server) -> Self {
        let mut old = Self::connect(server).await;
        old.post(&initialize("0", OLDEST)).await;
        assert!(
            old.next()
                .await
                .contains(r#""protocolVersion":"2024-11-05""#)
        );
        old.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        old
    }

    async fn post(&self, message: &str) {
        assert_eq!(self.status(message).await, 202);
    }

    async fn status(&self, message: &str) -> u16 {
        let json = "Content-Type: application/json\r\n";
        let response = self
            .client
            .send_to(&self.address, "POST", json, message)
            .await;
        response.status
    }

    async fn next(&mut self) -> String {
        let event = self.stream.event().await;
        assert_eq!(event.name.as_deref(), Some("message"));
        event.data().to_owned()
    }
}

#[tokio::test]
async fn everything_comes_on_the_stream() {
    let (server, mut held, hub) = start();
    let mut old = Old::open(&server).await;
    old.post(&plain_call("1", "add")).await;
    assert!(old.next().await.contains(r#""id":1,"result""#));
    old.post(&plain_call("2", "hold")).await;
    old.post(&plain("3", "ping", "{}")).await;
    assert!(old.next().await.contains(r#""id":3,"result":{}"#));
    let (_call, reply) = held.next().await;
    reply.send(Value::Text("held".to_owned()).into());
    assert!(old.next().await.contains("held"));
    let changed = || Event::new(Change::ToolsList, Object::new()).expect("a good event");
    while hub.publish(changed()).matched == 0 {
        tokio::task::yield_now().await;
    }
    assert!(
        old.next()
            .await
            .contains("notifications/tools/list_changed")
    );
}

#[tokio::test]
async fn a_newer_client_may_be_asked_there_too() {
    let (server, mut held, _) = start();
    let mut old = Old::connect(&server).await;
    old.post(&initialize("0", "2025-11-25")).await;
    old.next().await;
    old.post(&plain_call("1", "hold")).await;
    held.next().await.1.send(question("sure", None));
    let asked = old.next().await;
    assert!(asked.contains("elicitation/create"), "{asked}");
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#,
        id_of(&asked)
    );
    old.post(&answer).await;
    let (call, reply) = held.next().await;
    assert!(call.context.input_responses.is_some());
    reply.send(Value::Text("done".to_owned()).into());
    assert!(old.next().await.contains("done"));
}

#[tokio::test]
async fn the_session_ends_with_its_stream() {
    let (server, mut held, hub) = start();
    let old = Old::open(&server).await;
    old.post(&plain_call("1", "hold")).await;
    let (_call, reply) = held.next().await;
    let Old {
        client,
        stream,
        address,
    } = old;
    drop(stream);
    assert_eq!(soon(reply.cancelled().stopped()).await, Reason::Client);
    let json = "Content-Type: application/json\r\n";
    let ping = plain("2", "ping", "{}");
    assert_eq!(
        client.send_to(&address, "POST", json, &ping).await.status,
        404
    );
    assert_eq!(hub.stats().subscriptions, 0);
}

#[tokio::test]
async fn the_stream_ends_with_the_server_when_its_calls_have() {
    let (mut server, mut held, _) = start();
    let mut old = Old::open(&server).await;
    old.post(&plain_call("1", "hold")).await;
    let (_call, reply) = held.next().await;
    server.shut_down();
    tokio::task::yield_now().await;
    reply.send(Value::Text("done".to_owned()).into());
    assert!(old.next().await.contains("done"));
    assert_eq!(old.stream.next().await, None);
    server.ended().await;
}

#[test]
fn the_endpoint_has_to_be_elsewhere() {
    for path in ["/sse", "/messages/"] {
        let (service, _held, _) = eventful(Limits::default());
        let options = HttpOptions {
            path: path.to_owned(),
            legacy_sse: true,
            port: 0,
            ..HttpOptions::default()
        };
        let error = HttpServer::bind(service, &options).err().expect("taken");
        assert!(error.to_string().contains("--legacy-sse"), "{error}");
    }
}

#[tokio::test]
async fn it_is_served_only_if_asked_for() {
    let (service, _held, _) = eventful(Limits::default());
    let server = Server::start(service.clone());
    assert_eq!(
        server.client().send_to("/sse", "GET", "", "").await.status,
        404
    );
    let server = legacy(service);
    assert_eq!(
        server.client().send_to("/sse", "POST", "", "").await.status,
        405
    );
    let client = server.client();
    let response = client.send_to("/sse", "GET", "Origin: https://evil.example\r\n", "");
    assert_eq!(response.await.status, 403);
    assert_eq!(
        server
            .client()
            .send_to("/messages", "POST", "", "{}")
            .await
            .status,
        415
    );
}
