//! One value to compact JSON text: UTF-8 as it is, the kind of every number kept.

use super::{Json, Object, plain_prefix};

impl Json {
    /// Appends the compact JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Int(number) => write_int(*number, out),
            Self::Big(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Float(number) => write_float(*number, out),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(object) => object.write(out),
        }
    }
}

impl Object {
    /// Appends the compact JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (key, value)) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(key, out);
            out.push(b':');
            value.write(out);
        }
        out.push(b'}');
    }
}

/// Appends an integer.
pub fn write_int(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends the shortest text that reads back as the same double, always with a fraction or an
/// exponent. JSON has no spelling for what is not finite: that must not get here, and becomes `null`.
pub fn write_float(number: f64, out: &mut Vec<u8>) {
    debug_assert!(number.is_finite(), "JSON numbers are finite");
    if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends `text` as a JSON string, quotes included: only what must be is escaped.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let (plain, special) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = special.split_first() else {
            break;
        };
        write_escape(byte, out);
        rest = after;
    }
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Json) -> String {
        String::from_utf8(value.to_vec()).unwrap()
    }

    #[test]
    fn values_of_every_kind_are_written_compactly() {
        let mut object = Object::new();
        object.insert(
            "b",
            Json::Array(vec![Json::Null, Json::Bool(true), Json::Bool(false)]),
        );
        object.insert("a\n", Json::Object(Object::new()));
        object.insert("n", Json::Int(-5));
        object.insert("big", Json::Big("-9223372036854775809".into()));
        assert_eq!(
            written(&Json::Object(object)),
            r#"{"b":[null,true,false],"a\n":{},"n":-5,"big":-9223372036854775809}"#,
        );
    }

    #[test]
    fn a_float_stays_a_float() {
        let cases = [
            (1.0, "1.0"),
            (100.0, "100.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (9.99, "9.99"),
            (1e300, "1e+300"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (number, text) in cases {
            assert_eq!(written(&Json::Float(number)), text);
        }
    }

    #[test]
    fn only_what_must_be_is_escaped() {
        let cases = [
            ("", r#""""#),
            ("é😀\u{2028}\u{7f}/", "\"é😀\u{2028}\u{7f}/\""),
            ("\"\\\n\r\t\u{8}\u{c}", r#""\"\\\n\r\t\b\f""#),
            ("\0\u{1f}", r#""\u0000\u001f""#),
            (
                "0123456789abcdef\n0123456789abcdefg",
                r#""0123456789abcdef\n0123456789abcdefg""#,
            ),
        ];
        for (text, json) in cases {
            assert_eq!(written(&Json::String(text.into())), json);
        }
    }
}
