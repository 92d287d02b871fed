//! What is said before the answer: order, bounds, heart-beats, and silence afterwards.

mod kit;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use kit::soon;
use snodo_core::context::{Arrival, Transport};
use snodo_core::json::{self, Json};
use snodo_core::limits::{Limits, NOTICES_PENDING};
use snodo_core::notice::{Amount, Entry, Level, Notice, Progress};
use snodo_core::outcome::Value;
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::handler::Reply;
use snodo_server::said::Said;
use snodo_server::service::{Prepared, Service, Work};
use snodo_server::voice::Conversation;

fn work(service: &Service, request: &str) -> Work {
    let arrival = Arrival::new(Transport::Direct);
    match service.prepare(request.as_bytes(), arrival) {
        Prepared::Work(work) => work,
        _ => panic!("a call that can be run"),
    }
}

fn converse(service: &Arc<Service>) -> Conversation {
    let work = work(service, &kit::loud_call("1", "hold"));
    service.clone().converse(work, CancelToken::new())
}

fn progress(done: i64) -> Notice {
    Notice::Progress(Progress::new(Amount::Int(done), None, None))
}

fn entry(level: &str, bytes: usize) -> Notice {
    Notice::Log(Entry {
        level: Level::named(level).expect("a level"),
        logger: None,
        data: format!("\"{}\"", "x".repeat(bytes)).into_bytes(),
    })
}

fn answer(reply: Reply) {
    reply.send(Value::Text("done".to_owned()).into());
}

/// The notices as far as they are ready, and whether the answer follows.
fn heard(conversation: &mut Conversation) -> (Vec<String>, bool) {
    let mut notices = Vec::new();
    loop {
        match conversation.next().now_or_never() {
            Some(Some(Said::Notice(message) | Said::Question(message))) => {
                notices.push(String::from_utf8(message).expect("UTF-8"));
            }
            Some(Some(Said::Answer(answer))) => {
                assert!(
                    answer
                        .body
                        .starts_with(br#"{"jsonrpc":"2.0","id":1,"result""#)
                );
                assert_eq!(conversation.next().now_or_never(), Some(None));
                return (notices, true);
            }
            Some(None) => panic!("an answer"),
            None => return (notices, false),
        }
    }
}

fn done(notice: &str) -> f64 {
    let Ok(Json::Object(message)) = json::parse(notice.as_bytes(), &Limits::default()) else {
        panic!("an object: {notice}");
    };
    let params = message.get("params").and_then(Json::as_object);
    match params.and_then(|params| params.get("progress")) {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        Some(Json::Int(done)) => *done as f64,
        Some(Json::Float(done)) => *done,
        _ => panic!("progress: {notice}"),
    }
}

#[tokio::test]
async fn what_is_said_leaves_in_order_and_before_the_answer() {
    let (service, mut calls) = kit::service(Limits::default());
    let mut conversation = converse(&service);
    assert_eq!(heard(&mut conversation), (vec![], false));
    let (_call, reply) = calls.next().await;
    let voice = reply.voice().expect("the client listens").clone();
    voice.say(progress(1));
    voice.say(entry("debug", 1));
    voice.say(entry("error", 1));
    voice.say(progress(1));
    voice.say(progress(2));
    let first = soon(conversation.next()).await;
    let Some(Said::Notice(first)) = first else {
        panic!("a notice: {first:?}");
    };
    answer(reply);
    assert_eq!(
        String::from_utf8(first).expect("UTF-8"),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#
    );
    let (notices, answered) = heard(&mut conversation);
    assert!(answered);
    assert_eq!(
        notices,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}"#,
        ]
    );
    voice.say(progress(3));
    assert_eq!(conversation.next().now_or_never(), Some(None));
}

#[tokio::test]
async fn nobody_speaks_to_a_client_that_does_not_listen() {
    let (service, mut calls) = kit::service(Limits::default());
    let work = work(&service, &kit::call("1", "hold"));
    assert!(!work.wants_notices());
    let running = service.run(work, CancelToken::new());
    let (running, reply) = tokio::join!(running, async {
        let (_call, reply) = calls.next().await;
        let silent = reply.voice().is_none();
        answer(reply);
        silent
    });
    assert!(running.is_some() && reply);
}

#[tokio::test]
async fn a_client_that_reads_slowly_misses_progress_and_never_the_last_of_it() {
    let (service, mut calls) = kit::service(Limits::default());
    let mut conversation = converse(&service);
    heard(&mut conversation);
    let (_call, reply) = calls.next().await;
    let voice = reply.voice().expect("the client listens").clone();
    voice.say(entry("info", 1));
    for report in 0..5_000 {
        voice.say(progress(report));
    }
    answer(reply);
    let (notices, answered) = heard(&mut conversation);
    assert!(answered);
    assert_eq!(notices.len(), NOTICES_PENDING);
    assert!(notices[0].contains("notifications/message"));
    let reports: Vec<_> = notices[1..].iter().map(|notice| done(notice)).collect();
    assert!(reports.is_sorted_by(|a, b| a < b));
    assert_eq!(reports.last(), Some(&4_999.0));
}

#[tokio::test]
async fn log_entries_that_wait_are_bounded_in_bytes() {
    let (service, mut calls) = kit::service(Limits::default());
    let mut conversation = converse(&service);
    heard(&mut conversation);
    let (_call, reply) = calls.next().await;
    let voice = reply.voice().expect("the client listens").clone();
    voice.say(progress(1));
    for _ in 0..100 {
        voice.say(entry("info", 50_000));
    }
    answer(reply);
    let (notices, answered) = heard(&mut conversation);
    assert!(answered);
    assert!(notices[0].contains("notifications/progress"));
    assert_eq!(notices.len(), 1 + (1 << 20) / 50_002);
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_gives_signs_of_life_that_never_overtake_it() {
    let beat = Duration::from_secs(5);
    let limits = Limits {
        call_timeout: None,
        ..Limits::default()
    };
    let (service, mut calls) = kit::service_that_beats(limits, Some(beat));
    let mut conversation = converse(&service);
    heard(&mut conversation);
    let (_call, reply) = calls.next().await;
    let voice = reply.voice().expect("the client listens").clone();
    let mut reports = Vec::new();
    for round in 1..=3 {
        for _ in 0..2 {
            let said = soon_enough(&mut conversation).await;
            assert!(said.contains(r#""message":"still working""#), "{said}");
            reports.push(done(&said));
        }
        voice.say(progress(round));
        reports.push(done(&soon_enough(&mut conversation).await));
    }
    assert!(reports.is_sorted_by(|a, b| a < b), "{reports:?}");
    answer(reply);
    assert_eq!(heard(&mut conversation), (vec![], true));
}

/// The next notice, within two heart-beats.
async fn soon_enough(conversation: &mut Conversation) -> String {
    let next = pin!(conversation.next());
    match tokio::time::timeout(Duration::from_secs(10), next).await {
        Ok(Some(Said::Notice(message))) => String::from_utf8(message).expect("UTF-8"),
        other => panic!("a notice: {other:?}"),
    }
}

#[tokio::test]
async fn a_client_that_is_gone_cancels_and_hears_nothing() {
    let (service, mut calls) = kit::service(Limits::default());
    let mut conversation = converse(&service);
    heard(&mut conversation);
    let (_call, reply) = calls.next().await;
    drop(conversation);
    assert_eq!(reply.cancelled().reason(), Some(Reason::Client));
    reply.voice().expect("it was there").say(progress(1));

    // Cancelled by name, with something said and not heard: nothing more may be sent.
    let token = CancelToken::new();
    let work = work(&service, &kit::loud_call("2", "hold"));
    let mut conversation = service.clone().converse(work, token.clone());
    heard(&mut conversation);
    let (_call, reply) = calls.next().await;
    reply.voice().expect("the client listens").say(progress(1));
    token.cancel(Reason::Client);
    assert_eq!(soon(conversation.next()).await, None);
}
