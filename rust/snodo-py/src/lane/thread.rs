//! Plain functions: a bounded set of Python threads, led by one at a time.
//!
//! The leader drains the queue under one attach, so quick tools never fight for the interpreter.
//! When its call holds it up for longer than [`PATIENCE`] while others wait, the next thread takes
//! over, so a blocking tool never stops the server. A tool that was seen blocking is expected to
//! block again: its thread hands over before it begins.
//!
//! A thread is *leading* while it is counted on to empty the queue: from the moment it is called
//! until it falls asleep or is found stuck.

use std::collections::VecDeque;
use std::ffi::c_long;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{ffi, intern};

use super::Job;
use crate::callable::PyCallable;
use crate::imports;
use crate::serving::end_if_forked;

/// How long a call may hold up the queue before another thread takes over. On a busy machine a quick
/// call is off its core for a millisecond now and then: taking that for blocking costs more, in
/// threads that wait for the interpreter, than a tool that does block costs here the first time.
const PATIENCE: Duration = Duration::from_millis(2);
/// How long the watch goes on looking after it was last needed.
const WATCH_ROUNDS: u32 = 10;
/// How long a thread without work is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long calls that still run at the end of the process are left to find out by themselves; half of
/// all the time they get at most.
const COURTESY: Duration = Duration::from_millis(200);

/// The queue and its threads.
pub(crate) struct ThreadLane {
    state: Mutex<State>,
    work: Condvar,
    max_threads: usize,
    /// The process is about to end.
    ending: AtomicBool,
    this: Weak<ThreadLane>,
}

/// What is run.
enum Task {
    Call(Job),
    Errand(Arc<AtomicBool>, Errand),
}

/// Something that somebody else waits for, who learns from it what became of it. It is told whether the
/// process is about to end.
type Errand = Box<dyn FnOnce(Python<'_>, &AtomicBool) + Send>;

impl Task {
    /// Whether the last run of this kind was seen holding up its thread.
    fn slow(&self) -> &Arc<AtomicBool> {
        match self {
            Self::Call(job) => &job.callable.slow,
            Self::Errand(slow, _) => slow,
        }
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Task>,
    /// One for each thread that lives; `None` where a thread has ended.
    seats: Vec<Option<Seat>>,
    threads: usize,
    asleep: usize,
    /// Threads called from sleep that have not woken yet.
    called: usize,
    leading: usize,
    watching: bool,
}

/// What the watch sees of a thread.
#[derive(Default)]
struct Seat {
    /// Counts calls; a call is held up when the watch sees the same number twice.
    calls: u64,
    seen: u64,
    running: Option<Arc<AtomicBool>>,
    /// Python's number of the thread.
    ident: c_long,
    /// When it began, for a tool that is expected to block.
    began: Option<Instant>,
    leading: bool,
}

impl ThreadLane {
    pub(crate) fn new(max_threads: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            state: Mutex::default(),
            work: Condvar::new(),
            max_threads,
            ending: AtomicBool::new(false),
            this: this.clone(),
        })
    }

    /// Queues a call. Never blocks and never attaches.
    pub(crate) fn push(&self, job: Job) {
        self.queue(Task::Call(job));
    }

    /// Queues something else. `slow`: it was seen holding up its thread, and is expected to again.
    pub(crate) fn errand<F: FnOnce(Python<'_>) + Send + 'static>(
        &self,
        slow: Arc<AtomicBool>,
        what: F,
    ) {
        self.queue(Task::Errand(slow, Box::new(|py, _| what(py))));
    }

    /// Queues a function of no argument that a coroutine of this callable waits for.
    pub(crate) fn run(&self, callable: &Arc<PyCallable>, function: Py<PyAny>) {
        let what = move |py: Python<'_>, ending: &AtomicBool| run_errand(py, &function, ending);
        self.queue(Task::Errand(callable.slow.clone(), Box::new(what)));
    }

    fn queue(&self, task: Task) {
        let mut state = self.lock();
        state.queue.push_back(task);
        self.look_after(&mut state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that what is queued waits for no single call: somebody leads, and is watched.
    fn look_after(&self, state: &mut State) {
        if state.queue.is_empty() {
            return;
        }
        if state.leading == 0 {
            self.lead(state);
        } else if !state.watching {
            self.start_watch(state);
        }
    }

    /// Finds a thread to lead, if any may still be had.
    fn lead(&self, state: &mut State) {
        if state.asleep > state.called {
            state.called += 1;
            state.leading += 1;
            self.work.notify_one();
        } else if state.threads < self.max_threads {
            self.spawn(state);
        }
        // Otherwise every thread is held up; the first to come back finds the queue.
    }

    fn spawn(&self, state: &mut State) {
        let free = state.seats.iter().position(Option::is_none);
        let seat = free.unwrap_or_else(|| {
            state.seats.push(None);
            state.seats.len() - 1
        });
        let lane = self.this.clone();
        let spawned = thread::Builder::new()
            .name(format!("snodo-{seat}"))
            .spawn(move || {
                if let Some(lane) = lane.upgrade() {
                    Python::attach(|py| lane.work(py, seat));
                }
            });
        // Without a thread the call stays queued until one comes back; its deadline still holds.
        if spawned.is_ok() {
            state.seats[seat] = Some(Seat {
                leading: true,
                ..Seat::default()
            });
            state.threads += 1;
            state.leading += 1;
        }
    }

    /// Makes the calls that still run raise `SystemExit`, and waits for them to end. Whether all have.
    /// Those that look whether they were cancelled get a moment to end by themselves.
    ///
    /// A thread that comes back to Python while the interpreter is being taken down is ended by
    /// unwinding, which Rust's frames do not survive: so none should be left by then.
    pub(crate) fn end(&self, py: Python<'_>, patience: Duration) -> bool {
        self.ending.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        loop {
            let running: Vec<_> = {
                let state = self.lock();
                let seats = state.seats.iter().flatten();
                seats
                    .filter(|seat| seat.running.is_some())
                    .map(|seat| seat.ident)
                    .collect()
            };
            if running.is_empty() {
                return true;
            }
            if begun.elapsed() > patience {
                return false;
            }
            if begun.elapsed() > COURTESY.min(patience / 2) {
                for ident in running {
                    interrupt(py, ident);
                }
            }
            py.detach(|| thread::sleep(Duration::from_millis(20)));
        }
    }

    fn work(&self, py: Python<'_>, seat: usize) {
        let ident = imports::get_ident(py).and_then(|ident| ident.call0()?.extract());
        self.lock().seat(seat).ident = ident.unwrap_or_default();
        while let Some(task) = self.next(py, seat) {
            // A panic ends its call, which unwinding answers, and neither the thread nor its seat.
            let _ = catch_unwind(AssertUnwindSafe(|| match task {
                Task::Call(job) => run(py, job, &self.ending),
                Task::Errand(_, what) => {
                    what(py, &self.ending);
                    end_if_forked();
                }
            }));
        }
    }

    /// The next call for this thread: from the queue at once, or after sleeping. `None`: end.
    fn next(&self, py: Python<'_>, seat: usize) -> Option<Task> {
        // The lock is never held while waiting for the interpreter, so taking it attached is safe.
        let mut state = self.lock();
        state.finish(seat);
        loop {
            if let Some(task) = state.take(seat) {
                // It may lead now what was queued while every thread was held up, and watched by none.
                self.look_after(&mut state);
                return Some(task);
            }
            drop(state);
            if py.detach(|| self.sleep(seat)) == Awake::End {
                return None;
            }
            state = self.lock();
        }
    }

    fn sleep(&self, seat: usize) -> Awake {
        // Whoever waits for this core may be about to bring work: letting it run first saves a sleep
        // and a wake-up, a tenth of what a quick call costs.
        thread::yield_now();
        let mut state = self.lock();
        if state.can_continue(seat) {
            return Awake::Work; // something came while the lock was free
        }
        state.stop_leading(seat);
        state.asleep += 1;
        let awake = loop {
            if state.called > 0 {
                state.called -= 1;
                break Awake::Work;
            }
            let (guard, timeout) = self
                .work
                .wait_timeout(state, KEEP_ALIVE)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.called == 0 {
                break Awake::End;
            }
        };
        state.asleep -= 1;
        match awake {
            // `lead` counted this thread when it called it.
            Awake::Work => state.seat(seat).leading = true,
            Awake::End => {
                state.seats[seat] = None;
                state.threads -= 1;
            }
        }
        awake
    }

    fn start_watch(&self, state: &mut State) {
        state.watching = true;
        let lane = self.this.clone();
        let spawned = thread::Builder::new()
            .name("snodo-watch".into())
            .spawn(move || {
                if let Some(lane) = lane.upgrade() {
                    lane.watch();
                }
            });
        state.watching = spawned.is_ok();
    }

    /// Looks after calls that wait behind another one. Never attaches.
    fn watch(&self) {
        let mut state = self.lock();
        let mut quiet = 0;
        loop {
            if state.queue.is_empty() {
                quiet += 1;
                if quiet > WATCH_ROUNDS {
                    break;
                }
            } else {
                quiet = 0;
                state.relieve_the_stuck();
                if state.leading == 0 {
                    self.lead(&mut state);
                }
            }
            drop(state);
            thread::sleep(PATIENCE);
            state = self.lock();
        }
        state.watching = false;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Awake {
    Work,
    End,
}

impl State {
    fn seat(&mut self, seat: usize) -> &mut Seat {
        self.seats[seat]
            .as_mut()
            .expect("a thread's seat is taken until it ends")
    }

    /// Whether this thread goes on with the queue: it leads, or nobody does.
    fn can_continue(&mut self, seat: usize) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let leading = self.leading;
        let seat = self.seat(seat);
        if !seat.leading {
            if leading > 0 {
                return false;
            }
            seat.leading = true;
            self.leading += 1;
        }
        true
    }

    /// Takes the next call for this thread.
    fn take(&mut self, seat: usize) -> Option<Task> {
        if !self.can_continue(seat) {
            return None;
        }
        let task = self.queue.pop_front()?;
        let slow = task.slow();
        let blocks = slow.load(Ordering::Relaxed);
        let slow = slow.clone();
        let mine = self.seat(seat);
        mine.calls += 1;
        mine.running = Some(slow);
        mine.began = blocks.then(Instant::now);
        if blocks {
            self.stop_leading(seat);
        }
        Some(task)
    }

    /// A call is over.
    fn finish(&mut self, seat: usize) {
        let seat = self.seat(seat);
        let Some(slow) = seat.running.take() else {
            return;
        };
        // Expected to block, and did not: it is quick again.
        if seat
            .began
            .take()
            .is_some_and(|began| began.elapsed() < PATIENCE)
        {
            slow.store(false, Ordering::Relaxed);
        }
    }

    fn stop_leading(&mut self, seat: usize) {
        let seat = self.seat(seat);
        if std::mem::take(&mut seat.leading) {
            self.leading -= 1;
        }
    }

    /// Threads that are still in the call they were in at the last look no longer lead.
    fn relieve_the_stuck(&mut self) {
        for seat in self.seats.iter_mut().flatten() {
            let Some(slow) = &seat.running else {
                continue;
            };
            if seat.seen == seat.calls {
                slow.store(true, Ordering::Relaxed);
                if std::mem::take(&mut seat.leading) {
                    self.leading -= 1;
                }
            }
            seat.seen = seat.calls;
        }
    }
}

/// Raises `SystemExit` in a thread, at its next instruction of Python code.
#[expect(unsafe_code, reason = "PyO3 has no safe wrapper")]
fn interrupt(py: Python<'_>, ident: c_long) {
    let kind = py.get_type::<PySystemExit>();
    // SAFETY: attached to the interpreter (`py`); the class is alive; a number that is no thread's
    // changes nothing.
    unsafe {
        ffi::PyThreadState_SetAsyncExc(ident, kind.as_ptr());
    }
}

/// Whether a function ended because it saw that it was to stop.
fn is_cancelled(py: Python<'_>, error: &PyErr) -> bool {
    imports::cancelled(py).is_ok_and(|kind| error.is_instance(py, kind))
}

/// It tells whoever waits what became of it, so that only what `end` raised comes out here.
fn run_errand(py: Python<'_>, function: &Py<PyAny>, ending: &AtomicBool) {
    let done = function.call0(py);
    if let Err(error) = done
        && !ending.load(Ordering::Relaxed)
    {
        error.write_unraisable(py, None);
    }
}

fn run(py: Python<'_>, job: Job, ending: &AtomicBool) {
    let Job {
        callable,
        call,
        reply,
    } = job;
    if reply.is_cancelled() {
        return; // nobody waits for it any more
    }
    let context = match callable.enter(py, call, &reply) {
        Ok(context) => context,
        Err(error) => return error.write_unraisable(py, None),
    };
    let _surrounded = callable.surround(&context);
    if let Some(tool) = callable.actor_tool().cloned() {
        return tool.build_and_send(&context, &callable, reply);
    }
    let called = callable.bind(&context).map_or_else(
        |outcome| Ok(Err(outcome)),
        |(arguments, named)| {
            // A copy of the context for each call: what a function sets there ends with it.
            let own = imports::copy_context(py)?.call0()?;
            let mut all = Vec::with_capacity(arguments.len() + 1);
            all.push(callable.function(py).clone());
            all.extend(arguments.iter());
            let all = PyTuple::new(py, all)?;
            own.getattr(intern!(py, "run"))?
                .call(all, named.as_ref())
                .map(Ok)
        },
    );
    end_if_forked();
    let outcome = match called {
        Ok(Ok(value)) => callable.outcome_of(&context, &value),
        Ok(Err(outcome)) => outcome,
        // What `end` raised is no bug of the author's, and nobody waits for an answer.
        Err(_) if ending.load(Ordering::Relaxed) => return,
        Err(error) if reply.is_cancelled() && is_cancelled(py, &error) => return,
        Err(error) => callable.outcome_of_error(&context, error),
    };
    reply.send(outcome);
}
