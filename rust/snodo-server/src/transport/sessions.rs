//! HTTP for clients that open with a handshake: sessions, their streams, and requests without one.
//!
//! MCP 2025-11-25, Streamable HTTP. A session is for what needs one (questions to the client, changes,
//! the log level); a client that does not send its id is served all the same.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use snodo_core::context::{Arrival, Transport};
use snodo_core::dialect::Dialect;
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::json::Json;
use snodo_core::peer::Peer;
use snodo_core::pipeline::{Answer, Reply, Verdict, refuse};

use crate::cancel::CancelToken;
use crate::service::{Prepared, Settling, Work};
use crate::session::replay::EventId;
use crate::session::{Key, Session};
use crate::transport::batches::joined;
use crate::transport::connection::Life;
use crate::transport::http::Endpoint;
use crate::transport::identity::arrival;
use crate::transport::kept::{Kept, Record, Standing};
use crate::transport::media;
use crate::transport::response::{Body, empty, json, refusal, respond};
use crate::transport::sse::{COMMENT, Events, First};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The answer to a client whose session is not there any more: it has to start again.
pub(super) fn gone() -> Response<Body> {
    refusal(
        StatusCode::NOT_FOUND,
        "Session not found: it has ended. Send initialize to begin a new one",
    )
}

/// Whose message it is.
pub(super) enum Caller {
    /// Nobody's in particular.
    Stateless,
    /// A session's.
    Session(Arc<Session>),
    /// That of a session that is not there, or not this caller's.
    Gone,
}

impl Caller {
    fn session(self) -> Option<Arc<Session>> {
        match self {
            Self::Session(session) => Some(session),
            Self::Stateless | Self::Gone => None,
        }
    }

    /// Changes the session, if there is one, and answers.
    pub(super) async fn change(self, settling: Settling) -> Answer {
        settling.within(self.session().as_deref()).await
    }

    pub(super) fn settle(self, reply: Reply) {
        if let Some(session) = self.session() {
            session.settle(reply);
        }
    }

    pub(super) fn cancel(self, id: &Id) {
        if let Some(session) = self.session() {
            session.cancel(id);
        }
    }
}

/// The answer to one of several messages, if there is one.
type Answering<'a> = Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>>;

impl Endpoint {
    /// Whose message it is, which is written on it. `can_ask`: its response can be a stream.
    pub(super) fn caller(
        &self,
        headers: &HeaderMap,
        arrival: &mut Arrival,
        can_ask: bool,
    ) -> Caller {
        if !self.has_sessions(headers) {
            return Caller::Stateless;
        }
        match self.named(headers, arrival) {
            Some((_, session)) => {
                session.sign(arrival, can_ask);
                Caller::Session(session)
            }
            None => Caller::Gone,
        }
    }

    /// The session that a request names, and its key.
    fn named(&self, headers: &HeaderMap, arrival: &Arrival) -> Option<(Key, Arc<Session>)> {
        let key = key(headers)?;
        let session = self.sessions.get(key, arrival.principal.as_ref())?;
        Some((key, session))
    }

    /// Which other worker has the session that a request names.
    pub(super) fn session_elsewhere(&self, headers: &HeaderMap, life: &Life) -> Option<u8> {
        self.fleet.as_ref()?;
        let key = key(headers).filter(|_| self.has_sessions(headers));
        self.elsewhere(key, life)
    }

    /// Whether a request names a session, in a revision that may have some. Others ignore the header.
    pub(super) fn has_sessions(&self, headers: &HeaderMap) -> bool {
        if !headers.contains_key(SESSION) {
            return false;
        }
        let version = headers.get(VERSION).map(HeaderValue::as_bytes);
        let runtime = self.service.runtime();
        let dialects = || runtime.settings.dialects.iter();
        let is_named = |dialect: &dyn Dialect| version == Some(dialect.version().as_bytes());
        dialects().any(|dialect| dialect.asks())
            && !dialects().any(|dialect| !dialect.asks() && is_named(*dialect))
    }

    /// The answer to a request without a message that names a revision which is not served.
    fn unheard_of(&self, headers: &HeaderMap) -> Option<Response<Body>> {
        let version = headers.get(VERSION)?.as_bytes();
        let runtime = self.service.runtime();
        let served = runtime
            .settings
            .versions()
            .any(|served| served.as_bytes() == version);
        (!served).then(|| refusal(StatusCode::BAD_REQUEST, "Unsupported MCP-Protocol-Version"))
    }

    /// Begins a session, and answers the client that has said who it is.
    pub(super) fn open(
        &self,
        answer: Answer,
        peer: Arc<Peer>,
        principal: Option<Json>,
    ) -> Response<Body> {
        let key = self.sessions.open(Session::new(peer, principal));
        let mut response = respond(answer);
        let key = HeaderValue::try_from(key.to_string()).expect("digits are legal in a header");
        response.headers_mut().insert(SESSION, key);
        response
    }

    /// Serves a request to its end, whether or not its client stays to hear the answer.
    pub(super) async fn converse(
        &self,
        work: Work,
        token: CancelToken,
        caller: Caller,
        takes_events: bool,
        life: &Arc<Life>,
    ) -> Response<Body> {
        let dialect = work.dialect();
        let (mut work, mut record, mut cancellable) = (work, None, None);
        if let Some(session) = caller.session() {
            cancellable = Some(session.begin(work.id().clone(), token.clone()));
            record = Some(self.record(session.clone()));
            work = work.within(session);
        }
        let speech = self.service.clone().converse(work, token);
        let kept = Kept::new(speech, cancellable, self.loose.clone());
        if !takes_events {
            return answered(kept.answer().await);
        }
        let primes = record.is_some() && dialect.primes();
        let quiet = self.limits().keep_alive_interval;
        match kept.first(record, primes, life, quiet).await {
            First::Answer(answer) => respond(answer),
            First::Stream(events) => events.respond(),
            First::Nothing => answered(None),
        }
    }

    /// Serves messages that came together.
    pub(super) async fn batched(
        &self,
        messages: Vec<Vec<u8>>,
        arrival: Arrival,
        caller: Caller,
    ) -> Response<Body> {
        if matches!(caller, Caller::Gone) {
            return gone();
        }
        match self.answers(messages, arrival, caller).await {
            Some(body) => json(StatusCode::OK, body),
            None => empty(StatusCode::ACCEPTED),
        }
    }

    /// Their answers, if there are any, as one.
    pub(super) async fn answers(
        &self,
        messages: Vec<Vec<u8>>,
        mut arrival: Arrival,
        caller: Caller,
    ) -> Option<Vec<u8>> {
        let session = caller.session();
        // One array says nothing before its end.
        arrival.can_ask = false;
        let mut answers = Vec::new();
        let mut running = FuturesUnordered::<Answering<'_>>::new();
        for message in messages {
            match self.service.prepare(&message, arrival.clone()) {
                Prepared::Answer(answer) | Prepared::Open { answer, .. } => {
                    answers.push(answer.body);
                }
                Prepared::Work(work) => {
                    let token = CancelToken::new();
                    let id = work.id().clone();
                    let cancellable = session.as_ref().map(|it| it.begin(id, token.clone()));
                    let work = match &session {
                        Some(session) => work.within(session.clone()),
                        None => work,
                    };
                    let speech = self.service.clone().converse(work, token);
                    let kept = Kept::new(speech, cancellable, self.loose.clone());
                    running.push(Box::pin(kept.answer()));
                }
                Prepared::Listen(listen) => answers.push(self.service.deaf(listen).body),
                Prepared::Settle(settling) => {
                    // Changes take hold in their order; what they wait for, they wait for together.
                    let changed = settling.within(session.as_deref());
                    running.push(Box::pin(async { Some(changed.await) }));
                }
                Prepared::Reply(reply) => {
                    if let Some(session) = &session {
                        session.settle(reply);
                    }
                }
                Prepared::Cancel(id) => {
                    if let Some(session) = &session {
                        session.cancel(&id);
                    }
                }
                Prepared::Silence => {}
            }
        }
        while let Some(answer) = running.next().await {
            answers.extend(answer.map(|answer| answer.body));
        }
        joined(&answers)
    }

    /// The stream of a session that belongs to no request, or the rest of one that a client lost.
    pub(super) async fn get(&self, head: &Parts, life: &Arc<Life>) -> Response<Body> {
        let arrival = arrival(&head.extensions);
        let headers = &head.headers;
        if !media::accepts_events(headers) {
            return refusal(
                StatusCode::NOT_ACCEPTABLE,
                "Accept must admit text/event-stream",
            );
        }
        if let Some(refusal) = self.unheard_of(headers) {
            return refusal;
        }
        let Some((_, session)) = self.named(headers, &arrival) else {
            return gone();
        };
        let after = match headers.get(LAST_EVENT).map(HeaderValue::as_bytes) {
            None => None,
            Some(id) => match EventId::read(id.trim_ascii()) {
                Some(id) => Some(id),
                None => return lost(),
            },
        };
        let (record, quiet) = (
            self.record(session.clone()),
            self.limits().keep_alive_interval,
        );
        let of_request = |after: &EventId| !session.replay().is_standing(after.stream);
        if let Some(after) = after.filter(of_request) {
            return match record.resume(after) {
                Some(again) => Events::new(again, Vec::new(), life, quiet).respond(),
                None => lost(),
            };
        }
        let Some(mut changes) = self.service.changes(&session, Transport::Http) else {
            let error = Error::internal("Server subscription capacity exhausted");
            return respond(refuse(None, &error, Verdict::Busy));
        };
        changes.opened().await;
        // Sent at once, so that the client knows that it is heard from here on.
        let frame = COMMENT.to_vec();
        let standing = record.standing();
        let script = Standing::new(changes, record, standing, after);
        Events::new(script, frame, life, quiet).respond()
    }

    /// Ends a session.
    pub(super) fn delete(&self, head: &Parts) -> Response<Body> {
        let arrival = arrival(&head.extensions);
        let headers = &head.headers;
        if let Some(refusal) = self.unheard_of(headers) {
            return refusal;
        }
        match self.named(headers, &arrival) {
            Some((key, _)) => {
                self.sessions.end(key);
                empty(StatusCode::NO_CONTENT)
            }
            None => gone(),
        }
    }

    fn record(&self, session: Arc<Session>) -> Record {
        Record::new(self.sessions.clone(), session, self.limits())
    }
}

/// The key in a request's header.
fn key(headers: &HeaderMap) -> Option<Key> {
    let mut values = headers.get_all(SESSION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    Key::read(value.as_bytes().trim_ascii())
}

fn answered(answer: Option<Answer>) -> Response<Body> {
    match answer {
        Some(answer) => respond(answer),
        None => empty(StatusCode::NO_CONTENT),
    }
}

fn lost() -> Response<Body> {
    refusal(
        StatusCode::BAD_REQUEST,
        "Last-Event-ID is of no stream that is kept: send the request again",
    )
}
