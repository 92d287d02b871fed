//! Subscriptions between source and transport: what is said, in which order, and how they end.

mod kit;

use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use kit::soon;
use snodo_core::context::{Arrival, Context, Transport};
use snodo_core::error::Error;
use snodo_core::json::{Json, Object};
use snodo_core::limits::Limits;
use snodo_core::pipeline::{Answer, Verdict};
use snodo_core::subscription::{Change, Event, Filter};
use snodo_server::beside::Beside;
use snodo_server::hub::Hub;
use snodo_server::listening::Listening;
use snodo_server::said::Said;
use snodo_server::service::{Prepared, Service};
use snodo_server::source::{End, Failed, Feed, Opened, Opening};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const ALL: &str = r#"{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://a","note://b"]}"#;
const ACKNOWLEDGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://a","note://b"]}}}"#;
const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#;
const COMPLETED: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,"io.modelcontextprotocol/serverInfo":{"name":"kit","version":"1"}}}}"#;
const FAILED: &str =
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Subscription source failed"}}"#;

fn updated(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":7}},"uri":"{uri}"}}}}"#
    )
}

fn event(change: Change) -> Event {
    Event::new(change, Object::new()).expect("a good event")
}

fn about(uri: &str) -> Event {
    event(Change::Resource(uri.to_owned()))
}

/// Opens a subscription with the id 7.
fn begin(service: &Arc<Service>, transport: Transport, filter: &str) -> Result<Listening, Answer> {
    let arrival = Arrival::new(transport);
    let request = kit::listen("7", filter);
    match service.prepare(request.as_bytes(), arrival) {
        Prepared::Listen(listen) => service.listen(listen),
        Prepared::Answer(answer) => Err(answer),
        _ => panic!("neither a subscription nor a refusal"),
    }
}

fn listen(service: &Arc<Service>) -> Listening {
    begin(service, Transport::Http, ALL).expect("a subscription")
}

async fn said(listening: &mut Listening) -> String {
    match soon(listening.next()).await.expect("more to say") {
        Said::Notice(text) | Said::Question(text) => String::from_utf8(text).expect("UTF-8"),
        Said::Answer(answer) => String::from_utf8(answer.body).expect("UTF-8"),
    }
}

/// What there is to say without waiting.
fn all_said(listening: &mut Listening) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(Some(next)) = listening.next().now_or_never() {
        all.push(match next {
            Said::Notice(text) | Said::Question(text) => String::from_utf8(text).expect("UTF-8"),
            Said::Answer(answer) => format!("answer: {}", text(&answer)),
        });
    }
    all
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).expect("UTF-8")
}

/// A source of the test's own: what it gives, and what happens to it.
#[derive(Clone, Default)]
struct Log {
    happened: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn add(&self, what: impl Into<String>) {
        self.happened.lock().expect("no panic").push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.happened.lock().expect("no panic"))
    }
}

type Given = Result<Event, Failed>;

struct TestFeed {
    given: UnboundedReceiver<Given>,
    log: Log,
    finishing: bool,
}

impl Feed for TestFeed {
    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Arc<Event>, Failed>>> {
        self.log.add("pulled");
        match self.given.poll_recv(task) {
            Poll::Ready(next) => Poll::Ready(next.map(|given| given.map(Arc::new))),
            Poll::Pending if self.finishing => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    fn finish(&mut self) {
        self.finishing = true;
    }

    fn close(self: Box<Self>, why: End) {
        self.log.add(format!("closed: {why:?}"));
    }
}

/// A source that accepts what `accept` makes of the filter.
fn source(
    accept: impl Fn(Filter) -> Result<Filter, Error> + Send + Sync + 'static,
) -> (
    impl Fn(Filter, Arc<Context>) -> Opening + Send + Sync + 'static,
    UnboundedSender<Given>,
    Log,
) {
    let (sender, given) = unbounded_channel();
    let given = Mutex::new(Some(given));
    let log = Log::default();
    let logged = log.clone();
    let open = move |filter: Filter, _: Arc<Context>| -> Opening {
        let opened = accept(filter).map(|accepted| {
            let given = given.lock().expect("no panic").take();
            let feed = TestFeed {
                given: given.expect("it is opened once"),
                log: logged.clone(),
                finishing: false,
            };
            Opened {
                accepted,
                feed: Box::new(feed),
            }
        });
        Box::pin(std::future::ready(opened))
    };
    (open, sender, log)
}

#[tokio::test]
async fn the_acknowledgement_comes_first_and_before_the_first_pull() {
    let (source, give, log) = source(Ok);
    let service = kit::subscribed(Limits::default(), source);
    give.send(Ok(event(Change::ToolsList))).expect("it listens");
    let mut listening = listen(&service);
    assert_eq!(said(&mut listening).await, ACKNOWLEDGED);
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(said(&mut listening).await, TOOLS_CHANGED);
    assert_eq!(log.take(), ["pulled"]);
}

#[tokio::test]
async fn an_event_is_pulled_when_the_one_before_is_taken_and_not_earlier() {
    let (source, give, log) = source(Ok);
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    said(&mut listening).await;
    for uri in ["note://a", "note://b"] {
        give.send(Ok(about(uri))).expect("it listens");
    }
    assert_eq!(said(&mut listening).await, updated("note://a"));
    assert_eq!(log.take(), ["pulled"]);
    assert_eq!(said(&mut listening).await, updated("note://b"));
    assert_eq!(log.take(), ["pulled"]);
}

#[tokio::test]
async fn what_was_not_accepted_is_not_told() {
    let (source, give, _) = source(|filter| {
        Ok(Filter {
            resource_subscriptions: vec!["note://b".to_owned()],
            tools_list_changed: false,
            ..filter
        })
    });
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    assert!(said(&mut listening).await.contains(
        r#""notifications":{"resourcesListChanged":true,"resourceSubscriptions":["note://b"]}"#
    ));
    let changes = [Change::ToolsList, Change::PromptsList];
    for change in changes {
        give.send(Ok(event(change))).expect("it listens");
    }
    for uri in ["note://a", "note://c", "note://b"] {
        give.send(Ok(about(uri))).expect("it listens");
    }
    assert_eq!(said(&mut listening).await, updated("note://b"));
}

#[tokio::test]
async fn a_source_may_not_widen_the_filter() {
    let (source, _give, log) = source(|filter| {
        Ok(Filter {
            prompts_list_changed: true,
            ..filter
        })
    });
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    assert_eq!(
        said(&mut listening).await,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Subscription source accepted notifications not requested"}}"#
    );
    assert!(listening.next().await.is_none());
    assert_eq!(log.take(), ["closed: Failed"]);
}

#[tokio::test]
async fn a_source_may_refuse() {
    let (source, _give, log) = source(|_| Err(Error::invalid_params("not for you")));
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    let Some(Said::Answer(answer)) = listening.next().await else {
        panic!("an answer and nothing before it");
    };
    assert_eq!(answer.verdict, Verdict::Error(-32602));
    assert!(text(&answer).contains("not for you"));
    assert!(listening.next().await.is_none());
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_open_in_time_has_failed() {
    let limits = Limits {
        call_timeout: Some(Duration::from_secs(3)),
        ..Limits::default()
    };
    let source = |_: Filter, _: Arc<Context>| -> Opening { Box::pin(std::future::pending()) };
    let service = kit::subscribed(limits, source);
    assert_eq!(said(&mut listen(&service)).await, FAILED);
}

#[tokio::test]
async fn a_source_that_fails_is_an_error_and_closed_once() {
    let (source, give, log) = source(Ok);
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    said(&mut listening).await;
    give.send(Err(Failed)).expect("it listens");
    assert_eq!(said(&mut listening).await, FAILED);
    assert!(listening.next().await.is_none());
    drop(listening);
    assert_eq!(log.take(), ["pulled", "closed: Failed"]);
}

#[tokio::test]
async fn a_source_that_ends_completes_the_subscription() {
    let (source, give, log) = source(Ok);
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    said(&mut listening).await;
    drop(give);
    let Some(Said::Answer(answer)) = soon(listening.next()).await else {
        panic!("the answer");
    };
    assert_eq!(
        (text(&answer), answer.verdict),
        (COMPLETED, Verdict::Result)
    );
    assert!(listening.next().await.is_none());
    drop(listening);
    assert_eq!(log.take(), ["pulled", "closed: Complete"]);
}

#[tokio::test]
async fn a_subscription_that_is_dropped_is_cancelled_and_closed_once() {
    let (source, _give, log) = source(Ok);
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    said(&mut listening).await;
    drop(listening);
    assert_eq!(log.take(), ["closed: Cancelled"]);
}

#[tokio::test]
async fn what_is_there_is_still_said_when_the_server_ends_it() {
    for transport in [Transport::Http, Transport::Stdio] {
        let (source, give, log) = source(Ok);
        let service = kit::subscribed(Limits::default(), source);
        let mut listening = begin(&service, transport, ALL).expect("a subscription");
        said(&mut listening).await;
        give.send(Ok(about("note://a"))).expect("it listens");
        listening.end();
        assert_eq!(
            all_said(&mut listening),
            [updated("note://a"), format!("answer: {COMPLETED}")]
        );
        drop(listening);
        assert_eq!(log.take(), ["pulled", "pulled", "closed: Shutdown"]);
    }
}

#[tokio::test]
async fn a_subscription_that_is_not_open_yet_ends_with_an_error() {
    let source = |_: Filter, _: Arc<Context>| -> Opening { Box::pin(std::future::pending()) };
    let service = kit::subscribed(Limits::default(), source);
    let mut listening = listen(&service);
    assert!(listening.next().now_or_never().is_none());
    listening.end();
    let Some(Said::Answer(answer)) = soon(listening.next()).await else {
        panic!("the answer");
    };
    assert_eq!(answer.verdict, Verdict::Closing);
    assert!(text(&answer).contains("Server is shutting down"));
}

#[tokio::test]
async fn there_are_so_many_places_and_no_more() {
    let limits = Limits {
        streams: 1,
        ..Limits::default()
    };
    let service = kit::subscribed(limits, Hub::default());
    let first = listen(&service);
    let refused = begin(&service, Transport::Http, ALL)
        .err()
        .expect("no place");
    assert_eq!(refused.verdict, Verdict::Busy);
    assert_eq!(
        text(&refused),
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Server subscription capacity exhausted"}}"#
    );
    drop(first);
    assert!(begin(&service, Transport::Http, ALL).is_ok());
}

#[tokio::test]
async fn without_subscriptions_there_is_no_such_method() {
    let (service, _held) = kit::service(Limits::default());
    let refused = begin(&service, Transport::Http, ALL)
        .err()
        .expect("a refusal");
    assert_eq!(refused.verdict, Verdict::Error(-32601));
}

#[tokio::test]
async fn a_hub_is_told_on_any_thread() {
    let hub = Hub::default();
    let service = kit::subscribed(Limits::default(), hub.clone());
    let mut listening = listen(&service);
    assert_eq!(said(&mut listening).await, ACKNOWLEDGED);
    let (ready, waits) = std::sync::mpsc::channel::<()>();
    let publishing = std::thread::spawn(move || {
        waits.recv().expect("the test goes on");
        hub.publish(about("note://b"))
    });
    let hearing = tokio::spawn(async move { said(&mut listening).await });
    ready.send(()).expect("the thread waits");
    assert_eq!(soon(hearing).await.expect("no panic"), updated("note://b"));
    assert_eq!(publishing.join().expect("no panic").matched, 1);
}

#[tokio::test]
async fn a_thousand_listeners_hear_the_last_of_a_storm() {
    let hub = Hub::default();
    let service = kit::subscribed(Limits::default(), hub.clone());
    let mut listening: Vec<_> = (0..1000).map(|_| listen(&service)).collect();
    for one in &mut listening {
        said(one).await;
    }
    for number in 0..1000 {
        let mut metadata = Object::new();
        metadata.insert("n", Json::Int(number));
        hub.publish(Event::new(Change::ToolsList, metadata).expect("a good event"));
    }
    assert_eq!(hub.stats().queued, 100 * 1000);
    assert!(size_of::<Listening>() <= 256, "{}", size_of::<Listening>());
    for mut one in listening {
        let heard = all_said(&mut one);
        assert_eq!(heard.len(), 100);
        assert!(heard[0].contains(r#""n":900"#), "{}", heard[0]);
        assert!(heard[99].contains(r#""n":999"#), "{}", heard[99]);
    }
    assert_eq!(hub.stats().subscriptions, 0);
}

#[tokio::test]
async fn a_hub_that_completes_ends_its_listeners_when_they_have_heard_all() {
    let hub = Hub::default();
    let service = kit::subscribed(Limits::default(), hub.clone());
    let mut listening = begin(&service, Transport::Stdio, ALL).expect("a subscription");
    said(&mut listening).await;
    hub.publish(event(Change::ToolsList));
    hub.complete();
    hub.publish(about("note://a"));
    assert_eq!(
        all_said(&mut listening),
        [TOOLS_CHANGED, &format!("answer: {COMPLETED}")]
    );
}

#[tokio::test]
async fn beside_a_source_the_hub_tells_within_what_the_source_accepts() {
    let narrowed = |mut filter: Filter| {
        filter.resources_list_changed = false;
        Ok(filter)
    };
    let (source, give, log) = source(narrowed);
    let hub = Hub::default();
    let both = Beside {
        source: Arc::new(source),
        hub: hub.clone(),
    };
    let service = kit::subscribed(Limits::default(), both);
    let mut listening = listen(&service);
    said(&mut listening).await;
    hub.publish(event(Change::ResourcesList));
    hub.publish(event(Change::ToolsList));
    give.send(Ok(about("note://a"))).expect("it listens");
    assert_eq!(
        all_said(&mut listening),
        [TOOLS_CHANGED.to_owned(), updated("note://a")]
    );
    hub.publish(about("note://b"));
    listening.end();
    let rest = all_said(&mut listening);
    assert_eq!(rest, [updated("note://b"), format!("answer: {COMPLETED}")]);
    assert_eq!(hub.stats().subscriptions, 0);
    assert!(log.take().contains(&"closed: Shutdown".to_owned()));
}

#[tokio::test]
async fn whichever_of_a_source_and_its_hub_ends_first_ends_the_subscription() {
    for ends in ["source", "hub"] {
        let (source, give, log) = source(Ok);
        let hub = Hub::default();
        let both = Beside {
            source: Arc::new(source),
            hub: hub.clone(),
        };
        let service = kit::subscribed(Limits::default(), both);
        let mut listening = listen(&service);
        said(&mut listening).await;
        if ends == "hub" {
            hub.complete();
        } else {
            drop(give);
        }
        assert_eq!(said(&mut listening).await, COMPLETED, "{ends}");
        assert_eq!(log.take(), ["pulled", "closed: Complete"]);
    }
}
