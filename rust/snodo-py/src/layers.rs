//! The middleware around a callable: what the outermost layer is given, and what the innermost calls.
//!
//! Layers were put together in Python when the component was registered. Nothing here knows how many
//! there are.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use snodo_core::call::Target;
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::schema::{Schema, Validator};

use crate::binding::{Bindings, optional};
use crate::component::null_is_absent;
use crate::context::PyContext;
use crate::convert::{encode, object_to_python};

/// All the layers of a callable.
pub(crate) struct Layers {
    /// `outermost(context, arguments, rest)`
    outermost: Py<PyAny>,
    /// What arguments that a layer changed are held to, of a tool.
    input: Option<Schema>,
    /// What its values are held to.
    output: Option<Schema>,
    /// Arguments of which null says that they are absent.
    null_is_absent: Vec<String>,
}

impl Layers {
    /// Reads the wrapper of a spec; `None` where nothing surrounds the callable.
    pub(crate) fn read(spec: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(optional(spec, "wrapper")?.map(|outermost| Self {
            outermost,
            input: None,
            output: None,
            null_is_absent: Vec::new(),
        }))
    }

    /// The same of a tool, whose arguments have a schema.
    pub(crate) fn of_tool(spec: &Bound<'_, PyAny>, validator: Validator) -> PyResult<Option<Self>> {
        let Some(layers) = Self::read(spec)? else {
            return Ok(None);
        };
        let definition: Vec<u8> = spec.getattr("definition")?.extract()?;
        let definition = json::parse(&definition, &Limits::default()).ok();
        let definition = definition.as_ref().and_then(Json::as_object);
        let schema = |name: &str| definition.and_then(|definition| definition.get(name));
        Ok(Some(Self {
            // The registry compiles the same schemas, and refuses the tool where that fails.
            input: schema("inputSchema").and_then(|it| Schema::input(it, validator).ok()),
            output: schema("outputSchema").and_then(|it| Schema::output(it, validator).ok()),
            null_is_absent: null_is_absent(spec)?,
            ..layers
        }))
    }

    pub(crate) fn outermost<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.outermost.bind(py)
    }

    /// What the values of a tool are held to.
    pub(crate) fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }

    /// What the outermost layer is called with.
    pub(crate) fn bind<'py>(context: &Bound<'py, PyContext>) -> PyResult<Bindings<'py>> {
        let py = context.py();
        let arguments = object_to_python(py, &context.get().call().arguments)?;
        let rest = Rest {
            context: context.clone().unbind(),
        };
        Ok(((context, arguments, rest).into_pyobject(py)?, None))
    }

    /// The arguments that a layer hands on, `None` where they are those that came.
    ///
    /// What the function cannot take is the fault of whoever wrote the layer, so it is told in an
    /// exception like any other of theirs.
    fn changed(
        &self,
        target: &Target,
        came: &Object,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Object>> {
        let wrong = |reason: &str| {
            let noun = target.noun().to_lowercase();
            PyValueError::new_err(format!(
                "middleware handed on arguments that the {noun} does not take: {reason}"
            ))
        };
        if !given.is_instance_of::<PyDict>() {
            let kind = given.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!(
                "call_next takes the arguments as a dict, not {kind}"
            )));
        }
        let limits = Limits::default();
        let text = encode(given, limits.result_bytes).map_err(|why| wrong(&why.to_string()))?;
        let limits = Limits {
            json_depth: 256,
            integer_digits: 4300,
            ..limits
        };
        let mut given = match json::parse(&text, &limits) {
            Ok(Json::Object(given)) => given,
            Ok(_) => return Err(wrong("they are no object")),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        if given == *came {
            return Ok(None);
        }
        for key in &self.null_is_absent {
            if given.get(key) == Some(&Json::Null) {
                given.take(key);
            }
        }
        if let Some(input) = &self.input {
            input.check_arguments(&given).map_err(|why| wrong(&why))?;
        } else if let Some((name, _)) = texts(target, &given).find(|(_, value)| !is_text(value)) {
            return Err(wrong(&format!("{name} is no string")));
        }
        Ok(Some(given))
    }
}

/// What has to be text where arguments are text on the wire.
fn texts<'a>(target: &Target, given: &'a Object) -> impl Iterator<Item = (&'a str, &'a Json)> {
    let nested = match (target, given.get("arguments")) {
        (Target::Completion { .. }, Some(Json::Object(nested))) => Some(nested),
        _ => None,
    };
    let outer = given.iter();
    let outer = outer.filter(move |(name, _)| nested.is_none() || *name != "arguments");
    outer.chain(nested.into_iter().flat_map(Object::iter))
}

fn is_text(value: &Json) -> bool {
    matches!(value, Json::String(_))
}

/// What is under the layers: the function itself, which is given what came, or what a layer made of it.
#[pyclass(frozen, name = "Rest", module = "snodo._snodo")]
struct Rest {
    context: Py<PyContext>,
}

#[pymethods]
impl Rest {
    fn __call__<'py>(&self, arguments: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let context = self.context.bind(py);
        let call = context.get().call();
        let callable = context.get().callable();
        let changed = match callable.layers() {
            Some(layers) => layers.changed(&call.target, &call.arguments, arguments)?,
            None => None,
        };
        let (positional, named) = match &changed {
            Some(arguments) => callable.rebind(context, arguments).map_err(|error| {
                let text = "middleware handed on arguments that the function does not take";
                let wrong = PyValueError::new_err(text);
                wrong.set_cause(py, Some(error));
                wrong
            })?,
            None => callable.bind_function(context, &call.arguments)?,
        };
        callable.innermost(py).call(positional, named.as_ref())
    }
}
