//! A transport under way: how Python waits for it, and how it and its process end.

use std::io;
use std::os::unix::process::parent_id;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::log;

/// The runtime of the transports: one for the process, made at its first use.
pub(crate) fn tokio_runtime() -> PyResult<&'static tokio::runtime::Runtime> {
    static RUNTIME: OnceLock<(u32, tokio::runtime::Runtime)> = OnceLock::new();
    let (process, runtime) = if let Some(made) = RUNTIME.get() {
        made
    } else {
        let made = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("snodo-io")
            .build()?;
        RUNTIME.get_or_init(|| (std::process::id(), made))
    };
    if *process != std::process::id() {
        // Threads do not survive a fork: whoever waited for them would wait for ever.
        return Err(PyRuntimeError::new_err(
            "this process was forked from one in which a server was in use already: fork before \
             the first use, or start processes by \"spawn\"",
        ));
    }
    Ok(runtime)
}

/// Ends a process that a tool made by `os.fork` and did not end itself: it is no server, and would
/// keep the server's sockets open for ever.
pub(crate) fn end_if_forked() {
    static SERVER: OnceLock<u32> = OnceLock::new();
    let here = std::process::id();
    if *SERVER.get_or_init(|| here) != here {
        exit(0);
    }
}

/// A transport under way.
#[pyclass(frozen, name = "Serving", module = "snodo._snodo")]
pub(crate) struct PyServing {
    url: Option<String>,
    stop: watch::Sender<bool>,
    done: Arc<Done>,
}

/// What ends the process that a transport owns, besides the end of the transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever sends signals: the first ends gently, the second at once.
    Signals,
    /// The process that started this one among several: SIGTERM is how it ends one gently, however
    /// often it comes, and Ctrl-C, which reaches all of them, is its own affair.
    Parent,
}

/// How long a process that a transport owns goes on, whatever Python does meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    owner: Owner,
    /// From the first signal.
    signalled: Duration,
    /// From the end of the transport.
    over: Duration,
}

impl Patience {
    /// Whoever reads from a pipe is waiting for its end.
    pub(crate) const PIPE: Self = Self {
        owner: Owner::Signals,
        signalled: Duration::from_millis(400),
        over: Duration::from_millis(900),
    };

    /// What draining leaves of its time is the lifespan's.
    pub(crate) fn draining(drain: Duration, owner: Owner) -> Self {
        Self {
            owner,
            signalled: drain + LAST_WORDS,
            over: drain + LAST_WORDS,
        }
    }
}

/// How a transport ended, once it has.
#[derive(Default)]
struct Done {
    outcome: Mutex<Option<Result<(), String>>>,
    changed: Condvar,
}

impl PyServing {
    /// Starts a transport. With `patience` it owns the process: signals end it without Python's help.
    pub(crate) fn start<F>(
        py: Python<'_>,
        url: Option<String>,
        patience: Option<Patience>,
        serve: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> PyResult<Self>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        log::listen();
        let runtime = tokio_runtime()?;
        let (stop, stopped) = watch::channel(false);
        let done = Arc::new(Done::default());
        if let Some(patience) = patience {
            // Registered before this returns: a signal from here on is not lost.
            let _within = runtime.enter();
            runtime.spawn(Signals::new(patience.owner)?.end(stop.clone(), patience.signalled));
            // One that came before, on another thread, was Python's, which may not have noticed yet:
            // a thread that keeps the interpreter is not told.
            py.check_signals()?;
        }
        let serving = serve(stopped);
        let told = done.clone();
        runtime.spawn(async move {
            let outcome = serving.await.map_err(|error| error.to_string());
            if let Some(patience) = patience {
                exit_after(patience.over, i32::from(outcome.is_err()));
            }
            *told.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            told.changed.notify_all();
        });
        Ok(Self { url, stop, done })
    }
}

#[pymethods]
impl PyServing {
    /// Where it is served, for HTTP.
    #[getter]
    fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Begins to end it: calls under way may finish within the drain time.
    fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Blocks until it has ended.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let ended = py.detach(|| {
                let outcome = self
                    .done
                    .outcome
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let (outcome, _) = self
                    .done
                    .changed
                    .wait_timeout_while(outcome, TURN, |outcome| outcome.is_none())
                    .unwrap_or_else(PoisonError::into_inner);
                outcome.clone()
            });
            log::deliver(py);
            match ended {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(PyOSError::new_err(error)),
                None => py.check_signals()?,
            }
        }
    }
}

/// Waits until told to stop.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the last sender is gone, and then nobody can say stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// How often Python's own signal handlers have their turn while its thread waits in here.
pub(crate) const TURN: Duration = Duration::from_millis(200);

/// Time that Python gets at least to leave its lifespan and end, after what was to be drained.
const LAST_WORDS: Duration = Duration::from_millis(700);

/// What ends a process from outside.
struct Signals {
    /// Not where a parent process takes it.
    interrupt: Option<Signal>,
    terminate: Signal,
}

impl Signals {
    fn new(owner: Owner) -> io::Result<Self> {
        Ok(Self {
            interrupt: match owner {
                Owner::Signals => Some(signal(SignalKind::interrupt())?),
                Owner::Parent => None,
            },
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn end(mut self, stop: watch::Sender<bool>, patience: Duration) {
        self.next().await;
        exit_after(patience, 0);
        stop.send_replace(true);
        if self.interrupt.is_some() {
            let status = self.next().await;
            exit_after(Duration::ZERO, status);
        }
    }

    async fn next(&mut self) -> i32 {
        let Some(interrupt) = &mut self.interrupt else {
            self.terminate.recv().await;
            return 143;
        };
        tokio::select! {
            _ = interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Waits until the process that started this one is gone. The end of input tells that too, but not
/// while something else holds the other end of the pipe.
pub(crate) async fn orphaned() {
    let parent = parent_id();
    if parent <= 1 {
        std::future::pending::<()>().await;
    }
    orphaned_by(parent).await;
}

/// Waits until that process is gone, which started this one.
pub(crate) async fn orphaned_by(parent: u32) {
    while parent_id() == parent {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Ends the process unless it has ended by itself by then.
fn exit_after(patience: Duration, status: i32) {
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        exit(status);
    });
}

#[expect(
    unsafe_code,
    reason = "there is no safe way to end without destructors"
)]
fn exit(status: i32) -> ! {
    // SAFETY: `_exit` takes any status and does not return; what it skips is what hangs.
    unsafe { libc::_exit(status) }
}
