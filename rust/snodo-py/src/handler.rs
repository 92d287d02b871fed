//! A Python callable with its plan as a `Handler`: which lane it runs on, how its arguments are
//! bound, what its value becomes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, intern};
use snodo_core::call::Call;
use snodo_core::error::Error;
use snodo_core::json::{Json, Object};
use snodo_core::outcome::{Outcome, Value};
use snodo_server::handler::{Handler, Reply};

use crate::context::PyContext;
use crate::convert::{self, Refusal, object_to_python, to_python};
use crate::lane::{EventLoopLane, Job, ThreadLane};
use crate::result::PyResultValue;
use crate::{error, imports};

/// What the lifespan yielded: `context.state`.
#[derive(Clone, Default)]
pub(crate) struct State(Arc<Mutex<Option<Py<PyAny>>>>);

impl State {
    pub(crate) fn set(&self, value: Option<Py<PyAny>>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, value);
        drop(state);
        drop(before); // after the lock: dropping it may run Python code that looks here
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            Some(state) => state.bind(py).clone(),
            None => py.None().into_bound(py),
        }
    }
}

/// A tool as Python declared it, read once when the runtime is built.
pub(crate) struct PyTool {
    pub(crate) name: String,
    pub(crate) is_async: bool,
    function: Py<PyAny>,
    /// `None`: called with the arguments as a dict, and the context.
    slots: Option<Vec<Slot>>,
    output_null: bool,
    check_arguments: Option<Py<PyAny>>,
    check_output: Option<Py<PyAny>>,
    /// Its last call was seen holding up its thread; the next one is expected to.
    pub(crate) slow: AtomicBool,
    debug: bool,
    state: State,
}

/// A parameter, and where its value comes from.
struct Slot {
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

impl PyTool {
    /// Reads a `ToolSpec`.
    pub(crate) fn read(spec: &Bound<'_, PyAny>, debug: bool, state: State) -> PyResult<Self> {
        let py = spec.py();
        let optional = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let value = spec.getattr(name)?;
            Ok((!value.is_none()).then(|| value.unbind()))
        };
        let slots = match optional("slots")? {
            Some(slots) => {
                let slots = slots.into_bound(py).try_iter()?;
                Some(
                    slots
                        .map(|slot| Slot::read(&slot?))
                        .collect::<PyResult<Vec<_>>>()?,
                )
            }
            None => None,
        };
        Ok(Self {
            name: spec.getattr("name")?.extract()?,
            is_async: spec.getattr("is_async")?.extract()?,
            function: spec.getattr("function")?.unbind(),
            slots,
            output_null: spec.getattr("output_null")?.extract()?,
            check_arguments: optional("check_arguments")?,
            check_output: optional("check_output")?,
            slow: AtomicBool::new(false),
            debug,
            state,
        })
    }

    /// Makes the call's context the current one of this thread.
    pub(crate) fn enter<'py>(
        &self,
        py: Python<'py>,
        call: &Call,
        reply: &Reply,
    ) -> PyResult<Bound<'py, PyContext>> {
        let cancel = reply.cancelled().clone();
        let context = PyContext::new(call.context.clone(), cancel, self.state.clone());
        let context = Bound::new(py, context)?;
        imports::set_current(py)?.call1((&context,))?;
        Ok(context)
    }

    /// Calls the function. `Err`: the outcome is known without it.
    pub(crate) fn bind<'py>(
        &self,
        py: Python<'py>,
        arguments: Object,
        context: &Bound<'py, PyContext>,
    ) -> Result<Bindings<'py>, Outcome> {
        if let Some(check) = &self.check_arguments {
            self.check(py, check, &arguments)?;
        }
        let bound = match &self.slots {
            Some(slots) => bind_slots(py, slots, arguments, context),
            None => object_to_python(py, arguments)
                .and_then(|arguments| Ok(((arguments, context).into_pyobject(py)?, None))),
        };
        bound.map_err(|error| self.outcome_of_error(py, error))
    }

    pub(crate) fn function<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.function.bind(py)
    }

    /// What a returned value becomes.
    pub(crate) fn outcome_of(&self, value: &Bound<'_, PyAny>) -> Outcome {
        let outcome = self.value_of(value).unwrap_or_else(|refusal| {
            Error::internal(format!("Tool returned an invalid result: {refusal}")).into()
        });
        match (&self.check_output, &outcome.value) {
            (Some(check), Value::Structured(_)) => self.checked(check, value, outcome),
            _ => outcome,
        }
    }

    /// What a raised exception becomes.
    pub(crate) fn outcome_of_error(&self, py: Python<'_>, error: PyErr) -> Outcome {
        error::outcome_of(py, &self.name, error, self.debug)
    }

    fn value_of(&self, value: &Bound<'_, PyAny>) -> Result<Outcome, Refusal> {
        let py = value.py();
        if let Ok(text) = value.cast_exact::<PyString>() {
            let text = text.to_str().map_err(|_| {
                Refusal::new("a string holds an unpaired surrogate, which is not UTF-8")
            })?;
            return Ok(Value::Text(text.to_owned()).into());
        }
        if convert::is_none(value) {
            let value = if self.output_null {
                Value::Structured(b"null".to_vec())
            } else {
                Value::Content(b"[]".to_vec())
            };
            return Ok(value.into());
        }
        if let Ok(result) = value.cast::<PyResultValue>() {
            return result.get().outcome(py);
        }
        if let Ok(Some(outcome)) = error::returned(value) {
            return Ok(outcome);
        }
        // A display hook of the user's that raises is not a reason to lose the value.
        if convert::presents(value).unwrap_or(false)
            && let Ok(normal) =
                imports::normalise(py).and_then(|normalise| normalise.call1((value,)))
            && let Ok(result) = normal.cast::<PyResultValue>()
        {
            return result.get().outcome(py);
        }
        Ok(Value::Structured(convert::encode(value)?).into())
    }

    fn check(&self, py: Python<'_>, check: &Py<PyAny>, arguments: &Object) -> Result<(), Outcome> {
        let accepted = object_to_python(py, arguments.clone())
            .and_then(|arguments| check.bind(py).call1((arguments,)))
            .and_then(|accepted| accepted.extract::<bool>());
        match accepted {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(Value::Failure("Tool arguments failed schema validation".into()).into())
            }
            Err(error) => Err(self.broken_validator(py, error)),
        }
    }

    fn checked(&self, check: &Py<PyAny>, value: &Bound<'_, PyAny>, outcome: Outcome) -> Outcome {
        let py = value.py();
        let accepted = plain(py, &outcome)
            .and_then(|value| check.bind(py).call1((value,)))
            .and_then(|accepted| accepted.extract::<bool>());
        match accepted {
            Ok(true) => outcome,
            Ok(false) => Error::internal("Tool output failed schema validation").into(),
            Err(error) => self.broken_validator(py, error),
        }
    }

    fn broken_validator(&self, py: Python<'_>, error: PyErr) -> Outcome {
        // Logged under an id like a tool's own failure; told without a word of it.
        let _ =
            imports::report(py).and_then(|report| report.call1((&self.name, error.into_value(py))));
        Error::internal("Schema validator failed").into()
    }
}

/// The structured value as the client will see it.
fn plain<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyAny>> {
    let Value::Structured(text) = &outcome.value else {
        return Ok(py.None().into_bound(py));
    };
    let limits = snodo_core::limits::Limits {
        json_depth: 256,
        integer_digits: 4300,
        ..Default::default()
    };
    match snodo_core::json::parse(text, &limits) {
        Ok(value) => to_python(py, value),
        Err(error) => Err(pyo3::exceptions::PyValueError::new_err(error.to_string())),
    }
}

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

    fn value<'py>(&self, py: Python<'py>, given: Option<Json>) -> PyResult<Bound<'py, PyAny>> {
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
                PyFloat::new(py, number).call_method0(intern!(py, "__int__"))?
            }
            #[expect(clippy::cast_precision_loss, reason = "that is what float() does")]
            (Number::Float, Json::Int(number)) => PyFloat::new(py, number as f64).into_any(),
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

fn bind_slots<'py>(
    py: Python<'py>,
    slots: &[Slot],
    mut arguments: Object,
    context: &Bound<'py, PyContext>,
) -> PyResult<Bindings<'py>> {
    let mut positional = Vec::with_capacity(slots.len());
    let mut named: Option<Bound<'py, PyDict>> = None;
    for slot in slots {
        let value = match &slot.key {
            Some(key) => slot.value(py, arguments.take(key))?,
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

/// A tool on its lane.
pub(crate) enum PyHandler {
    /// A plain function.
    Thread(Arc<PyTool>, Arc<ThreadLane>),
    /// A coroutine function.
    EventLoop(Arc<PyTool>, Arc<EventLoopLane>),
}

impl Handler for PyHandler {
    fn call(&self, call: Call, reply: Reply) {
        match self {
            Self::Thread(tool, lane) => lane.push(Job {
                tool: tool.clone(),
                call,
                reply,
            }),
            Self::EventLoop(tool, lane) => lane.push(Job {
                tool: tool.clone(),
                call,
                reply,
            }),
        }
    }
}

impl PyTool {
    /// Whether its calls are expected to hold up their thread.
    pub(crate) fn expects_to_block(&self) -> bool {
        self.slow.load(Ordering::Relaxed)
    }
}
