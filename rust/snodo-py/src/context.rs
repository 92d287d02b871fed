//! The request as a handler sees it: facts of the call, read when asked for, and the ways to speak
//! before it is answered.

mod elsewhere;
mod speaking;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMappingProxy, PyString};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::call::{Call, Target};
use snodo_core::context::{Context, Transport};
use snodo_core::envelope::Id;
use snodo_core::json::Object;
use snodo_server::cancel::CancelToken;
use snodo_server::handler::Reply;
use snodo_server::rest::Rest;
use snodo_server::voice::Voice;

use speaking::Done;

use crate::callable::{PyCallable, State};
use crate::convert::{object_to_python, to_python};
use crate::imports;
use crate::lane::EventLoopLane;
use crate::mrtr::PyKeyRing;
use crate::next::{PyNext, Values};
use crate::sealing::Sealing;

/// The request a handler serves.
#[pyclass(frozen, name = "Context", module = "snodo")]
pub(crate) struct PyContext {
    of: Of,
    cancel: CancelToken,
    voice: Option<Voice>,
    /// What is below a layer.
    rest: Option<Rest>,
    /// What `ask` and `once` remember of this run: theirs alone.
    interview: Mutex<Option<Py<PyAny>>>,
    /// An error that the run ends with, whatever it gives.
    refusal: Mutex<Option<Py<PyAny>>>,
    /// The run has ended: nothing can be asked any more, nor remembered.
    over: AtomicBool,
}

/// Whose context it is.
enum Of {
    /// What is run, and by whom.
    Call(Call, Arc<PyCallable>),
    /// A source of events that is asked, and what the lifespan yielded.
    Source(Arc<Context>, State),
}

impl PyContext {
    pub(crate) fn new(call: Call, callable: Arc<PyCallable>, reply: &Reply) -> Self {
        Self {
            of: Of::Call(call, callable),
            cancel: reply.cancelled().clone(),
            voice: reply.voice().cloned(),
            rest: reply.rest().cloned(),
            interview: Mutex::default(),
            refusal: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// For a source of events, which answers nothing and has nothing to say before.
    pub(crate) fn listening(context: Arc<Context>, state: State, cancel: CancelToken) -> Self {
        Self {
            of: Of::Source(context, state),
            cancel,
            voice: None,
            rest: None,
            interview: Mutex::default(),
            refusal: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    pub(crate) fn call(&self) -> &Call {
        match &self.of {
            Of::Call(call, _) => call,
            Of::Source(..) => unreachable!("a source of events is not called"),
        }
    }

    /// What is run for it.
    pub(crate) fn callable(&self) -> &Arc<PyCallable> {
        match &self.of {
            Of::Call(_, callable) => callable,
            Of::Source(..) => unreachable!("a source of events is not called"),
        }
    }

    fn context(&self) -> &Arc<Context> {
        match &self.of {
            Of::Call(call, _) => &call.context,
            Of::Source(context, _) => context,
        }
    }

    fn lifespan(&self) -> &State {
        match &self.of {
            Of::Call(_, callable) => callable.state(),
            Of::Source(_, state) => state,
        }
    }

    /// The error that the run was to end with, if it caught one of these.
    pub(crate) fn refusal<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let refusal = self.refusal.lock();
        let refusal = refusal.unwrap_or_else(PoisonError::into_inner).take();
        refusal.map(|refusal| refusal.into_bound(py))
    }

    /// The run has ended. Whether it leaves a question behind that was to end it.
    pub(crate) fn end(&self, py: Python<'_>) -> bool {
        self.over.store(true, Ordering::Relaxed);
        let asked = |interview: Py<PyAny>| {
            let result = interview.getattr(py, intern!(py, "result"));
            result.is_ok_and(|result| !result.is_none(py))
        };
        self.interview(py).is_some_and(asked)
    }

    /// What a layer goes on with.
    pub(crate) fn next(&self, event_loop: &Arc<EventLoopLane>) -> PyNext {
        let carried = self.context().carried.clone();
        PyNext::new(self.rest.clone(), carried, event_loop)
    }

    fn refuse_over(&self) -> PyResult<()> {
        if let Of::Call(call, _) = &self.of
            && matches!(call.target, Target::Policy(_))
        {
            let text =
                "a policy decides by itself: it cannot ask the client, nor remember anything";
            return Err(PyRuntimeError::new_err(text));
        }
        if self.over.load(Ordering::Relaxed) {
            let text = "this request is over: ask with the context of the one being served";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(())
    }

    fn sealing<'a>(
        &'a self,
        purpose: &'a str,
        principal: &'a [u8],
        ttl: u64,
        keys: Option<&'a Bound<'_, PyKeyRing>>,
    ) -> PyResult<Sealing<'a>> {
        let Of::Call(call, callable) = &self.of else {
            let text = "no state travels with a subscription";
            return Err(PyRuntimeError::new_err(text));
        };
        let asks = purpose == "ask";
        if asks && call.target.is_of_extension() {
            let text = "an extension cannot ask: a tool, a prompt or a read that it surrounds can";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(Sealing {
            keys: keys.map_or(callable.keys(), |keys| &keys.get().0),
            purpose,
            call,
            name: &callable.name,
            principal,
            ttl,
        })
    }
}

#[pymethods]
impl PyContext {
    #[getter]
    fn auth<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let principal = self.context().arrival.principal.as_ref();
        principal
            .map(|principal| to_python(py, principal))
            .transpose()
    }

    #[getter]
    fn request_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.context().id {
            Id::Int(id) => id.into_bound_py_any(py),
            Id::String(id) => id.into_bound_py_any(py),
        }
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.context().method
    }

    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, &self.context().meta)
    }

    #[getter]
    fn client_info<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let info = self.context().client_info();
        info.map(|info| object_to_python(py, info)).transpose()
    }

    #[getter]
    fn client_capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let nothing = Object::new();
        let declared = self.context().client_capabilities();
        object_to_python(py, declared.unwrap_or(&nothing))
    }

    #[getter]
    fn protocol_version(&self) -> &'static str {
        self.context().protocol_version()
    }

    #[getter]
    fn transport(&self) -> &'static str {
        match self.context().arrival.transport {
            Transport::Http => "http",
            Transport::Stdio => "stdio",
            Transport::Direct => "direct",
        }
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let Some(headers) = &self.context().arrival.headers else {
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
        let given = self.context().input_responses.as_ref();
        given.map(|given| object_to_python(py, given)).transpose()
    }

    #[getter]
    fn request_state(&self) -> Option<&str> {
        self.context().request_state.as_deref()
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let trace = self.context().trace();
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
    fn extensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &self.context().extensions {
            Some(agreed) => object_to_python(py, agreed),
            None => Ok(PyDict::new(py)),
        }
    }

    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyMappingProxy> {
        let carried = self.context().carried.as_ref();
        let values = Values::of(carried).map(|values| values.0.bind(py).clone());
        PyMappingProxy::new(py, values.unwrap_or_else(|| PyDict::new(py)).as_mapping())
    }

    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.lifespan().get(py)
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.cancel.reason().is_some()
    }

    fn check_cancelled(&self, py: Python<'_>) -> PyResult<()> {
        if self.cancelled() {
            return Err(PyErr::from_type(imports::cancelled(py)?.clone(), ()));
        }
        Ok(())
    }

    #[pyo3(signature = (done, total=None, message=None))]
    fn progress(
        &self,
        py: Python<'_>,
        done: &Bound<'_, PyAny>,
        total: Option<&Bound<'_, PyAny>>,
        message: Option<&Bound<'_, PyString>>,
    ) -> PyResult<&'static Py<Done>> {
        speaking::progress(self.voice.as_ref(), done, total, message)?;
        Done::one(py)
    }

    #[pyo3(signature = (level, data, logger=None))]
    fn log(
        &self,
        py: Python<'_>,
        level: &str,
        data: &Bound<'_, PyAny>,
        logger: Option<String>,
    ) -> PyResult<&'static Py<Done>> {
        let from = self.context().log_level;
        speaking::log(self.voice.as_ref(), from, level, data, logger)?;
        Done::one(py)
    }

    #[pyo3(signature = (items, total=None, message=None))]
    fn track<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        total: Option<&Bound<'py, PyAny>>,
        message: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        imports::track(slf.py())?.call1((slf, items, total, message))
    }

    #[pyo3(signature = (key, request=None, /))]
    fn ask<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        request: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().refuse_over()?;
        imports::ask(slf.py())?.call1((slf, key, request))
    }

    fn once<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().refuse_over()?;
        imports::once(slf.py())?.call1((slf, key, function))
    }

    #[pyo3(signature = (purpose, data, principal, ttl, keys=None))]
    fn _seal(
        &self,
        purpose: &str,
        data: &[u8],
        principal: &[u8],
        ttl: u64,
        keys: Option<&Bound<'_, PyKeyRing>>,
    ) -> PyResult<String> {
        self.sealing(purpose, principal, ttl, keys)?.seal(data)
    }

    #[pyo3(signature = (purpose, token, principal, ttl, keys=None))]
    fn _open<'py>(
        &self,
        py: Python<'py>,
        purpose: &str,
        token: &str,
        principal: &[u8],
        ttl: u64,
        keys: Option<&Bound<'py, PyKeyRing>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.sealing(purpose, principal, ttl, keys)?.open(py, token)
    }

    /// Whether the server's keys open it.
    fn _opens(&self, purpose: &str, token: &str, principal: &[u8], ttl: u64) -> PyResult<bool> {
        self.sealing(purpose, principal, ttl, None)?.opens(token)
    }

    #[getter(_interview)]
    fn interview(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let interview = self.interview.lock();
        let interview = interview.unwrap_or_else(PoisonError::into_inner);
        interview.as_ref().map(|interview| interview.clone_ref(py))
    }

    #[setter(_interview)]
    fn set_interview(&self, value: Py<PyAny>) {
        let mut interview = self
            .interview
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = interview.replace(value);
        drop(interview);
        drop(before); // after the lock: dropping it may run Python code
    }

    #[setter(_refusal)]
    fn set_refusal(&self, error: Py<PyAny>) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        let before = refusal.replace(error);
        drop(refusal);
        drop(before); // after the lock: dropping it may run Python code
    }

    #[getter]
    fn _input_rounds(&self) -> usize {
        match &self.of {
            Of::Call(_, callable) => callable.input_rounds(),
            Of::Source(..) => 0,
        }
    }

    /// Runs `work()`, which must not raise, on a thread of the lane of plain functions.
    fn _on_thread(&self, work: Py<PyAny>) -> PyResult<()> {
        let Of::Call(_, callable) = &self.of else {
            let text = "a source of events runs on the event loop alone";
            return Err(PyRuntimeError::new_err(text));
        };
        callable.threads().run(callable, work);
        Ok(())
    }

    /// The URI of a read.
    #[getter]
    fn _uri(&self) -> Option<&str> {
        match &self.of {
            Of::Call(call, _) => call.target.uri(),
            Of::Source(..) => None,
        }
    }

    /// The name of the argument that is completed.
    #[getter]
    fn _argument(&self) -> Option<&str> {
        match &self.of {
            Of::Call(call, _) => call.target.argument(),
            Of::Source(..) => None,
        }
    }

    /// Whether the call would succeed if it gave this value.
    fn _would_send(&self, value: &Bound<'_, PyAny>) -> bool {
        match &self.of {
            Of::Call(call, callable) => callable.would_send(&call.target, value),
            Of::Source(..) => false,
        }
    }

    /// Called for what there is not: the names that other libraries have get a hint.
    #[expect(clippy::unused_self, reason = "Python's attribute protocol")]
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(elsewhere::no_attribute(name))
    }

    fn __repr__(&self) -> String {
        format!(
            "<snodo.Context {} over {}>",
            self.context().method,
            self.transport()
        )
    }
}
