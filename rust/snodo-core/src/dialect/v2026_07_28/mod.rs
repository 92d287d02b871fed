//! The stateless revision: every request carries its own terms in `_meta`, HTTP repeats some of
//! them in headers, and every result says what kind it is and who gave it.

mod admission;
mod methods;
mod render;
mod results;
mod subscription;

use std::borrow::Cow;

use super::{Claim, Dialect, Frame, List, Notification, Opening, Rendered, Request};
use super::{headers, notices, params, shape, unsupported_version};
use crate::call::Target;
use crate::context::{Arrival, Context, Headers};
use crate::envelope::Id;
use crate::error::{Error, code};
use crate::json::{Json, Object};
use crate::meta;
use crate::mrtr;
use crate::notice::{Level, Notice};
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::registry::Registry;
use crate::runtime::{Runtime, Settings};
use crate::schema::Mirror;
use crate::subscription::{Event, Filter};
use admission::{
    check_headers, check_meta, check_notification_headers, check_version, unknown_method,
};
pub(super) use methods::name_of;
use methods::{CANCELLED, Method, NOTIFICATIONS, find};

/// MCP 2026-07-28.
#[derive(Debug)]
pub struct V2026_07_28;

const VERSION: &str = "2026-07-28";

impl Dialect for V2026_07_28 {
    fn version(&self) -> &'static str {
        VERSION
    }

    fn claim(&self, opening: &Opening<'_>) -> Claim {
        let named = [opening.body_version(), opening.header_version()];
        if named.contains(&Some(VERSION)) {
            return Claim::Exact;
        }
        match named {
            [None, None] if opening.method != CANCELLED && find(opening.method).is_none() => {
                Claim::No
            }
            _ => Claim::Fallback,
        }
    }

    fn admit(
        &'static self,
        runtime: &Runtime,
        request: Request,
    ) -> Result<(Context, Object), Error> {
        let Request {
            id,
            method,
            params,
            mut arrival,
        } = request;
        // A request that brings its own terms is of no session.
        (arrival.peer, arrival.log_level, arrival.can_ask) = (None, None, false);
        let mut params = params.unwrap_or_default();
        let headers = arrival.headers.as_deref();

        check_version(&runtime.settings, headers, &method, &params)?;
        let Some(Json::Object(meta)) = params.take("_meta") else {
            return Err(Error::invalid_params("_meta must be an object"));
        };
        check_meta(&meta, &runtime.settings.limits)?;
        if let Some(headers) = headers {
            check_headers(headers, &method, runtime.extensions(self), &params)?;
        }
        let name = match find(&method) {
            Some(known) if known.feature.is_none_or(|feature| runtime.offers(feature)) => {
                known.name
            }
            Some(_) => return Err(Error::method_not_found(&method)),
            None => extended(runtime, &method).ok_or_else(|| unknown_method(&method))?,
        };

        let context = Context {
            dialect: &V2026_07_28,
            id,
            method: name,
            arrival,
            log_level: meta
                .get(meta::LOG_LEVEL)
                .and_then(Json::as_str)
                .and_then(Level::named),
            meta,
            input_responses: None,
            request_state: None,
            round: 0,
            extensions: None,
            carried: None,
            time: None,
        };
        Ok((context, params))
    }

    fn operation(&self, context: &mut Context, mut params: Object) -> Result<Operation, Error> {
        let known = find(context.method).filter(|known| known.operation.is_some());
        let Some(Method {
            rounds,
            operation: Some(operation),
            ..
        }) = known
        else {
            return Err(Error::method_not_found(context.method));
        };
        if *rounds {
            context.input_responses = mrtr::input_responses(&mut params)?;
            context.request_state = mrtr::request_state(&mut params)?;
        }
        operation(params)
    }

    fn notification(
        &self,
        settings: &Settings,
        method: &str,
        params: Option<Object>,
        arrival: &Arrival,
    ) -> Result<Notification, Error> {
        let mut params = params.unwrap_or_default();
        if let Some(headers) = arrival.headers.as_deref() {
            check_notification_headers(headers, method, &params)?;
        }
        if method != CANCELLED {
            return Ok(Notification::Ignored);
        }
        let id = params
            .take("requestId")
            .and_then(|id| Id::from_json(id, &settings.limits));
        Ok(id.map_or(Notification::Ignored, Notification::Cancel))
    }

    fn check_mirrors(
        &self,
        mirrors: &[Mirror],
        arguments: &Object,
        headers: &dyn Headers,
    ) -> Result<(), Error> {
        headers::check_mirrors(mirrors, arguments, headers)
    }

    fn render(&self, settings: &Settings, registry: &Registry) -> Rendered {
        render::render(settings, registry)
    }

    fn shape(
        &self,
        runtime: &Runtime,
        context: &Context,
        target: &Target,
        outcome: &Outcome,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        results::write(runtime, context, target, outcome, out)
    }

    fn notice(&self, context: &Context, notice: &Notice, out: &mut Vec<u8>) {
        notices::write(context, notice, out);
    }

    fn acknowledge(&self, id: &Id, filter: &Filter) -> Vec<u8> {
        subscription::acknowledge(id, filter)
    }

    fn tell(&self, id: &Id, event: &Event) -> Vec<u8> {
        subscription::tell(id, event)
    }

    fn tell_own(
        &self,
        id: &Id,
        method: &str,
        params: &Object,
        metadata: &Object,
    ) -> Option<Vec<u8>> {
        let is_own = method.starts_with("notifications/") && !NOTIFICATIONS.contains(&method);
        is_own.then(|| subscription::tell_own(id, method, params, metadata))
    }

    fn listened(&self, runtime: &Runtime, id: &Id) -> Vec<u8> {
        subscription::listened(id, &runtime.rendered(self).meta)
    }

    fn knows(&self, method: &str) -> bool {
        find(method).is_some()
    }

    fn extends(&self) -> bool {
        true
    }

    fn shape_error<'a>(&self, error: &'a Error) -> Cow<'a, Error> {
        // The protocol keeps -32020 to -32099 to itself, and two codes of older revisions have no
        // meaning here any more: nobody may learn a wrong one from us.
        let defined = [
            code::HEADER_MISMATCH,
            code::MISSING_CAPABILITY,
            code::UNSUPPORTED_VERSION,
        ];
        let reserved = (-32099..=-32020).contains(&error.code) || error.code == -32002;
        if reserved && !defined.contains(&error.code) {
            return Cow::Owned(Error::internal("Internal error"));
        }
        Cow::Borrowed(error)
    }
}

/// The name of a method that an extension adds.
fn extended(runtime: &Runtime, method: &str) -> Option<&'static str> {
    let extensions = runtime.extensions(&V2026_07_28)?;
    let (at, method) = extensions.method(method)?;
    Some(extensions.all[at].methods[method].name)
}
