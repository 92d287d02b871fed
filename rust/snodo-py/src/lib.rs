//! The `snodo._snodo` module: what Python sees of the core.

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _snodo {}
