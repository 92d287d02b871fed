//! Python names that Rust needs, looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

macro_rules! imported {
    ($(#[$doc:meta])* $name:ident: $kind:ty = $module:literal, $attribute:literal) => {
        $(#[$doc])*
        pub(crate) fn $name(py: Python<'_>) -> PyResult<&Bound<'_, $kind>> {
            static CELL: PyOnceLock<Py<$kind>> = PyOnceLock::new();
            CELL.import(py, $module, $attribute)
        }
    };
}

imported!(
    /// `deepcopy(value, memo)`
    deepcopy: PyAny = "copy", "deepcopy"
);
imported!(
    /// `simplify(value)`: one level of plain data for a value of a type Rust does not know.
    simplify: PyAny = "snodo._encode", "simplify"
);
imported!(
    /// `normalise(value)`: a `Result` for a returned value that is content, or `None`.
    normalise: PyAny = "snodo._encode", "normalise"
);
imported!(
    /// `block(value)`: the content block a value stands for, or `None`.
    block: PyAny = "snodo._encode", "block"
);
imported!(
    /// `presents(cls)`: whether `normalise` has something to say of objects of a class.
    presents: PyAny = "snodo._encode", "presents"
);
imported!(
    /// `report(tool, exception)`: logs an unexpected exception and gives the id it is logged under.
    report: PyAny = "snodo._report", "report"
);
imported!(
    /// `tell(level, text)`: logs a line.
    tell: PyAny = "snodo._report", "tell"
);
imported!(
    /// Why a value is not JSON.
    encode_error: PyType = "snodo._encode", "EncodeError"
);
imported!(
    /// Why an argument cannot become its parameter's type; its text is fit for the wire.
    conversion_error: PyType = "snodo._convert", "ConversionError"
);
imported!(
    /// The exception that fails a request.
    error: PyType = "snodo.errors", "Error"
);
imported!(
    /// The exception that is a tool's own failure.
    tool_error: PyType = "snodo.errors", "ToolError"
);
imported!(
    /// A value was taken that the user did not give.
    declined: PyType = "snodo.errors", "Declined"
);
imported!(
    /// Bad server options.
    configuration_error: PyType = "snodo.errors", "ConfigurationError"
);
imported!(
    /// `pump(source, filter, context, kept, pull)`: a coroutine that tells one listener.
    pump: PyAny = "snodo._subscriptions", "pump"
);
imported!(
    /// What a listener asked for.
    filter: PyType = "snodo._subscriptions", "Filter"
);
imported!(
    /// `set` of the variable behind `current_context()`.
    set_current: PyAny = "snodo.context", "_set_current"
);
imported!(
    /// `Component(kind, name, uri, requested_uri, metadata)`: what a policy is asked about.
    component: PyType = "snodo.auth", "Component"
);
imported!(
    /// What an HTTP request says before its body.
    auth_request: PyAny = "snodo._identity", "request"
);
imported!(
    /// What is said to somebody who may not come in.
    auth_refusal: PyType = "snodo.auth", "Refusal"
);
imported!(
    /// `identified(identify, request, answer)`: a coroutine that answers who sends a request.
    identified: PyAny = "snodo._identity", "identified"
);
imported!(
    /// What a handler raises when it notices that it is to stop.
    cancelled: PyType = "snodo.errors", "Cancelled"
);
imported!(
    /// `ask(context, key, request)`
    ask: PyAny = "snodo._interview", "ask"
);
imported!(
    /// `once(context, key, function)`
    once: PyAny = "snodo._interview", "once"
);
imported!(
    /// A question for the client.
    input_request: PyType = "snodo._answer", "InputRequest"
);
imported!(
    /// `needed_in(exception)`: what `ask` raised to end a run, out of what the run ended with.
    needed_in: PyAny = "snodo._interview", "needed_in"
);
imported!(
    /// `track(context, items, total, message)`
    track: PyAny = "snodo._track", "track"
);
imported!(
    /// Why an ask, a tell or an actor tool comes to nothing.
    actor_error: PyType = "snodo.errors", "ActorError"
);
imported!(
    /// `awaited(pending)`: a coroutine that gives what is pending.
    awaited: PyAny = "snodo._doors", "awaited"
);
imported!(
    /// `get` of the variable that tells which message of an actor is being handled.
    handling: PyAny = "snodo._lives", "_handling"
);
imported!(
    /// `set` of that variable.
    set_handling: PyAny = "snodo._lives", "_set_handling"
);
imported!(
    /// The running loop of this thread, or `None`.
    any_running_loop: PyAny = "asyncio", "_get_running_loop"
);
imported!(
    get_ident: PyAny = "_thread", "get_ident"
);
imported!(
    copy_context: PyAny = "contextvars", "copy_context"
);
imported!(
    cancelled_error: PyType = "asyncio", "CancelledError"
);
imported!(
    running_loop: PyAny = "asyncio", "get_running_loop"
);
imported!(
    task: PyType = "asyncio", "Task"
);
