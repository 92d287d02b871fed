//! A Python callable with its plan.

mod outcome;
mod terms;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snodo_core::call::Call;
use snodo_core::json::Object;
use snodo_core::mrtr::state::KeyRing;
use snodo_core::outcome::Outcome;
use snodo_server::handler::Reply;

pub(crate) use terms::{State, Terms};

use crate::actor_tool::{ActorTool, PyActorTool};
use crate::binding::{Bindings, Passing, optional};
use crate::context::PyContext;
use crate::imports;
use crate::lane::ThreadLane;
use crate::layers::Layers;
use crate::policy::{Components, Policy};
use crate::telemetry::Entered;

/// A callable as Python declared it, read once when the runtime is built.
pub(crate) struct PyCallable {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) is_async: bool,
    function: Py<PyAny>,
    passing: Passing,
    /// What surrounds the function; rarely anything.
    layers: Option<Box<Layers>>,
    output_null: bool,
    check_arguments: Option<Py<PyAny>>,
    check_output: Option<Py<PyAny>>,
    /// What it does in the place of the function, where nothing surrounds that.
    actor: Option<Arc<ActorTool>>,
    /// Its last call was seen holding up its thread; the next one is expected to.
    pub(crate) slow: Arc<AtomicBool>,
    terms: Terms,
}

/// What a callable is the handler of, which decides what its values and exceptions mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Prompt,
    Completion,
    /// Of a template that matches by code of its own.
    Matcher,
    /// What decides who sees and uses the others.
    Policy,
    /// What an extension has to say.
    Extension,
}

impl PyCallable {
    /// Reads a `ToolSpec`, `ResourceSpec` or `PromptSpec`.
    pub(crate) fn read(spec: &Bound<'_, PyAny>, kind: Kind, terms: &Terms) -> PyResult<Self> {
        let passing = Passing::read(spec)?;
        let mut callable = Self::of(spec, spec.getattr("name")?.extract()?, kind, passing, terms)?;
        let layers = if kind == Kind::Tool {
            Layers::of_tool(spec, terms.validator)?
        } else {
            Layers::read(spec)?
        };
        callable.layers = layers.map(Box::new);
        if kind == Kind::Tool {
            callable.output_null = spec.getattr("output_null")?.extract()?;
            callable.check_arguments = optional(spec, "check_arguments")?;
            callable.check_output = optional(spec, "check_output")?;
        }
        if kind == Kind::Tool && callable.is_bare() {
            callable.actor = actor_tool(spec)?;
        }
        Ok(callable)
    }

    /// Reads a `CompletionSpec` of the component of this name.
    pub(crate) fn completer(spec: &Bound<'_, PyAny>, name: &str, terms: &Terms) -> PyResult<Self> {
        let passing = Passing::Completer {
            takes_context: spec.getattr("takes_context")?.extract()?,
        };
        let mut callable = Self::of(spec, name.to_owned(), Kind::Completion, passing, terms)?;
        callable.layers = Layers::read(spec)?.map(Box::new);
        Ok(callable)
    }

    /// Reads the matcher of a `ResourceSpec`.
    pub(crate) fn matcher(function: Py<PyAny>, name: &str, terms: &Terms) -> Self {
        Self::new(
            function,
            false,
            name.to_owned(),
            Kind::Matcher,
            Passing::Uri,
            terms,
        )
    }

    /// Whether nothing surrounds the function, so that what it does may be done without it.
    fn is_bare(&self) -> bool {
        self.layers.is_none() && self.check_arguments.is_none() && self.check_output.is_none()
    }

    /// A policy, with the components it decides on.
    pub(crate) fn policy(policy: Policy, components: Components, terms: &Terms) -> Self {
        let Policy(function, is_async, name) = policy;
        let passing = Passing::Policy(Box::new(components));
        Self::new(function, is_async, name, Kind::Policy, passing, terms)
    }

    /// Reads what an extension of this name has to say: a function, and whether it is a coroutine.
    pub(crate) fn callback(
        spec: &Bound<'_, PyAny>,
        id: &str,
        passing: Passing,
        terms: &Terms,
    ) -> PyResult<Self> {
        Self::of(spec, id.to_owned(), Kind::Extension, passing, terms)
    }

    fn of(
        spec: &Bound<'_, PyAny>,
        name: String,
        kind: Kind,
        passing: Passing,
        terms: &Terms,
    ) -> PyResult<Self> {
        let is_async = spec.getattr("is_async")?.extract()?;
        let function = spec.getattr("function")?.unbind();
        Ok(Self::new(function, is_async, name, kind, passing, terms))
    }

    fn new(
        function: Py<PyAny>,
        is_async: bool,
        name: String,
        kind: Kind,
        passing: Passing,
        terms: &Terms,
    ) -> Self {
        Self {
            name,
            kind,
            is_async,
            function,
            passing,
            layers: None,
            output_null: false,
            check_arguments: None,
            check_output: None,
            actor: None,
            slow: Arc::default(),
            terms: terms.clone(),
        }
    }

    /// Makes the call's context the current one of this thread.
    pub(crate) fn enter<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        call: Call,
        reply: &Reply,
    ) -> PyResult<Bound<'py, PyContext>> {
        let context = Bound::new(py, PyContext::new(call, self.clone(), reply))?;
        imports::set_current(py)?.call1((&context,))?;
        Ok(context)
    }

    /// Lets whoever watches surround what is begun until this is dropped.
    pub(crate) fn surround<'py>(&self, context: &Bound<'py, PyContext>) -> Option<Entered<'py>> {
        let around = self.terms.around.as_ref()?;
        let span = context.get().call().context.arrival.span;
        around.enter(context.py(), span)
    }

    /// Turns what was sent into what [`Self::function`] takes. `Err`: the outcome is known without it.
    pub(crate) fn bind<'py>(
        &self,
        context: &Bound<'py, PyContext>,
    ) -> Result<Bindings<'py>, Outcome> {
        let py = context.py();
        let arguments = &context.get().call().arguments;
        if let Some(check) = &self.check_arguments {
            self.check(py, check, arguments)?;
        }
        let bound = match &self.layers {
            None => self.bind_function(context, arguments),
            Some(_) => Layers::bind(context),
        };
        bound.map_err(|error| self.outcome_of_error(context, error))
    }

    /// What a call begins with: the outermost layer around the function, or itself.
    pub(crate) fn function<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        match &self.layers {
            None => self.innermost(py),
            Some(layers) => layers.outermost(py),
        }
    }

    /// The function without what surrounds it.
    pub(crate) fn innermost<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.function.bind(py)
    }

    pub(crate) fn layers(&self) -> Option<&Layers> {
        self.layers.as_deref()
    }

    /// Turns arguments into what the function itself takes.
    pub(crate) fn bind_function<'py>(
        &self,
        context: &Bound<'py, PyContext>,
        arguments: &Object,
    ) -> PyResult<Bindings<'py>> {
        let target = &context.get().call().target;
        self.passing.bind(context.py(), target, arguments, context)
    }

    /// The same for arguments that no client sent, so that nobody has checked them.
    pub(crate) fn rebind<'py>(
        &self,
        context: &Bound<'py, PyContext>,
        arguments: &Object,
    ) -> PyResult<Bindings<'py>> {
        if let Some(check) = &self.check_arguments {
            let accepted = self.check(context.py(), check, arguments);
            accepted.map_err(|_| PyValueError::new_err("the server's validator refuses them"))?;
        }
        self.bind_function(context, arguments)
    }

    /// Where plain functions run that a coroutine waits for.
    pub(crate) fn threads(&self) -> &Arc<ThreadLane> {
        &self.terms.threads
    }

    /// What an actor does for it; then its function is not called.
    pub(crate) fn actor_tool(&self) -> Option<&Arc<ActorTool>> {
        self.actor.as_ref()
    }

    /// Most bytes of a result.
    pub(crate) fn result_bytes(&self) -> usize {
        self.terms.result_bytes
    }

    /// The server's keys.
    pub(crate) fn keys(&self) -> &KeyRing {
        &self.terms.keys
    }

    /// Times that one call may be answered with questions.
    pub(crate) fn input_rounds(&self) -> usize {
        self.terms.input_rounds
    }

    /// What the lifespan yielded.
    pub(crate) fn state(&self) -> &State {
        &self.terms.state
    }

    /// Whether exceptions of the function are shown to the client.
    pub(crate) fn is_debugged(&self) -> bool {
        self.terms.debug
    }
}

/// What an actor does for a tool, if one does.
fn actor_tool(spec: &Bound<'_, PyAny>) -> PyResult<Option<Arc<ActorTool>>> {
    let tool = spec.getattr("actor")?;
    let tool = tool.cast::<PyActorTool>().ok();
    Ok(tool.map(|tool| tool.get().0.clone()))
}
