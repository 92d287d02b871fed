//! The sessions of a server: found by their keys, bounded in number and in idleness.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::session::key::Key;

/// Whatever is kept for a client between its messages.
///
/// A value that somebody holds is in use and does not count as idle. There is no timer: those that
/// have been idle too long end when somebody next looks for any.
pub struct Store<T> {
    most: usize,
    idle: Duration,
    made: Instant,
    state: Mutex<State<T>>,
}

struct State<T> {
    kept: HashMap<Key, Arc<Kept<T>>>,
    /// Each key that is kept once, with a time that it was used at or before; so the first one is
    /// the one that has been idle longest, or has been used since and goes back. Keys that were taken
    /// out stay until their turn comes.
    order: BinaryHeap<Reverse<(u64, Key)>>,
}

struct Kept<T> {
    value: Arc<T>,
    /// Milliseconds from `made`.
    used: AtomicU64,
}

impl<T> Store<T> {
    /// Keeps at most so many, each while it is not idle for longer than this.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            idle,
            made: Instant::now(),
            state: Mutex::new(State {
                kept: HashMap::new(),
                order: BinaryHeap::new(),
            }),
        }
    }

    /// Keeps one more. If there are too many, the one that has been idle longest has to go.
    pub fn insert(&self, value: Arc<T>) -> Key {
        let (key, now) = (Key::random(), self.now());
        let mut gone = Vec::new();
        let mut state = self.state();
        self.expire(&mut state, now, &mut gone);
        if state.kept.len() >= self.most {
            gone.extend(state.take_idlest(now));
        }
        let used = AtomicU64::new(now);
        state.kept.insert(key, Arc::new(Kept { value, used }));
        state.order.push(Reverse((now, key)));
        drop(state);
        drop(gone); // after the lock: it may hold anything
        key
    }

    /// The one of this key, which from now on is not idle.
    pub fn get(&self, key: Key) -> Option<Arc<T>> {
        let now = self.now();
        let mut gone = Vec::new();
        let mut state = self.state();
        self.expire(&mut state, now, &mut gone);
        let found = state.kept.get(&key).cloned();
        drop(state);
        drop(gone);
        found.map(|kept| {
            kept.used.store(now, Relaxed);
            kept.value.clone()
        })
    }

    /// Takes one out.
    pub fn remove(&self, key: Key) -> Option<Arc<T>> {
        let mut state = self.state();
        let removed = state.kept.remove(&key);
        if state.order.len() > 2 * state.kept.len() + 64 {
            // Clients that begin and end without a pause leave more than is kept.
            let State { kept, order } = &mut *state;
            order.retain(|Reverse((_, key))| kept.contains_key(key));
        }
        drop(state);
        removed.map(|kept| kept.value.clone())
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.state().kept.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends those that have been idle too long.
    fn expire(&self, state: &mut State<T>, now: u64, gone: &mut Vec<Arc<Kept<T>>>) {
        let idle = u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX);
        while let Some(Reverse((used, _))) = state.order.peek()
            && now.saturating_sub(*used) > idle
        {
            match state.pop(now) {
                Popped::Idle(key, used) if now.saturating_sub(used) > idle => {
                    gone.extend(state.kept.remove(&key));
                }
                Popped::Idle(key, used) => state.order.push(Reverse((used, key))),
                Popped::Used | Popped::Nothing => {}
            }
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Popped {
    /// With the time it was used last.
    Idle(Key, u64),
    /// It has gone back to the end.
    Used,
    /// It had been taken out already.
    Nothing,
}

impl<T> State<T> {
    /// Looks at the first in the order.
    fn pop(&mut self, now: u64) -> Popped {
        let Some(Reverse((_, key))) = self.order.pop() else {
            return Popped::Nothing;
        };
        let Some(kept) = self.kept.get(&key) else {
            return Popped::Nothing;
        };
        if Arc::strong_count(&kept.value) > 1 {
            kept.used.store(now, Relaxed);
            self.order.push(Reverse((now, key)));
            return Popped::Used;
        }
        Popped::Idle(key, kept.used.load(Relaxed))
    }

    /// Takes out the one that has been idle longest, or any if all are in use.
    fn take_idlest(&mut self, now: u64) -> Option<Arc<Kept<T>>> {
        let mut in_use = 0;
        while in_use < self.kept.len() {
            let Some(Reverse((before, _))) = self.order.peek().copied() else {
                break;
            };
            match self.pop(now) {
                Popped::Idle(key, used) if used <= before => return self.kept.remove(&key),
                Popped::Idle(key, used) => self.order.push(Reverse((used, key))),
                Popped::Used => in_use += 1,
                Popped::Nothing => {}
            }
        }
        while let Some(Reverse((_, key))) = self.order.pop() {
            if let Some(kept) = self.kept.remove(&key) {
                return Some(kept);
            }
        }
        None
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_found_until_it_is_taken_out() {
        let store = Store::new(10, IDLE);
        let (one, two) = (store.insert(Arc::new(1)), store.insert(Arc::new(2)));
        assert_eq!(store.get(one).as_deref(), Some(&1));
        assert_eq!(store.remove(one).as_deref(), Some(&1));
        assert_eq!(store.get(one), None);
        assert_eq!(store.remove(one), None);
        assert_eq!(store.get(two).as_deref(), Some(&2));
        assert_eq!(store.get(Key::random()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_idle_longest_has_to_go() {
        let store = Store::new(3, IDLE);
        let mut keys = Vec::new();
        for number in 0..3 {
            keys.push(store.insert(Arc::new(number)));
            advance(SECOND).await;
        }
        assert!(store.get(keys[0]).is_some());
        advance(SECOND).await;
        store.insert(Arc::new(3));
        assert_eq!(store.len(), 3);
        assert!(store.get(keys[1]).is_none(), "1 was used least recently");
        assert!(store.get(keys[0]).is_some() && store.get(keys[2]).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_in_use_stays_unless_all_are() {
        let store = Store::new(2, IDLE);
        let (held, idle) = (store.insert(Arc::new(0)), store.insert(Arc::new(1)));
        let holding = store.get(held).expect("kept");
        advance(SECOND).await;
        store.get(idle).expect("kept");
        advance(SECOND).await;
        let third = store.insert(Arc::new(2));
        assert!(store.get(idle).is_none());
        assert!(store.get(held).is_some());
        let holding_too = store.get(third).expect("kept");
        store.insert(Arc::new(3));
        assert_eq!(store.len(), 2);
        drop((holding, holding_too));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_ones_end_and_those_in_use_do_not() {
        let store = Store::new(10, IDLE);
        let (idle, held) = (store.insert(Arc::new(0)), store.insert(Arc::new(1)));
        let holding = store.get(held).expect("kept");
        advance(IDLE / 2).await;
        let touched = store.insert(Arc::new(2));
        advance(IDLE / 2 + SECOND).await;
        assert!(store.get(touched).is_some());
        assert_eq!(store.len(), 2);
        assert!(store.get(idle).is_none());
        advance(2 * IDLE).await;
        assert!(store.get(touched).is_none());
        assert!(store.get(held).is_some(), "somebody holds it");
        drop(holding);
        advance(IDLE + SECOND).await;
        assert!(store.get(held).is_none());
        assert!(store.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_come_and_go_leave_nothing() {
        let store = Store::new(10, IDLE);
        for number in 0..10_000 {
            let key = store.insert(Arc::new(number));
            store.remove(key);
        }
        assert!(store.state().order.len() < 100);
        for number in 0..50_000 {
            store.insert(Arc::new(number));
        }
        assert_eq!(store.len(), 10);
        assert_eq!(store.state().order.len(), 10);
    }
}
