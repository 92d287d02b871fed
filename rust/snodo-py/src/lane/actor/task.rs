//! An actor on an event loop: what its task awaits as long as it lives.
//!
//! Handlers run in that task itself, one after the other without a turn of the loop in between, as long
//! as there are letters and they do not wait for anything.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyGeneratorExit, PyRuntimeError, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Mailbox, lock};
use crate::lane::event_loop::{Step, send};

/// Letters handled before the loop has a turn: others live on it too.
const LETTERS_IN_A_TURN: usize = 100;

#[pyclass(frozen, name = "ActorTask", module = "snodo._snodo")]
pub(crate) struct PyActorTask {
    mailbox: Arc<Mailbox>,
    call: Py<PyAny>,
    cast: Py<PyAny>,
    event_loop: Py<PyAny>,
    /// What was suspended: a handler's coroutine, or the future that comes with the next letter.
    suspended: Mutex<Option<Suspended>>,
}

enum Suspended {
    Handler(Py<PyAny>),
    Idle(Py<PyAny>),
}

impl Suspended {
    fn iterator<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        match self {
            Self::Handler(iterator) | Self::Idle(iterator) => iterator.bind(py),
        }
    }
}

impl PyActorTask {
    pub(super) fn new(
        mailbox: Arc<Mailbox>,
        actor: &Bound<'_, PyAny>,
        event_loop: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let py = actor.py();
        Ok(Self {
            mailbox,
            call: actor.getattr(intern!(py, "handle_call"))?.unbind(),
            cast: actor.getattr(intern!(py, "handle_cast"))?.unbind(),
            event_loop: event_loop.clone().unbind(),
            suspended: Mutex::default(),
        })
    }

    /// Goes on with what was suspended, then with the next letters. `None`: it has ended.
    fn resume<'py>(
        &self,
        py: Python<'py>,
        with: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Step<'py>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let resumed = lock(&self.suspended).take();
        let step = match &resumed {
            Some(suspended) => with(suspended.iterator(py)),
            None => Ok(Step::Returned(py.None().into_bound(py))),
        };
        let walked = step.and_then(|step| self.walk(py, resumed, step));
        let walked = walked.map_err(|error| own(py, error));
        if !matches!(walked, Ok(Some(_))) {
            // By its end or by what a handler raised: whoever waits is told before anybody else.
            self.mailbox.close();
        }
        walked
    }

    fn walk<'py>(
        &self,
        py: Python<'py>,
        mut running: Option<Suspended>,
        mut step: Step<'py>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let mut left = LETTERS_IN_A_TURN;
        loop {
            match (running, step) {
                (running, Step::Yielded(awaited)) => {
                    *lock(&self.suspended) = running;
                    return Ok(Some(awaited.unbind()));
                }
                (Some(Suspended::Handler(_)), Step::Returned(value)) => self.mailbox.reply(&value),
                (_, Step::Returned(_)) => {}
            }
            if left == 0 {
                return Ok(Some(py.None())); // a turn of the loop, as `asyncio.sleep(0)` takes it
            }
            left -= 1;
            let Some(next) = self.next(py)? else {
                return Ok(None);
            };
            step = send(next.iterator(py), py.None().bind(py))?;
            running = Some(next);
        }
    }

    /// The coroutine that handles the next letter, or what comes with it. `None`: there is none to come.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Suspended>> {
        loop {
            match self.mailbox.take(py)? {
                Ok(letter) => {
                    let handler = if letter.ticket.is_some() {
                        &self.call
                    } else {
                        &self.cast
                    };
                    let coroutine = handler.call1(py, (letter.message.into_python(py),))?;
                    return Ok(Some(Suspended::Handler(coroutine)));
                }
                Err(true) => return Ok(None),
                Err(false) => {
                    if let Some(future) = self.mailbox.idle(self.event_loop.bind(py))? {
                        let waiting = future.call_method0(intern!(py, "__await__"))?;
                        return Ok(Some(Suspended::Idle(waiting.unbind())));
                    }
                }
            }
        }
    }
}

/// What a handler raised, told from the end of the task itself.
fn own(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyGeneratorExit>(py) {
        return error;
    }
    let told = PyRuntimeError::new_err("a handler raised GeneratorExit");
    told.set_cause(py, Some(error));
    told
}

#[pymethods]
impl PyActorTask {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.resume(py, |iterator| send(iterator, py.None().bind(py)))
    }

    fn send(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let value = value.clone();
        self.resume(py, move |iterator| send(iterator, &value))?
            .ok_or_else(|| PyStopIteration::new_err(()))
    }

    #[pyo3(signature = (*exception))]
    fn throw<'py>(&self, py: Python<'py>, exception: &Bound<'py, PyTuple>) -> PyResult<Py<PyAny>> {
        if lock(&self.suspended).is_none() {
            // Between two letters nobody can catch it.
            self.mailbox.close();
            let exception = exception.get_item(0)?;
            return Err(PyErr::from_value(exception));
        }
        let thrown = |iterator: &Bound<'py, PyAny>| match iterator
            .call_method1(intern!(py, "throw"), exception)
        {
            Ok(awaited) => Ok(Step::Yielded(awaited)),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                let value = error.value(py).getattr(intern!(py, "value"))?;
                Ok(Step::Returned(value))
            }
            Err(error) => Err(error),
        };
        self.resume(py, thrown)?
            .ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// Nobody awaits it any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let suspended = lock(&self.suspended).take();
        self.mailbox.close();
        match suspended {
            Some(Suspended::Handler(coroutine)) => {
                coroutine.call_method0(py, intern!(py, "close")).map(drop)
            }
            _ => Ok(()),
        }
    }
}
