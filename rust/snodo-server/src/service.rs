//! The walk: prepare → call → finish, once, for every transport.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use snodo_core::call::Call;
use snodo_core::context::{Arrival, Transport};
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::outcome::Outcome;
use snodo_core::pipeline::{self, Answer, Prepared, Verdict};
use snodo_core::runtime::Runtime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::cancel::{CancelToken, Reason};
use crate::executor::{Busy, Executor, Load};
use crate::handler::{Handler, Reply};

/// A runtime with somebody to run its calls.
pub struct Service {
    runtime: Arc<Runtime>,
    handlers: Vec<Arc<dyn Handler>>,
    executor: Executor,
}

const TIMED_OUT: &str = "Request execution timed out";

/// How a call ended.
enum End {
    Outcome(Outcome),
    Refused(&'static str, Verdict),
    Cancelled,
}

impl Service {
    /// `handlers`: one for each tool, in the registry's order.
    pub fn new(runtime: Arc<Runtime>, handlers: Vec<Arc<dyn Handler>>) -> Self {
        assert_eq!(
            handlers.len(),
            runtime.registry.tools.len(),
            "one handler for each tool"
        );
        let limits = &runtime.settings.limits;
        let executor = Executor::new(limits.running, limits.queued);
        Self {
            runtime,
            handlers,
            executor,
        }
    }

    /// What is served.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// How many calls run and wait.
    pub fn load(&self) -> Load {
        self.executor.load()
    }

    /// Parse, admit, route, validate.
    pub fn prepare(&self, body: &[u8], arrival: Arrival) -> Prepared {
        // A panic is a bug of ours; it ends this request and not the connection's other ones.
        catch_unwind(AssertUnwindSafe(|| {
            pipeline::prepare(&self.runtime, body, arrival)
        }))
        .unwrap_or_else(|_| Prepared::Answer(self.refuse(None, &Error::internal("Internal error"))))
    }

    /// Call and shape: runs a prepared call to its answer. `None` when the client cancelled it: then
    /// nothing may be sent. Dropping the future cancels the call.
    pub async fn run(&self, call: Call, cancel: CancelToken) -> Option<Answer> {
        let context = call.context.clone();
        let tool = call.tool;
        let _guard = StopOnDrop(&cancel);
        match self.call(call, &cancel).await {
            End::Outcome(outcome) => Some(pipeline::finish(&self.runtime, &context, tool, outcome)),
            End::Refused(message, verdict) => Some(pipeline::refuse(
                Some(&context.id),
                &Error::internal(message),
                verdict,
            )),
            End::Cancelled => None,
        }
    }

    /// The answer to a message that could not even be framed: line too long, body too large.
    pub fn refuse(&self, id: Option<&Id>, error: &Error) -> Answer {
        pipeline::refuse(id, error, Verdict::Error(error.code))
    }

    async fn call(&self, call: Call, cancel: &CancelToken) -> End {
        let limit = self.time_for(call.tool);
        // Over HTTP the caller's patience counts from the request; on a pipe it is the work that
        // is bounded, however long the queue.
        let arrived = matches!(call.context.arrival.transport, Transport::Http)
            .then(|| limit.map(|limit| Instant::now() + limit))
            .flatten();
        let place = match self.executor.try_admit() {
            Some(place) => place,
            None => match self.wait_for_place(arrived, cancel).await {
                Ok(place) => place,
                Err(end) => return end,
            },
        };
        if cancel.reason().is_some() {
            return End::Cancelled; // while it waited
        }
        let deadline = arrived.or_else(|| limit.map(|limit| Instant::now() + limit));
        let (reply, outcome) = Reply::new(cancel.clone(), Some(place));
        let handler = &self.handlers[call.tool];
        // Unwinding drops the reply, which answers; nothing else is left to do here.
        let _ = catch_unwind(AssertUnwindSafe(|| handler.call(call, reply)));
        tokio::select! {
            biased;
            outcome = bounded(deadline, outcome) => match outcome {
                Some(outcome) if cancel.reason() != Some(Reason::Client) => {
                    End::Outcome(outcome.expect("a reply answers even when it is dropped"))
                }
                Some(_) => End::Cancelled,
                None => {
                    cancel.cancel(Reason::Deadline);
                    End::Refused(TIMED_OUT, Verdict::Late)
                }
            },
            _ = cancel.stopped() => End::Cancelled,
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

    fn time_for(&self, tool: usize) -> Option<Duration> {
        let own = self.runtime.registry.tools[tool]
            .timeout_ms
            .map(Duration::from_millis);
        own.or(self.runtime.settings.limits.call_timeout)
    }
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
