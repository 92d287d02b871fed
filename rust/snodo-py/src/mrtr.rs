//! Input requests, their answers and the keys of sealed state, asked about from Python.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snodo_core::mrtr;
use snodo_core::mrtr::state::KeyRing;

use crate::schema::read;

/// Why this is no request that may be embedded in a result; `None` if it is one.
#[pyfunction]
pub(crate) fn check_input_request(request: &[u8]) -> PyResult<Option<String>> {
    let checked = mrtr::check_request(&read(request)?);
    Ok(checked.err().map(|error| error.to_string()))
}

/// Why a response is none to this request, which is a good one; `None` if it is one.
#[pyfunction]
pub(crate) fn check_input_response(request: &[u8], response: &[u8]) -> PyResult<Option<String>> {
    let checked = mrtr::check_response(&read(request)?, &read(response)?);
    Ok(checked.err().map(|error| error.to_string()))
}

/// The keys that seal and open request state.
#[pyclass(frozen, name = "KeyRing", module = "snodo._snodo")]
pub(crate) struct PyKeyRing(pub(crate) Arc<KeyRing>);

#[pymethods]
impl PyKeyRing {
    #[new]
    fn new(secrets: Vec<(Option<String>, Vec<u8>)>) -> PyResult<Self> {
        match KeyRing::new(secrets) {
            Ok(ring) => Ok(Self(Arc::new(ring))),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }

    fn __repr__(&self) -> String {
        format!("<snodo.{:?}>", self.0)
    }
}
