//! A mailbox as Python's half of an actor sees it, and what is sent to it from Python.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;

use super::handling::Handling;
use super::pending::Due;
use super::task::PyActorTask;
use super::{Fault, Letter, Mailbox, Message, PyDoor, PyPending, Ticket};
use crate::settings::configuration_error;

/// The mailbox of one incarnation. Under its name until it is stopped or closed.
#[pyclass(frozen, name = "Mailbox", module = "snodo._snodo")]
pub(crate) struct PyMailbox(Arc<Mailbox>);

#[pymethods]
impl PyMailbox {
    #[new]
    #[pyo3(signature = (name, capacity, over, door=None))]
    fn new(
        py: Python<'_>,
        name: String,
        capacity: usize,
        over: &Bound<'_, PyPending>,
        door: Option<&Bound<'_, PyDoor>>,
    ) -> PyResult<Self> {
        let taken = format!("actor name {name:?} is taken by one that lives");
        let door = door.map(|door| door.get().0.clone());
        Mailbox::open(name, capacity, over.get().clone(), door)
            .map(Self)
            .ok_or_else(|| configuration_error(py, taken))
    }

    #[pyo3(signature = (message, timeout=None))]
    fn ask(&self, py: Python<'_>, message: Py<PyAny>, timeout: Option<f64>) -> PyResult<PyPending> {
        ask(py, Some(&self.0), message, timeout)
    }

    fn tell(&self, py: Python<'_>, message: Py<PyAny>) -> PyResult<()> {
        tell(py, Some(&self.0), message)
    }

    /// What handles the letters on a loop, as an awaitable: ends when the mailbox is stopped.
    fn serve(
        &self,
        actor: &Bound<'_, PyAny>,
        event_loop: &Bound<'_, PyAny>,
    ) -> PyResult<PyActorTask> {
        PyActorTask::new(self.0.clone(), actor, event_loop)
    }

    /// The next letter, for an actor on a thread: blocks until there is one. `None`: there will be
    /// none any more.
    fn take(&self, py: Python<'_>) -> PyResult<Option<PyLetter>> {
        loop {
            match self.0.take(py)? {
                Ok(letter) => {
                    return Ok(Some(PyLetter {
                        mailbox: self.0.clone(),
                        asks: letter.ticket.is_some(),
                        message: letter.message.into_python(py),
                    }));
                }
                Err(true) => return Ok(None),
                Err(false) => self.0.wait(py),
            }
        }
    }

    /// Takes no letters any more; those that are there are handled yet.
    fn stop(&self) {
        self.0.stop();
    }

    /// The actor is gone. Whoever waits is told.
    fn close(&self) {
        self.0.close();
    }

    /// Whether this code runs for a message of this very actor, which cannot end before it.
    fn is_current(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(Handling::current(py)?.is_some_and(|current| current.holds_up(&self.0)))
    }
}

/// A letter that a thread has taken.
#[pyclass(frozen, name = "Letter", module = "snodo._snodo")]
pub(crate) struct PyLetter {
    mailbox: Arc<Mailbox>,
    #[pyo3(get)]
    message: Py<PyAny>,
    /// Whether somebody waits for a reply.
    #[pyo3(get)]
    asks: bool,
}

#[pymethods]
impl PyLetter {
    /// The letter was handled.
    fn reply(&self, value: &Bound<'_, PyAny>) {
        self.mailbox.reply(value);
    }
}

impl Message {
    pub(super) fn into_python(self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Self::Own(message) => message,
            Self::Constant(message) => message.clone_ref(py),
        }
    }
}

/// Asks the actor that has this name.
#[pyfunction]
#[pyo3(signature = (name, message, timeout=None))]
pub(crate) fn ask_actor(
    py: Python<'_>,
    name: &str,
    message: Py<PyAny>,
    timeout: Option<f64>,
) -> PyResult<PyPending> {
    ask(py, Mailbox::find(name).as_ref(), message, timeout)
}

/// Tells the actor that has this name.
#[pyfunction]
pub(crate) fn tell_actor(py: Python<'_>, name: &str, message: Py<PyAny>) -> PyResult<()> {
    tell(py, Mailbox::find(name).as_ref(), message)
}

/// Puts a message into a mailbox. What goes wrong with that is what is pending, too.
fn ask(
    py: Python<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    message: Py<PyAny>,
    seconds: Option<f64>,
) -> PyResult<PyPending> {
    let patience = seconds
        .map(|seconds| crate::settings::seconds(py, "timeout", seconds))
        .transpose()?;
    let pending = PyPending::default();
    if let Some(mailbox) = mailbox {
        pending.is_due(Due::Reply, mailbox);
    }
    let (message, waiter) = (Message::Own(message), pending.waiter());
    post(py, mailbox, message, patience, waiter, None)?;
    Ok(pending)
}

/// Asks on behalf of whatever runs here.
pub(crate) fn post(
    py: Python<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    message: Message,
    patience: Option<Duration>,
    waiter: Box<dyn super::Waits>,
    encoder: Option<Arc<dyn super::Encodes>>,
) -> PyResult<()> {
    let Some(mailbox) = mailbox else {
        waiter.failed(Fault::Unavailable);
        return Ok(());
    };
    let behalf = Handling::current(py)?;
    if behalf
        .as_ref()
        .is_some_and(|behalf| behalf.holds_up(mailbox))
    {
        waiter.failed(Fault::Failed);
        return Ok(());
    }
    let ticket = Ticket::new(waiter, patience, encoder)?;
    let letter = Letter {
        message,
        ticket: Some(ticket.clone()),
        behalf,
    };
    if let Err(fault) = mailbox.put(letter) {
        ticket.fail(fault);
    }
    Ok(())
}

fn tell(py: Python<'_>, mailbox: Option<&Arc<Mailbox>>, message: Py<PyAny>) -> PyResult<()> {
    let letter = Letter::tell(Message::Own(message));
    mailbox
        .map_or(Err(Fault::Unavailable), |mailbox| mailbox.put(letter))
        .map_err(|fault| fault.raised(py))
}
