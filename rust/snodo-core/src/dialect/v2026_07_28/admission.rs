//! What a request is held to before it is read: its version, its `_meta`, its headers.

use std::borrow::Cow;

use super::methods::{NOTIFICATIONS, find};
use super::{VERSION, headers, params, unsupported_version};
use crate::context::{Header, Headers};
use crate::error::Error;
use crate::extension::Extensions;
use crate::json::{Json, Object};
use crate::limits::Limits;
use crate::meta::{self, ImplementationError};
use crate::mrtr;
use crate::runtime::Settings;

/// Header and body name the same version, and it is this one. MCP 2026-07-28, Streamable HTTP,
/// "order of checks".
pub(super) fn check_version(
    settings: &Settings,
    headers: Option<&dyn Headers>,
    method: &str,
    params: &Object,
) -> Result<(), Error> {
    let meta = params.get("_meta");
    let named = meta
        .and_then(Json::as_object)
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION));
    let header = match headers {
        None => None,
        Some(headers) => match headers.get(headers::PROTOCOL_VERSION) {
            Header::Missing if named.is_none() => {
                return Err(headers::missing_version(settings.versions()));
            }
            _ => Some(headers::required(headers, headers::PROTOCOL_VERSION)?),
        },
    };
    let Some(named) = named else {
        // The body says nothing, but the header may say that the client is of another era.
        return Err(match header {
            Some(header) if header != VERSION => {
                let params_version = params.get("protocolVersion").and_then(Json::as_str);
                let requested = params_version.filter(|_| method == "initialize");
                unsupported_version(requested.unwrap_or(header), &settings.dialects, true)
            }
            _ => missing_meta(meta),
        });
    };
    let Json::String(named) = named else {
        return Err(Error::invalid_params(format!(
            "{} metadata must be a string",
            meta::PROTOCOL_VERSION
        )));
    };
    if let Some(header) = header.filter(|header| header != named) {
        let mut data = Object::new();
        data.insert("header", Json::String(header.to_owned()));
        data.insert("body", Json::String(named.clone()));
        let error = Error::header("Protocol header does not match request metadata");
        return Err(error.with_data(Json::Object(data)));
    }
    if named == VERSION {
        Ok(())
    } else {
        Err(unsupported_version(named, &settings.dialects, false))
    }
}

fn missing_meta(meta: Option<&Json>) -> Error {
    Error::invalid_params(match meta {
        None => Cow::Borrowed("Required request _meta is missing"),
        Some(Json::Object(_)) => Cow::Owned(format!(
            "Missing required {} metadata",
            meta::PROTOCOL_VERSION
        )),
        Some(_) => Cow::Borrowed("_meta must be an object"),
    })
}

/// Everything in `_meta` but the version.
pub(super) fn check_meta(meta: &Object, limits: &Limits) -> Result<(), Error> {
    if !meta.iter().all(|(key, _)| meta::is_key(key)) {
        let text = "_meta contains an invalid key or non-JSON value";
        return Err(Error::invalid_params(text));
    }
    params::check_progress_token(meta, limits)?;
    match meta.get(meta::LOG_LEVEL).map(Json::as_str) {
        None => {}
        Some(Some(level)) if meta::LOG_LEVELS.contains(&level) => {}
        Some(_) => return Err(Error::invalid_params("Invalid MCP request log level")),
    }
    if let Some(info) = meta.get(meta::CLIENT_INFO) {
        let checked = info.as_object().ok_or(ImplementationError::NameAndVersion);
        checked
            .and_then(meta::check_implementation)
            .map_err(client_info_error)?;
    }
    let Some(Json::Object(capabilities)) = meta.get(meta::CLIENT_CAPABILITIES) else {
        return Err(Error::invalid_params(
            "Missing required client capabilities metadata",
        ));
    };
    meta::check_client_capabilities(capabilities).map_err(Error::invalid_params)
}

fn client_info_error(error: ImplementationError) -> Error {
    Error::invalid_params(match error {
        ImplementationError::NameAndVersion => {
            "Client info must include string name and version".to_owned()
        }
        error => format!("Client info {error}"),
    })
}

pub(super) fn check_headers(
    headers: &dyn Headers,
    method: &str,
    extensions: Option<Extensions<'_>>,
    params: &Object,
) -> Result<(), Error> {
    headers::check(headers, headers::METHOD, method, false)?;
    if let Some(known) = find(method) {
        return match known.mirrored.and_then(|parameter| params.get(parameter)) {
            Some(Json::String(name)) => headers::check(headers, headers::NAME, name, true),
            // What is wrong with the body is better told as that.
            _ => Ok(()),
        };
    }
    let own = extensions.and_then(|extensions| {
        let (at, method) = extensions.method(method)?;
        Some(&extensions.all[at].methods[method])
    });
    let Some((own, (header, parameter))) = own.and_then(|own| Some((own, own.mirrored.as_ref()?)))
    else {
        return Ok(());
    };
    if let Some(Json::String(value)) = params.get(parameter) {
        return headers::check(headers, header, value, true);
    }
    // Who goes by the header is not to be told anything else.
    let refused = own
        .schema
        .as_ref()
        .map(|schema| schema.check_arguments(params));
    let Some(Err(refused)) = refused else {
        return Err(Error::invalid_params(format!(
            "{parameter} must be a string, which the header {header} repeats"
        )));
    };
    Err(Error::invalid_params(refused))
}

/// A notification may come without these headers, but they may not contradict its body.
pub(super) fn check_notification_headers(
    headers: &dyn Headers,
    method: &str,
    params: &Object,
) -> Result<(), Error> {
    if headers.get(headers::METHOD) != Header::Missing {
        headers::check(headers, headers::METHOD, method, false)?;
    }
    let meta = params.get("_meta").and_then(Json::as_object);
    let named = meta
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION))
        .and_then(Json::as_str);
    match (headers.get(headers::PROTOCOL_VERSION), named) {
        (Header::Missing, _) | (Header::One(_), None) => Ok(()),
        (Header::Repeated, _) => Err(headers::missing(headers::PROTOCOL_VERSION)),
        (Header::One(_), Some(named)) => {
            headers::check(headers, headers::PROTOCOL_VERSION, named, false)
        }
    }
}

pub(super) fn unknown_method(method: &str) -> Error {
    if NOTIFICATIONS.contains(&method) {
        let text = format!("{method} must be a notification, received request");
        return Error::invalid_request(text);
    }
    if mrtr::METHODS.contains(&method) {
        let text = format!("{method} is only valid as an embedded MRTR input request");
        return Error::invalid_request(text);
    }
    Error::method_not_found(method)
}
