//! Something that will be known: awaited on any loop, or waited for by any thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Instant;

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::intern;
use pyo3::prelude::*;

use super::handling::Handling;
use super::waiting::Wait;
use super::{Door, Fault, Mailbox, PyDoor, Waits, lock};
use crate::imports;
use crate::serving::TURN;

/// What an ask gives: its reply, once that is there.
#[pyclass(frozen, name = "Pending", module = "snodo.actors")]
#[derive(Default, Clone)]
pub(crate) struct PyPending(Arc<Slot>);

#[derive(Default)]
pub(super) struct Slot {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    /// `None` is Python's: it can be settled without Python.
    outcome: Option<Result<Option<Py<PyAny>>, Fault>>,
    /// Futures to be done, each on the loop of its own.
    waiting: Vec<(Door, Py<PyAny>)>,
    /// Whose doing it is, if it is an actor's.
    due: Option<(Due, Weak<Mailbox>)>,
}

/// What an actor has to do for it to be known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Reply,
    End,
}

/// Whether code may wait.
enum Stand {
    /// It may, and those that wait for it know as long as this lives.
    Waits(Option<Wait>),
    /// An actor that ends waits for this very code: as far as that is concerned, it has ended.
    Over,
}

impl PyPending {
    pub(super) fn waiter(&self) -> Box<dyn Waits> {
        Box::new(Waiter(self.0.clone()))
    }

    /// For a reply that is known by then.
    pub(crate) fn settle(&self, outcome: Result<Py<PyAny>, Fault>) {
        self.0.settle(outcome.map(Some));
    }

    /// The actor has ended.
    pub(super) fn end(&self) {
        self.0.settle(Ok(None));
    }

    pub(super) fn is_due(&self, due: Due, mailbox: &Arc<Mailbox>) {
        self.0.known().due = Some((due, Arc::downgrade(mailbox)));
    }

    fn stand(&self, py: Python<'_>) -> PyResult<Stand> {
        let due = {
            let known = self.0.known();
            let due = known.due.as_ref().filter(|_| known.outcome.is_none());
            due.and_then(|(due, mailbox)| Some((*due, mailbox.upgrade()?)))
        };
        let Some((due, mailbox)) = due else {
            return Ok(Stand::Waits(None));
        };
        let Some(current) = Handling::current(py)? else {
            return Ok(Stand::Waits(None));
        };
        match (Wait::begin(current, &self.0, &mailbox), due) {
            (Some(wait), _) => Ok(Stand::Waits(Some(wait))),
            (None, Due::End) => Ok(Stand::Over),
            (None, Due::Reply) => Err(Fault::Failed.raised(py)),
        }
    }
}

/// A task that waits for an actor.
#[pyclass(frozen, name = "Wait", module = "snodo._snodo")]
pub(crate) struct PyWait(Mutex<Option<Wait>>);

#[pymethods]
impl PyWait {
    /// It waits no more.
    fn over(&self) {
        drop(lock(&self.0).take());
    }
}

impl Slot {
    pub(super) fn is_known(&self) -> bool {
        self.known().outcome.is_some()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    fn settle(&self, outcome: Result<Option<Py<PyAny>>, Fault>) {
        let waiting = {
            let mut known = self.known();
            if known.outcome.is_some() {
                return;
            }
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
    fn replied(self: Box<Self>, value: &Bound<'_, PyAny>, _text: Vec<u8>) {
        self.0.settle(Ok(Some(value.clone().unbind())));
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
        let _wait = match self.stand(py)? {
            Stand::Waits(wait) => wait,
            Stand::Over => return Ok(py.None()),
        };
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
        self.0.is_known()
    }

    /// What is known.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.0.known().outcome {
            Some(Ok(Some(value))) => Ok(value.clone_ref(py)),
            Some(Ok(None)) => Ok(py.None()),
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

    /// A place among those that wait. `None`: for an end that waits for this code.
    fn _stand(&self, py: Python<'_>) -> PyResult<Option<PyWait>> {
        Ok(match self.stand(py)? {
            Stand::Waits(wait) => Some(PyWait(Mutex::new(wait))),
            Stand::Over => None,
        })
    }

    /// Makes it known, to be something or to have failed as an ask does.
    fn _settle(&self, value: Py<PyAny>) {
        self.settle(Ok(value));
    }
}
