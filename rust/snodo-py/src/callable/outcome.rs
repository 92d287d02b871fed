//! What becomes of a run: of the value that it gives, or of what it raises.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use snodo_core::call::Target;
use snodo_core::error::Error;
use snodo_core::json::Object;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline;

use super::{Kind, PyCallable};
use crate::context::PyContext;
use crate::convert::{self, Refusal, object_to_python, to_python};
use crate::layers::Layers;
use crate::result::PyResultValue;
use crate::{error, imports, policy};

impl PyCallable {
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

    pub(super) fn check(
        &self,
        py: Python<'_>,
        check: &Py<PyAny>,
        arguments: &Object,
    ) -> Result<(), Outcome> {
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
