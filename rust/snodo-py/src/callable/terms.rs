//! How every callable of a server is run.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use snodo_core::mrtr::state::KeyRing;
use snodo_core::schema::Validator;

use crate::lane::ThreadLane;
use crate::telemetry::Around;

/// What the lifespan yielded: `context.state`.
#[derive(Clone, Default)]
pub(crate) struct State(Arc<Mutex<Option<Py<PyAny>>>>);

impl State {
    pub(crate) fn set(&self, value: Option<Py<PyAny>>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, value);
        drop(state);
        drop(before); // after the lock: dropping it may run Python code that looks here
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            Some(state) => state.bind(py).clone(),
            None => py.None().into_bound(py),
        }
    }
}

/// How every callable of a server is run.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) validator: Validator,
    /// Whether exceptions are shown to the client.
    pub(crate) debug: bool,
    /// `Limits::result_bytes`
    pub(crate) result_bytes: usize,
    /// `Limits::input_rounds`
    pub(crate) input_rounds: usize,
    pub(crate) state: State,
    /// What seals the state that travels through clients.
    pub(crate) keys: Arc<KeyRing>,
    /// What surrounds every handler, if anything does.
    pub(crate) around: Option<Arc<Around>>,
    /// Where plain functions run that a coroutine waits for.
    pub(crate) threads: Arc<ThreadLane>,
}
