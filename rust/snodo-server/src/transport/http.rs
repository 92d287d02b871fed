//! Streamable HTTP: one endpoint that takes `POST`.
//!
//! The order of refusals is method, `Host` and `Origin`, who it is, media types, size, time; whatever needs the
//! message itself to be read is the core's. Every refusal is a JSON-RPC error without id.

use std::sync::Arc;

use axum::Router;
use axum::body::Body as Stream;
use axum::routing::get;
use bytes::Bytes;
use http::header::{ACCEPT, EXPECT};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::service::TowerToHyperService;
use snodo_core::error::code;
use snodo_core::limits::Limits;

use crate::cancel::CancelToken;
use crate::fleet::Fleet;
use crate::fleet::words::WORDS;
use crate::said::Speech;
use crate::service::{Prepared, Service};
use crate::session::Sessions;
use crate::telemetry::Event;
use crate::transport::body::{self, Incoming, Incomplete};
use crate::transport::connection::{LastWords, Life};
use crate::transport::headers::HttpHeaders;
use crate::transport::hosted::Outside;
use crate::transport::identity::{arrival, principal};
use crate::transport::loose::Loose;
use crate::transport::mailbox::{MESSAGES, Mailboxes, STREAM};
use crate::transport::origin::Gate;
use crate::transport::response::{
    Body, Refused, empty, end_connection, incomplete, json, last_words, malformed, not_allowed,
    refusal, respond,
};
use crate::transport::scopes::{Scope, Scoped, Scopes};
use crate::transport::scrape::METRICS;
use crate::transport::sessions::{Caller, gone};
use crate::transport::sse::{self, First};
use crate::transport::vouched::Vouched;
use crate::transport::{cors, media};

/// Where a process says that it lives.
pub(super) const HEALTH: &str = "/healthz";

/// What is served under an address.
pub(crate) struct Endpoint {
    pub(super) service: Arc<Service>,
    pub(super) sessions: Arc<Sessions>,
    /// Calls of clients that are not there any more.
    pub(crate) loose: Arc<Loose>,
    mailboxes: Option<Arc<Mailboxes>>,
    /// Without a slash at its end.
    path: String,
    pub(super) gate: Gate,
    pub(super) scopes: Arc<Scopes>,
    beside: TowerToHyperService<Router>,
    last_words: LastWords,
    /// The processes that serve together with this one.
    pub(crate) fleet: Option<Arc<Fleet>>,
}

impl Endpoint {
    /// `legacy_sse`: HTTP+SSE of 2024-11-05 is served too.
    pub(crate) fn new(
        service: Arc<Service>,
        path: &str,
        gate: Gate,
        legacy_sse: bool,
        fleet: Option<Arc<Fleet>>,
    ) -> Self {
        let limits = service.limits();
        let worker = fleet.as_ref().map(|fleet| fleet.member.index);
        let beside = Router::new()
            .route(HEALTH, get(async || ()))
            // Reached only while requests are taken: at shutdown connections close.
            .route("/readyz", get(async || ()))
            .fallback(async || {
                let response = refusal(
                    StatusCode::NOT_FOUND,
                    "There is no MCP endpoint at this path",
                );
                response.map(Stream::new)
            });
        let sessions = Arc::new(Sessions::new(limits, worker));
        service.keep_count_of(&sessions);
        Self {
            sessions,
            loose: Arc::new(Loose::new()),
            mailboxes: legacy_sse.then(|| Arc::new(Mailboxes::new(limits, worker))),
            service,
            path: path.trim_end_matches('/').to_owned(),
            gate,
            scopes: Arc::default(),
            beside: TowerToHyperService::new(beside),
            last_words: last_words(),
            fleet,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.service.limits()
    }

    pub(crate) fn last_words(&self) -> &LastWords {
        &self.last_words
    }

    /// One request, to its response. Dropping the future cancels what it runs.
    pub(crate) async fn serve<B: Incoming>(
        &self,
        request: Request<B>,
        life: &Arc<Life>,
    ) -> Response<Body> {
        let (heard, _request) = life.begin();
        let path = request.uri().path();
        if life.is_from_worker() && path == WORDS {
            return Box::pin(self.hear(request.into_body(), life)).await;
        }
        let is_mail = self.mailboxes.is_some() && (path == STREAM || path == MESSAGES);
        if path != self.path && path.strip_suffix('/') != Some(&self.path) && !is_mail {
            return self.told(self.beside(request, life).await, life);
        }
        let (mut parts, mut body) = request.into_parts();
        if life.is_from_worker() {
            Vouched::unpack(&mut parts);
        }
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        let gate = match parts.extensions.get::<Outside>() {
            None => self.gate.admit(&parts.headers, authority),
            Some(_) => self.gate.admit_outside(&parts.headers),
        };
        let (origin, gate) = (gate.ok().flatten().cloned(), gate.map(drop));
        let mail = self.mailboxes.as_ref().filter(|_| is_mail);
        let denied = match &self.service.authenticator {
            // Another worker has asked already.
            Some(authenticator) if gate.is_ok() && !life.is_from_worker() => {
                Box::pin(self.identify(authenticator, &mut parts, life)).await
            }
            _ => None,
        };
        if parts.method != Method::POST || gate.is_err() || denied.is_some() {
            self.pass_over(&parts.headers, &mut body, life).await;
        }
        let mut response = match denied {
            Some(mut denial) => {
                denial.extensions_mut().insert(Refused);
                denial
            }
            None => match parts.method {
                Method::POST | Method::GET if mail.is_some() => match (gate, mail) {
                    (Ok(()), Some(boxes)) => Box::pin(self.mail(boxes, parts, body, life)).await,
                    (Ok(()), None) => not_allowed(),
                    (Err(reason), _) => refusal(StatusCode::FORBIDDEN, reason.message()),
                },
                Method::POST => match gate {
                    Ok(())
                        if heard > self.limits().head_bytes
                            && !life.is_from_worker()
                            && self.is_oversized(&parts) =>
                    {
                        refusal(
                            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                            "HTTP request headers are too large",
                        )
                    }
                    Ok(()) => self.post(parts, body, life).await,
                    Err(reason) => refusal(StatusCode::FORBIDDEN, reason.message()),
                },
                Method::OPTIONS if cors::is_preflight(&parts.headers) => match gate {
                    Ok(()) => preflight(&parts.headers),
                    Err(reason) => refusal(StatusCode::FORBIDDEN, reason.message()),
                },
                Method::GET | Method::DELETE if self.has_sessions(&parts.headers) => match gate {
                    Ok(()) => Box::pin(self.of_session(parts, life)).await,
                    Err(reason) => refusal(StatusCode::FORBIDDEN, reason.message()),
                },
                _ => not_allowed(),
            },
        };
        if let Some(origin) = origin {
            cors::expose(origin, response.headers_mut());
        }
        self.told(response, life)
    }

    /// Nobody will read this body. A small one that comes at once is taken from the connection, so that
    /// this can go on: somebody who is refused sends the same again with better credentials.
    pub(super) async fn pass_over(
        &self,
        headers: &HeaderMap,
        body: &mut impl Incoming,
        life: &Life,
    ) {
        if body.is_end_stream() {
            return;
        }
        // Who waits to be told to go on is told not to.
        let is_over = !headers.contains_key(EXPECT) && Box::pin(body::pass_over(body, life)).await;
        if !is_over {
            life.leave_unread();
        }
    }

    /// Tells of a response that says only that there was no message to serve, and in it that nothing
    /// follows where the connection is closed over a body that was not read: whoever does not know
    /// sends the next request into nothing.
    fn told(&self, mut response: Response<Body>, life: &Life) -> Response<Body> {
        if life.is_left_unread() {
            end_connection(&mut response);
        }
        if let Some(telemetry) = self.service.telemetry()
            && response.extensions().get::<Refused>().is_some()
        {
            telemetry.tell(&Event::Refused(response.status().as_u16()));
        }
        response
    }

    /// A request without a message.
    async fn of_session(&self, head: Parts, life: &Arc<Life>) -> Response<Body> {
        if let Some(worker) = self.session_elsewhere(&head.headers, life) {
            self.hand_over(worker, head, Bytes::new(), life).await
        } else if head.method == Method::GET {
            self.get(&head, life).await
        } else {
            self.delete(&head)
        }
    }

    /// The body of a request, or the answer to one that has none.
    pub(super) async fn text(
        &self,
        body: impl Incoming,
        life: &Arc<Life>,
    ) -> Result<Bytes, Incomplete> {
        let text = body::collect(body, self.limits().body_bytes, life).await;
        if text.is_err() {
            life.leave_unread();
        }
        text
    }

    async fn post(
        &self,
        mut head: Parts,
        mut body: impl Incoming,
        life: &Arc<Life>,
    ) -> Response<Body> {
        if let Some(refusal) = unspoken(&head.headers) {
            self.pass_over(&head.headers, &mut body, life).await;
            return refusal;
        }
        let text = match self.text(body, life).await {
            Ok(text) => text,
            Err(reason) => return incomplete(reason),
        };
        if let Some(worker) = self.session_elsewhere(&head.headers, life) {
            return Box::pin(self.hand_over(worker, head, text, life)).await;
        }
        let takes_events = media::accepts_events(&head.headers);
        let says_nothing = !head.headers.contains_key(ACCEPT);
        let mut arrival = arrival(&head.extensions);
        let scope = Scope::take(&mut head.extensions, &arrival);
        let caller = self.caller(&head.headers, &mut arrival, takes_events);
        arrival.headers = Some(Arc::new(HttpHeaders(head.headers)));
        if let Some(messages) = self.service.batch(&text, &arrival) {
            return Box::pin(self.batched(messages, arrival, caller)).await;
        }
        let prepared = self.service.prepare(&text, arrival);
        drop(text);
        let scoped = match self.admitted(&prepared, &caller, scope.as_ref()) {
            Ok(scoped) => scoped,
            Err(refusal) => {
                prepared.refused(code::INVALID_REQUEST);
                return *refusal;
            }
        };
        let token = |own: fn() -> CancelToken| {
            scoped
                .as_ref()
                .map_or_else(own, |scoped| scoped.token.clone())
        };
        let mut response = match prepared {
            Prepared::Answer(answer) => respond(answer),
            Prepared::Work(work) if work.dialect().asks() => {
                // Boxed, as the other rare ways are: every request's future is as large as the largest.
                Box::pin(self.converse(work, token(CancelToken::new), caller, takes_events, life))
                    .await
            }
            Prepared::Work(work) if takes_events && work.wants_notices() => {
                let speech = self.service.clone().converse(work, token(CancelToken::new));
                self.speak(speech, life).await
            }
            Prepared::Work(work) => match self.service.run(work, token(CancelToken::lone)).await {
                Some(answer) => respond(answer),
                None => empty(StatusCode::NO_CONTENT),
            },
            Prepared::Listen(listen) if takes_events || says_nothing => {
                match self.service.listen(listen) {
                    Ok(speech) => self.speak(speech, life).await,
                    Err(answer) => respond(answer),
                }
            }
            Prepared::Listen(listen) => {
                let error = malformed("Accept must admit text/event-stream");
                let answer = self.service.turn_down(listen, &error);
                json(StatusCode::NOT_ACCEPTABLE, answer.body)
            }
            Prepared::Open { answer, peer } => self.open(answer, peer, principal(&head.extensions)),
            Prepared::Settle(settling) => respond(Box::pin(caller.change(settling)).await),
            Prepared::Reply(reply) => {
                caller.settle(reply);
                empty(StatusCode::ACCEPTED)
            }
            // Without a session or a scope a client cancels by closing its connection: the message
            // alone does not say whose request it means.
            Prepared::Cancel(id) => {
                caller.cancel(&id);
                if let Some(scope) = scope {
                    self.scopes.cancel(&scope, &id);
                }
                empty(StatusCode::ACCEPTED)
            }
            Prepared::Silence => empty(StatusCode::ACCEPTED),
        };
        if let Some(scoped) = scoped {
            response.extensions_mut().insert(scoped);
        }
        response
    }

    /// The place of a message among those under way in its scope, or why it is not served: its session is
    /// gone, or the scope has a request of its id already.
    fn admitted(
        &self,
        prepared: &Prepared,
        caller: &Caller,
        scope: Option<&Arc<Scope>>,
    ) -> Result<Option<Arc<Scoped>>, Box<Response<Body>>> {
        if matches!(caller, Caller::Gone) && !matches!(prepared, Prepared::Open { .. }) {
            let mut response = gone();
            response.extensions_mut().clear(); // the message is told of
            return Err(Box::new(response));
        }
        match scope.map(|scope| self.scoped(scope, prepared)) {
            Some(Ok(scoped)) => Ok(scoped),
            Some(Err(duplicate)) => Err(Box::new(json(StatusCode::CONFLICT, duplicate.body))),
            None => Ok(None),
        }
    }

    /// A plain answer if that is all there is, and a stream from the first notice on.
    async fn speak(&self, speech: impl Speech, life: &Arc<Life>) -> Response<Body> {
        match sse::first(speech, life, self.limits().keep_alive_interval).await {
            First::Answer(answer) => respond(answer),
            First::Stream(events) => events.respond(),
            First::Nothing => empty(StatusCode::NO_CONTENT),
        }
    }

    async fn beside<B: Incoming>(&self, request: Request<B>, life: &Life) -> Response<Body> {
        let keeps_metrics = self
            .service
            .telemetry()
            .is_some_and(|it| it.metrics().is_some());
        leave_unread(life, request.body());
        if keeps_metrics && request.uri().path() == METRICS {
            return match self.unscraped(&request, life) {
                Some(refusal) => refusal,
                None => Box::pin(self.scrape(life)).await,
            };
        }
        match hyper::service::Service::call(&self.beside, request).await {
            Ok(response) => response.map(Body::Stream),
            Err(never) => match never {},
        }
    }

    /// Whether a head that came with more bytes than a head may have is really that long.
    fn is_oversized(&self, head: &Parts) -> bool {
        let line =
            head.method.as_str().len() + head.uri.to_string().len() + "  HTTP/1.1\r\n\r\n".len();
        let fields = head
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4);
        line + fields.sum::<usize>() > self.limits().head_bytes
    }
}

/// Nobody will read this body.
pub(super) fn leave_unread(life: &Life, body: &impl Incoming) {
    if !body.is_end_stream() {
        life.leave_unread();
    }
}

fn preflight(request: &HeaderMap) -> Response<Body> {
    let mut response = empty(StatusCode::NO_CONTENT);
    cors::allow(request, response.headers_mut());
    response
}

/// The answer to whoever does not speak JSON both ways.
fn unspoken(headers: &HeaderMap) -> Option<Response<Body>> {
    if let Some(text) = media::unsupported(headers) {
        return Some(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let text = "Accept must admit application/json";
    (!media::accepts_json(headers)).then(|| refusal(StatusCode::NOT_ACCEPTABLE, text))
}
