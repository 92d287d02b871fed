//! Who answers a read: the one direct resource or template that the URI leads to.

use super::Route;
use crate::call::{Search, Target};
use crate::dialect::Rendered;
use crate::error::Error;
use crate::json::{self, Json, Object};
use crate::limits::Limits;
use crate::outcome::{Outcome, Value};
use crate::registry::RESERVED_NAMES;
use crate::runtime::Runtime;

pub(super) fn read<'a>(
    runtime: &Runtime,
    rendered: &'a Rendered,
    uri: String,
) -> Result<Route<'a>, Error> {
    let Some(at) = runtime.registry.find_resource(&uri) else {
        return read_template(runtime, uri);
    };
    Ok(match &rendered.reads[at] {
        Some(result) => Route::Ready(result),
        None => Route::Run {
            target: Target::Resource { at, uri },
            arguments: Object::new(),
        },
    })
}

/// No direct resource has this URI, and none that a template matches too can be registered: whatever
/// matches, it is a template, and exactly one has to.
fn read_template<'a>(runtime: &Runtime, uri: String) -> Result<Route<'a>, Error> {
    let found = {
        let mut matching = runtime.registry.matching(&uri);
        let found = matching.next();
        if matching.next().is_some() {
            return Err(ambiguous());
        }
        found
    };
    let (target, arguments) = search(runtime, uri, found, 0)?;
    Ok(Route::Run { target, arguments })
}

/// The next call: the templates that match by code of their own are asked one after the other, from
/// `next` on; then the one that was found is read.
fn search(
    runtime: &Runtime,
    uri: String,
    found: Option<(usize, Object)>,
    next: usize,
) -> Result<(Target, Object), Error> {
    if let Some(&at) = runtime.registry.own_matchers().get(next) {
        let search = Search {
            at,
            uri,
            found,
            next: next + 1,
        };
        return Ok((Target::Matcher(Box::new(search)), Object::new()));
    }
    match found {
        Some((at, variables)) => Ok((Target::Template { at, uri }, variables)),
        None => Err(Error::resource_not_found(&uri)),
    }
}

/// Goes on where a matcher was asked, with its answer.
pub(crate) fn resume(
    runtime: &Runtime,
    search_so_far: Search,
    outcome: &Outcome,
) -> Result<(Target, Object), Error> {
    let Search {
        at,
        uri,
        found,
        next,
    } = search_so_far;
    let found = match (found, matched(&outcome.value)?) {
        (Some(_), Some(_)) => return Err(ambiguous()),
        (found, None) => found,
        (None, Some(variables)) => Some((at, variables)),
    };
    search(runtime, uri, found, next)
}

/// What a matcher's answer binds: `true` nothing, an object of strings itself; `false` does not match.
fn matched(value: &Value) -> Result<Option<Object>, Error> {
    let failed = || Error::internal("Resource matcher failed");
    let Value::Structured(answer) = value else {
        return Err(failed());
    };
    match json::parse(answer, &Limits::default()) {
        Ok(Json::Bool(matches)) => Ok(matches.then(Object::new)),
        Ok(Json::Object(variables))
            if variables.iter().all(|(name, value)| {
                value.as_str().is_some() && !RESERVED_NAMES.contains(&name)
            }) =>
        {
            Ok(Some(variables))
        }
        _ => Err(failed()),
    }
}

fn ambiguous() -> Error {
    Error::internal("Multiple resource routes matched the requested URI")
}
