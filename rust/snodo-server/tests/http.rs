//! HTTP from raw sockets: each status, each refusal, each way a connection ends.

mod kit;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kit::{Held, PATIENCE, call, soon};
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_server::bind::{BindError, HttpOptions, HttpServer};
use snodo_server::cancel::Reason;
use snodo_server::listener::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const SHORT: Duration = Duration::from_millis(300);

/// It took the short time and not the one that a server has by default, however slow the machine is.
fn assert_took(begun: Instant) {
    let took = begun.elapsed();
    assert!(took >= SHORT && took < PATIENCE / 2, "{took:?}");
}

struct Server {
    address: SocketAddr,
    held: Held,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    fn start(limits: Limits, options: HttpOptions) -> Self {
        let (service, held) = kit::service(limits);
        let server =
            HttpServer::bind(service, &HttpOptions { port: 0, ..options }).expect("a free port");
        let Address::Tcp(address) = *server.address() else {
            panic!("a port")
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            held,
            stop: Some(stop),
            task,
        }
    }

    fn with(limits: Limits) -> Self {
        Self::start(limits, HttpOptions::default())
    }

    async fn connect(&self) -> Client {
        Client(
            soon(TcpStream::connect(self.address))
                .await
                .expect("connected"),
        )
    }

    async fn exchange(&self, request: impl AsRef<[u8]>) -> Response {
        let mut client = self.connect().await;
        client.send(request).await;
        client.response().await
    }

    /// Tries until there is a place for one more connection.
    async fn assert_becomes_free(&self) {
        let begun = Instant::now();
        loop {
            let mut next = self.connect().await;
            let request = post("add").replace("Host:", "Connection: close\r\nHost:");
            let _ = next.0.write_all(request.as_bytes()).await;
            if next.rest().await.starts_with(b"HTTP/1.1 200") {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "no place became free");
        }
    }

    fn shut_down(&mut self) {
        self.stop.take().expect("once").send(()).expect("it runs");
    }

    async fn ended(self) {
        soon(self.task).await.expect("no panic").expect("no error");
    }
}

struct Client(TcpStream);

#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// A JSON-RPC error without id, as every refusal is.
    fn assert_refusal(&self, status: u16, code: i64, text: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        let start = format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":""#);
        assert!(self.body.starts_with(&start), "{self:?}");
        assert!(self.body.contains(text), "{self:?}");
    }
}

impl Client {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.0.write_all(bytes.as_ref())).await.expect("sent");
    }

    async fn response(&mut self) -> Response {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(soon(self.0.read_u8()).await.unwrap_or_else(|error| {
                panic!("{error} after {}", String::from_utf8_lossy(&head))
            }));
        }
        let head = String::from_utf8(head).expect("ASCII");
        let mut response = Response {
            status: head[9..12].parse().expect("a status"),
            head,
            body: String::new(),
        };
        let length = response
            .header("content-length")
            .map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        soon(self.0.read_exact(&mut body)).await.expect("the body");
        response.body = String::from_utf8(body).expect("UTF-8");
        response
    }

    /// Everything until the server closes.
    async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = soon(self.0.read_to_end(&mut rest)).await;
        rest
    }
}

fn head(extra: &str, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nContent-Length: {length}\r\n{extra}\r\n"
    )
}

fn post(tool: &str) -> String {
    let body = call("1", tool);
    head(&format!("Mcp-Name: {tool}\r\n"), body.len()) + &body
}

/// A good request with a line of its head replaced.
fn altered(line: &str, by: &str) -> String {
    let request = post("add");
    assert!(request.contains(line));
    request.replacen(line, by, 1)
}

#[tokio::test]
async fn a_call_is_answered_with_json_that_nobody_stores() {
    let server = Server::with(Limits::default());
    let response = server
        .exchange(altered("Host:", "Mcp-Session-Id: x\r\nHost:"))
        .await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("mcp-session-id"), None);
    assert_eq!(response.header("access-control-allow-origin"), None);
    assert!(
        response
            .body
            .starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"#),
        "{response:?}"
    );
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let server = Server::with(Limits::default());
    let mut client = server.connect().await;
    for _ in 0..3 {
        client.send(post("add")).await;
        assert_eq!(client.response().await.status, 200);
    }
    client.send(post("add") + &post("big")).await;
    assert_eq!(client.response().await.status, 200);
    assert!(client.response().await.body.len() > 100_000);
    client
        .send(altered(
            "Accept: application/json, text/event-stream",
            "Accept: text/html",
        ))
        .await;
    assert_eq!(client.response().await.status, 406);
    client.send(post("add")).await;
    assert_eq!(client.response().await.status, 200);
}

#[tokio::test]
async fn every_refusal_has_its_status_and_the_one_body_format() {
    let server = Server::with(Limits::default());
    let refusals = [
        ("POST /mcp ", "GET /mcp ", 405, "POST"),
        ("POST /mcp ", "DELETE /mcp ", 405, "POST"),
        ("POST /mcp ", "PUT /mcp/ ", 405, "POST"),
        ("POST /mcp ", "OPTIONS /mcp ", 405, "POST"),
        ("POST /mcp ", "POST /other ", 404, "endpoint"),
        ("POST /mcp ", "POST /mcp// ", 404, "endpoint"),
        ("POST /mcp ", "POST /mcpx ", 404, "endpoint"),
        ("Host: localhost", "Host: evil.example", 403, "--allow-host"),
        ("Host: localhost", "X: y", 403, "SNODO_ALLOWED_HOSTS"),
        (
            "Host: localhost",
            "Host: localhost\r\nHost: localhost",
            403,
            "--allow-host",
        ),
        (
            "POST /mcp ",
            "POST http://evil.example/mcp ",
            403,
            "--allow-host",
        ),
        (
            "Host:",
            "Origin: https://evil.example\r\nHost:",
            403,
            "--allow-origin",
        ),
        (
            "Host:",
            "Origin: null\r\nHost:",
            403,
            "SNODO_ALLOWED_ORIGINS",
        ),
        (
            "Content-Type: application/json",
            "Content-Type: text/plain",
            415,
            "Content-Type",
        ),
        (
            "Content-Type: application/json",
            "X: y",
            415,
            "Content-Type",
        ),
        (
            "Content-Type: ",
            "Content-Encoding: gzip\r\nContent-Type: ",
            415,
            "Content-Encoding",
        ),
        (
            "Accept: application/json, text/event-stream",
            "Accept: text/html",
            406,
            "Accept",
        ),
        (
            "Content-Length: ",
            "Content-Length: 999999",
            413,
            "too large",
        ),
        ("HTTP/1.1", "HTTP/9.9", 400, "Malformed"),
        ("Host:", "no colon\r\nHost:", 400, "Malformed"),
        (
            "Content-Length:",
            "Content-Length: 5\r\nContent-Length:",
            400,
            "Malformed",
        ),
        ("Content-Length: ", "Content-Length: +", 400, "Malformed"),
    ];
    for (line, by, status, text) in refusals {
        let response = server.exchange(altered(line, by)).await;
        response.assert_refusal(status, -32600, text);
        assert_eq!(
            response.header("allow"),
            (status == 405).then_some("POST"),
            "{by}"
        );
    }
    server
        .exchange("nonsense\r\n\r\n")
        .await
        .assert_refusal(400, -32600, "Malformed");
}

#[tokio::test]
async fn the_order_of_refusals_is_method_origin_content_type_accept_size() {
    let server = Server::with(Limits::default());
    let mut request = altered("Host:", "Origin: https://evil.example\r\nHost:")
        .replace("POST /mcp", "GET /mcp")
        .replace("Content-Type: application/json", "Content-Type: text/plain")
        .replace(
            "Accept: application/json, text/event-stream",
            "Accept: text/html",
        )
        .replace("Content-Length: ", "Content-Length: 999999");
    for (status, line, by) in [
        (405, "GET /mcp", "POST /mcp"),
        (403, "Origin: https://evil.example\r\n", ""),
        (415, "text/plain", "application/json"),
        (406, "text/html", "*/*"),
        (413, "Content-Length: 999999", "Content-Length: "),
        (200, "", ""),
    ] {
        assert_eq!(server.exchange(&request).await.status, status);
        request = request.replacen(line, by, 1);
    }
}

#[tokio::test]
async fn what_a_client_may_leave_out_or_write_in_its_own_way() {
    let server = Server::with(Limits::default());
    for (line, by) in [
        ("POST /mcp ", "POST /mcp/ "),
        ("POST /mcp ", "POST /mcp?x=1 "),
        ("POST /mcp ", "POST http://localhost/mcp "),
        (
            "Accept: application/json, text/event-stream",
            "Accept: application/json",
        ),
        ("Accept: application/json, text/event-stream", "Accept: */*"),
        ("Accept: application/json, text/event-stream", "X: y"),
        (
            "Content-Type: application/json",
            "content-type: Application/JSON; charset=utf-8",
        ),
        ("Host: localhost", "HOST: [::1]:8000"),
        ("Host:", "Last-Event-ID: 5\r\nHost:"),
        ("Host:", "Origin: http://localhost:5173\r\nHost:"),
    ] {
        let response = server.exchange(altered(line, by)).await;
        assert_eq!(response.status, 200, "{by}: {response:?}");
    }
}

#[tokio::test]
async fn the_core_decides_the_other_statuses() {
    let server = Server::with(Limits::default());
    let with_body = |body: &str| head("Mcp-Name: add\r\n", body.len()) + body;
    for (body, status, code) in [
        ("{", 400, "-32700"),
        ("", 400, "-32700"),
        ("[]", 400, "-32600"),
        ("\u{ff}{", 400, "-32700"),
    ] {
        let response = server.exchange(with_body(body)).await;
        assert_eq!(response.status, status, "{body}");
        assert!(response.body.contains(code), "{response:?}");
    }
    let unknown = post("add").replace("tools/call", "tools/none");
    assert_eq!(server.exchange(unknown).await.status, 404);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#;
    let request = with_body(notification)
        .replace("Mcp-Method: tools/call\r\n", "")
        .replace("Mcp-Name: add\r\n", "");
    let response = server.exchange(request).await;
    assert_eq!(
        (response.status, response.body.as_str()),
        (202, ""),
        "{response:?}"
    );
}

#[tokio::test]
async fn health_is_told_beside_the_endpoint() {
    let server = Server::with(Limits::default());
    for path in ["/healthz", "/readyz"] {
        let response = server
            .exchange(format!("GET {path} HTTP/1.1\r\nHost: probe\r\n\r\n"))
            .await;
        assert_eq!(response.status, 200);
    }
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_ask_and_read() {
    let origins = vec!["https://app.example".to_owned()];
    let server = Server::start(
        Limits::default(),
        HttpOptions {
            allowed_origins: origins,
            ..HttpOptions::default()
        },
    );
    let preflight = "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n\
        Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type, mcp-param-region, x-other\r\n\r\n";
    let response = server.exchange(preflight).await;
    assert_eq!(response.status, 204, "{response:?}");
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("POST, GET, DELETE")
    );
    assert_eq!(response.header("vary"), Some("Origin"));
    assert!(response.header("access-control-max-age").is_some());
    let allowed = response
        .header("access-control-allow-headers")
        .expect("headers");
    assert!(
        allowed.contains("Mcp-Method") && allowed.contains("mcp-param-region"),
        "{allowed}"
    );
    assert!(
        allowed.contains("Authorization") && allowed.contains("X-Api-Key"),
        "{allowed}"
    );
    assert!(!allowed.contains("x-other"), "{allowed}");
    server
        .exchange(preflight.replace("app.example", "evil.example"))
        .await
        .assert_refusal(403, -32600, "--allow-origin");

    let from_page = post("add").replace("Host:", "Origin: https://app.example\r\nHost:");
    for (request, status) in [
        (from_page.clone(), 200),
        (
            from_page.replace("application/json\r\n", "text/plain\r\n"),
            415,
        ),
        (from_page.replace("POST /mcp", "GET /mcp"), 405),
        (from_page.replace("tools/call", "tools/none"), 404),
    ] {
        let response = server.exchange(request).await;
        assert_eq!(response.status, status);
        assert_eq!(
            response.header("access-control-allow-origin"),
            Some("https://app.example")
        );
        assert_eq!(response.header("vary"), Some("Origin"));
        assert!(response.header("access-control-expose-headers").is_some());
    }
}

#[tokio::test]
async fn a_body_may_come_in_any_pieces_up_to_the_limit() {
    let limit = 1000;
    let server = Server::with(Limits {
        body_bytes: limit,
        ..Limits::default()
    });
    let body = call("1", "add");
    let chunked = head("Mcp-Name: add\r\nTransfer-Encoding: chunked\r\n", 0)
        .replace("Content-Length: 0\r\n", "");
    let (start, end) = body.split_at(30);
    let request = format!(
        "{chunked}{:x}\r\n{start}\r\n{:x}\r\n{end}\r\n0\r\nX-Trailer: y\r\n\r\n",
        start.len(),
        end.len()
    );
    assert_eq!(server.exchange(request).await.status, 200);

    let mut client = server.connect().await;
    for byte in post("add").as_bytes().chunks(7) {
        client.send(byte).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.response().await.status, 200);

    let full = body + &" ".repeat(limit - call("1", "add").len());
    assert_eq!(
        server
            .exchange(head("Mcp-Name: add\r\n", limit) + &full)
            .await
            .status,
        200
    );
    let request = format!("{chunked}{:x}\r\n{full} \r\n0\r\n\r\n", limit + 1);
    server
        .exchange(request)
        .await
        .assert_refusal(413, -32600, "too large");
    let request = format!("{chunked}zz\r\n");
    server
        .exchange(request)
        .await
        .assert_refusal(400, -32600, "Malformed");
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_still_reads_why_it_is_refused() {
    let server = Server::with(Limits::default());
    for megabytes in [5, 100] {
        let mut client = server.connect().await;
        client.send(head("", megabytes << 20)).await;
        let (mut reader, mut writer) = client.0.into_split();
        let sending = tokio::spawn(async move {
            let block = vec![b' '; 1 << 20];
            for _ in 0..megabytes {
                if writer.write_all(&block).await.is_err() {
                    break;
                }
            }
        });
        let mut answer = Vec::new();
        soon(reader.read_to_end(&mut answer))
            .await
            .expect("no reset");
        let answer = String::from_utf8(answer).expect("UTF-8");
        assert!(
            answer.starts_with("HTTP/1.1 413") && answer.contains("too large"),
            "{answer}"
        );
        sending.abort();
    }
}

#[tokio::test]
async fn a_head_has_a_size() {
    let server = Server::with(Limits {
        head_bytes: 4096,
        ..Limits::default()
    });
    for filler in [5000, 100_000] {
        let request = post("add").replace(
            "Host:",
            &format!("X-Filler: {}\r\nHost:", "x".repeat(filler)),
        );
        let mut client = server.connect().await;
        let _ = client.0.write_all(request.as_bytes()).await;
        client
            .response()
            .await
            .assert_refusal(431, -32600, "too large");
    }
    let many = ["X-One-Of-Many: y\r\n"; 200].concat();
    let response = server
        .exchange(post("add").replace("Host:", &format!("{many}Host:")))
        .await;
    response.assert_refusal(431, -32600, "too large");
    let fits = post("add").replace("Host:", &format!("X-Filler: {}\r\nHost:", "x".repeat(3000)));
    assert_eq!(server.exchange(fits).await.status, 200);
}

#[tokio::test]
async fn a_slow_head_is_cut_off_in_time() {
    let server = Server::with(Limits {
        head_timeout: SHORT,
        ..Limits::default()
    });
    let begun = Instant::now();
    let mut client = server.connect().await;
    client.send("POST /mcp HTTP/1.1\r\nHost: ").await;
    client
        .response()
        .await
        .assert_refusal(408, -32600, "too long");
    assert_took(begun);
}

#[tokio::test]
async fn a_trickled_head_is_cut_off_as_well() {
    let server = Server::with(Limits {
        head_timeout: SHORT,
        ..Limits::default()
    });
    let begun = Instant::now();
    let mut client = server.connect().await;
    let request = post("add");
    for byte in request.as_bytes() {
        if begun.elapsed() > PATIENCE / 2 || client.0.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(SHORT / 6).await;
        let mut seen = [0; 12];
        if let Ok(Ok(12)) =
            tokio::time::timeout(Duration::from_millis(1), client.0.peek(&mut seen)).await
        {
            break;
        }
    }
    client
        .response()
        .await
        .assert_refusal(408, -32600, "too long");
    assert_took(begun);
}

#[tokio::test]
async fn idle_connections_are_closed_and_busy_ones_are_not() {
    let mut server = Server::with(Limits {
        head_timeout: SHORT,
        body_timeout: SHORT,
        ..Limits::default()
    });
    let mut silent = server.connect().await;
    let mut kept = server.connect().await;
    kept.send(post("add")).await;
    kept.response().await;
    let mut busy = server.connect().await;
    busy.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    assert_eq!(silent.rest().await, b"", "closed without a word");
    assert_eq!(kept.rest().await, b"", "closed without a word");
    tokio::time::sleep(SHORT).await;
    reply.send(Value::Text("late".to_owned()).into());
    assert_eq!(busy.response().await.status, 200);
    busy.send(post("add")).await;
    assert_eq!(
        busy.response().await.status,
        200,
        "its time began with the answer"
    );
}

#[tokio::test]
async fn a_slow_body_is_cut_off_in_time() {
    let server = Server::with(Limits {
        body_timeout: SHORT,
        ..Limits::default()
    });
    for sent in ["", "{\"json", "{\"jsonrpc\":\"2.0\","] {
        let mut client = server.connect().await;
        let begun = Instant::now();
        client.send(head("", 500) + sent).await;
        let response = client.response().await;
        response.assert_refusal(408, -32600, "too long");
        assert_took(begun);
        drop(client);
    }
    assert_eq!(server.exchange(post("add")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call_and_no_other() {
    let mut server = Server::with(Limits::default());
    let mut stays = server.connect().await;
    stays.send(post("hold")).await;
    let (_, kept) = server.held.next().await;
    let mut leaves = server.connect().await;
    leaves.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let (told, tells) = oneshot::channel();
    reply.cancelled().on_cancel(move |reason| {
        let _ = told.send(reason);
    });
    drop(leaves);
    assert_eq!(soon(tells).await, Ok(Reason::Client));
    assert_eq!(kept.cancelled().reason(), None);
    kept.send(Value::Text("done".to_owned()).into());
    assert_eq!(stays.response().await.status, 200);
}

#[tokio::test]
async fn a_client_that_leaves_is_missed_behind_bytes_nobody_reads_too() {
    let next = post("add");
    for behind in ["\r\n", "x", &next] {
        let mut server = Server::with(Limits::default());
        let mut client = server.connect().await;
        client.send(post("hold") + behind).await;
        let (_call, reply) = server.held.next().await;
        drop(client);
        let stopped = soon(reply.cancelled().stopped()).await;
        assert_eq!(stopped, Reason::Client, "{behind:?}");
    }
}

#[tokio::test]
async fn a_full_queue_and_a_late_call_have_their_own_statuses() {
    let limits = Limits {
        running: 1,
        queued: 0,
        call_timeout: Some(SHORT),
        ..Limits::default()
    };
    let mut server = Server::with(limits);
    let mut first = server.connect().await;
    first.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let busy = server.exchange(post("hold")).await;
    assert_eq!(busy.status, 503);
    assert!(
        busy.body.contains("capacity exhausted") && busy.body.contains(r#""id":1"#),
        "{busy:?}"
    );
    let late = first.response().await;
    assert_eq!(late.status, 504);
    assert_eq!(reply.cancelled().reason(), Some(Reason::Deadline));
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_unread() {
    let mut server = Server::with(Limits {
        connections: 2,
        ..Limits::default()
    });
    let mut first = server.connect().await;
    first.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let mut second = server.connect().await;
    second.send(post("add")).await;
    assert_eq!(second.response().await.status, 200);
    let mut third = server.connect().await;
    let _ = third.0.write_all(post("add").as_bytes()).await;
    assert_eq!(third.rest().await, b"");
    reply.send(Value::Text("done".to_owned()).into());
    assert_eq!(first.response().await.status, 200);
    drop(first);
    server.assert_becomes_free().await;
}

#[tokio::test]
async fn at_shutdown_what_runs_is_answered_and_the_rest_is_told() {
    let mut server = Server::with(Limits::default());
    let mut running = server.connect().await;
    running.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let mut fresh = server.connect().await;
    let mut idle = server.connect().await;
    idle.send(post("add")).await;
    idle.response().await;
    let mut half_head = server.connect().await;
    half_head.send("POST /mcp HT").await;
    let mut second_half_head = server.connect().await;
    second_half_head.send(post("add")).await;
    second_half_head.response().await;
    second_half_head.send("POST /m").await;
    let mut half_body = server.connect().await;
    half_body.send(head("", 500) + "{").await;
    // All of it must have arrived: the server answers in the order it reads.
    assert_eq!(server.exchange(post("add")).await.status, 200);
    tokio::time::sleep(Duration::from_millis(50)).await;

    server.shut_down();
    for client in [&mut half_head, &mut second_half_head, &mut half_body] {
        client
            .response()
            .await
            .assert_refusal(503, -32603, "Server is shutting down");
        assert_eq!(client.rest().await, b"");
    }
    assert_eq!(fresh.rest().await, b"");
    assert_eq!(idle.rest().await, b"");
    assert!(
        TcpStream::connect(server.address).await.is_err(),
        "nobody is let in any more"
    );
    assert_eq!(reply.cancelled().reason(), None);
    reply.send(Value::Text("done".to_owned()).into());
    let last = running.response().await;
    assert_eq!(
        (last.status, last.header("connection")),
        (200, Some("close"))
    );
    assert_eq!(running.rest().await, b"");
    let clients = [half_head, second_half_head, half_body];
    drop(clients);
    server.ended().await;
}

#[tokio::test]
async fn who_has_just_connected_may_still_ask() {
    let mut server = Server::with(Limits::default());
    let mut running = server.connect().await;
    running.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let mut young = server.connect().await;
    // It has been accepted: the server answers in the order it accepts.
    assert_eq!(server.exchange(post("add")).await.status, 200);
    server.shut_down();
    tokio::time::sleep(Duration::from_millis(50)).await;
    young.send(post("add")).await;
    let last = young.response().await;
    assert_eq!(
        (last.status, last.header("connection")),
        (200, Some("close"))
    );
    reply.send(Value::Text("done".to_owned()).into());
    running.response().await;
    server.ended().await;
}

#[tokio::test]
async fn a_drain_has_an_end() {
    let mut server = Server::with(Limits {
        drain_timeout: SHORT,
        ..Limits::default()
    });
    let mut running = server.connect().await;
    running.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    let begun = Instant::now();
    server.shut_down();
    server.ended().await;
    assert_took(begun);
    assert!(reply.cancelled().reason().is_some());
    assert_eq!(running.rest().await, b"");
}

#[tokio::test]
async fn an_answer_that_nobody_takes_does_not_hold_the_connection() {
    let mut server = Server::with(Limits {
        connections: 1,
        write_timeout: SHORT,
        head_timeout: SHORT,
        ..Limits::default()
    });
    let mut client = server.connect().await;
    client.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    reply.send(Value::Text("x".repeat(40 << 20)).into());
    server.assert_becomes_free().await;
    let rest = client.rest().await;
    assert!(rest.len() < 40 << 20, "it was cut off");
}

#[tokio::test]
async fn a_slow_reader_that_goes_on_reading_gets_its_answer() {
    // So long that the pauses below stay short beside it on any machine.
    let write_timeout = Duration::from_secs(1);
    let mut server = Server::with(Limits {
        write_timeout,
        ..Limits::default()
    });
    let mut client = server.connect().await;
    client.send(post("hold")).await;
    let (_, reply) = server.held.next().await;
    reply.send(Value::Text("x".repeat(40 << 20)).into());
    let begun = Instant::now();
    let mut total = 0;
    let mut piece = vec![0; 512 << 10];
    while total < 40 << 20 {
        let count = soon(client.0.read(&mut piece)).await.expect("read");
        assert!(count > 0, "closed after {total} bytes");
        total += count;
        if begun.elapsed() < 2 * write_timeout {
            tokio::time::sleep(write_timeout / 20).await;
        }
    }
    assert!(begun.elapsed() > write_timeout, "it was not slow");
}

#[tokio::test]
async fn many_idle_connections_change_nothing_for_the_others() {
    let server = Server::with(Limits {
        connections: 300,
        // One that is kept must not be late itself, while all the others are made.
        head_timeout: PATIENCE / 4,
        ..Limits::default()
    });
    let mut kept = server.connect().await;
    kept.send(post("add")).await;
    assert_eq!(kept.response().await.status, 200);
    let mut idle = Vec::new();
    for _ in 0..350 {
        idle.push(server.connect().await);
    }
    kept.send(post("add")).await;
    assert_eq!(kept.response().await.status, 200);
    for client in &mut idle {
        assert_eq!(client.rest().await, b"");
    }
    assert_eq!(server.exchange(post("add")).await.status, 200);
}

#[tokio::test]
async fn names_of_its_own_open_a_server_to_them() {
    let options = HttpOptions {
        host: "0.0.0.0".to_owned(),
        allowed_hosts: vec!["*.example".to_owned()],
        ..HttpOptions::default()
    };
    let server = Server::start(Limits::default(), options);
    let status = async |host: &str| server.exchange(altered("localhost", host)).await.status;
    assert_eq!(status("app.example").await, 200);
    assert_eq!(status("evil.test").await, 403);
    let open = HttpOptions {
        host: "0.0.0.0".to_owned(),
        ..HttpOptions::default()
    };
    let open = Server::start(Limits::default(), open);
    assert_eq!(
        open.exchange(altered("localhost", "any.test")).await.status,
        200
    );
}

#[tokio::test]
async fn what_cannot_be_bound_is_told_in_a_sentence() {
    let (service, _held) = kit::service(Limits::default());
    let bind = |change: fn(&mut HttpOptions), port: u16| {
        let mut options = HttpOptions {
            port,
            ..HttpOptions::default()
        };
        change(&mut options);
        HttpServer::bind(service.clone(), &options).err()
    };
    let first = HttpServer::bind(
        service.clone(),
        &HttpOptions {
            port: 0,
            ..HttpOptions::default()
        },
    )
    .expect("a free port");
    let Address::Tcp(address) = *first.address() else {
        panic!("a port")
    };
    let error = bind(|_| (), address.port()).expect("in use");
    assert!(
        matches!(error, BindError::InUse(_)) && error.to_string().contains("in use"),
        "{error}"
    );
    for error in [
        bind(|options| options.host = "203.0.113.1".to_owned(), 0),
        bind(
            |options| options.host = "no.such.host.invalid".to_owned(),
            0,
        ),
    ] {
        assert!(matches!(error, Some(BindError::NoAddress(_))), "{error:?}");
    }
    for error in [
        bind(|options| options.path = "mcp".to_owned(), 0),
        bind(|options| options.path = "/a?b".to_owned(), 0),
    ] {
        assert!(matches!(error, Some(BindError::Path(_))), "{error:?}");
    }
    let error = bind(|options| options.allowed_hosts = vec!["a b".to_owned()], 0);
    assert!(matches!(error, Some(BindError::Entry(_))), "{error:?}");
}
