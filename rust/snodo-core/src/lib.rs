//! What MCP means: bytes and values in, bytes and values out.
//!
//! Nothing here does I/O, reads a clock, starts a thread or knows Python. A request is read top to
//! bottom in [`pipeline`]: *parse* ([`envelope`]), *admit* ([`dialect`]), *route* ([`router`]),
//! *validate* ([`schema`]); then whoever serves it makes the *call*; [`pipeline::finish`] *shapes*
//! what came of it.
#![forbid(unsafe_code)]

pub mod call;
pub mod context;
pub mod dialect;
pub mod envelope;
pub mod error;
pub mod extension;
pub mod json;
pub mod limits;
pub mod meta;
pub mod mrtr;
pub mod notice;
pub mod operation;
pub mod outcome;
pub mod page;
pub mod peer;
pub mod pipeline;
pub mod policy;
pub mod registry;
pub mod router;
pub mod runtime;
pub mod schema;
pub mod subscription;
pub mod suggest;
