//! Layers and what is below them: one place for all, each its own time, one word that stops them.

mod kit;

use std::sync::Arc;
use std::time::Duration;

use kit::{Held, soon};
use snodo_core::call::Target;
use snodo_core::context::{Arrival, Transport};
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{Answer, Verdict};
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::handler::Reply;
use snodo_server::rest::{Granted, Rest, What};
use snodo_server::service::{Prepared, Service};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

fn limits(running: usize, timeout: Duration) -> Limits {
    Limits {
        running,
        queued: 0,
        call_timeout: Some(timeout),
        ..Limits::default()
    }
}

struct Running {
    answer: JoinHandle<Option<Answer>>,
    cancel: CancelToken,
}

impl Running {
    async fn answer(self) -> Option<Answer> {
        soon(self.answer).await.expect("no panic")
    }
}

fn start(service: &Arc<Service>, tool: &str) -> Running {
    let request = kit::call("1", tool);
    let arrival = Arrival::new(Transport::Stdio);
    let Prepared::Work(work) = service.prepare(request.as_bytes(), arrival) else {
        panic!("a call that can be run");
    };
    let cancel = CancelToken::new();
    let (service, token) = (service.clone(), cancel.clone());
    let answer = tokio::spawn(async move { service.run(work, token).await });
    Running { answer, cancel }
}

async fn layer(held: &mut Held) -> Reply {
    let (call, reply) = held.next().await;
    assert!(matches!(call.target, Target::Layer(_)), "{call:?}");
    reply
}

async fn tool(held: &mut Held) -> Reply {
    let (call, reply) = held.next().await;
    assert!(matches!(call.target, Target::Tool(_)), "{call:?}");
    reply
}

/// Asks for what is below. The token says that nobody wants to know any more.
fn ask(reply: &Reply, what: What) -> (oneshot::Receiver<Granted>, CancelToken) {
    ask_at(reply.rest().expect("a layer"), what)
}

fn ask_at(rest: &Rest, what: What) -> (oneshot::Receiver<Granted>, CancelToken) {
    let (sender, granted) = oneshot::channel();
    let cancel = CancelToken::new();
    let asked = rest.ask(what, cancel.clone(), |granted| {
        let _ = sender.send(granted);
    });
    assert!(asked);
    (granted, cancel)
}

async fn result(granted: oneshot::Receiver<Granted>) -> Outcome {
    let granted = soon(granted).await.expect("an end");
    let result = granted.expect("a result").expect("something was run");
    Value::Wire(result).into()
}

fn text(text: &str) -> Outcome {
    Value::Text(text.to_owned()).into()
}

fn said(answer: Option<Answer>) -> String {
    String::from_utf8(answer.expect("an answer").body).expect("UTF-8")
}

#[tokio::test]
async fn layers_and_what_is_below_them_have_one_place() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 2);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let (of_outer, _) = ask(&outer, What::Run(None));
    let inner = layer(&mut held).await;
    let (of_inner, _) = ask(&inner, What::Run(None));
    let below = tool(&mut held).await;
    assert_eq!(service.load().running, 1);
    // There is no second one.
    let refused = start(&service, "add").answer().await.expect("an answer");
    assert_eq!(refused.verdict, Verdict::Busy);
    below.send(text("5"));
    inner.send(result(of_inner).await);
    outer.send(result(of_outer).await);
    assert!(said(running.answer().await).contains(r#""text":"5""#));
    assert_eq!(service.load().running, 0);
}

#[tokio::test]
async fn the_place_is_taken_until_all_are_gone() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let (_, _cancel) = ask(&outer, What::Run(None));
    let below = tool(&mut held).await;
    outer.send(Value::Wire(br#"{"resultType":"complete","content":[]}"#.to_vec()).into());
    assert!(said(running.answer().await).contains(r#""content":[]"#));
    assert_eq!(below.cancelled().reason(), Some(Reason::Client));
    assert_eq!(service.load().running, 1);
    drop(below);
    assert_eq!(service.load().running, 0);
}

#[tokio::test]
async fn what_raised_below_has_raised_if_the_layers_pass_it_on() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 2);
    let raised = || Value::Raised("a bug".to_owned()).into();
    let mended = Value::Wire(br#"{"resultType":"complete","content":[]}"#.to_vec()).into();
    for (given, verdict) in [(None, Verdict::Raised), (Some(mended), Verdict::Result)] {
        let running = start(&service, "hold");
        let outer = layer(&mut held).await;
        let (of_outer, _) = ask(&outer, What::Run(None));
        let inner = layer(&mut held).await;
        let (of_inner, _) = ask(&inner, What::Run(None));
        tool(&mut held).await.send(raised());
        inner.send(result(of_inner).await);
        let below = result(of_outer).await;
        outer.send(given.unwrap_or(below));
        let answer = running.answer().await.expect("an answer");
        assert_eq!(answer.verdict, verdict);
    }
}

#[tokio::test]
async fn the_checks_are_made_without_the_call() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 2);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    for _ in 0..3 {
        let (granted, _) = ask(&outer, What::Check);
        assert_eq!(soon(granted).await.expect("an end"), Ok(None));
    }
    assert!(held.is_empty());
    let (granted, _) = ask(&outer, What::Run(None));
    drop(layer(&mut held).await);
    let error = soon(granted).await.expect("an end").expect_err("an error");
    assert_eq!(
        error.message,
        "Extension middleware terminated unexpectedly"
    );
    outer.send(error.into());
    assert!(said(running.answer().await).contains("terminated unexpectedly"));
}

#[tokio::test]
async fn a_cancellation_reaches_all() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 2);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let (_, _outer) = ask(&outer, What::Run(None));
    let inner = layer(&mut held).await;
    let (_, _inner) = ask(&inner, What::Run(None));
    let below = tool(&mut held).await;
    running.cancel.cancel(Reason::Client);
    assert_eq!(running.answer().await, None);
    for reply in [&outer, &inner, &below] {
        assert!(reply.is_cancelled());
    }
}

#[tokio::test]
async fn a_layer_may_stop_waiting_and_go_on() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let (granted, cancel) = ask(&outer, What::Run(None));
    let below = tool(&mut held).await;
    cancel.cancel(Reason::Client);
    assert!(soon(granted).await.is_err(), "nobody wants to know");
    assert!(below.is_cancelled());
    assert!(!outer.is_cancelled());
    outer.send(Value::Wire(b"{}".to_vec()).into());
    assert!(running.answer().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_layer_has_its_own_time_and_what_is_below_another() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    sleep(Duration::from_secs(6)).await;
    let (granted, _) = ask(&outer, What::Run(None));
    let below = tool(&mut held).await;
    sleep(Duration::from_secs(9)).await;
    below.send(text("5"));
    let result = result(granted).await;
    sleep(Duration::from_secs(3)).await;
    outer.send(result);
    assert!(said(running.answer().await).contains(r#""text":"5""#));
}

#[tokio::test(start_paused = true)]
async fn a_layer_is_late_by_itself() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let answer = running.answer.await.expect("no panic").expect("an answer");
    assert_eq!(answer.verdict, Verdict::Late);
    assert_eq!(outer.cancelled().reason(), Some(Reason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn what_is_below_is_late_and_the_layer_with_it() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 2);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let (_, _outer) = ask(&outer, What::Run(None));
    let inner = layer(&mut held).await;
    let (_, _inner) = ask(&inner, What::Run(None));
    let below = tool(&mut held).await;
    let answer = running.answer.await.expect("no panic").expect("an answer");
    assert_eq!(answer.verdict, Verdict::Late);
    for reply in [&outer, &inner, &below] {
        assert_eq!(reply.cancelled().reason(), Some(Reason::Deadline));
    }
}

#[tokio::test]
async fn nothing_can_be_asked_of_a_layer_that_is_over() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let rest = outer.rest().expect("a layer").clone();
    outer.send(Value::Wire(b"{}".to_vec()).into());
    assert!(running.answer().await.is_some());
    assert!(!rest.ask(What::Check, CancelToken::new(), |_| {}));
}

async fn failure(granted: oneshot::Receiver<Granted>) -> String {
    let granted = soon(granted).await.expect("an end");
    granted.expect_err("an error").message.to_string()
}

/// A layer that has answered, and the door that it left open.
async fn detached(
    service: &Arc<Service>,
    held: &mut Held,
    time: Option<Duration>,
) -> (Rest, oneshot::Receiver<Granted>) {
    let running = start(service, "hold");
    let outer = layer(held).await;
    let rest = outer.rest().expect("a layer").detach(time);
    let rest = rest.expect("the layer runs");
    let (early, _) = ask_at(&rest, What::Run(None));
    outer.send(Value::Wire(br#"{"resultType":"complete","content":[]}"#.to_vec()).into());
    assert!(said(running.answer().await).contains(r#""content":[]"#));
    (rest, early)
}

#[tokio::test]
async fn what_is_detached_runs_in_a_place_of_its_own_when_the_answer_is_there() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let (rest, first) = detached(&service, &mut held, None).await;
    let below = tool(&mut held).await;
    assert_eq!(service.load().running, 1);
    let refused = start(&service, "add").answer().await.expect("an answer");
    assert_eq!(refused.verdict, Verdict::Busy);
    // One after the other.
    let (second, _) = ask_at(&rest, What::Run(None));
    below.send(text("1"));
    result(first).await;
    let below = tool(&mut held).await;
    // What waits is run although nobody can ask any more.
    drop(rest);
    below.send(text("2"));
    result(second).await;
    assert_eq!(service.load().running, 0);
}

#[tokio::test]
async fn what_is_detached_waits_for_a_place_as_others_do() {
    let (service, mut held) = kit::layered(limits(2, Duration::from_secs(10)), 1);
    let taken: Vec<_> = (0..2).map(|_| start(&service, "hold")).collect();
    let (one, other) = (layer(&mut held).await, layer(&mut held).await);
    let rest = one.rest().expect("a layer").detach(None);
    let (granted, _) = ask_at(&rest.expect("the layer runs"), What::Run(None));
    assert_eq!(
        failure(granted).await,
        "Server execution capacity exhausted"
    );
    for reply in [one, other] {
        reply.send(Value::Wire(br#"{"resultType":"complete","content":[]}"#.to_vec()).into());
    }
    for running in taken {
        assert!(running.answer().await.is_some());
    }
}

#[tokio::test]
async fn what_is_detached_has_its_own_time_and_is_stopped_by_whoever_asked() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_millis(50)), 1);
    let (_rest, late) = detached(&service, &mut held, Some(Duration::from_millis(100))).await;
    let below = tool(&mut held).await;
    assert_eq!(failure(late).await, "Request execution timed out");
    assert_eq!(below.cancelled().reason(), Some(Reason::Deadline));
    drop(below);
    let (rest, first) = detached(&service, &mut held, Some(Duration::from_secs(600))).await;
    tool(&mut held).await.send(text("1"));
    result(first).await;
    let (_granted, cancel) = ask_at(&rest, What::Run(None));
    let below = tool(&mut held).await;
    cancel.cancel(Reason::Client);
    soon(below.cancelled().stopped()).await;
    assert_eq!(below.cancelled().reason(), Some(Reason::Client));
}

#[tokio::test]
async fn a_request_that_is_cancelled_leaves_what_it_detached() {
    let (service, mut held) = kit::layered(limits(1, Duration::from_secs(10)), 1);
    let running = start(&service, "hold");
    let outer = layer(&mut held).await;
    let rest = outer.rest().expect("a layer").detach(None);
    let rest = rest.expect("the layer runs");
    // Once this is known, it has been detached.
    let (checked, _) = ask(&outer, What::Check);
    assert_eq!(soon(checked).await.expect("an end"), Ok(None));
    running.cancel.cancel(Reason::Client);
    assert!(running.answer().await.is_none());
    drop(outer);
    let (granted, _) = ask_at(&rest, What::Run(None));
    tool(&mut held).await.send(text("1"));
    result(granted).await;
}
