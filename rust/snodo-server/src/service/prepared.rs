//! What is left to be done with a message: nothing, or something that whoever brought it has to see to.

use std::sync::Arc;

use snodo_core::call::Call;
use snodo_core::dialect::Dialect;
use snodo_core::envelope::Id;
use snodo_core::peer::Peer;
use snodo_core::pipeline::{self, Answer, Change};
use snodo_core::subscription::Listen;
use tokio::sync::OwnedSemaphorePermit;

use super::Offer;
use crate::session::Session;
use crate::telemetry::Span;

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
    /// The client's session is to be changed.
    Settle(Settling),
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
            Self::Settle(settling) => settling.refused(code),
            _ => {}
        }
    }
}

/// A call, and the offer it was prepared from, which ends it too whatever replaces it meanwhile.
pub struct Work {
    pub(super) offer: Arc<Offer>,
    pub(super) call: Call,
    /// Whose client may be asked.
    pub(super) session: Option<Arc<Session>>,
    /// Where it is run, if it is below a layer.
    pub(super) place: Option<Arc<OwnedSemaphorePermit>>,
    /// If anybody watches.
    pub(super) span: Option<Box<Span>>,
}

/// A request to listen, to be told of changes by [`Service::listen`].
pub struct Listener {
    pub(super) request: Listen,
    /// If anybody watches.
    pub(super) span: Option<Box<Span>>,
}

impl Listener {
    /// The request's id.
    pub fn id(&self) -> &Id {
        self.request.id()
    }

    pub(super) fn answered(self, answer: Answer) -> Answer {
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

/// A change of a client's session, and the request that waits for it.
pub struct Settling {
    id: Id,
    change: Change,
    answer: Answer,
    /// Instead, if the session holds no more of it.
    refusal: Answer,
    /// If anybody watches.
    span: Option<Box<Span>>,
}

impl Settling {
    /// The request's id.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Changes the session, if there is one, at once. What this gives gives the answer.
    pub fn within(self, session: Option<&Session>) -> impl Future<Output = Answer> + Send {
        let changed = session.map(|session| session.change(self.change));
        let (answer, refusal, span) = (self.answer, self.refusal, self.span);
        async move {
            let done = match changed {
                Some(changed) => changed.await,
                None => true,
            };
            let answer = if done { answer } else { refusal };
            if let Some(span) = span {
                span.answered(&answer);
            }
            answer
        }
    }

    /// It is answered with an error of this code.
    pub fn refused(self, code: i64) {
        if let Some(span) = self.span {
            span.refused(code);
        }
    }
}

/// What was prepared from an offer, with what is told of it.
pub(super) fn under(
    offer: Arc<Offer>,
    prepared: pipeline::Prepared,
    span: Option<Box<Span>>,
) -> Prepared {
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
            change,
            answer,
            refused: refusal,
        } => Prepared::Settle(Settling {
            id,
            change,
            answer,
            refusal,
            span,
        }),
        pipeline::Prepared::Reply(reply) => Prepared::Reply(reply),
        pipeline::Prepared::Listen(request) => Prepared::Listen(Listener { request, span }),
        pipeline::Prepared::Cancel(id) => Prepared::Cancel(id),
        pipeline::Prepared::Silence => Prepared::Silence,
    }
}
