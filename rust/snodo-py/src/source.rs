//! A source of events that is written in Python: one task on the event loop for each listener.
//!
//! The task runs `snodo._subscriptions.pump`, which pulls an event from the source each time the
//! transport wants one, and not before. Between the two is a [`Pull`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, Waker};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use snodo_core::context::Context;
use snodo_core::error::Error;
use snodo_core::json::{self, Json};
use snodo_core::limits::{FILTER_BYTES, Limits};
use snodo_core::subscription::{Event, Filter, Selection};
use snodo_server::cancel::{CancelToken, Reason};
use snodo_server::source::{End, Failed, Feed, Opened, Opening, Source, failed};
use tokio::sync::oneshot;

use crate::callable::State;
use crate::context::PyContext;
use crate::convert::{encode, object_to_python};
use crate::hub::PyEvent;
use crate::lane::EventLoopLane;
use crate::{error, imports};

/// A Python object with `accept` and `listen`.
pub(crate) struct PySource {
    pub(crate) source: Arc<Py<PyAny>>,
    pub(crate) event_loop: Arc<EventLoopLane>,
    pub(crate) state: State,
}

impl Source for PySource {
    fn open(&self, filter: Filter, context: Arc<Context>) -> Opening {
        let (sender, opened) = oneshot::channel();
        let shared = Arc::new(Shared {
            state: Mutex::new(FeedState {
                opening: Some(sender),
                ..FeedState::default()
            }),
            cancel: CancelToken::new(),
        });
        let (source, state) = (self.source.clone(), self.state.clone());
        let pumped = shared.clone();
        let key = self.event_loop.spawn(move |event_loop| {
            let task = pump(event_loop, &source, &filter, &context, &state, &pumped);
            task.inspect_err(|_| pumped.end(Err(failed())))
        });
        let feed = PyFeed {
            shared,
            event_loop: self.event_loop.clone(),
            key,
            why: Reason::Client,
        };
        Box::pin(async move {
            let accepted = opened.await.unwrap_or_else(|_| Err(failed()))?;
            let feed = Box::new(feed);
            Ok(Opened { accepted, feed })
        })
    }
}

/// Makes the task that tells one listener, in the context of its request.
fn pump<'py>(
    event_loop: &Bound<'py, PyAny>,
    source: &Py<PyAny>,
    filter: &Filter,
    context: &Arc<Context>,
    state: &State,
    shared: &Arc<Shared>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = event_loop.py();
    let known = |context: Arc<Context>| {
        Bound::new(
            py,
            PyContext::listening(context, state.clone(), shared.cancel.clone()),
        )
    };
    // What was sent is there for the source to decide on; while the stream is open it is not kept.
    let (asked, kept) = (
        known(context.clone())?,
        known(Arc::new(context.retained()))?,
    );
    imports::set_current(py)?.call1((&kept,))?;
    let pull = Pull {
        shared: shared.clone(),
        event_loop: event_loop.clone().unbind(),
    };
    let pump = imports::pump(py)?.call1((source, to_python(py, filter)?, asked, kept, pull))?;
    let named = PyDict::new(py);
    named.set_item(intern!(py, "loop"), event_loop)?;
    let task = imports::task(py)?.call((pump,), Some(&named))?;
    let over = Over(shared.clone());
    task.call_method1(intern!(py, "add_done_callback"), (over,))?;
    Ok(task)
}

/// What a task does when it is done, in whatever way.
#[pyclass(frozen, module = "snodo._snodo")]
struct Over(Arc<Shared>);

#[pymethods]
impl Over {
    fn __call__(&self, _task: &Bound<'_, PyAny>) {
        let mut state = self.0.state();
        let ended = state.end.is_some();
        let pump = state.pump.take();
        drop(state);
        drop(pump); // here, where Python is at hand, and after the lock
        if !ended {
            self.0.end(Err(failed()));
        }
    }
}

/// What both sides of a feed know.
struct Shared {
    state: Mutex<FeedState>,
    cancel: CancelToken,
}

#[derive(Default)]
struct FeedState {
    /// Until the source has accepted or refused.
    opening: Option<oneshot::Sender<Result<Filter, Error>>>,
    turn: Turn,
    event: Option<Arc<Event>>,
    /// How the source ended, once it has.
    end: Option<Result<(), Failed>>,
    finishing: bool,
    /// The transport, waiting.
    waker: Option<Waker>,
    /// The pump, waiting: an asyncio future.
    pump: Option<Py<PyAny>>,
}

/// Whose turn it is.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The transport's: it has not asked, or not yet taken what it asked for.
    #[default]
    Transport,
    /// The transport wants an event, and nobody has begun to look for one.
    Asked,
    /// The source's.
    Source,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source has ended.
    fn end(&self, how: Result<(), Error>) {
        let mut state = self.state();
        if let (Some(opening), Err(error)) = (state.opening.take(), &how) {
            let _ = opening.send(Err(error.clone()));
        }
        state.end = Some(how.map_err(|_| Failed));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Lets the pump go on, on its own thread.
    fn wake_pump(&self, py: Python<'_>) -> PyResult<()> {
        let pump = {
            let mut state = self.state();
            if state.turn != Turn::Asked || state.pump.is_none() {
                return Ok(());
            }
            state.turn = Turn::Source;
            state.pump.take()
        };
        match pump {
            Some(pump) => settle(pump.bind(py)),
            None => Ok(()),
        }
    }
}

fn settle(future: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = future.py();
    // Cancelled while it waited.
    if future.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    future.call_method1(intern!(py, "set_result"), (py.None(),))?;
    Ok(())
}

/// The transport's side.
struct PyFeed {
    shared: Arc<Shared>,
    event_loop: Arc<EventLoopLane>,
    key: u64,
    why: Reason,
}

impl Feed for PyFeed {
    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Arc<Event>, Failed>>> {
        let mut state = self.shared.state();
        if let Some(event) = state.event.take() {
            return Poll::Ready(Some(Ok(event)));
        }
        match state.end {
            Some(Ok(())) => return Poll::Ready(None),
            Some(Err(failed)) => return Poll::Ready(Some(Err(failed))),
            None if state.finishing => return Poll::Ready(None),
            None => {}
        }
        let before = state.waker.replace(task.waker().clone());
        let asks = state.turn == Turn::Transport;
        if asks {
            state.turn = Turn::Asked;
        }
        drop(state);
        drop(before); // after the lock: dropping a waker may run anything
        if asks {
            let shared = self.shared.clone();
            self.event_loop
                .post(move |event_loop| shared.wake_pump(event_loop.py()));
        }
        Poll::Pending
    }

    fn finish(&mut self) {
        self.shared.state().finishing = true;
    }

    fn close(mut self: Box<Self>, why: End) {
        if why == End::Shutdown {
            self.why = Reason::Shutdown;
        }
    }
}

impl Drop for PyFeed {
    fn drop(&mut self) {
        self.shared.cancel.cancel(self.why);
        if self.shared.state().end.is_none() {
            self.event_loop.cancel(self.key);
        }
    }
}

/// The pump's side. Used on the thread of the loop.
#[pyclass(frozen, module = "snodo._snodo")]
pub(crate) struct Pull {
    shared: Arc<Shared>,
    event_loop: Py<PyAny>,
}

#[pymethods]
impl Pull {
    /// The source accepts this much.
    fn accept(&self, filter: &Bound<'_, PyAny>) -> PyResult<()> {
        let filter = from_python(filter)?;
        let opening = self.shared.state().opening.take();
        if let Some(opening) = opening {
            // An error means that the listener is gone, which cancels the pump too.
            let _ = opening.send(Ok(filter));
        }
        Ok(())
    }

    /// An awaitable that is done when the transport wants an event.
    fn wanted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let future = self
            .event_loop
            .bind(py)
            .call_method0(intern!(py, "create_future"))?;
        let before = self.shared.state().pump.replace(future.clone().unbind());
        drop(before);
        self.shared.wake_pump(py)?;
        Ok(future)
    }

    /// Hands an event over.
    fn tell(&self, event: &PyEvent) {
        let mut state = self.shared.state();
        state.event = Some(Arc::new(event.event()));
        state.turn = Turn::Transport;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the listener is gone, or told to go.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.cancel.reason().is_some()
    }

    /// The source has nothing more to tell.
    fn end(&self) {
        self.shared.end(Ok(()));
    }

    /// Whether an exception is the source's answer to being opened, and no fault.
    fn refuses(&self, exception: &Bound<'_, PyAny>) -> bool {
        let opening = self.shared.state().opening.is_some();
        opening && error::refusal(exception).is_some()
    }

    /// The source has raised.
    fn fail(&self, exception: &Bound<'_, PyAny>) {
        let refusal = error::refusal(exception);
        self.shared.end(Err(refusal.unwrap_or_else(failed)));
    }
}

fn to_python<'py>(py: Python<'py>, filter: &Filter) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("tools_list_changed", filter.tools_list_changed)?;
    named.set_item("prompts_list_changed", filter.prompts_list_changed)?;
    named.set_item("resources_list_changed", filter.resources_list_changed)?;
    let uris = PyTuple::new(py, &filter.resource_subscriptions)?;
    named.set_item("resource_subscriptions", uris)?;
    let extensions = PyDict::new(py);
    for own in &filter.extensions {
        extensions.set_item(&own.extension, object_to_python(py, own.members())?)?;
    }
    named.set_item("extensions", extensions)?;
    imports::filter(py)?.call((), Some(&named))
}

fn from_python(filter: &Bound<'_, PyAny>) -> PyResult<Filter> {
    let flag = |name: &str| filter.getattr(name)?.extract();
    let mut uris: Vec<String> = Vec::new();
    for uri in filter.getattr("resource_subscriptions")?.try_iter()? {
        uris.push(uri?.extract()?);
    }
    Ok(Filter {
        tools_list_changed: flag("tools_list_changed")?,
        prompts_list_changed: flag("prompts_list_changed")?,
        resources_list_changed: flag("resources_list_changed")?,
        resource_subscriptions: uris,
        extensions: selections(&filter.getattr("extensions")?)?,
    })
}

fn selections(extensions: &Bound<'_, PyAny>) -> PyResult<Vec<Selection>> {
    let mut selections = Vec::new();
    for (id, members) in extensions.cast::<PyDict>()?.iter() {
        let id: String = id.extract()?;
        let text = encode(&members, FILTER_BYTES * 8)
            .map_err(|refusal| PyTypeError::new_err(format!("filter of {id:?}: {refusal}")))?;
        let Ok(Json::Object(members)) = json::parse(&text, &Limits::default()) else {
            return Err(PyTypeError::new_err(format!(
                "filter of {id:?} is no mapping"
            )));
        };
        let own = Selection::new(&id, members);
        let own = own.map_err(|error| PyValueError::new_err(error.message.into_owned()))?;
        if !own.members().is_empty() {
            selections.push(own);
        }
    }
    Ok(selections)
}
