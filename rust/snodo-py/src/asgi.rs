//! Requests that an ASGI server hands over, and the responses it takes back.
//!
//! Each is a tokio task. What it has for the host waits in a short queue; the event loop is woken for
//! many at once, the way it is for calls, and looks into it on its own thread.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_server::transport::{Head, Hosted, HostedOptions, Outlet, Part, Piece};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::authenticating::{self, principal_rule};
use crate::convert::encode;
use crate::lane::EventLoopLane;
use crate::log;
use crate::server::PyRuntime;
use crate::serving::tokio_runtime;
use crate::settings::configuration_error;

/// What wakes one event loop.
#[pyclass(frozen, name = "Porter", module = "snodo._snodo")]
pub(crate) struct PyPorter(Arc<EventLoopLane>);

#[pymethods]
impl PyPorter {
    /// Of the running loop of the calling thread, until that is closed.
    #[new]
    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let lane = EventLoopLane::new()?;
        lane.attach(event_loop)?;
        Ok(Self(lane))
    }
}

/// An endpoint within an ASGI application.
#[pyclass(frozen, name = "Hosted", module = "snodo._snodo")]
pub(crate) struct PyHosted {
    hosted: Arc<Hosted>,
    /// What waits for signals.
    waiting: Mutex<Vec<AbortHandle>>,
}

impl Drop for PyHosted {
    fn drop(&mut self) {
        for task in lock(&self.waiting).drain(..) {
            task.abort();
        }
    }
}

#[pymethods]
impl PyHosted {
    #[new]
    #[pyo3(signature = (runtime, *, path, allowed_hosts, allowed_origins, legacy_sse))]
    fn new(
        py: Python<'_>,
        runtime: &PyRuntime,
        path: String,
        allowed_hosts: Vec<String>,
        allowed_origins: Vec<String>,
        legacy_sse: bool,
    ) -> PyResult<Self> {
        log::listen();
        let options = HostedOptions {
            path,
            allowed_hosts,
            allowed_origins,
            legacy_sse,
        };
        let hosted = Hosted::new(runtime.service(), &options);
        let hosted = hosted.map_err(|error| configuration_error(py, error))?;
        Ok(Self {
            hosted: Arc::new(hosted),
            waiting: Mutex::default(),
        })
    }

    /// Begins to serve a request.
    fn begin(&self, porter: &PyPorter, scope: &Bound<'_, PyDict>) -> PyResult<PyExchange> {
        let head = read_head(scope)?;
        let shared = Arc::new(Shared {
            porter: porter.0.clone(),
            waiting: Mutex::default(),
        });
        let bell = shared.clone();
        let (outlet, parts) = Outlet::new(move || bell.ring());
        let (body, pieces) = mpsc::unbounded_channel();
        let serving = self.hosted.clone().serve(head, pieces, outlet);
        let task = tokio_runtime()?.spawn(serving).abort_handle();
        Ok(PyExchange {
            shared,
            parts: Mutex::new(parts),
            body: Mutex::new(Some(body)),
            room: AtomicUsize::new(self.hosted.body_bytes()),
            over: AtomicBool::new(false),
            task,
        })
    }

    /// How many seconds a client may take to take a part of a response.
    #[getter]
    fn write_timeout(&self) -> f64 {
        self.hosted.write_timeout().as_secs_f64()
    }

    /// Ends the streams that go on by themselves whenever one of these signals comes. What handles it
    /// already goes on handling it.
    fn end_streams_at(&self, signals: Vec<i32>) -> PyResult<()> {
        let runtime = tokio_runtime()?;
        let _within = runtime.enter();
        for number in signals {
            let mut received = signal(SignalKind::from_raw(number))?;
            let hosted = self.hosted.clone();
            let task = runtime.spawn(async move {
                while received.recv().await.is_some() {
                    hosted.end_streams();
                }
            });
            lock(&self.waiting).push(task.abort_handle());
        }
        Ok(())
    }

    /// Ends them now, and sets the result of a future once nothing goes on any more.
    fn drain(&self, porter: &PyPorter, over: Py<PyAny>) -> PyResult<()> {
        let (hosted, porter) = (self.hosted.clone(), porter.0.clone());
        hosted.end_streams();
        tokio_runtime()?.spawn(async move {
            hosted.drain().await;
            porter.post(move |event_loop| settle(over.bind(event_loop.py())));
        });
        Ok(())
    }
}

/// Refuses what no endpoint could be made of.
#[pyfunction]
#[pyo3(signature = (*, path, allowed_hosts, allowed_origins, legacy_sse))]
pub(crate) fn check_hosted(
    py: Python<'_>,
    path: String,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    legacy_sse: bool,
) -> PyResult<()> {
    let options = HostedOptions {
        path,
        allowed_hosts,
        allowed_origins,
        legacy_sse,
    };
    options
        .check()
        .map_err(|error| configuration_error(py, error))
}

/// One request and its response.
#[pyclass(frozen, name = "Exchange", module = "snodo._snodo")]
pub(crate) struct PyExchange {
    shared: Arc<Shared>,
    parts: Mutex<mpsc::Receiver<Part>>,
    body: Mutex<Option<mpsc::UnboundedSender<Piece>>>,
    /// Bytes that the body may still have.
    room: AtomicUsize,
    over: AtomicBool,
    task: AbortHandle,
}

/// Who waits for the next part.
struct Shared {
    porter: Arc<EventLoopLane>,
    waiting: Mutex<Option<Py<PyAny>>>,
}

impl Shared {
    /// Tells whoever waits. Called on tokio's threads.
    fn ring(&self) {
        if let Some(future) = lock(&self.waiting).take() {
            self.porter
                .post(move |event_loop| settle(future.bind(event_loop.py())));
        }
    }
}

#[pymethods]
impl PyExchange {
    /// Takes a piece of the body. False: no more of it is wanted.
    fn feed(&self, piece: &[u8], more: bool) -> bool {
        let mut body = lock(&self.body);
        let Some(sender) = &*body else { return false };
        let sent = sender.send((Bytes::copy_from_slice(piece), more)).is_ok();
        let room = self.room.load(Ordering::Relaxed).checked_sub(piece.len());
        self.room.store(room.unwrap_or_default(), Ordering::Relaxed);
        let wanted = sent && more && room.is_some();
        if !more {
            *body = None;
        }
        wanted
    }

    /// The messages for the host that are ready, or `None` after the last one.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        if self.over.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let ready = PyList::empty(py);
        let mut parts = lock(&self.parts);
        loop {
            match parts.try_recv() {
                Ok(part) => {
                    if matches!(part, Part::Body(_, false)) {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    ready.append(message(py, part)?)?;
                }
                Err(mpsc::error::TryRecvError::Empty) => return Ok(Some(ready)),
                Err(mpsc::error::TryRecvError::Disconnected) => {
                    if ready.is_empty() {
                        self.over.store(true, Ordering::Relaxed);
                        return Err(PyRuntimeError::new_err("the response broke off"));
                    }
                    return Ok(Some(ready));
                }
            }
        }
    }

    /// Sets the result of the future, and gives it back, when there is something to take.
    fn coming<'py>(&self, future: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        *lock(&self.shared.waiting) = Some(future.clone().unbind());
        let parts = lock(&self.parts);
        if self.over.load(Ordering::Relaxed) || !parts.is_empty() || parts.is_closed() {
            settle(&future)?;
        }
        Ok(future)
    }

    /// Nobody wants the rest: what runs is cancelled.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.over.store(true, Ordering::Relaxed);
        self.task.abort();
        drop(lock(&self.body).take());
        let waiting = lock(&self.shared.waiting).take();
        waiting.map_or(Ok(()), |future| settle(future.bind(py)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settle(future: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = future.py();
    if !future.call_method0(intern!(py, "done"))?.is_truthy()? {
        future.call_method1(intern!(py, "set_result"), (py.None(),))?;
    }
    Ok(())
}

/// A part of a response as ASGI has it.
fn message(py: Python<'_>, part: Part) -> PyResult<Bound<'_, PyDict>> {
    let message = PyDict::new(py);
    match part {
        Part::Head(status, headers) => {
            message.set_item(intern!(py, "type"), intern!(py, "http.response.start"))?;
            message.set_item(intern!(py, "status"), status.as_u16())?;
            let pairs = headers.iter().map(|(name, value)| {
                let name = PyBytes::new(py, name.as_str().as_bytes());
                PyTuple::new(py, [name, PyBytes::new(py, value.as_bytes())])
            });
            let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
            message.set_item(intern!(py, "headers"), pairs)?;
        }
        Part::Body(bytes, more) => {
            message.set_item(intern!(py, "type"), intern!(py, "http.response.body"))?;
            message.set_item(intern!(py, "body"), PyBytes::new(py, &bytes))?;
            message.set_item(intern!(py, "more_body"), more)?;
        }
    }
    Ok(message)
}

/// The head of a request out of its ASGI scope.
fn read_head(scope: &Bound<'_, PyDict>) -> PyResult<Head> {
    let py = scope.py();
    let given = |name| {
        let value = scope.get_item(name)?;
        PyResult::Ok(value.filter(|value| !value.is_none()))
    };
    let text = |name| match given(name)? {
        Some(value) => value.extract::<String>(),
        None => Ok(String::new()),
    };
    let method = text(intern!(py, "method"))?;
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| PyTypeError::new_err("the method of the request is none"))?;
    let mut headers = HeaderMap::new();
    if let Some(pairs) = given(intern!(py, "headers"))? {
        for pair in pairs.try_iter()? {
            let pair = pair?;
            let (name, value) = (pair.get_item(0)?, pair.get_item(1)?);
            let (name, value) = (name.extract::<&[u8]>()?, value.extract::<&[u8]>()?);
            // What HTTP/2 calls headers of its own is elsewhere in the scope.
            if !name.starts_with(b":") {
                let name = HeaderName::from_bytes(name).map_err(malformed)?;
                headers.append(name, HeaderValue::from_bytes(value).map_err(malformed)?);
            }
        }
    }
    let query = match given(intern!(py, "query_string"))? {
        Some(query) => query.extract::<Vec<u8>>()?,
        None => Vec::new(),
    };
    let state = given(intern!(py, "state"))?;
    Ok(Head {
        method,
        root: text(intern!(py, "root_path"))?,
        path: text(intern!(py, "path"))?,
        query,
        headers,
        closes: text(intern!(py, "http_version"))?.starts_with('1'),
        loopback: is_loopback(given(intern!(py, "server"))?)?,
        peer: given(intern!(py, "client"))?.and_then(|client| address(&client)),
        principal: identity(state.as_ref())?,
        scope: requests(state.as_ref())?,
    })
}

fn malformed(_: impl std::error::Error) -> PyErr {
    PyTypeError::new_err("a header of the request is malformed")
}

/// Whether this end of the connection is one that only this machine reaches. A name, or a path in the
/// file system, is not.
fn is_loopback(server: Option<Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(server) = server else {
        return Ok(false);
    };
    let host = server.get_item(0)?;
    let host = host.extract::<String>().unwrap_or_default();
    Ok(host
        .parse::<IpAddr>()
        .is_ok_and(|host| host.to_canonical().is_loopback()))
}

/// What the other end of the connection is called, if it has an address.
fn address(client: &Bound<'_, PyAny>) -> Option<SocketAddr> {
    let (host, port) = (client.get_item(0).ok()?, client.get_item(1).ok()?);
    let host = host.extract::<String>().ok()?.parse::<IpAddr>().ok()?;
    Some(SocketAddr::new(host, port.extract().ok()?))
}

/// Who the host says it is. What cannot be a principal is more likely a check that failed (`user and
/// user.id`), and nobody's identity.
fn identity(state: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Json>> {
    let Some(said) = kept(state, "mcp_auth")? else {
        return Ok(None);
    };
    match authenticating::principal(&said) {
        Some(principal) => Ok(Some(principal)),
        None => Err(PyTypeError::new_err(format!(
            "mcp_auth is no principal: {}, or None",
            principal_rule()
        ))),
    }
}

/// Which requests the host says belong together.
fn requests(state: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Json>> {
    let name = "mcp_cancellation_scope";
    let Some(value) = kept(state, name)? else {
        return Ok(None);
    };
    let limits = Limits::default();
    let refused = |why: String| PyTypeError::new_err(format!("{name} is not JSON: {why}"));
    let text = encode(&value, limits.result_bytes).map_err(|why| refused(why.to_string()))?;
    let value = json::parse(&text, &limits).map_err(|why| refused(why.to_string()))?;
    Ok(Some(value))
}

/// What the host has put in the state of the request after it verified it.
fn kept<'py>(
    state: Option<&Bound<'py, PyAny>>,
    name: &'static str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(state) = state else { return Ok(None) };
    let value = match state.cast::<PyDict>() {
        Ok(state) => state.get_item(name)?,
        Err(_) => state.getattr_opt(name)?,
    };
    Ok(value.filter(|value| !value.is_none()))
}
