//! An operation and a context to either a finished answer or a call.

mod completion;
mod policy;
mod resource;

pub(crate) use policy::decided;
pub(crate) use resource::{listen, resume};

use crate::call::Target;
use crate::context::Context;
use crate::error::{self, Error, Kind, code};
use crate::json::{Json, Object};
use crate::operation::{Change, Operation};
use crate::outcome::Value;
use crate::policy::{Found, Hearing, Purpose};
use crate::runtime::Runtime;
use crate::subscription::Filter;
use crate::suggest;

/// Where an operation leads.
#[derive(Debug)]
pub enum Route<'a> {
    /// To a result that was written in advance.
    Ready(&'a [u8]),
    /// To a result that is written for whoever asks.
    Written(Vec<u8>),
    /// To an outcome that is known without running anything.
    Known {
        /// Of what.
        target: Target,
        /// What a handler would have given.
        value: Value,
    },
    /// To a handler.
    Run {
        /// Whose.
        target: Target,
        /// What it is given.
        arguments: Object,
    },
    /// To what the server tells by itself: the part of it that was asked for.
    Listen(Filter),
    /// To a session.
    Open {
        /// Who the client is.
        client_info: Object,
        /// What it can do.
        capabilities: Object,
    },
    /// To another state of the session.
    Settle(Change),
    /// Back to a listener: whether it may hear of the URI it is about.
    Heed(Hearing),
}

/// Finds what the operation is about and holds the request to its terms.
pub fn route<'a>(
    runtime: &'a Runtime,
    context: &Context,
    operation: Operation,
) -> Result<Route<'a>, Error> {
    let rendered = runtime.rendered(context.dialect);
    match operation {
        Operation::Discover => Ok(Route::Ready(&rendered.discover)),
        Operation::List { of, cursor } => {
            policy::admit(runtime, context, Found::List { of, cursor })
        }
        Operation::CallTool { name, arguments } => {
            let tools = &runtime.registry.tools;
            let at = runtime.registry.find_tool(&name).ok_or_else(|| {
                let names = tools.iter().map(|tool| tool.name.as_str());
                unknown(runtime, "Unknown tool", &name, names)
            })?;
            policy::admit(runtime, context, Found::Tool { at, arguments })
        }
        Operation::ReadResource { uri } => resource::find(runtime, context, uri, Purpose::Read),
        Operation::GetPrompt { name, arguments } => {
            let prompts = &runtime.registry.prompts;
            let at = runtime.registry.find_prompt(&name).ok_or_else(|| {
                let names = prompts.iter().map(|prompt| prompt.name.as_str());
                unknown(runtime, "Unknown prompt", &name, names)
            })?;
            policy::admit(runtime, context, Found::Prompt { at, arguments })
        }
        Operation::Complete(completion) => {
            let of = completion::find(runtime, &completion.of)?;
            policy::admit(runtime, context, Found::Completion { of, completion })
        }
        Operation::Listen { filter, .. } => Ok(Route::Listen(filter.offered(runtime))),
        Operation::Ping => Ok(Route::Ready(b"{}")),
        Operation::Open {
            client_info,
            capabilities,
        } => Ok(Route::Open {
            client_info,
            capabilities,
        }),
        Operation::Settle(change) => settle(runtime, context, change),
    }
}

/// On to what was found, which nobody forbids: holds the request to its terms.
fn granted<'a>(runtime: &'a Runtime, context: &Context, found: Found) -> Result<Route<'a>, Error> {
    match found {
        Found::List { of, cursor } => {
            let cursor_bytes = runtime.settings.limits.cursor_bytes;
            let list = runtime.rendered(context.dialect).list(of);
            let page = list.open(cursor.as_deref(), cursor_bytes)?;
            Ok(Route::Ready(page))
        }
        Found::Tool { at, arguments } => call_tool(runtime, context, at, arguments),
        Found::Prompt { at, arguments } => get_prompt(runtime, at, arguments),
        Found::Resource { at, uri, purpose } => match purpose {
            Purpose::Read => Ok(resource::read(runtime, context, at, uri)),
            purpose => Ok(resource::told(purpose, uri, Hearing::Allowed)),
        },
        Found::Template {
            at,
            uri,
            variables,
            purpose,
        } => match purpose {
            Purpose::Read => Ok(Route::Run {
                target: Target::Template { at, uri },
                arguments: variables,
            }),
            purpose => Ok(resource::told(purpose, uri, Hearing::Allowed)),
        },
        Found::Completion { of, completion } => completion::complete(runtime, of, completion),
    }
}

/// Without a session there is nothing to change. A log level does no harm then; but nobody could be told
/// of what is watched.
fn settle<'a>(runtime: &'a Runtime, context: &Context, change: Change) -> Result<Route<'a>, Error> {
    match change {
        Change::Watch { uri, .. }
            if context.arrival.peer.is_some() && runtime.settings.authorized =>
        {
            resource::find(runtime, context, uri, Purpose::Watch)
        }
        change if context.arrival.peer.is_some() => Ok(Route::Settle(change)),
        Change::LogLevel(_) => Ok(Route::Ready(b"{}")),
        Change::Watch { .. } | Change::Unwatch(_) => {
            let text = format!("{} needs a session: send initialize first", context.method);
            Err(Error::new(code::METHOD_NOT_FOUND, Kind::Protocol, text))
        }
    }
}

fn call_tool<'a>(
    runtime: &Runtime,
    context: &Context,
    at: usize,
    mut arguments: Object,
) -> Result<Route<'a>, Error> {
    let tool = &runtime.registry.tools[at];
    if let Some(headers) = context.arrival.headers.as_deref() {
        context
            .dialect
            .check_mirrors(&tool.input.mirrors, &arguments, headers)?;
    }
    for key in &tool.null_is_absent {
        if arguments.get(key) == Some(&Json::Null) {
            arguments.take(key);
        }
    }
    tool.input
        .unstringify(&mut arguments, &runtime.settings.limits);
    let target = Target::Tool(at);
    Ok(match tool.input.check_arguments(&arguments) {
        Ok(()) => Route::Run { target, arguments },
        Err(text) => Route::Known {
            target,
            value: Value::Failure(text),
        },
    })
}

fn get_prompt<'a>(runtime: &Runtime, at: usize, arguments: Object) -> Result<Route<'a>, Error> {
    let required = runtime.registry.prompts[at].required.iter();
    let missing = required.filter(|name| !arguments.contains(name)).cloned();
    let missing: Vec<_> = missing.map(Json::String).collect();
    if !missing.is_empty() {
        let error = Error::invalid_params("Missing required prompt arguments");
        return Err(with_member(error, "missing", Json::Array(missing)));
    }
    Ok(Route::Run {
        target: Target::Prompt(at),
        arguments,
    })
}

/// -32602 for a name that nothing has, with the name that was probably meant. Where a policy decides who
/// sees what, none is suggested: it might be one that is hidden.
fn unknown<'a>(
    runtime: &Runtime,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Error {
    let error = Error::invalid_params(format!("{what}: {}", error::excerpt(name)));
    if runtime.settings.authorized {
        return error;
    }
    match suggest::closest(name, known) {
        None => error,
        Some(meant) => with_member(error, "didYouMean", Json::String(meant.to_owned())),
    }
}

/// The error with one more member in its data.
fn with_member(mut error: Error, key: &str, value: Json) -> Error {
    let mut data = match error.data.take() {
        Some(Json::Object(data)) => data,
        _ => Object::new(),
    };
    data.insert(key, value);
    error.with_data(Json::Object(data))
}
