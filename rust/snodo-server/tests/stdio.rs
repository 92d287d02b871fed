//! Lines over a pair of pipes: framing, ids, cancellation, slow readers and every ending.

mod kit;

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use kit::{Held, PATIENCE, call, soon};
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_server::cancel::Reason;
use snodo_server::transport::{WriteError, serve_stdio};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const SHORT: Duration = Duration::from_millis(300);

struct Server {
    input: Option<PipeWriter>,
    held: Held,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), WriteError>>,
}

/// Lines of the server's output, read by a thread.
struct Output(UnboundedReceiver<String>);

impl Server {
    fn start(limits: Limits) -> (Self, Output) {
        let (server, reader) = Self::unread(limits);
        let (lines, output) = unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let _ = lines.send(line.expect("UTF-8"));
            }
        });
        (server, Output(output))
    }

    fn unread(limits: Limits) -> (Self, PipeReader) {
        let (service, held) = kit::service(limits);
        let (input_reader, input) = pipe().expect("a pipe");
        let (reader, output_writer) = pipe().expect("a pipe");
        let (stop, stopped) = oneshot::channel::<()>();
        let file = |end: OwnedFd| File::from(end);
        let task = tokio::spawn(serve_stdio(
            service,
            file(input_reader.into()),
            file(output_writer.into()),
            None,
            async {
                // A test that stops nothing keeps the sender to its end.
                let _ = stopped.await;
            },
        ));
        (
            Self {
                input: Some(input),
                held,
                stop: Some(stop),
                task,
            },
            reader,
        )
    }

    fn send(&mut self, text: impl AsRef<[u8]>) {
        self.input
            .as_mut()
            .expect("open")
            .write_all(text.as_ref())
            .expect("sent");
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.send(format!("{}\n", text.as_ref()));
    }

    fn close_input(&mut self) {
        self.input = None;
    }

    async fn ended(self) -> Result<(), WriteError> {
        soon(self.task).await.expect("no panic")
    }
}

impl Output {
    async fn next(&mut self) -> String {
        soon(self.0.recv()).await.expect("a line")
    }

    /// The next line, an error without id.
    async fn assert_refusal(&mut self, code: i64, text: &str) {
        let line = self.next().await;
        assert!(
            line.starts_with(&format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"#)),
            "{line}"
        );
        assert!(line.contains(text), "{line}");
    }

    async fn assert_answers(&mut self, id: &str) {
        let line = self.next().await;
        assert!(
            line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
            "{line}"
        );
    }

    async fn assert_ends(&mut self) {
        assert_eq!(soon(self.0.recv()).await, None);
    }
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

#[tokio::test]
async fn every_framing_is_served_and_the_last_line_needs_no_end() {
    let (mut server, mut output) = Server::start(Limits::default());
    server.send(format!("{}\n", call("1", "add")));
    output.assert_answers("1").await;
    server.send(format!("{}\r\n\r\n\n  \n", call("2", "add")));
    output.assert_answers("2").await;
    server.send(format!("\u{feff}{}\n", call("\"three\"", "add")));
    output.assert_answers("\"three\"").await;
    server.send(call("4", "add"));
    server.close_input();
    output.assert_answers("4").await;
    output.assert_ends().await;
    assert!(server.ended().await.is_ok());
}

#[tokio::test]
async fn every_malformed_line_is_answered_and_service_goes_on() {
    let (mut server, mut output) = Server::start(Limits::default());
    for (line, code) in [
        (&b"{"[..], -32700),
        (b"\xff", -32700),
        (b"not json", -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b"\"text\"", -32600),
    ] {
        server.send([line, b"\n"].concat());
        output.assert_refusal(code, "message").await;
    }
    server.line(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    server.line(r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#);
    server.line(call("1", "add"));
    output.assert_answers("1").await;
}

#[tokio::test]
async fn an_over_long_line_is_answered_once_and_dropped() {
    let (mut server, mut output) = Server::start(Limits {
        line_bytes: 4096,
        ..Limits::default()
    });
    server.send("x".repeat(5000));
    output
        .assert_refusal(-32600, "Line is longer than 4096 bytes")
        .await;
    for _ in 0..100 {
        server.send("x".repeat(5000));
    }
    server.line("");
    server.line(call("1", "add"));
    output.assert_answers("1").await;
}

#[tokio::test]
async fn an_over_long_request_is_refused_under_its_id_where_that_comes_first() {
    let (mut server, mut output) = Server::start(Limits {
        line_bytes: 4096,
        ..Limits::default()
    });
    let long = "x".repeat(5000);
    server.line(format!(
        r#"{{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{{"a":"{long}"}}}}"#
    ));
    assert_eq!(
        output.next().await,
        r#"{"jsonrpc":"2.0","id":"seven","error":{"code":-32600,"message":"Line is longer than 4096 bytes"}}"#
    );
    server.line(format!(
        r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"id":7,"a":"{long}"}},"id":8}}"#
    ));
    output
        .assert_refusal(-32600, "Line is longer than 4096 bytes")
        .await;
}

#[tokio::test]
async fn requests_run_side_by_side() {
    let (mut server, mut output) = Server::start(Limits::default());
    server.line(call("1", "hold"));
    let (_, reply) = server.held.next().await;
    server.line(call("2", "add"));
    output.assert_answers("2").await;
    reply.send(Value::Text("done".to_owned()).into());
    output.assert_answers("1").await;
}

#[tokio::test]
async fn an_id_in_flight_is_refused_and_may_be_used_again_afterwards() {
    let (mut server, mut output) = Server::start(Limits::default());
    server.line(call("1", "hold"));
    let (_, reply) = server.held.next().await;
    server.line(call("1", "add"));
    let line = output.next().await;
    assert!(
        line.contains(r#""id":1,"#) && line.contains("-32600"),
        "{line}"
    );
    assert!(line.contains("Duplicate in-flight request id"), "{line}");
    server.line(call("\"1\"", "add"));
    output.assert_answers("\"1\"").await;
    reply.send(Value::Text("done".to_owned()).into());
    output.assert_answers("1").await;
    server.line(call("1", "add"));
    output.assert_answers("1").await;
}

#[tokio::test]
async fn a_cancelled_request_is_never_answered_and_its_id_is_free() {
    let (mut server, mut output) = Server::start(Limits::default());
    server.line(call("5", "hold"));
    let (_, reply) = server.held.next().await;
    let (told, tells) = oneshot::channel();
    reply.cancelled().on_cancel(move |reason| {
        let _ = told.send(reason);
    });
    server.line(cancel("99"));
    server.line(cancel("5"));
    assert_eq!(soon(tells).await, Ok(Reason::Client));
    reply.send(Value::Text("nobody reads this".to_owned()).into());
    server.line(call("5", "hold"));
    let (_, reply) = server.held.next().await;
    assert_eq!(reply.cancelled().reason(), None);
    reply.send(Value::Text("second".to_owned()).into());
    let line = output.next().await;
    assert!(line.contains("second"), "{line}");
    server.close_input();
    output.assert_ends().await;
}

#[tokio::test]
async fn a_queued_request_that_is_cancelled_never_runs() {
    let (mut server, mut output) = Server::start(Limits {
        running: 1,
        queued: 1,
        ..Limits::default()
    });
    server.line(call("1", "hold"));
    let (_, first) = server.held.next().await;
    server.line(call("2", "hold"));
    server.line(call("3", "hold"));
    let line = output.next().await;
    assert!(
        line.contains(r#""id":3"#) && line.contains("Server execution capacity exhausted"),
        "{line}"
    );
    server.line(cancel("2"));
    server.line(call("4", "hold"));
    // An answer that needs no place tells that the lines before it have been read.
    server.line("{");
    output.assert_refusal(-32700, "message").await;
    first.send(Value::Text("done".to_owned()).into());
    output.assert_answers("1").await;
    let (call, _reply) = server.held.next().await;
    assert_eq!(call.context.id, snodo_core::envelope::Id::Int(4));
}

#[tokio::test]
async fn a_late_call_is_told_so() {
    let (mut server, mut output) = Server::start(Limits {
        call_timeout: Some(SHORT),
        ..Limits::default()
    });
    server.line(call("1", "hold"));
    let line = output.next().await;
    assert!(
        line.contains("-32603") && line.contains("Request execution timed out"),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_are_whole_however_many_answers_are_ready() {
    let (mut server, mut output) = Server::start(Limits::default());
    let requests: String = (0..50)
        .map(|id| call(&id.to_string(), "big") + "\n")
        .collect();
    server.send(requests);
    let mut seen = [false; 50];
    for _ in 0..50 {
        let line = output.next().await;
        let rest = line
            .strip_prefix(r#"{"jsonrpc":"2.0","id":"#)
            .unwrap_or_else(|| panic!("{}", &line[..60]));
        assert!(
            line.len() > 100_000 && line.ends_with('}') && line.matches("jsonrpc").count() == 1
        );
        let id: usize = rest
            .split(',')
            .next()
            .and_then(|id| id.parse().ok())
            .expect("an id");
        assert!(!std::mem::replace(&mut seen[id], true));
    }
}

#[tokio::test]
async fn at_the_end_of_input_what_runs_is_finished() {
    let (mut server, mut output) = Server::start(Limits::default());
    server.line(call("1", "hold"));
    let (_, reply) = server.held.next().await;
    server.close_input();
    tokio::time::sleep(SHORT / 3).await;
    reply.send(Value::Text("done".to_owned()).into());
    output.assert_answers("1").await;
    output.assert_ends().await;
    assert!(server.ended().await.is_ok());
}

#[tokio::test]
async fn what_does_not_end_is_stopped_some_time_after_the_end_of_input() {
    let (mut server, mut output) = Server::start(Limits {
        eof_timeout: SHORT,
        ..Limits::default()
    });
    server.line(call("1", "hold"));
    let (_, reply) = server.held.next().await;
    let begun = Instant::now();
    server.close_input();
    assert!(server.ended().await.is_ok());
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    assert!(reply.cancelled().reason().is_some());
    output.assert_ends().await;
}

#[tokio::test]
async fn a_stop_ends_the_service_at_once() {
    for busy in [false, true] {
        let (mut server, _output) = Server::start(Limits::default());
        if busy {
            server.line(call("1", "hold"));
            let (_, reply) = server.held.next().await;
            std::mem::forget(reply);
        }
        server.stop.take().expect("once").send(()).expect("it runs");
        // Nothing else would end it: its input is open, and the call may take longer than a test waits.
        assert!(server.ended().await.is_ok());
    }
}

#[tokio::test]
async fn a_reader_that_is_gone_ends_the_service() {
    let (mut server, reader) = Server::unread(Limits::default());
    server.line(call("1", "hold"));
    let (_, reply) = server.held.next().await;
    drop(reader);
    server.line(call("2", "add"));
    assert!(matches!(server.ended().await, Err(WriteError::Failed(_))));
    assert!(reply.cancelled().reason().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_read_ends_the_service_in_time() {
    let (mut server, reader) = Server::unread(Limits {
        write_timeout: SHORT,
        ..Limits::default()
    });
    server.line(call("1", "big"));
    let begun = Instant::now();
    // More requests come in: they must not renew the reader's time.
    let mut more = server.input.take().expect("open");
    let sender = std::thread::spawn(move || {
        while begun.elapsed() < PATIENCE
            && more.write_all((call("2", "add") + "\n").as_bytes()).is_ok()
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed()
    });
    assert!(matches!(server.ended().await, Err(WriteError::Stalled)));
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    drop(reader);
    let _ = tokio::task::spawn_blocking(|| sender.join()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_wait_for_a_slow_reader_and_input_waits_for_them() {
    let limits = Limits {
        line_bytes: 200_000,
        ..Limits::default()
    };
    let (mut server, mut reader) = Server::unread(limits);
    let count = 200;
    let padded = |id: usize| call(&id.to_string(), "big") + &" ".repeat(10_000) + "\n";
    let mut input = server.input.take().expect("open");
    let (sent, sending) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for id in 0..count {
            input.write_all(padded(id).as_bytes()).expect("sent");
            let _ = sent.send(id);
        }
    });
    // Nothing is read, so no more may be taken in than fits the pipes and the buffers between them.
    tokio::time::sleep(SHORT).await;
    let taken = sending.try_iter().count();
    assert!(taken < 100, "{taken}");
    let read = tokio::task::spawn_blocking(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).expect("read");
        all
    });
    let all = soon(read).await.expect("no panic");
    let lines: Vec<_> = all
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), count);
    assert!(lines.iter().all(|line| line.len() > 100_000));
    assert!(server.ended().await.is_ok());
}
