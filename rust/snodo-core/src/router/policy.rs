//! Between finding what a request is about and holding it to its terms: the application's policy, where
//! there is one.

use super::resource::told;
use super::{Route, granted, unknown};
use crate::call::Target;
use crate::context::Context;
use crate::error::Error;
use crate::json::Object;
use crate::operation::{Completion, Reference};
use crate::outcome::{Outcome, Value};
use crate::policy::{Found, Hearing, Inquiry, Phase, Purpose};
use crate::runtime::Runtime;

/// To the policy, or on without one.
pub(super) fn admit<'a>(
    runtime: &'a Runtime,
    context: &Context,
    found: Found,
) -> Result<Route<'a>, Error> {
    if !runtime.settings.authorized {
        return granted(runtime, context, found);
    }
    let inquiry = Inquiry::new(found, |of| runtime.registry.count(of));
    if inquiry.subjects.is_empty() {
        return visible(runtime, context, inquiry.found, &[]); // a list of nothing
    }
    Ok(Route::Run {
        target: Target::Policy(Box::new(inquiry)),
        arguments: Object::new(),
    })
}

/// Goes on where a policy was asked, with its decisions. An error it gave instead of them is a fault,
/// which is told as it is: a list that is empty for want of a policy would look like one that is.
pub(crate) fn decided<'a>(
    runtime: &'a Runtime,
    context: &Context,
    inquiry: Inquiry,
    outcome: &Outcome,
) -> Result<Route<'a>, Error> {
    let decisions = match &outcome.value {
        Value::Decisions(decisions) if decisions.len() == inquiry.subjects.len() => decisions,
        Value::Error(fault) => return Err(fault.clone()),
        _ => return Err(Target::Policy(Box::new(inquiry)).invalid_result()),
    };
    if inquiry.phase == Phase::Discovery {
        let allowed: Vec<_> = decisions.iter().map(Result::is_ok).collect();
        return visible(runtime, context, inquiry.found, &allowed);
    }
    match decisions
        .iter()
        .find_map(|decision| decision.as_ref().err())
    {
        None => granted(runtime, context, inquiry.found),
        Some(refusal) => refused(runtime, inquiry.found, refusal),
    }
}

fn visible<'a>(
    runtime: &'a Runtime,
    context: &Context,
    found: Found,
    allowed: &[bool],
) -> Result<Route<'a>, Error> {
    let Found::List { of, cursor } = found else {
        return Err(Error::internal("Internal error"));
    };
    let list = runtime.rendered(context.dialect).list(of);
    let cursor_bytes = runtime.settings.limits.cursor_bytes;
    let page = list.visible(allowed, cursor.as_deref(), cursor_bytes)?;
    Ok(Route::Written(page))
}

/// The policy's own words, or those that are said of what there is not.
fn refused<'a>(runtime: &Runtime, found: Found, refusal: &Error) -> Result<Route<'a>, Error> {
    let registry = &runtime.registry;
    let conceals = runtime.settings.conceals_refusals;
    Err(match found {
        // Of a URI that nobody owns one just never hears.
        Found::Resource { uri, purpose, .. } | Found::Template { uri, purpose, .. }
            if conceals && purpose != Purpose::Read =>
        {
            return Ok(told(purpose, uri, Hearing::Concealed));
        }
        Found::Resource {
            purpose: Purpose::Listen,
            ..
        }
        | Found::Template {
            purpose: Purpose::Listen,
            ..
        } => return Ok(Route::Heed(Hearing::Refused)),
        _ if !conceals => refusal.clone(),
        Found::Tool { at, .. } => unknown(runtime, "Unknown tool", &registry.tools[at].name, None),
        Found::Prompt { at, .. } => {
            unknown(runtime, "Unknown prompt", &registry.prompts[at].name, None)
        }
        Found::Resource { uri, .. } | Found::Template { uri, .. } => {
            Error::resource_not_found(&uri)
        }
        Found::Completion {
            completion: Completion { of, .. },
            ..
        } => unknown_reference(&of),
        Found::List { .. } => refusal.clone(),
    })
}

/// Nothing has the name or the text whose argument is to be completed.
pub(super) fn unknown_reference(of: &Reference) -> Error {
    match of {
        Reference::Prompt(name) => {
            let name = crate::error::excerpt(name);
            Error::invalid_params(format!("Unknown completion prompt: {name}"))
        }
        Reference::Template(text) => {
            Error::invalid_params("Unknown completion resource template").with_uri(text)
        }
    }
}
