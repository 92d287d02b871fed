//! The walk: prepare → call → finish, once, for every transport.

mod audible;
mod extended;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use snodo_core::call::{Call, Target};
use snodo_core::context::{Arrival, Transport};
use snodo_core::dialect::Dialect;
use snodo_core::envelope::Id;
use snodo_core::error::{Error, code};
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::peer::Peer;
use snodo_core::pipeline::{self, Answer, Change, Gist, Kind, Step, Verdict};
use snodo_core::runtime::Runtime;
use snodo_core::subscription::Listen;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::authenticate::Authenticate;
use crate::cancel::{CancelToken, Reason};
use crate::executor::{Busy, Executor, Load};
use crate::handler::{Handler, Place, Reply};
use crate::listening::Listening;
use crate::session::{Changes, Session, Sessions, asked};
use crate::source::{self, Source};
use crate::telemetry::{Arrived, Gauges, Span, Telemetry};
use crate::voice::{Conversation, Voice};

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

/// What became of a message before anything ran.
pub enum Prepared {
    /// Everything is known already.
    Answer(Answer),
    /// To be run.
    Work(Work),
    /// To be told of changes: goes to [`Service::listen`].
    Listen(Listener),
    /// The client no longer wants the answer to this request.
    Cancel(Id),
    /// A handshake: from now on the client is this one.
    Open {
        /// What to answer, once that is remembered.
        answer: Answer,
        /// Who it is.
        peer: Arc<Peer>,
    },
    /// To be changed in the client's session.
    Settle {
        /// The request's.
        id: Id,
        /// What to answer, once it is.
        answer: Answer,
        /// What.
        change: Change,
        /// What to answer instead if the session holds no more of it.
        refused: Answer,
    },
    /// The client answers a question of its session.
    Reply(pipeline::Reply),
    /// Accepted; nothing to say and nothing to do.
    Silence,
}

impl Prepared {
    /// It is answered with an error of this code, whatever it is.
    pub(crate) fn refused(self, code: i64) {
        match self {
            Self::Work(work) => work.refused(code),
            Self::Listen(listener) => listener.refused(code),
            _ => {}
        }
    }
}

/// A call, and the offer it was prepared from, which ends it too whatever replaces it meanwhile.
pub struct Work {
    offer: Arc<Offer>,
    call: Call,
    /// Whose client may be asked.
    session: Option<Arc<Session>>,
    /// Where it is run, if it is below a layer.
    place: Option<Arc<OwnedSemaphorePermit>>,
    /// If anybody watches.
    span: Option<Box<Span>>,
}

/// A request to listen, to be told of changes by [`Service::listen`].
pub struct Listener {
    request: Listen,
    /// If anybody watches.
    span: Option<Box<Span>>,
}

impl Listener {
    /// The request's id.
    pub fn id(&self) -> &Id {
        self.request.id()
    }

    fn answered(self, answer: Answer) -> Answer {
        if let Some(span) = self.span {
            span.answered(&answer);
        }
        answer
    }

    /// It is answered with an error of this code.
    pub fn refused(self, code: i64) {
        if let Some(span) = self.span {
            span.refused(code);
        }
    }
}

impl Work {
    /// The request's id.
    pub fn id(&self) -> &Id {
        &self.call.context.id
    }

    /// Whether the client wants to hear what is said before the answer; then it is to be told by
    /// [`Service::converse`].
    pub fn wants_notices(&self) -> bool {
        self.call.context.wants_notices()
    }

    /// The call is one of this session, which it may change, and whose client may be asked if the message
    /// says so. What it is asked comes with the conversation.
    #[must_use]
    pub fn within(mut self, session: Arc<Session>) -> Self {
        let concerned = self.call.context.asks() || self.call.target.settles();
        self.session = concerned.then_some(session);
        self
    }

    /// Whether its client may be asked; then it is to be told by [`Service::converse`].
    pub fn may_ask(&self) -> bool {
        self.session.is_some()
    }

    /// It is not run, but answered with an error of this code.
    pub fn refused(self, code: i64) {
        if let Some(span) = self.span {
            span.refused(code);
        }
    }

    /// The revision it is spoken in.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.call.context.dialect
    }
}

pub(crate) const TIMED_OUT: &str = "Request execution timed out";

/// How a call ended.
enum End {
    Outcome(Outcome),
    Refused(&'static str, Verdict),
    Cancelled,
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
            pipeline::Prepared::Call(_) | pipeline::Prepared::Listen(_) => Some(span()),
            pipeline::Prepared::Answer(answer)
            | pipeline::Prepared::Open { answer, .. }
            | pipeline::Prepared::Settle { answer, .. } => {
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

    /// Call and shape: runs a prepared call to its answer. `None` when the client cancelled it: then
    /// nothing may be sent. Dropping the future cancels the call.
    pub async fn run(&self, work: Work, cancel: CancelToken) -> Option<Answer> {
        match work.span {
            None => self.run_aloud(work, cancel, None).await,
            Some(_) => Box::pin(self.run_told(work, cancel, None)).await,
        }
    }

    /// Runs, and tells what came of it.
    async fn run_told(
        &self,
        mut work: Work,
        cancel: CancelToken,
        voice: Option<Voice>,
    ) -> Option<Answer> {
        let span = work.span.take();
        let answer = self.run_aloud(work, cancel, voice).await;
        if let (Some(span), Some(answer)) = (span, &answer) {
            span.answered(answer);
        }
        answer
    }

    /// As [`Self::run`], with what is said on the way.
    pub fn converse(self: Arc<Self>, work: Work, cancel: CancelToken) -> Conversation {
        let voice = Voice::new(work.call.context.clone());
        let heartbeat = work.offer.runtime.settings.heartbeat;
        let (spoken, asks) = (voice.clone(), work.may_ask());
        let running = Box::pin(async move { self.run_told(work, cancel, Some(spoken)).await });
        Conversation::new(voice, running, heartbeat).asking(asks)
    }

    async fn run_aloud(
        &self,
        work: Work,
        cancel: CancelToken,
        voice: Option<Voice>,
    ) -> Option<Answer> {
        let Work {
            offer,
            mut call,
            session,
            span: _,
            place,
        } = work;
        let _guard = StopOnDrop(&cancel);
        let mut arrived = Instant::now();
        loop {
            if matches!(call.target, Target::Layer(_)) {
                let work = Work {
                    offer,
                    call,
                    session,
                    place,
                    span: None, // whoever waits for this has it
                };
                return self.surround(work, &cancel, voice).await;
            }
            let context = call.context.clone();
            let target = call.target.clone();
            // A client that is asked does not send them again with its answer.
            let arguments = session.as_ref().map(|_| call.arguments.clone());
            let outcome = match self
                .call(
                    &offer,
                    call,
                    &cancel,
                    voice.as_ref(),
                    arrived,
                    place.clone(),
                )
                .await
            {
                End::Outcome(outcome) => outcome,
                End::Refused(message, verdict) => {
                    let name = offer.runtime.name(&target);
                    tracing::warn!("{} {name:?}: {message}", target.noun());
                    let error = Error::internal(message);
                    let verdict = context.dialect.verdict(verdict);
                    return Some(pipeline::refuse(Some(&context.id), &error, verdict));
                }
                End::Cancelled => return None,
            };
            let mut step = pipeline::proceed(&offer.runtime, &context, target.clone(), &outcome);
            if let Step::Ask(questions) = step {
                let asked = Instant::now();
                let (Some(session), Some(voice)) = (&session, &voice) else {
                    let error = Error::internal("There is no way here to ask the client");
                    return Some(self.refuse(Some(&context.id), &error));
                };
                let answers = if let Ok(_place) = self.asking.try_acquire() {
                    let patience = self.limits.answer_timeout;
                    let answers = asked::ask(session, voice, &questions, &cancel, patience);
                    Box::pin(answers).await?
                } else {
                    asked::refused(&questions)
                };
                // The client's time is not the call's.
                arrived += asked.elapsed();
                step = pipeline::answered(
                    &offer.runtime,
                    &context,
                    target.clone(),
                    arguments.unwrap_or_default(),
                    questions,
                    answers,
                );
            }
            match step {
                Step::Call(next) => call = next,
                Step::Answer(answer) => {
                    tell_of(&offer.runtime, &target, &outcome, &answer);
                    return Some(answer);
                }
                Step::Settle {
                    change,
                    answer,
                    refused,
                } => {
                    let done = match &session {
                        Some(session) => session.change(change).await,
                        None => true,
                    };
                    return Some(if done { answer } else { refused });
                }
                Step::Ask(_) | Step::Heed(_) => {
                    let error = Error::internal("Internal error");
                    return Some(self.refuse(Some(&context.id), &error));
                }
            }
        }
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

    async fn call(
        &self,
        offer: &Offer,
        call: Call,
        cancel: &CancelToken,
        voice: Option<&Voice>,
        arrived: Instant,
        shared: Option<Arc<OwnedSemaphorePermit>>,
    ) -> End {
        let limit = time_for(&offer.runtime, &call.target);
        // Over HTTP the caller's patience counts from the request; on a pipe it is the work that
        // is bounded, however long the queue.
        let by = matches!(call.context.arrival.transport, Transport::Http)
            .then(|| limit.map(|limit| arrived + limit))
            .flatten();
        let place = match shared {
            Some(shared) => Place::Shared(shared),
            None => Place::Own(match self.executor.try_admit() {
                Some(place) => place,
                None => match self.wait_for_place(by, cancel).await {
                    Ok(place) => place,
                    Err(end) => return end,
                },
            }),
        };
        if cancel.reason().is_some() {
            return End::Cancelled; // while it waited
        }
        let deadline = by.or_else(|| limit.map(|limit| Instant::now() + limit));
        let (reply, outcome) = Reply::new(cancel.clone(), voice.cloned(), Some(place));
        let target = call.target.clone();
        offer.call(call, reply);
        tokio::select! {
            biased;
            outcome = bounded(deadline, outcome) => match outcome {
                Some(outcome) if cancel.reason() != Some(Reason::Client) => {
                    End::Outcome(outcome.unwrap_or_else(|_| target.terminated().into()))
                }
                Some(_) => End::Cancelled,
                None => {
                    cancel.cancel(Reason::Deadline);
                    End::Refused(TIMED_OUT, Verdict::Late)
                }
            },
            _ = cancel.stopped(), if !cancel.is_lone() => End::Cancelled,
        }
    }

    async fn wait_for_place(
        &self,
        deadline: Option<Instant>,
        cancel: &CancelToken,
    ) -> Result<OwnedSemaphorePermit, End> {
        tokio::select! {
            biased;
            place = bounded(deadline, self.executor.admit()) => match place {
                Some(Ok(place)) => Ok(place),
                Some(Err(Busy)) => Err(End::Refused("Server execution capacity exhausted", Verdict::Busy)),
                None => Err(End::Refused(TIMED_OUT, Verdict::Late)),
            },
            _ = cancel.stopped() => Err(End::Cancelled),
        }
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

/// What was prepared from an offer, with what is told of it.
fn under(offer: Arc<Offer>, prepared: pipeline::Prepared, span: Option<Box<Span>>) -> Prepared {
    match prepared {
        pipeline::Prepared::Answer(answer) => Prepared::Answer(answer),
        pipeline::Prepared::Call(call) => Prepared::Work(Work {
            offer,
            call,
            session: None,
            place: None,
            span,
        }),
        pipeline::Prepared::Open { answer, peer } => Prepared::Open { answer, peer },
        pipeline::Prepared::Settle {
            id,
            answer,
            change,
            refused,
        } => Prepared::Settle {
            id,
            answer,
            change,
            refused,
        },
        pipeline::Prepared::Reply(reply) => Prepared::Reply(reply),
        pipeline::Prepared::Listen(request) => Prepared::Listen(Listener { request, span }),
        pipeline::Prepared::Cancel(id) => Prepared::Cancel(id),
        pipeline::Prepared::Silence => Prepared::Silence,
    }
}

/// An answer that withholds a handler's value is told to the author, who would look for it in vain.
fn tell_of(runtime: &Runtime, target: &Target, outcome: &Outcome, answer: &Answer) {
    let withheld = matches!(
        answer.verdict,
        Verdict::Error(code::INTERNAL_ERROR) | Verdict::Told(code::INTERNAL_ERROR)
    );
    let given = matches!(outcome.value, Value::Error(_) | Value::Decisions(_));
    if withheld && !given {
        let name = runtime.name(target);
        let noun = target.noun();
        let why = pipeline::explain_output(runtime, target, outcome);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        tracing::error!("{noun} {name:?} gave a result that cannot be sent{why}");
    }
}

fn time_for(runtime: &Runtime, target: &Target) -> Option<Duration> {
    let own = runtime
        .registry
        .timeout_ms(target)
        .map(Duration::from_millis);
    own.or(runtime.settings.limits.call_timeout)
}

/// The future's output, or `None` when the deadline comes first.
async fn bounded<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}

/// Tells the handler that nobody waits any more, when the future that waited is dropped.
struct StopOnDrop<'a>(&'a CancelToken);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        // After an answer this finds no hook and changes nothing that anybody looks at.
        self.0.cancel(Reason::Client);
    }
}
