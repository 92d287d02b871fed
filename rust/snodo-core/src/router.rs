//! An operation and a context to either a finished answer or a call.

use crate::context::Context;
use crate::error::{self, Error};
use crate::json::{Json, Object};
use crate::operation::Operation;
use crate::runtime::Runtime;
use crate::suggest;

/// Where an operation leads.
#[derive(Debug)]
pub enum Route<'a> {
    /// To a result that was written in advance.
    Ready(&'a [u8]),
    /// To a tool failure with this text: the model can correct its call.
    Failed(String),
    /// To a tool's handler.
    Run {
        /// Its place in the registry.
        tool: usize,
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
        Operation::ListTools { cursor } => {
            let cursor_bytes = runtime.settings.limits.cursor_bytes;
            let page = rendered.tools.open(cursor.as_deref(), cursor_bytes)?;
            Ok(Route::Ready(page))
        }
        Operation::CallTool { name, arguments } => call_tool(runtime, context, &name, arguments),
    }
}

fn call_tool<'a>(
    runtime: &Runtime,
    context: &Context,
    name: &str,
    mut arguments: Object,
) -> Result<Route<'a>, Error> {
    let registry = &runtime.registry;
    let at = registry
        .find_tool(name)
        .ok_or_else(|| unknown_tool(runtime, name))?;
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
    match tool.input.check_arguments(&arguments) {
        Ok(()) => Ok(Route::Run {
            tool: at,
            arguments,
        }),
        Err(text) => Ok(Route::Failed(text)),
    }
}

fn unknown_tool(runtime: &Runtime, name: &str) -> Error {
    let error = Error::invalid_params(format!("Unknown tool: {}", error::excerpt(name)));
    let names = runtime.registry.tools.iter().map(|tool| tool.name.as_str());
    match suggest::closest(name, names) {
        None => error,
        Some(meant) => {
            let mut data = Object::new();
            data.insert("didYouMean", Json::String(meant.to_owned()));
            error.with_data(Json::Object(data))
        }
    }
}
