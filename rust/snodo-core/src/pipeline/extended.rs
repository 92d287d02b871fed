//! The way of a request that extensions may take part in: it is settled which do, then their layers go
//! around it, and below them it is routed like any other.

use std::sync::Arc;

use super::{Answer, Prepared, Step, failed, routed};
use crate::call::{Call, Layer, Method, Negotiation, Selecting, Target, Wanted};
use crate::context::{Carried, Context};
use crate::dialect::shape;
use crate::error::{Error, Kind};
use crate::extension::Extensions;
use crate::json::{self, Json, Object};
use crate::limits::Limits;
use crate::operation::Operation;
use crate::outcome::{Outcome, Value};
use crate::runtime::Runtime;
use crate::subscription::{Change, Event, Filter, Listen, Own, Selection};

/// Where an admitted request leads in a revision that is extended.
pub(super) fn begin(
    runtime: &Runtime,
    extensions: Extensions<'_>,
    mut context: Context,
    params: Object,
) -> Result<Prepared, Error> {
    let wanted = if let Some((at, method)) = extensions.method(context.method) {
        let name = extensions.all[at].methods[method].name;
        Wanted::Method(Method { at, method, name }, params)
    } else {
        let sent = if extensions.surround(context.method) {
            params.clone()
        } else {
            Object::new() // nobody is to see them
        };
        match context.dialect.operation(&mut context, params)? {
            Operation::Listen { filter, others } => Wanted::Listen(filter.offered(runtime), others),
            operation => Wanted::Core(Arc::new(operation), Arc::new(sent)),
        }
    };
    let mut waiting = Vec::new();
    let mut agreed = Object::new();
    for (at, settings) in extensions.listed(&context) {
        let extension = &extensions.all[at];
        if extension.negotiates {
            waiting.push(at);
        } else {
            agreed.insert(extension.id.as_str(), Json::Object(settings.clone()));
        }
    }
    waiting.reverse();
    context.extensions = (!agreed.is_empty()).then(|| Arc::new(agreed));
    go_on(runtime, extensions, Arc::new(context), waiting, wanted)
}

/// What follows on a negotiation.
pub(super) fn negotiated(
    runtime: &Runtime,
    context: &Arc<Context>,
    negotiation: Negotiation,
    outcome: &Outcome,
) -> Step {
    step(context, settled(runtime, context, negotiation, outcome))
}

fn settled(
    runtime: &Runtime,
    context: &Arc<Context>,
    negotiation: Negotiation,
    outcome: &Outcome,
) -> Result<Prepared, Error> {
    let extensions = runtime
        .extensions(context.dialect)
        .ok_or_else(|| Error::internal("Internal error"))?;
    let Negotiation {
        at,
        waiting,
        wanted,
    } = negotiation;
    let invalid = || Error::internal("Extension negotiation returned an invalid result");
    let mut given = object(outcome, invalid)?;
    let context = match given.take("settings") {
        None => context.clone(),
        Some(Json::Object(settings)) => Arc::new(context.agreed(&extensions.all[at].id, settings)),
        Some(_) => return Err(invalid()),
    };
    go_on(runtime, extensions, context, waiting, wanted)
}

/// The next negotiation, or what is wanted.
fn go_on(
    runtime: &Runtime,
    extensions: Extensions<'_>,
    context: Arc<Context>,
    mut waiting: Vec<usize>,
    wanted: Wanted,
) -> Result<Prepared, Error> {
    if let Some(at) = waiting.pop() {
        let mut listed = extensions.listed(&context);
        let settings = listed.find(|(listed, _)| *listed == at);
        let arguments = settings.map_or_else(Object::new, |(_, settings)| settings.clone());
        drop(listed);
        let listening = match &wanted {
            Wanted::Listen(filter, _) => Some(filter.clone()),
            _ => None,
        };
        let call = Call {
            target: Target::Negotiation(Box::new(Negotiation {
                at,
                waiting,
                wanted,
            })),
            arguments,
            context: context.clone(),
        };
        return Ok(match listening {
            None => Prepared::Call(call),
            Some(filter) => Prepared::Listen(Listen {
                context,
                filter,
                before: Some(Box::new(call)),
            }),
        });
    }
    match wanted {
        Wanted::Method(method, params) => {
            admit(extensions, &context, method.at, method.name)?;
            if let Some(schema) = &extensions.all[method.at].methods[method.method].schema {
                schema
                    .check_arguments(&params)
                    .map_err(Error::invalid_params)?;
            }
            Ok(Prepared::Call(Call {
                target: Target::Method(Box::new(method)),
                arguments: params,
                context,
            }))
        }
        Wanted::Core(operation, params) => {
            let mut around = extensions.around(context.method);
            around.reverse();
            below(runtime, context, around, operation, params)
        }
        Wanted::Listen(filter, others) => {
            let mut asked = extensions.asked(&others);
            let mut error = Ok(());
            asked.retain(|(at, _)| {
                let extension = &extensions.all[*at];
                let agreed = context.agrees_on(&extension.id);
                let declared = agreed || is_listed(extensions, &context, *at);
                if let (false, Some(missing)) = (declared, &extension.missing) {
                    error = Err(missing.clone());
                }
                agreed
            });
            error?;
            asked.reverse();
            let listen = Listen {
                context,
                filter,
                before: None,
            };
            selecting(extensions, listen, asked).map(Prepared::Listen)
        }
    }
}

/// Whether the client may use what is an extension's.
fn admit(
    extensions: Extensions<'_>,
    context: &Context,
    at: usize,
    method: &str,
) -> Result<(), Error> {
    let extension = &extensions.all[at];
    if context.agrees_on(&extension.id) {
        return Ok(());
    }
    Err(match &extension.missing {
        Some(missing) if !is_listed(extensions, context, at) => missing.clone(),
        _ => Error::method_not_found(method),
    })
}

/// Whether the client declares it. Of what it declares and is not agreed on nothing is missing: the
/// extension has declined.
fn is_listed(extensions: Extensions<'_>, context: &Context, at: usize) -> bool {
    extensions.listed(context).any(|(listed, _)| listed == at)
}

/// The next layer, or where the operation leads.
fn below(
    runtime: &Runtime,
    context: Arc<Context>,
    mut layers: Vec<usize>,
    operation: Arc<Operation>,
    params: Arc<Object>,
) -> Result<Prepared, Error> {
    let Some(at) = layers.pop() else {
        let context = Arc::unwrap_or_clone(context);
        return routed(runtime, context, Arc::unwrap_or_clone(operation));
    };
    Ok(Prepared::Call(Call {
        arguments: (*params).clone(),
        target: Target::Layer(Box::new(Layer {
            at,
            below: layers,
            operation,
            params,
        })),
        context,
    }))
}

/// What is below a layer, which may have something to give to it.
pub fn rest(
    runtime: &Runtime,
    context: &Arc<Context>,
    layer: &Layer,
    carried: Option<Carried>,
) -> Step {
    let given = carried.map(|carried| Arc::new(context.carrying(carried)));
    let given = given.unwrap_or_else(|| context.clone());
    let Layer {
        below: layers,
        operation,
        params,
        ..
    } = layer.clone();
    step(context, below(runtime, given, layers, operation, params))
}

/// The checks that are made before anything is run for an operation.
#[derive(Debug)]
pub enum Check {
    /// Run this, then [`super::proceed`].
    Call(Call),
    /// They are over: this would be run.
    Runs,
    /// They are over, and this is the answer.
    Answer(Answer),
}

impl From<Step> for Check {
    fn from(step: Step) -> Self {
        match step {
            Step::Call(call) if call.target.is_lookup() => Self::Call(call),
            Step::Call(_) | Step::Ask(_) | Step::Settle { .. } | Step::Heed(_) => Self::Runs,
            Step::Answer(answer) => Self::Answer(answer),
        }
    }
}

/// Begins the checks of what is below a layer and all layers below it.
pub fn check(runtime: &Runtime, context: &Arc<Context>, layer: &Layer) -> Check {
    let operation = (*layer.operation).clone();
    step(context, routed(runtime, (**context).clone(), operation)).into()
}

/// The result object of an answer to the request, or its error: for a layer to look at.
pub fn passed(context: &Context, answer: &Answer) -> Result<Vec<u8>, Error> {
    let mut opening = Vec::new();
    shape::open_response(&context.id, &mut opening);
    let result = answer.body.strip_prefix(opening.as_slice());
    if let Some(result) = result.and_then(|result| result.strip_suffix(b"}")) {
        return Ok(result.to_vec());
    }
    let internal = || Error::internal("Internal error");
    let limits = Limits {
        json_depth: crate::limits::MAX_JSON_DEPTH,
        ..Limits::default()
    };
    let Ok(Json::Object(mut response)) = json::parse(&answer.body, &limits) else {
        return Err(internal());
    };
    let Some(Json::Object(mut error)) = response.take("error") else {
        return Err(internal());
    };
    let (Some(Json::Int(code)), Some(Json::String(message))) =
        (error.take("code"), error.take("message"))
    else {
        return Err(internal());
    };
    let passed = Error::new(code, Kind::Protocol, message);
    Err(match error.take("data") {
        Some(data) => passed.with_data(data),
        None => passed,
    })
}

/// What is known of a listener once what had to be run before gave `outcome`.
pub fn heard(
    runtime: &Runtime,
    mut listen: Listen,
    target: Target,
    outcome: &Outcome,
) -> Result<Listen, Error> {
    let extensions = runtime
        .extensions(listen.context.dialect)
        .ok_or_else(|| Error::internal("Internal error"))?;
    match target {
        Target::Negotiation(negotiation) => {
            match settled(runtime, &listen.context, *negotiation, outcome)? {
                Prepared::Listen(listen) => Ok(listen),
                _ => Err(Error::internal("Internal error")),
            }
        }
        Target::Selection(which) => {
            let Selecting { at, asked, waiting } = *which;
            let invalid = || Error::internal("Extension subscription returned an invalid result");
            let accepted = object(outcome, invalid)?;
            let extension = &extensions.all[at];
            let accepted = Selection::new(&extension.id, accepted).map_err(|_| invalid())?;
            if !accepted.is_within(&asked) {
                return Err(invalid());
            }
            let own = accepted;
            if !own.members().is_empty() {
                listen.filter.extensions.push(own);
            }
            selecting(extensions, listen, waiting)
        }
        _ => Err(Error::internal("Internal error")),
    }
}

/// The listener, with the next extension to be asked what it hears.
fn selecting(
    extensions: Extensions<'_>,
    mut listen: Listen,
    mut asked: Vec<(usize, Object)>,
) -> Result<Listen, Error> {
    while let Some((at, members)) = asked.pop() {
        let own = Selection::new(&extensions.all[at].id, members)?;
        if own.members().is_empty() {
            continue;
        }
        listen.before = Some(Box::new(Call {
            arguments: own.members().clone(),
            target: Target::Selection(Box::new(Selecting {
                at,
                asked: own,
                waiting: asked,
            })),
            context: listen.context.clone(),
        }));
        return Ok(listen);
    }
    listen.before = None;
    Ok(listen)
}

/// The call that puts an event of an extension into words; `None` for any other event.
pub fn event(
    runtime: &Runtime,
    context: &Arc<Context>,
    event: &Event,
    telling: Telling,
) -> Option<Call> {
    let Change::Extension(own) = &event.change else {
        return None;
    };
    let extensions = runtime.extensions(context.dialect)?;
    let mut arguments = Object::new();
    arguments.insert("selector", Json::String(own.selector.clone()));
    if telling == Telling::Change {
        let payload = event.payload.as_deref().cloned();
        arguments.insert("payload", payload.unwrap_or(Json::Null));
    }
    Some(Call {
        target: Target::Event(extensions.named(&own.extension)?),
        arguments,
        context: context.clone(),
    })
}

/// Why a listener is told of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// It has changed.
    Change,
    /// It is as it is, now that the listener hears of changes. What there is to say the extension knows.
    Current,
}

/// What a listener of this filter is told first: how things stand that it hears of.
pub fn current(runtime: &Runtime, context: &Context, accepted: &Filter) -> Vec<Event> {
    let Some(extensions) = runtime.extensions(context.dialect) else {
        return Vec::new();
    };
    let telling = accepted.extensions.iter().filter(|own| {
        let at = extensions.named(&own.extension);
        at.is_some_and(|at| extensions.all[at].tells_current)
    });
    let each = telling.flat_map(|own| {
        own.selectors().map(|selector| Own {
            extension: own.extension.clone(),
            selector: selector.to_owned(),
        })
    });
    let changes = each.map(|own| Change::Extension(Box::new(own)));
    let events = changes.filter_map(|change| Event::new(change, Object::new()).ok());
    events.collect()
}

/// The notification of an event that was put into words; `None`: there is nothing to say.
pub fn told(context: &Context, event: &Event, outcome: &Outcome) -> Result<Option<Vec<u8>>, Error> {
    let invalid = || Error::internal("Extension event returned an invalid result");
    let mut said = object(outcome, invalid)?;
    let (method, params) = match (said.take("method"), said.take("params")) {
        (None, None) => return Ok(None),
        (Some(Json::String(method)), Some(Json::Object(params))) => (method, params),
        _ => return Err(invalid()),
    };
    let dialect = context.dialect;
    let said = dialect.tell_own(&context.id, &method, &params, &event.metadata);
    said.map(Some).ok_or_else(invalid)
}

/// The object that a callback gives.
fn object(outcome: &Outcome, invalid: impl Fn() -> Error) -> Result<Object, Error> {
    match &outcome.value {
        Value::Structured(text) => match json::parse(text, &Limits::default()) {
            Ok(Json::Object(object)) => Ok(object),
            _ => Err(invalid()),
        },
        Value::Error(error) => Err(error.clone()),
        _ => Err(invalid()),
    }
}

fn step(context: &Context, prepared: Result<Prepared, Error>) -> Step {
    match prepared {
        Ok(Prepared::Call(call)) => Step::Call(call),
        Ok(Prepared::Answer(answer)) => Step::Answer(answer),
        Ok(_) => Step::Answer(failed(context, &Error::internal("Internal error"))),
        Err(error) => Step::Answer(failed(context, &error)),
    }
}
