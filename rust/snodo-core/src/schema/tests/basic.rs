//! The basic validator: texts and order are a contract.

use super::*;
use crate::schema::basic::Basic;

/// `path: rule` of the first failure, or nothing. The schema need not be acceptable.
fn first(schema: &str, value: &str) -> Option<String> {
    let failure = Basic::new(&json(schema)).check(&json(value)).err()?;
    Some(format!("{}: {}", failure.place(), failure.rule))
}

#[test]
fn every_keyword_refuses_with_its_text() {
    let size = ": value violates the declared size bound";
    let bound = ": number is outside the declared bound";
    let kind = ": value is not one of the declared JSON types";
    let cases = [
        ("false", "1", ": value is rejected"),
        (r#"{"type":"integer"}"#, "1.0", kind),
        (r#"{"type":"integer"}"#, "true", kind),
        (r#"{"type":"number"}"#, "false", kind),
        (r#"{"type":["string","null"]}"#, "1", kind),
        (
            r#"{"const":1}"#,
            "true",
            ": value does not equal the declared constant",
        ),
        (
            r#"{"enum":[1,"a"]}"#,
            "2",
            ": value is not one of the allowed values",
        ),
        (r#"{"minProperties":1}"#, "{}", size),
        (r#"{"maxProperties":0}"#, r#"{"a":1}"#, size),
        (r#"{"minItems":1}"#, "[]", size),
        (r#"{"maxItems":1}"#, "[1,2]", size),
        (r#"{"minLength":3}"#, r#""😀é""#, size),
        (r#"{"maxLength":1}"#, r#""😀é""#, size),
        (
            r#"{"required":["a","b"]}"#,
            r#"{"a":1}"#,
            "/b: required property is missing",
        ),
        (
            r#"{"additionalProperties":false}"#,
            r#"{"z":1,"b":1}"#,
            "/b: property is not allowed",
        ),
        (
            r#"{"additionalProperties":{"type":"string"}}"#,
            r#"{"z":1,"b":1}"#,
            "/b: value is not one of the declared JSON types",
        ),
        (
            r#"{"uniqueItems":true}"#,
            "[1,2,1.0]",
            ": array items must be unique",
        ),
        (
            r#"{"items":{"items":{"type":"string"}}}"#,
            r#"[["a"],["b",1]]"#,
            "/1/1: value is not one of the declared JSON types",
        ),
        (
            r#"{"pattern":"^a"}"#,
            r#""ba""#,
            ": string does not match the required pattern",
        ),
        (r#"{"minimum":2}"#, "1", bound),
        (r#"{"maximum":2}"#, "2.5", bound),
        (r#"{"exclusiveMinimum":2}"#, "2.0", bound),
        (r#"{"exclusiveMaximum":2}"#, "2", bound),
        (
            r#"{"maximum":9223372036854775807}"#,
            "9223372036854775808",
            bound,
        ),
        (
            r#"{"minimum":100000000000000000000}"#,
            "-300000000000000000000",
            bound,
        ),
    ];
    for (schema, value, failure) in cases {
        assert_eq!(
            first(schema, value).as_deref(),
            Some(failure),
            "{schema} {value}"
        );
    }
}

#[test]
fn what_is_allowed_passes() {
    let cases = [
        ("true", "1"),
        ("{}", "null"),
        (r#"{"type":"number"}"#, "1"),
        (r#"{"type":"integer"}"#, "123456789012345678901234567890"),
        (
            r#"{"type":["array","boolean","integer","null","number","object","string"]}"#,
            "null",
        ),
        (r#"{"const":1}"#, "1.0"),
        (r#"{"const":{"a":1,"b":[2]}}"#, r#"{"b":[2.0],"a":1.0}"#),
        (r#"{"enum":[[1]]}"#, "[1.0]"),
        (r#"{"maxLength":2}"#, r#""😀é""#),
        (r#"{"pattern":"b(?=c)"}"#, r#""abc""#),
        (r#"{"pattern":"(a)\\1"}"#, r#""xaa""#),
        (r#"{"uniqueItems":true}"#, "[1,true,\"1\",null,false,0]"),
        (r#"{"uniqueItems":false}"#, "[1,1]"),
        (r#"{"minimum":1,"maximum":1}"#, "1.0"),
        (
            r#"{"minimum":-300000000000000000000}"#,
            "-200000000000000000000",
        ),
        // Ignored keywords.
        (
            r#"{"format":"email","multipleOf":2,"anyOf":[false],"not":{},"prefixItems":[false],"$ref":"nowhere"}"#,
            "3",
        ),
        // Keywords for other types are not even looked at.
        (
            r#"{"minLength":"x","pattern":5,"required":5,"items":5}"#,
            "1",
        ),
        (r#"{"minimum":"x","minItems":-1,"uniqueItems":1}"#, r#""a""#),
    ];
    for (schema, value) in cases {
        assert_eq!(first(schema, value), None, "{schema} {value}");
    }
}

#[test]
fn a_wrong_schema_is_reported_as_a_wrong_value() {
    let cases = [
        ("5", "1", ": schema must be a map"),
        (
            r#"{"properties":{"a":5}}"#,
            r#"{"a":1}"#,
            "/a: nested schema must be a map or boolean",
        ),
        (
            r#"{"items":5}"#,
            "[1]",
            "/0: nested schema must be a map or boolean",
        ),
        (
            r#"{"type":"any"}"#,
            "1",
            ": type must name one or more supported JSON types",
        ),
        (
            r#"{"type":["integer","any"]}"#,
            "1",
            ": type must name one or more supported JSON types",
        ),
        (
            r#"{"type":[]}"#,
            "1",
            ": type must name one or more supported JSON types",
        ),
        (
            r#"{"type":5}"#,
            "1",
            ": type must name one or more supported JSON types",
        ),
        (r#"{"enum":1}"#, "1", ": enum must be a list"),
        (
            r#"{"minLength":-1}"#,
            r#""a""#,
            ": size bound must be a non-negative integer",
        ),
        (
            r#"{"maxItems":1.0}"#,
            "[]",
            ": size bound must be a non-negative integer",
        ),
        (
            r#"{"required":["a","a"]}"#,
            "{}",
            ": required must contain unique string names",
        ),
        (
            r#"{"required":[1]}"#,
            "{}",
            ": required must contain unique string names",
        ),
        (r#"{"required":"a"}"#, "{}", ": required must be a list"),
        (r#"{"properties":[]}"#, "{}", ": properties must be a map"),
        (
            r#"{"additionalProperties":5}"#,
            "{}",
            ": additionalProperties must be a schema or boolean",
        ),
        (
            r#"{"uniqueItems":1}"#,
            "[]",
            ": uniqueItems must be a boolean",
        ),
        (
            r#"{"pattern":"("}"#,
            r#""a""#,
            ": pattern is not a valid regular expression",
        ),
        (r#"{"pattern":5}"#, r#""a""#, ": pattern must be a string"),
        (
            r#"{"minimum":"1"}"#,
            "1",
            ": numeric bound must be a number",
        ),
    ];
    for (schema, value, failure) in cases {
        assert_eq!(
            first(schema, value).as_deref(),
            Some(failure),
            "{schema} {value}"
        );
    }
}

#[test]
fn checks_come_in_their_order() {
    let everything = r#"{"type":"object","const":{"k":1},"enum":[{"k":1}],"minProperties":5,"required":["r"],
        "properties":{"b":false,"a":false},"additionalProperties":false}"#;
    let steps = [
        (
            "type",
            "[]",
            ": value is not one of the declared JSON types",
        ),
        (
            "const",
            r#"{"x":1}"#,
            ": value does not equal the declared constant",
        ),
        (
            "enum",
            r#"{"x":1}"#,
            ": value is not one of the allowed values",
        ),
        (
            "minProperties",
            r#"{"x":1}"#,
            ": value violates the declared size bound",
        ),
        ("required", r#"{"x":1}"#, "/r: required property is missing"),
        (
            "properties",
            r#"{"x":1,"b":1,"a":1}"#,
            "/a: value is rejected",
        ),
        (
            "additionalProperties",
            r#"{"y":1,"x":1}"#,
            "/x: property is not allowed",
        ),
    ];
    let mut schema = json(everything);
    for (keyword, value, failure) in steps {
        let text = String::from_utf8(schema.to_vec()).unwrap();
        assert_eq!(first(&text, value).as_deref(), Some(failure), "{keyword}");
        let Json::Object(object) = &mut schema else {
            unreachable!()
        };
        object.take(keyword);
    }
}

#[test]
fn arguments_are_told_with_their_path() {
    let schema = input(
        r#""properties":{"a":{"type":"array","items":{"properties":{"b":{"type":"integer"}}}}},"maxProperties":1"#,
        Validator::Basic,
    );
    assert_eq!(check(&schema, r#"{"a":[{"b":1}]}"#), Ok(()));
    assert_eq!(
        check(&schema, r#"{"a":[{"b":"x"},{"b":"y"}]}"#),
        Err("Invalid arguments at /a/0/b: value is not one of the declared JSON types".into()),
    );
    assert_eq!(
        check(&schema, r#"{"a":[],"b":1}"#),
        Err("Invalid arguments: value violates the declared size bound".into()),
    );
    let output = Schema::output(&json(r#"{"type":"integer"}"#), Validator::Basic).unwrap();
    assert!(output.accepts_output(b"1"));
    assert!(!output.accepts_output(b"1.0"));
}
