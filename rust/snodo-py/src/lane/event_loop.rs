//! Coroutines: ordinary `asyncio` tasks on one loop, whose queue is drained by one wake-up.
//!
//! Other threads put messages in the queue and, when it was empty, a byte in a socket that the loop
//! watches. The loop's own thread takes all of them and makes a `Task` of each call.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{ffi, intern};
use snodo_server::handler::Reply;

use super::Job;
use crate::callable::PyCallable;
use crate::context::PyContext;
use crate::imports;
use crate::serving::end_if_forked;

/// The queue in front of a loop.
pub(crate) struct EventLoopLane {
    queue: Mutex<Queue>,
    /// Whether a byte is on its way; then the queue needs no other.
    signalled: AtomicBool,
    bell: UnixStream,
    ear: UnixStream,
    keys: AtomicU64,
    /// Tasks under way; asyncio itself holds them weakly.
    tasks: Mutex<HashMap<u64, Py<PyAny>>>,
    attached: AtomicBool,
    /// The thread of the loop that is attached, or was last.
    home: Mutex<Option<ThreadId>>,
    /// How often a loop was attached.
    stays: AtomicU64,
    residents: Mutex<Vec<Weak<dyn Resident>>>,
}

#[derive(Default)]
struct Queue {
    messages: Vec<Message>,
    /// The loop has gone and no other is to be expected: calls fail at once.
    refuses: bool,
}

/// Who lives on a loop, and does not hear it from anybody else that it was closed.
pub(crate) trait Resident: Send + Sync {
    /// The loop was closed. On any thread.
    fn deserted(self: Arc<Self>);
}

impl Drop for EventLoopLane {
    fn drop(&mut self) {
        let residents = self.residents.get_mut();
        let residents = std::mem::take(residents.unwrap_or_else(PoisonError::into_inner));
        for resident in residents.iter().filter_map(Weak::upgrade) {
            resident.deserted();
        }
    }
}

enum Message {
    Start(u64, Job),
    Cancel(u64),
    Errand(Errand),
}

/// Something to be done on the thread of the loop, which it is given.
type Errand = Box<dyn FnOnce(&Arc<EventLoopLane>, &Bound<'_, PyAny>) -> PyResult<()> + Send>;

impl EventLoopLane {
    pub(crate) fn new() -> std::io::Result<Arc<Self>> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok(Arc::new(Self {
            queue: Mutex::default(),
            signalled: AtomicBool::new(false),
            bell,
            ear,
            keys: AtomicU64::new(0),
            tasks: Mutex::default(),
            attached: AtomicBool::new(false),
            home: Mutex::default(),
            stays: AtomicU64::new(0),
            residents: Mutex::default(),
        }))
    }

    /// Queues a call. Never blocks and never attaches.
    pub(crate) fn push(self: &Arc<Self>, job: Job) {
        let key = self.keys.fetch_add(1, Ordering::Relaxed);
        let lane = Arc::downgrade(self);
        job.reply.cancelled().on_cancel(move |_| {
            if let Some(lane) = lane.upgrade() {
                lane.send(Message::Cancel(key));
            }
        });
        self.send(Message::Start(key, job));
    }

    /// Runs the task that `make` makes on the loop. Gives its key, by which it is cancelled.
    pub(crate) fn spawn<F>(&self, make: F) -> u64
    where
        F: for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> + Send + 'static,
    {
        let key = self.keys.fetch_add(1, Ordering::Relaxed);
        self.send(Message::Errand(Box::new(move |lane, event_loop| {
            let task = make(event_loop)?;
            lane.tasks().insert(key, task.clone().unbind());
            let forget = Forget {
                lane: lane.clone(),
                key,
            };
            let py = event_loop.py();
            task.call_method1(intern!(py, "add_done_callback"), (forget,))?;
            Ok(())
        })));
        key
    }

    /// Cancels a task that was spawned.
    pub(crate) fn cancel(&self, key: u64) {
        self.send(Message::Cancel(key));
    }

    /// Does something on the thread of the loop.
    pub(crate) fn post<F>(&self, what: F)
    where
        F: FnOnce(&Bound<'_, PyAny>) -> PyResult<()> + Send + 'static,
    {
        self.send(Message::Errand(Box::new(|_, event_loop| what(event_loop))));
    }

    /// Lets this loop run the calls. It must be the running loop of the calling thread.
    pub(crate) fn attach(self: &Arc<Self>, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        let stay = self.stays.fetch_add(1, Ordering::Relaxed) + 1;
        let drain = Drain {
            lane: self.clone(),
            event_loop: event_loop.clone().unbind(),
            stay,
        };
        let drain = Bound::new(event_loop.py(), drain)?;
        event_loop.call_method1("add_reader", (self.ear.as_raw_fd(), drain))?;
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        self.queue().refuses = false;
        self.attached.store(true, Ordering::Release);
        Ok(())
    }

    /// Takes the loop back, and gives the tasks that were under way, cancelled. Calls that come later
    /// wait for another loop.
    pub(crate) fn detach(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let py = event_loop.py();
        self.attached.store(false, Ordering::Release);
        event_loop.call_method1("remove_reader", (self.ear.as_raw_fd(),))?;
        // From here on nobody hears their callers, so nobody could end them later.
        let left: Vec<_> = std::mem::take(&mut *self.tasks()).into_values().collect();
        for task in &left {
            // One that was cancelled before is cleaning up, which must not be interrupted.
            let cancelling = task.call_method0(py, intern!(py, "cancelling"))?;
            if !cancelling.is_truthy(py)? {
                task.call_method0(py, intern!(py, "cancel"))?;
            }
        }
        Ok(left)
    }

    /// Fails the calls that wait for a loop, and those that come before there is another.
    pub(crate) fn refuse(&self) {
        let refused: Vec<_> = {
            let mut queue = self.queue();
            queue.refuses = true;
            let messages = std::mem::take(&mut queue.messages).into_iter();
            let is_call = |message: &Message| matches!(message, Message::Start(..));
            let (calls, others): (Vec<_>, Vec<_>) = messages.partition(is_call);
            queue.messages = others;
            calls
        };
        drop(refused); // after the lock: whoever waits is told
    }

    /// The loop was closed without a word.
    fn abandoned(&self, stay: u64) {
        if self.stays.load(Ordering::Relaxed) == stay && self.attached.swap(false, Ordering::AcqRel)
        {
            let tasks = std::mem::take(&mut *self.tasks());
            drop(tasks);
            self.refuse();
        }
    }

    /// Has somebody told when the loop is closed.
    pub(crate) fn house(&self, resident: &Arc<dyn Resident>) {
        let residents = self.residents.lock();
        let mut residents = residents.unwrap_or_else(PoisonError::into_inner);
        if residents.len() == residents.capacity() {
            residents.retain(|resident| resident.strong_count() > 0);
        }
        residents.push(Arc::downgrade(resident));
    }

    /// Whether a loop runs the calls.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Acquire)
    }

    /// Whether the calls run on this very thread, which then must not wait for one of them.
    pub(crate) fn runs_here(&self) -> bool {
        let home = *self.home.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_attached() && home == Some(thread::current().id())
    }

    fn send(&self, message: Message) {
        {
            let mut queue = self.queue();
            if queue.refuses && matches!(message, Message::Start(..)) {
                drop(queue);
                return drop(message); // who waits for it is told
            }
            queue.messages.push(message);
        }
        if !self.signalled.swap(true, Ordering::AcqRel) {
            // A full socket means that bytes enough are on their way.
            let _ = (&self.bell).write(&[1]);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<u64, Py<PyAny>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Message> {
        let mut bytes = [0; 64];
        while let Err(error) = (&self.ear).read(&mut bytes) {
            if error.kind() != ErrorKind::Interrupted {
                break;
            }
        }
        // Before the queue is taken: whoever comes after that rings again.
        self.signalled.store(false, Ordering::Release);
        std::mem::take(&mut self.queue().messages)
    }

    fn start(self: &Arc<Self>, event_loop: &Bound<'_, PyAny>, key: u64, job: Job) -> PyResult<()> {
        let py = event_loop.py();
        let Job {
            callable,
            call,
            reply,
        } = job;
        if reply.is_cancelled() {
            return Ok(()); // nobody waits for it any more
        }
        let context = callable.enter(py, call, &reply)?;
        // The task takes over what is current when it is made.
        let surrounded = callable.surround(&context);
        let begun = match callable.bind(&context) {
            Ok((arguments, named)) => callable
                .function(py)
                .call(arguments, named.as_ref())
                .map(Ok),
            Err(outcome) => Ok(Err(outcome)),
        };
        let coroutine = match begun {
            Ok(Ok(coroutine)) => coroutine,
            Ok(Err(outcome)) => {
                reply.send(outcome);
                return Ok(());
            }
            Err(error) => {
                reply.send(callable.outcome_of_error(&context, error));
                return Ok(());
            }
        };
        let run = Run {
            coroutine: coroutine.unbind(),
            callable,
            context: context.unbind(),
            reply: Mutex::new(Some(reply)),
            lane: self.clone(),
            key,
        };
        let named = PyDict::new(py);
        named.set_item(intern!(py, "loop"), event_loop)?;
        let task = imports::task(py)?.call((Bound::new(py, run)?,), Some(&named))?;
        self.tasks().insert(key, task.unbind());
        drop(surrounded);
        Ok(())
    }

    fn stop(&self, py: Python<'_>, key: u64) -> PyResult<()> {
        let task = self.tasks().get(&key).map(|task| task.clone_ref(py));
        if let Some(task) = task {
            task.call_method0(py, intern!(py, "cancel"))?;
        }
        Ok(())
    }
}

/// What the loop calls when the socket has a byte.
#[pyclass(frozen, module = "snodo._snodo")]
struct Drain {
    lane: Arc<EventLoopLane>,
    event_loop: Py<PyAny>,
    stay: u64,
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.lane.abandoned(self.stay);
    }
}

#[pymethods]
impl Drain {
    fn __call__(&self, py: Python<'_>) {
        let event_loop = self.event_loop.bind(py);
        for message in self.lane.take() {
            let done = match message {
                Message::Start(key, job) => self.lane.start(event_loop, key, job),
                Message::Cancel(key) => self.lane.stop(py, key),
                Message::Errand(run) => run(&self.lane, event_loop),
            };
            // What goes wrong with one must not lose the others.
            if let Err(error) = done {
                error.write_unraisable(py, None);
            }
        }
    }
}

/// What the loop calls when a task that was spawned is done.
#[pyclass(frozen, module = "snodo._snodo")]
struct Forget {
    lane: Arc<EventLoopLane>,
    key: u64,
}

#[pymethods]
impl Forget {
    fn __call__(&self, _task: &Bound<'_, PyAny>) {
        let task = self.lane.tasks().remove(&self.key);
        drop(task); // after the lock: dropping a task may run Python code
    }
}

/// The coroutine that a task runs: the user's own, with the answer sent the moment it ends, which
/// saves a done-callback and the turn of the loop that would run it.
#[pyclass(frozen, module = "snodo._snodo")]
pub(crate) struct Run {
    coroutine: Py<PyAny>,
    callable: Arc<PyCallable>,
    context: Py<PyContext>,
    reply: Mutex<Option<Reply>>,
    lane: Arc<EventLoopLane>,
    key: u64,
}

impl Run {
    fn step(&self, py: Python<'_>, sent: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
        let step = send(self.coroutine.bind(py), sent);
        end_if_forked();
        match step {
            Ok(Step::Yielded(value)) => Ok(Some(value.unbind())),
            Ok(Step::Returned(value)) => {
                self.answer(|| self.callable.outcome_of(self.context.bind(py), &value));
                Ok(None)
            }
            Err(error) => self.failed(py, error),
        }
    }

    fn failed(&self, py: Python<'_>, error: PyErr) -> PyResult<Option<Py<PyAny>>> {
        let cancelled = error.is_instance(py, imports::cancelled_error(py)?);
        let asked = || {
            let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
            reply.as_ref().is_none_or(Reply::is_cancelled)
        };
        // A loop that is taken back cancels what is left on it.
        if cancelled && (asked() || !self.lane.is_attached()) {
            drop(self.take_reply());
            return Err(error); // the task is a cancelled one
        }
        if asked() && error.is_instance(py, imports::cancelled(py)?) {
            drop(self.take_reply());
            return Ok(None);
        }
        // Every other exception ends this call and nothing else, `SystemExit` included.
        self.answer(|| self.callable.outcome_of_error(self.context.bind(py), error));
        Ok(None)
    }

    fn answer(&self, outcome: impl FnOnce() -> snodo_core::outcome::Outcome) {
        if let Some(reply) = self.take_reply() {
            reply.send(outcome());
        }
    }

    fn take_reply(&self) -> Option<Reply> {
        let task = self.lane.tasks().remove(&self.key);
        drop(task); // after the lock: dropping a task may run Python code
        self.reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[pymethods]
impl Run {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.step(py, py.None().bind(py))
    }

    fn send(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.step(py, value)?
            .ok_or_else(|| PyStopIteration::new_err(()))
    }

    #[pyo3(signature = (*exception))]
    fn throw(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let thrown = self
            .coroutine
            .bind(py)
            .call_method1(intern!(py, "throw"), exception);
        let step = match thrown {
            Ok(value) => Some(value.unbind()),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                let value = error.value(py).getattr(intern!(py, "value"))?;
                self.answer(|| self.callable.outcome_of(self.context.bind(py), &value));
                None
            }
            Err(error) => self.failed(py, error)?,
        };
        step.ok_or_else(|| PyStopIteration::new_err(()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.coroutine
            .call_method0(py, intern!(py, "close"))
            .map(drop)
    }

    #[getter(__name__)]
    fn name(&self) -> &str {
        &self.callable.name
    }

    #[getter(__qualname__)]
    fn qualname(&self) -> &str {
        &self.callable.name
    }
}

/// How far a coroutine went.
pub(super) enum Step<'py> {
    Yielded(Bound<'py, PyAny>),
    Returned(Bound<'py, PyAny>),
}

/// `coroutine.send(value)` without making an exception of the returned value.
#[expect(unsafe_code, reason = "PyO3 has a safe wrapper for iterators only")]
pub(super) fn send<'py>(
    coroutine: &Bound<'py, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Step<'py>> {
    let py = coroutine.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: attached to the interpreter (`py`); both objects are alive; `result` is written with a
    // new reference on NEXT and RETURN, which is taken over exactly once below.
    unsafe {
        match ffi::PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result) {
            ffi::PySendResult::PYGEN_NEXT => Ok(Step::Yielded(Bound::from_owned_ptr(py, result))),
            ffi::PySendResult::PYGEN_RETURN => {
                Ok(Step::Returned(Bound::from_owned_ptr(py, result)))
            }
            ffi::PySendResult::PYGEN_ERROR => Err(PyErr::fetch(py)),
        }
    }
}
