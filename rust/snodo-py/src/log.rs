//! What the crates below have to tell, on its way to the logger `snodo`.
//!
//! It is noted on threads that never attach, and brought to Python by one that waits there anyway.
//! Never blocks: what finds no room is counted.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::imports;

/// Lines that wait for Python. It comes several times a second, so more of them are a flood.
const WAITING: usize = 100;

#[derive(Default)]
struct Notes {
    /// Python's number of the level, and the text.
    lines: Vec<(u8, String)>,
    dropped: usize,
}

static NOTES: Mutex<Notes> = Mutex::new(Notes {
    lines: Vec::new(),
    dropped: 0,
});

fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to take notes. Once is enough; more does no harm.
pub(crate) fn listen() {
    // An error means that somebody listens already.
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// Brings what was noted to Python's logging.
pub(crate) fn deliver(py: Python<'_>) {
    let Notes { mut lines, dropped } = std::mem::take(&mut *notes());
    if dropped > 0 {
        lines.push((30, format!("{dropped} more lines like these were dropped")));
    }
    for line in lines {
        if let Err(error) = imports::tell(py).and_then(|tell| tell.call1(line)) {
            error.write_unraisable(py, None);
        }
    }
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("snodo")
    }

    fn event(&self, event: &Event<'_>) {
        let mut notes = notes();
        if notes.lines.len() >= WAITING {
            notes.dropped += 1;
            return;
        }
        let level = match *event.metadata().level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            _ => 10,
        };
        let mut text = Message::default();
        event.record(&mut text);
        notes.lines.push((level, text.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event; our events have no other fields.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
