//! What an ask waits for: settled once, by whoever comes first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;

use super::clock::{self, Alarm};
use super::{Fault, lock};

/// Whoever asked. Consumed by use.
pub(crate) trait Waits: Send {
    /// The actor has replied; on its own thread, before it goes on. With the text that it was encoded as.
    fn replied(self: Box<Self>, value: &Bound<'_, PyAny>, text: Vec<u8>);
    /// There will be no reply. On any thread, which may not be Python's.
    fn failed(self: Box<Self>, fault: Fault);
}

/// What a reply is made into before anybody is given it, while the clock goes on.
pub(crate) trait Encodes: Send + Sync {
    /// The reply as it is given, and its text.
    fn encode<'py>(&self, reply: &Bound<'py, PyAny>)
    -> Result<(Bound<'py, PyAny>, Vec<u8>), Fault>;
}

/// One ask, until it is settled.
pub(crate) struct Ticket {
    encoder: Option<Arc<dyn Encodes>>,
    waiter: Mutex<Option<Box<dyn Waits>>>,
    alarm: Option<Alarm>,
}

impl Ticket {
    /// For whoever waits, at most for this long from now on.
    pub(crate) fn new(
        waiter: Box<dyn Waits>,
        patience: Option<Duration>,
        encoder: Option<Arc<dyn Encodes>>,
    ) -> PyResult<Arc<Self>> {
        let alarm = patience.and_then(Alarm::after);
        let ticket = Arc::new(Self {
            encoder,
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
        let encoded = match &self.encoder {
            None => Ok((value.clone(), Vec::new())),
            Some(_) if lock(&self.waiter).is_none() => return,
            Some(encoder) => encoder.encode(value),
        };
        let Some(waiter) = self.settle() else {
            return;
        };
        match encoded {
            Ok((value, text)) => waiter.replied(&value, text),
            Err(fault) => waiter.failed(fault),
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
