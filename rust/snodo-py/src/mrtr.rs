//! Input requests and their answers, asked about from Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snodo_core::mrtr;

use crate::schema::read;

/// Why this is no request that may be embedded in a result; `None` if it is one.
#[pyfunction]
pub(crate) fn check_input_request(request: &[u8]) -> PyResult<Option<String>> {
    let checked = mrtr::check_request(&read(request)?);
    Ok(checked.err().map(|error| error.to_string()))
}

/// Whether a response is one to a request that is a good one.
#[pyfunction]
pub(crate) fn check_input_response(request: &[u8], response: &[u8]) -> PyResult<bool> {
    Ok(mrtr::answers(&read(request)?, &read(response)?))
}
