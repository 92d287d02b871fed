//! Events, and the hub that the application publishes them on.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::subscription::{Change, Event, Own};
use snodo_server::hub::{Hub, Overflow};

use crate::convert::{encode, object_to_python, to_python};
use crate::settings::configuration_error;

/// Bytes of an event's metadata: every listener is sent its own copy.
const METADATA_BYTES: usize = 64 << 10;

/// Bytes of what an extension's event says: it waits for every listener, though once for all.
const PAYLOAD_BYTES: usize = 1 << 20;

type Metadata<'py> = Option<Bound<'py, PyMapping>>;

/// Something that changed.
#[pyclass(frozen, eq, name = "Event", module = "snodo")]
#[derive(PartialEq)]
pub(crate) struct PyEvent {
    event: Event,
}

impl PyEvent {
    fn new(change: Change, metadata: Metadata<'_>) -> PyResult<Self> {
        let metadata = metadata.map_or(Ok(Object::new()), |metadata| object(&metadata))?;
        Event::new(change, metadata)
            .map(|event| Self { event })
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    pub(crate) fn event(&self) -> Event {
        self.event.clone()
    }
}

#[pymethods]
impl PyEvent {
    #[staticmethod]
    #[pyo3(signature = (metadata=None))]
    fn tools_changed(metadata: Metadata<'_>) -> PyResult<Self> {
        Self::new(Change::ToolsList, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (metadata=None))]
    fn prompts_changed(metadata: Metadata<'_>) -> PyResult<Self> {
        Self::new(Change::PromptsList, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (metadata=None))]
    fn resources_changed(metadata: Metadata<'_>) -> PyResult<Self> {
        Self::new(Change::ResourcesList, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (uri, metadata=None))]
    fn resource_updated(uri: String, metadata: Metadata<'_>) -> PyResult<Self> {
        Self::new(Change::Resource(uri), metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (extension, selector, payload, metadata=None))]
    fn extension(
        extension: String,
        selector: String,
        payload: &Bound<'_, PyAny>,
        metadata: Metadata<'_>,
    ) -> PyResult<Self> {
        let payload = json_of(payload, PAYLOAD_BYTES, "payload")?;
        let metadata = metadata.map_or(Ok(Object::new()), |metadata| object(&metadata))?;
        let own = Own {
            extension,
            selector,
        };
        Event::of_extension(own, payload, metadata)
            .map(|event| Self { event })
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[getter]
    fn selector(&self) -> Option<&str> {
        match &self.event.change {
            Change::Extension(own) => Some(&own.selector),
            _ => None,
        }
    }

    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.event.payload {
            Some(payload) => to_python(py, payload),
            None => Ok(py.None().into_bound(py)),
        }
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.event.change {
            Change::ToolsList => "tools_changed",
            Change::PromptsList => "prompts_changed",
            Change::ResourcesList => "resources_changed",
            Change::Resource(_) => "resource_updated",
            Change::Extension(_) => "extension",
        }
    }

    #[getter]
    fn uri(&self) -> Option<&str> {
        match &self.event.change {
            Change::Resource(uri) => Some(uri),
            _ => None,
        }
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, &self.event.metadata)
    }

    fn __repr__(&self) -> String {
        match self.uri() {
            Some(uri) => format!("<snodo.Event {} {uri}>", self.kind()),
            None => match &self.event.change {
                Change::Extension(own) => {
                    format!("<snodo.Event {} {}>", own.extension, own.selector)
                }
                _ => format!("<snodo.Event {}>", self.kind()),
            },
        }
    }
}

fn object(metadata: &Bound<'_, PyMapping>) -> PyResult<Object> {
    match json_of(metadata.as_any(), METADATA_BYTES, "metadata")? {
        Json::Object(object) => Ok(object),
        _ => Err(PyTypeError::new_err("event metadata must be a mapping")),
    }
}

fn json_of(value: &Bound<'_, PyAny>, limit: usize, what: &str) -> PyResult<Json> {
    let text = encode(value, limit)
        .map_err(|refusal| PyTypeError::new_err(format!("event {what}: {refusal}")))?;
    // Encoding stops when it notices, which is not to the byte.
    if text.len() > limit {
        let text = format!("event {what} is larger than {limit} bytes");
        return Err(PyTypeError::new_err(text));
    }
    json::parse(&text, &Limits::default())
        .map_err(|error| PyValueError::new_err(format!("event {what}: {error}")))
}

/// A source of what the application publishes.
#[pyclass(frozen, weakref, name = "Hub", module = "snodo")]
pub(crate) struct PyHub {
    pub(crate) hub: Hub,
    name: Option<String>,
}

impl PyHub {
    fn tell<'py>(&self, py: Python<'py>, event: Event) -> PyResult<Bound<'py, PyDict>> {
        // Waking a thousand listeners takes a moment, in which Python has better things to do.
        let report = py.detach(|| self.hub.publish(event));
        counts(
            py,
            [
                ("matched", report.matched),
                ("delivered", report.delivered),
                ("buffered", report.buffered),
                ("dropped", report.dropped),
            ],
        )
    }
}

#[pymethods]
impl PyHub {
    #[new]
    #[pyo3(signature = (*, name=None, max_buffer=100, overflow="drop_oldest"))]
    fn new(
        py: Python<'_>,
        name: Option<String>,
        max_buffer: i64,
        overflow: &str,
    ) -> PyResult<Self> {
        let max_buffer = usize::try_from(max_buffer).ok().filter(|count| *count > 0);
        let max_buffer = max_buffer.ok_or_else(|| {
            let text = "subscription hub max_buffer must be a positive integer";
            configuration_error(py, text)
        })?;
        let overflow = match overflow {
            "drop_oldest" => Overflow::DropOldest,
            "drop_newest" => Overflow::DropNewest,
            _ => {
                let text = "subscription hub overflow must be \"drop_oldest\" or \"drop_newest\"";
                return Err(configuration_error(py, text));
            }
        };
        Ok(Self {
            hub: Hub::new(max_buffer, overflow),
            name,
        })
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn publish<'py>(&self, py: Python<'py>, event: &PyEvent) -> PyResult<Bound<'py, PyDict>> {
        self.tell(py, event.event())
    }

    #[pyo3(signature = (metadata=None))]
    fn tools_changed<'py>(
        &self,
        py: Python<'py>,
        metadata: Metadata<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.tell(py, PyEvent::tools_changed(metadata)?.event)
    }

    #[pyo3(signature = (metadata=None))]
    fn prompts_changed<'py>(
        &self,
        py: Python<'py>,
        metadata: Metadata<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.tell(py, PyEvent::prompts_changed(metadata)?.event)
    }

    #[pyo3(signature = (metadata=None))]
    fn resources_changed<'py>(
        &self,
        py: Python<'py>,
        metadata: Metadata<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.tell(py, PyEvent::resources_changed(metadata)?.event)
    }

    #[pyo3(signature = (uri, metadata=None))]
    fn resource_updated<'py>(
        &self,
        py: Python<'py>,
        uri: String,
        metadata: Metadata<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.tell(py, PyEvent::resource_updated(uri, metadata)?.event)
    }

    fn complete(&self, py: Python<'_>) {
        py.detach(|| self.hub.complete());
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.hub.stats();
        let dict = counts(
            py,
            [
                ("subscriptions", stats.subscriptions),
                ("closing", stats.closing),
                ("queued", stats.queued),
                ("max_buffer", stats.max_buffer),
            ],
        )?;
        dict.set_item("dropped", stats.dropped)?;
        let overflow = match stats.overflow {
            Overflow::DropOldest => "drop_oldest",
            Overflow::DropNewest => "drop_newest",
        };
        dict.set_item("overflow", overflow)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" {name:?}"));
        let listeners = self.hub.stats().subscriptions;
        let plural = if listeners == 1 { "" } else { "s" };
        format!(
            "<snodo.Hub{}, {listeners} listener{plural}>",
            name.unwrap_or_default()
        )
    }
}

fn counts<'py, const N: usize>(
    py: Python<'py>,
    counts: [(&str, usize); N],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counts {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}
