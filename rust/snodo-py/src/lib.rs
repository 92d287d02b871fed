//! The `snodo._snodo` module: a list of what Python sees of the core.
//!
//! Nothing is decided here: convert, delegate, convert back. Python code runs in `lane` and nowhere
//! else, and no tokio thread ever attaches to the interpreter.

mod actor_tool;
mod address;
mod asgi;
mod authenticating;
mod binding;
mod callable;
mod component;
mod context;
mod convert;
mod error;
mod extension;
mod hub;
mod imports;
mod lane;
mod layers;
mod log;
mod mrtr;
mod next;
mod policy;
mod result;
mod schema;
mod sealing;
mod server;
mod serving;
mod settings;
mod source;
mod telemetry;

use pyo3::prelude::*;

/// Messages are made of many small strings: measured, this allocator halves what they cost.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule(gil_used = false)]
mod _snodo {
    #[pymodule_export]
    const PRINCIPAL_BYTES: usize = snodo_core::limits::PRINCIPAL_BYTES;
    #[pymodule_export]
    use super::actor_tool::PyActorTool;
    #[pymodule_export]
    use super::address::listen;
    #[pymodule_export]
    use super::asgi::{PyExchange, PyHosted, PyPorter, check_hosted};
    #[pymodule_export]
    use super::authenticating::wrong_principal;
    #[pymodule_export]
    use super::context::PyContext;
    #[pymodule_export]
    use super::extension::check_extensions;
    #[pymodule_export]
    use super::hub::{PyEvent, PyHub};
    #[pymodule_export]
    use super::lane::actor::{
        PyDoor, PyLetter, PyMailbox, PyPending, PyWait, ask_actor, tell_actor,
    };
    #[pymodule_export]
    use super::mrtr::{PyKeyRing, check_input_request, check_input_response};
    #[pymodule_export]
    use super::next::{PyDetached, PyNext};
    #[pymodule_export]
    use super::result::PyResultValue;
    #[pymodule_export]
    use super::schema::{
        check_schema, unenforced_keyword, uri_template_error, uri_template_matches, validate,
    };
    #[pymodule_export]
    use super::server::PyRuntime;
    #[pymodule_export]
    use super::serving::PyServing;
    #[pymodule_export]
    use super::telemetry::PyFeed;
}
