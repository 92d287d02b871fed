//! Whose argument is to be completed, and whether its values are known here.

use super::policy::unknown_reference;
use super::{Route, with_member};
use crate::call::{Completed, Target};
use crate::error::{self, Error};
use crate::json::{Json, Object};
use crate::operation::{Completion, Reference};
use crate::registry::Completable;
use crate::runtime::Runtime;

/// Whose argument it is.
pub(super) fn find(runtime: &Runtime, reference: &Reference) -> Result<Completed, Error> {
    let registry = &runtime.registry;
    let of = match reference {
        Reference::Prompt(name) => registry.find_prompt(name).map(Completed::Prompt),
        Reference::Template(text) => registry.find_template(text).map(Completed::Template),
    };
    of.ok_or_else(|| unknown_reference(reference))
}

pub(super) fn complete<'a>(
    runtime: &Runtime,
    of: Completed,
    completion: Completion,
) -> Result<Route<'a>, Error> {
    let Completion {
        of: reference,
        argument,
        value,
        arguments,
    } = completion;
    let registry = &runtime.registry;
    let completable = registry
        .completions(of)
        .iter()
        .find(|completable| completable.argument == argument)
        .ok_or_else(|| not_completable(&argument, &reference))?;
    if let Completed::Prompt(at) = of {
        check_given(&registry.prompts[at].arguments, &arguments)?;
    }

    let known = completable.values.as_deref();
    let known = known.map(|values| Completable::complete(values, &value));
    let target = Target::Completion { of, argument };
    if let Some(value) = known {
        return Ok(Route::Known { target, value });
    }
    let mut given = Object::new();
    given.insert("value", Json::String(value));
    given.insert("arguments", Json::Object(arguments));
    Ok(Route::Run {
        target,
        arguments: given,
    })
}

fn not_completable(argument: &str, reference: &Reference) -> Error {
    let error = Error::invalid_params("Argument does not support completion");
    let argument = Json::String(error::excerpt(argument).into_owned());
    let error = with_member(error, "argument", argument);
    with_member(
        error,
        "referenceType",
        Json::String(reference.name().to_owned()),
    )
}

/// A prompt knows its arguments, so none but those can have been given.
fn check_given(declared: &[String], given: &Object) -> Result<(), Error> {
    let mut unknown: Vec<_> = given
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !declared.iter().any(|declared| declared == name))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_unstable();
    let unknown = unknown
        .into_iter()
        .map(|name| Json::String(error::excerpt(name).into_owned()));
    let error = Error::invalid_params("Unknown prompt completion context arguments");
    Err(with_member(
        error,
        "unknown",
        Json::Array(unknown.collect()),
    ))
}
