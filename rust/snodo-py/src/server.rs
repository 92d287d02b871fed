//! The frozen class that Python builds, asks and serves.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use snodo_core::context::{Arrival, Transport};
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_core::runtime::Runtime;
use snodo_server::beside::Beside;
use snodo_server::bind::{HttpOptions, HttpServer};
use snodo_server::cancel::CancelToken;
use snodo_server::handler::Handler;
use snodo_server::service::{Prepared, Service};
use snodo_server::transport::serve_stdio;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::address::{PyHttpOptions, PyWorker, bind_error};
use crate::authenticating::PyAuthenticator;
use crate::callable::{PyCallable, State, Terms};
use crate::component::Declared;
use crate::extension::Installed;
use crate::hub::PyHub;
use crate::lane::{EventLoopLane, ThreadLane};
use crate::policy::Components;
use crate::sealing::server_keys;
use crate::serving::{
    Owner, Patience, PyServing, TURN, end_if_forked, orphaned, orphaned_by, stopped, tokio_runtime,
};
use crate::settings::{Options, configuration_error};
use crate::source::PySource;
use crate::telemetry::PyFeed;

/// A server that nothing can change any more.
#[pyclass(frozen, weakref, name = "Runtime", module = "snodo._snodo")]
pub(crate) struct PyRuntime {
    service: Arc<Service>,
    threads: Arc<ThreadLane>,
    event_loop: Arc<EventLoopLane>,
    options: Py<PyDict>,
    terms: Terms,
    has_coroutines: AtomicBool,
    /// Whether a source of events, a policy or what authenticates is a coroutine.
    waits: bool,
    feed: Option<Py<PyFeed>>,
}

impl PyRuntime {
    /// What answers its messages.
    pub(crate) fn service(&self) -> Arc<Service> {
        self.service.clone()
    }
}

#[pymethods]
impl PyRuntime {
    #[new]
    fn new(options: &Bound<'_, PyDict>, offered: &Bound<'_, PyDict>) -> PyResult<Self> {
        end_if_forked(); // remembers which process is the server's
        let given = Options(options);
        let watching = given.watching()?;
        let threads = ThreadLane::new(given.get::<usize>("threads")?.unwrap_or(256).max(1));
        let terms = Terms {
            validator: given.validator()?,
            debug: given.get::<bool>("debug")?.unwrap_or(false),
            result_bytes: given.limits()?.result_bytes,
            input_rounds: given.limits()?.input_rounds,
            state: State::default(),
            keys: server_keys(options)?,
            around: watching.as_ref().and_then(|it| it.around.clone()),
            threads: threads.clone(),
        };
        let event_loop = EventLoopLane::new()?;
        let declared = Declared::read(offered, &terms)?;
        let has_coroutines = declared.has_coroutines();
        let (runtime, handler, extended) = offer(options, declared, &terms, &threads, &event_loop)?;
        let has_coroutines = AtomicBool::new(has_coroutines || extended);
        let mut service = Service::new(runtime, handler);
        if let Some(watching) = &watching {
            service = service.with_telemetry(watching.telemetry.clone());
            if let Some(hub) = given.hub()? {
                hub.watch(&watching.telemetry);
            }
        }
        let mut waits = given.policy()?.is_some_and(|policy| policy.1);
        if let Some((function, is_async)) = given.authenticator()? {
            waits |= is_async;
            service = service.with_authenticator(Arc::new(PyAuthenticator {
                function: Arc::new(function),
                is_async,
                slow: Arc::default(),
                threads: threads.clone(),
                event_loop: event_loop.clone(),
            }));
        }
        if let Some(source) = given.source()? {
            service = if let Ok(hub) = source.cast::<PyHub>() {
                service.with_source(Arc::new(hub.get().hub.clone()))
            } else {
                waits = true;
                service.with_source(Arc::new(Beside {
                    source: Arc::new(PySource {
                        source: Arc::new(source.unbind()),
                        event_loop: event_loop.clone(),
                        state: terms.state.clone(),
                    }),
                    hub: given.hub()?.unwrap_or_default(),
                }))
            };
        }
        Ok(Self {
            service: Arc::new(service),
            waits,
            options: options.clone().unbind(),
            terms,
            threads,
            event_loop,
            has_coroutines,
            feed: watching.and_then(|it| it.feed),
        })
    }

    /// What is to be handed on to sinks and to the log; `None` where that is nothing.
    #[getter]
    fn feed(&self, py: Python<'_>) -> Option<Py<PyFeed>> {
        self.feed.as_ref().map(|feed| feed.clone_ref(py))
    }

    /// How much there is to do: what is served, runs, waits and is open.
    fn load(&self) -> HashMap<&'static str, usize> {
        let gauges = self.service.gauges();
        HashMap::from([
            ("in_flight", gauges.in_flight),
            ("running", gauges.running),
            ("queued", gauges.queued),
            ("streams", gauges.streams),
            ("connections", gauges.connections),
            ("sessions", gauges.sessions),
        ])
    }

    /// Offers other components from the next request on. Calls under way end as they began.
    fn replace(&self, offered: &Bound<'_, PyDict>) -> PyResult<()> {
        let options = self.options.bind(offered.py());
        let declared = Declared::read(offered, &self.terms)?;
        let has_coroutines = declared.has_coroutines();
        let (terms, threads) = (&self.terms, &self.threads);
        let (runtime, handler, extended) =
            offer(options, declared, terms, threads, &self.event_loop)?;
        self.service.replace(runtime, handler);
        self.has_coroutines
            .store(has_coroutines || extended, Ordering::Relaxed);
        Ok(())
    }

    /// Whether anything needs an event loop.
    #[getter]
    fn has_coroutines(&self) -> bool {
        self.waits || self.has_coroutines.load(Ordering::Relaxed)
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

    /// Ends the plain functions that still run, as the process is about to end. Whether all have.
    fn end_threads(&self, py: Python<'_>, seconds: f64) -> bool {
        self.threads
            .end(py, Duration::try_from_secs_f64(seconds).unwrap_or_default())
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

    /// Takes the loop back. Gives the tasks of calls that were under way, cancelled.
    fn detach_loop(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        self.event_loop.detach(event_loop)
    }

    /// Fails the calls that wait for a loop, and those that come before there is another.
    fn refuse_calls(&self) {
        self.event_loop.refuse();
    }

    /// Serves one message in this process, of this principal if any (JSON): the answer, or `None` where
    /// there is none.
    #[pyo3(signature = (message, principal=None))]
    fn handle<'py>(
        &self,
        py: Python<'py>,
        message: &[u8],
        principal: Option<&[u8]>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let runtime = tokio_runtime()?;
        let mut arrival = Arrival::new(Transport::Direct);
        arrival.principal = self::principal(principal)?;
        let prepared = py.detach(|| self.service.prepare(message, arrival));
        if matches!(prepared, Prepared::Work(_)) && self.event_loop.runs_here() {
            return Err(PyRuntimeError::new_err(
                "handle() would wait for the event loop that it is called on: \
                 await asyncio.to_thread(server.handle, message) instead",
            ));
        }
        let answer = match prepared {
            // Nothing is remembered from one message to the next.
            Prepared::Answer(answer) | Prepared::Open { answer, .. } => Some(answer),
            Prepared::Settle(settling) => {
                Some(py.detach(|| runtime.block_on(settling.within(None))))
            }
            Prepared::Work(work) => {
                let mut running = Box::pin(self.service.run(work, CancelToken::new()));
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
            Prepared::Listen(listen) => Some(self.service.deaf(listen)),
            Prepared::Cancel(_) | Prepared::Reply(_) | Prepared::Silence => None,
        };
        Ok(answer.map(|answer| PyBytes::new(py, &answer.body)))
    }

    /// Binds and begins to serve HTTP.
    #[pyo3(signature = (options, *, worker, signals))]
    fn serve_http(
        &self,
        py: Python<'_>,
        options: PyHttpOptions,
        worker: Option<PyWorker>,
        signals: bool,
    ) -> PyResult<PyServing> {
        let options = HttpOptions::from(options);
        let parent = worker.as_ref().map(|worker| worker.parent);
        let folder = worker.as_ref().map(|worker| worker.folder.clone());
        let hub = Options(self.options.bind(py)).hub()?;
        let server = py.detach(|| match worker {
            None => HttpServer::bind(self.service.clone(), &options),
            Some(worker) => {
                let (socket, worker) = worker.take(hub)?;
                HttpServer::on(socket, self.service.clone(), &options, Some(worker))
            }
        });
        let server = server.map_err(|error| bind_error(py, error))?;
        let scheme = if server.is_secure() { "https" } else { "http" };
        let url = format!("{scheme}://{}{}", server.address(), options.path);
        let drain = self.service.limits().drain_timeout;
        let owner = parent.map_or(Owner::Signals, |_| Owner::Parent);
        let patience = Patience::draining(drain, owner);
        PyServing::start(py, Some(url), signals.then_some(patience), move |stop| {
            serve_and_leave(server, stop, parent.zip(folder))
        })
    }

    /// Begins to serve the two file descriptors, which it takes over.
    #[pyo3(signature = (*, input, output, principal, signals))]
    fn serve_stdio(
        &self,
        py: Python<'_>,
        input: i32,
        output: i32,
        principal: Option<&[u8]>,
        signals: bool,
    ) -> PyResult<PyServing> {
        #[expect(unsafe_code, reason = "Python hands over plain numbers")]
        // SAFETY: the caller made both with `os.dup` for this call and does not use them again.
        let (input, output) = unsafe { (File::from_raw_fd(input), File::from_raw_fd(output)) };
        let service = self.service.clone();
        let principal = self::principal(principal)?;
        PyServing::start(
            py,
            None,
            signals.then_some(Patience::PIPE),
            move |stop| async move {
                let told = async {
                    tokio::select! {
                        () = stopped(stop) => {}
                        () = orphaned(), if signals => {}
                    }
                };
                serve_stdio(service, input, output, principal, told)
                    .await
                    .map_err(io::Error::other)
            },
        )
    }
}

/// Who is at the other end, as JSON.
/// Serves until told to stop, or until the parent is gone; that one would have removed the folder, so who
/// is the last in it does.
async fn serve_and_leave(
    server: HttpServer,
    stop: watch::Receiver<bool>,
    parent: Option<(u32, PathBuf)>,
) -> io::Result<()> {
    let Some((parent, folder)) = parent else {
        return server.serve(stopped(stop)).await;
    };
    let ended = server.serve(async move {
        tokio::select! {
            () = stopped(stop) => {}
            () = orphaned_by(parent) => {}
        }
    });
    let ended = ended.await;
    if parent_id() != parent {
        // Refused while others are in it.
        let _ = fs::remove_dir(folder);
    }
    ended
}

fn principal(text: Option<&[u8]>) -> PyResult<Option<Json>> {
    let parsed = text.map(|text| json::parse(text, &Limits::default()));
    let parsed = parsed.transpose();
    parsed.map_err(|error| PyValueError::new_err(format!("principal: {error}")))
}

/// The offer, and whether its extensions need an event loop.
fn offer(
    options: &Bound<'_, PyDict>,
    mut declared: Declared,
    terms: &Terms,
    threads: &Arc<ThreadLane>,
    event_loop: &Arc<EventLoopLane>,
) -> PyResult<(Arc<Runtime>, Arc<dyn Handler>, bool)> {
    let mut settings = Options(options).settings()?;
    let mut extensions = match options.get_item("extensions")? {
        Some(specs) => Installed::read(&specs, terms, event_loop)?,
        None => Installed::default(),
    };
    settings.extensions = std::mem::take(&mut extensions.definitions);
    let runtime = Runtime::new(settings, std::mem::take(&mut declared.definitions))
        .map_err(|error| configuration_error(options.py(), error))?;
    let policy = match Options(options).policy()? {
        Some(policy) => {
            let known = Components::read(options.py(), &runtime.registry)?;
            Some(PyCallable::policy(policy, known, terms))
        }
        None => None,
    };
    let extended = extensions.has_coroutines();
    let handler = declared.handler(&runtime.registry, extensions, threads, event_loop, policy);
    Ok((Arc::new(runtime), Arc::new(handler), extended))
}
