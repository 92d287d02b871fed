//! The request as a handler sees it: facts of the call, read when asked for.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use snodo_core::context::{Context, Transport};
use snodo_core::envelope::Id;
use snodo_core::json::{Json, Object};
use snodo_core::meta;
use snodo_server::cancel::CancelToken;

use crate::callable::State;
use crate::convert::{object_to_python, to_python};

/// The request a handler serves.
#[pyclass(frozen, name = "Context", module = "snodo")]
pub(crate) struct PyContext {
    context: Arc<Context>,
    cancel: CancelToken,
    state: State,
}

impl PyContext {
    pub(crate) fn new(context: Arc<Context>, cancel: CancelToken, state: State) -> Self {
        Self {
            context,
            cancel,
            state,
        }
    }
}

#[pymethods]
impl PyContext {
    #[getter]
    fn auth<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.context
            .arrival
            .principal
            .clone()
            .map(|principal| to_python(py, principal))
            .transpose()
    }

    #[getter]
    fn request_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.context.id {
            Id::Int(id) => id.into_bound_py_any(py),
            Id::String(id) => id.into_bound_py_any(py),
        }
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.context.method
    }

    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, self.context.meta.clone())
    }

    #[getter]
    fn client_info<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.meta_value(py, meta::CLIENT_INFO)
    }

    #[getter]
    fn client_capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let declared = self.context.meta.get(meta::CLIENT_CAPABILITIES).cloned();
        to_python(py, declared.unwrap_or(Json::Object(Object::new())))
    }

    #[getter]
    fn protocol_version(&self) -> &'static str {
        self.context.dialect.version()
    }

    #[getter]
    fn transport(&self) -> &'static str {
        match self.context.arrival.transport {
            Transport::Http => "http",
            Transport::Stdio => "stdio",
            Transport::Direct => "direct",
        }
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let Some(headers) = &self.context.arrival.headers else {
            return Ok(dict);
        };
        for (name, value) in headers.all() {
            // Repeated fields are one list, as HTTP says.
            let value = match dict.get_item(&name)? {
                Some(before) => format!("{before}, {value}"),
                None => value,
            };
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    #[getter]
    fn input_responses<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.context
            .input_responses
            .clone()
            .map(|given| object_to_python(py, given))
            .transpose()
    }

    #[getter]
    fn request_state(&self) -> Option<&str> {
        self.context.request_state.as_deref()
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let trace = meta::Trace::read(&self.context.meta);
        let members = [
            ("traceparent", trace.traceparent),
            ("tracestate", trace.tracestate),
            ("baggage", trace.baggage),
        ];
        for (key, value) in members {
            if let Some(value) = value {
                dict.set_item(key, value)?;
            }
        }
        Ok(dict)
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.cancel.reason().is_some()
    }

    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.state.get(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "<snodo.Context {} over {}>",
            self.context.method,
            self.transport()
        )
    }
}

impl PyContext {
    fn meta_value<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.context
            .meta
            .get(key)
            .cloned()
            .map(|value| to_python(py, value))
            .transpose()
    }
}
