//! Schemas and URI templates asked about from Python, when something is declared.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_core::registry::UriTemplate;
use snodo_core::schema::{Schema, SchemaError, Unenforced, Validator, enforced};

/// The value of a JSON text, or a `ValueError` that does not quote it.
pub(crate) fn read(text: &[u8]) -> PyResult<Json> {
    json::parse(text, &Limits::default()).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Whether a tool's schema is accepted: `None`, or where it is wrong and why.
#[pyfunction]
pub(crate) fn check_schema(schema: &[u8], output: bool) -> Option<(String, String)> {
    let schema = match json::parse(schema, &Limits::default()) {
        Ok(schema) => schema,
        Err(error) => return Some((String::new(), error.to_string())),
    };
    let checked = if output {
        Schema::output(&schema, Validator::Full)
    } else {
        Schema::input(&schema, Validator::Full)
    };
    checked
        .err()
        .map(|SchemaError { path, reason }| (path, reason))
}

/// The first keyword of a schema that the basic validator would not enforce, and where, or `None`.
#[pyfunction]
pub(crate) fn unenforced_keyword(schema: &[u8]) -> PyResult<Option<(String, Vec<String>)>> {
    let found = enforced(&read(schema)?).err();
    Ok(found.map(|Unenforced { keyword, path }| (keyword, path)))
}

/// What is wrong with a value, as pairs of path and rule.
#[pyfunction]
pub(crate) fn validate(schema: &[u8], instance: &[u8]) -> PyResult<Vec<(String, String)>> {
    let schema = Schema::standalone(&read(schema)?)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(schema.failures(&read(instance)?))
}

/// Whether a supported URI template matches a URI.
#[pyfunction]
pub(crate) fn uri_template_matches(text: &str, uri: &str) -> bool {
    UriTemplate::compile(text).is_ok_and(|template| template.matches(uri).is_some())
}

/// Why a URI template is not supported, or `None`.
#[pyfunction]
pub(crate) fn uri_template_error(text: &str) -> Option<String> {
    UriTemplate::compile(text)
        .err()
        .map(|error| error.to_string())
}
