//! Header rules shared by revisions that mirror the body: compare, decode, `Mcp-Param-*`.
//!
//! MCP 2026-07-28, Streamable HTTP, "request headers" and "value encoding".

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::context::{Header, Headers};
use crate::error::Error;
use crate::json::{Json, Object};
use crate::schema::Mirror;

/// The revision a request is made under.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of the body.
pub const METHOD: &str = "mcp-method";
/// The component that the body names.
pub const NAME: &str = "mcp-name";

const ENCODED_PREFIX: &str = "=?base64?";
const ENCODED_SUFFIX: &str = "?=";

/// Headers as pairs, for tests and callers in this process.
impl Headers for Vec<(String, Vec<u8>)> {
    fn get(&self, name: &str) -> Header<'_> {
        let mut values = self
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (None, _) => Header::Missing,
            (Some((_, value)), None) => Header::One(value.trim_ascii()),
            (Some(_), Some(_)) => Header::Repeated,
        }
    }

    fn all(&self) -> Vec<(String, String)> {
        self.iter()
            .map(|(key, value)| {
                (
                    key.to_ascii_lowercase(),
                    String::from_utf8_lossy(value).into_owned(),
                )
            })
            .collect()
    }
}

/// The value of a header sent exactly once and plain.
pub fn once<'a>(headers: &'a dyn Headers, name: &str) -> Option<&'a str> {
    match headers.get(name) {
        Header::One(value) => plain(value),
        Header::Missing | Header::Repeated => None,
    }
}

/// The value of a header that must be sent exactly once. It is never encoded.
pub fn required<'a>(headers: &'a dyn Headers, name: &str) -> Result<&'a str, Error> {
    match headers.get(name) {
        Header::One(value) => plain(value).ok_or_else(|| malformed(name)),
        Header::Missing | Header::Repeated => Err(missing(name)),
    }
}

/// Holds a required header to the body's value. `encoded` ones may come in the base64 form.
pub fn check(headers: &dyn Headers, name: &str, body: &str, encoded: bool) -> Result<(), Error> {
    let value = match headers.get(name) {
        Header::One(value) if encoded => decode(value).ok_or_else(|| malformed(name))?,
        Header::One(value) => Cow::Borrowed(plain(value).ok_or_else(|| malformed(name))?),
        Header::Missing | Header::Repeated => return Err(missing(name)),
    };
    if value == body {
        Ok(())
    } else {
        Err(mismatch(name))
    }
}

/// Holds arguments to the headers that mirror them.
pub fn check_mirrors(
    mirrors: &[Mirror],
    arguments: &Object,
    headers: &dyn Headers,
) -> Result<(), Error> {
    mirrors.iter().try_for_each(|mirror| {
        check_mirror(&mirror.header, value_at(arguments, &mirror.path), headers)
    })
}

fn check_mirror(name: &str, argument: Option<&Json>, headers: &dyn Headers) -> Result<(), Error> {
    let header = headers.get(name);
    let argument = match argument {
        // A client omits the header of a null argument; one that does not breaks nothing.
        Some(Json::Null) => return Ok(()),
        // No text stands for an array or object: the schema will refuse it in words.
        None | Some(Json::Array(_) | Json::Object(_)) => {
            return if header == Header::Missing {
                Ok(())
            } else {
                Err(mismatch(name))
            };
        }
        Some(argument) => argument,
    };
    let value = match header {
        Header::One(value) => decode(value).ok_or_else(|| malformed(name))?,
        Header::Missing | Header::Repeated => return Err(missing(name)),
    };
    if stands_for(&value, argument) {
        Ok(())
    } else {
        Err(mismatch(name))
    }
}

fn value_at<'a>(arguments: &'a Object, path: &[String]) -> Option<&'a Json> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(arguments.get(first)?, |value, key| {
        value.as_object()?.get(key)
    })
}

/// Whether a decoded header value says the same as an argument. The types of both are compared by
/// the schema; here only the text.
fn stands_for(value: &str, argument: &Json) -> bool {
    match argument {
        Json::String(text) => value == text,
        Json::Bool(flag) => value == if *flag { "true" } else { "false" },
        Json::Int(number) => same_number(value, &number.to_string()),
        Json::Big(digits) => same_number(value, digits),
        Json::Float(number) => same_number(value, &number.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

fn same_number(a: &str, b: &str) -> bool {
    match (Decimal::read(a), Decimal::read(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// A decimal number without loss: digits without zeros at either end, and the power of ten of the
/// last. `42`, `42.0`, `+042` and `4.2e1` are the same; no double comes between.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, i64::from(exponent.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{fraction}");
        let has_digits = !whole.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
        if !has_digits {
            return None;
        }
        let digits = all.trim_start_matches('0').trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        let zeros = all.len() - all.trim_end_matches('0').len();
        let shift = i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
        Some(Self {
            negative,
            digits,
            exponent: exponent + shift,
        })
    }
}

/// The text a header value stands for; `None` if it is malformed.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = plain(value)?;
    let encoded = text
        .strip_prefix(ENCODED_PREFIX)
        .and_then(|rest| rest.strip_suffix(ENCODED_SUFFIX));
    match encoded {
        None => Some(Cow::Borrowed(text)),
        Some(payload) => {
            let bytes = STANDARD.decode(payload).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// The header value that stands for a text.
pub fn encode(text: &str) -> Cow<'_, str> {
    let looks_encoded = text.starts_with(ENCODED_PREFIX) && text.ends_with(ENCODED_SUFFIX);
    let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if printable && !looks_encoded && !text.starts_with(' ') && !text.ends_with(' ') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!(
        "{ENCODED_PREFIX}{}{ENCODED_SUFFIX}",
        STANDARD.encode(text)
    ))
}

/// A value of visible ASCII, spaces and tabs.
pub(super) fn plain(value: &[u8]) -> Option<&str> {
    let fits = value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    fits.then_some(value)
        .and_then(|value| std::str::from_utf8(value).ok())
}

pub(crate) fn missing(name: &str) -> Error {
    Error::header(format!("Missing or repeated required header: {name}"))
}

pub(crate) fn mismatch(name: &str) -> Error {
    Error::header(format!("{name} does not match the request body"))
}

fn malformed(name: &str) -> Error {
    Error::header(format!("{name} is malformed"))
}

/// Neither header nor body names a version: also say which ones would do.
pub(crate) fn missing_version(versions: impl Iterator<Item = &'static str>) -> Error {
    let versions = versions.collect::<Vec<_>>().join(", ");
    Error::header(format!(
        "Missing or repeated required header: {PROTOCOL_VERSION}; this server supports {versions}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_encode_and_decode_as_the_table_says() {
        for (text, value) in [
            ("eu-north-1", "eu-north-1"),
            ("a b", "a b"),
            ("blåbær 茶", "=?base64?YmzDpWLDpnIg6Iy2?="),
            (" x ", "=?base64?IHgg?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("=?base64?x", "=?base64?x"),
            ("", ""),
            ("a\tb", "=?base64?YQli?="),
        ] {
            assert_eq!(encode(text), value);
            assert_eq!(decode(value.as_bytes()).as_deref(), Some(text));
        }
        assert_eq!(decode(b"=?base64??=").as_deref(), Some(""));
        assert_eq!(decode(b"a\tb").as_deref(), Some("a\tb"));
        assert_eq!(
            decode(b"=?BASE64?eA==?=").as_deref(),
            Some("=?BASE64?eA==?=")
        );
        assert_eq!(decode(b"=?base64?=").as_deref(), Some("=?base64?="));
    }

    #[test]
    fn malformed_values_are_told_apart_from_literal_text() {
        for value in [
            &b"=?base64?@@?="[..],
            b"=?base64?YWI?=",
            b"=?base64?/w==?=",
            b"\xe9",
            b"a\x7f",
        ] {
            assert_eq!(decode(value), None, "{value:?}");
        }
    }

    #[test]
    fn integers_compare_by_number_and_exactly() {
        for same in ["42", "42.0", "+42", "042", "4.2e1", "420E-1"] {
            assert!(stands_for(same, &Json::Int(42)), "{same}");
        }
        for other in [
            "",
            "abc",
            "42abc",
            "42.5",
            "-42",
            ".",
            "4 2",
            "42e",
            "1e99999999999",
        ] {
            assert!(!stands_for(other, &Json::Int(42)), "{other}");
        }
        assert!(!stands_for(
            "9007199254740990",
            &Json::Int(9_007_199_254_740_991)
        ));
        assert!(stands_for("-0", &Json::Int(0)) && stands_for("0.00", &Json::Int(0)));
        assert!(stands_for("100", &Json::Int(100)) && !stands_for("10", &Json::Int(100)));
    }
}
