//! What a handler may give back. JSON travels as compact, already encoded text.

use crate::error::Error;
use crate::json::Object;

/// Compact JSON text, known to be valid.
pub type Encoded = Vec<u8>;

/// What came of a call: one of the result kinds, or the error that fails the request.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// Which kind, and its value.
    pub value: Value,
    /// Members for the result's `_meta`.
    pub metadata: Object,
}

/// The kinds of result, and what each carries.
#[derive(Debug, PartialEq)]
pub enum Value {
    /// A text block.
    Text(String),
    /// A JSON value: structured content, and the same as text.
    Structured(Encoded),
    /// Content blocks: a JSON array of objects.
    Content(Encoded),
    /// The tool understood and failed: `isError` with this text.
    Failure(String),
    /// A result object as given; `content` and `isError` are added where absent.
    Raw(Encoded),
    /// A result object as given; nothing is added but `_meta`.
    Wire(Encoded),
    /// More input is needed. At least one of both.
    InputRequired {
        /// Object of key to request.
        requests: Option<Encoded>,
        /// Continuation state.
        state: Option<String>,
    },
    /// Contents of a resource (a JSON array).
    ResourceRead {
        /// The contents.
        contents: Encoded,
        /// Cache time of this read in ms, overriding the policy.
        ttl_ms: Option<i64>,
        /// Cache scope of this read, overriding the policy.
        cache_scope: Option<String>,
    },
    /// Messages of a prompt (a JSON array).
    PromptGet {
        /// The messages.
        messages: Encoded,
        /// What the prompt is about.
        description: Option<String>,
    },
    /// Values of a completion (a JSON array of strings).
    Completion {
        /// The values.
        values: Encoded,
        /// How many there are in all.
        total: Option<u64>,
        /// Whether there are more.
        has_more: Option<bool>,
    },
    /// The request fails with this error.
    Error(Error),
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self {
            value,
            metadata: Object::new(),
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Value::Error(error).into()
    }
}

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

/// Where the value that a text begins with ends: before the first `,`, `:` or closing bracket that
/// belongs to what is around it.
fn value_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while *text.get(at)? != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
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
