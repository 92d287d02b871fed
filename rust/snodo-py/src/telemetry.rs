//! What the application is told of its server: events and access lines that wait for the Python thread
//! which hands them on, and what surrounds a handler while it runs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::envelope::Id;
use snodo_core::limits::EVENTS_PENDING;
use snodo_server::hub::{Overflow, Report};
use snodo_server::source;
use snodo_server::telemetry::{
    AccessLog, Dispatch, End, Event, Metrics, Sink, Subscriber, Telemetry,
};

/// Events that are handed on under one attach.
const BATCH: usize = 256;

/// How long access lines may wait.
const LINES: Duration = Duration::from_millis(100);

/// The events that wait for Python. Those that find no room are counted; but of a message whose begin
/// has been taken in, the end is too, so that nobody waits for it.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    notes: VecDeque<Note>,
    /// Messages whose begin was taken in and that have not ended. They are as few as are served at a time.
    open: HashMap<u64, Open>,
    dropped: u64,
    closed: bool,
    /// Notes that were handed on.
    handed: u64,
    /// Who waits until so many were, in order.
    marks: VecDeque<(u64, Py<PyAny>)>,
}

struct Open {
    dispatch: Arc<Dispatch>,
    /// Whether a handler of it has begun to run.
    entered: bool,
}

/// An event, kept.
enum Note {
    Start(Arc<Dispatch>),
    Stop(Arc<Dispatch>, Duration, End, bool),
    Exception(Arc<Dispatch>, Duration, bool),
    Opened(Subscribed, usize),
    Closed(Subscribed, usize, source::End),
    Published(&'static str, Option<String>, Report, usize),
    Overflowed(&'static str, Option<String>, usize, usize, Overflow),
    Completed(usize, usize),
    Refused(u16),
}

struct Subscribed {
    request_id: Id,
    transport: &'static str,
    filter: Vec<String>,
}

impl From<&Subscriber> for Subscribed {
    fn from(subscriber: &Subscriber) -> Self {
        Self {
            request_id: subscriber.request_id.clone(),
            transport: snodo_server::telemetry::transport(subscriber.transport),
            filter: subscriber.filter.clone(),
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handler of this message begins to run. `None`: nobody is told of it, or it is over.
    fn enter(&self, span: u64) -> Option<Arc<Dispatch>> {
        let mut state = self.state();
        let open = state.open.get_mut(&span)?;
        open.entered = true;
        Some(open.dispatch.clone())
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.ready.notify_all();
    }
}

impl State {
    /// The end of a message: whether a handler of it has run. `None`: its begin was not taken in.
    fn over(&mut self, dispatch: &Dispatch) -> Option<bool> {
        let open = self.open.remove(&dispatch.span);
        self.dropped += u64::from(open.is_none());
        open.map(|open| open.entered)
    }
}

impl Sink for Queue {
    fn tell(&self, event: &Event<'_>) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        let before = state.notes.len();
        let has_room = before < EVENTS_PENDING;
        match *event {
            Event::Stop(dispatch, duration, end) => {
                if let Some(entered) = state.over(dispatch) {
                    let note = Note::Stop(dispatch.clone(), duration, end, entered);
                    state.notes.push_back(note);
                }
            }
            Event::Exception(dispatch, duration) => {
                if let Some(entered) = state.over(dispatch) {
                    let note = Note::Exception(dispatch.clone(), duration, entered);
                    state.notes.push_back(note);
                }
            }
            _ if !has_room => state.dropped += 1,
            Event::Start(dispatch) => {
                let open = Open {
                    dispatch: dispatch.clone(),
                    entered: false,
                };
                state.open.insert(dispatch.span, open);
                state.notes.push_back(Note::Start(dispatch.clone()));
            }
            Event::Opened(subscriber, subscriptions) => {
                let note = Note::Opened(subscriber.into(), subscriptions);
                state.notes.push_back(note);
            }
            Event::Closed(subscriber, subscriptions, why) => {
                let note = Note::Closed(subscriber.into(), subscriptions, why);
                state.notes.push_back(note);
            }
            Event::Published(it) => {
                let note = Note::Published(it.kind, it.extension.clone(), it.report, it.queued);
                state.notes.push_back(note);
                if it.report.dropped > 0 {
                    let note = Note::Overflowed(
                        it.kind,
                        it.extension.clone(),
                        it.report.dropped,
                        it.queued,
                        it.overflow,
                    );
                    state.notes.push_back(note);
                }
            }
            Event::Completed {
                subscriptions,
                queued,
            } => state
                .notes
                .push_back(Note::Completed(subscriptions, queued)),
            Event::Refused(status) => state.notes.push_back(Note::Refused(status)),
        }
        let first = before == 0 && !state.notes.is_empty();
        drop(state);
        if first {
            self.ready.notify_one();
        }
    }
}

/// What waits for the thread that hands it on to the application's sinks and to the log.
#[pyclass(frozen, name = "Feed", module = "snodo._snodo")]
pub(crate) struct PyFeed {
    queue: Arc<Queue>,
    lines: Option<Arc<AccessLog>>,
    metrics: Option<Arc<Metrics>>,
}

#[pymethods]
impl PyFeed {
    /// Waits for something to hand on, at most so many seconds. Gives events as (name, measurements,
    /// metadata, entered), lines, how many of each were dropped, and the marks before which there is
    /// nothing else; `None` after the end.
    fn take<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let patience = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let (notes, dropped, marks, closed) = py.detach(|| self.wait(patience));
        // After the marks, so that none overtakes a line.
        let (lines, lost) = self.lines.as_ref().map(|it| it.take()).unwrap_or_default();
        if let Some(metrics) = &self.metrics {
            metrics.lose("events", dropped);
            metrics.lose("access_log", lost);
        }
        let nothing = notes.is_empty() && lines.is_empty() && marks.is_empty();
        if closed && nothing && dropped == 0 && lost == 0 {
            return Ok(None);
        }
        let events = PyList::empty(py);
        for note in notes {
            events.append(told(py, note)?)?;
        }
        (events, lines, dropped, lost, marks)
            .into_pyobject(py)
            .map(Some)
    }

    /// Has this given by `take` with the last of what is there now. False: the end has begun.
    fn mark(&self, mark: Py<PyAny>) -> bool {
        let mut state = self.queue.state();
        if state.closed {
            return false;
        }
        let after = state.handed + state.notes.len() as u64;
        state.marks.push_back((after, mark));
        drop(state);
        self.queue.ready.notify_one();
        true
    }

    /// Nothing more comes in.
    fn close(&self) {
        self.queue.close();
    }
}

impl PyFeed {
    fn wait(&self, patience: Duration) -> (Vec<Note>, u64, Vec<Py<PyAny>>, bool) {
        let patience = match self.lines {
            Some(_) => patience.min(LINES),
            None => patience,
        };
        let state = self.queue.state();
        let idle =
            |state: &mut State| state.notes.is_empty() && state.marks.is_empty() && !state.closed;
        let waited = self.queue.ready.wait_timeout_while(state, patience, idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let some = state.notes.len().min(BATCH);
        let notes = state.notes.drain(..some).collect();
        state.handed += some as u64;
        let handed = state.handed;
        let past = state.marks.partition_point(|(after, _)| *after <= handed);
        let marks = state.marks.drain(..past).map(|(_, mark)| mark).collect();
        let dropped = std::mem::take(&mut state.dropped);
        (notes, dropped, marks, state.closed)
    }
}

/// What the options of a server say of who watches it.
pub(crate) struct Watching {
    pub(crate) telemetry: Arc<Telemetry>,
    /// `None` where nothing is to be handed to Python.
    pub(crate) feed: Option<Py<PyFeed>>,
    pub(crate) around: Option<Arc<Around>>,
}

impl Watching {
    /// `None`: nobody watches.
    pub(crate) fn new(
        py: Python<'_>,
        sinks: &[Bound<'_, PyAny>],
        metrics: bool,
        access_log: bool,
    ) -> PyResult<Option<Self>> {
        if sinks.is_empty() && !metrics && !access_log {
            return Ok(None);
        }
        let mut telemetry = Telemetry::new();
        let metrics = metrics.then(|| Arc::new(Metrics::new()));
        if let Some(metrics) = &metrics {
            telemetry = telemetry.with_metrics(metrics.clone());
        }
        let lines = access_log.then(|| Arc::new(AccessLog::new()));
        if let Some(lines) = &lines {
            telemetry = telemetry.with_sink(lines.clone());
        }
        let queue = Arc::new(Queue::default());
        if !sinks.is_empty() {
            telemetry = telemetry.with_sink(queue.clone());
        }
        let around = Around::new(sinks, &queue)?;
        let feed = if sinks.is_empty() && lines.is_none() {
            None
        } else {
            let feed = PyFeed {
                queue,
                lines,
                metrics,
            };
            Some(Py::new(py, feed)?)
        };
        Ok(Some(Self {
            telemetry: Arc::new(telemetry),
            feed,
            around,
        }))
    }
}

/// Sinks that have something to do where a handler runs: to make its span the current one.
pub(crate) struct Around {
    queue: Arc<Queue>,
    /// Bound methods: what is called before the handler, and after it with what that gave.
    sinks: Vec<(Py<PyAny>, Py<PyAny>)>,
}

impl Around {
    fn new(sinks: &[Bound<'_, PyAny>], queue: &Arc<Queue>) -> PyResult<Option<Arc<Self>>> {
        let mut around = Vec::new();
        for sink in sinks {
            if let Some(enter) = sink.getattr_opt(intern!(sink.py(), "_enter"))? {
                let leave = sink.getattr(intern!(sink.py(), "_leave"))?;
                around.push((enter.unbind(), leave.unbind()));
            }
        }
        let around = (!around.is_empty()).then(|| Self {
            queue: queue.clone(),
            sinks: around,
        });
        Ok(around.map(Arc::new))
    }

    /// Surrounds what is begun in the current `contextvars.Context` until this is dropped.
    pub(crate) fn enter<'py>(&self, py: Python<'py>, span: Option<u64>) -> Option<Entered<'py>> {
        let dispatch = self.queue.enter(span?)?;
        let since = seconds(&dispatch);
        let enter = |(enter, leave): &(Py<PyAny>, Py<PyAny>)| {
            let told = dispatched(py, &dispatch);
            let gave = told.and_then(|told| {
                let baggage = dispatch.baggage.as_deref();
                enter.bind(py).call1((told, since, baggage))
            });
            // A sink that fails changes nothing.
            let gave = gave.map_err(|error| error.write_unraisable(py, None));
            Some((leave.bind(py).clone(), gave.ok()?))
        };
        Some(Entered(self.sinks.iter().filter_map(enter).collect()))
    }
}

/// What surrounds a handler: what to call when it has been begun, and with what.
pub(crate) struct Entered<'py>(Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        for (leave, gave) in self.0.drain(..).rev() {
            let py = gave.py();
            if let Err(error) = leave.call1((gave,)) {
                error.write_unraisable(py, None);
            }
        }
    }
}

/// The metadata that every event of a message has.
fn dispatched<'py>(py: Python<'py>, dispatch: &Dispatch) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "span"), dispatch.span)?;
    dict.set_item(intern!(py, "method"), dispatch.method())?;
    dict.set_item(intern!(py, "transport"), dispatch.transport())?;
    if let Some(id) = &dispatch.request_id {
        dict.set_item(intern!(py, "request_id"), request_id(py, id)?)?;
    }
    if let Some(version) = dispatch.protocol_version {
        dict.set_item(intern!(py, "protocol_version"), version)?;
    }
    if let Some(component) = &dispatch.component {
        dict.set_item(intern!(py, "component"), &component.name)?;
        dict.set_item(intern!(py, "component_kind"), component.kind)?;
    }
    if let Some(traceparent) = &dispatch.traceparent {
        dict.set_item(intern!(py, "traceparent"), traceparent)?;
    }
    if let Some(tracestate) = &dispatch.tracestate {
        dict.set_item(intern!(py, "tracestate"), tracestate)?;
    }
    Ok(dict)
}

/// When it arrived, in seconds since 1970.
fn seconds(dispatch: &Dispatch) -> f64 {
    let since = dispatch.system_time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn request_id<'py>(py: Python<'py>, id: &Id) -> PyResult<Bound<'py, PyAny>> {
    match id {
        Id::Int(id) => id.into_bound_py_any(py),
        Id::String(id) => id.into_bound_py_any(py),
    }
}

/// An event as a sink gets it, and whether a handler has run.
fn told(py: Python<'_>, note: Note) -> PyResult<Bound<'_, PyTuple>> {
    let measured = PyDict::new(py);
    let mut metadata = PyDict::new(py);
    let mut entered_before = false;
    let name = match note {
        Note::Start(dispatch) => {
            measured.set_item("system_time", seconds(&dispatch))?;
            metadata = dispatched(py, &dispatch)?;
            "snodo.server.dispatch.start"
        }
        Note::Stop(dispatch, duration, end, entered) => {
            entered_before = entered;
            measured.set_item("duration", duration.as_secs_f64())?;
            metadata = dispatched(py, &dispatch)?;
            metadata.set_item("outcome", end.outcome.name())?;
            if let Some(code) = end.error_code {
                metadata.set_item("error_code", code)?;
            }
            if let Some(kind) = end.error_type {
                metadata.set_item("error_type", kind)?;
            }
            "snodo.server.dispatch.stop"
        }
        Note::Exception(dispatch, duration, entered) => {
            entered_before = entered;
            measured.set_item("duration", duration.as_secs_f64())?;
            metadata = dispatched(py, &dispatch)?;
            metadata.set_item("kind", "panic")?;
            metadata.set_item("reason_class", "internal")?;
            "snodo.server.dispatch.exception"
        }
        Note::Opened(subscribed, subscriptions) => {
            measured.set_item("subscriptions", subscriptions)?;
            subscribed.describe(&metadata)?;
            "snodo.subscription.open"
        }
        Note::Closed(subscribed, subscriptions, why) => {
            measured.set_item("subscriptions", subscriptions)?;
            subscribed.describe(&metadata)?;
            metadata.set_item("reason", reason(why))?;
            "snodo.subscription.close"
        }
        Note::Published(kind, extension, report, queued) => {
            measured.set_item("matched", report.matched)?;
            measured.set_item("delivered", report.delivered)?;
            measured.set_item("buffered", report.buffered)?;
            measured.set_item("dropped", report.dropped)?;
            measured.set_item("queued", queued)?;
            published(&metadata, kind, extension)?;
            "snodo.subscription.publish"
        }
        Note::Overflowed(kind, extension, dropped, queued, policy) => {
            measured.set_item("dropped", dropped)?;
            measured.set_item("queued", queued)?;
            let policy = match policy {
                Overflow::DropOldest => "drop_oldest",
                Overflow::DropNewest => "drop_newest",
            };
            published(&metadata, kind, extension)?;
            metadata.set_item("policy", policy)?;
            "snodo.subscription.overflow"
        }
        Note::Completed(subscriptions, queued) => {
            measured.set_item("subscriptions", subscriptions)?;
            measured.set_item("queued", queued)?;
            "snodo.subscription.complete"
        }
        Note::Refused(status) => {
            measured.set_item("count", 1)?;
            metadata.set_item("status", status)?;
            "snodo.http.refused"
        }
    };
    (name, measured, metadata, entered_before).into_pyobject(py)
}

fn published(
    metadata: &Bound<'_, PyDict>,
    kind: &'static str,
    extension: Option<String>,
) -> PyResult<()> {
    metadata.set_item("event_kind", kind)?;
    match extension {
        Some(extension) => metadata.set_item("extension_id", extension),
        None => Ok(()),
    }
}

impl Subscribed {
    fn describe(self, metadata: &Bound<'_, PyDict>) -> PyResult<()> {
        let py = metadata.py();
        metadata.set_item("request_id", request_id(py, &self.request_id)?)?;
        metadata.set_item("transport", self.transport)?;
        metadata.set_item("filter_keys", self.filter)
    }
}

fn reason(why: source::End) -> &'static str {
    match why {
        source::End::Cancelled => "cancelled",
        source::End::Complete => "complete",
        source::End::Shutdown => "shutdown",
        source::End::Failed => "failed",
    }
}
