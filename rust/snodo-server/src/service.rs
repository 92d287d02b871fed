//! The walk: prepare → call → finish, once, for every transport.

mod audible;
mod extended;
mod prepared;
mod running;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use snodo_core::call::Call;
use snodo_core::context::{Arrival, Transport};
use snodo_core::envelope::Id;
use snodo_core::error::{Error, code};
use snodo_core::limits::Limits;
use snodo_core::pipeline::{self, Answer, Gist, Kind, Verdict};
use snodo_core::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use prepared::under;
pub use prepared::{Listener, Prepared, Settling, Work};
pub(crate) use running::{Failure, TIMED_OUT};

use crate::authenticate::Authenticate;
use crate::executor::{Executor, Load};
use crate::handler::{Handler, Reply};
use crate::listening::Listening;
use crate::session::{Changes, Session, Sessions};
use crate::source::{self, Source};
use crate::telemetry::{Arrived, Gauges, Telemetry};

/// What is offered, and who runs it; replaced as a whole.
pub struct Offer {
    /// What is served.
    pub runtime: Arc<Runtime>,
    /// Runs every call: it knows its components by their place in the runtime's registry.
    pub handler: Arc<dyn Handler>,
}

impl Offer {
    fn call(&self, call: Call, reply: Reply) {
        // Unwinding drops the reply, which is an outcome too; nothing else is left to do here.
        let _ = catch_unwind(AssertUnwindSafe(|| self.handler.call(call, reply)));
    }
}

/// An offer with places to run its calls.
pub struct Service {
    offer: RwLock<Arc<Offer>>,
    limits: Limits,
    executor: Executor,
    source: Option<Arc<dyn Source>>,
    pub(crate) authenticator: Option<Arc<dyn Authenticate>>,
    /// Places for subscriptions: they have none among the calls.
    streams: Arc<Semaphore>,
    /// Places for calls that wait for their client's answers, which have none among those that run. A
    /// client may be gone without anybody knowing.
    asking: Semaphore,
    telemetry: Option<Arc<Telemetry>>,
    connections: AtomicUsize,
    sessions: Mutex<Vec<Weak<Sessions>>>,
}

impl Service {
    /// The bounds of `runtime` hold for the service's whole life.
    pub fn new(runtime: Arc<Runtime>, handler: Arc<dyn Handler>) -> Self {
        let limits = runtime.settings.limits.clone();
        let executor = Executor::new(limits.running, limits.queued);
        let offer = RwLock::new(Arc::new(Offer { runtime, handler }));
        let streams = limits.streams.min(Semaphore::MAX_PERMITS);
        let asking = Semaphore::new(limits.sessions.min(Semaphore::MAX_PERMITS));
        Self {
            offer,
            limits,
            executor,
            source: None,
            authenticator: None,
            streams: Arc::new(Semaphore::new(streams)),
            asking,
            telemetry: None,
            connections: AtomicUsize::new(0),
            sessions: Mutex::default(),
        }
    }

    /// Tells these of what happens.
    #[must_use]
    pub fn with_telemetry(mut self, telemetry: Arc<Telemetry>) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// Who is told of what happens.
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.telemetry.as_ref()
    }

    /// Tells listeners what this source has to tell. Its runtimes' settings have to say that there are
    /// subscriptions.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn Source>) -> Self {
        self.source = Some(source);
        self
    }

    /// Lets nobody in over HTTP of whom this does not know who it is.
    #[must_use]
    pub fn with_authenticator(mut self, authenticator: Arc<dyn Authenticate>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// What callers are held to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What is served just now.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.offer().runtime.clone()
    }

    /// Serves something else from the next request on. Calls under way end as they began.
    pub fn replace(&self, runtime: Arc<Runtime>, handler: Arc<dyn Handler>) {
        let offer = Arc::new(Offer { runtime, handler });
        let before = std::mem::replace(
            &mut *self.offer.write().unwrap_or_else(PoisonError::into_inner),
            offer,
        );
        drop(before); // after the lock: dropping handlers may run anything
    }

    /// How many calls run and wait.
    pub fn load(&self) -> Load {
        self.executor.load()
    }

    /// How much there is to do.
    pub fn gauges(&self) -> Gauges {
        let Load { running, queued } = self.load();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|sessions| sessions.strong_count() > 0);
        let alive = sessions.iter().filter_map(Weak::upgrade);
        Gauges {
            in_flight: self
                .telemetry
                .as_ref()
                .map_or(0, |telemetry| telemetry.in_flight()),
            running,
            queued,
            streams: self.subscriptions(),
            connections: self.connections.load(Relaxed),
            sessions: alive.map(|sessions| sessions.len()).sum(),
        }
    }

    /// Places of subscriptions that are taken.
    pub(crate) fn subscriptions(&self) -> usize {
        let places = self.limits.streams.min(Semaphore::MAX_PERMITS);
        places - self.streams.available_permits()
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn connected(&self) -> Connected<'_> {
        self.connections.fetch_add(1, Relaxed);
        Connected(&self.connections)
    }

    /// Counts these sessions too.
    pub(crate) fn keep_count_of(&self, sessions: &Arc<Sessions>) {
        let mut counted = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|sessions| sessions.strong_count() > 0);
        counted.push(Arc::downgrade(sessions));
    }

    /// Parse, admit, route, validate.
    pub fn prepare(&self, body: &[u8], arrival: Arrival) -> Prepared {
        let offer = self.offer();
        if let Some(telemetry) = &self.telemetry {
            return self.prepare_told(telemetry, offer, body, arrival);
        }
        // A panic is a bug of ours; it ends this request and not the connection's other ones.
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            pipeline::prepare(&offer.runtime, body, arrival)
        }));
        match prepared {
            Ok(prepared) => under(offer, prepared, None),
            Err(_) => Prepared::Answer(self.refuse(None, &Error::internal("Internal error"))),
        }
    }

    /// The same, while somebody watches.
    fn prepare_told(
        &self,
        telemetry: &Arc<Telemetry>,
        offer: Arc<Offer>,
        body: &[u8],
        mut arrival: Arrival,
    ) -> Prepared {
        let arrived = Arrived::now(telemetry);
        arrival.span = Some(arrived.span);
        let transport = arrival.transport;
        let mut gist = Gist::default();
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            pipeline::prepare_noting(&offer.runtime, body, arrival, Some(&mut gist))
        }));
        let is_response = gist.kind == Some(Kind::Response);
        let span = || Box::new(arrived.begin(telemetry, transport, gist));
        let Ok(prepared) = prepared else {
            span().broke();
            return Prepared::Answer(self.refuse(None, &Error::internal("Internal error")));
        };
        let span = match &prepared {
            pipeline::Prepared::Call(_)
            | pipeline::Prepared::Listen(_)
            | pipeline::Prepared::Settle { .. } => Some(span()),
            pipeline::Prepared::Answer(answer) | pipeline::Prepared::Open { answer, .. } => {
                span().answered(answer);
                None
            }
            pipeline::Prepared::Cancel(_)
            | pipeline::Prepared::Reply(_)
            | pipeline::Prepared::Silence => {
                if !is_response {
                    span().silent();
                }
                None
            }
        };
        under(offer, prepared, span)
    }

    /// The messages of a batch, where the revision in force has batches: each is to be prepared by
    /// itself, and the answers leave together.
    pub fn batch(&self, body: &[u8], arrival: &Arrival) -> Option<Vec<Vec<u8>>> {
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        let runtime = (first == Some(&b'[')).then(|| self.runtime())?;
        pipeline::batch(&runtime, body, arrival)
    }

    /// A place for one more stream, if there is one.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        self.streams.clone().try_acquire_owned().ok()
    }

    /// Begins to tell a session of changes, from then on the only stream of it that does. `None`:
    /// there is no place for it.
    pub fn changes(
        self: &Arc<Self>,
        session: &Arc<Session>,
        transport: Transport,
    ) -> Option<Changes> {
        let place = self.stream()?;
        let source = self.source.clone();
        Some(Changes::new(
            self.clone(),
            session.clone(),
            source,
            transport,
            place,
        ))
    }

    /// Begins to tell a listener. What is to be said, the first of it too, comes when the stream is
    /// polled, within a runtime with timers. An answer: there is no place for it.
    pub fn listen(self: &Arc<Self>, listener: Listener) -> Result<Listening, Answer> {
        let refuse = |listener: Listener, error, verdict| {
            let answer = pipeline::refuse(Some(listener.id()), &error, verdict);
            Err(listener.answered(answer))
        };
        let Some(source) = self.source.clone() else {
            let verdict = Verdict::Error(code::INTERNAL_ERROR);
            return refuse(listener, source::failed(), verdict);
        };
        let Ok(place) = self.streams.clone().try_acquire_owned() else {
            let error = Error::internal("Server subscription capacity exhausted");
            return refuse(listener, error, Verdict::Busy);
        };
        let Listener { request, span } = listener;
        Ok(Listening::new(self.clone(), source, request, place, span))
    }

    /// The answer to a listener where there is one answer to a message and no more.
    pub fn deaf(&self, listener: Listener) -> Answer {
        let error = Error::invalid_request("There is no stream here to tell of changes on");
        self.turn_down(listener, &error)
    }

    /// The answer to a listener that is not told anything.
    pub fn turn_down(&self, listener: Listener, error: &Error) -> Answer {
        let answer = self.refuse(Some(listener.id()), error);
        listener.answered(answer)
    }

    /// The answer to a message that could not even be framed: line too long, body too large.
    pub fn refuse(&self, id: Option<&Id>, error: &Error) -> Answer {
        pipeline::refuse(id, error, Verdict::Error(error.code))
    }

    fn offer(&self) -> Arc<Offer> {
        self.offer
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A connection, counted.
pub(crate) struct Connected<'a>(&'a AtomicUsize);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
