//! The frozen class that Python builds, serves and stops.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::parent_id;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use snodo_core::context::{Arrival, Transport};
use snodo_core::runtime::Runtime;
use snodo_server::bind::{BindError, HttpOptions, HttpServer};
use snodo_server::cancel::CancelToken;
use snodo_server::handler::Handler;
use snodo_server::service::{Prepared, Service};
use snodo_server::transport::serve_stdio;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::component::{Declared, Terms};
use crate::handler::State;
use crate::lane::{EventLoopLane, ThreadLane};
use crate::settings::{Options, configuration_error};

/// The runtime of the transports: one for the process, made at its first use.
fn tokio_runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("snodo-io")
            .build()
            .expect("the system has threads and a poller to give")
    })
}

/// A server that nothing can change any more.
#[pyclass(frozen, name = "Runtime", module = "snodo._snodo")]
pub(crate) struct PyRuntime {
    service: Arc<Service>,
    threads: Arc<ThreadLane>,
    event_loop: Arc<EventLoopLane>,
    options: Py<PyDict>,
    terms: Terms,
    has_coroutines: AtomicBool,
}

#[pymethods]
impl PyRuntime {
    #[new]
    fn new(options: &Bound<'_, PyDict>, offered: &Bound<'_, PyDict>) -> PyResult<Self> {
        let given = Options(options);
        let terms = Terms {
            validator: given.validator()?,
            debug: given.get::<bool>("debug")?.unwrap_or(false),
            state: State::default(),
        };
        let threads = ThreadLane::new(given.get::<usize>("threads")?.unwrap_or(256).max(1));
        let event_loop = EventLoopLane::new()?;
        let declared = Declared::read(offered, &terms)?;
        let has_coroutines = AtomicBool::new(declared.has_coroutines());
        let (runtime, handler) = offer(options, declared, &threads, &event_loop)?;
        Ok(Self {
            service: Arc::new(Service::new(runtime, handler)),
            options: options.clone().unbind(),
            terms,
            threads,
            event_loop,
            has_coroutines,
        })
    }

    /// Offers other components from the next request on. Calls under way end as they began.
    fn replace(&self, offered: &Bound<'_, PyDict>) -> PyResult<()> {
        let options = self.options.bind(offered.py());
        let declared = Declared::read(offered, &self.terms)?;
        let has_coroutines = declared.has_coroutines();
        let (runtime, handler) = offer(options, declared, &self.threads, &self.event_loop)?;
        self.service.replace(runtime, handler);
        self.has_coroutines.store(has_coroutines, Ordering::Relaxed);
        Ok(())
    }

    /// Whether anything needs an event loop.
    #[getter]
    fn has_coroutines(&self) -> bool {
        self.has_coroutines.load(Ordering::Relaxed)
    }

    /// Whether a loop runs the coroutines already.
    #[getter]
    fn has_loop(&self) -> bool {
        self.event_loop.is_attached()
    }

    /// The revisions served, newest first.
    #[getter]
    fn versions(&self) -> Vec<&'static str> {
        let runtime = self.service.runtime();
        runtime.settings.versions().collect()
    }

    /// Plain functions that are in Python just now.
    #[getter]
    fn running_threads(&self) -> usize {
        self.threads.running()
    }

    /// Makes a value `context.state`.
    #[pyo3(signature = (value))]
    fn set_state(&self, value: Option<Py<PyAny>>) {
        self.terms.state.set(value);
    }

    /// Runs the coroutines on this loop. Call it on the loop's own thread.
    fn attach_loop(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        self.event_loop.attach(event_loop)
    }

    fn detach_loop(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        self.event_loop.detach(event_loop)
    }

    /// Serves one message in this process: the answer, or `None` where there is none.
    fn handle<'py>(&self, py: Python<'py>, message: &[u8]) -> Option<Bound<'py, PyBytes>> {
        let arrival = Arrival {
            transport: Transport::Direct,
            headers: None,
            principal: None,
        };
        let answer = py.detach(|| match self.service.prepare(message, arrival) {
            Prepared::Answer(answer) => Some(answer),
            Prepared::Work(work) => {
                tokio_runtime().block_on(self.service.run(work, CancelToken::new()))
            }
            Prepared::Cancel(_) | Prepared::Silence => None,
        });
        answer.map(|answer| PyBytes::new(py, &answer.body))
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
        let drain = self.service.limits().drain_timeout;
        Ok(PyServing::start(
            Some(url),
            signals,
            drain + LAST_WORDS,
            |stop| server.serve(stopped(stop)),
        ))
    }

    /// Begins to serve the two file descriptors, which it takes over.
    #[pyo3(signature = (*, input, output, signals))]
    fn serve_stdio(&self, input: i32, output: i32, signals: bool) -> PyServing {
        #[expect(unsafe_code, reason = "Python hands over plain numbers")]
        // SAFETY: the caller made both with `os.dup` for this call and does not use them again.
        let (input, output) = unsafe { (File::from_raw_fd(input), File::from_raw_fd(output)) };
        let service = self.service.clone();
        PyServing::start(None, signals, INTERRUPTED, move |stop| async move {
            let told = async {
                tokio::select! {
                    () = stopped(stop) => {}
                    () = orphaned(), if signals => {}
                }
            };
            serve_stdio(service, input, output, told)
                .await
                .map_err(io::Error::other)
        })
    }

    /// Ends the threads that have nothing to do.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.threads.close());
    }
}

fn offer(
    options: &Bound<'_, PyDict>,
    mut declared: Declared,
    threads: &Arc<ThreadLane>,
    event_loop: &Arc<EventLoopLane>,
) -> PyResult<(Arc<Runtime>, Arc<dyn Handler>)> {
    let settings = Options(options).settings()?;
    let runtime = Runtime::new(settings, std::mem::take(&mut declared.definitions))
        .map_err(|error| configuration_error(options.py(), error))?;
    let handler = declared.handler(&runtime.registry, threads, event_loop);
    Ok((Arc::new(runtime), Arc::new(handler)))
}

/// A transport under way.
#[pyclass(frozen, name = "Serving", module = "snodo._snodo")]
pub(crate) struct PyServing {
    url: Option<String>,
    stop: watch::Sender<bool>,
    done: Arc<Done>,
    /// Whether signals end it without Python's help.
    signals: bool,
}

/// How a transport ended, once it has.
#[derive(Default)]
struct Done {
    outcome: Mutex<Option<Result<(), String>>>,
    changed: Condvar,
}

impl PyServing {
    /// Starts a transport. `patience`: time from the first signal, or the end of input, to the end
    /// of the process, whatever Python does meanwhile.
    fn start<F>(
        url: Option<String>,
        signals: bool,
        patience: Duration,
        serve: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let (stop, stopped) = watch::channel(false);
        let done = Arc::new(Done::default());
        if signals {
            // Registered before this returns: a signal from here on is not lost.
            let _within = tokio_runtime().enter();
            if let Ok(signals) = Signals::new() {
                tokio_runtime().spawn(signals.end(stop.clone(), patience));
            }
        }
        let serving = serve(stopped);
        let told = done.clone();
        tokio_runtime().spawn(async move {
            let outcome = serving.await.map_err(|error| error.to_string());
            if signals {
                exit_after(LAST_WORDS, 0);
            }
            *told.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            told.changed.notify_all();
        });
        Self {
            url,
            stop,
            done,
            signals,
        }
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
        // Without our own signal handling Python's must have its turn now and then.
        let turn = if self.signals {
            Duration::from_secs(3600)
        } else {
            Duration::from_millis(200)
        };
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
                    .wait_timeout_while(outcome, turn, |outcome| outcome.is_none())
                    .unwrap_or_else(PoisonError::into_inner);
                outcome.clone()
            });
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

/// Time from a signal to the end of a process that serves a pipe.
const INTERRUPTED: Duration = Duration::from_millis(400);

/// Time that Python gets to leave its lifespan and end, once a transport that owns the process is over.
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
