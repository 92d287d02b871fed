//! What a session hears of changes: of the lists, and of the resources it watches.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};

use futures_util::Stream;
use snodo_core::context::{Arrival, Transport};
use snodo_core::subscription::{Change, Event, Filter, Listen};
use tokio::sync::OwnedSemaphorePermit;

use crate::listening::open;
use crate::said::{Said, Speech};
use crate::service::Service;
use crate::session::{Session, Used, Watched};
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
    resources: HashMap<Arc<str>, Ear>,
    /// What has happened at a URI of which it is not known yet whether the client may hear.
    weighed: Option<Weighed>,
    over: bool,
    _place: OwnedSemaphorePermit,
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

    /// Listens for what is watched and for nothing else.
    fn follow(&mut self, watched: &[Watched]) {
        let same = watched.len() == self.resources.len()
            && watched
                .iter()
                .all(|it| self.resources.contains_key(&it.uri));
        if same {
            return;
        }
        let runtime = self.service.runtime();
        let mut before = std::mem::take(&mut self.resources);
        for Watched { uri, .. } in watched {
            let ear = before.remove(uri);
            let ear = ear.unwrap_or_else(|| self.ear(self.standing.watching(&runtime, uri)));
            self.resources.insert(uri.clone(), ear);
        }
        for ear in before.into_values() {
            ear.close(End::Cancelled);
        }
    }

    /// The next message, if there is one.
    fn poll_ears(&mut self, watched: &[Watched], task: &mut Task<'_>) -> Poll<Vec<u8>> {
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
                && watched.iter().any(|it| *it.uri == **uri && !it.vetted)
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
        let ears = std::iter::once(&mut self.lists).chain(self.resources.values_mut());
        for ear in ears {
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
        for (_, ear) in self.resources.drain() {
            ear.close(why);
        }
    }
}

impl Ear {
    /// The next event that is of interest. A source that fails is deaf from then on: the stream has
    /// more to tell than its events.
    fn poll(&mut self, task: &mut Task<'_>) -> Poll<Arc<Event>> {
        loop {
            match self {
                Self::Deaf => return Poll::Pending,
                Self::Opening(opening) => match opening.as_mut().poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(opened)) => *self = Self::Open(opened.feed, opened.accepted),
                    Poll::Ready(Err(_)) => *self = Self::Deaf,
                },
                Self::Open(feed, accepted) => match feed.poll_event(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(event))) if accepted.selects(&event) => {
                        return Poll::Ready(event);
                    }
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(Some(Err(_))) => {
                        std::mem::replace(self, Self::Deaf).close(End::Failed);
                    }
                    Poll::Ready(None) => {
                        std::mem::replace(self, Self::Deaf).close(End::Complete);
                    }
                },
            }
        }
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
        if this.over {
            return Poll::Ready(None);
        }
        let Some(watched) = this.session.watched(this.turn, task) else {
            this.close(End::Cancelled);
            return Poll::Ready(None);
        };
        this.follow(&watched);
        this.poll_ears(&watched, task)
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
        self.close(End::Cancelled);
    }
}
