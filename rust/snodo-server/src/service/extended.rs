//! Calls that extensions have beside those of components: layers, which have something below them, and
//! what is asked for a listener.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use snodo_core::call::{Call, Layer, Target};
use snodo_core::context::Context;
use snodo_core::error::Error;
use snodo_core::pipeline::{self, Answer, Check, Step, Telling, Verdict};
use snodo_core::subscription::{Event, Listen};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};

use super::running::{End, Failure, StopOnDrop, TIMED_OUT, tell_of, time_for};
use super::{Offer, Service, Work};
use crate::cancel::{CancelToken, Reason};
use crate::handler::{Place, Reply};
use crate::rest::{Asked, Detached, Granted, Rest, What, Wish};
use crate::voice::Voice;

/// What runs below a layer, and who is told of it.
struct Below<'a> {
    began: Instant,
    tell: Box<dyn FnOnce(Granted) + Send>,
    running: Pin<Box<dyn Future<Output = Came> + Send + 'a>>,
}

/// What came of it.
enum Came {
    /// The layer is told this, which may be of a tool that raised.
    Granted(Granted, Verdict),
    /// The request ends with this: there was no time for it.
    Over(Answer),
    /// The layer does not want to know any more.
    Unwanted,
}

impl Service {
    /// Runs a layer, and below it what it asks for, in the layer's own place. The layer's time stands
    /// still meanwhile, for what is below has its own. `None`: the client cancelled it.
    ///
    /// Boxed: few requests have layers, and the room of one is not to be in all.
    pub(super) fn surround<'a>(
        self: &'a Arc<Self>,
        work: Work,
        cancel: &'a CancelToken,
        voice: Option<Voice>,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>> {
        Box::pin(self.surrounded(work, cancel, voice))
    }

    async fn surrounded(
        self: &Arc<Self>,
        work: Work,
        cancel: &CancelToken,
        voice: Option<Voice>,
    ) -> Option<Answer> {
        let Work {
            offer, call, place, ..
        } = work;
        let (context, target) = (call.context.clone(), call.target.clone());
        let Target::Layer(layer) = &target else {
            return Some(self.refuse(Some(&context.id), &Error::internal("Internal error")));
        };
        let refused = |message, verdict| {
            tracing::warn!(
                "{} {:?}: {message}",
                target.noun(),
                offer.runtime.name(&target)
            );
            let verdict = context.dialect.verdict(verdict);
            Some(pipeline::refuse(
                Some(&context.id),
                &Error::internal(message),
                verdict,
            ))
        };
        let limit = time_for(&offer.runtime, &target);
        let mut deadline = limit.map(|limit| Instant::now() + limit);
        let place = match place {
            Some(place) => place,
            None => match self.wait_for_place(deadline, cancel).await {
                Ok(place) => Arc::new(place),
                Err(End::Refused(message, verdict)) => return refused(message, verdict),
                Err(_) => return None,
            },
        };
        let (rest, mut wishes) = Rest::new();
        let shared = Some(Place::Shared(place.clone()));
        let (reply, mut outcome) = Reply::new(cancel.clone(), voice.clone(), shared);
        offer.call(call, reply.with_rest(rest));
        let mut below: Option<Below<'_>> = None;
        let mut raised = false;
        let outcome = loop {
            let busy = below.is_some();
            tokio::select! {
                biased;
                outcome = &mut outcome => {
                    break outcome.unwrap_or_else(|_| target.terminated().into());
                }
                _ = cancel.stopped() => return None,
                came = running(&mut below) => {
                    let Some(Below { began, tell, .. }) = below.take() else { continue };
                    deadline = deadline.map(|deadline| deadline + began.elapsed());
                    match came {
                        Came::Granted(granted, verdict) => {
                            raised = verdict == Verdict::Raised;
                            tell(granted);
                        }
                        Came::Unwanted => {}
                        Came::Over(answer) => {
                            cancel.cancel(Reason::Deadline);
                            return Some(answer);
                        }
                    }
                }
                Some(asked) = wishes.recv(), if !busy => {
                    let (offer, context) = (offer.clone(), context.clone());
                    let Wish { what, cancel, done } = match asked {
                        Asked::Wish(wish) => wish,
                        Asked::Detached(detached) => {
                            self.detach(offer, &context, layer, detached);
                            continue;
                        }
                    };
                    let (place, voice) = (Some(place.clone()), voice.clone());
                    let running = self.below(offer, context, layer, what, cancel, voice, place);
                    below = Some(Below {
                        began: Instant::now(),
                        tell: done,
                        running: Box::pin(running),
                    });
                }
                () = passed(deadline), if !busy => {
                    cancel.cancel(Reason::Deadline);
                    return refused(TIMED_OUT, Verdict::Late);
                }
            }
        };
        if cancel.reason() == Some(Reason::Client) {
            return None;
        }
        while let Ok(asked) = wishes.try_recv() {
            if let Asked::Detached(detached) = asked {
                self.detach(offer.clone(), &context, layer, detached);
            }
        }
        let mut answer = pipeline::finish(&offer.runtime, &context, &target, &outcome);
        if raised && answer.is_failure() {
            answer.verdict = Verdict::Raised; // what the layer gives is a result like any other
        }
        tell_of(&offer.runtime, &target, &outcome, &answer);
        Some(answer)
    }

    /// Runs what a layer asks for when it may have answered: until nobody can ask any more.
    fn detach(
        self: &Arc<Self>,
        offer: Arc<Offer>,
        context: &Context,
        layer: &Layer,
        detached: Detached,
    ) {
        let Detached { mut wishes, time } = detached;
        let (service, layer) = (self.clone(), layer.clone());
        let context = Arc::new(context.detached(time));
        tokio::spawn(async move {
            while let Some(asked) = wishes.recv().await {
                let Asked::Wish(Wish { what, cancel, done }) = asked else {
                    continue; // of these there is one for each layer
                };
                let (offer, context) = (offer.clone(), context.clone());
                let came = service.below(offer, context.clone(), &layer, what, cancel, None, None);
                match came.await {
                    Came::Granted(granted, _) => done(granted),
                    Came::Over(answer) => done(pipeline::passed(&context, &answer).map(Some)),
                    Came::Unwanted => {}
                }
            }
        });
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all that a layer shares with what is below it"
    )]
    async fn below(
        self: &Arc<Self>,
        offer: Arc<Offer>,
        context: Arc<Context>,
        layer: &Layer,
        what: What,
        cancel: CancelToken,
        voice: Option<Voice>,
        place: Option<Arc<OwnedSemaphorePermit>>,
    ) -> Came {
        let (context, carried) = match what {
            What::Run(carried) => (context, carried),
            What::Resume(carried, responses, state) => {
                (Arc::new(context.again(responses, state)), carried)
            }
            What::Check => return self.checked(&offer, &context, layer, &cancel, place).await,
        };
        let answer = match pipeline::rest(&offer.runtime, &context, layer, carried) {
            Step::Answer(answer) => Some(answer),
            Step::Call(call) => {
                let work = Work {
                    offer,
                    call,
                    session: None,
                    place,
                    span: None,
                };
                self.run_aloud(work, cancel, voice).await
            }
            Step::Ask(_) | Step::Settle { .. } | Step::Heed(_) => None,
        };
        match answer {
            None => Came::Unwanted,
            Some(answer) => came(&context, answer),
        }
    }

    async fn checked(
        &self,
        offer: &Offer,
        context: &Arc<Context>,
        layer: &Layer,
        cancel: &CancelToken,
        place: Option<Arc<OwnedSemaphorePermit>>,
    ) -> Came {
        let _guard = StopOnDrop(cancel);
        let mut check = pipeline::check(&offer.runtime, context, layer);
        loop {
            let call = match check {
                Check::Call(call) => call,
                Check::Runs => return Came::Granted(Ok(None), Verdict::Result),
                Check::Answer(answer) => return came(context, answer),
            };
            let (asker, target) = (call.context.clone(), call.target.clone());
            let end = self.call(offer, call, cancel, None, Instant::now(), place.clone());
            match end.await {
                End::Outcome(outcome) => {
                    let step = pipeline::proceed(&offer.runtime, &asker, target, &outcome);
                    check = step.into();
                }
                End::Refused(message, verdict) => {
                    let error = Error::internal(message);
                    return Came::Over(pipeline::refuse(Some(&context.id), &error, verdict));
                }
                End::Cancelled => return Came::Unwanted,
            }
        }
    }

    /// Runs what has to be run before it is known what a listener hears.
    pub(crate) async fn settled(&self, mut listen: Listen) -> Result<Listen, Failure> {
        let offer = self.offer();
        while let Some(call) = listen.before.take() {
            let target = call.target.clone();
            let outcome = self.aside(&offer, *call).await?;
            listen = pipeline::heard(&offer.runtime, listen, target, &outcome)?;
        }
        Ok(listen)
    }

    /// The notification of an extension's event, in its words; `None`: there is nothing to say.
    pub(crate) async fn worded(
        &self,
        context: Arc<Context>,
        event: Arc<Event>,
        telling: Telling,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let offer = self.offer();
        let Some(call) = pipeline::event(&offer.runtime, &context, &event, telling) else {
            return Ok(None);
        };
        let outcome = self.aside(&offer, call).await?;
        Ok(pipeline::told(&context, &event, &outcome)?)
    }

    /// Runs a call that is no request of its own.
    pub(super) async fn aside(
        &self,
        offer: &Offer,
        call: Call,
    ) -> Result<snodo_core::outcome::Outcome, Failure> {
        let cancel = CancelToken::new();
        let _guard = StopOnDrop(&cancel);
        let target = call.target.clone();
        match self
            .call(offer, call, &cancel, None, Instant::now(), None)
            .await
        {
            End::Outcome(outcome) => Ok(outcome),
            End::Refused(message, verdict) => {
                tracing::warn!(
                    "{} {:?}: {message}",
                    target.noun(),
                    offer.runtime.name(&target)
                );
                Err(Failure::Refused(message, verdict))
            }
            End::Cancelled => Err(target.terminated().into()),
        }
    }
}

/// What an answer from below is to the layer.
fn came(context: &Context, answer: Answer) -> Came {
    match answer.verdict {
        Verdict::Busy | Verdict::Late | Verdict::Closing => Came::Over(answer),
        verdict => Came::Granted(pipeline::passed(context, &answer).map(Some), verdict),
    }
}

async fn running(below: &mut Option<Below<'_>>) -> Came {
    match below {
        Some(below) => below.running.as_mut().await,
        None => pending().await,
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
