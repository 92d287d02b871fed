//! The application's policy: what it is asked about, and what its word means.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};
use snodo_core::call::Target;
use snodo_core::json::{Json, Object};
use snodo_core::operation::Listed;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::policy::Subject;
use snodo_core::registry::Registry;

use crate::binding::Bindings;
use crate::context::PyContext;
use crate::convert::{is_none, object_to_python};
use crate::{error, imports};

/// A policy as a `Server` was given it.
#[derive(FromPyObject)]
pub(crate) struct Policy(
    /// `judge(phase, components, context)`: what it says of each.
    pub(crate) Py<PyAny>,
    /// Whether that gives an awaitable.
    pub(crate) bool,
    /// What it is called, for the log.
    pub(crate) String,
);

/// The components that a policy may be asked about, as it sees them, in the registry's order.
pub(crate) struct Components {
    tools: Vec<Py<PyAny>>,
    resources: Vec<Py<PyAny>>,
    templates: Vec<Py<PyAny>>,
    prompts: Vec<Py<PyAny>>,
}

impl Components {
    pub(crate) fn read(py: Python<'_>, registry: &Registry) -> PyResult<Self> {
        let component = imports::component(py)?;
        let make = |kind: &str, uri: Option<&str>, definition: &Object| {
            let name = definition.get("name").and_then(Json::as_str);
            let metadata = match definition.get("_meta") {
                Some(Json::Object(metadata)) => object_to_python(py, metadata)?,
                _ => PyDict::new(py),
            };
            let made = component.call1((kind, name, uri, py.None(), metadata))?;
            Ok(made.unbind())
        };
        let tools = registry.tools.iter();
        let resources = registry.resources.iter();
        let templates = registry.templates.iter();
        let prompts = registry.prompts.iter();
        Ok(Self {
            tools: tools
                .map(|it| make("tool", None, &it.definition))
                .collect::<PyResult<_>>()?,
            resources: resources
                .map(|it| make("resource", Some(&it.uri), &it.definition))
                .collect::<PyResult<_>>()?,
            templates: templates
                .map(|it| make("resource_template", Some(&it.text), &it.definition))
                .collect::<PyResult<_>>()?,
            prompts: prompts
                .map(|it| make("prompt", None, &it.definition))
                .collect::<PyResult<_>>()?,
        })
    }

    fn find<'py>(&self, py: Python<'py>, subject: &Subject) -> PyResult<Bound<'py, PyAny>> {
        let all = match subject.of {
            Listed::Tools => &self.tools,
            Listed::Resources => &self.resources,
            Listed::Templates => &self.templates,
            Listed::Prompts => &self.prompts,
        };
        let component = all[subject.at].bind(py).clone();
        match &subject.requested_uri {
            None => Ok(component),
            Some(uri) => component.call_method1("_requested", (uri,)),
        }
    }

    /// `judge(phase, components, context)`
    pub(crate) fn bind<'py>(
        &self,
        call: &Target,
        context: &Bound<'py, PyContext>,
    ) -> PyResult<Bindings<'py>> {
        let py = context.py();
        let components = PyList::empty(py);
        let mut phase = "";
        if let Target::Policy(inquiry) = call {
            phase = inquiry.phase.name();
            for subject in &inquiry.subjects {
                components.append(self.find(py, subject)?)?;
            }
        }
        Ok(((phase, components, context).into_pyobject(py)?, None))
    }
}

/// What a policy said of each component it was asked about. What is neither nothing nor an `Error` is no
/// decision: `True` may mean that something is allowed, and `False` the same to somebody else.
pub(crate) fn decisions(call: &Target, name: &str, said: &Bound<'_, PyAny>) -> Outcome {
    let mut decisions = Vec::new();
    let Ok(every) = said.try_iter() else {
        return invalid(call, name, said);
    };
    for said in every {
        let Ok(said) = said else {
            return call.raised().into();
        };
        if is_none(&said) {
            decisions.push(Ok(()));
        } else if let Some(refusal) = error::refusal(&said) {
            decisions.push(Err(refusal));
        } else {
            return invalid(call, name, &said);
        }
    }
    Value::Decisions(decisions).into()
}

fn invalid(call: &Target, name: &str, said: &Bound<'_, PyAny>) -> Outcome {
    let kind = if said.is_instance_of::<PyBool>() {
        said.to_string()
    } else {
        said.get_type()
            .name()
            .map_or_else(|_| String::new(), |name| name.to_string())
    };
    let text = format!(
        "{} {name:?} gave {kind} for a decision: None allows, an Error refuses",
        call.noun()
    );
    let _ = imports::tell(said.py()).and_then(|tell| tell.call1((40, text)));
    call.invalid_result().into()
}
