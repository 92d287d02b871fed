//! A source of events that the application publishes: a bounded queue for every listener.
//!
//! It detects no change by itself. Publishing takes one short lock, never waits and needs no runtime.

mod audiences;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context as Task, Poll, Waker};

use snodo_core::context::Context;
use snodo_core::subscription::{Event, Filter};

use audiences::{Audiences, Listener};

use crate::source::{End, Failed, Feed, Opened, Opening, Source};
use crate::telemetry::{self, Event as Told, Published, Telemetry};

/// Events waiting for one listener, unless said otherwise.
pub const MAX_BUFFER: usize = 100;

/// What becomes of an event for which a listener's queue has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The event that has waited longest is lost.
    DropOldest,
    /// The event itself is lost.
    DropNewest,
}

/// What became of an event, in listeners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// It was of interest to.
    pub matched: usize,
    /// That waited for one and got it.
    pub delivered: usize,
    /// In whose queue it is, or one that says the same is already.
    pub buffered: usize,
    /// That lost an event: this one, or their oldest.
    pub dropped: usize,
}

/// How a hub fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Listeners, those included that are closing.
    pub subscriptions: usize,
    /// Listeners that hear of no new event, but still of what waits for them.
    pub closing: usize,
    /// Events that wait, for all listeners together.
    pub queued: usize,
    /// Events lost since the hub was made.
    pub dropped: u64,
    /// Events that may wait for one listener.
    pub max_buffer: usize,
    /// What becomes of more.
    pub overflow: Overflow,
}

/// Hands events to whoever listens for them. Its clones are the same hub.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    max_buffer: usize,
    overflow: Overflow,
    relay: OnceLock<Relay>,
    audiences: Mutex<Audiences>,
    /// Who is told of what is published: those of each server that listens.
    watched: OnceLock<Mutex<Vec<Weak<Telemetry>>>>,
}

/// Tells other processes, without waiting for anything.
type Relay = Box<dyn Fn(Word) + Send + Sync>;

/// What happens to a hub, for the hubs of other processes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    /// Something was published.
    Event(Arc<Event>),
    /// Every listener ends.
    Complete,
}

impl Hub {
    /// A hub without listeners. Of `max_buffer` at least one is kept.
    pub fn new(max_buffer: usize, overflow: Overflow) -> Self {
        Self {
            shared: Arc::new(Shared {
                max_buffer: max_buffer.max(1),
                overflow,
                relay: OnceLock::new(),
                audiences: Mutex::new(Audiences::new()),
                watched: OnceLock::new(),
            }),
        }
    }

    /// Tells everybody who listens for it. The report is of this process.
    pub fn publish(&self, event: Event) -> Report {
        let event = Arc::new(event);
        if let Some(relay) = self.shared.relay.get() {
            relay(Word::Event(event.clone()));
        }
        self.tell(&event)
    }

    /// Does here what has been done in another process.
    pub(crate) fn hear(&self, word: &Word) {
        match word {
            Word::Event(event) => {
                self.tell(event);
            }
            Word::Complete => self.finish_all(),
        }
    }

    /// From now on other processes hear of what happens here. There is one such way at most.
    pub(crate) fn relay_to(&self, relay: impl Fn(Word) + Send + Sync + 'static) {
        let _ = self.shared.relay.set(Box::new(relay));
    }

    fn tell(&self, event: &Arc<Event>) -> Report {
        let mut awake = Vec::new();
        let (most, overflow) = (self.shared.max_buffer, self.shared.overflow);
        let mut audiences = self.shared.audiences();
        let report = audiences.publish(event, most, overflow, &mut awake);
        drop(audiences);
        awake.into_iter().for_each(Waker::wake);
        if let Some(watched) = self.shared.watched.get() {
            let published = Published {
                kind: telemetry::kind_of(&event.change),
                extension: telemetry::extension_of(&event.change),
                report,
                queued: self.stats().queued,
                overflow: self.shared.overflow,
            };
            notify(watched, &Told::Published(&published));
        }
        report
    }

    /// Tells these of what is published, as long as they are there.
    pub fn watch(&self, telemetry: &Arc<Telemetry>) {
        let watched = self.shared.watched.get_or_init(Mutex::default);
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|telemetry| telemetry.strong_count() > 0);
        watched.push(Arc::downgrade(telemetry));
    }

    /// Ends every listener there is when it has heard what waits for it.
    pub fn complete(&self) {
        if let Some(relay) = self.shared.relay.get() {
            relay(Word::Complete);
        }
        self.finish_all();
    }

    fn finish_all(&self) {
        let watched = self.shared.watched.get();
        let before = watched.map(|_| self.stats());
        let mut audiences = self.shared.audiences();
        let all: Vec<_> = audiences.listeners.iter().map(|(at, _)| at).collect();
        let awake: Vec<_> = all
            .into_iter()
            .filter_map(|at| audiences.finish(at))
            .collect();
        drop(audiences);
        awake.into_iter().for_each(Waker::wake);
        if let (Some(watched), Some(before)) = (watched, before) {
            let told = Told::Completed {
                subscriptions: before.subscriptions - before.closing,
                queued: before.queued,
            };
            notify(watched, &told);
        }
    }

    /// How it fares.
    pub fn stats(&self) -> Stats {
        let audiences = self.shared.audiences();
        let listeners = || audiences.listeners.iter().map(|(_, listener)| listener);
        Stats {
            subscriptions: audiences.listeners.len(),
            closing: listeners().filter(|listener| listener.closing).count(),
            queued: listeners().map(Listener::pending).sum(),
            dropped: audiences.dropped,
            max_buffer: self.shared.max_buffer,
            overflow: self.shared.overflow,
        }
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new(MAX_BUFFER, Overflow::DropOldest)
    }
}

impl Hub {
    /// What a new listener will hear.
    pub(crate) fn feed(&self, filter: &Filter) -> Box<dyn Feed> {
        let at = self.shared.audiences().listen(filter);
        Box::new(HubFeed {
            shared: self.shared.clone(),
            at,
        })
    }
}

impl Source for Hub {
    fn open(&self, filter: Filter, _: Arc<Context>) -> Opening {
        let feed = self.feed(&filter);
        let accepted = filter;
        Box::pin(std::future::ready(Ok(Opened { accepted, feed })))
    }
}

impl Shared {
    fn audiences(&self) -> MutexGuard<'_, Audiences> {
        self.audiences
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn notify(watched: &Mutex<Vec<Weak<Telemetry>>>, told: &Told<'_>) {
    let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    let alive: Vec<_> = watched.iter().filter_map(Weak::upgrade).collect();
    drop(watched);
    for telemetry in alive {
        telemetry.tell(told);
    }
}

/// A listener's place in a hub.
struct HubFeed {
    shared: Arc<Shared>,
    at: usize,
}

impl Feed for HubFeed {
    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Arc<Event>, Failed>>> {
        let mut audiences = self.shared.audiences();
        let listener = &mut audiences.listeners[self.at];
        if let Some(event) = listener.take() {
            return Poll::Ready(Some(Ok(event)));
        }
        if listener.closing {
            return Poll::Ready(None);
        }
        let before = listener.waiting.replace(task.waker().clone());
        drop(audiences);
        drop(before); // after the lock: dropping a waker may run anything
        Poll::Pending
    }

    fn finish(&mut self) {
        // Nobody waits: whoever asks for this is who would.
        self.shared.audiences().finish(self.at);
    }

    fn close(self: Box<Self>, _: End) {}
}

impl Drop for HubFeed {
    fn drop(&mut self) {
        let mut audiences = self.shared.audiences();
        let listener = audiences.listeners.remove(self.at);
        audiences.leave(self.at, &listener.topics);
        drop(audiences);
        drop(listener); // after the lock, for its waker
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use snodo_core::json::{Json, Object};
    use snodo_core::subscription::Change;

    use super::*;

    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A listener whose transport is the test.
    struct Ear {
        feed: HubFeed,
        bell: Arc<Bell>,
    }

    impl Ear {
        fn new(hub: &Hub, filter: &Filter) -> Self {
            let at = hub.shared.audiences().listen(filter);
            Self {
                feed: HubFeed {
                    shared: hub.shared.clone(),
                    at,
                },
                bell: Arc::default(),
            }
        }

        fn poll(&mut self) -> Poll<Option<Arc<Event>>> {
            let waker = Waker::from(self.bell.clone());
            let event = self.feed.poll_event(&mut Task::from_waker(&waker));
            event.map(|event| event.map(|event| event.expect("a hub does not fail")))
        }

        /// What is heard without waiting.
        fn heard(&mut self) -> Vec<Change> {
            let mut heard = Vec::new();
            while let Poll::Ready(Some(event)) = self.poll() {
                heard.push(event.change.clone());
            }
            heard
        }

        fn rung(&self) -> usize {
            self.bell.0.load(Ordering::Relaxed)
        }
    }

    fn tools() -> Filter {
        Filter {
            tools_list_changed: true,
            ..Filter::default()
        }
    }

    fn uris(uris: &[&str]) -> Filter {
        Filter {
            resource_subscriptions: uris.iter().map(|uri| (*uri).to_owned()).collect(),
            ..Filter::default()
        }
    }

    fn event(change: Change) -> Event {
        Event::new(change, Object::new()).expect("a good event")
    }

    fn resource(uri: &str) -> Change {
        Change::Resource(uri.to_owned())
    }

    /// One that does not say the same as any other.
    fn numbered(number: i64) -> Event {
        let mut metadata = Object::new();
        metadata.insert("n", Json::Int(number));
        Event::new(Change::ToolsList, metadata).expect("a good event")
    }

    fn numbers(ear: &mut Ear) -> Vec<i64> {
        let mut heard = Vec::new();
        while let Poll::Ready(Some(event)) = ear.poll() {
            match event.metadata.get("n") {
                Some(Json::Int(number)) => heard.push(*number),
                other => panic!("no number: {other:?}"),
            }
        }
        heard
    }

    const fn report(parts: [usize; 4]) -> Report {
        let [matched, delivered, buffered, dropped] = parts;
        Report {
            matched,
            delivered,
            buffered,
            dropped,
        }
    }

    #[test]
    fn an_event_reaches_those_who_listen_for_it_and_nobody_else() {
        let hub = Hub::default();
        let mut list = Ear::new(&hub, &tools());
        let mut one = Ear::new(&hub, &uris(&["x://1"]));
        let mut both = Ear::new(&hub, &uris(&["x://1", "x://2"]));
        assert_eq!(hub.publish(event(Change::ToolsList)).matched, 1);
        assert_eq!(hub.publish(event(Change::PromptsList)).matched, 0);
        assert_eq!(hub.publish(event(resource("x://1"))).matched, 2);
        assert_eq!(hub.publish(event(resource("x://2"))).matched, 1);
        assert_eq!(hub.publish(event(resource("x://3"))).matched, 0);
        assert_eq!(list.heard(), [Change::ToolsList]);
        assert_eq!(one.heard(), [resource("x://1")]);
        assert_eq!(both.heard(), [resource("x://1"), resource("x://2")]);
    }

    #[test]
    fn an_event_goes_to_whoever_waits_or_into_the_queue() {
        let hub = Hub::new(1, Overflow::DropOldest);
        let mut ear = Ear::new(&hub, &tools());
        assert!(ear.poll().is_pending());
        assert_eq!(hub.publish(numbered(1)), report([1, 1, 0, 0]));
        assert_eq!(ear.rung(), 1);
        assert_eq!(hub.publish(numbered(2)), report([1, 0, 1, 0]));
        assert_eq!(ear.rung(), 1, "it is awake already");
        assert_eq!(hub.stats().queued, 2);
        assert_eq!(numbers(&mut ear), [1, 2]);
    }

    #[test]
    fn the_oldest_is_dropped_or_the_newest() {
        for (overflow, dropping, kept) in [
            (Overflow::DropOldest, report([1, 0, 1, 1]), [3, 4]),
            (Overflow::DropNewest, report([1, 0, 0, 1]), [1, 2]),
        ] {
            let hub = Hub::new(2, overflow);
            let mut ear = Ear::new(&hub, &tools());
            let reports: Vec<_> = (1..=4)
                .map(|number| hub.publish(numbered(number)))
                .collect();
            assert_eq!(reports[..2], [report([1, 0, 1, 0]); 2]);
            assert_eq!(reports[2..], [dropping; 2]);
            assert_eq!(hub.stats().dropped, 2);
            assert_eq!(numbers(&mut ear), kept);
        }
    }

    #[test]
    fn what_waits_already_is_not_told_twice() {
        let hub = Hub::new(2, Overflow::DropOldest);
        let filter = Filter {
            tools_list_changed: true,
            ..uris(&["x://1"])
        };
        let mut ear = Ear::new(&hub, &filter);
        for _ in 0..1000 {
            assert_eq!(hub.publish(event(Change::ToolsList)), report([1, 0, 1, 0]));
            assert_eq!(hub.publish(event(resource("x://1"))), report([1, 0, 1, 0]));
        }
        assert_eq!(hub.stats().queued, 2);
        assert_eq!(ear.heard(), [Change::ToolsList, resource("x://1")]);
        hub.publish(event(Change::ToolsList));
        assert_eq!(ear.heard(), [Change::ToolsList], "it was taken meanwhile");
    }

    #[test]
    fn what_says_more_is_told_too() {
        let hub = Hub::default();
        let mut ear = Ear::new(&hub, &tools());
        hub.publish(numbered(1));
        hub.publish(numbered(1));
        assert_eq!(numbers(&mut ear), [1, 1]);
    }

    #[test]
    fn completing_lets_everybody_hear_what_waits() {
        let hub = Hub::default();
        let mut busy = Ear::new(&hub, &tools());
        hub.publish(event(Change::ToolsList));
        let mut idle = Ear::new(&hub, &tools());
        assert!(idle.poll().is_pending());
        hub.complete();
        assert_eq!(idle.rung(), 1);
        let stats = hub.stats();
        assert_eq!(
            (stats.subscriptions, stats.closing, stats.queued),
            (2, 2, 1)
        );
        assert_eq!(hub.publish(numbered(1)), Report::default());
        assert_eq!(busy.heard(), [Change::ToolsList]);
        assert_eq!(busy.poll(), Poll::Ready(None));
        assert_eq!(idle.poll(), Poll::Ready(None));
        let mut next = Ear::new(&hub, &tools());
        assert_eq!(hub.publish(event(Change::ToolsList)).matched, 1);
        assert_eq!(next.heard(), [Change::ToolsList]);
    }

    #[test]
    fn nothing_is_left_of_who_is_gone() {
        let hub = Hub::default();
        let filter = Filter {
            tools_list_changed: true,
            ..uris(&["x://1", "x://2"])
        };
        let ears: Vec<_> = (0..10).map(|_| Ear::new(&hub, &filter)).collect();
        let mut other = Ear::new(&hub, &uris(&["x://2", "x://3"]));
        hub.publish(event(resource("x://1")));
        drop(ears);
        assert_eq!(hub.publish(event(resource("x://1"))).matched, 0);
        assert_eq!(hub.publish(event(Change::ToolsList)).matched, 0);
        assert_eq!(hub.publish(event(resource("x://2"))).matched, 1);
        let audiences = hub.shared.audiences();
        assert_eq!((audiences.uris.len(), audiences.topics.len()), (2, 5));
        drop(audiences);
        // A place in the table is used again for another URI.
        let mut again = Ear::new(&hub, &uris(&["x://4"]));
        hub.publish(event(resource("x://4")));
        assert_eq!(again.heard(), [resource("x://4")]);
        assert_eq!(other.heard(), [resource("x://2")]);
    }

    #[test]
    fn a_quiet_listener_keeps_no_room_for_a_burst() {
        let hub = Hub::default();
        let mut ear = Ear::new(&hub, &tools());
        for number in 0..100 {
            hub.publish(numbered(number));
        }
        assert_eq!(numbers(&mut ear).len(), 100);
        let capacity = hub.shared.audiences().listeners[ear.feed.at]
            .queue
            .capacity();
        assert!(capacity <= 8, "{capacity}");
        assert!(size_of::<Listener>() + size_of::<HubFeed>() <= 256);
    }
}
