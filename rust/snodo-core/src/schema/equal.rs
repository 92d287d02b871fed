//! When two JSON values are the same to JSON Schema: `1` equals `1.0`, `true` does not equal `1`, and
//! the order of members means nothing.

use crate::json::{Json, Object, write_string};

/// Whether two values are the same. Meant for a value of a schema on one side: its cost grows with the
/// square of the smaller object.
pub(super) fn equal(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| equal(left, right))
        }
        (Json::Object(left), Json::Object(right)) => equal_objects(left, right),
        (Json::Int(int), Json::Float(float)) | (Json::Float(float), Json::Int(int)) => {
            equal_int_float(*int, *float)
        }
        (Json::Big(digits), Json::Float(float)) | (Json::Float(float), Json::Big(digits)) => {
            digits.parse() == Ok(*float)
        }
        _ => left == right,
    }
}

/// [`equal`] for two objects.
pub(super) fn equal_objects(left: &Object, right: &Object) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
}

/// 2^63: no `i64` is this large, and -2^63 is one.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

fn equal_int_float(int: i64, float: f64) -> bool {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "range and fraction are checked first"
    )]
    let same = || float as i64 == int;
    float.fract() == 0.0 && (-BEYOND..BEYOND).contains(&float) && same()
}

/// Whether no two items are the same, in a time that no choice of items makes quadratic.
pub(super) fn all_distinct(items: &[Json]) -> bool {
    let mut texts: Vec<Vec<u8>> = items
        .iter()
        .map(|item| {
            let mut text = Vec::new();
            write_canonical(item, &mut text);
            text
        })
        .collect();
    texts.sort_unstable();
    texts.windows(2).all(|pair| pair[0] != pair[1])
}

/// Appends a text that two values share exactly when they are the same.
fn write_canonical(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Float(number) if number.fract() == 0.0 && (-BEYOND..BEYOND).contains(number) => {
            // As an integer of this value is written; there is no negative zero.
            let number = if *number == 0.0 { 0.0 } else { *number };
            out.extend_from_slice(format!("{number:.0}").as_bytes());
        }
        // Hundreds of digits for a few bytes of a message would fill memory.
        Json::Float(number) => out.extend_from_slice(format!("{number:e}").as_bytes()),
        Json::Big(digits) => match digits.parse::<f64>() {
            Ok(number) if format!("{number:.0}") == **digits => {
                out.extend_from_slice(format!("{number:e}").as_bytes());
            }
            _ => out.extend_from_slice(digits.as_bytes()),
        },
        Json::Array(items) => {
            out.push(b'[');
            for item in items {
                write_canonical(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Json::Object(object) => {
            let mut members: Vec<(&str, &Json)> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (key, value) in members {
                write_string(key, out);
                write_canonical(value, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        other => other.write(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::json;

    #[test]
    fn sameness_is_that_of_json_schema() {
        let cases = [
            ("1", "1.0", true),
            ("1", "1e0", true),
            ("0", "-0.0", true),
            ("1", "true", false),
            ("0", "false", false),
            ("null", "false", false),
            ("\"1\"", "1", false),
            ("1", "1.5", false),
            ("9007199254740993", "9007199254740992.0", false),
            ("9223372036854775807", "9223372036854775807.0", false),
            ("-9223372036854775808", "-9223372036854775808.0", true),
            ("18446744073709551616", "18446744073709551616.0", true),
            ("18446744073709551616", "18446744073709551617", false),
            ("[1,[2.0]]", "[1.0,[2]]", true),
            ("[1,2]", "[2,1]", false),
            (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1.0}"#, true),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false),
            (r#"{"a":1}"#, r#"{"b":1}"#, false),
            (r#"["a","b"]"#, r#"["a\",\"b"]"#, false),
        ];
        for (left, right, same) in cases {
            let (left, right) = (json(left), json(right));
            assert_eq!(equal(&left, &right), same, "{left:?} {right:?}");
            assert_eq!(equal(&right, &left), same, "{right:?} {left:?}");
            assert_eq!(
                all_distinct(&[left.clone(), json("\"between\""), right.clone()]),
                !same,
                "{left:?} {right:?}"
            );
        }
    }

    #[test]
    fn large_numbers_take_little_room() {
        let mut text = Vec::new();
        write_canonical(&Json::Float(1e300), &mut text);
        assert_eq!(text, b"1e300");
    }

    #[test]
    fn many_equal_objects_are_found_quickly() {
        let mut items: Vec<Json> = (0..20_000)
            .map(|n| json(&format!("{{\"a\":{n}}}")))
            .collect();
        assert!(all_distinct(&items));
        items.push(json(r#"{"a":19999.0}"#));
        assert!(!all_distinct(&items));
    }
}
