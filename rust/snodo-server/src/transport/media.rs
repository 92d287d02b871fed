//! `Content-Type`, `Content-Encoding` and `Accept`: whether both sides speak JSON.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};

/// Whether the body says it is JSON. Parameters such as a charset are let pass: JSON is UTF-8.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    if value == "application/json" {
        return true;
    }
    let kind = value
        .as_bytes()
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Whether the body is sent as it is. No content coding is undone here: unpacking needs bounds of its
/// own.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().all(|value| {
        value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"identity")
    })
}

/// Why a body is not taken whatever is in it.
pub(crate) fn unsupported(headers: &HeaderMap) -> Option<&'static str> {
    if !is_json(headers) {
        return Some("Content-Type must be application/json");
    }
    (!is_plain(headers)).then_some("Content-Encoding must be identity")
}

/// Whether the client can take JSON: it says so, allows anything of the kind, or says nothing.
/// `text/*` is nothing of the kind by the letter, but only clients that care for nothing send it.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    !headers.contains_key(ACCEPT)
        || accepts(
            headers,
            &["application/json", "*/*", "application/*", "text/*"],
        )
}

/// Whether the client says that it can take events.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    accepts(headers, &["text/event-stream", "*/*", "text/*"])
}

/// Whether `Accept` has one of these media ranges.
fn accepts(headers: &HeaderMap, ranges: &[&str]) -> bool {
    headers.get_all(ACCEPT).iter().any(|value| {
        // What the protocol tells every client to send.
        value == "application/json, text/event-stream"
            || value
                .as_bytes()
                .split(|byte| *byte == b',')
                .any(|range| admits(range, ranges))
    })
}

/// Whether one media range of `Accept` is one of these, and not there to be excluded.
fn admits(range: &[u8], ranges: &[&str]) -> bool {
    let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let kind = parts.next().unwrap_or_default();
    let covered = ranges
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known.as_bytes()));
    covered && !parts.any(is_zero_weight)
}

/// `q=0`, `q=0.0` …: the range is named to be excluded.
fn is_zero_weight(parameter: &[u8]) -> bool {
    let [b'q' | b'Q', b'=', weight @ ..] = parameter else {
        return false;
    };
    weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &'static str, values: &[&'static str]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn content_types() {
        for (values, json) in [
            (&["application/json"][..], true),
            (&["Application/JSON"], true),
            (&["application/json; charset=utf-8"], true),
            (&["application/json;charset=UTF-8"], true),
            (&[" application/json "], true),
            (&["text/plain"], false),
            (&["application/jsonx"], false),
            (&["application/json-rpc"], false),
            (&[""], false),
            (&[], false),
            (&["application/json", "application/json"], false),
        ] {
            assert_eq!(
                is_json(&headers("content-type", values)),
                json,
                "{values:?}"
            );
        }
    }

    #[test]
    fn content_codings() {
        for (values, plain) in [
            (&[][..], true),
            (&["identity"], true),
            (&[" Identity "], true),
            (&["gzip"], false),
            (&["identity, gzip"], false),
            (&["identity", "br"], false),
            (&[""], false),
        ] {
            assert_eq!(
                is_plain(&headers("content-encoding", values)),
                plain,
                "{values:?}"
            );
        }
    }

    #[test]
    fn accepted_types() {
        for (values, json) in [
            (&[][..], true),
            (&["application/json, text/event-stream"], true),
            (&["text/event-stream,application/json"], true),
            (&["text/event-stream", "application/json"], true),
            (&["APPLICATION/JSON;q=0.1"], true),
            (&["application/json"], true),
            (&["*/*"], true),
            (&["text/html, */*;q=0.8"], true),
            (&["application/*"], true),
            (&["text/*"], true),
            (&["text/event-stream"], false),
            (&["text/html"], false),
            (&["application/json;q=0"], false),
            (&["application/json; q=0.000, text/plain"], false),
            (&["application/jsonx"], false),
            (&[""], false),
        ] {
            assert_eq!(accepts_json(&headers("accept", values)), json, "{values:?}");
        }
    }
}
