//! An operation and a context to either a finished answer or a call.

use crate::call::{Completed, Target};
use crate::context::Context;
use crate::error::{self, Error};
use crate::json::{Json, Object};
use crate::operation::{Completion, Operation, Reference};
use crate::outcome::Value;
use crate::registry::Completable;
use crate::runtime::Runtime;
use crate::suggest;

/// Where an operation leads.
#[derive(Debug)]
pub enum Route<'a> {
    /// To a result that was written in advance.
    Ready(&'a [u8]),
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
            let cursor_bytes = runtime.settings.limits.cursor_bytes;
            let page = rendered.list(of).open(cursor.as_deref(), cursor_bytes)?;
            Ok(Route::Ready(page))
        }
        Operation::CallTool { name, arguments } => call_tool(runtime, context, &name, arguments),
        Operation::ReadResource { uri } => match runtime.registry.find_resource(&uri) {
            Some(at) => Ok(match &rendered.reads[at] {
                Some(result) => Route::Ready(result),
                None => Route::Run {
                    target: Target::Resource { at, uri },
                    arguments: Object::new(),
                },
            }),
            None => read_template(runtime, uri),
        },
        Operation::GetPrompt { name, arguments } => get_prompt(runtime, &name, arguments),
        Operation::Complete(completion) => complete(runtime, completion),
    }
}

fn call_tool<'a>(
    runtime: &Runtime,
    context: &Context,
    name: &str,
    mut arguments: Object,
) -> Result<Route<'a>, Error> {
    let registry = &runtime.registry;
    let at = registry.find_tool(name).ok_or_else(|| {
        let names = registry.tools.iter().map(|tool| tool.name.as_str());
        unknown("Unknown tool", name, names)
    })?;
    let tool = &registry.tools[at];
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

/// No direct resource has this URI, and none that a template matches too can be registered: whatever
/// matches, it is a template, and exactly one has to.
fn read_template<'a>(runtime: &Runtime, uri: String) -> Result<Route<'a>, Error> {
    let (at, arguments) = {
        let mut matching = runtime.registry.matching(&uri);
        match (matching.next(), matching.next()) {
            (Some(one), None) => one,
            (None, _) => return Err(Error::resource_not_found(&uri)),
            (Some(_), Some(_)) => {
                let text = "Multiple resource routes matched the requested URI";
                return Err(Error::internal(text));
            }
        }
    };
    Ok(Route::Run {
        target: Target::Template { at, uri },
        arguments,
    })
}

fn get_prompt<'a>(runtime: &Runtime, name: &str, arguments: Object) -> Result<Route<'a>, Error> {
    let registry = &runtime.registry;
    let at = registry.find_prompt(name).ok_or_else(|| {
        let names = registry.prompts.iter().map(|prompt| prompt.name.as_str());
        unknown("Unknown prompt", name, names)
    })?;
    let required = registry.prompts[at].required.iter();
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

fn complete<'a>(runtime: &Runtime, completion: Completion) -> Result<Route<'a>, Error> {
    let Completion {
        of: reference,
        argument,
        value,
        arguments,
    } = completion;
    let registry = &runtime.registry;
    let of = match &reference {
        Reference::Prompt(name) => registry.find_prompt(name).map(Completed::Prompt),
        Reference::Template(text) => registry.find_template(text).map(Completed::Template),
    };
    let of = of.ok_or_else(|| match &reference {
        Reference::Prompt(name) => {
            let text = format!("Unknown completion prompt: {}", error::excerpt(name));
            Error::invalid_params(text)
        }
        Reference::Template(text) => {
            Error::invalid_params("Unknown completion resource template").with_uri(text)
        }
    })?;
    let completable = registry
        .completions(of)
        .iter()
        .find(|completable| completable.argument == argument)
        .ok_or_else(|| not_completable(&argument, &reference))?;
    if let Completed::Prompt(at) = of {
        check_given(&registry.prompts[at].arguments, &arguments)?;
    }

    let known = completable.values.as_deref();
    let known = known.map(|values| Completable::complete(values, &value));
    let target = Target::Completion { of, argument };
    if let Some(value) = known {
        return Ok(Route::Known { target, value });
    }
    let mut given = Object::new();
    given.insert("value", Json::String(value));
    given.insert("arguments", Json::Object(arguments));
    Ok(Route::Run {
        target,
        arguments: given,
    })
}

fn not_completable(argument: &str, reference: &Reference) -> Error {
    let error = Error::invalid_params("Argument does not support completion");
    let argument = Json::String(error::excerpt(argument).into_owned());
    let error = with_member(error, "argument", argument);
    with_member(
        error,
        "referenceType",
        Json::String(reference.name().to_owned()),
    )
}

/// A prompt knows its arguments, so none but those can have been given.
fn check_given(declared: &[String], given: &Object) -> Result<(), Error> {
    let mut unknown: Vec<_> = given
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !declared.iter().any(|declared| declared == name))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_unstable();
    let unknown = unknown
        .into_iter()
        .map(|name| Json::String(error::excerpt(name).into_owned()));
    let error = Error::invalid_params("Unknown prompt completion context arguments");
    Err(with_member(
        error,
        "unknown",
        Json::Array(unknown.collect()),
    ))
}

/// -32602 for a name that nothing has, with the name that was probably meant.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::invalid_params(format!("{what}: {}", error::excerpt(name)));
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
