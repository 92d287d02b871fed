//! What an ask waits for: settled once, by whoever comes first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;

use super::clock::{self, Alarm};
use super::{Fault, lock};

/// Whoever asked. Consumed by use.
pub(crate) trait Waits: Send {
    /// The actor has replied; on its own thread, before it goes on.
    fn replied(self: Box<Self>, value: &Bound<'_, PyAny>);
    /// There will be no reply. On any thread, which may not be Python's.
    fn failed(self: Box<Self>, fault: Fault);
}

/// One ask, until it is settled.
pub(crate) struct Ticket {
    waiter: Mutex<Option<Box<dyn Waits>>>,
    alarm: Option<Alarm>,
}

impl Ticket {
    /// For whoever waits, at most for this long from now on.
    pub(crate) fn new(waiter: Box<dyn Waits>, patience: Option<Duration>) -> PyResult<Arc<Self>> {
        let alarm = patience.and_then(Alarm::after);
        let ticket = Arc::new(Self {
            waiter: Mutex::new(Some(waiter)),
            alarm,
        });
        if let Some(alarm) = alarm {
            clock::set(alarm, &ticket)?;
        }
        Ok(ticket)
    }

    /// Gives the reply to whoever waits yet.
    pub(super) fn reply(&self, value: &Bound<'_, PyAny>) {
        if let Some(waiter) = self.settle() {
            waiter.replied(value);
        }
    }

    /// Tells whoever waits yet that there is no reply.
    pub(crate) fn fail(&self, fault: Fault) {
        if let Some(waiter) = self.settle() {
            waiter.failed(fault);
        }
    }

    /// Nobody waits any more: the reply, if it comes, is dropped.
    pub(crate) fn abandon(&self) {
        drop(self.settle());
    }

    fn settle(&self) -> Option<Box<dyn Waits>> {
        let waiter = lock(&self.waiter).take()?;
        if let Some(alarm) = self.alarm {
            clock::unset(alarm);
        }
        Some(waiter)
    }
}
