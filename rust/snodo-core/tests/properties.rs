//! Laws that hold for every input, tried on many.

mod common;

use std::sync::LazyLock;

use common::values::values;
use proptest::prelude::*;
use snodo_core::json::{self, Json, Object, ParseError};
use snodo_core::limits::Limits;
use snodo_core::schema::{Schema, Validator};

/// Texts that are nearly JSON more often than arbitrary bytes are.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let shred = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("\"".to_owned()),
        Just("\\u".to_owned()),
        Just("d83d".to_owned()),
        Just("null".to_owned()),
        Just("-".to_owned()),
        Just("0".to_owned()),
        Just("1e5".to_owned()),
        Just(".5".to_owned()),
        Just(" ".to_owned()),
        Just("\"a\"".to_owned()),
        Just("\"b\":".to_owned()),
        Just("\\n".to_owned()),
        Just("é".to_owned()),
        Just("\n".to_owned()),
    ];
    prop::collection::vec(shred, 0..12).prop_map(|shreds| shreds.concat().into_bytes())
}

fn agrees_with_serde_json(text: &[u8]) {
    let ours = json::parse(text, &Limits::default());
    let theirs = serde_json::from_slice::<serde_json::Value>(text);
    match ours {
        Ok(_) => assert!(theirs.is_ok()),
        // What only we refuse.
        Err(ParseError::DuplicateKey | ParseError::IntegerDigits | ParseError::Depth) => {}
        Err(_) => assert!(theirs.is_err()),
    }
}

/// Schemas in which every kind of keyword meets every other.
const SCHEMAS: &[&str] = &[
    r##"{"$defs":{"any":{"anyOf":[{"type":"object","additionalProperties":{"$ref":"#/$defs/any"}},
        {"type":"array","items":{"$ref":"#/$defs/any"},"uniqueItems":true},{"type":["string","null"],"maxLength":3}]}},
        "type":"object","additionalProperties":{"$ref":"#/$defs/any"}}"##,
    r#"{"type":"object","additionalProperties":false}"#,
    r#"{"type":"object","propertyNames":{"pattern":"^(a|aa)+\\1$"},"minProperties":2,
        "patternProperties":{"(?=.)a":{"type":"integer"}},"unevaluatedProperties":false}"#,
    r#"{"type":"object","additionalProperties":{"oneOf":[{"type":"number","multipleOf":0.5},{"minimum":3},
        {"contains":{"type":"boolean"},"unevaluatedItems":false},{"enum":[[],{"a":1},null]},
        {"not":{"type":"string"},"if":{"type":"array"},"then":{"minItems":2},"else":{"const":1}}]}}"#,
];

static COMPILED: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let compile = |schema: &&str| {
        let schema = json::parse(schema.as_bytes(), &Limits::default()).expect("well-formed");
        [Validator::Full, Validator::Basic]
            .map(|kind| Schema::input(&schema, kind).expect("accepted"))
    };
    SCHEMAS.iter().flat_map(compile).collect()
});

proptest! {
    // Each case tries every schema.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_refusal_has_its_few_lines_and_arbitrary_arguments_never_panic(value in values()) {
        let mut arguments = Object::new();
        arguments.insert("a", value);
        for schema in COMPILED.iter() {
            let failures = schema.failures(&Json::Object(arguments.clone()));
            match schema.check_arguments(&arguments) {
                Ok(()) => prop_assert!(failures.is_empty()),
                Err(text) => {
                    prop_assert_eq!(text.lines().count(), failures.len());
                    prop_assert!(failures.len() <= 5);
                }
            }
            let content = Json::Object(arguments.clone()).to_vec();
            prop_assert_eq!(schema.accepts_output(&content), failures.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in values()) {
        prop_assert_eq!(json::parse(&value.to_vec(), &Limits::default()), Ok(value));
    }

    #[test]
    fn what_is_written_is_json_to_others(value in values()) {
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&value.to_vec()).is_ok());
    }

    #[test]
    fn reading_arbitrary_bytes_never_panics_and_agrees(text in any::<Vec<u8>>()) {
        agrees_with_serde_json(&text);
    }

    #[test]
    fn reading_arbitrary_text_agrees(text in any::<String>()) {
        agrees_with_serde_json(text.as_bytes());
        agrees_with_serde_json(format!("\"{text}\"").as_bytes());
    }

    #[test]
    fn reading_what_is_nearly_json_agrees(text in nearly_json()) {
        agrees_with_serde_json(&text);
    }

    #[test]
    fn a_damaged_text_is_still_read_as_others_read_it(value in values(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut text = value.to_vec();
        let at = at.index(text.len());
        text[at] = byte;
        agrees_with_serde_json(&text);
    }
}
