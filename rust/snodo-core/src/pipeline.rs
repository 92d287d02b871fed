//! The two pure halves of every request: `prepare` takes bytes to a call or an answer, `finish`
//! takes an outcome to bytes.

mod batch;
mod extended;
mod gist;
mod output;
mod question;

use std::sync::Arc;

pub use batch::batch;
pub use extended::{Check, Telling, check, current, event, heard, passed, rest, told};
use gist::Said;
pub use gist::{Component, Gist, Kind};
use output::check_output;
pub use output::{explain_output, is_owed};
pub use question::{Question, Questions, answered, withdraw};

use crate::call::{Call, Target};
use crate::context::{Arrival, Context, Transport};
use crate::dialect::{self, Dialect, Notification, Opening, Request, shape};
use crate::envelope::{self, Id, Message};
use crate::error::Error;
use crate::json::Object;
use crate::limits::{FILTER_BYTES, FILTER_URIS};
pub use crate::operation::Change;
use crate::operation::Operation;
use crate::outcome::{Outcome, Value};
use crate::peer::Peer;
use crate::policy::Hearing;
use crate::router::{self, Route};
use crate::runtime::Runtime;
use crate::subscription::Listen;

/// What became of a message before anything ran.
#[derive(Debug)]
pub enum Prepared {
    /// Everything is known already.
    Answer(Answer),
    /// Run this, then `finish`.
    Call(Call),
    /// Tell of changes from now on.
    Listen(Listen),
    /// The client no longer wants the answer to this request.
    Cancel(Id),
    /// A handshake: keep the peer for its session, then answer.
    Open {
        /// What to answer.
        answer: Answer,
        /// Who it is from now on.
        peer: Arc<Peer>,
    },
    /// Change the session, then answer.
    Settle {
        /// The request's.
        id: Id,
        /// What of it.
        change: Change,
        /// What to answer.
        answer: Answer,
        /// What to answer instead if the session holds no more of it.
        refused: Answer,
    },
    /// The client responds to a request of the server.
    Reply(Reply),
    /// Accepted; nothing to say and nothing to do (a notification or a response).
    Silence,
}

/// What a client responds to a request of the server.
#[derive(Debug, PartialEq)]
pub struct Reply {
    /// The request's id.
    pub id: Id,
    /// The result, or the error, as the client tells it.
    pub response: Result<Object, Error>,
}

/// A response, as bytes.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// The whole JSON-RPC response, compact, without line ending.
    pub body: Vec<u8>,
    /// What it says, for transports that have statuses.
    pub verdict: Verdict,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A result.
    Result,
    /// A result that says a tool failed, by a bug of the tool's.
    Raised,
    /// An error of this code.
    Error(i64),
    /// An error of this code, told in an exchange that went well: no status tells it too.
    Told(i64),
    /// No place to run it.
    Busy,
    /// It ran out of time.
    Late,
    /// The server is shutting down.
    Closing,
}

/// Parse, admit, route, validate.
pub fn prepare(runtime: &Runtime, body: &[u8], arrival: Arrival) -> Prepared {
    prepare_noting(runtime, body, arrival, None)
}

/// The same, and takes down what may be told of the message.
pub fn prepare_noting(
    runtime: &Runtime,
    body: &[u8],
    arrival: Arrival,
    mut gist: Option<&mut Gist>,
) -> Prepared {
    match envelope::read(body, &runtime.settings.limits) {
        Ok(Some(Message::Request { id, method, params })) => {
            if let Some(gist) = &mut gist {
                let (id, params) = (Some(&id), params.as_ref());
                let method = &method;
                gist.note(&runtime.registry, &Said { id, method, params }, &arrival);
            }
            let opening = Opening::new(&method, params.as_ref(), &arrival);
            let dialect = match dialect::choose(&runtime.settings.dialects, &opening) {
                Ok(dialect) => dialect,
                Err(error) => return refused(Some(&id), &error),
            };
            if let Some(gist) = &mut gist {
                gist.spoken(runtime, dialect, &method);
            }
            let echo = id.clone();
            let request = Request {
                id,
                method,
                params,
                arrival,
            };
            let prepared = admitted(runtime, dialect, request).unwrap_or_else(|error| {
                let error = dialect.shape_error(&error);
                let verdict = dialect.verdict(Verdict::Error(error.code));
                Prepared::Answer(refuse(Some(&echo), &error, verdict))
            });
            if let (Some(gist), Prepared::Call(call)) = (gist, &prepared) {
                gist.about(&runtime.registry, &call.target);
            }
            prepared
        }
        Ok(Some(Message::Notification { method, params })) => {
            if let Some(gist) = gist {
                let (id, params) = (None, params.as_ref());
                let method = &method;
                gist.note(&runtime.registry, &Said { id, method, params }, &arrival);
            }
            notification(runtime, &method, params, &arrival)
        }
        Ok(Some(Message::Response { id, response })) => {
            if let Some(gist) = gist {
                gist.kind = Some(Kind::Response);
            }
            reply(id, response, &arrival)
        }
        Ok(None) => Prepared::Silence,
        Err(malformed) => {
            if let Some(gist) = gist {
                gist.id.clone_from(&malformed.id);
            }
            let error = batch::refused(runtime, body, &arrival).unwrap_or(malformed.error);
            refused(malformed.id.as_ref(), &error)
        }
    }
}

/// What follows on a call.
#[derive(Debug)]
pub enum Step {
    /// The request is answered.
    Answer(Answer),
    /// Run this, then `proceed` again. At most one such step for each template that matches by code of
    /// its own, one for a policy, and one for the component itself.
    Call(Call),
    /// Change the session, then answer.
    Settle {
        /// What of it.
        change: Change,
        /// What to answer.
        answer: Answer,
        /// What to answer instead if the session holds no more of it.
        refused: Answer,
    },
    /// Whether the listener may hear of the URI that was asked about.
    Heed(Hearing),
    /// Ask the client these, then go on with [`answered`]. Only where [`Context::asks`].
    Ask(Questions),
}

/// What follows on the call of `target`, which gave `outcome`: for a matcher or a policy that was asked
/// what was to be done next, for everything else the answer.
pub fn proceed(
    runtime: &Runtime,
    context: &Arc<Context>,
    target: Target,
    outcome: &Outcome,
) -> Step {
    let route = match target {
        Target::Matcher(search) => router::resume(runtime, context, *search, outcome),
        Target::Policy(inquiry) => router::decided(runtime, context, *inquiry, outcome),
        Target::Negotiation(negotiation) => {
            return extended::negotiated(runtime, context, *negotiation, outcome);
        }
        target if context.dialect.asks() => {
            return question::after(runtime, context, &target, outcome);
        }
        target => return Step::Answer(finish(runtime, context, &target, outcome)),
    };
    step(runtime, context, route)
}

/// Whether a listener may hear of this URI, where a policy has a say in it: a call to be run, or
/// [`Step::Heed`]. An answer is the listener's, whose request fails.
pub fn heed(runtime: &Runtime, context: &Arc<Context>, uri: String) -> Step {
    step(runtime, context, router::listen(runtime, context, uri))
}

/// The call that asks a policy about more than one URI at once; its decisions go to [`proceed`] one by
/// one.
pub fn inquire(context: &Arc<Context>, target: Target) -> Call {
    Call {
        target,
        arguments: Object::new(),
        context: context.clone(),
    }
}

fn step(runtime: &Runtime, context: &Arc<Context>, route: Result<Route<'_>, Error>) -> Step {
    let answer = match route {
        Ok(Route::Run { target, arguments }) => {
            return Step::Call(Call {
                target,
                arguments,
                context: context.clone(),
            });
        }
        Ok(Route::Settle(change)) => {
            let (answer, refused) = settled(context);
            return Step::Settle {
                change,
                answer,
                refused,
            };
        }
        Ok(Route::Heed(heard)) => return Step::Heed(heard),
        Ok(Route::Ready(result)) => Ok(ready(&context.id, result)),
        Ok(Route::Written(result)) => Ok(ready(&context.id, &result)),
        Ok(Route::Known { target, value }) => {
            let shaped = shape_result(runtime, context, &target, &value.into());
            shaped.map(|body| Answer {
                body,
                verdict: Verdict::Result,
            })
        }
        // These are known before anything is run.
        Ok(Route::Listen(_) | Route::Open { .. }) => Err(Error::internal("Internal error")),
        Err(error) => Err(error),
    };
    Step::Answer(answer.unwrap_or_else(|error| failed(context, &error)))
}

/// What to answer to a change of the session, and if it holds no more of it.
fn settled(context: &Context) -> (Answer, Answer) {
    let text = format!("A session watches at most {FILTER_URIS} URIs of {FILTER_BYTES} bytes");
    let refused = failed(context, &Error::invalid_params(text));
    (ready(&context.id, b"{}"), refused)
}

/// Shape: the answer to `context`'s request, whose call of `target` gave `outcome`.
pub fn finish(
    runtime: &Runtime,
    context: &Arc<Context>,
    target: &Target,
    outcome: &Outcome,
) -> Answer {
    let checked = match target {
        Target::Tool(at) => check_output(&runtime.registry.tools[*at], &outcome.value),
        _ => Ok(()),
    };
    match checked.and_then(|()| shape_result(runtime, context, target, outcome)) {
        Ok(body) => Answer {
            body,
            verdict: match outcome.value {
                Value::Raised(_) => Verdict::Raised,
                _ => Verdict::Result,
            },
        },
        Err(error) => failed(context, &error),
    }
}

/// The error that a call ended with.
fn failed(context: &Context, error: &Error) -> Answer {
    let error = context.dialect.shape_error(error);
    let verdict = context.dialect.verdict(Verdict::Error(error.code));
    refuse(Some(&context.id), &error, verdict)
}

/// An error that no handler raised, for the request `id` (busy, late, closing, malformed framing).
pub fn refuse(id: Option<&Id>, error: &Error, verdict: Verdict) -> Answer {
    Answer {
        body: shape::error_response(id, error),
        verdict,
    }
}

fn refused(id: Option<&Id>, error: &Error) -> Prepared {
    Prepared::Answer(refuse(id, error, Verdict::Error(error.code)))
}

fn admitted(
    runtime: &Runtime,
    dialect: &'static dyn Dialect,
    request: Request,
) -> Result<Prepared, Error> {
    let (mut context, params) = dialect.admit(runtime, request)?;
    if let Some(extensions) = runtime.extensions(dialect) {
        return extended::begin(runtime, extensions, context, params);
    }
    let operation = dialect.operation(&mut context, params)?;
    routed(runtime, context, operation)
}

/// Where an admitted request leads that no extension has a part in, or none any more.
fn routed(runtime: &Runtime, context: Context, operation: Operation) -> Result<Prepared, Error> {
    let dialect = context.dialect;
    let body = match router::route(runtime, &context, operation)? {
        Route::Run { target, arguments } => {
            return Ok(Prepared::Call(Call {
                target,
                arguments,
                context: Arc::new(context),
            }));
        }
        Route::Listen(filter) => {
            return Ok(Prepared::Listen(Listen {
                context: Arc::new(context),
                filter,
                before: None,
            }));
        }
        Route::Open {
            client_info,
            capabilities,
        } => {
            let peer = Arc::new(Peer {
                dialect,
                client_info,
                capabilities,
            });
            let discovered = &runtime.rendered(dialect).discover;
            let answer = ready(&context.id, discovered);
            return Ok(Prepared::Open { answer, peer });
        }
        Route::Settle(change) => {
            let (answer, refused) = settled(&context);
            return Ok(Prepared::Settle {
                id: context.id,
                change,
                answer,
                refused,
            });
        }
        Route::Ready(result) => shape::response(&context.id, result),
        Route::Written(result) => shape::response(&context.id, &result),
        // Nobody has asked yet.
        Route::Heed(_) => return Err(Error::internal("Internal error")),
        Route::Known { target, value } => shape_result(runtime, &context, &target, &value.into())?,
    };
    Ok(Prepared::Answer(Answer {
        body,
        verdict: Verdict::Result,
    }))
}

fn ready(id: &Id, result: &[u8]) -> Answer {
    Answer {
        body: shape::response(id, result),
        verdict: Verdict::Result,
    }
}

fn notification(
    runtime: &Runtime,
    method: &str,
    params: Option<Object>,
    arrival: &Arrival,
) -> Prepared {
    let settings = &runtime.settings;
    let opening = Opening::new(method, params.as_ref(), arrival);
    // Unlike a request, a notification of nobody's is no error: the newest revision ignores it.
    let dialect = dialect::choose(&settings.dialects, &opening).unwrap_or(settings.dialects[0]);
    match dialect.notification(settings, method, params, arrival) {
        Ok(Notification::Cancel(id)) => Prepared::Cancel(id),
        Ok(Notification::Ignored) => Prepared::Silence,
        Err(error) => refused(None, &error),
    }
}

/// Whom nobody asked has nothing to respond to. A response is never answered, but an HTTP request must
/// be.
fn reply(id: Option<Id>, response: Result<Object, Error>, arrival: &Arrival) -> Prepared {
    if let (Some(id), Some(_)) = (id, &arrival.peer) {
        return Prepared::Reply(Reply { id, response });
    }
    match arrival.transport {
        Transport::Http => {
            let text = "A server takes requests and notifications, not responses";
            refused(None, &Error::invalid_request(text))
        }
        Transport::Stdio | Transport::Direct => Prepared::Silence,
    }
}

fn shape_result(
    runtime: &Runtime,
    context: &Context,
    target: &Target,
    outcome: &Outcome,
) -> Result<Vec<u8>, Error> {
    // Enough for the envelope, the server's identity and a short text.
    let mut out = Vec::with_capacity(512);
    shape::open_response(&context.id, &mut out);
    let start = out.len();
    context
        .dialect
        .shape(runtime, context, target, outcome, &mut out)?;
    if out.len() - start > runtime.settings.limits.result_bytes {
        let text = format!("{} result is too large", target.noun());
        return Err(Error::internal(text));
    }
    shape::close_response(&mut out);
    Ok(out)
}
