//! The frozen class that Python builds, serves and stops.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::parent_id;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use snodo_core::context::{Arrival, Transport};
use snodo_core::pipeline::Prepared;
use snodo_core::runtime::Runtime;
use snodo_server::bind::{BindError, HttpOptions, HttpServer};
use snodo_server::cancel::CancelToken;
use snodo_server::handler::Handler;
use snodo_server::service::Service;
use snodo_server::transport::serve_stdio;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::handler::{PyHandler, PyTool, State};
use crate::lane::{EventLoopLane, ThreadLane};
use crate::log;
use crate::settings::{self, Options, configuration_error};

/// The runtime of the transports: one for the process, made at its first use.
fn tokio_runtime() -> PyResult<&'static tokio::runtime::Runtime> {
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

/// A server that nothing can change any more.
#[pyclass(frozen, name = "Runtime", module = "snodo._snodo")]
pub(crate) struct PyRuntime {
    service: Arc<Service>,
    threads: Arc<ThreadLane>,
    event_loop: Arc<EventLoopLane>,
    state: State,
    has_coroutines: bool,
}

#[pymethods]
impl PyRuntime {
    #[new]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python arguments are extracted by value"
    )]
    fn new(options: &Bound<'_, PyDict>, specs: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = options.py();
        let options = Options(options);
        let validator = options.validator()?;
        let debug = options.get::<bool>("debug")?.unwrap_or(false);
        let state = State::default();
        let mut definitions = Vec::with_capacity(specs.len());
        let mut plans = HashMap::with_capacity(specs.len());
        for spec in &specs {
            let definition = settings::tool(spec, validator)?;
            let plan = Arc::new(PyTool::read(spec, debug, state.clone())?);
            plans.insert(definition.name.clone(), plan);
            definitions.push(definition);
        }
        let runtime = Runtime::new(options.settings()?, definitions)
            .map_err(|error| configuration_error(py, error))?;
        let threads = ThreadLane::new(options.get::<usize>("threads")?.unwrap_or(256).max(1));
        let event_loop = EventLoopLane::new()?;
        // The registry has sorted the tools; the handlers follow its order.
        let handlers: Vec<Arc<dyn Handler>> = runtime
            .registry
            .tools
            .iter()
            .map(|tool| plans[&tool.name].clone())
            .map(|plan| -> Arc<dyn Handler> {
                Arc::new(if plan.is_async {
                    PyHandler::EventLoop(plan, event_loop.clone())
                } else {
                    PyHandler::Thread(plan, threads.clone())
                })
            })
            .collect();
        let has_coroutines = plans.values().any(|plan| plan.is_async);
        let service = Arc::new(Service::new(Arc::new(runtime), handlers));
        Ok(Self {
            service,
            threads,
            event_loop,
            state,
            has_coroutines,
        })
    }

    /// Whether any tool needs an event loop.
    #[getter]
    fn has_coroutines(&self) -> bool {
        self.has_coroutines
    }

    /// Whether a loop runs the coroutines already.
    #[getter]
    fn has_loop(&self) -> bool {
        self.event_loop.is_attached()
    }

    /// The revisions served, newest first.
    #[getter]
    fn versions(&self) -> Vec<&'static str> {
        self.service.runtime().settings.versions().collect()
    }

    /// Plain functions that are in Python just now.
    #[getter]
    fn running_threads(&self) -> usize {
        self.threads.running()
    }

    /// Makes a value `context.state`.
    #[pyo3(signature = (value))]
    fn set_state(&self, value: Option<Py<PyAny>>) {
        self.state.set(value);
    }

    /// Runs the coroutines on this loop. Call it on the loop's own thread.
    fn attach_loop(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        self.event_loop.attach(event_loop)
    }

    /// Takes the loop back. Gives the tasks of calls that were under way, cancelled.
    fn detach_loop(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        self.event_loop.detach(event_loop)
    }

    /// Serves one message in this process: the answer, or `None` where there is none.
    fn handle<'py>(
        &self,
        py: Python<'py>,
        message: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let runtime = tokio_runtime()?;
        let arrival = Arrival {
            transport: Transport::Direct,
            headers: None,
            principal: None,
        };
        let answer = match py.detach(|| self.service.prepare(message, arrival)) {
            Prepared::Answer(answer) => Some(answer),
            Prepared::Call(call) => {
                let mut running = Box::pin(self.service.run(call, CancelToken::new()));
                loop {
                    let turn = py.detach(|| {
                        runtime.block_on(async { timeout(TURN, running.as_mut()).await })
                    });
                    match turn {
                        Ok(answer) => break answer,
                        // Raising drops the call, which cancels it.
                        Err(_) => py.check_signals()?,
                    }
                }
            }
            Prepared::Cancel(_) | Prepared::Silence => None,
        };
        Ok(answer.map(|answer| PyBytes::new(py, &answer.body)))
    }

    /// Binds and begins to serve HTTP.
    #[pyo3(signature = (*, host, port, path, allowed_hosts, allowed_origins, signals))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keywords of a Python call, taken apart here only"
    )]
    fn serve_http(
        &self,
        py: Python<'_>,
        host: String,
        port: u16,
        path: String,
        allowed_hosts: Vec<String>,
        allowed_origins: Vec<String>,
        signals: bool,
    ) -> PyResult<PyServing> {
        let options = HttpOptions {
            host,
            port,
            path,
            allowed_hosts,
            allowed_origins,
        };
        let bound = py.detach(|| HttpServer::bind(self.service.clone(), &options));
        let server = bound.map_err(|error| match error {
            BindError::Path(_) | BindError::Entry(_) => configuration_error(py, error),
            _ => PyOSError::new_err(error.to_string()),
        })?;
        let url = format!("http://{}{}", server.address(), options.path);
        let drain = self.service.runtime().settings.limits.drain_timeout;
        // What draining leaves of its time is the lifespan's.
        let patience = Patience {
            signalled: drain + LAST_WORDS,
            over: drain + LAST_WORDS,
        };
        PyServing::start(py, Some(url), signals.then_some(patience), |stop| {
            server.serve(stopped(stop))
        })
    }

    /// Begins to serve the two file descriptors, which it takes over.
    #[pyo3(signature = (*, input, output, signals))]
    fn serve_stdio(
        &self,
        py: Python<'_>,
        input: i32,
        output: i32,
        signals: bool,
    ) -> PyResult<PyServing> {
        #[expect(unsafe_code, reason = "Python hands over plain numbers")]
        // SAFETY: the caller made both with `os.dup` for this call and does not use them again.
        let (input, output) = unsafe { (File::from_raw_fd(input), File::from_raw_fd(output)) };
        let service = self.service.clone();
        let patience = Patience {
            signalled: INTERRUPTED,
            over: LAST_WORDS,
        };
        PyServing::start(
            py,
            None,
            signals.then_some(patience),
            move |stop| async move {
                let told = async {
                    tokio::select! {
                        () = stopped(stop) => {}
                        () = orphaned(), if signals => {}
                    }
                };
                serve_stdio(service, input, output, told)
                    .await
                    .map_err(io::Error::other)
            },
        )
    }

    /// Ends the threads that have nothing to do.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.threads.close());
    }
}

/// A transport under way.
#[pyclass(frozen, name = "Serving", module = "snodo._snodo")]
pub(crate) struct PyServing {
    url: Option<String>,
    stop: watch::Sender<bool>,
    done: Arc<Done>,
}

/// How long a process that a transport owns goes on, whatever Python does meanwhile.
#[derive(Clone, Copy)]
struct Patience {
    /// From the first signal.
    signalled: Duration,
    /// From the end of the transport.
    over: Duration,
}

/// How a transport ended, once it has.
#[derive(Default)]
struct Done {
    outcome: Mutex<Option<Result<(), String>>>,
    changed: Condvar,
}

impl PyServing {
    /// Starts a transport. With `patience` it owns the process: signals end it without Python's help.
    fn start<F>(
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
            runtime.spawn(Signals::new()?.end(stop.clone(), patience.signalled));
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
async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the last sender is gone, and then nobody can say stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// How often Python's own signal handlers have their turn while its thread waits in here.
const TURN: Duration = Duration::from_millis(200);

/// Time from a signal to the end of a process that serves a pipe.
const INTERRUPTED: Duration = Duration::from_millis(400);

/// Time that Python gets at least to leave its lifespan and end, after what was to be drained.
const LAST_WORDS: Duration = Duration::from_millis(700);

/// What ends a process from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The first signal ends gently, the second at once.
    async fn end(mut self, stop: watch::Sender<bool>, patience: Duration) {
        self.next().await;
        exit_after(patience, 0);
        stop.send_replace(true);
        let status = self.next().await;
        exit_after(Duration::ZERO, status);
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Waits until the process that started this one is gone. The end of input tells that too, but not
/// while something else holds the other end of the pipe.
async fn orphaned() {
    let parent = parent_id();
    while parent > 1 && parent_id() == parent {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    if parent <= 1 {
        std::future::pending::<()>().await;
    }
}

/// Ends the process unless it has ended by itself by then.
fn exit_after(patience: Duration, status: i32) {
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        #[expect(
            unsafe_code,
            reason = "there is no safe way to end without destructors"
        )]
        // SAFETY: `_exit` takes any status and does not return; what it skips is what hangs.
        unsafe {
            libc::_exit(status)
        }
    });
}
