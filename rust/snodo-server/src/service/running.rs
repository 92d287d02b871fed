//! Call and shape: a prepared call runs to its answer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use snodo_core::call::{Call, Target};
use snodo_core::context::Transport;
use snodo_core::error::{Error, code};
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{self, Answer, Step, Verdict};
use snodo_core::runtime::Runtime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::{Offer, Service, Work};
use crate::cancel::{CancelToken, Reason};
use crate::executor::Busy;
use crate::handler::{Place, Reply};
use crate::session::asked;
use crate::voice::{Conversation, Voice};

pub(crate) const TIMED_OUT: &str = "Request execution timed out";

/// How a call ended.
pub(super) enum End {
    Outcome(Outcome),
    Refused(&'static str, Verdict),
    Cancelled,
}

/// Why a call that is no request of its own came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It ended with this error, or was answered with it.
    Error(Error),
    /// It had no place, or no time.
    Refused(&'static str, Verdict),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Service {
    /// Call and shape: runs a prepared call to its answer. `None` when the client cancelled it: then
    /// nothing may be sent. Dropping the future cancels the call.
    pub async fn run(self: &Arc<Self>, work: Work, cancel: CancelToken) -> Option<Answer> {
        match work.span {
            None => self.run_aloud(work, cancel, None).await,
            Some(_) => Box::pin(self.run_told(work, cancel, None)).await,
        }
    }

    /// Runs, and tells what came of it.
    async fn run_told(
        self: &Arc<Self>,
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

    pub(super) async fn run_aloud(
        self: &Arc<Self>,
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

    pub(super) async fn call(
        &self,
        offer: &Offer,
        call: Call,
        cancel: &CancelToken,
        voice: Option<&Voice>,
        arrived: Instant,
        shared: Option<Arc<OwnedSemaphorePermit>>,
    ) -> End {
        let limit = call.context.time;
        let limit = limit.or_else(|| time_for(&offer.runtime, &call.target));
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

    pub(super) async fn wait_for_place(
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
}

/// An answer that withholds a handler's value is told to the author, who would look for it in vain.
pub(super) fn tell_of(runtime: &Runtime, target: &Target, outcome: &Outcome, answer: &Answer) {
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

pub(super) fn time_for(runtime: &Runtime, target: &Target) -> Option<Duration> {
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
pub(super) struct StopOnDrop<'a>(pub(super) &'a CancelToken);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        // After an answer this finds no hook and changes nothing that anybody looks at.
        self.0.cancel(Reason::Client);
    }
}
