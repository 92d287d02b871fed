//! A client of raw sockets that keeps to no more of HTTP than this server needs.

use std::net::SocketAddr;
use std::sync::Arc;

use snodo_server::bind::{HttpOptions, HttpServer};
use snodo_server::listener::Address;
use snodo_server::service::Service;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{initialize, soon};

pub struct Server {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub fn start(service: Arc<Service>) -> Self {
        Self::with(service, HttpOptions::default())
    }

    pub fn with(service: Arc<Service>, options: HttpOptions) -> Self {
        let options = HttpOptions { port: 0, ..options };
        let server = HttpServer::bind(service, &options).expect("a free port");
        let Address::Tcp(address) = *server.address() else {
            panic!("a port")
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            stop: Some(stop),
            task,
        }
    }

    pub fn client(&self) -> Client {
        Client {
            address: self.address,
            headers: "Accept: application/json, text/event-stream\r\n".to_owned(),
        }
    }

    /// A client that has opened a session.
    pub async fn session(&self, version: &str) -> Client {
        let mut client = self.client();
        let mut opened = client.post(&initialize("0", version)).await;
        assert_eq!(opened.status, 200, "{}", opened.head);
        let session = opened
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        assert!(
            opened
                .rest()
                .await
                .contains(&format!(r#""protocolVersion":"{version}""#))
        );
        client.with("Mcp-Session-Id", &session);
        client.with("MCP-Protocol-Version", version);
        client
    }

    pub fn shut_down(&mut self) {
        self.stop.take().expect("once").send(()).expect("it runs");
    }

    pub async fn ended(self) {
        soon(self.task).await.expect("no panic").expect("no error");
    }
}

#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    headers: String,
}

impl Client {
    pub fn with(&mut self, name: &str, value: &str) {
        self.headers.extend([name, ": ", value, "\r\n"]);
    }

    /// The same client, which does not say its revision.
    pub fn versionless(&self) -> Self {
        let (before, rest) = self
            .headers
            .split_once("MCP-Protocol-Version")
            .expect("it does");
        let (_, after) = rest.split_once("\r\n").expect("a line");
        Self {
            headers: format!("{before}{after}"),
            ..self.clone()
        }
    }

    /// The same client, which takes no event streams.
    pub fn json_only(&self) -> Self {
        let headers = self.headers.replace(", text/event-stream", "");
        Self {
            headers,
            ..self.clone()
        }
    }

    pub async fn post(&self, body: &str) -> Response {
        self.send("POST", "Content-Type: application/json\r\n", body)
            .await
    }

    pub async fn get(&self) -> Response {
        self.send("GET", "", "").await
    }

    pub async fn resume(&self, last: &str) -> Response {
        self.send("GET", &format!("Last-Event-ID: {last}\r\n"), "")
            .await
    }

    pub async fn delete(&self) -> Response {
        self.send("DELETE", "", "").await
    }

    pub async fn send(&self, method: &str, headers: &str, body: &str) -> Response {
        self.send_to("/mcp", method, headers, body).await
    }

    pub async fn send_to(&self, path: &str, method: &str, headers: &str, body: &str) -> Response {
        let mut stream = soon(TcpStream::connect(self.address))
            .await
            .expect("connected");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{}{headers}Content-Length: {}\r\n\r\n{body}",
            self.headers,
            body.len()
        );
        soon(stream.write_all(request.as_bytes()))
            .await
            .expect("sent");
        Response::begin(stream).await
    }
}

/// A response whose body is read as it comes.
pub struct Response {
    pub status: u16,
    pub head: String,
    stream: TcpStream,
    raw: Vec<u8>,
    text: String,
}

#[derive(Debug, Default, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub retry: Option<String>,
    pub name: Option<String>,
    pub data: Option<String>,
}

impl Event {
    pub fn data(&self) -> &str {
        self.data.as_deref().expect("data")
    }

    pub fn id(&self) -> &str {
        self.id.as_deref().expect("an id")
    }
}

impl Response {
    async fn begin(mut stream: TcpStream) -> Self {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(soon(stream.read_u8()).await.unwrap_or_else(|error| {
                panic!("{error} after {}", String::from_utf8_lossy(&head))
            }));
        }
        let head = String::from_utf8(head).expect("ASCII");
        Self {
            status: head[9..12].parse().expect("a status"),
            head,
            stream,
            raw: Vec::new(),
            text: String::new(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// Reads some more. `false` at the end.
    async fn more(&mut self) -> bool {
        if let Some(length) = self.header("content-length") {
            let mut body = vec![0; length.parse().expect("a number")];
            soon(self.stream.read_exact(&mut body))
                .await
                .expect("the body");
            self.text = String::from_utf8(body).expect("UTF-8");
            self.head = self
                .head
                .to_lowercase()
                .replace("content-length", "had-length");
            return true;
        }
        if self.head.contains("had-length") || self.status == 204 {
            return false;
        }
        loop {
            if let Some(end) = self.raw.windows(2).position(|two| two == b"\r\n") {
                let size = std::str::from_utf8(&self.raw[..end]).expect("ASCII");
                let size = usize::from_str_radix(size, 16).expect("a chunk size");
                if self.raw.len() >= end + 4 + size {
                    let chunk = self.raw[end + 2..end + 2 + size].to_vec();
                    self.raw.drain(..end + 4 + size);
                    self.text
                        .push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
                    return size > 0;
                }
            }
            let mut some = vec![0; 4096];
            match soon(self.stream.read(&mut some)).await {
                Ok(count) if count > 0 => self.raw.extend_from_slice(&some[..count]),
                _ => return false,
            }
        }
    }

    /// All that is left of the body.
    pub async fn rest(&mut self) -> String {
        while self.more().await {}
        std::mem::take(&mut self.text)
    }

    /// The next event; comments are skipped. `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("id", value)) => event.id = Some(value.to_owned()),
                        Some(("retry", value)) => event.retry = Some(value.to_owned()),
                        Some(("event", value)) => event.name = Some(value.to_owned()),
                        Some(("data", value)) => event.data = Some(value.to_owned()),
                        _ => {}
                    }
                }
                if event != Event::default() {
                    return Some(event);
                }
            }
            if !self.more().await {
                return None;
            }
        }
    }

    pub async fn event(&mut self) -> Event {
        self.next().await.expect("an event")
    }
}
