//! Elicitation: a question to the person at the client, as a form or as a page to open.

use fluent_uri::Uri;

use super::form::Form;
use super::request::{Checked, RequestError, closed, is_number, is_string, is_strings, required};
use crate::json::{Json, Object};

#[derive(Clone, Copy)]
enum Mode {
    Form,
    Url,
}

/// The mode of a request; without one it is a form.
fn mode(params: &Object) -> Option<Mode> {
    match params.get("mode").map(Json::as_str) {
        None | Some(Some("form")) => Some(Mode::Form),
        Some(Some("url")) => Some(Mode::Url),
        Some(_) => None,
    }
}

pub(super) fn check(params: Option<&Json>) -> Checked {
    let Some(params) = params.and_then(Json::as_object) else {
        return Err(RequestError::new("must be an object"));
    };
    let Some(mode) = mode(params) else {
        return Err(RequestError::new("must be form or url").under("mode"));
    };
    match mode {
        Mode::Form => closed(params, &["mode", "message", "requestedSchema"])?,
        Mode::Url => closed(params, &["mode", "message", "url"])?,
    }
    required(params, "message", is_string, "must be a string")?;
    match mode {
        Mode::Form => match Form::read(params) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.under("requestedSchema")),
        },
        Mode::Url => {
            let reason = "must be an http or https URL with a host and without user information";
            required(params, "url", is_page, reason)
        }
    }
}

pub(super) fn need(params: &Object) -> [&'static str; 2] {
    match mode(params) {
        Some(Mode::Url) => ["elicitation", "url"],
        _ => ["elicitation", "form"],
    }
}

/// Only with an accepted form does it mean anything what a client sends along.
pub(super) fn check_response(params: Option<&Json>, response: &Object) -> Checked {
    match response.get("action").and_then(Json::as_str) {
        Some("decline" | "cancel") => Ok(()),
        Some("accept") => accepted(params, response.get("content")),
        _ => Err(RequestError::new("must be accept, decline or cancel").under("action")),
    }
}

fn accepted(params: Option<&Json>, content: Option<&Json>) -> Checked {
    let nothing = Object::new();
    let content = match content {
        None | Some(Json::Null) => &nothing,
        Some(Json::Object(content)) if content.iter().all(|(_, value)| is_flat(value)) => content,
        Some(_) => {
            let reason = "must be an object of strings, numbers, booleans and lists of strings";
            return Err(RequestError::new(reason).under("content"));
        }
    };
    let params = params.and_then(Json::as_object);
    match params.and_then(|params| Some((mode(params)?, params))) {
        Some((Mode::Form, params)) => {
            let checked = Form::read(params)?.check(content);
            checked.map_err(|error| error.under("content"))
        }
        Some((Mode::Url, _)) => Ok(()),
        None => Err(RequestError::new("answers no question")),
    }
}

fn is_flat(value: &Json) -> bool {
    matches!(value, Json::Null | Json::Bool(_))
        || is_string(value)
        || is_number(value)
        || is_strings(value)
}

/// Whether it is an address that a person can be sent to: RFC 3986 in full, so nothing in it is read
/// in one way here and in another by a browser.
fn is_page(url: &Json) -> bool {
    let Some(Ok(url)) = url.as_str().map(Uri::parse) else {
        return false;
    };
    let scheme = url.scheme().as_str();
    let is_web = ["http", "https"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web));
    is_web
        && url.authority().is_some_and(|authority| {
            !authority.has_userinfo()
                && !authority.host().is_empty()
                && authority.port_to_u16().is_ok()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_an_address_with_a_host_and_nothing_hidden() {
        for good in [
            "https://mcp.demo.example/connect/7f3c",
            "http://localhost:8000",
            "HTTPS://example.org/?q=%C3%A9#part",
            "https://[::1]:8443/",
        ] {
            assert!(is_page(&Json::String(good.to_owned())), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "/connect",
            "//example.org/",
            "ftp://example.org/",
            "javascript:alert(1)",
            "https:example.org",
            "https://",
            "https:///path",
            "https://:443/",
            "https://ada@example.org/",
            "https://ada:pw@example.org/",
            "https://@example.org/",
            "https://example.org/a b",
            " https://example.org/",
            "https://example.org/\n",
            "https://example.org/%zz",
            "https://example.org/%4",
            "https://example.org\\@evil.example/",
            "https://example.org:99999/",
            "https://example.org:port/",
        ] {
            assert!(!is_page(&Json::String(bad.to_owned())), "{bad}");
        }
        assert!(!is_page(&Json::Null));
    }
}
