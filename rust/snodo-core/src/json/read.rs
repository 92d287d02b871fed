//! JSON text to one value in a single pass, every bound checked before it costs anything.
//!
//! Never quotes what it refuses, never reads more than one value, never tolerates an extension.

use super::{Json, Object, ParseError, plain_prefix};
use crate::limits::{Limits, MAX_JSON_DEPTH};

/// Up to here a key is compared with each before it; beyond, the keys are sorted once.
const FEW_MEMBERS: usize = 16;

/// Reads exactly one JSON value. A byte order mark is not JSON.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Json, ParseError> {
    let text = std::str::from_utf8(text).map_err(|_| ParseError::Utf8)?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: limits.json_depth.min(MAX_JSON_DEPTH),
        digits: limits.integer_digits,
    };
    let value = reader.value()?;
    match reader.next_token() {
        None => Ok(value),
        Some(_) => Err(ParseError::Syntax),
    }
}

/// The members of an object at the beginning of a text that may be cut off anywhere: those that are
/// whole, in order, repeated ones too.
pub(crate) fn first_members(text: &[u8], limits: &Limits) -> Vec<(String, Json)> {
    let whole = match std::str::from_utf8(text) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let mut reader = Reader {
        text: std::str::from_utf8(&text[..whole]).unwrap_or_default(),
        at: 0,
        depth: limits.json_depth.min(MAX_JSON_DEPTH),
        digits: limits.integer_digits,
    };
    let mut members = Vec::new();
    if reader.next_token() != Some(b'{') {
        return members;
    }
    reader.at += 1;
    // A value is whole when something follows it: `12` may be the beginning of `123`.
    while let Ok((member, last)) = reader.member() {
        members.push(member);
        if last {
            break;
        }
    }
    members
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many more arrays and objects may open here.
    depth: usize,
    digits: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space; it stays unread.
    fn next_token(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Whether the next byte is this one; if so it is read.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Json, ParseError> {
        match self.next_token().ok_or(ParseError::Syntax)? {
            b'"' => self.string().map(Json::String),
            b'{' => self.nested(Self::object).map(Json::Object),
            b'[' => self.nested(Self::array).map(Json::Array),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => Err(ParseError::Syntax),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, ParseError> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(ParseError::Syntax);
        }
        self.at += word.len();
        Ok(value)
    }

    fn nested<T>(&mut self, body: fn(&mut Self) -> Result<T, ParseError>) -> Result<T, ParseError> {
        self.depth = self.depth.checked_sub(1).ok_or(ParseError::Depth)?;
        self.at += 1;
        let value = body(self)?;
        self.depth += 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Vec<Json>, ParseError> {
        let mut items = Vec::new();
        if self.next_token() == Some(b']') {
            self.at += 1;
            return Ok(items);
        }
        loop {
            items.push(self.value()?);
            if self.ends(b']')? {
                return Ok(items);
            }
        }
    }

    fn object(&mut self) -> Result<Object, ParseError> {
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.next_token() == Some(b'}') {
            self.at += 1;
            return Ok(Object { members });
        }
        loop {
            if self.next_token() != Some(b'"') {
                return Err(ParseError::Syntax);
            }
            let key = self.string()?;
            if members.len() < FEW_MEMBERS && members.iter().any(|(name, _)| *name == key) {
                return Err(ParseError::DuplicateKey);
            }
            if self.next_token() != Some(b':') {
                return Err(ParseError::Syntax);
            }
            self.at += 1;
            members.push((key, self.value()?));
            if self.ends(b'}')? {
                break;
            }
        }
        if members.len() > FEW_MEMBERS && repeats(&members) {
            return Err(ParseError::DuplicateKey);
        }
        Ok(Object { members })
    }

    /// One member of an object, and whether it is the last.
    fn member(&mut self) -> Result<((String, Json), bool), ParseError> {
        if self.next_token() != Some(b'"') {
            return Err(ParseError::Syntax);
        }
        let key = self.string()?;
        if self.next_token() != Some(b':') {
            return Err(ParseError::Syntax);
        }
        self.at += 1;
        let value = self.value()?;
        Ok(((key, value), self.ends(b'}')?))
    }

    /// After an item: whether the collection ends here (or a comma leads to the next item).
    fn ends(&mut self, close: u8) -> Result<bool, ParseError> {
        let byte = self.next_token().ok_or(ParseError::Syntax)?;
        self.at += 1;
        if byte == close {
            Ok(true)
        } else if byte == b',' {
            Ok(false)
        } else {
            Err(ParseError::Syntax)
        }
    }

    /// A string; its opening quote is the next byte.
    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let first = self.plain();
        if self.eat(b'"') {
            return Ok(first.to_owned());
        }
        let mut text = first.to_owned();
        loop {
            // What stops a plain run is a quote, a backslash, a bare control character or the end.
            if self.eat(b'"') {
                return Ok(text);
            }
            if !self.eat(b'\\') {
                return Err(ParseError::Syntax);
            }
            text.push(self.escape()?);
            text.push_str(self.plain());
        }
    }

    /// The longest run without quotes, escapes and control characters.
    fn plain(&mut self) -> &'a str {
        let start = self.at;
        // Every byte that ends the run is ASCII, so both ends are character boundaries.
        self.at += plain_prefix(&self.text.as_bytes()[start..]);
        &self.text[start..self.at]
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, ParseError> {
        let byte = self.peek().ok_or(ParseError::Syntax)?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            _ => return Err(ParseError::Syntax),
        })
    }

    /// What follows `\u`: one code unit, or two that make a pair.
    fn unicode(&mut self) -> Result<char, ParseError> {
        let first = self.code_unit()?;
        if let Some(char) = char::from_u32(first) {
            return Ok(char);
        }
        if !(0xD800..0xDC00).contains(&first) || !self.eat(b'\\') || !self.eat(b'u') {
            return Err(ParseError::Syntax);
        }
        let second = self.code_unit()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(ParseError::Syntax);
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            .ok_or(ParseError::Syntax)
    }

    fn code_unit(&mut self) -> Result<u32, ParseError> {
        let digits = self
            .text
            .as_bytes()
            .get(self.at..self.at + 4)
            .ok_or(ParseError::Syntax)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| {
            let digit = char::from(digit).to_digit(16).ok_or(ParseError::Syntax)?;
            Ok(unit << 4 | digit)
        })
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.peek();
        let digits = self.some_digits()?;
        if first == Some(b'0') && digits > 1 {
            return Err(ParseError::Syntax);
        }
        let mut integer = true;
        if self.eat(b'.') {
            integer = false;
            self.some_digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            integer = false;
            let _ = self.eat(b'+') || self.eat(b'-');
            self.some_digits()?;
        }
        let text = &self.text[start..self.at];
        if !integer {
            let number: f64 = text.parse().map_err(|_| ParseError::Syntax)?;
            return if number.is_finite() {
                Ok(Json::Float(number))
            } else {
                Err(ParseError::NumberRange)
            };
        }
        if digits > self.digits {
            return Err(ParseError::IntegerDigits);
        }
        // Eighteen digits always fit; `-0` is 0.
        if digits <= 18 {
            let digits = &text.as_bytes()[usize::from(negative)..];
            let number = digits
                .iter()
                .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
            return Ok(Json::Int(if negative { -number } else { number }));
        }
        // Without leading zeros or a plus sign the literal is its own canonical text.
        Ok(text
            .parse()
            .map_or_else(|_| Json::Big(text.into()), Json::Int))
    }

    /// At least one decimal digit; how many.
    fn some_digits(&mut self) -> Result<usize, ParseError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            Err(ParseError::Syntax)
        } else {
            Ok(self.at - start)
        }
    }
}

/// Whether two members have the same key, in a time that no choice of keys makes quadratic.
fn repeats(members: &[(String, Json)]) -> bool {
    let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Json, ParseError> {
        parse(text.as_bytes(), &Limits::default())
    }

    fn object(members: &[(&str, Json)]) -> Json {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(*key, value.clone());
        }
        Json::Object(object)
    }

    #[test]
    fn values_of_every_kind_are_read() {
        let cases = [
            ("null", Json::Null),
            (" \t\r\n true ", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("[]", Json::Array(vec![])),
            ("{}", object(&[])),
            (
                "[1, [2]]",
                Json::Array(vec![Json::Int(1), Json::Array(vec![Json::Int(2)])]),
            ),
            (
                r#"{ "a" : {"b":[]} , "c":1}"#,
                object(&[
                    ("a", object(&[("b", Json::Array(vec![]))])),
                    ("c", Json::Int(1)),
                ]),
            ),
        ];
        for (text, value) in cases {
            assert_eq!(read(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn numbers_keep_their_kind_and_their_digits() {
        let cases = [
            ("0", Json::Int(0)),
            ("-0", Json::Int(0)),
            ("-17", Json::Int(-17)),
            ("999999999999999999", Json::Int(999_999_999_999_999_999)),
            ("9223372036854775807", Json::Int(i64::MAX)),
            ("-9223372036854775808", Json::Int(i64::MIN)),
            (
                "9223372036854775808",
                Json::Big("9223372036854775808".into()),
            ),
            (
                "-9223372036854775809",
                Json::Big("-9223372036854775809".into()),
            ),
            ("1.0", Json::Float(1.0)),
            ("-0.0", Json::Float(-0.0)),
            ("1e2", Json::Float(100.0)),
            ("1E+2", Json::Float(100.0)),
            ("25e-1", Json::Float(2.5)),
            ("1e-400", Json::Float(0.0)),
        ];
        for (text, value) in cases {
            assert_eq!(read(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn an_integer_may_have_64_digits_and_no_more() {
        let digits = "9".repeat(64);
        assert_eq!(read(&digits), Ok(Json::Big(digits.as_str().into())));
        assert_eq!(
            read(&format!("-{digits}")),
            Ok(Json::Big(format!("-{digits}").into()))
        );
        assert_eq!(read(&format!("{digits}9")), Err(ParseError::IntegerDigits));
        assert_eq!(read(&format!("-{digits}9")), Err(ParseError::IntegerDigits));
        // Not an integer literal, and cheap to round.
        assert_eq!(read(&format!("{digits}9.5")), Ok(Json::Float(1e65)));
    }

    #[test]
    fn strings_are_unescaped() {
        let cases = [
            (r#""""#, ""),
            (r#""plain""#, "plain"),
            (r#""é😀""#, "é😀"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""a\u0041\u00e9\uD83D\uDE00\u0000z""#, "aAé😀\0z"),
            ("\"\u{7f}\u{feff}\u{2028}\"", "\u{7f}\u{feff}\u{2028}"),
            (
                r#""0123456789abcdef0123456789abcdef\n0123456789abcdef!""#,
                "0123456789abcdef0123456789abcdef\n0123456789abcdef!",
            ),
        ];
        for (text, value) in cases {
            assert_eq!(read(text), Ok(Json::String(value.into())), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let cases = [
            "",
            " ",
            "nul",
            "True",
            "nulll",
            "NaN",
            "Infinity",
            "-Infinity",
            "-",
            "+1",
            "01",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "0x10",
            "1_000",
            "1 2",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[",
            "]",
            "{",
            "}",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "{a:1}",
            "{1:2}",
            "'a'",
            r#"""#,
            r#""a"#,
            r#""\"#,
            r#""\x""#,
            r#""\u12""#,
            r#""\u12g4""#,
            r#""\u+123""#,
            "\"a\nb\"",
            "\"a\u{0}b\"",
            "// c\n1",
            "\u{feff}1",
            "[1}",
            r#"{"a":1]"#,
            // Unpaired surrogates.
            r#""\ud800""#,
            r#""\ud800x""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            r#""\ud800\ud800""#,
            r#""\ud800\n""#,
        ];
        for text in cases {
            assert_eq!(read(text), Err(ParseError::Syntax), "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        for text in [
            &b"\"\xff\""[..],
            b"\"\xc3\"",
            b"\"\xed\xa0\x80\"",
            b"\xff\xfe1\0",
        ] {
            assert_eq!(
                parse(text, &Limits::default()),
                Err(ParseError::Utf8),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_number_beyond_a_double_is_refused() {
        assert_eq!(read("1e309"), Err(ParseError::NumberRange));
        assert_eq!(read("-1.8e308"), Err(ParseError::NumberRange));
        assert_eq!(read("1e99999999999999999999"), Err(ParseError::NumberRange));
    }

    #[test]
    fn repeated_keys_are_refused_in_small_and_large_objects() {
        assert_eq!(read(r#"{"a":1,"a":1}"#), Err(ParseError::DuplicateKey));
        assert_eq!(read(r#"{"a":1,"\u0061":2}"#), Err(ParseError::DuplicateKey));
        assert_eq!(
            read(r#"[{"b":{"a":1,"a":1}}]"#),
            Err(ParseError::DuplicateKey)
        );
        for count in 1..40 {
            let keys: Vec<String> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
            let unique = format!("{{{}}}", keys.join(","));
            assert_eq!(read(&unique).unwrap().as_object().unwrap().len(), count);
            for again in [0, count - 1] {
                let repeated = format!("{{{},\"k{again}\":0}}", keys.join(","));
                assert_eq!(
                    read(&repeated),
                    Err(ParseError::DuplicateKey),
                    "{count} {again}"
                );
            }
        }
    }

    #[test]
    fn nesting_is_bounded_and_cannot_overflow_the_stack() {
        let nest = |open: &str, close: &str, depth| {
            format!("{}1{}", open.repeat(depth), close.repeat(depth))
        };
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            assert!(read(&nest(open, close, 128)).is_ok());
            assert_eq!(read(&nest(open, close, 129)), Err(ParseError::Depth));
            assert_eq!(read(&nest(open, close, 100_000)), Err(ParseError::Depth));
            let lavish = Limits {
                json_depth: usize::MAX,
                ..Limits::default()
            };
            assert_eq!(
                parse(nest(open, close, 100_000).as_bytes(), &lavish),
                Err(ParseError::Depth)
            );
        }
        // Siblings do not add up.
        assert!(read(&format!("[{}[]]", "[],".repeat(1000))).is_ok());
    }
}
