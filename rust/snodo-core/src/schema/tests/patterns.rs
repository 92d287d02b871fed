//! Patterns that need backtracking: what they may meet, and what they may cost.

use std::time::{Duration, Instant};

use super::*;
use crate::limits::FANCY_PATTERN_BYTES;

const SOON: Duration = Duration::from_secs(5);

/// Look-ahead that makes each start read the text to its end.
const FANCY: &str = r"(?=.*\\d)(?=.*[A-Z]).{8,}";

fn with_pattern(validator: Validator) -> Schema {
    input(
        &format!(r#""properties":{{"a":{{"type":"string","pattern":"{FANCY}"}}}}"#),
        validator,
    )
}

#[test]
fn a_text_is_too_long_for_look_around_and_never_for_the_linear_engine() {
    let told = "is too long for a pattern with look-around; at most 1024 bytes";
    for validator in [Validator::Full, Validator::Basic] {
        let fancy = with_pattern(validator);
        let fits = format!("{}A1", "a".repeat(FANCY_PATTERN_BYTES - 2));
        assert_eq!(check(&fancy, &format!(r#"{{"a":"{fits}"}}"#)), Ok(()));
        assert_eq!(
            check(&fancy, &format!(r#"{{"a":"{fits}a"}}"#)),
            Err(format!("Invalid arguments at /a: {told}"))
        );
        let linear = input(r#""properties":{"a":{"pattern":"^a+$"}}"#, validator);
        let long = "a".repeat(1_000_000);
        assert_eq!(check(&linear, &format!(r#"{{"a":"{long}"}}"#)), Ok(()));
    }
}

#[test]
fn a_mismatch_reads_the_same_for_either_engine() {
    assert_eq!(
        failures(&format!(r#"{{"pattern":"{FANCY}"}}"#), r#""short""#),
        [format!(r#": must match the pattern "{FANCY}""#)]
    );
    assert!(failures(&format!(r#"{{"pattern":"{FANCY}"}}"#), "5").is_empty());
}

#[test]
fn ecma_classes_are_read_as_such_beside_look_around() {
    let schema = r#"{"pattern":"^(?=.*[!@#$%^&*()[\\]])(?=.*\\d).{3,}$"}"#;
    assert!(failures(schema, r#""a[1""#).is_empty());
    assert_eq!(failures(schema, r#""abc1""#).len(), 1);
}

#[test]
fn what_could_not_be_matched_is_not_accepted_by_turning_it_around() {
    let long = "a".repeat(FANCY_PATTERN_BYTES + 1);
    for schema in [
        format!(r#"{{"not":{{"pattern":"{FANCY}"}}}}"#),
        format!(r#"{{"if":{{"pattern":"{FANCY}"}},"then":false}}"#),
        format!(r#"{{"anyOf":[{{"pattern":"{FANCY}"}},true]}}"#),
    ] {
        assert!(failures(&schema, r#""aa""#).is_empty(), "{schema}");
        let told = failures(&schema, &format!(r#""{long}""#));
        assert!(told[0].contains("too long for a pattern"), "{told:?}");
    }
}

#[test]
fn names_are_held_to_the_same() {
    let long = "a".repeat(FANCY_PATTERN_BYTES + 1);
    let value = format!(r#"{{"b":[{{"{long}":1}}]}}"#);
    let named = format!(r#"{{"patternProperties":{{"{FANCY}":{{"type":"string"}}}}}}"#);
    assert!(failures(&named, r#"{"short":1}"#).is_empty());
    assert_eq!(failures(&named, r#"{"long enough A1":1}"#).len(), 1);
    let each = format!(
        r#"{{"properties":{{"b":{{"items":{{"propertyNames":{{"pattern":"{FANCY}"}}}}}}}}}}"#
    );
    for schema in [named, each] {
        let told = failures(&schema, &value);
        assert!(told[0].contains("too long for a pattern"), "{told:?}");
    }
}

#[test]
fn a_reference_to_a_pattern_is_held_to_the_same() {
    let schema = format!(r##"{{"$ref":"#/$defs/p","$defs":{{"p":{{"pattern":"{FANCY}"}}}}}}"##);
    let long = "a".repeat(FANCY_PATTERN_BYTES + 1);
    let told = failures(&schema, &format!(r#""{long}""#));
    assert!(told[0].contains("too long for a pattern"), "{told:?}");
}

#[test]
fn all_matches_of_one_message_are_bounded_together() {
    let text = format!("\"{}\"", "a".repeat(1000));
    let value = json(&format!(r#"{{"a":[{}]}}"#, vec![text; 4000].join(",")));
    for validator in [Validator::Full, Validator::Basic] {
        for items in [
            format!(r#"{{"pattern":"{FANCY}"}}"#),
            format!(r#"{{"not":{{"pattern":"{FANCY}"}}}}"#),
        ] {
            let schema = input(
                &format!(r#""properties":{{"a":{{"items":{items}}}}}"#),
                validator,
            );
            let before = Instant::now();
            let checked = schema.check_arguments(value.as_object().unwrap());
            // The basic validator knows no `not`.
            assert!(checked.is_err() || validator == Validator::Basic);
            assert!(before.elapsed() < SOON);
        }
    }
    // An ordinary message has room.
    let value = json(&format!(
        r#"{{"a":[{}]}}"#,
        vec!["\"Secret 123\""; 4000].join(",")
    ));
    let schema = input(
        &format!(r#""properties":{{"a":{{"items":{{"pattern":"{FANCY}"}}}}}}"#),
        Validator::Full,
    );
    assert_eq!(schema.check_arguments(value.as_object().unwrap()), Ok(()));
}

#[test]
fn many_unique_items_are_checked_soon() {
    // Compared with each other, they take minutes; compared as they should be, no second anywhere.
    let items = (0..100_000).map(Json::Int).collect();
    let mut arguments = Object::new();
    arguments.insert("a", Json::Array(items));
    let schema = input(
        r#""properties":{"a":{"uniqueItems":true}}"#,
        Validator::Full,
    );
    let before = Instant::now();
    assert_eq!(schema.check_arguments(&arguments), Ok(()));
    assert!(before.elapsed() < 2 * SOON);
}
