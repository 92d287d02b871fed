//! The walk between transport and handler: places, deadlines, cancellation, and calls that go wrong.

mod kit;

use std::sync::Arc;
use std::time::Duration;

use kit::{Held, soon};
use snodo_core::call::Call;
use snodo_core::context::{Arrival, Transport};
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::pipeline::{Answer, Verdict};
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::handler::Reply;
use snodo_server::service::{Prepared, Service};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A running call and the way to stop it.
struct Running {
    answer: JoinHandle<Option<Answer>>,
    cancel: CancelToken,
}

impl Running {
    async fn answer(self) -> Option<Answer> {
        soon(self.answer).await.expect("no panic")
    }
}

fn start(service: &Arc<Service>, transport: Transport, tool: &str) -> Running {
    let arrival = Arrival::new(transport);
    let request = kit::call("1", tool);
    let Prepared::Work(work) = service.prepare(request.as_bytes(), arrival) else {
        panic!("a call that can be run");
    };
    let cancel = CancelToken::new();
    let (service, token) = (service.clone(), cancel.clone());
    let answer = tokio::spawn(async move { service.run(work, token).await });
    Running { answer, cancel }
}

fn limits(running: usize, queued: usize, timeout: Duration) -> Limits {
    Limits {
        running,
        queued,
        call_timeout: Some(timeout),
        ..Limits::default()
    }
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).expect("UTF-8")
}

async fn held(held: &mut Held) -> (Call, Reply) {
    held.next().await
}

fn done() -> snodo_core::outcome::Outcome {
    Value::Text("done".to_owned()).into()
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_reply_dropped_unused_answers_with_an_internal_error() {
    let (service, mut calls) = kit::service(Limits::default());
    let running = start(&service, Transport::Direct, "hold");
    drop(held(&mut calls).await);
    let answer = running.answer().await.expect("an answer");
    assert_eq!(answer.verdict, Verdict::Error(-32603));
    assert!(
        text(&answer).contains("Tool terminated unexpectedly"),
        "{}",
        text(&answer)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_is_late_when_its_time_is_up_and_its_handler_is_told() {
    let (service, mut calls) = kit::service(limits(1, 0, Duration::from_millis(100)));
    let begun = Instant::now();
    let running = start(&service, Transport::Direct, "hold");
    let (_call, reply) = held(&mut calls).await;
    let answer = running.answer().await.expect("an answer");
    assert_eq!(answer.verdict, Verdict::Late);
    assert!(text(&answer).contains("Request execution timed out"));
    assert_eq!(begun.elapsed(), Duration::from_millis(100));
    assert_eq!(reply.cancelled().reason(), Some(Reason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn a_place_is_taken_until_the_work_is_gone_and_not_only_its_answer() {
    let (service, mut calls) = kit::service(limits(1, 0, Duration::from_millis(100)));
    let late = start(&service, Transport::Direct, "hold");
    let (_call, reply) = held(&mut calls).await;
    assert_eq!(
        late.answer().await.expect("an answer").verdict,
        Verdict::Late
    );

    let refused = start(&service, Transport::Direct, "add")
        .answer()
        .await
        .expect("an answer");
    assert_eq!(refused.verdict, Verdict::Busy);
    assert!(text(&refused).contains("Server execution capacity exhausted"));

    reply.send(done());
    let served = start(&service, Transport::Direct, "add")
        .answer()
        .await
        .expect("an answer");
    assert_eq!(served.verdict, Verdict::Result);
}

#[tokio::test]
async fn a_call_cancelled_by_its_client_has_no_answer() {
    let (service, mut calls) = kit::service(Limits::default());
    let running = start(&service, Transport::Stdio, "hold");
    let (_call, reply) = held(&mut calls).await;
    running.cancel.cancel(Reason::Client);
    assert_eq!(running.answer().await, None);
    assert_eq!(reply.cancelled().reason(), Some(Reason::Client));
    reply.send(done()); // too late, and nobody minds
}

#[tokio::test]
async fn a_call_cancelled_while_it_waits_for_a_place_never_runs() {
    let (service, mut calls) = kit::service(limits(1, 1, LONG));
    let first = start(&service, Transport::Stdio, "hold");
    let (_call, reply) = held(&mut calls).await;
    let second = start(&service, Transport::Stdio, "hold");
    while service.load().queued == 0 {
        tokio::task::yield_now().await;
    }
    second.cancel.cancel(Reason::Client);
    assert_eq!(second.answer().await, None);
    reply.send(done());
    assert!(first.answer().await.is_some());
    assert!(calls.is_empty());
}

#[tokio::test]
async fn a_call_whose_caller_is_gone_is_told_to_stop() {
    let (service, mut calls) = kit::service(Limits::default());
    let running = start(&service, Transport::Http, "hold");
    let (_call, reply) = held(&mut calls).await;
    running.answer.abort();
    assert_eq!(soon(reply.cancelled().stopped()).await, Reason::Client);
}

#[tokio::test(start_paused = true)]
async fn over_http_the_time_counts_from_the_request() {
    let (service, mut calls) = kit::service(limits(1, 1, Duration::from_millis(300)));
    let _first = start(&service, Transport::Stdio, "hold");
    let (_call, _reply) = held(&mut calls).await;
    let begun = Instant::now();
    let second = start(&service, Transport::Http, "hold")
        .answer()
        .await
        .expect("an answer");
    assert_eq!(second.verdict, Verdict::Late);
    assert_eq!(begun.elapsed(), Duration::from_millis(300));
    assert!(calls.is_empty(), "it never had a place");
}

#[tokio::test(start_paused = true)]
async fn over_a_pipe_the_time_counts_from_the_start_of_the_work() {
    let (service, mut calls) = kit::service(limits(1, 1, Duration::from_millis(300)));
    let first = start(&service, Transport::Stdio, "hold");
    let (_call, reply) = held(&mut calls).await;
    let second = start(&service, Transport::Stdio, "hold");
    tokio::time::sleep(Duration::from_millis(250)).await;
    reply.send(done());
    assert_eq!(
        first.answer().await.expect("an answer").verdict,
        Verdict::Result
    );
    let (_call, reply) = held(&mut calls).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    reply.send(done());
    assert_eq!(
        second.answer().await.expect("an answer").verdict,
        Verdict::Result
    );
}
