//! A Python callable with its plan, and what its value becomes.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use snodo_core::call::{Call, Target};
use snodo_core::error::Error;
use snodo_core::json::Object;
use snodo_core::mrtr::state::KeyRing;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline;
use snodo_core::schema::Validator;
use snodo_server::handler::Reply;

use crate::actor_tool::{ActorTool, PyActorTool};
use crate::binding::{Bindings, Passing, optional};
use crate::context::PyContext;
use crate::convert::{self, Refusal, object_to_python, to_python};
use crate::lane::ThreadLane;
use crate::layers::Layers;
use crate::policy::{self, Components, Policy};
use crate::result::PyResultValue;
use crate::telemetry::{Around, Entered};
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

/// How every callable of a server is run.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) validator: Validator,
    /// Whether exceptions are shown to the client.
    pub(crate) debug: bool,
    /// `Limits::result_bytes`
    pub(crate) result_bytes: usize,
    /// `Limits::input_rounds`
    pub(crate) input_rounds: usize,
    pub(crate) state: State,
    /// What seals the state that travels through clients.
    pub(crate) keys: Arc<KeyRing>,
    /// What surrounds every handler, if anything does.
    pub(crate) around: Option<Arc<Around>>,
    /// Where plain functions run that a coroutine waits for.
    pub(crate) threads: Arc<ThreadLane>,
}

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

    /// What a run becomes that gave a value.
    pub(crate) fn outcome_of(
        &self,
        context: &Bound<'_, PyContext>,
        value: &Bound<'_, PyAny>,
    ) -> Outcome {
        let py = value.py();
        let context = context.get();
        let call = &context.call().target;
        let left = context.end(py);
        if let Some(outcome) = refused(context, py) {
            return outcome;
        }
        if left {
            let text = format!(
                "{} {:?} asked its client something and gave a result all the same: what ask raises \
                 must not be caught, and nobody asks from a thread or task that is not waited for",
                call.noun(),
                self.name
            );
            let _ = imports::tell(py).and_then(|tell| tell.call1((30, text)));
        }
        let outcome = self.outcome_of_value(call, value);
        error::warn_of_code(py, call, &self.name, &outcome);
        outcome
    }

    fn outcome_of_value(&self, call: &Target, value: &Bound<'_, PyAny>) -> Outcome {
        if self.kind == Kind::Policy {
            return policy::decisions(call, &self.name, value);
        }
        let outcome = self.value_of(call, value).unwrap_or_else(|refusal| {
            let error = call.invalid_result();
            let message = format!("{}: {refusal}", error.message);
            let logged = format!("{} {:?}: {message}", call.noun(), self.name);
            // Told to the author too, who would look for it in vain.
            let _ = imports::tell(value.py()).and_then(|tell| tell.call1((40, logged)));
            Error {
                message: message.into(),
                ..error
            }
            .into()
        });
        match (&self.check_output, &outcome.value) {
            (Some(check), Value::Structured(_)) => self.checked(check, value, outcome),
            _ => outcome,
        }
    }

    /// Whether a call succeeds that gives this value. Nothing is logged of a value that does
    /// not.
    pub(crate) fn would_send(&self, call: &Target, value: &Bound<'_, PyAny>) -> bool {
        let Ok(mut outcome) = self.value_of(call, value) else {
            return false;
        };
        if let (Some(check), Value::Structured(_)) = (&self.check_output, &outcome.value) {
            outcome = self.checked(check, value, outcome);
        }
        let output = self.layers().and_then(Layers::output);
        pipeline::is_owed(output, call, &outcome.value)
    }

    /// What a raised exception becomes.
    pub(crate) fn outcome_of_error(&self, context: &Bound<'_, PyContext>, error: PyErr) -> Outcome {
        let py = context.py();
        context.get().end(py);
        if let Some(outcome) = refused(context.get(), py) {
            return outcome;
        }
        let call = &context.get().call().target;
        let outcome = error::outcome_of(py, self, call, error);
        error::warn_of_code(py, call, &self.name, &outcome);
        outcome
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

    fn value_of(&self, call: &Target, value: &Bound<'_, PyAny>) -> Result<Outcome, Refusal> {
        let py = value.py();
        if let Ok(text) = value.cast_exact::<PyString>() {
            let text = text.to_str().map_err(|_| {
                Refusal::new("a string holds an unpaired surrogate, which is not UTF-8")
            })?;
            return Ok(Value::Text(text.to_owned()).into());
        }
        if let Ok(bytes) = value.cast::<PyBytes>()
            && self.kind == Kind::Resource
        {
            return Ok(Value::Blob(BASE64.encode(bytes.as_bytes())).into());
        }
        if convert::is_none(value) && self.kind != Kind::Tool {
            return Ok(call.invalid_result().into());
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
            return Ok(Outcome {
                named: true,
                ..result.get().outcome(py, self.terms.result_bytes)?
            });
        }
        if is_question(value).unwrap_or(false) {
            return Err(Refusal::new(
                "a question is no result: ask it with context.ask(\"key\", ...), or send it with \
                 Result.input_required(input_requests={\"key\": ...})",
            ));
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
            return result.get().outcome(py, self.terms.result_bytes);
        }
        Ok(Value::Structured(convert::encode(value, self.terms.result_bytes)?).into())
    }

    fn check(&self, py: Python<'_>, check: &Py<PyAny>, arguments: &Object) -> Result<(), Outcome> {
        let accepted = object_to_python(py, arguments)
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
        let _ = imports::report(py)
            .and_then(|report| report.call1(("Tool", &self.name, error.into_value(py))));
        Error::internal("Schema validator failed").into()
    }
}

/// What an actor does for a tool, if one does.
fn actor_tool(spec: &Bound<'_, PyAny>) -> PyResult<Option<Arc<ActorTool>>> {
    let tool = spec.getattr("actor")?;
    let tool = tool.cast::<PyActorTool>().ok();
    Ok(tool.map(|tool| tool.get().0.clone()))
}

/// Whether a value is what `elicit`, `sampling` or `roots` give, or a dict of it: both would pass as
/// structured content.
fn is_question(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(dict) = value.cast::<PyDict>() else {
        return Ok(false);
    };
    if dict.is_exact_instance_of::<PyDict>() {
        let first = dict.iter().next();
        return first.map_or(Ok(false), |(_, first)| is_one_question(&first));
    }
    is_one_question(value)
}

fn is_one_question(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !value.is_instance_of::<PyDict>() || value.is_exact_instance_of::<PyDict>() {
        return Ok(false);
    }
    value.is_instance(imports::input_request(value.py())?)
}

/// The outcome of a run that met an error which it cannot make up for.
fn refused(context: &PyContext, py: Python<'_>) -> Option<Outcome> {
    let refusal = context.refusal(py)?;
    error::returned(&refusal).ok().flatten()
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
        Ok(value) => to_python(py, &value),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}
