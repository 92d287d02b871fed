//! The reserved `_meta` keys: their names, typed readers, the key grammar, trace context.
//!
//! What a revision demands of them is the dialect's business.

use std::borrow::Cow;

use crate::context::{Header, Headers};
use crate::json::{Json, Object};

/// The protocol revision a request is made under.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The server's name and version, on results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// From which level on the client wants log messages.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Where progress is to be reported.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// Which subscription a message belongs to: the id of the request that opened it.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// W3C Trace Context: the caller's position in a trace.
pub const TRACEPARENT: &str = "traceparent";
/// W3C Trace Context: what vendors add to it.
pub const TRACESTATE: &str = "tracestate";
/// W3C Baggage.
pub const BAGGAGE: &str = "baggage";

/// The levels of log messages, as syslog has them.
pub const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Whether a key follows the grammar of `_meta` keys: an optional prefix of labels with a slash
/// behind it, then a name, which may be empty.
pub fn is_key(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((prefix, name)) if prefix.split('.').all(is_label) => name,
        Some(_) => return false,
        None => key,
    };
    let name = name.as_bytes();
    let (Some(first), Some(last)) = (name.first(), name.last()) else {
        return true;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_label(label: &str) -> bool {
    let label = label.as_bytes();
    label.first().is_some_and(u8::is_ascii_alphabetic)
        && label.last().is_some_and(u8::is_ascii_alphanumeric)
        && label
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Where a request stands in a distributed trace. Malformed parts are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace<'a> {
    /// Version, trace id, parent id and flags.
    pub traceparent: Option<Cow<'a, str>>,
    /// Only with a valid parent.
    pub tracestate: Option<Cow<'a, str>>,
    /// Independent of the trace.
    pub baggage: Option<Cow<'a, str>>,
}

impl<'a> Trace<'a> {
    /// Reads the three keys of a request's `_meta`. What it is silent about is taken from the headers of
    /// the same names, the trace as one.
    pub fn read(meta: &'a Object, headers: Option<&'a dyn Headers>) -> Self {
        let said = |key| meta.get(key).and_then(Json::as_str).map(Cow::Borrowed);
        let sent = |key| sent(headers?, key);
        let is_said = meta.contains(TRACEPARENT);
        let traced = |key| if is_said { said(key) } else { sent(key) };
        let traceparent = traced(TRACEPARENT).filter(|value| is_traceparent(value));
        let has_parent = |_: &Cow<'_, str>| traceparent.is_some();
        let tracestate = traced(TRACESTATE)
            .filter(has_parent)
            .filter(|value| is_tracestate(value));
        let baggage = if meta.contains(BAGGAGE) {
            said(BAGGAGE)
        } else {
            sent(BAGGAGE)
        };
        Self {
            tracestate,
            traceparent,
            baggage: baggage.filter(|value| is_baggage(value)),
        }
    }
}

/// What a header says. One of several members may come in parts (RFC 9110, section 5.3), which are read as
/// one, as W3C Trace Context (section 3.3) and W3C Baggage (section 3) have it; there is one parent only.
fn sent<'a>(headers: &'a dyn Headers, key: &str) -> Option<Cow<'a, str>> {
    match headers.get(key) {
        Header::One(value) => std::str::from_utf8(value).ok().map(Cow::Borrowed),
        Header::Repeated if key != TRACEPARENT => {
            let all = headers.all();
            let parts = all.iter().filter(|(name, _)| name == key);
            let parts = parts.map(|(_, value)| value.trim());
            let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
            Some(Cow::Owned(parts.join(",")))
        }
        Header::Missing | Header::Repeated => None,
    }
}

/// W3C Trace Context, section 3.2: later versions may append fields.
fn is_traceparent(value: &str) -> bool {
    let bytes = value.as_bytes();
    if !(55..=512).contains(&bytes.len()) || (bytes.len() > 55 && bytes[55] != b'-') {
        return false;
    }
    let hex = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|byte| *byte == b'0');
    let version_fits = bytes.len() == 55 || &bytes[..2] != b"00";
    version_fits
        && &bytes[..2] != b"ff"
        && [2, 35, 52].iter().all(|at| bytes[*at] == b'-')
        && hex(0..2)
        && hex(3..35)
        && !zero(3..35)
        && hex(36..52)
        && !zero(36..52)
        && hex(53..55)
        && bytes[55..].iter().all(u8::is_ascii_graphic)
}

/// W3C Trace Context, section 3.3.
fn is_tracestate(value: &str) -> bool {
    if value.len() > 512 {
        return false;
    }
    let mut keys = Vec::new();
    for member in value
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']))
    {
        if member.is_empty() {
            continue;
        }
        let Some((key, content)) = member.split_once('=') else {
            return false;
        };
        if !is_tracestate_key(key) || !is_tracestate_value(content) || keys.contains(&key) {
            return false;
        }
        keys.push(key);
    }
    (1..=32).contains(&keys.len())
}

fn is_tracestate_key(key: &str) -> bool {
    let part = |text: &str, longest: usize, digit_first: bool| {
        let bytes = text.as_bytes();
        bytes.len() <= longest
            && bytes.first().is_some_and(|first| {
                first.is_ascii_lowercase() || (digit_first && first.is_ascii_digit())
            })
            && bytes.iter().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(byte)
            })
    };
    match key.split_once('@') {
        Some((tenant, system)) => part(tenant, 241, true) && part(system, 14, false),
        None => part(key, 256, false),
    }
}

fn is_tracestate_value(value: &str) -> bool {
    (1..=256).contains(&value.len())
        && value
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=')
}

/// W3C Baggage, section 3: `key=value;property` members, values percent-encoded.
fn is_baggage(value: &str) -> bool {
    if value.len() > 8192 {
        return false;
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_octet = |byte: u8| matches!(byte, b'!'..=b'~') && !b"\",\\".contains(&byte);
    let mut members = 0;
    for member in value.split(',') {
        members += 1;
        let Some((key, content)) = member.split_once('=') else {
            return false;
        };
        let (key, content) = (
            key.trim_matches([' ', '\t']),
            content.trim_matches([' ', '\t']),
        );
        let spaced = |byte: u8| is_octet(byte) || byte == b' ' || byte == b'\t';
        if key.is_empty() || !key.bytes().all(is_token) || !content.bytes().all(spaced) {
            return false;
        }
    }
    members <= 180
}

/// What is wrong with an `Implementation` object (`clientInfo`, `serverInfo`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImplementationError {
    /// `name` or `version` is not there, or not a string.
    #[error("requires string name and version fields")]
    NameAndVersion,
    /// This optional member is not a string.
    #[error("{0} must be a string")]
    NotString(&'static str),
    /// `websiteUrl` is not an absolute URI.
    #[error("websiteUrl must be a URI string")]
    Website,
    /// `icons` is wrong.
    #[error(transparent)]
    Icon(#[from] IconError),
}

/// What is wrong with a list of icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IconError {
    /// `icons` is not a list.
    #[error("icons must be a list")]
    NotList,
    /// An entry is not an object whose `src` is an absolute URI.
    #[error("icon src must be a URI string")]
    Source,
    /// `mimeType` is not a string.
    #[error("icon mimeType must be a string")]
    MimeType,
    /// `sizes` is not a list of strings.
    #[error("icon sizes must be a list of strings")]
    Sizes,
    /// `theme` is neither `light` nor `dark`.
    #[error("icon theme must be light or dark")]
    Theme,
}

/// Checks an `Implementation` object.
pub fn check_implementation(info: &Object) -> Result<(), ImplementationError> {
    let text = |key| info.get(key).map(|value| value.as_str().is_some());
    if text("name") != Some(true) || text("version") != Some(true) {
        return Err(ImplementationError::NameAndVersion);
    }
    for key in ["title", "description"] {
        if text(key) == Some(false) {
            return Err(ImplementationError::NotString(key));
        }
    }
    if info
        .get("websiteUrl")
        .is_some_and(|url| !url.as_str().is_some_and(is_absolute_uri))
    {
        return Err(ImplementationError::Website);
    }
    match info.get("icons") {
        None => Ok(()),
        Some(icons) => Ok(check_icons(icons)?),
    }
}

pub(crate) fn check_icons(icons: &Json) -> Result<(), IconError> {
    let Json::Array(icons) = icons else {
        return Err(IconError::NotList);
    };
    for icon in icons {
        let icon = icon.as_object().ok_or(IconError::Source)?;
        if !icon
            .get("src")
            .and_then(Json::as_str)
            .is_some_and(is_absolute_uri)
        {
            return Err(IconError::Source);
        }
        if icon
            .get("mimeType")
            .is_some_and(|value| value.as_str().is_none())
        {
            return Err(IconError::MimeType);
        }
        match icon.get("sizes") {
            None => {}
            Some(Json::Array(sizes)) if sizes.iter().all(|size| size.as_str().is_some()) => {}
            Some(_) => return Err(IconError::Sizes),
        }
        match icon.get("theme").map(Json::as_str) {
            None | Some(Some("light" | "dark")) => {}
            Some(_) => return Err(IconError::Theme),
        }
    }
    Ok(())
}

/// Whether a text begins with a scheme and goes on without spaces or control characters.
pub fn is_absolute_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && !rest
            .chars()
            .any(|char| char.is_whitespace() || char.is_control())
}

/// What is wrong with a client's capabilities object, if anything: a member that is not an object.
pub fn check_client_capabilities(capabilities: &Object) -> Result<(), String> {
    let members = |name: &str, object: &Object, keys: Option<&[&str]>| {
        for (key, value) in object.iter() {
            if keys.is_none_or(|keys| keys.contains(&key)) && value.as_object().is_none() {
                return Err(format!(
                    "Client capability {name} has a member that is not an object"
                ));
            }
        }
        Ok(())
    };
    for (name, keys) in [
        ("roots", Some(&[] as &[&str])),
        ("sampling", Some(&["context", "tools"])),
        ("elicitation", Some(&["form", "url"])),
        ("experimental", None),
        ("extensions", None),
    ] {
        match capabilities.get(name) {
            None => {}
            Some(Json::Object(object)) => members(name, object, keys)?,
            Some(_) => return Err(format!("Client capability {name} must be an object")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        for good in [
            "",
            "a",
            "ok",
            "com.example/ok",
            "com.example/",
            "a-b.c1/x_y.z-1",
            "1a",
        ] {
            assert!(is_key(good), "{good}");
        }
        for bad in [
            "1bad.x/y", "a b", "com..x/y", "/x", "a-/x", "-a", "a.", "a/b/c", "é", "a/ ",
        ] {
            assert!(!is_key(bad), "{bad}");
        }
    }

    fn trace(members: &[(&str, &str)]) -> Vec<bool> {
        let mut meta = Object::new();
        for (key, value) in members {
            meta.insert(*key, Json::String((*value).to_owned()));
        }
        let trace = Trace::read(&meta, None);
        [trace.traceparent, trace.tracestate, trace.baggage]
            .map(|part| part.is_some())
            .to_vec()
    }

    const PARENT: &str = "00-11111111111111111111111111111111-2222222222222222-01";

    #[test]
    fn a_valid_trace_is_read_and_an_invalid_one_is_absent() {
        assert_eq!(
            trace(&[
                ("traceparent", PARENT),
                ("tracestate", "a=1, b@c=2"),
                ("baggage", "k=v;p")
            ]),
            [true, true, true]
        );
        let ff = PARENT.replacen("00", "ff", 1);
        let zero = PARENT.replace('1', "0");
        let longer = format!("{PARENT}-x");
        for bad in ["junk", &PARENT.to_uppercase()[..54], &ff, &zero, &longer] {
            assert_eq!(
                trace(&[("traceparent", bad), ("tracestate", "a=1")]),
                [false; 3],
                "{bad}"
            );
        }
        let future = format!("01{}-x", &PARENT[2..]);
        assert!(trace(&[("traceparent", &future)])[0]);
        for bad in ["", "a", "A=1", "a=1,a=2", "a=", "a=b=c"] {
            assert!(
                !trace(&[("traceparent", PARENT), ("tracestate", bad)])[1],
                "{bad}"
            );
        }
    }

    #[test]
    fn a_header_of_several_members_may_come_in_parts() {
        let long = format!("long={}", "x".repeat(250));
        let longer = long.replacen("long", "more", 1);
        for (states, read) in [
            (&["a=1"][..], Some("a=1")),
            (&["a=1, b@c=2", " d=3 "], Some("a=1, b@c=2,d=3")),
            (&["a=1", " ", "b=2", ""], Some("a=1,b=2")),
            (&["a=1", "a=2"], None),
            (&["a=1", "\u{e9}"], None),
            (&[&long, &longer, "a=1"], None),
        ] {
            let mut headers = vec![(TRACEPARENT.to_owned(), PARENT.into())];
            for state in states {
                headers.push((TRACESTATE.to_owned(), state.as_bytes().to_vec()));
            }
            let meta = Object::new();
            let trace = Trace::read(&meta, Some(&headers));
            assert_eq!(trace.tracestate.as_deref(), read, "{states:?}");
        }
        let mut headers = vec![("baggage".to_owned(), b"a=1".to_vec()); 2];
        headers.insert(1, ("baggage".to_owned(), Vec::new()));
        let meta = Object::new();
        let baggage = Trace::read(&meta, Some(&headers)).baggage;
        assert_eq!(baggage.as_deref(), Some("a=1,a=1"));
        headers = vec![(TRACEPARENT.to_owned(), PARENT.into()); 2];
        headers.push((TRACESTATE.to_owned(), b"a=1".to_vec()));
        assert_eq!(Trace::read(&meta, Some(&headers)), Trace::default());
    }

    #[test]
    fn absolute_uris_have_a_scheme() {
        for good in ["https://a.example/x", "data:image/png;base64,AA==", "urn:x"] {
            assert!(is_absolute_uri(good));
        }
        for bad in ["", "a", "/x", "https:", "1a:b", "https://a b"] {
            assert!(!is_absolute_uri(bad));
        }
    }
}
