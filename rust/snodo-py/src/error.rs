//! Exceptions to outcomes: the one place where Python's failures get the shape they leave in.

use pyo3::intern;
use pyo3::prelude::*;
use snodo_core::error::{Error, Kind};
use snodo_core::json;
use snodo_core::limits::Limits;
use snodo_core::outcome::{Outcome, Value};

use crate::{convert, imports};

/// What a tool's exception becomes. A `ToolError` is the tool's own answer, an `Error` fails the
/// request; anything else is a bug of the tool: its text stays in the log, under an id.
pub(crate) fn outcome_of(py: Python<'_>, tool: &str, error: PyErr, debug: bool) -> Outcome {
    // Taken out whole: `value()` would leave the traceback behind.
    let exception = error.into_value(py).into_bound(py);
    // When its text or its fields cannot be read it is an exception like any other.
    match known(&exception) {
        Ok(Some(outcome)) => outcome,
        Ok(None) | Err(_) => unexpected(&exception, tool, debug),
    }
}

/// The outcome of an `Error` that was returned instead of raised, or `None` for other values.
pub(crate) fn returned(value: &Bound<'_, PyAny>) -> PyResult<Option<Outcome>> {
    let py = value.py();
    if !value.is_instance_of::<pyo3::exceptions::PyBaseException>() {
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

fn known(exception: &Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<Option<Outcome>> {
    let py = exception.py();
    if let Some(outcome) = returned(exception.as_any())? {
        return Ok(Some(outcome));
    }
    if exception.is_instance(imports::conversion_error(py)?)? {
        return Ok(Some(Value::Failure(exception.str()?.extract()?).into()));
    }
    Ok(None)
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

fn protocol_error(exception: &Bound<'_, PyAny>) -> PyResult<Error> {
    let py = exception.py();
    let code: i64 = exception.getattr(intern!(py, "code"))?.extract()?;
    let message: String = exception.getattr(intern!(py, "message"))?.extract()?;
    let kind = match exception
        .getattr(intern!(py, "kind"))?
        .extract::<String>()?
        .as_str()
    {
        "json_rpc" => Kind::JsonRpc,
        "protocol" => Kind::Protocol,
        "transport" => Kind::Transport,
        "authorization" => Kind::Authorization,
        "extension" => Kind::Extension,
        _ => Kind::Execution,
    };
    let error = Error::new(code, kind, message);
    let data = exception.getattr(intern!(py, "data"))?;
    if data.is_none() {
        return Ok(error);
    }
    // Data that is not JSON would leak as a repr or not at all: the whole error is withdrawn.
    let encoded = convert::encode(&data).ok();
    match encoded.and_then(|text| json::parse(&text, &Limits::default()).ok()) {
        Some(data) => Ok(error.with_data(data)),
        None => Ok(Error::internal("Internal error")),
    }
}

fn unexpected(
    exception: &Bound<'_, pyo3::exceptions::PyBaseException>,
    tool: &str,
    debug: bool,
) -> Outcome {
    let py = exception.py();
    let id = imports::report(py)
        .and_then(|report| report.call1((tool, exception)))
        .and_then(|id| id.extract::<String>());
    let mut text = match id {
        Ok(id) => format!("Tool '{tool}' failed (error id {id})"),
        Err(_) => format!("Tool '{tool}' failed"),
    };
    if debug {
        let name = exception.get_type().qualname().map(|name| name.to_string());
        let told = exception.str().and_then(|text| text.extract::<String>());
        if let (Ok(name), Ok(told)) = (name, told) {
            text = format!("{text}: {name}: {told}");
        }
    }
    Value::Failure(text).into()
}
