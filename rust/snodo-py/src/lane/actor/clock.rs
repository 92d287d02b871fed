//! The deadlines of asks, kept by one task of the Rust runtime: they pass whatever an actor's loop does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::{Fault, Ticket, lock};
use crate::serving::tokio_runtime;

/// When a ticket's time is up; unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alarm(Instant, u64);

impl Alarm {
    /// So long from now on. `None`: longer than there is time.
    pub(super) fn after(patience: Duration) -> Option<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let at = Instant::now().checked_add(patience)?;
        Some(Self(at, NUMBERS.fetch_add(1, Ordering::Relaxed)))
    }
}

#[derive(Default)]
struct Clock {
    alarms: Mutex<Alarms>,
    sooner: Notify,
}

#[derive(Default)]
struct Alarms {
    set: BTreeMap<Alarm, Arc<Ticket>>,
    /// The task of the clock runs.
    running: bool,
    /// When it wakes by itself. Most asks are answered long before their time is up, and later alarms
    /// are found then: so it is told of sooner ones alone.
    wakes: Option<Instant>,
}

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::default);

/// Fails the ticket when its time is up.
pub(super) fn set(alarm: Alarm, ticket: &Arc<Ticket>) -> PyResult<()> {
    let runtime = tokio_runtime()?;
    let mut alarms = lock(&CLOCK.alarms);
    if !std::mem::replace(&mut alarms.running, true) {
        runtime.spawn(CLOCK.run());
    }
    alarms.set.insert(alarm, ticket.clone());
    let sooner = alarms.wakes.is_none_or(|wakes| alarm.0 < wakes);
    drop(alarms);
    if sooner {
        CLOCK.sooner.notify_one();
    }
    Ok(())
}

/// Forgets a ticket that is settled.
pub(super) fn unset(alarm: Alarm) {
    let forgotten = lock(&CLOCK.alarms).set.remove(&alarm);
    drop(forgotten); // after the lock: it may have been the last
}

impl Clock {
    async fn run(&self) {
        loop {
            for ticket in self.due() {
                ticket.fail(Fault::TimedOut);
            }
            let wakes = {
                let mut alarms = lock(&self.alarms);
                alarms.wakes = alarms.set.first_key_value().map(|(alarm, _)| alarm.0);
                alarms.wakes
            };
            match wakes {
                Some(wakes) => tokio::select! {
                    () = sleep_until(wakes) => {}
                    () = self.sooner.notified() => {}
                },
                None => self.sooner.notified().await,
            }
        }
    }

    fn due(&self) -> Vec<Arc<Ticket>> {
        let mut alarms = lock(&self.alarms);
        let later = alarms.set.split_off(&Alarm(Instant::now(), u64::MAX));
        let due = std::mem::replace(&mut alarms.set, later);
        due.into_values().collect()
    }
}
