//! How messages arrive, wait, run and leave: tokio, axum, queues, deadlines. No Python in here.
#![forbid(unsafe_code)]

pub mod authenticate;
pub mod beside;
pub mod bind;
pub mod cancel;
pub mod executor;
pub mod fleet;
pub mod handler;
pub mod hub;
pub mod listener;
pub mod listening;
pub mod rest;
pub mod said;
pub mod service;
pub mod session;
pub mod source;
pub mod telemetry;
pub mod tls;
pub mod transport;
pub mod voice;
