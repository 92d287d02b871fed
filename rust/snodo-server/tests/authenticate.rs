//! Who sends a request is asked before its body is read, within its time, and not where it is known.

mod kit;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use kit::soon;
use snodo_core::json::Json;
use snodo_core::limits::Limits;
use snodo_server::authenticate::{Authenticating, Denial, Head, Principal, Refusal};
use snodo_server::bind::{HttpOptions, HttpServer};
use snodo_server::listener::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn gate(head: Head) -> Authenticating {
    Box::pin(async move {
        match head.headers.get("x-who").map(HeaderValue::as_bytes) {
            Some(b"ada") => Ok(Principal(Json::String("ada".to_owned()))),
            Some(b"never") => std::future::pending().await,
            Some(b"fails") => Err(Denial::Failed),
            Some(b"odd") => Err(Denial::Invalid),
            _ => Err(Denial::Refused(Refusal {
                status: StatusCode::UNAUTHORIZED,
                challenge: Some(HeaderValue::from_static("Test realm=\"x\"")),
                message: "Who are you?".to_owned(),
            })),
        }
    })
}

/// The response to a request whose body never comes.
async fn ask(who: &str, method: &str, path: &str) -> String {
    let limits = Limits {
        authenticate_timeout: Duration::from_millis(50),
        body_timeout: Duration::from_millis(200),
        ..Limits::default()
    };
    let (service, _held) = kit::service(limits);
    let service = Arc::into_inner(service).expect("nobody else has it");
    let service = Arc::new(service.with_authenticator(Arc::new(gate)));
    let options = HttpOptions {
        port: 0,
        ..HttpOptions::default()
    };
    let server = HttpServer::bind(service, &options).expect("a free port");
    let Address::Tcp(address) = *server.address() else {
        panic!("a port")
    };
    let serving = tokio::spawn(server.serve(std::future::pending()));
    let mut client = soon(TcpStream::connect(address)).await.expect("connected");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\nX-Who: {who}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.expect("sent");
    let mut response = vec![0; 4096];
    let count = soon(client.read(&mut response)).await.expect("an answer");
    serving.abort();
    String::from_utf8_lossy(&response[..count]).into_owned()
}

#[tokio::test]
async fn nobody_comes_in_who_is_not_known() {
    for (who, status, message) in [
        ("eve", "401 ", "Who are you?"),
        ("never", "504 ", "Request gate timed out"),
        ("fails", "500 ", "Request gate failed"),
        ("odd", "500 ", "Request gate returned an invalid result"),
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let response = ask(who, method, "/mcp").await;
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status}")),
                "{response}"
            );
            assert!(response.contains(message), "{response}");
            let challenged = response.contains("www-authenticate: Test realm=\"x\"");
            assert_eq!(challenged, who == "eve", "{response}");
        }
    }
}

#[tokio::test]
async fn whoever_is_known_comes_as_far_as_the_body() {
    let response = ask("ada", "POST", "/mcp").await;
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    let beside = ask("eve", "GET", "/healthz").await;
    assert!(beside.starts_with("HTTP/1.1 200 "), "{beside}");
}
