//! HTTP+SSE of MCP 2024-11-05, for hosts that know nothing newer: one stream down, a post box up.
//!
//! `GET /sse` opens the stream, whose first event says where to `POST` messages to; each is accepted
//! with 202, and everything there is to say comes on the stream. The session is the stream: it ends
//! with it.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use snodo_core::context::{Arrival, Transport};
use snodo_core::error::Error;
use snodo_core::json::Json;
use snodo_core::limits::Limits;
use snodo_core::pipeline::{Verdict, refuse};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::cancel::CancelToken;
use crate::said::Said;
use crate::service::Prepared;
use crate::session::{Changes, Key, Session, Store, Use, Used};
use crate::transport::body::Incoming;
use crate::transport::connection::Life;
use crate::transport::headers::HttpHeaders;
use crate::transport::hosted::Root;
use crate::transport::http::Endpoint;
use crate::transport::identity::{arrival, principal};
use crate::transport::media;
use crate::transport::response::{Body, empty, incomplete, not_allowed, refusal, respond};
use crate::transport::sessions::{Caller, gone};
use crate::transport::sse::{Events, Script, event};

/// Where the stream is.
pub(crate) const STREAM: &str = "/sse";

/// Where messages go.
pub(crate) const MESSAGES: &str = "/messages";

/// Messages that wait for a client that reads slowly, before those who say more wait too.
const PENDING: usize = 64;

/// The post boxes of a server.
#[derive(Debug)]
pub(crate) struct Mailboxes(Store<Mailbox>);

impl Mailboxes {
    pub(crate) fn new(limits: &Limits, worker: Option<u8>) -> Self {
        Self(Store::new(limits.sessions, limits.session_idle).of_worker(worker))
    }
}

/// One client.
struct Mailbox {
    out: Sender<Mail>,
    /// Who opened its stream.
    principal: Option<Json>,
    /// Who it is, once it has said so.
    client: Mutex<Option<Arc<Session>>>,
    /// Calls whose last message has not been sent.
    running: AtomicUsize,
    used: Use,
}

impl Used for Mailbox {
    fn last_use(&self) -> &Use {
        &self.used
    }
}

/// What its stream gets.
enum Mail {
    Message(Vec<u8>),
    /// The last message of a call, if there is one.
    Last(Option<Vec<u8>>),
    /// What it hears from here on.
    Changes(Box<Changes>),
}

impl Mailbox {
    fn client(&self) -> Option<Arc<Session>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    fn become_client(&self, session: Session) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let before = client.replace(Arc::new(session));
        drop(client);
        if let Some(before) = before {
            before.end();
        }
    }

    /// Fails when nobody reads any more, which is nobody's fault.
    async fn send(&self, mail: Mail) {
        let _ = self.out.send(mail).await;
    }
}

impl Endpoint {
    /// A request to one of the two addresses.
    pub(super) async fn mail(
        &self,
        boxes: &Arc<Mailboxes>,
        parts: Parts,
        mut body: impl Incoming,
        life: &Arc<Life>,
    ) -> Response<Body> {
        match parts.method {
            Method::GET if parts.uri.path() == STREAM => self.open_box(boxes, &parts, life),
            Method::POST if parts.uri.path() == MESSAGES => {
                if let Some(text) = media::unsupported(&parts.headers) {
                    self.pass_over(&parts.headers, &mut body, life).await;
                    return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
                }
                let mut arrival = arrival(&parts.extensions);
                let query = parts.uri.query().unwrap_or_default();
                let key = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("session="));
                let key = key.and_then(|key| Key::read(key.as_bytes()));
                let found = key.and_then(|key| boxes.0.get(key));
                let found = found.filter(|mailbox| mailbox.principal == arrival.principal);
                let elsewhere = self.elsewhere(key, life);
                match (found, self.text(body, life).await) {
                    (_, Err(reason)) => incomplete(reason),
                    (None, Ok(text)) => match elsewhere {
                        Some(worker) => self.hand_over(worker, parts, text, life).await,
                        None => gone(),
                    },
                    (Some(mailbox), Ok(text)) => {
                        arrival.headers = Some(Arc::new(HttpHeaders(parts.headers)));
                        self.deliver(&mailbox, &text, arrival).await;
                        empty(StatusCode::ACCEPTED)
                    }
                }
            }
            _ => not_allowed(),
        }
    }

    fn open_box(&self, boxes: &Arc<Mailboxes>, parts: &Parts, life: &Arc<Life>) -> Response<Body> {
        if !media::accepts_events(&parts.headers) {
            return refusal(
                StatusCode::NOT_ACCEPTABLE,
                "Accept must admit text/event-stream",
            );
        }
        let Some(place) = self.service.stream() else {
            let error = Error::internal("Server subscription capacity exhausted");
            return respond(refuse(None, &error, Verdict::Busy));
        };
        let (out, letters) = channel(PENDING);
        let mailbox = Arc::new(Mailbox {
            out,
            principal: principal(&parts.extensions),
            client: Mutex::default(),
            running: AtomicUsize::new(0),
            used: Use::new(),
        });
        let key = boxes.0.insert(mailbox.clone());
        let root = parts.extensions.get::<Root>();
        let root = root.map_or("", |root| root.0.as_str());
        let frame =
            format!("event: endpoint\ndata: {root}{MESSAGES}?session={key}\n\n").into_bytes();
        let letters = Letters {
            boxes: boxes.clone(),
            key,
            mailbox,
            pending: letters,
            changes: None,
            ending: false,
            _place: place,
        };
        Events::new(letters, frame, life, self.limits().keep_alive_interval).respond()
    }

    /// Serves a message, or several that came together.
    async fn deliver(&self, mailbox: &Arc<Mailbox>, text: &[u8], mut arrival: Arrival) {
        let client = mailbox.client();
        if let Some(client) = &client {
            client.sign(&mut arrival, true);
            // The client is to hear of nothing before its first message after the handshake.
            if client.is_deaf()
                && let Some(mut changes) = self.service.changes(client, Transport::Http)
            {
                changes.opened().await;
                mailbox.send(Mail::Changes(Box::new(changes))).await;
            }
        }
        let caller = client.map_or(Caller::Stateless, Caller::Session);
        if let Some(messages) = self.service.batch(text, &arrival) {
            if let Some(answers) = self.answers(messages, arrival, caller).await {
                mailbox.send(Mail::Message(answers)).await;
            }
            return;
        }
        let answer = match self.service.prepare(text, arrival) {
            Prepared::Answer(answer) => answer,
            Prepared::Listen(listen) => self.service.deaf(listen),
            Prepared::Open { answer, peer } => {
                mailbox.become_client(Session::new(peer, mailbox.principal.clone()));
                answer
            }
            Prepared::Settle(settling) => caller.change(settling).await,
            Prepared::Reply(reply) => return caller.settle(reply),
            Prepared::Cancel(id) => return caller.cancel(&id),
            Prepared::Silence => return,
            Prepared::Work(mut work) => {
                let (token, mut cancellable) = (CancelToken::new(), None);
                if let Caller::Session(session) = caller {
                    cancellable = Some(session.begin(work.id().clone(), token.clone()));
                    work = work.within(session);
                }
                let mut speech = self.service.clone().converse(work, token);
                let mailbox = mailbox.clone();
                mailbox.running.fetch_add(1, Relaxed);
                let closing = self.loose.closing();
                self.loose.spawn(async move {
                    let _cancellable = cancellable;
                    let mut closing = pin!(closing.stopped());
                    let mut open = true;
                    let mut last = None;
                    loop {
                        tokio::select! {
                            biased;
                            said = speech.next() => match said {
                                Some(Said::Answer(answer)) => last = Some(answer.body),
                                Some(Said::Notice(message) | Said::Question(message)) => {
                                    mailbox.send(Mail::Message(message)).await;
                                }
                                None => break,
                            },
                            _ = &mut closing, if open => {
                                open = false;
                                speech.end();
                            }
                        }
                    }
                    mailbox.send(Mail::Last(last)).await;
                });
                return;
            }
        };
        mailbox.send(Mail::Message(answer.body)).await;
    }
}

/// The stream of a client. Its end is the session's.
struct Letters {
    boxes: Arc<Mailboxes>,
    key: Key,
    mailbox: Arc<Mailbox>,
    pending: Receiver<Mail>,
    changes: Option<Box<Changes>>,
    ending: bool,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl Script for Letters {
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool> {
        loop {
            match self.pending.poll_recv(task) {
                Poll::Ready(Some(Mail::Message(message))) => {
                    event(&message, frame);
                    return Poll::Ready(true);
                }
                Poll::Ready(Some(Mail::Last(message))) => {
                    self.mailbox.running.fetch_sub(1, Relaxed);
                    if let Some(message) = message {
                        event(&message, frame);
                        return Poll::Ready(true);
                    }
                }
                Poll::Ready(Some(Mail::Changes(changes))) => self.changes = Some(changes),
                Poll::Ready(None) => return Poll::Ready(false),
                Poll::Pending => break,
            }
        }
        if self.ending && self.mailbox.running.load(Relaxed) == 0 {
            return Poll::Ready(false);
        }
        let changes = self.changes.as_mut();
        match changes.map(|changes| changes.poll_next_unpin(task)) {
            Some(Poll::Ready(Some(Said::Notice(message)))) => {
                event(&message, frame);
                Poll::Ready(true)
            }
            Some(Poll::Ready(_)) => {
                self.changes = None;
                Poll::Pending
            }
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }

    /// Calls have their time to finish.
    fn end(&mut self) {
        self.ending = true;
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        self.boxes.0.remove(self.key);
        if let Some(client) = self.mailbox.client() {
            client.end();
        }
    }
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
