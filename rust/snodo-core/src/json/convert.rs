//! To and from `serde_json::Value`, for libraries that speak it. Never on the path of a message.

use serde_json::{Number, Value};

use super::{Json, Object};

impl Json {
    /// The same value; integers beyond 64 bits become the nearest double.
    pub fn to_serde(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(number) => Value::from(*number),
            Self::Big(digits) => digits.parse::<u64>().map_or_else(
                |_| {
                    digits
                        .parse()
                        .ok()
                        .and_then(Number::from_f64)
                        .map_or(Value::Null, Value::Number)
                },
                Value::from,
            ),
            Self::Float(number) => Value::from(*number),
            Self::String(text) => Value::from(text.as_str()),
            Self::Array(items) => items.iter().map(Self::to_serde).collect(),
            Self::Object(object) => object
                .iter()
                .map(|(key, value)| (key.to_owned(), value.to_serde()))
                .collect(),
        }
    }

    /// The same value.
    pub fn from_serde(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Self::Int(number),
                (None, Some(number)) => Self::Big(number.to_string().into()),
                (None, None) => Self::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from_serde).collect()),
            Value::Object(map) => Self::Object(Object {
                members: map
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from_serde(value)))
                    .collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_kind_both_ways() {
        for text in [
            "1",
            "-1",
            "1.0",
            "9223372036854775807",
            "18446744073709551615",
            r#"{"a":[null,true,"x"]}"#,
        ] {
            let value =
                crate::json::parse(text.as_bytes(), &crate::limits::Limits::default()).unwrap();
            assert_eq!(value.to_serde().to_string(), text);
            assert_eq!(Json::from_serde(&value.to_serde()), value);
        }
    }

    #[test]
    fn an_integer_beyond_64_bits_becomes_the_nearest_double() {
        assert_eq!(
            Json::Big("18446744073709551617".into()).to_serde(),
            Value::from(18_446_744_073_709_551_616.0)
        );
    }
}
