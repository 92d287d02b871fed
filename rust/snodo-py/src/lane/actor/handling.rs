//! Which message runs here, and on whose behalf: so that no actor waits for itself, not even by way of
//! others. It follows context variables, into the tasks that a handler starts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::prelude::*;

use super::Mailbox;
use crate::imports;

/// A message that an actor handles.
pub(super) struct Handling {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) serial: u64,
    /// Where the asker is an actor too: what it handles, and waits with.
    behalf: Option<Arc<Handling>>,
}

/// The value of the context variable.
#[pyclass(frozen, name = "Handling", module = "snodo._snodo")]
struct PyHandling(Arc<Handling>);

impl Handling {
    /// What runs from here on, in this task or thread, is for this message.
    pub(super) fn enter(
        py: Python<'_>,
        mailbox: Arc<Mailbox>,
        serial: u64,
        behalf: Option<Arc<Self>>,
    ) -> PyResult<()> {
        let handling = PyHandling(Arc::new(Self {
            mailbox,
            serial,
            behalf,
        }));
        imports::set_handling(py)?.call1((handling,)).map(drop)
    }

    /// For which message this code runs, if it is not over.
    pub(super) fn current(py: Python<'_>) -> PyResult<Option<Arc<Self>>> {
        let current = imports::handling(py)?.call0()?;
        let current = current.cast::<PyHandling>().ok();
        let current = current.map(|current| current.get().0.clone());
        Ok(current.filter(|current| current.goes_on()))
    }

    /// Whether this actor cannot reply before it is over.
    pub(super) fn holds_up(&self, mailbox: &Arc<Mailbox>) -> bool {
        let mut link = Some(self);
        // Where one is over, those it acted for do not wait for this any more.
        while let Some(handling) = link.filter(|handling| handling.goes_on()) {
            if Arc::ptr_eq(&handling.mailbox, mailbox) {
                return true;
            }
            link = handling.behalf.as_deref();
        }
        false
    }

    fn goes_on(&self) -> bool {
        self.mailbox.handled.load(Ordering::Acquire) == self.serial
    }
}
