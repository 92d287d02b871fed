//! Lists and objects that arrive as text.

use super::*;

/// The argument `a` after the schema of it has seen what was sent.
fn taken(property: &str, sent: &str, validator: Validator) -> Json {
    let schema = input(
        &format!(r#""properties":{{"a":{property}}},"$defs":{{"list":{{"type":"array"}}}}"#),
        validator,
    );
    let mut arguments = Object::new();
    arguments.insert("a", Json::String(sent.to_owned()));
    schema.unstringify(&mut arguments, &Limits::default());
    arguments.take("a").unwrap()
}

#[test]
fn text_is_taken_for_a_list_or_object_where_no_string_is_admitted() {
    let cases = [
        (r#"{"type":"array"}"#, "[1,2]", true),
        (r#"{"type":"array"}"#, " \n[1] ", true),
        (r#"{"type":"object"}"#, r#"{"k":[1]}"#, true),
        (r#"{"type":["array","null"]}"#, "[]", true),
        (
            r#"{"anyOf":[{"type":"array"},{"type":"null"}]}"#,
            "[]",
            true,
        ),
        (
            r#"{"oneOf":[{"type":"array"},{"type":"object"}]}"#,
            "{}",
            true,
        ),
        (r##"{"$ref":"#/$defs/list"}"##, "[1]", true),
        (
            r##"{"anyOf":[{"$ref":"#/$defs/list"},{"type":"null"}]}"##,
            "[1]",
            true,
        ),
        (
            r#"{"allOf":[{"type":["array","string"]},{"type":"array"}]}"#,
            "[1]",
            true,
        ),
        (r#"{"enum":[[1],[2]]}"#, "[1]", true),
        // Strings are admitted.
        (r#"{"type":"string"}"#, "[1]", false),
        (r#"{"type":["array","string"]}"#, "[1]", false),
        (
            r#"{"anyOf":[{"type":"array"},{"type":"string"}]}"#,
            "[1]",
            false,
        ),
        ("{}", "[1]", false),
        ("true", "[1]", false),
        (
            r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#,
            "[1]",
            false,
        ),
        // Another type than admitted, or not JSON.
        (r#"{"type":"array"}"#, "{}", false),
        (r#"{"type":"object"}"#, "[]", false),
        (r#"{"type":"array"}"#, "[1", false),
        (r#"{"type":"array"}"#, "[1] x", false),
        (r#"{"type":"array"}"#, "", false),
        (r#"{"type":"array"}"#, r#"{"a":1,"a":1}"#, false),
        // Exact types: a number stays text.
        (r#"{"type":"integer"}"#, "5", false),
        (r#"{"type":"boolean"}"#, "true", false),
        (r#"{"type":["array","integer"]}"#, "5", false),
        (r#"{"type":["array","null"]}"#, "null", false),
    ];
    for (property, sent, decoded) in cases {
        let expected = if decoded {
            json(sent)
        } else {
            Json::String(sent.to_owned())
        };
        assert_eq!(
            taken(property, sent, Validator::Full),
            expected,
            "{property} {sent}"
        );
    }
}

#[test]
fn other_validators_take_text_as_text() {
    for validator in [Validator::Basic, Validator::Passthrough, Validator::Custom] {
        assert_eq!(
            taken(r#"{"type":"array"}"#, "[1]", validator),
            Json::String("[1]".into())
        );
    }
}

#[test]
fn text_nested_too_deeply_stays_text() {
    let deep = "[".repeat(100_000);
    assert_eq!(
        taken(r#"{"type":"array"}"#, &deep, Validator::Full),
        Json::String(deep)
    );
}
