//! Actors: one message at a time, out of a bounded mailbox that is found by its name.
//!
//! Whoever has something for an actor puts a letter into its mailbox and, if nobody is at work there,
//! wakes it: a task on its own loop (`task.rs`), or a thread of its own. Neither looks for letters; both
//! are handed them, several at one wake-up. What an ask waits for is its `ticket.rs`, which is settled
//! once, by the reply, by the end of the actor or by the clock.

mod clock;
mod door;
mod fault;
mod handling;
mod mailbox;
mod pending;
mod task;
mod ticket;
mod waiting;

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;

pub(crate) use self::door::{Door, PyDoor};
pub(crate) use self::fault::Fault;
pub(crate) use self::mailbox::{PyLetter, PyMailbox, ask_actor, post, tell_actor};
pub(crate) use self::pending::{PyPending, PyWait};
pub(crate) use self::ticket::{Encodes, Ticket, Waits};

use self::handling::Handling;
use self::pending::Due;
use super::event_loop::Resident;

/// What one incarnation of an actor is sent, in the order it was sent.
pub(crate) struct Mailbox {
    name: String,
    capacity: usize,
    state: Mutex<State>,
    home: Home,
    /// What is known when the actor has ended, in whichever incarnation.
    over: PyPending,
    /// Which of its messages it handles; 0 between them.
    handled: AtomicU64,
}

#[derive(Default)]
struct State {
    letters: VecDeque<Letter>,
    /// Takes no letters any more. Those that it has are handled, unless it has crashed.
    closed: bool,
    /// The actor has read all letters and is to be woken by the next.
    idle: bool,
    /// Letters taken so far.
    taken: u64,
    /// Of whoever asked what is being handled.
    current: Option<Arc<Ticket>>,
}

/// Where an actor runs, and how it is woken there.
enum Home {
    /// The future that its task waits for is done on the thread of the loop.
    Loop(Door, Mutex<Option<Py<PyAny>>>),
    Thread(Condvar),
}

/// One message, and who waits for its reply.
pub(crate) struct Letter {
    message: Message,
    /// None: nobody does, it is a tell.
    ticket: Option<Arc<Ticket>>,
    /// What the asker itself is handling, which waits meanwhile.
    behalf: Option<Arc<Handling>>,
}

/// What is sent: made for one letter, or the same for all of them.
pub(crate) enum Message {
    Own(Py<PyAny>),
    Constant(Arc<Py<PyAny>>),
}

impl Letter {
    /// A message that nobody waits to have answered.
    pub(crate) fn tell(message: Message) -> Self {
        Self {
            message,
            ticket: None,
            behalf: None,
        }
    }

    /// A message from outside of any actor, whose reply goes to the ticket.
    pub(crate) fn ask(message: Message, ticket: Arc<Ticket>) -> Self {
        Self {
            message,
            ticket: Some(ticket),
            behalf: None,
        }
    }
}

/// The actors that live, by name.
static NAMES: LazyLock<Mutex<HashMap<String, Arc<Mailbox>>>> = LazyLock::new(Mutex::default);

fn names() -> MutexGuard<'static, HashMap<String, Arc<Mailbox>>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailbox {
    /// A mailbox under a name, if nobody has that. `door`: of the loop it is read on; `None` for a
    /// thread.
    fn open(
        name: String,
        capacity: usize,
        over: PyPending,
        door: Option<Door>,
    ) -> Option<Arc<Self>> {
        let home = match door {
            Some(door) => Home::Loop(door, Mutex::default()),
            None => Home::Thread(Condvar::new()),
        };
        let mailbox = Arc::new(Self {
            name: name.clone(),
            capacity,
            state: Mutex::default(),
            home,
            over,
            handled: AtomicU64::new(0),
        });
        // One that is deserted makes room.
        if Self::find(&name).is_some() {
            return None;
        }
        match names().entry(name) {
            Entry::Vacant(place) => place.insert(mailbox.clone()),
            Entry::Occupied(_) => return None,
        };
        mailbox.over.is_due(Due::End, &mailbox);
        if let Home::Loop(door, _) = &mailbox.home {
            let resident: Arc<dyn Resident> = mailbox.clone();
            door.house(&resident);
        }
        Some(mailbox)
    }

    /// The mailbox of the actor that has this name.
    pub(crate) fn find(name: &str) -> Option<Arc<Self>> {
        let found = names().get(name).cloned()?;
        if found.is_deserted() {
            found.close();
            return None;
        }
        Some(found)
    }

    /// Whether its loop was closed over it, without a word to its task.
    fn is_deserted(&self) -> bool {
        matches!(&self.home, Home::Loop(door, _) if door.is_gone())
    }

    /// Puts a letter behind those that are there. Never blocks and never attaches.
    pub(crate) fn put(self: &Arc<Self>, letter: Letter) -> Result<(), Fault> {
        if self.is_deserted() {
            self.close();
        }
        let mut state = self.state();
        if state.closed {
            return Err(Fault::Unavailable);
        }
        if state.letters.len() >= self.capacity {
            return Err(Fault::Full);
        }
        state.letters.push_back(letter);
        self.wake(state);
        Ok(())
    }

    /// Takes no letters any more and gives the name back; what is there already is handled yet.
    fn stop(self: &Arc<Self>) {
        self.forget_name();
        let mut state = self.state();
        state.closed = true;
        self.wake(state);
    }

    /// The actor is gone: nobody that waits is left without an answer.
    fn close(self: &Arc<Self>) {
        self.stop();
        self.handled.store(0, Ordering::Release);
        let (current, left) = {
            let mut state = self.state();
            (state.current.take(), std::mem::take(&mut state.letters))
        };
        // Outside the lock: whoever waits may be Python code, and so may be what a message holds.
        let waiting = left.iter().filter_map(|letter| letter.ticket.as_ref());
        for ticket in current.iter().chain(waiting) {
            ticket.fail(Fault::Failed);
        }
    }

    fn forget_name(self: &Arc<Self>) {
        let mut names = names();
        let mine = names
            .get(&self.name)
            .is_some_and(|at| Arc::ptr_eq(at, self));
        let forgotten = mine.then(|| names.remove(&self.name));
        drop(names);
        drop(forgotten); // after the lock: it may have been the last
    }

    /// The next letter, which is then the current one. `Err`: whether there will be none any more.
    fn take(self: &Arc<Self>, py: Python<'_>) -> PyResult<Result<Letter, bool>> {
        let (mut letter, serial) = {
            let mut state = self.state();
            let Some(letter) = state.letters.pop_front() else {
                return Ok(Err(state.closed));
            };
            state.taken += 1;
            state.current.clone_from(&letter.ticket);
            (letter, state.taken)
        };
        self.handled.store(serial, Ordering::Release);
        Handling::enter(py, self.clone(), serial, letter.behalf.take())?;
        Ok(Ok(letter))
    }

    /// The current letter was handled; this is the reply, if anybody waits for one.
    fn reply(&self, value: &Bound<'_, PyAny>) {
        self.handled.store(0, Ordering::Release);
        let ticket = self.state().current.take();
        if let Some(ticket) = ticket {
            ticket.reply(value);
        }
    }

    /// What a task waits for until there is a letter. `None`: there is one already, or the end.
    fn idle<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Home::Loop(_, slot) = &self.home else {
            return Ok(None);
        };
        let py = event_loop.py();
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        // In its place before anybody may look for it.
        let before = lock(slot).replace(future.clone().unbind());
        drop(before);
        let mut state = self.state();
        state.idle = state.letters.is_empty() && !state.closed;
        Ok(state.idle.then_some(future))
    }

    /// Blocks a thread until there is a letter, or the end.
    fn wait(&self, py: Python<'_>) {
        let Home::Thread(work) = &self.home else {
            return;
        };
        py.detach(|| {
            let state = self.state();
            let nothing = |state: &mut State| state.letters.is_empty() && !state.closed;
            let state = work.wait_while(state, nothing);
            drop(state.unwrap_or_else(PoisonError::into_inner));
        });
    }

    fn wake(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        match &self.home {
            Home::Thread(work) => work.notify_one(),
            Home::Loop(door, _) if idle => {
                let mailbox = self.clone();
                door.hand(move |py| mailbox.rouse(py));
            }
            Home::Loop(..) => {}
        }
    }

    /// On the thread of the loop.
    fn rouse(&self, py: Python<'_>) -> PyResult<()> {
        let Home::Loop(_, slot) = &self.home else {
            return Ok(());
        };
        let future = lock(slot).take();
        // One that is done belongs to a task that was cancelled.
        match future.map(|future| future.into_bound(py)) {
            Some(future) if !future.call_method0(intern!(py, "done"))?.is_truthy()? => future
                .call_method1(intern!(py, "set_result"), (py.None(),))
                .map(drop),
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Resident for Mailbox {
    fn deserted(self: Arc<Self>) {
        self.close();
        self.over.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
