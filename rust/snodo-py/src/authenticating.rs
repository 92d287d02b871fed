//! The application's word on who sends an HTTP request: asked on a lane, before there is a call.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, StatusCode};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use snodo_core::json::{self, Json};
use snodo_core::limits::{Limits, PRINCIPAL_BYTES};
use snodo_server::authenticate::{Authenticate, Authenticating, Denial, Head, Principal, Refusal};
use tokio::sync::oneshot;

use crate::convert::encode;
use crate::imports;
use crate::lane::{EventLoopLane, ThreadLane};

/// A function that knows who somebody is.
pub(crate) struct PyAuthenticator {
    /// `identify(request)`
    pub(crate) function: Arc<Py<PyAny>>,
    pub(crate) is_async: bool,
    /// Whether it was seen holding up its thread.
    pub(crate) slow: Arc<AtomicBool>,
    pub(crate) threads: Arc<ThreadLane>,
    pub(crate) event_loop: Arc<EventLoopLane>,
}

type Verdict = Result<Principal, Denial>;

impl Authenticate for PyAuthenticator {
    fn authenticate(&self, head: Head) -> Authenticating {
        let (sender, verdict) = oneshot::channel();
        let function = self.function.clone();
        let mut given_up = None;
        if self.is_async {
            let key = self
                .event_loop
                .spawn(move |event_loop| wait(event_loop, &function, &head, sender));
            given_up = Some(GiveUp {
                event_loop: self.event_loop.clone(),
                key,
            });
        } else {
            self.threads.errand(self.slow.clone(), move |py| {
                if !sender.is_closed() {
                    let _ = sender.send(asked(py, &function, &head));
                }
            });
        }
        Box::pin(async move {
            let _given_up = given_up;
            verdict.await.unwrap_or(Err(Denial::Failed))
        })
    }
}

/// Nobody waits any more.
struct GiveUp {
    event_loop: Arc<EventLoopLane>,
    key: u64,
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.event_loop.cancel(self.key); // of a task that is done it finds nothing
    }
}

fn asked(py: Python<'_>, function: &Py<PyAny>, head: &Head) -> Verdict {
    let said = request(py, head).and_then(|request| {
        // No request is served here yet, and what the function sets ends with it.
        imports::set_current(py)?.call1((py.None(),))?;
        let own = imports::copy_context(py)?.call0()?;
        own.call_method1(intern!(py, "run"), (function, request))
    });
    match said {
        Ok(said) => read(&said),
        Err(error) => Err(failed(py, error)),
    }
}

/// Makes the task that waits for an answer.
fn wait<'py>(
    event_loop: &Bound<'py, PyAny>,
    function: &Py<PyAny>,
    head: &Head,
    sender: oneshot::Sender<Verdict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = event_loop.py();
    imports::set_current(py)?.call1((py.None(),))?;
    let answer = Answer(Mutex::new(Some(sender)));
    let waiting = imports::identified(py)?.call1((function, request(py, head)?, answer))?;
    let named = PyDict::new(py);
    named.set_item(intern!(py, "loop"), event_loop)?;
    imports::task(py)?.call((waiting,), Some(&named))
}

/// What a coroutine that says who somebody is answers to.
#[pyclass(frozen, module = "snodo._snodo")]
struct Answer(Mutex<Option<oneshot::Sender<Verdict>>>);

impl Answer {
    fn send(&self, verdict: impl FnOnce() -> Verdict) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender.filter(|sender| !sender.is_closed()) {
            let _ = sender.send(verdict());
        }
    }
}

#[pymethods]
impl Answer {
    fn give(&self, said: &Bound<'_, PyAny>) {
        self.send(|| read(said));
    }

    fn fail(&self, raised: &Bound<'_, PyAny>) {
        self.send(|| Err(failed(raised.py(), PyErr::from_value(raised.clone()))));
    }
}

/// `Request(method, path, headers, peer)`
fn request<'py>(py: Python<'py>, head: &Head) -> PyResult<Bound<'py, PyAny>> {
    let headers = PyList::empty(py);
    for (name, value) in &head.headers {
        // As header fields are read where they are not checked: a byte is a character.
        let value: String = value
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect();
        headers.append((name.as_str(), value))?;
    }
    let peer = head
        .peer
        .map(|peer: SocketAddr| (peer.ip().to_string(), peer.port()));
    imports::auth_request(py)?.call1((head.method.as_str(), &head.path, headers, peer))
}

/// A principal is a string that says something, or an object: a number or a boolean is more likely what
/// some comparison gave.
fn read(said: &Bound<'_, PyAny>) -> Verdict {
    let py = said.py();
    let refusal = imports::auth_refusal(py).and_then(|kind| said.is_instance(kind));
    if refusal.unwrap_or(false) {
        return Err(denial(said).unwrap_or(Denial::Invalid));
    }
    if let Some(principal) = principal(said) {
        return Ok(Principal(principal));
    }
    let kind = said
        .get_type()
        .name()
        .map_or_else(|_| String::new(), |name| name.to_string());
    let rule = principal_rule();
    let text = format!("authenticate gave {kind} for a principal: {rule}; None refuses");
    let _ = imports::tell(py).and_then(|tell| tell.call1((40, text)));
    Err(Denial::Invalid)
}

/// What a principal is.
pub(crate) fn principal_rule() -> String {
    format!(
        "it must be a string that is not empty, or a dict of JSON values of at most {PRINCIPAL_BYTES} bytes"
    )
}

/// Says what a principal is, to whoever declares what can be none.
#[pyfunction]
pub(crate) fn wrong_principal(said: &Bound<'_, PyAny>) -> Option<String> {
    principal(said).is_none().then(principal_rule)
}

/// The principal that this is, if it can be one.
pub(crate) fn principal(said: &Bound<'_, PyAny>) -> Option<Json> {
    let is_text = said
        .cast::<PyString>()
        .is_ok_and(|text| text.len().is_ok_and(|len| len > 0));
    if !is_text && !said.is_instance_of::<PyDict>() {
        return None;
    }
    let text = encode(said, PRINCIPAL_BYTES).ok()?;
    if text.len() > PRINCIPAL_BYTES {
        return None;
    }
    let principal = json::parse(&text, &Limits::default()).ok()?;
    matches!(principal, Json::String(_) | Json::Object(_)).then_some(principal)
}

fn denial(refusal: &Bound<'_, PyAny>) -> PyResult<Denial> {
    let py = refusal.py();
    let status: u16 = refusal.getattr(intern!(py, "status"))?.extract()?;
    let challenge: Option<String> = refusal.getattr(intern!(py, "challenge"))?.extract()?;
    Ok(Denial::Refused(Refusal {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::UNAUTHORIZED),
        challenge: challenge.and_then(|text| HeaderValue::try_from(text).ok()),
        message: refusal.getattr(intern!(py, "message"))?.extract()?,
    }))
}

/// What a raised exception comes to: its text stays in the log.
fn failed(py: Python<'_>, error: PyErr) -> Denial {
    let exception = error.into_value(py);
    let _ = imports::report(py)
        .and_then(|report| report.call1(("Authentication", "authenticate", &exception)));
    Denial::Failed
}
