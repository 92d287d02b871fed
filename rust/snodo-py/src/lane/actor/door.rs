//! The way onto somebody's event loop: a lane that runs no calls there, only errands.

use std::sync::{Arc, Weak};

use pyo3::prelude::*;

use crate::imports;
use crate::lane::EventLoopLane;
use crate::lane::event_loop::Resident;

/// Hands errands to one loop, from any thread.
#[derive(Clone)]
pub(crate) struct Door {
    /// The loop's own, so that it goes with the loop.
    lane: Weak<EventLoopLane>,
    /// Of the loop, which lives as long as the lane does.
    address: usize,
}

impl Door {
    /// Runs something on the thread of the loop: at once if that is this one, else at its next turn.
    /// Of a loop that was closed nobody hears.
    pub(super) fn hand<F>(&self, errand: F)
    where
        F: FnOnce(Python<'_>) -> PyResult<()> + Send + 'static,
    {
        let Some(lane) = self.lane.upgrade() else {
            return;
        };
        // The first is cheap, and keeps threads that are not Python's from going on.
        if lane.runs_here() && Python::attach(|py| self.is_here(py)) {
            return Python::attach(|py| {
                if let Err(error) = errand(py) {
                    error.write_unraisable(py, None);
                }
            });
        }
        lane.post(|event_loop| errand(event_loop.py()));
    }

    /// Has somebody told when the loop is closed.
    pub(super) fn house(&self, resident: &Arc<dyn Resident>) {
        if let Some(lane) = self.lane.upgrade() {
            lane.house(resident);
        }
    }

    /// Whether the loop was closed.
    pub(super) fn is_gone(&self) -> bool {
        self.lane.strong_count() == 0
    }

    /// Whether the running loop of this thread is the one it leads to.
    pub(super) fn is_here(&self, py: Python<'_>) -> bool {
        let running = imports::any_running_loop(py).and_then(PyAnyMethods::call0);
        running.is_ok_and(|running| running.as_ptr() as usize == self.address)
    }
}

/// `Door(loop)`, made on that loop's own thread.
#[pyclass(frozen, name = "Door", module = "snodo._snodo")]
pub(crate) struct PyDoor(pub(super) Door);

#[pymethods]
impl PyDoor {
    #[new]
    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let lane = EventLoopLane::new()?;
        lane.attach(event_loop)?;
        Ok(Self(Door {
            lane: Arc::downgrade(&lane),
            address: event_loop.as_ptr() as usize,
        }))
    }
}
