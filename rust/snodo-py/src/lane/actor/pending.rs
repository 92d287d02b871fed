//! Something that will be known: awaited on any loop, or waited for by any thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::intern;
use pyo3::prelude::*;

use super::{Door, Fault, PyDoor, Waits, lock};
use crate::imports;
use crate::serving::TURN;

/// What an ask gives: its reply, once that is there.
#[pyclass(frozen, name = "Pending", module = "snodo.actors")]
#[derive(Default, Clone)]
pub(crate) struct PyPending(Arc<Slot>);

#[derive(Default)]
struct Slot {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    outcome: Option<Result<Py<PyAny>, Fault>>,
    /// Futures to be done, each on the loop of its own.
    waiting: Vec<(Door, Py<PyAny>)>,
}

impl PyPending {
    pub(super) fn waiter(&self) -> Box<dyn Waits> {
        Box::new(Waiter(self.0.clone()))
    }

    /// For a reply that is known by then.
    pub(crate) fn settle(&self, outcome: Result<Py<PyAny>, Fault>) {
        self.0.settle(outcome);
    }
}

impl Slot {
    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    fn settle(&self, outcome: Result<Py<PyAny>, Fault>) {
        let waiting = {
            let mut known = self.known();
            known.outcome = Some(outcome);
            std::mem::take(&mut known.waiting)
        };
        self.changed.notify_all();
        for (door, future) in waiting {
            door.hand(move |py| {
                if !future
                    .call_method0(py, intern!(py, "done"))?
                    .is_truthy(py)?
                {
                    future.call_method1(py, intern!(py, "set_result"), (py.None(),))?;
                }
                Ok(())
            });
        }
    }
}

struct Waiter(Arc<Slot>);

impl Waits for Waiter {
    fn replied(self: Box<Self>, value: &Bound<'_, PyAny>) {
        self.0.settle(Ok(value.clone().unbind()));
    }

    fn failed(self: Box<Self>, fault: Fault) {
        self.0.settle(Err(fault));
    }
}

#[pymethods]
impl PyPending {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __await__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        let coroutine = imports::awaited(py)?.call1((slf,))?;
        coroutine.call_method0(intern!(py, "__await__"))
    }

    /// Blocks until it is known, and gives it.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        if !imports::any_running_loop(py)?.call0()?.is_none() && !self.is_known() {
            return Err(PyRuntimeError::new_err(
                "wait() would hold up the event loop that it is called on: await it, or write \
                 `async with` instead of `with`",
            ));
        }
        let patience = timeout
            .map(|timeout| crate::settings::seconds(py, "timeout", timeout))
            .transpose()?;
        let end = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if self.is_known() {
                return self.result(py);
            }
            let left = end.map_or(TURN, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(PyTimeoutError::new_err("it is not known in time"));
            }
            py.detach(|| {
                let unknown = |known: &mut Known| known.outcome.is_none();
                let known = self.0.known();
                drop(
                    self.0
                        .changed
                        .wait_timeout_while(known, left.min(TURN), unknown),
                );
            });
            py.check_signals()?;
        }
    }

    /// Whether it is known.
    fn is_known(&self) -> bool {
        self.0.known().outcome.is_some()
    }

    /// What is known.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.0.known().outcome {
            Some(Ok(value)) => Ok(value.clone_ref(py)),
            Some(Err(fault)) => Err(fault.raised(py)),
            None => Err(PyRuntimeError::new_err("it is not known yet")),
        }
    }

    /// Does a future of this door's loop when it is known. False: it is already.
    fn _watch(&self, door: &Bound<'_, PyDoor>, future: Py<PyAny>) -> bool {
        let mut known = self.0.known();
        if known.outcome.is_some() {
            return false;
        }
        known.waiting.push((door.get().0.clone(), future));
        true
    }

    /// Makes it known, to be something or to have failed as an ask does.
    fn _settle(&self, value: Py<PyAny>) {
        self.settle(Ok(value));
    }
}
