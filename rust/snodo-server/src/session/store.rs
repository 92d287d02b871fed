//! The sessions of a server: found by their keys, bounded in number and in idleness.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::session::key::Key;

/// When something was used last.
#[derive(Debug)]
pub struct Use(Mutex<Instant>);

impl Use {
    /// Just now.
    pub fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// It is used, or has been until now.
    pub fn touch(&self) {
        *self.lock() = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Use {
    fn default() -> Self {
        Self::new()
    }
}

/// What a store keeps. Whoever holds one for long touches it when letting go.
pub trait Used {
    /// When it was used last.
    fn last_use(&self) -> &Use;

    /// It is kept no more, which whoever holds it still has to know.
    fn end(&self) {}
}

/// Whatever is kept for a client between its messages.
///
/// A value that somebody holds is in use and does not count as idle. There is no timer: those that
/// have been idle too long end when somebody next looks for any.
pub struct Store<T> {
    most: usize,
    idle: Duration,
    worker: Option<u8>,
    state: Mutex<State<T>>,
}

struct State<T> {
    kept: HashMap<Key, Arc<T>>,
    /// Each key that is kept once, with a time that it was used at or later; so the first one is
    /// the one that has been idle longest, or has been used since and goes back. Keys that were taken
    /// out stay until their turn comes.
    order: BinaryHeap<Reverse<(Instant, Key)>>,
}

impl<T: Used> Store<T> {
    /// Keeps at most so many, each while it is not idle for longer than this.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            idle,
            worker: None,
            state: Mutex::new(State {
                kept: HashMap::new(),
                order: BinaryHeap::new(),
            }),
        }
    }

    /// Its keys say that they are of this process among several.
    #[must_use]
    pub fn of_worker(mut self, worker: Option<u8>) -> Self {
        self.worker = worker;
        self
    }

    /// Keeps one more. If there are too many, the one that has been idle longest has to go.
    pub fn insert(&self, value: Arc<T>) -> Key {
        let (key, now) = (
            self.worker.map_or_else(Key::random, Key::of_worker),
            Instant::now(),
        );
        let mut gone = Vec::new();
        let mut state = self.state();
        state.expire(now, self.idle, &mut gone);
        if state.kept.len() >= self.most {
            gone.extend(state.take_idlest(now));
        }
        state.kept.insert(key, value);
        state.order.push(Reverse((now, key)));
        drop(state);
        end(gone); // after the lock: it may do anything
        key
    }

    /// The one of this key, which from now on is not idle.
    pub fn get(&self, key: Key) -> Option<Arc<T>> {
        let mut gone = Vec::new();
        let mut state = self.state();
        state.expire(Instant::now(), self.idle, &mut gone);
        let found = state.kept.get(&key).cloned();
        drop(state);
        end(gone);
        if let Some(found) = &found {
            found.last_use().touch();
        }
        found
    }

    /// Takes one out, which ends it.
    pub fn remove(&self, key: Key) -> Option<Arc<T>> {
        let mut state = self.state();
        let removed = state.kept.remove(&key);
        if state.order.len() > 2 * state.kept.len() + 64 {
            // Clients that begin and end without a pause leave more than is kept.
            let State { kept, order } = &mut *state;
            order.retain(|Reverse((_, key))| kept.contains_key(key));
        }
        drop(state);
        end(removed.clone());
        removed
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.state().kept.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end<T: Used>(gone: impl IntoIterator<Item = Arc<T>>) {
    for value in gone {
        value.end();
    }
}

enum Popped {
    /// With the time it was used last.
    Idle(Key, Instant),
    /// It has gone back to the end.
    InUse,
    /// It had been taken out already.
    Nothing,
}

impl<T: Used> State<T> {
    /// Ends those that have been idle too long.
    fn expire(&mut self, now: Instant, idle: Duration, gone: &mut Vec<Arc<T>>) {
        let is_late = |used: Instant| now.saturating_duration_since(used) > idle;
        while self
            .order
            .peek()
            .is_some_and(|Reverse((used, _))| is_late(*used))
        {
            match self.pop(now) {
                Popped::Idle(key, used) if is_late(used) => gone.extend(self.kept.remove(&key)),
                Popped::Idle(key, used) => self.order.push(Reverse((used, key))),
                Popped::InUse | Popped::Nothing => {}
            }
        }
    }

    /// Looks at the first in the order.
    fn pop(&mut self, now: Instant) -> Popped {
        let Some(Reverse((_, key))) = self.order.pop() else {
            return Popped::Nothing;
        };
        let Some(kept) = self.kept.get(&key) else {
            return Popped::Nothing;
        };
        if Arc::strong_count(kept) > 1 {
            self.order.push(Reverse((now, key)));
            return Popped::InUse;
        }
        Popped::Idle(key, kept.last_use().last())
    }

    /// Takes out the one that has been idle longest, or any if all are in use.
    fn take_idlest(&mut self, now: Instant) -> Option<Arc<T>> {
        let mut in_use = 0;
        while in_use < self.kept.len() {
            let Some(Reverse((before, _))) = self.order.peek().copied() else {
                break;
            };
            match self.pop(now) {
                Popped::Idle(key, used) if used <= before => return self.kept.remove(&key),
                Popped::Idle(key, used) => self.order.push(Reverse((used, key))),
                Popped::InUse => in_use += 1,
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

impl<T: Used> fmt::Debug for Store<T> {
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
    #[derive(Debug)]
    struct Number(i32, Use);

    impl Used for Number {
        fn last_use(&self) -> &Use {
            &self.1
        }
    }

    fn number(number: i32) -> Arc<Number> {
        Arc::new(Number(number, Use::new()))
    }

    fn is(found: Option<Arc<Number>>) -> Option<i32> {
        found.map(|number| number.0)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_found_until_it_is_taken_out() {
        let store = Store::new(10, IDLE);
        let (one, two) = (store.insert(number(1)), store.insert(number(2)));
        assert_eq!(is(store.get(one)), Some(1));
        assert_eq!(is(store.remove(one)), Some(1));
        assert_eq!(is(store.get(one)), None);
        assert_eq!(is(store.remove(one)), None);
        assert_eq!(is(store.get(two)), Some(2));
        assert_eq!(is(store.get(Key::random())), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_idle_longest_has_to_go() {
        let store = Store::new(3, IDLE);
        let mut keys = Vec::new();
        for at in 0..3 {
            keys.push(store.insert(number(at)));
            advance(SECOND).await;
        }
        assert!(store.get(keys[0]).is_some());
        advance(SECOND).await;
        store.insert(number(3));
        assert_eq!(store.len(), 3);
        assert!(store.get(keys[1]).is_none(), "1 was used least recently");
        assert!(store.get(keys[0]).is_some() && store.get(keys[2]).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_in_use_stays_unless_all_are() {
        let store = Store::new(2, IDLE);
        let (held, idle) = (store.insert(number(0)), store.insert(number(1)));
        let holding = store.get(held).expect("kept");
        advance(SECOND).await;
        store.get(idle).expect("kept");
        advance(SECOND).await;
        let third = store.insert(number(2));
        assert!(store.get(idle).is_none());
        assert!(store.get(held).is_some());
        let holding_too = store.get(third).expect("kept");
        store.insert(number(3));
        assert_eq!(store.len(), 2);
        drop((holding, holding_too));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_ones_end_and_those_in_use_do_not() {
        let store = Store::new(10, IDLE);
        let (idle, held) = (store.insert(number(0)), store.insert(number(1)));
        let holding = store.get(held).expect("kept");
        advance(IDLE / 2).await;
        let touched = store.insert(number(2));
        advance(IDLE / 2 + SECOND).await;
        assert!(store.get(touched).is_some());
        assert_eq!(store.len(), 2);
        assert!(store.get(idle).is_none());
        advance(2 * IDLE).await;
        assert!(store.get(touched).is_none());
        assert!(store.get(held).is_some(), "somebody holds it");
        // It counts from the end of its use.
        holding.last_use().touch();
        drop(holding);
        advance(IDLE).await;
        assert_eq!(store.len(), 1);
        assert!(store.get(held).is_some());
        advance(IDLE + SECOND).await;
        assert!(store.get(held).is_none());
        assert!(store.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_come_and_go_leave_nothing() {
        let store = Store::new(10, IDLE);
        for at in 0..10_000 {
            let key = store.insert(number(at));
            store.remove(key);
        }
        assert!(store.state().order.len() < 100);
        // Among equally old ones the keys decide, which are random: what has been left would stay.
        advance(SECOND).await;
        for at in 0..50_000 {
            store.insert(number(at));
        }
        assert_eq!(store.len(), 10);
        assert_eq!(store.state().order.len(), 10);
    }
}
