//! Which actors wait for which, so that no circle of them waits for ever.
//!
//! An actor waits where code that runs for one of its messages waits for a reply, or for the end, of
//! another. Whoever would close a circle does not wait: what it would wait for cannot come.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use super::handling::Handling;
use super::pending::Slot;
use super::{Mailbox, lock};

/// Those that wait, by the address of who does.
static WAITING: LazyLock<Mutex<HashMap<usize, Vec<Link>>>> = LazyLock::new(Mutex::default);

struct Link {
    /// The message for whose handling it waits. With that over, this is too.
    serial: u64,
    /// What it waits to have known.
    slot: Weak<Slot>,
    whom: Weak<Mailbox>,
}

impl Link {
    fn holds(&self, handled: u64) -> bool {
        let unknown = || self.slot.upgrade().is_some_and(|slot| !slot.is_known());
        self.serial == handled && unknown()
    }
}

/// A place among those that wait, given up when dropped.
pub(super) struct Wait {
    who: Arc<Handling>,
    slot: Weak<Slot>,
}

impl Wait {
    /// `None`: it would close a circle.
    pub(super) fn begin(who: Arc<Handling>, slot: &Arc<Slot>, whom: &Arc<Mailbox>) -> Option<Self> {
        let mut waiting = lock(&WAITING);
        if leads(&waiting, whom, &who.mailbox) {
            return None;
        }
        let slot = Arc::downgrade(slot);
        let link = Link {
            serial: who.serial,
            slot: slot.clone(),
            whom: Arc::downgrade(whom),
        };
        waiting.entry(address(&who.mailbox)).or_default().push(link);
        Some(Self { who, slot })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut waiting = lock(&WAITING);
        let address = address(&self.who.mailbox);
        let Some(links) = waiting.get_mut(&address) else {
            return;
        };
        if let Some(at) = links.iter().position(|link| link.slot.ptr_eq(&self.slot)) {
            links.swap_remove(at);
        }
        if links.is_empty() {
            waiting.remove(&address);
        }
    }
}

/// Whether `from` waits for `to`, by way of however many.
fn leads(waiting: &HashMap<usize, Vec<Link>>, from: &Arc<Mailbox>, to: &Arc<Mailbox>) -> bool {
    let (mut seen, mut left) = (HashSet::new(), vec![from.clone()]);
    while let Some(at) = left.pop() {
        if Arc::ptr_eq(&at, to) {
            return true;
        }
        if !seen.insert(address(&at)) {
            continue;
        }
        let handled = at.handled.load(Ordering::Acquire);
        let links = waiting.get(&address(&at)).into_iter().flatten();
        let links = links.filter(|link| link.holds(handled));
        left.extend(links.filter_map(|link| link.whom.upgrade()));
    }
    false
}

fn address(mailbox: &Arc<Mailbox>) -> usize {
    Arc::as_ptr(mailbox) as usize
}
