//! JSON to Python objects, and Python objects to JSON bytes. The only file that walks either.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyNone, PySet,
    PyString, PyTuple, PyType,
};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::json::{self, Json, Object, write_string};
use snodo_core::limits::Limits;

use crate::imports;

/// Nesting of a returned value: past it the value is taken to contain itself.
const MAX_DEPTH: usize = 200;
/// Dataclass types whose fields are remembered. More than that means classes made on the fly.
const MAX_KNOWN_TYPES: usize = 512;

/// A JSON value as a Python object.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(value) => value.into_bound_py_any(py),
        Json::Int(value) => value.into_bound_py_any(py),
        Json::Big(digits) => py.get_type::<PyInt>().call1((&**digits,)),
        Json::Float(value) => Ok(PyFloat::new(py, *value).into_any()),
        Json::String(text) => Ok(PyString::new(py, text).into_any()),
        Json::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Json::Object(object) => Ok(object_to_python(py, object)?.into_any()),
    }
}

/// A JSON object as a `dict`.
pub(crate) fn object_to_python<'py>(
    py: Python<'py>,
    object: &Object,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in object.iter() {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// Why a value is not JSON, and where in it. Says types, never values.
#[derive(Debug)]
pub(crate) struct Refusal {
    reason: String,
    /// Innermost first.
    path: Vec<String>,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            path: Vec::new(),
        }
    }

    pub(crate) fn under(mut self, segment: impl Into<String>) -> Self {
        self.path.push(segment.into());
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)?;
        if !self.path.is_empty() {
            f.write_str(" (at ")?;
            for segment in self.path.iter().rev() {
                write!(f, "/{segment}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// The compact JSON text of a Python value, if it fits.
pub(crate) fn encode(value: &Bound<'_, PyAny>, limit: usize) -> Result<Vec<u8>, Refusal> {
    encode_as(value, limit, false)
}

/// The same for a value that is JSON as it stands: dicts, lists, strings, numbers, booleans, `None`.
pub(crate) fn encode_plain(value: &Bound<'_, PyAny>, limit: usize) -> Result<Vec<u8>, Refusal> {
    encode_as(value, limit, true)
}

/// The object that a Python value is as JSON, where a client could have sent it.
pub(crate) fn plain_object(value: &Bound<'_, PyAny>, limit: usize) -> Result<Object, Refusal> {
    let text = encode_plain(value, limit)?;
    match json::parse(&text, &Limits::default()) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::new("it is no object")),
        Err(error) => Err(Refusal::new(error.to_string())),
    }
}

fn encode_as(value: &Bound<'_, PyAny>, limit: usize, plain: bool) -> Result<Vec<u8>, Refusal> {
    let mut encoder = Encoder {
        out: Vec::with_capacity(256),
        last: None,
        limit,
        plain,
    };
    encoder.write(value, 0)?;
    Ok(encoder.out)
}

struct Encoder {
    out: Vec<u8>,
    /// Looked at before each value, so that one that would fill memory is given up in time.
    limit: usize,
    /// Whether what only stands for JSON is refused.
    plain: bool,
    /// The dataclass met last: lists of records are of one type.
    last: Option<(usize, Arc<Fields>)>,
}

/// The fields of a dataclass, decided once for each type.
struct Fields {
    /// Keeps the type alive, so that its address stays its own.
    _type: Py<PyType>,
    fields: Vec<Field>,
}

struct Field {
    name: Py<PyString>,
    /// `"name":` as it is written.
    key: Vec<u8>,
}

impl Encoder {
    fn write(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::new(
                "the value is nested too deeply, or contains itself",
            ));
        }
        if self.out.len() > self.limit {
            return Err(Refusal::new(format!(
                "the value takes more than {} bytes as JSON",
                self.limit
            )));
        }
        // Exact types first: they are nearly everything.
        if let Ok(text) = value.cast_exact::<PyString>() {
            self.string(text)
        } else if let Ok(number) = value.cast_exact::<PyInt>() {
            self.integer(number)
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            self.float(number)
        } else if value.is_none() {
            self.out.extend_from_slice(b"null");
            Ok(())
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            self.out
                .extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
            Ok(())
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.dict(dict, depth)
        } else if let Ok(list) = value.cast::<PyList>() {
            self.array(list.iter(), depth)
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.array(tuple.iter(), depth)
        } else if self.plain {
            Err(Refusal::new(unfit(value)))
        } else if let Some(fields) = self.dataclass(value)? {
            self.record(value, &fields, depth)
        } else {
            self.uncommon(value, depth)
        }
    }

    fn uncommon(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Refusal> {
        if let Ok(set) = value.cast::<PySet>() {
            self.array(set.iter(), depth)
        } else if let Ok(set) = value.cast::<PyFrozenSet>() {
            self.array(set.iter(), depth)
        } else {
            let plain = simplify(value)?;
            if plain.is(value) {
                return Err(Refusal::new(unfit(value)));
            }
            self.write(&plain, depth + 1)
        }
    }

    fn string(&mut self, text: &Bound<'_, PyString>) -> Result<(), Refusal> {
        let text = text.to_str().map_err(|_| {
            Refusal::new("a string holds an unpaired surrogate, which is not UTF-8")
        })?;
        write_string(text, &mut self.out);
        Ok(())
    }

    fn integer(&mut self, number: &Bound<'_, PyInt>) -> Result<(), Refusal> {
        if let Ok(small) = number.extract::<i64>() {
            Json::Int(small).write(&mut self.out);
            return Ok(());
        }
        let digits = number.str().and_then(|text| text.extract::<String>());
        let digits = digits.map_err(|_| Refusal::new("an integer has too many digits"))?;
        self.out.extend_from_slice(digits.as_bytes());
        Ok(())
    }

    fn float(&mut self, number: &Bound<'_, PyFloat>) -> Result<(), Refusal> {
        let number = number.value();
        if !number.is_finite() {
            return Err(Refusal::new("NaN and infinities are not JSON"));
        }
        Json::Float(number).write(&mut self.out);
        Ok(())
    }

    fn array<'py>(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> Result<(), Refusal> {
        self.out.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.write(&item, depth + 1)
                .map_err(|refusal| refusal.under(index.to_string()))?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Refusal> {
        self.out.push(b'{');
        for (index, (key, value)) in dict.iter().enumerate() {
            let Ok(key) = key.cast::<PyString>() else {
                let kind = type_name(&key);
                return Err(Refusal::new(format!(
                    "an object's keys are strings, not {kind}"
                )));
            };
            if index > 0 {
                self.out.push(b',');
            }
            self.string(key)?;
            self.out.push(b':');
            self.write(&value, depth + 1)
                .map_err(|refusal| refusal.under(key.to_string()))?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn record(
        &mut self,
        value: &Bound<'_, PyAny>,
        fields: &Fields,
        depth: usize,
    ) -> Result<(), Refusal> {
        let py = value.py();
        self.out.push(b'{');
        for (index, field) in fields.fields.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(&field.key);
            let name = field.name.bind(py);
            let member = value
                .getattr(name)
                .map_err(|_| Refusal::new("a field has no value").under(name.to_string()))?;
            self.write(&member, depth + 1)
                .map_err(|refusal| refusal.under(name.to_string()))?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// The fields of the value's type, if it is a dataclass.
    fn dataclass(&mut self, value: &Bound<'_, PyAny>) -> Result<Option<Arc<Fields>>, Refusal> {
        let address = value.get_type_ptr() as usize;
        if let Some((last, fields)) = &self.last
            && *last == address
        {
            return Ok(Some(fields.clone()));
        }
        let found =
            fields_of(&value.get_type(), address).map_err(|_| Refusal::new(unfit(value)))?;
        if let Some(fields) = &found {
            self.last = Some((address, fields.clone()));
        }
        Ok(found)
    }
}

fn fields_of(kind: &Bound<'_, PyType>, address: usize) -> PyResult<Option<Arc<Fields>>> {
    static KNOWN: Mutex<Option<HashMap<usize, Arc<Fields>>>> = Mutex::new(None);
    {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fields) = known.as_ref().and_then(|known| known.get(&address)) {
            return Ok(Some(fields.clone()));
        }
    }
    let py = kind.py();
    // A dataclass that is an enum too is the enum's value, not a record of its fields.
    if kind.hasattr(intern!(py, "__members__"))? {
        return Ok(None);
    }
    let declared = match kind.getattr(intern!(py, "__dataclass_fields__")) {
        Ok(declared) => declared.cast_into::<PyDict>()?,
        Err(error) if error.is_instance_of::<PyAttributeError>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut fields = Vec::with_capacity(declared.len());
    for (name, field) in declared.iter() {
        // ClassVar and InitVar pseudo-fields hold no data.
        let marker = field
            .getattr(intern!(py, "_field_type"))?
            .getattr(intern!(py, "name"))?;
        if marker.extract::<&str>()? != "_FIELD" {
            continue;
        }
        let name = name.cast_into::<PyString>()?;
        let mut key = Vec::new();
        write_string(name.to_str()?, &mut key);
        key.push(b':');
        fields.push(Field {
            name: name.unbind(),
            key,
        });
    }
    let fields = Arc::new(Fields {
        _type: kind.clone().unbind(),
        fields,
    });
    let forgotten = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        let full = known.len() >= MAX_KNOWN_TYPES;
        let forgotten = if full {
            std::mem::take(known)
        } else {
            HashMap::new()
        };
        known.insert(address, fields.clone());
        forgotten
    };
    // Dropping types may run Python code: not under the lock.
    drop(forgotten);
    Ok(Some(fields))
}

fn simplify<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refusal> {
    let py = value.py();
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return Err(Refusal::new(
            "bytes are not JSON; encode them, or return Image, Audio or a blob",
        ));
    }
    // Subclasses of the plain types: their plain value.
    if let Ok(text) = value.cast::<PyString>() {
        return text
            .to_str()
            .map(|text| PyString::new(py, text).into_any())
            .map_err(|_| Refusal::new("a string holds an unpaired surrogate, which is not UTF-8"));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(
            PyFloat::new(py, value.extract().map_err(|_| Refusal::new(unfit(value)))?).into_any(),
        );
    }
    let plain = imports::simplify(py).and_then(|simplify| simplify.call1((value,)));
    plain.map_err(|error| {
        let known = imports::encode_error(py).is_ok_and(|kind| error.is_instance(py, kind));
        let reason = error
            .value(py)
            .str()
            .and_then(|text| text.extract::<String>());
        match reason {
            Ok(reason) if known => Refusal::new(reason),
            _ => Refusal::new(unfit(value)),
        }
    })
}

fn unfit(value: &Bound<'_, PyAny>) -> String {
    format!("objects of type {} are not JSON", type_name(value))
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .qualname()
        .map_or_else(|_| "unknown".into(), |name| name.to_string())
}

/// Whether the value is `None`, without asking Python.
pub(crate) fn is_none(value: &Bound<'_, PyAny>) -> bool {
    value.cast_exact::<PyNone>().is_ok()
}

/// Whether a returned value is, or holds in its list, something that shows itself as content.
pub(crate) fn presents(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(list) = value.cast_exact::<PyList>() {
        return any_presents(list.iter());
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return any_presents(tuple.iter());
    }
    any_presents(std::iter::once(value.clone()))
}

fn any_presents<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<bool> {
    // Lists are mostly of one type: each run of a type is asked about once.
    let mut last = std::ptr::null_mut();
    for item in items {
        let kind = item.get_type_ptr();
        if kind == last {
            continue;
        }
        last = kind;
        if is_plain(&item) {
            continue;
        }
        let py = item.py();
        if imports::presents(py)?
            .call1((item.get_type(),))?
            .is_truthy()?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a value is of a type that JSON has, so that nobody needs to be asked what it is.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.cast_exact::<PyString>().is_ok()
        || value.cast_exact::<PyDict>().is_ok()
        || value.cast_exact::<PyInt>().is_ok()
        || value.cast_exact::<PyFloat>().is_ok()
        || value.cast_exact::<PyBool>().is_ok()
        || value.cast_exact::<PyList>().is_ok()
}
