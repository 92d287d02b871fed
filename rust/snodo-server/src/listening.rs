//! A subscription under way: what is said to one listener, from the acknowledgement to the response.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use futures_util::Stream;
use snodo_core::context::Context;
use snodo_core::dialect::Dialect;
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::pipeline::{self, Answer, Telling, Verdict};
use snodo_core::subscription::{Change, Event, Filter, Listen};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::said::Said;
use crate::service::{Failure, Service};
use crate::source::{End, Feed, Opened, Source, failed};
use crate::telemetry::{Event as Told, Span, Subscriber, Telemetry};

/// What is said to a listener: the acknowledgement, events, and when the server or the source ends it
/// the answer. A source that refuses gives only an answer. Dropping it is the client's cancellation.
///
/// An event is asked for when the transport asks, which it does when it has written the one before;
/// it is put into words only then.
pub struct Listening {
    service: Arc<Service>,
    // All that is kept of the request.
    dialect: &'static dyn Dialect,
    id: Id,
    accepted: Filter,
    /// Of which URIs it is asked before each event whether the listener may hear of them.
    doubtful: Option<Doubtful>,
    /// Who asked, where events of extensions are accepted.
    context: Option<Arc<Context>>,
    /// What it is told first, the next one last.
    current: Vec<Event>,
    /// An event of an extension, until that has put it into words.
    wording: Option<Wording>,
    stage: Stage,
    /// Whether the server ends it.
    ending: bool,
    /// Of the request, until it is a subscription.
    span: Option<Box<Span>>,
    /// What is told of it, if anybody watches.
    subscriber: Option<Box<(Subscriber, Arc<Telemetry>)>>,
    _place: OwnedSemaphorePermit,
}

/// URIs that nobody owned when the listener began, or that are concealed from it.
struct Doubtful {
    uris: Vec<String>,
    /// Who asked.
    context: Arc<Context>,
}

/// What it hears from here on.
type Begun = Result<(Opened, Option<Doubtful>), Failure>;
type Beginning = Pin<Box<dyn Future<Output = Begun> + Send>>;

enum Stage {
    Opening(Beginning),
    Open(Box<dyn Feed>),
    Over,
}

type Wording = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, Failure>> + Send>>;

/// Events in a row that a source may give against the filter before others have their turn.
const STRAYS: usize = 64;

impl Listening {
    pub(crate) fn new(
        service: Arc<Service>,
        source: Arc<dyn Source>,
        request: Listen,
        place: OwnedSemaphorePermit,
        span: Option<Box<Span>>,
    ) -> Self {
        let subscriber = span.as_ref().map(|span| {
            let subscriber = Subscriber {
                request_id: request.context.id.clone(),
                transport: request.context.arrival.transport,
                filter: Vec::new(),
            };
            Box::new((subscriber, span.telemetry().clone()))
        });
        let limit = service.limits().call_timeout;
        let (dialect, id) = (request.context.dialect, request.context.id.clone());
        // Known beforehand, if nothing has to be asked.
        let context = request
            .before
            .is_some()
            .then(|| Arc::new(request.context.retained()));
        let guarded = service.is_authorized() && !request.filter.resource_subscriptions.is_empty();
        let opening: Beginning = if request.before.is_some() || guarded {
            let service = service.clone();
            Box::pin(async move {
                let Listen {
                    context,
                    mut filter,
                    ..
                } = service.settled(request).await?;
                let mut doubtful = None;
                if guarded {
                    let (heard, uris) = service.audible(filter, &context).await?;
                    filter = heard;
                    let context = context.clone();
                    doubtful = (!uris.is_empty()).then_some(Doubtful { uris, context });
                }
                let opened = open(source, filter, context, limit).await?;
                Ok((opened, doubtful))
            })
        } else {
            let Listen {
                context, filter, ..
            } = request;
            let opening = open(source, filter, context, limit);
            Box::pin(async move { Ok((opening.await?, None)) })
        };
        Self {
            service,
            dialect,
            id,
            accepted: Filter::default(),
            doubtful: None,
            context,
            current: Vec::new(),
            wording: None,
            stage: Stage::Opening(opening),
            ending: false,
            span,
            subscriber,
            _place: place,
        }
    }

    /// The server ends it: what is there already is still said, then that it ends.
    pub fn end(&mut self) {
        self.ending = true;
        if let Stage::Open(feed) = &mut self.stage {
            feed.finish();
        }
    }

    fn opened(&mut self, opened: Begun) -> Said {
        match opened {
            Ok((Opened { accepted, mut feed }, doubtful)) => {
                self.doubtful = doubtful;
                if self.ending {
                    feed.finish();
                }
                if let Some(context) = &self.context {
                    let runtime = self.service.runtime();
                    self.current = pipeline::current(&runtime, context, &accepted);
                    self.current.reverse();
                }
                let acknowledgement = self.dialect.acknowledge(&self.id, &accepted);
                self.accepted = accepted;
                self.stage = Stage::Open(feed);
                self.tell_open();
                Said::Notice(acknowledgement)
            }
            Err(failure) => self.refused(failure),
        }
    }

    fn refused(&mut self, failure: Failure) -> Said {
        let (error, verdict) = match failure {
            Failure::Error(error) => {
                let error = self.dialect.shape_error(&error).into_owned();
                let verdict = Verdict::Error(error.code);
                (error, verdict)
            }
            Failure::Refused(message, verdict) => (Error::internal(message), verdict),
        };
        self.answer(pipeline::refuse(Some(&self.id), &error, verdict))
    }

    /// The request has become a subscription.
    fn tell_open(&mut self) {
        if let (Some(span), Some(told)) = (self.span.take(), &mut self.subscriber) {
            span.streams();
            let (subscriber, telemetry) = &mut **told;
            subscriber.filter = self.accepted.keys();
            telemetry.tell(&Told::Opened(subscriber, self.service.subscriptions()));
        }
    }

    fn tell_closed(&mut self, why: End) {
        if let Some(told) = self.subscriber.take() {
            let (subscriber, telemetry) = *told;
            // This one still has its place.
            let others = self.service.subscriptions().saturating_sub(1);
            telemetry.tell(&Told::Closed(&subscriber, others, why));
        }
    }

    /// It has not begun, so there is nothing to complete.
    fn too_late(&mut self) -> Said {
        let error = Error::internal("Server is shutting down");
        let refusal = pipeline::refuse(Some(&self.id), &error, Verdict::Closing);
        self.answer(refusal)
    }

    fn answer(&mut self, answer: Answer) -> Said {
        self.stage = Stage::Over;
        if let Some(span) = self.span.take() {
            span.answered(&answer);
        }
        Said::Answer(answer)
    }

    /// The next event that the listener is to hear of, or what is said instead.
    fn poll_feed(&mut self, task: &mut Task<'_>) -> Poll<Said> {
        let Stage::Open(feed) = &mut self.stage else {
            unreachable!("only an open feed is asked for events");
        };
        for _ in 0..STRAYS {
            if let Some(wording) = &mut self.wording {
                let worded = ready!(wording.as_mut().poll(task));
                self.wording = None;
                match worded {
                    Ok(Some(notification)) => return Poll::Ready(Said::Notice(notification)),
                    Ok(None) => {}
                    Err(failure) => return Poll::Ready(self.failed(failure)),
                }
            }
            if let (Some(event), Some(context)) = (self.current.pop(), &self.context) {
                let (context, event) = (context.clone(), Arc::new(event));
                self.wording = Some(word(&self.service, context, event, Telling::Current));
                continue;
            }
            let end = match feed.poll_event(task) {
                Poll::Ready(Some(Ok(event)))
                    if matches!(event.change, Change::Extension(_))
                        && self.accepted.selects(&event) =>
                {
                    self.wording = self
                        .context
                        .clone()
                        .map(|context| word(&self.service, context, event, Telling::Change));
                    continue;
                }
                Poll::Ready(Some(Ok(event))) if self.accepted.selects(&event) => {
                    if let Some(weighed) = weigh(&self.service, self.doubtful.as_ref(), &event) {
                        self.wording = Some(weighed);
                        continue;
                    }
                    return Poll::Ready(Said::Notice(self.dialect.tell(&self.id, &event)));
                }
                Poll::Ready(Some(Ok(_))) => continue,
                Poll::Ready(Some(Err(_))) => End::Failed,
                Poll::Pending if !self.ending => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending if self.ending => End::Shutdown,
                Poll::Ready(None) | Poll::Pending => End::Complete,
            };
            return Poll::Ready(self.closed(end));
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }

    fn failed(&mut self, failure: Failure) -> Said {
        if let Stage::Open(feed) = std::mem::replace(&mut self.stage, Stage::Over) {
            feed.close(End::Failed);
        }
        self.refused(failure)
    }

    fn closed(&mut self, end: End) -> Said {
        if let Stage::Open(feed) = std::mem::replace(&mut self.stage, Stage::Over) {
            feed.close(end);
        }
        self.tell_closed(end);
        if end == End::Failed {
            return self.refused(failed().into());
        }
        self.completed()
    }

    fn completed(&mut self) -> Said {
        let body = self.dialect.listened(&self.service.runtime(), &self.id);
        let verdict = Verdict::Result;
        self.answer(Answer { body, verdict })
    }
}

impl Stream for Listening {
    type Item = Said;

    fn poll_next(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Said>> {
        let this = self.get_mut();
        let said = match &mut this.stage {
            Stage::Opening(opening) => match opening.as_mut().poll(task) {
                Poll::Ready(opened) => this.opened(opened),
                Poll::Pending if this.ending => this.too_late(),
                Poll::Pending => return Poll::Pending,
            },
            Stage::Open(_) => ready!(this.poll_feed(task)),
            Stage::Over => return Poll::Ready(None),
        };
        Poll::Ready(Some(said))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Stage::Open(feed) = std::mem::replace(&mut self.stage, Stage::Over) {
            feed.close(End::Cancelled);
            self.tell_closed(End::Cancelled);
        }
    }
}

fn word(
    service: &Arc<Service>,
    context: Arc<Context>,
    event: Arc<Event>,
    telling: Telling,
) -> Wording {
    let service = service.clone();
    Box::pin(async move { service.worded(context, event, telling).await })
}

/// What is said of a change at a URI of which it is not certain whether the listener may hear.
fn weigh(
    service: &Arc<Service>,
    doubtful: Option<&Doubtful>,
    event: &Arc<Event>,
) -> Option<Wording> {
    let (doubtful, Change::Resource(uri)) = (doubtful?, &event.change) else {
        return None;
    };
    if !doubtful.uris.contains(uri) {
        return None;
    }
    let (service, context) = (service.clone(), doubtful.context.clone());
    let (uri, event) = (uri.clone(), event.clone());
    Some(Box::pin(async move {
        let heard = service.may_hear(uri, &context).await;
        Ok(heard.then(|| context.dialect.tell(&context.id, &event)))
    }))
}

/// Opens a source within the time of a call, and holds it to what was asked for.
pub(crate) async fn open(
    source: Arc<dyn Source>,
    filter: Filter,
    context: Arc<Context>,
    limit: Option<Duration>,
) -> Result<Opened, Error> {
    let opening = source.open(filter.clone(), context);
    let opened = match limit {
        None => opening.await,
        Some(limit) => timeout(limit, opening).await.unwrap_or_else(|_| {
            tracing::error!("a subscription source was not open in time");
            Err(failed())
        }),
    }?;
    if !opened.accepted.is_within(&filter) {
        opened.feed.close(End::Failed);
        tracing::error!("a subscription source accepted more than it was asked for");
        let text = "Subscription source accepted notifications not requested";
        return Err(Error::internal(text));
    }
    Ok(opened)
}
