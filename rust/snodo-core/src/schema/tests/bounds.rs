//! What no caller may bring about: long texts, long runs, much memory, a value told.

use std::time::{Duration, Instant};

use super::*;

/// Far more than any of these takes, also on a busy machine and without optimisation.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_value_is_never_told() {
    let secret = "hunter2";
    let schemas = [
        r#"{"type":"integer"}"#,
        r#"{"const":1}"#,
        r#"{"enum":["a"]}"#,
        r#"{"maxLength":1}"#,
        r#"{"pattern":"^z$"}"#,
        r#"{"not":{}}"#,
        r#"{"anyOf":[{"type":"integer"},{"maxLength":2}]}"#,
        r#"{"oneOf":[{},{}]}"#,
        r#"{"allOf":[{"minLength":100}]}"#,
        r#"{"if":{"type":"string"},"then":{"maxLength":1}}"#,
    ];
    for schema in schemas {
        for (schema, value) in [
            (schema.to_owned(), format!("\"{secret}\"")),
            (
                format!(r#"{{"properties":{{"a":{schema}}}}}"#),
                format!(r#"{{"a":"{secret}"}}"#),
            ),
            (
                format!(r#"{{"items":{schema}}}"#),
                format!(r#"["{secret}"]"#),
            ),
            (
                format!(r#"{{"contains":{schema},"unevaluatedItems":false}}"#),
                format!(r#"["{secret}"]"#),
            ),
            (
                format!(r#"{{"propertyNames":{schema}}}"#),
                format!(r#"{{"{secret}":1}}"#),
            ),
        ] {
            let told = failures(&schema, &value);
            assert!(
                !told.is_empty() && told.iter().all(|line| !line.contains(secret)),
                "{schema}: {told:?}"
            );
        }
    }
}

#[test]
fn at_most_five_failures_are_told() {
    let schema = input(
        r#""additionalProperties":{"type":"integer"}"#,
        Validator::Full,
    );
    let members: Vec<String> = (0..50).map(|n| format!("\"k{n}\":\"x\"")).collect();
    let text = check(&schema, &format!("{{{}}}", members.join(","))).unwrap_err();
    assert_eq!(text.lines().count(), 5);
    assert!(
        text.starts_with("Invalid arguments at /k0: expected integer, got string\n"),
        "{text}"
    );
    let schema = input(r#""additionalProperties":false"#, Validator::Full);
    let text = check(&schema, &format!("{{{}}}", members.join(","))).unwrap_err();
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn a_callers_words_are_bounded_and_stay_on_their_line() {
    let name = "n".repeat(10_000);
    let full = input(r#""additionalProperties":false"#, Validator::Full);
    let text = check(&full, &format!(r#"{{"{name}":1}}"#)).unwrap_err();
    assert_eq!(
        text,
        format!(
            "Invalid arguments: unknown argument \"{}…\"",
            "n".repeat(64)
        )
    );
    let text = check(&full, r#"{"a\nInvalid arguments: \u0007":1}"#).unwrap_err();
    assert_eq!(
        text,
        r#"Invalid arguments: unknown argument "a\nInvalid arguments: \u0007""#
    );
    for validator in [Validator::Full, Validator::Basic] {
        let schema = input(r#""additionalProperties":{"type":"integer"}"#, validator);
        let text = check(&schema, &format!(r#"{{"{name}\n":"x"}}"#)).unwrap_err();
        assert!(text.len() < 200 && text.lines().count() == 1, "{text}");
        let text = check(&schema, r#"{"a\nb":"x"}"#).unwrap_err();
        assert!(
            text.starts_with("Invalid arguments at /a\u{FFFD}b: "),
            "{text}"
        );
    }
}

#[test]
fn long_lists_of_options_are_cut() {
    let options: Vec<String> = (0..1000).map(|n| format!("\"option {n}\"")).collect();
    let told = failures(&format!(r#"{{"enum":[{}]}}"#, options.join(",")), "1");
    assert!(told[0].len() < 600 && told[0].ends_with(", …"), "{told:?}");
    let told = failures(&format!(r#"{{"const":"{}"}}"#, "x".repeat(10_000)), "1");
    assert!(told[0].len() < 200, "{told:?}");
}

#[test]
fn a_catastrophic_pattern_ends() {
    for validator in [Validator::Full, Validator::Basic] {
        // A back-reference forces the engine that steps back.
        let schema = input(
            r#""properties":{"a":{"type":"string","pattern":"^(a|aa)+\\1$"}}"#,
            validator,
        );
        let before = Instant::now();
        let text = check(&schema, &format!(r#"{{"a":"{}b"}}"#, "a".repeat(5000))).unwrap_err();
        assert!(text.starts_with("Invalid arguments at /a: "), "{text}");
        assert!(before.elapsed() < SOON);
    }
}

#[test]
fn a_message_of_nothing_but_mistakes_is_answered_soon() {
    let ones = format!("[{}1]", "1,".repeat(500_000));
    let cases = [
        (
            r#"{"type":"array","items":{"type":"string"}}"#,
            ones.clone(),
        ),
        (
            r#"{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}"#,
            ones.clone(),
        ),
        (
            r#"{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}"#,
            ones.clone(),
        ),
        (r#"{"uniqueItems":true}"#, ones),
    ];
    for (schema, value) in cases {
        let schema = input(
            &format!(r#""properties":{{"a":{schema}}}"#),
            Validator::Full,
        );
        let value = json(&format!(r#"{{"a":{value}}}"#));
        let before = Instant::now();
        let text = schema
            .check_arguments(value.as_object().unwrap())
            .unwrap_err();
        assert!(text.lines().count() <= 5, "{text}");
        assert!(before.elapsed() < SOON);
    }
}

#[test]
fn an_object_of_many_unknown_names_is_answered_soon() {
    let members: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":1")).collect();
    let value = json(&format!("{{{}}}", members.join(",")));
    for validator in [Validator::Full, Validator::Basic] {
        let schema = input(
            r#""properties":{"a":{},"b":{}},"additionalProperties":false"#,
            validator,
        );
        let before = Instant::now();
        assert!(schema.check_arguments(value.as_object().unwrap()).is_err());
        assert!(before.elapsed() < SOON);
    }
}
