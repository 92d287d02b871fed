//! Who answers a read: the one direct resource or template that the URI leads to. Where there is a
//! policy, whoever wants to hear of a URI is led the same way.

use super::{Route, policy};
use crate::call::{Search, Target};
use crate::context::Context;
use crate::error::Error;
use crate::json::{self, Json, Object};
use crate::limits::Limits;
use crate::operation::Change;
use crate::outcome::{Outcome, Value};
use crate::policy::{Found, Hearing, Purpose};
use crate::registry::RESERVED_NAMES;
use crate::runtime::Runtime;

/// Looks for the owner of a URI.
pub(super) fn find<'a>(
    runtime: &'a Runtime,
    context: &Context,
    uri: String,
    purpose: Purpose,
) -> Result<Route<'a>, Error> {
    match runtime.registry.find_resource(&uri) {
        Some(at) => policy::admit(runtime, context, Found::Resource { at, uri, purpose }),
        None => find_template(runtime, context, uri, purpose),
    }
}

/// Whether a listener may hear of a URI.
pub(crate) fn listen<'a>(
    runtime: &'a Runtime,
    context: &Context,
    uri: String,
) -> Result<Route<'a>, Error> {
    find(runtime, context, uri, Purpose::Listen)
}

pub(super) fn read<'a>(
    runtime: &'a Runtime,
    context: &Context,
    at: usize,
    uri: String,
) -> Route<'a> {
    match &runtime.rendered(context.dialect).reads[at] {
        Some(result) => Route::Ready(result),
        None => Route::Run {
            target: Target::Resource { at, uri },
            arguments: Object::new(),
        },
    }
}

/// Whoever wants to hear of a URI does from now on, or seems to.
pub(super) fn told<'a>(purpose: Purpose, uri: String, hearing: Hearing) -> Route<'a> {
    match purpose {
        Purpose::Listen => Route::Heed(hearing),
        Purpose::Read | Purpose::Watch => Route::Settle(Change::Watch {
            uri,
            vetted: hearing.is_vetted(),
        }),
    }
}

/// No direct resource has this URI, and none that a template matches too can be registered: whatever
/// matches, it is a template, and exactly one has to.
fn find_template<'a>(
    runtime: &'a Runtime,
    context: &Context,
    uri: String,
    purpose: Purpose,
) -> Result<Route<'a>, Error> {
    let found = {
        let mut matching = runtime.registry.matching(&uri);
        let found = matching.next();
        if matching.next().is_some() {
            return Err(ambiguous());
        }
        found
    };
    search(runtime, context, uri, found, 0, purpose)
}

/// The next call: the templates that match by code of their own are asked one after the other, from
/// `next` on; then it goes on with the one that was found.
fn search<'a>(
    runtime: &'a Runtime,
    context: &Context,
    uri: String,
    found: Option<(usize, Object)>,
    next: usize,
    purpose: Purpose,
) -> Result<Route<'a>, Error> {
    if let Some(&at) = runtime.registry.own_matchers().get(next) {
        let search = Search {
            at,
            uri,
            found,
            next: next + 1,
            purpose,
        };
        return Ok(Route::Run {
            target: Target::Matcher(Box::new(search)),
            arguments: Object::new(),
        });
    }
    match found {
        Some((at, variables)) => {
            let found = Found::Template {
                at,
                uri,
                variables,
                purpose,
            };
            policy::admit(runtime, context, found)
        }
        None if purpose == Purpose::Read => Err(Error::resource_not_found(&uri)),
        // What nobody owns nobody can refuse.
        None => Ok(told(purpose, uri, Hearing::Unowned)),
    }
}

/// Goes on where a matcher was asked, with its answer.
pub(crate) fn resume<'a>(
    runtime: &'a Runtime,
    context: &Context,
    search_so_far: Search,
    outcome: &Outcome,
) -> Result<Route<'a>, Error> {
    let Search {
        at,
        uri,
        found,
        next,
        purpose,
    } = search_so_far;
    let found = match (found, matched(&outcome.value)?) {
        (Some(_), Some(_)) => return Err(ambiguous()),
        (found, None) => found,
        (None, Some(variables)) => Some((at, variables)),
    };
    search(runtime, context, uri, found, next, purpose)
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
