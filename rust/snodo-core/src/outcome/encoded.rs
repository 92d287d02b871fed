//! Looking into compact JSON text without reading it: where its values begin and end.
//!
//! Relies on the text being compact and valid; what is not is never cut in the wrong place, only refused.

use std::borrow::Cow;

use crate::json::{self, Json};
use crate::limits::Limits;

/// The members of an encoded object in order, key and value as they are written, without reading
/// deeper. `None` if the text is not an object. Relies on the text being compact and valid.
pub(crate) fn members(object: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let inner = object.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut members = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        let key_end = value_end(rest)?;
        let (key, after) = rest.split_at(key_end);
        let after = after.strip_prefix(b":")?;
        let (value, after) = after.split_at(value_end(after)?);
        let key = key.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        members.push((key, value));
        rest = match after {
            [] => after,
            [b',', rest @ ..] if !rest.is_empty() => rest,
            _ => return None,
        };
    }
    Some(members)
}

/// What a result object (its members) asks the client for, if it asks: the input requests, and whether
/// it carries a state.
pub(crate) fn asked<'a>(members: &[(&'a [u8], &'a [u8])]) -> Option<(Option<&'a [u8]>, bool)> {
    let find = |name: &[u8]| {
        let found = members.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    (find(b"resultType")? == br#""input_required""#).then(|| {
        let has_state = find(b"requestState").is_some_and(|state| state.starts_with(b"\""));
        (find(b"inputRequests"), has_state)
    })
}

/// The type of a result object (its members), as it is written, if it says one that is not `complete`.
pub(crate) fn own_type<'a>(members: &[(&'a [u8], &'a [u8])]) -> Option<&'a [u8]> {
    let (_, kind) = members.iter().find(|(key, _)| *key == b"resultType")?;
    (*kind != br#""complete""#).then_some(*kind)
}

/// Where the value that a text begins with ends: before the first `,`, `:` or closing bracket that
/// belongs to what is around it.
fn value_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                // Strings are most of a long text, so they are passed over in large steps.
                at += 1;
                loop {
                    at += json::plain_prefix(text.get(at..)?);
                    match text.get(at)? {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' | b':' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    (depth == 0 && at > 0 && at <= text.len()).then_some(at)
}

/// The items of an encoded array in order, as they are written. `None` if the text is not an array.
pub(super) fn items(array: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = array.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (item, after) = rest.split_at(value_end(rest)?);
        items.push(item);
        rest = match after {
            [] => after,
            [b',', rest @ ..] if !rest.is_empty() => rest,
            _ => return None,
        };
    }
    Some(items)
}

/// The text of an encoded string. `None` if it is not a string.
pub(crate) fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    match json::parse(value, &Limits::default()) {
        Ok(Json::String(text)) => Some(Cow::Owned(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_without_reading_them() {
        let text = br#"{"a":{"x":[1,"}"]},"b\\\"":"q\\",":,":-1.5e3,"":null}"#;
        let found = members(text).expect("an object");
        let expected: [(&[u8], &[u8]); 4] = [
            (b"a", br#"{"x":[1,"}"]}"#),
            (br#"b\\\""#, br#""q\\""#),
            (b":,", b"-1.5e3"),
            (b"", b"null"),
        ];
        assert_eq!(found, expected);
        assert_eq!(members(b"{}"), Some(Vec::new()));
    }

    #[test]
    fn items_are_found_without_reading_them() {
        let expected: [&[u8]; 4] = [br#"{"a":[1,2]}"#, br#""],\"""#, b"[]", b"-1.5"];
        assert_eq!(
            items(br#"[{"a":[1,2]},"],\"",[],-1.5]"#).expect("an array"),
            expected
        );
        assert_eq!(items(b"[]"), Some(Vec::new()));
        for text in [&b"{}"[..], b"", b"[", b"[1,]", b"[1", b"1]"] {
            assert_eq!(items(text), None, "{text:?}");
        }
    }

    #[test]
    fn strings_are_read_with_their_escapes() {
        assert_eq!(string(br#""a b""#).as_deref(), Some("a b"));
        assert_eq!(string(br#""\u0041\/\n""#).as_deref(), Some("A/\n"));
        for text in [&b"5"[..], b"", b"\"", b"null", br#""\x""#] {
            assert_eq!(string(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in [
            &b"[]"[..],
            b"",
            b"{",
            b"1",
            b"{\"a\"}",
            b"{\"a\":}",
            b"{\"a\":1,}",
            b"{\"a\":\"}",
        ] {
            assert_eq!(members(text), None, "{text:?}");
        }
    }
}
