//! `Result`: what a handler gives back when a plain value is not enough. A kind, a value, metadata.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyMapping, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::{Limits, MAX_JSON_DEPTH};
use snodo_core::outcome::{Encoded, Outcome, Value};

use crate::convert::{Refusal, encode, to_python};
use crate::imports;

/// A protocol-neutral result; the revision of the request decides how it is spelled.
#[pyclass(frozen, eq, name = "Result", module = "snodo")]
pub(crate) struct PyResultValue {
    kind: &'static str,
    value: Held,
    metadata: Option<Py<PyAny>>,
}

/// What a result holds.
enum Held {
    Given(Py<PyAny>),
    /// The result object of an answer: read when somebody looks into it, and passed on as it is if nobody
    /// does.
    Answered(Encoded, PyOnceLock<Py<PyAny>>),
}

/// Bytes of a result's metadata: they are read back, member by member.
const METADATA_BYTES: usize = 1 << 20;

type Metadata<'py> = Option<Bound<'py, PyMapping>>;

impl PyResultValue {
    fn new(kind: &'static str, value: &Bound<'_, PyAny>, metadata: Metadata<'_>) -> Self {
        let metadata = metadata.map(|metadata| metadata.into_any().unbind());
        Self {
            kind,
            value: Held::Given(value.clone().unbind()),
            metadata,
        }
    }

    /// What a request was answered with.
    pub(crate) fn answered(result: Encoded) -> Self {
        Self {
            kind: "wire",
            value: Held::Answered(result, PyOnceLock::new()),
            metadata: None,
        }
    }

    fn held<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let value = match &self.value {
            Held::Given(value) => value,
            Held::Answered(result, read) => read.get_or_try_init(py, || {
                let limits = Limits {
                    json_depth: MAX_JSON_DEPTH,
                    integer_digits: 4300,
                    ..Limits::default()
                };
                let result = json::parse(result, &limits)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?;
                to_python(py, &result).map(Bound::unbind)
            })?,
        };
        Ok(value.bind(py))
    }

    /// What leaves: the value as JSON text.
    pub(crate) fn outcome(&self, py: Python<'_>, limit: usize) -> Result<Outcome, Refusal> {
        let encode = |value: &Bound<'_, PyAny>| encode(value, limit);
        if let Held::Answered(result, read) = &self.value
            && read.get(py).is_none()
        {
            return Ok(Value::Wire(result.clone()).into());
        }
        let value = self
            .held(py)
            .map_err(|_| Refusal::new("its value cannot be read"))?;
        let member = |name: &str| value.get_item(name).ok().filter(|member| !member.is_none());
        let text = |name: &str| member(name).and_then(|member| member.extract::<String>().ok());
        let value = match self.kind {
            "text" => Value::Text(plain_text(value)?),
            "error" => Value::Failure(plain_text(value)?),
            "structured" => Value::Structured(encode(value)?),
            "content" => Value::Content(encode(&blocks(value)?)?),
            "raw" => Value::Raw(encode(value)?),
            "wire" => Value::Wire(encode(value)?),
            "input_required" => Value::InputRequired {
                requests: member("input_requests")
                    .map(|requests| encode(&requests))
                    .transpose()?,
                state: text("request_state"),
            },
            "resource_read" => Value::ResourceRead {
                contents: encode(&listed(
                    &member("contents").unwrap_or_else(|| value.clone()),
                ))?,
                ttl_ms: integer(member("ttl_ms").as_ref(), "ttl_ms is not an integer")?,
                cache_scope: text("cache_scope"),
            },
            "prompt_get" => Value::PromptGet {
                messages: encode(&listed(
                    &member("messages").unwrap_or_else(|| value.clone()),
                ))?,
                description: text("description"),
            },
            _ => Value::Completion {
                values: encode(&member("values").unwrap_or_else(|| value.clone()))?,
                total: integer(
                    member("total").as_ref(),
                    "total is not an integer of zero or more",
                )?,
                has_more: optional(member("has_more").as_ref(), "has_more is not a boolean")?,
            },
        };
        Ok(Outcome {
            value,
            metadata: self.metadata_object(py)?,
            named: false,
        })
    }

    fn metadata_object(&self, py: Python<'_>) -> Result<Object, Refusal> {
        let Some(metadata) = &self.metadata else {
            return Ok(Object::new());
        };
        let plain = PyDict::new(py);
        // A mapping of any kind; copied so that the encoder meets a dict.
        let copied = plain.call_method1(intern!(py, "update"), (metadata,));
        copied.map_err(|_| Refusal::new("metadata is not a mapping"))?;
        let text =
            encode(plain.as_any(), METADATA_BYTES).map_err(|refusal| refusal.under("_meta"))?;
        match json::parse(&text, &Limits::default()) {
            Ok(Json::Object(object)) => Ok(object),
            _ => Err(Refusal::new("metadata is not a JSON object")),
        }
    }
}

/// A hint that may be absent, but not of another type.
fn optional<'py, T>(given: Option<&Bound<'py, PyAny>>, wrong: &str) -> Result<Option<T>, Refusal>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let read = given.map(PyAnyMethods::extract);
    read.transpose().map_err(|_| Refusal::new(wrong))
}

/// An integer that may be absent. A boolean is none, though Python counts with it.
fn integer<'py, T>(given: Option<&Bound<'py, PyAny>>, wrong: &str) -> Result<Option<T>, Refusal>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    if given.is_some_and(PyAnyMethods::is_instance_of::<PyBool>) {
        return Err(Refusal::new(wrong));
    }
    optional(given, wrong)
}

fn plain_text(value: &Bound<'_, PyAny>) -> Result<String, Refusal> {
    value
        .extract()
        .map_err(|_| Refusal::new("a string holds an unpaired surrogate, which is not UTF-8"))
}

/// Content blocks as plain data: content values become the blocks they stand for.
fn blocks<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refusal> {
    let py = value.py();
    let broken = |_| Refusal::new("content could not be turned into blocks");
    let blocks = PyList::empty(py);
    for item in listed(value).try_iter().map_err(broken)? {
        let item = item.map_err(broken)?;
        let block = imports::block(py)
            .and_then(|block| block.call1((&item,)))
            .map_err(broken)?;
        blocks
            .append(if block.is_none() { item } else { block })
            .map_err(broken)?;
    }
    Ok(blocks.into_any())
}

/// One thing is a list of one.
fn listed<'py>(value: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.clone();
    }
    let one = PyList::empty(value.py());
    // Appending to a fresh list fails only without memory.
    let _ = one.append(value);
    one.into_any()
}

/// A question is sent under a key, by which its answer is found; easily forgotten for a single one.
fn refuse_bare_question(requests: &Bound<'_, PyDict>) -> PyResult<()> {
    let method = requests.get_item(intern!(requests.py(), "method"))?;
    if method.is_some_and(|method| method.is_instance_of::<PyString>()) {
        return Err(PyTypeError::new_err(
            "input_requests is a question itself: put it under a key, as {\"size\": ...}",
        ));
    }
    Ok(())
}

fn members<'py, const N: usize>(
    py: Python<'py>,
    members: [(&str, Option<Bound<'py, PyAny>>); N],
) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (name, value) in members {
        dict.set_item(name, value)?;
    }
    dict.into_bound_py_any(py)
}

#[pymethods]
impl PyResultValue {
    #[staticmethod]
    #[pyo3(signature = (text, *, metadata=None))]
    fn text(text: &Bound<'_, PyString>, metadata: Metadata<'_>) -> Self {
        Self::new("text", text, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (value, *, metadata=None))]
    fn structured(value: &Bound<'_, PyAny>, metadata: Metadata<'_>) -> Self {
        Self::new("structured", value, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (content, *, metadata=None))]
    fn content(content: &Bound<'_, PyAny>, metadata: Metadata<'_>) -> Self {
        Self::new("content", content, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (text, *, metadata=None))]
    fn error(text: &Bound<'_, PyString>, metadata: Metadata<'_>) -> Self {
        Self::new("error", text, metadata)
    }

    #[staticmethod]
    fn raw(result: &Bound<'_, PyDict>) -> Self {
        Self::new("raw", result, None)
    }

    #[staticmethod]
    #[pyo3(signature = (result, *, metadata=None))]
    fn wire(result: &Bound<'_, PyDict>, metadata: Metadata<'_>) -> Self {
        Self::new("wire", result, metadata)
    }

    #[staticmethod]
    #[pyo3(signature = (*, input_requests=None, request_state=None, metadata=None))]
    fn input_required<'py>(
        py: Python<'py>,
        input_requests: Option<Bound<'py, PyDict>>,
        request_state: Option<Bound<'py, PyString>>,
        metadata: Metadata<'py>,
    ) -> PyResult<Self> {
        if input_requests.is_none() && request_state.is_none() {
            return Err(PyValueError::new_err(
                "give input_requests, request_state, or both",
            ));
        }
        if let Some(requests) = &input_requests {
            refuse_bare_question(requests)?;
        }
        let value = members(
            py,
            [
                ("input_requests", input_requests.map(Bound::into_any)),
                ("request_state", request_state.map(Bound::into_any)),
            ],
        )?;
        Ok(Self::new("input_required", &value, metadata))
    }

    #[staticmethod]
    #[pyo3(signature = (contents, *, metadata=None, ttl_ms=None, cache_scope=None))]
    fn resource_read<'py>(
        py: Python<'py>,
        contents: Bound<'py, PyAny>,
        metadata: Metadata<'py>,
        ttl_ms: Option<Bound<'py, PyAny>>,
        cache_scope: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let value = members(
            py,
            [
                ("contents", Some(contents)),
                ("ttl_ms", ttl_ms),
                ("cache_scope", cache_scope),
            ],
        )?;
        Ok(Self::new("resource_read", &value, metadata))
    }

    #[staticmethod]
    #[pyo3(signature = (messages, *, description=None, metadata=None))]
    fn prompt_get<'py>(
        py: Python<'py>,
        messages: Bound<'py, PyAny>,
        description: Option<Bound<'py, PyString>>,
        metadata: Metadata<'py>,
    ) -> PyResult<Self> {
        let description = description.map(Bound::into_any);
        let value = members(
            py,
            [("messages", Some(messages)), ("description", description)],
        )?;
        Ok(Self::new("prompt_get", &value, metadata))
    }

    #[staticmethod]
    #[pyo3(signature = (values, *, total=None, has_more=None, metadata=None))]
    fn completion<'py>(
        py: Python<'py>,
        values: Bound<'py, PyAny>,
        total: Option<Bound<'py, PyAny>>,
        has_more: Option<bool>,
        metadata: Metadata<'py>,
    ) -> PyResult<Self> {
        if !values.is_instance_of::<PyList>() && !values.is_instance_of::<PyTuple>() {
            return Err(PyTypeError::new_err("values must be a list of strings"));
        }
        let has_more = has_more
            .map(|more| more.into_bound_py_any(py))
            .transpose()?;
        let value = members(
            py,
            [
                ("values", Some(values)),
                ("total", total),
                ("has_more", has_more),
            ],
        )?;
        Ok(Self::new("completion", &value, metadata))
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let copy = |part: &Bound<'_, PyAny>| -> PyResult<Py<PyAny>> {
            Ok(imports::deepcopy(py)?.call1((part, memo))?.unbind())
        };
        let metadata = self.metadata.as_ref();
        Ok(Self {
            kind: self.kind,
            value: Held::Given(copy(self.held(py)?)?),
            metadata: metadata.map(|part| copy(part.bind(py))).transpose()?,
        })
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.held(py)
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match &self.metadata {
            Some(metadata) => metadata.bind(py).clone(),
            None => PyDict::new(py).into_any(),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Result.{}({})", self.kind, self.held(py)?.repr()?))
    }
}

impl PartialEq for PyResultValue {
    fn eq(&self, other: &Self) -> bool {
        Python::attach(|py| {
            let metadata = match (&self.metadata, &other.metadata) {
                (None, None) => true,
                (Some(a), Some(b)) => a.bind(py).eq(b).unwrap_or(false),
                _ => false,
            };
            self.kind == other.kind
                && metadata
                && match (self.held(py), other.held(py)) {
                    (Ok(mine), Ok(other)) => mine.eq(other).unwrap_or(false),
                    _ => false,
                }
        })
    }
}
