//! What is told of messages: one begin and one end for each, whatever becomes of it, and nothing of what
//! was in it.

mod kit;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kit::{Held, soon};
use proptest::prelude::*;
use snodo_core::context::{Arrival, Transport};
use snodo_core::error::{Error, Kind};
use snodo_core::limits::{FILTER_URIS, Limits};
use snodo_core::outcome::Value;
use snodo_core::pipeline::{Answer, Verdict};
use snodo_core::subscription::{Change, Event as Changed};
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::hub::{Hub, Overflow};
use snodo_server::said::Said;
use snodo_server::service::{Prepared, Service};
use snodo_server::session::Session;
use snodo_server::source::Opening;
use snodo_server::telemetry::{Event, Sink, Telemetry};
use std::time::Duration;
use tokio::task::JoinHandle;

/// What a sink was told, in words.
#[derive(Default)]
struct Recorder(Mutex<Vec<(u64, String)>>);

impl Recorder {
    fn told(&self) -> Vec<String> {
        let told = self.0.lock().expect("not poisoned");
        told.iter().map(|(_, text)| text.clone()).collect()
    }

    /// What each message was told to be, begin and end.
    fn spans(&self) -> HashMap<u64, Vec<String>> {
        let mut spans: HashMap<u64, Vec<String>> = HashMap::new();
        for (span, text) in &*self.0.lock().expect("not poisoned") {
            if *span > 0 {
                spans.entry(*span).or_default().push(text.clone());
            }
        }
        spans
    }
}

impl Sink for Recorder {
    fn tell(&self, event: &Event<'_>) {
        let (span, text) = match event {
            Event::Start(it) => {
                let name = it.component();
                (it.span, format!("start {} {name}", it.method()))
            }
            Event::Stop(it, _, end) => {
                let code = end
                    .error_code
                    .map_or_else(String::new, |code| code.to_string());
                let kind = end.error_type.unwrap_or_default();
                let text = format!("stop {} {code} {kind}", end.outcome.name());
                (it.span, text.trim_end().to_owned())
            }
            Event::Exception(it, _) => (it.span, "exception".to_owned()),
            Event::Opened(it, open) => (0, format!("open {open} {:?}", it.filter)),
            Event::Closed(_, open, why) => (0, format!("close {open} {why:?}")),
            Event::Published(it) => (0, format!("publish {} {:?}", it.kind, it.report)),
            Event::Completed {
                subscriptions,
                queued,
            } => (0, format!("complete {subscriptions} {queued}")),
            Event::Refused(status) => (0, format!("refused {status}")),
        };
        self.0.lock().expect("not poisoned").push((span, text));
    }
}

struct Watched {
    service: Arc<Service>,
    held: Held,
    told: Arc<Recorder>,
}

fn watched(limits: Limits) -> Watched {
    let told = Arc::new(Recorder::default());
    let telemetry = Telemetry::new().with_sink(told.clone());
    let (service, held) = kit::watched(limits, Arc::new(telemetry), None);
    Watched {
        service,
        held,
        told,
    }
}

impl Watched {
    /// What is left to be done with a message.
    fn prepare(&self, body: &str) -> Prepared {
        let arrival = Arrival::new(Transport::Stdio);
        self.service.prepare(body.as_bytes(), arrival)
    }

    fn run(&self, body: &str) -> (JoinHandle<Option<Answer>>, CancelToken) {
        let Prepared::Work(work) = self.prepare(body) else {
            panic!("a call that can be run");
        };
        let cancel = CancelToken::new();
        let (service, token) = (self.service.clone(), cancel.clone());
        (
            tokio::spawn(async move { service.run(work, token).await }),
            cancel,
        )
    }
}

#[tokio::test]
async fn a_call_begins_and_ends() {
    let server = watched(Limits::default());
    let (answer, _) = server.run(&kit::call("1", "add"));
    assert!(soon(answer).await.expect("no panic").is_some());
    assert_eq!(server.told.told(), ["start tools/call add", "stop ok"]);
    assert_eq!(server.service.gauges().in_flight, 0);
}

#[tokio::test]
async fn what_is_answered_at_once_begins_and_ends_too() {
    let server = watched(Limits::default());
    for (body, told) in [
        (
            kit::call("1", "nothing"),
            ["start tools/call ", "stop error -32602"],
        ),
        (
            kit::call("1", "add").replace("tools/call", "secret/call"),
            ["start unknown ", "stop error -32601"],
        ),
        (
            kit::call("1", "add").replace("2026-07-28", "1999-01-01"),
            ["start tools/call add", "stop error -32022"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            ["start notifications/initialized ", "stop no_reply"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"secret"}"#.to_owned(),
            ["start unknown ", "stop no_reply"],
        ),
        ("{".to_owned(), ["start unknown ", "stop error -32700"]),
        (
            kit::initialize("1", "2025-11-25"),
            ["start initialize ", "stop ok"],
        ),
    ] {
        server.prepare(&body);
        let all = server.told.told();
        assert_eq!(all[all.len() - 2..], told, "{body}");
    }
    let before = server.told.told().len();
    server.prepare(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
    assert_eq!(server.told.told().len(), before, "a response is no request");
}

#[tokio::test]
async fn a_failed_tool_is_a_result_of_its_own_kind() {
    let mut server = watched(Limits::default());
    let (answer, _) = server.run(&kit::call("1", "hold"));
    let (_call, reply) = server.held.next().await;
    reply.send(Value::Failure("no".to_owned()).into());
    soon(answer).await.expect("no panic");
    let told = server.told.told();
    assert_eq!(told, ["start tools/call hold", "stop ok  tool_error"]);
}

#[tokio::test]
async fn a_tool_that_raised_is_told_from_one_that_failed_on_purpose() {
    let mut server = watched(Limits::default());
    let (answer, _) = server.run(&kit::call("1", "hold"));
    let (_call, reply) = server.held.next().await;
    reply.send(Value::Raised("a bug".to_owned()).into());
    let answer = soon(answer).await.expect("no panic").expect("an answer");
    assert!(answer.is_failure());
    let body = String::from_utf8(answer.body).expect("UTF-8");
    assert!(body.contains(r#""isError":true"#), "{body}");
    let told = server.told.told();
    assert_eq!(told, ["start tools/call hold", "stop ok  raised"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_run_ends_as_what_it_was_refused_for() {
    let limits = Limits {
        running: 1,
        queued: 0,
        call_timeout: Some(Duration::from_millis(100)),
        ..Limits::default()
    };
    let mut server = watched(limits);
    let (late, _) = server.run(&kit::call("1", "hold"));
    let (_call, reply) = server.held.next().await;
    let (busy, _) = server.run(&kit::call("2", "hold"));
    soon(busy).await.expect("no panic");
    soon(late).await.expect("no panic");
    drop(reply);
    let (gone, cancel) = server.run(&kit::call("3", "hold"));
    let (_call, reply) = server.held.next().await;
    cancel.cancel(Reason::Client);
    soon(gone).await.expect("no panic");
    drop(reply);
    let (dropped, _) = server.run(&kit::call("4", "hold"));
    let _held = server.held.next().await;
    dropped.abort();
    assert!(soon(dropped).await.is_err());
    let spans = server.told.spans();
    let end = |span: u64| spans[&span].last().expect("an end").clone();
    assert_eq!(end(1), "stop error -32603 timeout");
    assert_eq!(end(2), "stop error -32603 busy");
    assert_eq!(end(3), "stop cancelled");
    assert_eq!(end(4), "stop cancelled");
    assert!(spans.values().all(|told| told.len() == 2), "{spans:?}");
    assert_eq!(server.service.gauges().in_flight, 0);
}

#[tokio::test]
async fn a_sink_that_panics_changes_nothing() {
    struct Broken;
    impl Sink for Broken {
        fn tell(&self, _: &Event<'_>) {
            panic!("on purpose");
        }
    }
    let told = Arc::new(Recorder::default());
    let telemetry = Telemetry::new()
        .with_sink(Arc::new(Broken))
        .with_sink(told.clone());
    let (service, _held) = kit::watched(Limits::default(), Arc::new(telemetry), None);
    let arrival = Arrival::new(Transport::Direct);
    let Prepared::Work(work) = service.prepare(kit::call("1", "add").as_bytes(), arrival) else {
        panic!("a call that can be run");
    };
    let answer = soon(service.run(work, CancelToken::new())).await;
    assert!(!answer.expect("an answer").is_failure());
    assert_eq!(told.told().len(), 2);
}

#[tokio::test]
async fn a_subscription_is_told_from_its_opening_to_its_close() {
    use futures_util::StreamExt;
    let told = Arc::new(Recorder::default());
    let telemetry = Arc::new(Telemetry::new().with_sink(told.clone()));
    let hub = Hub::new(1, Overflow::DropNewest);
    hub.watch(&telemetry);
    let (service, _held) = kit::watched(Limits::default(), telemetry, Some(Arc::new(hub.clone())));
    let listen = |filter: &str| {
        let arrival = Arrival::new(Transport::Stdio);
        let body = kit::listen("1", filter);
        match service.prepare(body.as_bytes(), arrival) {
            Prepared::Listen(listener) => service.listen(listener),
            _ => panic!("a request to listen"),
        }
    };
    let filter = r#"{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}"#;
    let mut first = listen(filter).unwrap_or_else(|_| panic!("a place"));
    assert!(soon(first.next()).await.is_some());
    let mut second = listen(r#"{"toolsListChanged":true}"#).unwrap_or_else(|_| panic!("a place"));
    assert!(soon(second.next()).await.is_some());
    let event = |uri: &str| {
        let change = Change::Resource(uri.to_owned());
        let mut metadata = snodo_core::json::Object::new();
        metadata.insert("n", snodo_core::json::Json::Int(1));
        Changed::new(change, metadata).expect("a good event")
    };
    hub.publish(event("note://a"));
    hub.publish(event("note://a"));
    drop(second);
    hub.complete();
    while soon(first.next()).await.is_some() {}
    drop(first);
    let report = |parts: [usize; 4]| {
        let [matched, delivered, buffered, dropped] = parts;
        format!(
            "publish resource_updated Report {{ matched: {matched}, delivered: {delivered}, \
             buffered: {buffered}, dropped: {dropped} }}"
        )
    };
    assert_eq!(
        told.told(),
        [
            "start subscriptions/listen ",
            "stop stream",
            r#"open 1 ["resourceSubscriptions", "toolsListChanged"]"#,
            "start subscriptions/listen ",
            "stop stream",
            r#"open 2 ["toolsListChanged"]"#,
            &report([1, 0, 1, 0]),
            &report([1, 0, 0, 1]),
            "close 1 Cancelled",
            "complete 1 1",
            "close 0 Complete",
        ]
    );
}

#[tokio::test]
async fn a_listener_that_never_hears_ends_as_a_request() {
    let told = Arc::new(Recorder::default());
    let telemetry = Arc::new(Telemetry::new().with_sink(told.clone()));
    let limits = Limits {
        streams: 1,
        ..Limits::default()
    };
    let (service, _held) = kit::watched(limits, telemetry, Some(Arc::new(Hub::default())));
    let prepare = || {
        let arrival = Arrival::new(Transport::Stdio);
        let body = kit::listen("1", r#"{"toolsListChanged":true}"#);
        match service.prepare(body.as_bytes(), arrival) {
            Prepared::Listen(listener) => listener,
            _ => panic!("a request to listen"),
        }
    };
    let given_up = service
        .listen(prepare())
        .unwrap_or_else(|_| panic!("a place"));
    assert!(
        service.listen(prepare()).is_err(),
        "there is no other place"
    );
    drop(given_up);
    service.deaf(prepare());
    let ends: Vec<_> = told
        .told()
        .into_iter()
        .filter(|told| told.starts_with("stop"))
        .collect();
    assert_eq!(
        ends,
        [
            "stop error -32603 busy",
            "stop cancelled",
            "stop error -32600"
        ]
    );
}

#[tokio::test]
async fn a_message_that_a_bug_ended_is_told_so() {
    use futures_util::StreamExt;
    let told = Arc::new(Recorder::default());
    let telemetry = Arc::new(Telemetry::new().with_sink(told.clone()));
    let broken = |_, _| -> Opening { panic!("on purpose") };
    let (service, _held) = kit::watched(Limits::default(), telemetry, Some(Arc::new(broken)));
    let body = kit::listen("1", r#"{"toolsListChanged":true}"#);
    let arrival = Arrival::new(Transport::Http);
    let Prepared::Listen(listener) = service.prepare(body.as_bytes(), arrival) else {
        panic!("a request to listen");
    };
    let mut listening = service
        .listen(listener)
        .unwrap_or_else(|_| panic!("a place"));
    let served = tokio::spawn(async move { listening.next().await.is_some() });
    assert!(soon(served).await.is_err_and(|error| error.is_panic()));
    assert_eq!(told.told(), ["start subscriptions/listen ", "exception"]);
    let gauges = service.gauges();
    assert_eq!((gauges.in_flight, gauges.streams), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_listener_whose_policy_has_no_time_or_no_place_ends_as_a_call_would() {
    use futures_util::StreamExt;
    for (running, told, verdict) in [
        (1, "stop error -32603 timeout", Verdict::Late),
        (0, "stop error -32603 busy", Verdict::Busy),
    ] {
        let recorder = Arc::new(Recorder::default());
        let telemetry = Arc::new(Telemetry::new().with_sink(recorder.clone()));
        let limits = Limits {
            running,
            queued: 0,
            call_timeout: Some(Duration::from_millis(100)),
            ..Limits::default()
        };
        let (service, _held) = kit::policed(limits, telemetry);
        let body = kit::listen("1", r#"{"resourceSubscriptions":["note://a"]}"#);
        let arrival = Arrival::new(Transport::Http);
        let Prepared::Listen(listener) = service.prepare(body.as_bytes(), arrival) else {
            panic!("a request to listen");
        };
        let mut listening = service
            .listen(listener)
            .unwrap_or_else(|_| panic!("a place"));
        let Some(Said::Answer(answer)) = soon(listening.next()).await else {
            panic!("an answer before anything else");
        };
        assert_eq!(answer.verdict, verdict);
        assert_eq!(recorder.told()[1], told);
    }
}

/// A session of a client that has opened with a handshake.
fn shaken(service: &Service) -> Arc<Session> {
    let opening = kit::initialize("1", "2025-11-25");
    let arrival = Arrival::new(Transport::Http);
    let Prepared::Open { peer, .. } = service.prepare(opening.as_bytes(), arrival) else {
        panic!("a handshake");
    };
    Arc::new(Session::new(peer, None))
}

fn watch(service: &Service, session: &Session, uri: &str) -> Prepared {
    let mut arrival = Arrival::new(Transport::Http);
    session.sign(&mut arrival, true);
    let params = format!(r#"{{"uri":"{uri}"}}"#);
    let body = kit::plain("2", "resources/subscribe", &params);
    service.prepare(body.as_bytes(), arrival)
}

#[tokio::test]
async fn a_subscription_of_a_session_ends_as_it_is_answered() {
    let told = Arc::new(Recorder::default());
    let telemetry = Arc::new(Telemetry::new().with_sink(told.clone()));
    let hub = Arc::new(Hub::default());
    let (service, _held) = kit::watched(Limits::default(), telemetry, Some(hub));
    let session = shaken(&service);
    let mut ends = Vec::new();
    for at in 0..=FILTER_URIS {
        let Prepared::Settle(settling) = watch(&service, &session, &format!("note://{at}")) else {
            panic!("the session is to be changed");
        };
        settling.within(Some(&session)).await;
        ends.extend(told.told().pop());
    }
    let full = ends.pop();
    assert!(ends.iter().all(|told| told == "stop ok"), "{ends:?}");
    assert_eq!(full.as_deref(), Some("stop error -32602"));
}

#[tokio::test]
async fn a_subscription_of_a_session_ends_as_the_policy_decides() {
    let recorder = Arc::new(Recorder::default());
    let telemetry = Arc::new(Telemetry::new().with_sink(recorder.clone()));
    let (service, mut held) = kit::policed(Limits::default(), telemetry);
    let session = shaken(&service);
    for (outcome, told) in [
        (Value::Decisions(vec![Ok(())]), "stop ok"),
        (
            Value::Decisions(vec![Err(Error::new(-32003, Kind::Authorization, "no"))]),
            "stop error -32003",
        ),
        (
            Value::Error(Error::internal("it failed")),
            "stop error -32603",
        ),
    ] {
        let Prepared::Work(work) = watch(&service, &session, "note://a") else {
            panic!("the policy is asked");
        };
        let work = work.within(session.clone());
        let running = {
            let service = service.clone();
            tokio::spawn(async move { service.run(work, CancelToken::new()).await })
        };
        let (_call, reply) = held.next().await;
        reply.send(outcome.into());
        soon(running).await.expect("no panic").expect("an answer");
        assert_eq!(
            recorder.told()[recorder.told().len() - 2..],
            ["start resources/subscribe a", told]
        );
    }
}

/// What may be done with one message.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Answered,
    Held,
    Cancelled,
    Abandoned,
    Never,
    Malformed,
    Notified,
    Unknown,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        Just(Deed::Answered),
        Just(Deed::Held),
        Just(Deed::Cancelled),
        Just(Deed::Abandoned),
        Just(Deed::Never),
        Just(Deed::Malformed),
        Just(Deed::Notified),
        Just(Deed::Unknown),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_begin_has_one_end_whatever_is_done(deeds in prop::collection::vec(deed(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (told, count) = runtime.block_on(async {
            let mut server = watched(Limits { running: 8, queued: 4, ..Limits::default() });
            let mut running = Vec::new();
            for (id, deed) in deeds.iter().enumerate() {
                let id = id.to_string();
                match deed {
                    Deed::Answered => running.push(server.run(&kit::call(&id, "add"))),
                    Deed::Held => running.push(server.run(&kit::call(&id, "hold"))),
                    Deed::Cancelled => {
                        let (answer, cancel) = server.run(&kit::call(&id, "hold"));
                        tokio::task::yield_now().await;
                        cancel.cancel(Reason::Client);
                        running.push((answer, cancel));
                    }
                    Deed::Abandoned => {
                        let (answer, _) = server.run(&kit::call(&id, "hold"));
                        tokio::task::yield_now().await;
                        answer.abort();
                    }
                    Deed::Never => drop(server.prepare(&kit::call(&id, "add"))),
                    Deed::Malformed => drop(server.prepare("[")),
                    Deed::Notified => drop(server.prepare(r#"{"jsonrpc":"2.0","method":"x"}"#)),
                    Deed::Unknown => drop(server.prepare(&kit::call(&id, "secret"))),
                }
            }
            // Whoever holds a call lets go, and whoever waits for its place gets it.
            for _ in 0..deeds.len() * 4 {
                tokio::task::yield_now().await;
                while !server.held.is_empty() {
                    let (_call, reply) = server.held.next().await;
                    reply.send(Value::Text("done".to_owned()).into());
                }
            }
            for (answer, _) in running {
                let _ = soon(answer).await;
            }
            (server.told.clone(), server.service.gauges().in_flight)
        });
        drop(runtime);
        prop_assert_eq!(count, 0);
        let spans = told.spans();
        prop_assert_eq!(spans.len(), deeds.len());
        for told in spans.values() {
            prop_assert_eq!(told.len(), 2, "{:?}", told);
            prop_assert!(told[0].starts_with("start") && told[1].starts_with("stop"), "{:?}", told);
            prop_assert!(!told.concat().contains("secret"));
        }
    }
}
