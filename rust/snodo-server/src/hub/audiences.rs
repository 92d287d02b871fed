//! Who listens for what, and what waits for them. One lock is held around all of it, for one event.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use slab::Slab;
use snodo_core::subscription::{Change, Event, Filter, Own};

use super::{Overflow, Report};

/// Something that events are about, by its place in [`Audiences::topics`]: the first three are the lists.
type Topic = usize;

const TOOLS: Topic = 0;
const PROMPTS: Topic = 1;
const RESOURCES: Topic = 2;

pub(super) struct Audiences {
    pub(super) listeners: Slab<Listener>,
    pub(super) topics: Slab<Audience>,
    /// Those that somebody listens for, and what extensions have.
    pub(super) uris: HashMap<Arc<str>, Topic>,
    pub(super) dropped: u64,
}

/// Who listens for a topic.
#[derive(Default)]
pub(super) struct Audience {
    listeners: Vec<usize>,
    /// What the topic is, unless it is a list.
    uri: Option<Arc<str>>,
}

#[derive(Default)]
pub(super) struct Listener {
    pub(super) topics: Vec<Topic>,
    /// Handed over to a pull that waited, which has not been awake since.
    handed: Option<Item>,
    pub(super) queue: VecDeque<Item>,
    pub(super) waiting: Option<Waker>,
    pub(super) closing: bool,
}

type Item = (Topic, Arc<Event>);

impl Audiences {
    /// Of nobody yet.
    pub(super) fn new() -> Self {
        let lists = [TOOLS, PROMPTS, RESOURCES].map(|topic| (topic, Audience::default()));
        Self {
            listeners: Slab::new(),
            topics: lists.into_iter().collect(),
            uris: HashMap::new(),
            dropped: 0,
        }
    }

    pub(super) fn listen(&mut self, filter: &Filter) -> usize {
        let lists = [
            (TOOLS, filter.tools_list_changed),
            (PROMPTS, filter.prompts_list_changed),
            (RESOURCES, filter.resources_list_changed),
        ];
        let lists = lists.into_iter().filter(|(_, wanted)| *wanted);
        let mut topics: Vec<_> = lists.map(|(topic, _)| topic).collect();
        for uri in &filter.resource_subscriptions {
            topics.push(self.topic(uri));
        }
        let own = filter.extensions.iter();
        let mut own: Vec<_> = own
            .flat_map(|own| {
                own.selectors()
                    .map(|selector| own_key(&own.extension, selector))
            })
            .map(|key| self.topic(&key))
            .collect();
        own.sort_unstable();
        own.dedup(); // one may be named more than once
        topics.extend(own);
        let at = self.listeners.insert(Listener {
            topics: topics.clone(),
            ..Listener::default()
        });
        for topic in topics {
            self.topics[topic].listeners.push(at);
        }
        at
    }

    fn topic(&mut self, uri: &str) -> Topic {
        if let Some(topic) = self.uris.get(uri) {
            return *topic;
        }
        let uri: Arc<str> = uri.into();
        let topic = self.topics.insert(Audience {
            listeners: Vec::new(),
            uri: Some(uri.clone()),
        });
        self.uris.insert(uri, topic);
        topic
    }

    /// Lays an event where it is heard: with those who wait, who are to be woken, and in the queues of the
    /// others, which hold so many.
    pub(super) fn publish(
        &mut self,
        event: &Arc<Event>,
        max_buffer: usize,
        overflow: Overflow,
        awake: &mut Vec<Waker>,
    ) -> Report {
        let mut report = Report::default();
        let topic = match &event.change {
            Change::ToolsList => TOOLS,
            Change::PromptsList => PROMPTS,
            Change::ResourcesList => RESOURCES,
            Change::Resource(uri) => match self.uris.get(&**uri) {
                Some(topic) => *topic,
                None => return report,
            },
            Change::Extension(own) => {
                let Own {
                    extension,
                    selector,
                } = &**own;
                match self.uris.get(&*own_key(extension, selector)) {
                    Some(topic) => *topic,
                    None => return report,
                }
            }
        };
        for &at in &self.topics[topic].listeners {
            let listener = &mut self.listeners[at];
            report.matched += 1;
            if let Some(waker) = listener.waiting.take() {
                listener.handed = Some((topic, event.clone()));
                awake.push(waker);
                report.delivered += 1;
            } else if event.is_bare() && listener.is_told(topic) {
                report.buffered += 1;
            } else if listener.queue.len() < max_buffer {
                listener.queue.push_back((topic, event.clone()));
                report.buffered += 1;
            } else {
                report.dropped += 1;
                if overflow == Overflow::DropOldest {
                    listener.queue.pop_front();
                    listener.queue.push_back((topic, event.clone()));
                    report.buffered += 1;
                }
            }
        }
        self.dropped += report.dropped as u64;
        report
    }

    /// Lets a listener hear of nothing new. Gives who waits for it.
    pub(super) fn finish(&mut self, at: usize) -> Option<Waker> {
        let listener = &mut self.listeners[at];
        listener.closing = true;
        let waiting = listener.waiting.take();
        let topics = std::mem::take(&mut listener.topics);
        self.leave(at, &topics);
        waiting
    }

    pub(super) fn leave(&mut self, at: usize, topics: &[Topic]) {
        for &topic in topics {
            let audience = &mut self.topics[topic];
            audience.listeners.retain(|other| *other != at);
            if audience.listeners.is_empty()
                && let Some(uri) = audience.uri.take()
            {
                self.uris.remove(&uri);
                self.topics.remove(topic);
            }
        }
    }
}

/// What an extension has, where others have a URI; it is none, for it has spaces.
fn own_key(extension: &str, selector: &str) -> String {
    format!(" {extension} {selector}")
}

impl Listener {
    pub(super) fn pending(&self) -> usize {
        usize::from(self.handed.is_some()) + self.queue.len()
    }

    /// Whether an event waits that says nothing but that this changed.
    fn is_told(&self, topic: Topic) -> bool {
        let mut pending = self.handed.iter().chain(&self.queue);
        pending.any(|(other, event)| *other == topic && event.is_bare())
    }

    pub(super) fn take(&mut self) -> Option<Arc<Event>> {
        let next = self.handed.take().or_else(|| self.queue.pop_front());
        if self.queue.is_empty() && self.queue.capacity() > 8 {
            self.queue = VecDeque::new(); // what a burst needed is not kept by a quiet listener
        }
        next.map(|(_, event)| event)
    }
}
