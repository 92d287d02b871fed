//! Where Python code runs: the only threads it runs on, and the queues in front of them.
//!
//! A plain function goes to [`ThreadLane`], a coroutine to [`EventLoopLane`]; which, is decided when
//! it is registered. Lanes take jobs from any thread without touching the interpreter.

pub(crate) mod actor;
mod event_loop;
mod thread;

use std::sync::Arc;

use snodo_core::call::Call;
use snodo_server::handler::Reply;

use crate::callable::PyCallable;

pub(crate) use event_loop::EventLoopLane;
pub(crate) use thread::ThreadLane;

/// A call on its way to Python.
pub(crate) struct Job {
    pub(crate) callable: Arc<PyCallable>,
    pub(crate) call: Call,
    pub(crate) reply: Reply,
}
