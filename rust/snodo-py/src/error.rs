//! Exceptions to outcomes: the one place where Python's failures get the shape they leave in.

use pyo3::exceptions::{PyBaseException, PyException, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use snodo_core::call::Target;
use snodo_core::dialect::{Dialect, V2026_07_28};
use snodo_core::error::{Error, Kind as ErrorKind};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};

use crate::callable::{Kind, PyCallable};
use crate::result::PyResultValue;
use crate::{convert, imports};

/// What an exception becomes. A `ToolError` is the tool's own answer, an `Error` fails the request;
/// anything else is a bug of the author's: its text stays in the log, under an id.
pub(crate) fn outcome_of(
    py: Python<'_>,
    callable: &PyCallable,
    call: &Target,
    error: PyErr,
) -> Outcome {
    // Taken out whole: `value()` would leave the traceback behind.
    let exception = error.into_value(py).into_bound(py);
    // When its text or its fields cannot be read it is an exception like any other.
    let is_policy = matches!(call, Target::Policy(_));
    match if is_policy {
        Ok(None)
    } else {
        known(&exception, call)
    } {
        Ok(Some(outcome)) => outcome,
        Ok(None) | Err(_) => unexpected(&exception, callable, call),
    }
}

/// The outcome of an `Error` that was returned instead of raised, or `None` for other values.
pub(crate) fn returned(value: &Bound<'_, PyAny>) -> PyResult<Option<Outcome>> {
    let py = value.py();
    if !value.is_instance_of::<PyBaseException>() {
        return Ok(None);
    }
    if value.is_instance(imports::error(py)?)? {
        return protocol_error(value).map(|error| Some(error.into()));
    }
    if value.is_instance(imports::tool_error(py)?)? {
        return tool_failure(value).map(Some);
    }
    Ok(None)
}

/// Warns of an error whose code the newest revision keeps to itself: its clients are told another.
pub(crate) fn warn_of_code(py: Python<'_>, call: &Target, name: &str, outcome: &Outcome) {
    let warn = |error: &Error| {
        let said = V2026_07_28.shape_error(error).code;
        if said == error.code {
            return;
        }
        let text = format!(
            "{} {name:?} failed with code {}, which the protocol keeps to itself: clients of \
             2026-07-28 read {said} Internal error. Take one that is neither -32002 nor from -32099 \
             to -32020",
            call.noun(),
            error.code
        );
        let _ = imports::tell(py).and_then(|tell| tell.call1((30, text)));
    };
    match &outcome.value {
        Value::Error(error) => warn(error),
        Value::Decisions(decisions) => decisions
            .iter()
            .filter_map(|it| it.as_ref().err())
            .for_each(warn),
        _ => {}
    }
}

/// The error that an exception stands for, if it is one to be answered with.
pub(crate) fn refusal(exception: &Bound<'_, PyAny>) -> Option<Error> {
    let kind = imports::error(exception.py()).ok()?;
    let is_error = exception.is_instance(kind).ok()?;
    is_error.then(|| protocol_error(exception).ok())?
}

fn known(exception: &Bound<'_, PyBaseException>, call: &Target) -> PyResult<Option<Outcome>> {
    let py = exception.py();
    if !matches!(call, Target::Tool(_)) && exception.is_instance(imports::declined(py)?)? {
        // No fault of anybody's: the client is told what its own user did.
        let text: String = exception.str()?.extract()?;
        return Ok(Some(Error::internal(text).into()));
    }
    if let Some(outcome) = returned(exception.as_any())? {
        return Ok(Some(outcome));
    }
    if !exception.is_instance_of::<PyException>() {
        return unwound(exception);
    }
    if !exception.is_instance(imports::conversion_error(py)?)? {
        return Ok(None);
    }
    let text: String = exception.str()?.extract()?;
    Ok(Some(match call {
        Target::Tool(_) => Value::Failure(text).into(),
        // A URI that names nothing its type allows names nothing.
        Target::Resource { uri, .. } | Target::Template { uri, .. } => {
            Error::resource_not_found(uri).into()
        }
        Target::Prompt(_) | Target::Completion { .. } | Target::Method(_) => {
            Error::invalid_params(text).into()
        }
        _ => call.raised().into(),
    }))
}

/// The outcome of a run that ended to ask for input.
fn unwound(exception: &Bound<'_, PyBaseException>) -> PyResult<Option<Outcome>> {
    let py = exception.py();
    let needed = imports::needed_in(py)?.call1((exception,))?;
    if needed.is_none() {
        return Ok(None);
    }
    let result = needed.getattr(intern!(py, "result"))?;
    let result = result.cast::<PyResultValue>()?.get();
    // Questions are built from JSON: what cannot be sent here is too large.
    let outcome = result.outcome(py, Limits::default().result_bytes);
    outcome
        .map(Some)
        .map_err(|refusal| PyValueError::new_err(refusal.to_string()))
}

fn tool_failure(exception: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    let text: String = exception.str()?.extract()?;
    let text = if text.is_empty() {
        "Tool execution failed".into()
    } else {
        text
    };
    Ok(Value::Failure(text).into())
}

/// Bytes of an error's data. More of it is no longer for a program to act on.
const DATA_BYTES: usize = 1 << 20;

fn protocol_error(exception: &Bound<'_, PyAny>) -> PyResult<Error> {
    let py = exception.py();
    let code: i64 = exception.getattr(intern!(py, "code"))?.extract()?;
    let message: String = exception.getattr(intern!(py, "message"))?.extract()?;
    let kind = match exception
        .getattr(intern!(py, "kind"))?
        .extract::<String>()?
        .as_str()
    {
        "json_rpc" => ErrorKind::JsonRpc,
        "protocol" => ErrorKind::Protocol,
        "transport" => ErrorKind::Transport,
        "authorization" => ErrorKind::Authorization,
        "extension" => ErrorKind::Extension,
        _ => ErrorKind::Execution,
    };
    let error = Error::new(code, kind, message);
    let data = exception.getattr(intern!(py, "data"))?;
    if data.is_none() {
        return Ok(error);
    }
    // Data that is not JSON would leak as a repr or not at all: the whole error is withdrawn.
    let encoded = convert::encode(&data, DATA_BYTES).ok();
    if let Some(data) = encoded.and_then(|text| json::parse(&text, &Limits::default()).ok()) {
        return Ok(error.with_data(data));
    }
    let text = format!("the data of an Error ({code}) is not JSON, so it was not sent");
    let _ = imports::tell(py).and_then(|tell| tell.call1((40, text)));
    Ok(Error::internal("Internal error"))
}

fn unexpected(
    exception: &Bound<'_, PyBaseException>,
    callable: &PyCallable,
    call: &Target,
) -> Outcome {
    let py = exception.py();
    let id = imports::report(py)
        .and_then(|report| report.call1((call.noun(), &callable.name, exception)))
        .and_then(|id| id.extract::<String>())
        .ok();
    let told = if callable.is_debugged() {
        told(exception)
    } else {
        None
    };
    if callable.kind == Kind::Tool {
        let mut text = format!("Tool '{}' failed", callable.name);
        if let Some(id) = id {
            text = format!("{text} (error id {id})");
        }
        if let Some(told) = told {
            text = format!("{text}: {told}");
        }
        return Value::Raised(text).into();
    }
    let mut data = Object::new();
    if let Some(id) = id {
        data.insert("errorId", Json::String(id));
    }
    if let Some(told) = told {
        data.insert("exception", Json::String(told));
    }
    let error = match call {
        Target::Policy(_) if !exception.is_instance_of::<PyException>() => call.terminated(),
        call => call.raised(),
    };
    if data.is_empty() {
        error.into()
    } else {
        error.with_data(Json::Object(data)).into()
    }
}

/// Characters of an exception that a client is shown when debugging. The log has more.
const TOLD_CHARACTERS: usize = 4096;

/// The exception in words, as far as it can be put into any.
fn told(exception: &Bound<'_, PyBaseException>) -> Option<String> {
    let name = exception.get_type().qualname().ok()?;
    let text: String = exception.str().ok()?.extract().ok()?;
    let cut: String = text.chars().take(TOLD_CHARACTERS).collect();
    Some(format!("{name}: {cut}"))
}
