//! `call_next`: what an extension's layer is given to ask for what is below it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use snodo_core::context::Carried;
use snodo_core::error::Error;
use snodo_core::limits::Limits;
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::rest::{Granted, Rest, What};

use crate::convert::{plain_object, to_python};
use crate::imports;
use crate::lane::EventLoopLane;
use crate::result::PyResultValue;
use crate::settings::seconds;

/// What layers give to whatever runs below them: `context.values`.
pub(crate) struct Values(pub(crate) Py<PyDict>);

impl Values {
    /// What a request carries, if any layer gave it something.
    pub(crate) fn of(carried: Option<&Carried>) -> Option<&Self> {
        carried?.0.downcast_ref()
    }
}

/// Goes on with the request, once.
#[pyclass(frozen, name = "CallNext", module = "snodo._snodo")]
pub(crate) struct PyNext {
    rest: Option<Rest>,
    /// Given by the layers around.
    carried: Option<Carried>,
    event_loop: Arc<EventLoopLane>,
    used: AtomicBool,
}

impl PyNext {
    pub(crate) fn new(
        rest: Option<Rest>,
        carried: Option<Carried>,
        event_loop: &Arc<EventLoopLane>,
    ) -> Self {
        Self {
            rest,
            carried,
            event_loop: event_loop.clone(),
            used: AtomicBool::new(false),
        }
    }

    fn ask<'py>(&self, py: Python<'py>, what: What) -> PyResult<Bound<'py, PyAny>> {
        ask(py, self.rest.as_ref(), &self.event_loop, what)
    }
}

/// What comes of it, as a future of the running loop.
fn ask<'py>(
    py: Python<'py>,
    rest: Option<&Rest>,
    event_loop: &Arc<EventLoopLane>,
    what: What,
) -> PyResult<Bound<'py, PyAny>> {
    if !event_loop.runs_here() {
        let text = "call_next goes on where around() runs, on no other event loop";
        return Err(PyRuntimeError::new_err(text));
    }
    let future = imports::running_loop(py)?
        .call0()?
        .call_method0(intern!(py, "create_future"))?;
    let cancel = CancelToken::new();
    let watch = Watch(cancel.clone());
    future.call_method1(intern!(py, "add_done_callback"), (watch,))?;
    let (event_loop, waiting) = (event_loop.clone(), future.clone().unbind());
    let asked = rest.is_some_and(|rest| {
        rest.ask(what, cancel, move |granted| {
            event_loop.post(move |event_loop| settle(waiting.bind(event_loop.py()), granted));
        })
    });
    if !asked {
        future.call_method0(intern!(py, "cancel"))?;
        return Err(over());
    }
    Ok(future)
}

fn over() -> PyErr {
    PyRuntimeError::new_err("call_next goes on while around() runs, and with one thing at a time")
}

/// What is below is given these beside what layers around gave.
fn given(
    py: Python<'_>,
    carried: Option<&Carried>,
    values: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Option<Carried>> {
    let Some(values) = values else {
        return Ok(carried.cloned());
    };
    let all = match Values::of(carried) {
        Some(before) => before.0.bind(py).copy()?,
        None => PyDict::new(py),
    };
    all.update(values)?;
    Ok(Some(Carried(Arc::new(Values(all.unbind())))))
}

#[pymethods]
impl PyNext {
    #[pyo3(signature = (values=None, /))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        values: Option<&Bound<'py, PyMapping>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let carried = given(py, self.carried.as_ref(), values)?;
        if self.used.swap(true, Ordering::Relaxed) {
            return Err(PyRuntimeError::new_err("call_next goes on once"));
        }
        self.ask(py, What::Run(carried))
    }

    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, What::Check)
    }

    #[pyo3(signature = (*, timeout=None))]
    fn detach(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PyDetached> {
        let time = timeout
            .map(|time| seconds(py, "timeout", time))
            .transpose()?;
        let rest = self.rest.as_ref().and_then(|rest| rest.detach(time));
        Ok(PyDetached {
            rest: rest.ok_or_else(over)?,
            carried: self.carried.clone(),
            event_loop: self.event_loop.clone(),
        })
    }
}

/// Goes on with the request when its layer has answered, as often as it is called.
#[pyclass(frozen, name = "Detached", module = "snodo._snodo")]
pub(crate) struct PyDetached {
    rest: Rest,
    carried: Option<Carried>,
    event_loop: Arc<EventLoopLane>,
}

#[pymethods]
impl PyDetached {
    #[pyo3(signature = (values=None, /, *, input_responses=None, request_state=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        values: Option<&Bound<'py, PyMapping>>,
        input_responses: Option<&Bound<'py, PyDict>>,
        request_state: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let carried = given(py, self.carried.as_ref(), values)?;
        let what = match input_responses {
            None => What::Run(carried),
            Some(responses) => {
                let responses = plain_object(responses, Limits::default().result_bytes)
                    .map_err(|why| PyValueError::new_err(format!("input_responses: {why}")))?;
                What::Resume(carried, responses, request_state)
            }
        };
        ask(py, Some(&self.rest), &self.event_loop, what)
    }
}

/// What is called when a future that waits for what is below is done, in whatever way.
#[pyclass(frozen, module = "snodo._snodo")]
struct Watch(CancelToken);

#[pymethods]
impl Watch {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future
            .call_method0(intern!(future.py(), "cancelled"))?
            .is_truthy()?
        {
            self.0.cancel(Reason::Client);
        }
        Ok(())
    }
}

/// Tells a layer what came of what it asked for.
fn settle(future: &Bound<'_, PyAny>, granted: Granted) -> PyResult<()> {
    let py = future.py();
    // Cancelled while it waited.
    if future.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match granted {
        Ok(None) => future.call_method1(intern!(py, "set_result"), (py.None(),))?,
        Ok(Some(result)) => {
            let result = Bound::new(py, PyResultValue::answered(result))?;
            future.call_method1(intern!(py, "set_result"), (result,))?
        }
        Err(error) => {
            let error = raised(py, &error)?;
            future.call_method1(intern!(py, "set_exception"), (error,))?
        }
    };
    Ok(())
}

/// `snodo.Error` for an error that is the answer.
fn raised<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let data = error.data.as_ref().map(|data| to_python(py, data));
    imports::error(py)?.call1((error.code, &*error.message, data.transpose()?))
}
