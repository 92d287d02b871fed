//! The frozen class that Python builds, asks and serves.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::sync::Arc;

use pyo3::exceptions::PyOSError;
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
use tokio::time::timeout;

use crate::handler::{PyHandler, PyTool, State};
use crate::lane::{EventLoopLane, ThreadLane};
use crate::serving::{Patience, PyServing, TURN, orphaned, stopped, tokio_runtime};
use crate::settings::{self, Options, configuration_error};

/// A server that nothing can change any more.
#[pyclass(frozen, name = "Runtime", module = "snodo._snodo")]
pub(crate) struct PyRuntime {
    service: Arc<Service>,
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
        let patience = Patience::draining(drain);
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
                serve_stdio(service, input, output, told)
                    .await
                    .map_err(io::Error::other)
            },
        )
    }
}
