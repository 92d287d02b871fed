//! One JSON value: the only reader of JSON from outside, and the writer of what leaves.
//!
//! Numbers keep their kind (`1` is an integer, `1.0` is not) and integers keep every digit, which
//! `serde_json::Value` does not do; objects keep the order they came in and hold no key twice.

mod convert;
mod read;
mod write;

pub(crate) use read::first_members;
pub use read::parse;
pub use write::{write_float, write_int, write_string};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer literal that fits 64 bits.
    Int(i64),
    /// An integer literal that does not; its canonical decimal text.
    Big(Box<str>),
    /// A literal with a fraction or an exponent; always finite.
    Float(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// The members of a JSON object, in the order they came, no key twice.
#[derive(Debug, Clone, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

/// Why a text is not one JSON value within the limits. Never quotes the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON: syntax, NaN, trailing text, an unpaired surrogate.
    #[error("not valid JSON")]
    Syntax,
    /// Bytes that are not UTF-8.
    #[error("not valid UTF-8")]
    Utf8,
    /// More nesting than `Limits::json_depth`.
    #[error("nested too deeply")]
    Depth,
    /// An object with a repeated key.
    #[error("an object repeats a key")]
    DuplicateKey,
    /// An integer of more digits than `Limits::integer_digits`.
    #[error("an integer has too many digits")]
    IntegerDigits,
    /// A number that overflows a double.
    #[error("a number is out of range")]
    NumberRange,
}

impl Json {
    /// The compact JSON text.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl Object {
    /// An object without members.
    pub const fn new() -> Self {
        Self {
            members: Vec::new(),
        }
    }

    /// The compact JSON text.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The value of a member, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.members
            .iter_mut()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Removes a member and gives its value. The others keep their order.
    pub fn take(&mut self, key: &str) -> Option<Json> {
        let at = self.members.iter().position(|(name, _)| name == key)?;
        Some(self.members.remove(at).1)
    }

    /// Sets a member, replacing one of the same key in place.
    pub fn insert(&mut self, key: impl Into<String>, value: Json) {
        let key = key.into();
        match self.members.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.members.push((key, value)),
        }
    }

    /// Whether there is such a member.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.members
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// The members in order, for whoever needs an iterator with a name.
    pub(crate) fn members(&self) -> std::slice::Iter<'_, (String, Json)> {
        self.members.iter()
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// The order of members says nothing: a caller whose identity was put together otherwise is the same one.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// How many bytes at the start of `text` stand for themselves inside a JSON string.
pub(crate) fn plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        if let Some(offset) = first_special(*word) {
            return at + offset;
        }
        at += WORD;
        // Most strings end within the first words. In longer ones whole blocks are passed over;
        // where a block is not clean, the words tell where.
        if at == BLOCK {
            let blocks = text[at..].chunks_exact(BLOCK);
            at += BLOCK * blocks.take_while(|block| is_clean(block)).count();
        }
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(rest.len())
}

const BLOCK: usize = 4 * WORD;

/// Without a branch per byte the compiler compares a register at a time.
fn is_clean(block: &[u8]) -> bool {
    !block
        .iter()
        .fold(false, |any, &byte| any | is_special(byte))
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

const WORD: usize = size_of::<u64>();

/// Where in eight bytes the first is that does not stand for itself.
fn first_special(word: [u8; WORD]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    // Sets the high bit of each byte below a bound of at most 0x80. A borrow can set wrong bits, but
    // only above a right one, and the lowest is what counts.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGH;
    let equal = |byte: u8| below(u64::from_le_bytes(word) ^ (ONES * u64::from(byte)), 1);
    let special = below(u64::from_le_bytes(word), 0x20) | equal(b'"') | equal(b'\\');
    (special != 0).then(|| special.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn objects_are_equal_whatever_the_order_of_their_members() {
        let read = |text: &str| parse(text.as_bytes(), &Limits::default()).expect("JSON");
        let one = read(r#"{"a":1,"b":{"c":[1,2],"d":null}}"#);
        assert_eq!(one, read(r#"{"b":{"d":null,"c":[1,2]},"a":1}"#));
        for other in [
            r#"{"a":1}"#,
            r#"{"a":1,"b":{"c":[2,1],"d":null}}"#,
            r#"{"a":1,"b":{"c":[1,2],"e":null}}"#,
            r#"{"a":1,"b":{"c":[1,2],"d":null},"e":1}"#,
        ] {
            assert_ne!(one, read(other));
            assert_ne!(read(other), one);
        }
    }

    #[test]
    fn every_special_byte_is_found_wherever_it_is() {
        for byte in 0..=u8::MAX {
            for length in [1, 7, 8, 9, 31, 32, 33, 64, 65, 100, 130] {
                for at in 0..length {
                    let mut text = vec![if at % 2 == 0 { b'a' } else { 0xc3 }; length];
                    text[at] = byte;
                    let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(
                        plain_prefix(&text),
                        if special { at } else { length },
                        "{byte} at {at} of {length}"
                    );
                }
            }
        }
    }
}
