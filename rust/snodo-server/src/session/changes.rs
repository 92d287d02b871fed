//! What a session hears of changes: of the lists, and of the resources it watches.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};

use futures_util::Stream;
use snodo_core::context::{Arrival, Transport};
use snodo_core::subscription::{Change, Event, Filter, Listen};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::listening::open;
use crate::said::{Said, Speech};
use crate::service::Service;
use crate::session::{FOLLOWING, Heard, Session, Used, Watched};
use crate::source::{End, Feed, Opening, Source};

/// The notifications for one session, as long as it is the newest such stream of it and the session
/// lasts. Feeds are open only while it is.
///
/// Each watched resource has a feed of its own, so that none is lost or told twice when what is
/// watched changes.
pub struct Changes {
    service: Arc<Service>,
    session: Arc<Session>,
    turn: u64,
    /// `None` where there is nothing to hear.
    source: Option<Arc<dyn Source>>,
    standing: Listen,
    lists: Ear,
    resources: HashMap<Arc<str>, Resource>,
    /// The change of what is watched that this is as of.
    as_of: u64,
    /// Whether some may not be open yet.
    opening: bool,
    /// What has happened at a URI of which it is not known yet whether the client may hear.
    weighed: Option<Weighed>,
    over: bool,
    _place: OwnedSemaphorePermit,
}

/// A resource that is watched.
struct Resource {
    ear: Ear,
    /// Whether nobody is to be asked again before it is heard.
    vetted: bool,
    /// The change with which the client said last that it watches it.
    as_of: u64,
}

enum Ear {
    Opening(Opening),
    Open(Box<dyn Feed>, Filter),
    Deaf,
}

type Weighed = Pin<Box<dyn Future<Output = Option<Arc<Event>>> + Send>>;

/// Events in a row before others have their turn.
const ROW: usize = 64;

impl Changes {
    pub(crate) fn new(
        service: Arc<Service>,
        session: Arc<Session>,
        source: Option<Arc<dyn Source>>,
        transport: Transport,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let mut arrival = Arrival::new(transport);
        arrival.principal.clone_from(&session.principal);
        let runtime = service.runtime();
        let standing = Listen::standing(&runtime, session.peer(), arrival);
        let turn = session.listen();
        let mut changes = Self {
            service,
            session,
            turn,
            source,
            standing,
            lists: Ear::Deaf,
            resources: HashMap::new(),
            as_of: 0,
            opening: true,
            weighed: None,
            over: false,
            _place: place,
        };
        changes.lists = changes.ear(changes.standing.filter.clone());
        changes
    }

    fn ear(&self, filter: Filter) -> Ear {
        match &self.source {
            Some(source) if filter != Filter::default() => Ear::Opening(Box::pin(open(
                source.clone(),
                filter,
                self.standing.context.clone(),
                self.service.limits().call_timeout,
            ))),
            _ => Ear::Deaf,
        }
    }

    /// Waits until all is heard that there is to hear, so that nothing is lost that happens after the
    /// client learns of its stream. Not for long: a source of the application may be slow.
    pub(crate) async fn opened(&mut self) {
        let _ = timeout(FOLLOWING, poll_fn(|task| self.poll_open(task))).await;
    }

    /// Listens for what is watched and for nothing else. Ready when all of it is open, or when it is
    /// over.
    fn poll_open(&mut self, task: &mut Task<'_>) -> Poll<()> {
        if self.over {
            return Poll::Ready(());
        }
        match self.session.watched(self.turn, self.as_of, task) {
            Some(Heard::Same) => {}
            Some(Heard::Changed(as_of, watched)) => {
                self.follow(watched);
                (self.as_of, self.opening) = (as_of, true);
            }
            None => {
                self.close(End::Cancelled);
                return Poll::Ready(());
            }
        }
        if self.opening {
            let opened = self.ears().map(|ear| ear.poll_open(task));
            if opened.filter(Poll::is_pending).count() > 0 {
                return Poll::Pending;
            }
            self.opening = false;
            self.session.follow(self.turn, Some(self.as_of));
        }
        Poll::Ready(())
    }

    fn follow(&mut self, watched: Vec<Watched>) {
        let runtime = self.service.runtime();
        let mut before = std::mem::take(&mut self.resources);
        for Watched { uri, vetted, as_of } in watched {
            // One that has failed or ended is opened anew for a client that asks for it again.
            let stays = |it: &Resource| it.as_of == as_of || !matches!(it.ear, Ear::Deaf);
            let ear = match before.remove(&uri).filter(stays) {
                Some(resource) => resource.ear,
                None => self.ear(self.standing.watching(&runtime, &uri)),
            };
            self.resources.insert(uri, Resource { ear, vetted, as_of });
        }
        for resource in before.into_values() {
            resource.ear.close(End::Cancelled);
        }
    }

    fn ears(&mut self) -> impl Iterator<Item = &mut Ear> {
        let resources = self.resources.values_mut();
        std::iter::once(&mut self.lists).chain(resources.map(|resource| &mut resource.ear))
    }

    /// The next message, if there is one.
    fn poll_ears(&mut self, task: &mut Task<'_>) -> Poll<Vec<u8>> {
        let dialect = self.session.peer().dialect;
        for _ in 0..ROW {
            let event = match &mut self.weighed {
                None => ready!(self.poll_event(task)),
                Some(weighed) => {
                    let event = ready!(weighed.as_mut().poll(task));
                    self.weighed = None;
                    let Some(event) = event else { continue };
                    if let Some(message) = dialect.changed(&event) {
                        return Poll::Ready(message);
                    }
                    continue;
                }
            };
            if let Change::Resource(uri) = &event.change
                && self.resources.get(&**uri).is_some_and(|it| !it.vetted)
            {
                self.weighed = Some(self.weigh(uri.clone(), event));
            } else if let Some(message) = dialect.changed(&event) {
                return Poll::Ready(message);
            }
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Arc<Event>> {
        for ear in self.ears() {
            if let Poll::Ready(event) = ear.poll(task) {
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }

    /// Gives the event if the client may hear of it.
    fn weigh(&self, uri: String, event: Arc<Event>) -> Weighed {
        let (service, context) = (self.service.clone(), self.standing.context.clone());
        Box::pin(async move { service.may_hear(uri, &context).await.then_some(event) })
    }

    fn close(&mut self, why: End) {
        self.over = true;
        std::mem::replace(&mut self.lists, Ear::Deaf).close(why);
        for (_, resource) in self.resources.drain() {
            resource.ear.close(why);
        }
    }
}

impl Ear {
    /// Ready when it is open. A source that fails is deaf from then on: the stream has more to tell
    /// than its events.
    fn poll_open(&mut self, task: &mut Task<'_>) -> Poll<()> {
        if let Self::Opening(opening) = self {
            *self = match ready!(opening.as_mut().poll(task)) {
                Ok(opened) => Self::Open(opened.feed, opened.accepted),
                Err(_) => Self::Deaf,
            };
        }
        Poll::Ready(())
    }

    /// The next event that is of interest.
    fn poll(&mut self, task: &mut Task<'_>) -> Poll<Arc<Event>> {
        ready!(self.poll_open(task));
        while let Self::Open(feed, accepted) = self {
            match ready!(feed.poll_event(task)) {
                Some(Ok(event)) if accepted.selects(&event) => return Poll::Ready(event),
                Some(Ok(_)) => {}
                Some(Err(_)) => std::mem::replace(self, Self::Deaf).close(End::Failed),
                None => std::mem::replace(self, Self::Deaf).close(End::Complete),
            }
        }
        Poll::Pending
    }

    fn close(self, why: End) {
        if let Self::Open(feed, _) = self {
            feed.close(why);
        }
    }
}

impl Stream for Changes {
    type Item = Said;

    fn poll_next(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Said>> {
        let this = self.get_mut();
        // What is open already is heard meanwhile.
        let _ = this.poll_open(task);
        if this.over {
            return Poll::Ready(None);
        }
        this.poll_ears(task)
            .map(|message| Some(Said::Notice(message)))
    }
}

impl Speech for Changes {
    /// Nothing is completed: the client hears nothing more.
    fn end(&mut self) {
        self.close(End::Shutdown);
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.session.last_use().touch();
        self.session.follow(self.turn, None);
        self.close(End::Cancelled);
    }
}
