//! How what was sent becomes what a function takes: by parameter, or as the form of the function has it.
//!
//! Read once when something is registered; per call there is only walking along it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::call::Target;
use snodo_core::json::{Json, Object};

use crate::context::PyContext;
use crate::convert::{object_to_python, to_python};
use crate::lane::EventLoopLane;
use crate::policy::Components;

/// How a function wants its arguments.
pub(crate) enum Passing {
    /// `function(arguments, context)`
    Raw,
    /// By parameter.
    Slots(Vec<Slot>),
    /// `function(value, arguments)`, and the context if it takes one: a completer.
    Completer { takes_context: bool },
    /// `function(uri)`: a matcher.
    Uri,
    /// `function(phase, components, context)`: a policy, which knows the components.
    Policy(Box<Components>),
    /// `function(context, params, call_next)`: a layer, which runs on this loop.
    Layer(Arc<EventLoopLane>),
}

impl Passing {
    /// Reads the slots of a `ToolSpec`, `ResourceSpec` or `PromptSpec`.
    pub(crate) fn read(spec: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Some(slots) = optional(spec, "slots")? else {
            return Ok(Self::Raw);
        };
        let slots = slots.into_bound(spec.py()).try_iter()?;
        Ok(Self::Slots(
            slots
                .map(|slot| Slot::read(&slot?))
                .collect::<PyResult<_>>()?,
        ))
    }

    /// Turns what was sent into what the function takes.
    pub(crate) fn bind<'py>(
        &self,
        py: Python<'py>,
        call: &Target,
        arguments: &Object,
        context: &Bound<'py, PyContext>,
    ) -> PyResult<Bindings<'py>> {
        match self {
            Self::Slots(slots) => bind_slots(py, slots, arguments, context),
            Self::Raw => bind_raw(py, call, arguments, context),
            Self::Uri => bind_uri(py, call),
            Self::Policy(components) => components.bind(call, context),
            Self::Layer(event_loop) => bind_layer(arguments, context, event_loop),
            Self::Completer { takes_context } => {
                bind_completer(py, arguments, takes_context.then_some(context))
            }
        }
    }
}

/// A parameter, and where its value comes from.
pub(crate) struct Slot {
    /// Name on the wire; `None` for the context.
    key: Option<String>,
    /// Passed by this name; `None`: by position.
    keyword: Option<Py<PyString>>,
    number: Number,
    convert: Option<Py<PyAny>>,
    default: Option<Py<PyAny>>,
}

/// Which Python number a JSON number becomes.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    AsWritten,
    Int,
    Float,
}

/// Positional and keyword arguments, ready to call with.
pub(crate) type Bindings<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

impl Slot {
    fn read(slot: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = slot.py();
        let convert = slot.getattr("convert")?;
        let number = match slot
            .getattr("number")?
            .extract::<Option<String>>()?
            .as_deref()
        {
            Some("int") => Number::Int,
            Some("float") => Number::Float,
            _ => Number::AsWritten,
        };
        let required: bool = slot.getattr("required")?.extract()?;
        let keyword: Option<String> = slot.getattr("keyword")?.extract()?;
        Ok(Self {
            key: slot.getattr("key")?.extract()?,
            keyword: keyword.map(|name| PyString::intern(py, &name).unbind()),
            number,
            convert: (!convert.is_none()).then(|| convert.unbind()),
            default: if required {
                None
            } else {
                Some(slot.getattr("default")?.unbind())
            },
        })
    }

    fn value<'py>(&self, py: Python<'py>, given: Option<&Json>) -> PyResult<Bound<'py, PyAny>> {
        let Some(given) = given else {
            return match &self.default {
                Some(default) => Ok(default.bind(py).clone()),
                // The router enforces `required`; a schema that forgot one is the author's.
                None => Err(pyo3::exceptions::PyTypeError::new_err(
                    "a required argument is missing",
                )),
            };
        };
        let value = match (self.number, given) {
            (Number::Int, Json::Float(number)) if number.fract() == 0.0 => {
                PyFloat::new(py, *number).call_method0(intern!(py, "__int__"))?
            }
            #[expect(clippy::cast_precision_loss, reason = "that is what float() does")]
            (Number::Float, Json::Int(number)) => PyFloat::new(py, *number as f64).into_any(),
            (Number::Float, Json::Big(digits)) => {
                PyFloat::new(py, digits.parse().unwrap_or(f64::MAX)).into_any()
            }
            (_, given) => to_python(py, given)?,
        };
        match &self.convert {
            Some(convert) => convert.bind(py).call1((value,)),
            None => Ok(value),
        }
    }
}

/// A template's handler finds the requested URI among its variables, as `uri`.
fn bind_raw<'py>(
    py: Python<'py>,
    call: &Target,
    arguments: &Object,
    context: &Bound<'py, PyContext>,
) -> PyResult<Bindings<'py>> {
    let arguments = object_to_python(py, arguments)?;
    if let Target::Resource { uri, .. } | Target::Template { uri, .. } = call {
        arguments.set_item(intern!(py, "uri"), uri)?;
    }
    Ok(((arguments, context).into_pyobject(py)?, None))
}

fn bind_layer<'py>(
    params: &Object,
    context: &Bound<'py, PyContext>,
    event_loop: &Arc<EventLoopLane>,
) -> PyResult<Bindings<'py>> {
    let py = context.py();
    let params = object_to_python(py, params)?;
    let next = Bound::new(py, context.get().next(event_loop))?;
    Ok(((context, params, next).into_pyobject(py)?, None))
}

fn bind_uri<'py>(py: Python<'py>, call: &Target) -> PyResult<Bindings<'py>> {
    let uri = match call {
        Target::Matcher(search) => search.uri.as_str(),
        _ => "",
    };
    Ok(((uri,).into_pyobject(py)?, None))
}

fn bind_completer<'py>(
    py: Python<'py>,
    arguments: &Object,
    context: Option<&Bound<'py, PyContext>>,
) -> PyResult<Bindings<'py>> {
    let value = to_python(py, arguments.get("value").unwrap_or(&Json::Null))?;
    let given = match arguments.get("arguments") {
        Some(Json::Object(given)) => object_to_python(py, given)?,
        _ => PyDict::new(py),
    };
    let bound = match context {
        Some(context) => (value, given, context).into_pyobject(py)?,
        None => (value, given).into_pyobject(py)?,
    };
    Ok((bound, None))
}

fn bind_slots<'py>(
    py: Python<'py>,
    slots: &[Slot],
    arguments: &Object,
    context: &Bound<'py, PyContext>,
) -> PyResult<Bindings<'py>> {
    let mut positional = Vec::with_capacity(slots.len());
    let mut named: Option<Bound<'py, PyDict>> = None;
    for slot in slots {
        let value = match &slot.key {
            Some(key) => slot.value(py, arguments.get(key))?,
            None => context.into_bound_py_any(py)?,
        };
        match &slot.keyword {
            Some(keyword) => named
                .get_or_insert_with(|| PyDict::new(py))
                .set_item(keyword, value)?,
            None => positional.push(value),
        }
    }
    Ok((PyTuple::new(py, positional)?, named))
}

/// An attribute that may be `None`.
pub(crate) fn optional(spec: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let value = spec.getattr(name)?;
    Ok((!value.is_none()).then(|| value.unbind()))
}
