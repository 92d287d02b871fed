//! The full validator: one sentence for every rule, the types exact, no value ever told.

use super::*;

/// Schema, value, what is said.
const SENTENCES: &[(&str, &str, &[&str])] = &[
    (
        r#"{"type":"integer"}"#,
        r#""5""#,
        &[": expected integer, got string"],
    ),
    (
        r#"{"type":"integer"}"#,
        "true",
        &[": expected integer, got boolean"],
    ),
    (
        r#"{"type":"integer"}"#,
        "2.5",
        &[": expected integer, got number"],
    ),
    (
        r#"{"type":"number"}"#,
        "null",
        &[": expected number, got null"],
    ),
    (
        r#"{"type":"boolean"}"#,
        "1",
        &[": expected boolean, got integer"],
    ),
    (
        r#"{"type":"string"}"#,
        "[]",
        &[": expected string, got array"],
    ),
    (
        r#"{"type":"array"}"#,
        "{}",
        &[": expected array, got object"],
    ),
    (
        r#"{"type":["null","integer"]}"#,
        r#""x""#,
        &[": expected integer or null, got string"],
    ),
    (
        r#"{"type":["null","integer","array"]}"#,
        r#""x""#,
        &[": expected integer, array or null, got string"],
    ),
    (r#"{"const":"a"}"#, r#""b""#, &[r#": must be "a""#]),
    (r#"{"const":5}"#, "true", &[": must be 5"]),
    (
        r#"{"enum":["price","name"]}"#,
        r#""x""#,
        &[r#": must be one of "price", "name""#],
    ),
    (
        r#"{"enum":[1,null,{"a":2}]}"#,
        "2",
        &[r#": must be one of 1, null, {"a":2}"#],
    ),
    (r#"{"minimum":3}"#, "2", &[": must be at least 3"]),
    (r#"{"maximum":50}"#, "51", &[": must be at most 50"]),
    (
        r#"{"exclusiveMinimum":0}"#,
        "0",
        &[": must be greater than 0"],
    ),
    (
        r#"{"exclusiveMaximum":1.5}"#,
        "1.5",
        &[": must be less than 1.5"],
    ),
    (r#"{"multipleOf":2}"#, "3", &[": must be a multiple of 2"]),
    (
        r#"{"multipleOf":0.1}"#,
        "0.25",
        &[": must be a multiple of 0.1"],
    ),
    (
        r#"{"minLength":1}"#,
        r#""""#,
        &[": must have at least 1 character"],
    ),
    (
        r#"{"minLength":3}"#,
        r#""ab""#,
        &[": must have at least 3 characters"],
    ),
    (
        r#"{"maxLength":2}"#,
        r#""abc""#,
        &[": must have at most 2 characters"],
    ),
    (
        r#"{"pattern":"^[a-z]+$"}"#,
        r#""A1""#,
        &[r#": must match the pattern "^[a-z]+$""#],
    ),
    (r#"{"minItems":1}"#, "[]", &[": must have at least 1 item"]),
    (
        r#"{"maxItems":2}"#,
        "[1,2,3]",
        &[": must have at most 2 items"],
    ),
    (
        r#"{"uniqueItems":true}"#,
        "[1,1.0]",
        &[": must not have the same item twice"],
    ),
    (
        r#"{"contains":{"type":"integer"}}"#,
        r#"["a"]"#,
        &[": must have the items that `contains` asks for, in the right number"],
    ),
    (
        r#"{"prefixItems":[{}],"items":false}"#,
        "[1,2]",
        &["/1: is not allowed"],
    ),
    (
        r#"{"prefixItems":[{}],"unevaluatedItems":false}"#,
        "[1,2]",
        &[": has items that are not allowed"],
    ),
    (
        r#"{"minProperties":1}"#,
        "{}",
        &[": must have at least 1 property"],
    ),
    (
        r#"{"maxProperties":1}"#,
        r#"{"a":1,"b":2}"#,
        &[": must have at most 1 property"],
    ),
    (
        r#"{"required":["a","b"]}"#,
        "{}",
        &[
            r#": missing required property "a""#,
            r#": missing required property "b""#,
        ],
    ),
    (
        r#"{"dependentRequired":{"a":["b"]}}"#,
        r#"{"a":1}"#,
        &[r#": missing required property "b""#],
    ),
    (
        r#"{"properties":{"a":1},"additionalProperties":false}"#,
        r#"{"x":1}"#,
        &[r#": unknown property "x""#],
    ),
    (
        r#"{"additionalProperties":false}"#,
        r#"{"x":1,"y":2}"#,
        &[r#": unknown property "x""#, r#": unknown property "y""#],
    ),
    (
        r#"{"items":{"properties":{},"additionalProperties":false}}"#,
        r#"[{"x":1}]"#,
        &[r#"/0: unknown property "x""#],
    ),
    (
        r#"{"unevaluatedProperties":false}"#,
        r#"{"x":1}"#,
        &[r#": unknown property "x""#],
    ),
    (
        r#"{"propertyNames":{"maxLength":2}}"#,
        r#"{"abc":1}"#,
        &[": every property name must have at most 2 characters"],
    ),
    (
        r#"{"properties":{"a":false}}"#,
        r#"{"a":1}"#,
        &["/a: is not allowed"],
    ),
    (
        r#"{"not":{"type":"integer"}}"#,
        "1",
        &[": must not match the schema under `not`"],
    ),
    (
        r#"{"oneOf":[{"minimum":1},{"maximum":5}]}"#,
        "3",
        &[": must match exactly one of the alternatives, and matches several"],
    ),
    ("false", "1", &[": is not allowed"]),
];

#[test]
fn every_rule_has_its_sentence() {
    for (schema, value, expected) in SENTENCES {
        let schema = schema.replace(r#""a":1}"#, r#""a":true}"#);
        assert_eq!(failures(&schema, value), *expected, "{schema} {value}");
    }
}

#[test]
fn a_failure_tells_where_it_is() {
    let schema = r#"{"properties":{"items":{"type":"array","items":{"properties":{"n":{"type":"integer"}}}}}}"#;
    let value = r#"{"items":[{"n":1},{"n":"x"},{"n":2},{"n":null}]}"#;
    assert_eq!(
        failures(schema, value),
        [
            "/items/1/n: expected integer, got string",
            "/items/3/n: expected integer, got null"
        ],
    );
    // Keys stand as they are, `/` and `~` included.
    let schema = r#"{"additionalProperties":{"type":"integer"}}"#;
    assert_eq!(
        failures(schema, r#"{"a/b~c":"x"}"#),
        ["/a/b~c: expected integer, got string"]
    );
    let schema = r##"{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"maximum":1}}}"##;
    assert_eq!(failures(schema, r#"{"a":2}"#), ["/a: must be at most 1"]);
}

#[test]
fn of_several_alternatives_the_nearest_is_told() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#,
            r#""x""#,
            &[": expected integer or null, got string"],
        ),
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"null"}]}"#,
            r#""x""#,
            &[": expected integer or null, got string"],
        ),
        (
            r#"{"anyOf":[{"anyOf":[{"type":"integer"},{"type":"boolean"}]},{"type":"null"}]}"#,
            r#""x""#,
            &[": expected integer, boolean or null, got string"],
        ),
        (
            r#"{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}"#,
            "0",
            &[": must be at least 1"],
        ),
        (
            r#"{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}"#,
            r#""x""#,
            &[": expected integer or null, got string"],
        ),
        (
            r#"{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}"#,
            r#"["a",1]"#,
            &["/1: expected string, got integer"],
        ),
        (
            r#"{"oneOf":[{"const":1},{"const":2}]}"#,
            "3",
            &[": must be one of 1, 2"],
        ),
        (
            r#"{"anyOf":[{"enum":["a","b"]},{"type":"null"}]}"#,
            r#""c""#,
            &[r#": must be one of "a", "b""#],
        ),
        (
            r#"{"oneOf":[
                {"properties":{"kind":{"const":"square"},"side":{"type":"number"}}},
                {"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}}
            ]}"#,
            r#"{"kind":"circle","radius":"big","side":"x"}"#,
            &["/radius: expected number, got string"],
        ),
        (r#"{"anyOf":[false,false]}"#, "1", &[": is not allowed"]),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(failures(schema, value), *expected, "{schema} {value}");
    }
}

#[test]
fn types_are_exact() {
    let accepted = [
        (r#"{"type":"integer"}"#, "5.0"),
        (r#"{"type":"integer"}"#, "1e2"),
        (r#"{"type":"integer"}"#, "123456789012345678901234567890"),
        (r#"{"type":"number"}"#, "123456789012345678901234567890"),
        (
            r#"{"type":"number","minimum":9223372036854775807}"#,
            "123456789012345678901234567890",
        ),
        (
            r#"{"maximum":-9223372036854775807}"#,
            "-123456789012345678901234567890",
        ),
        (r#"{"const":18446744073709551615}"#, "18446744073709551615"),
        (
            r#"{"uniqueItems":true}"#,
            "[123456789012345678901234567890,123456789012345678901234567891]",
        ),
        (r#"{"uniqueItems":true}"#, "[1,true,\"1\",null,0,false]"),
        (r#"{"maxLength":2}"#, r#""😀é""#),
        (r#"{"const":{"a":[1,2.0]}}"#, r#"{"a":[1.0,2]}"#),
        (r#"{"format":"email"}"#, r#""not an address""#),
        (r#"{"format":"no-such-format"}"#, r#""x""#),
        (
            r#"{"contentEncoding":"base64","contentMediaType":"application/json"}"#,
            r#""%%%""#,
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","contentEncoding":"base64"}"#,
            r#""%%%""#,
        ),
        (r#"{"pattern":"^\\d+$"}"#, r#""123""#),
        ("true", "1"),
    ];
    for (schema, value) in accepted {
        assert_eq!(failures(schema, value), [""; 0], "{schema} {value}");
    }
    let refused = [
        (r#"{"maximum":9223372036854775807}"#, "9223372036854775808"),
        (r#"{"const":18446744073709551615}"#, "18446744073709551614"),
        (r#"{"minLength":3}"#, r#""😀é""#),
        (r#"{"enum":[1]}"#, "true"),
        (r#"{"enum":["1"]}"#, "1"),
        (r#"{"enum":[[1,{"a":null}]]}"#, r#"[1,{"a":false}]"#),
    ];
    for (schema, value) in refused {
        assert_eq!(failures(schema, value).len(), 1, "{schema} {value}");
    }
}

#[test]
fn arguments_are_told_line_by_line() {
    let schema = input(
        r#""properties":{"query":{"type":"string"},"limit":{"type":"integer","maximum":50}},
        "required":["query"],"additionalProperties":false"#,
        Validator::Full,
    );
    assert_eq!(check(&schema, r#"{"query":"x","limit":5}"#), Ok(()));
    assert_eq!(check(&schema, r#"{"query":"x","limit":5.0}"#), Ok(()));
    assert_eq!(
        check(&schema, "{}"),
        Err("Missing required arguments: query".into())
    );
    assert_eq!(
        check(&schema, r#"{"query":"x","limt":5}"#),
        Err(r#"Invalid arguments: unknown argument "limt"; did you mean "limit"?"#.into()),
    );
    assert_eq!(
        check(&schema, r#"{"query":1,"limit":"5","colour":2}"#),
        Err([
            "Invalid arguments at /query: expected string, got integer",
            "Invalid arguments at /limit: expected integer, got string",
            r#"Invalid arguments: unknown argument "colour""#,
        ]
        .join("\n")),
    );
}

#[test]
fn a_misspelt_required_argument_gets_a_suggestion() {
    let schema = input(
        r#""properties":{"text":{"type":"string"},"n":{"type":"integer"}},
        "required":["text"],"additionalProperties":false"#,
        Validator::Full,
    );
    assert_eq!(
        check(&schema, r#"{"txet":"x","n":"wrong too"}"#),
        Err([
            "Missing required arguments: text",
            r#"Invalid arguments: unknown argument "txet"; did you mean "text"?"#,
        ]
        .join("\n")),
    );
    assert_eq!(
        check(&schema, r#"{"n":"wrong"}"#),
        Err("Missing required arguments: text".into())
    );
    let many: Vec<String> = (0..9).map(|n| format!("\"other{n}\":{n}")).collect();
    let text = check(&schema, &format!("{{{}}}", many.join(","))).unwrap_err();
    assert_eq!(text.lines().count(), 5, "{text}");
    // Whoever takes any name is told of none.
    let open = input(
        r#""properties":{"text":{}},"required":["text"]"#,
        Validator::Full,
    );
    assert_eq!(
        check(&open, r#"{"txet":1}"#),
        Err("Missing required arguments: text".into())
    );
}

#[test]
fn nested_misspelt_names_are_properties_and_get_a_suggestion() {
    let schema = input(
        r##""properties":{"item":{"$ref":"#/$defs/Item"}},
        "$defs":{"Item":{"type":"object","properties":{"price":{}},"additionalProperties":false}}"##,
        Validator::Full,
    );
    assert_eq!(
        check(&schema, r#"{"item":{"prise":1}}"#),
        Err(
            r#"Invalid arguments at /item: unknown property "prise"; did you mean "price"?"#.into()
        ),
    );
}

#[test]
fn the_missing_are_told_in_the_order_of_the_list_by_every_validator() {
    for validator in [
        Validator::Full,
        Validator::Basic,
        Validator::Passthrough,
        Validator::Custom,
    ] {
        let schema = input(r#""required":["b","a","c"]"#, validator);
        assert_eq!(
            check(&schema, r#"{"a":null}"#),
            Err("Missing required arguments: b, c".into()),
            "{validator:?}"
        );
        assert_eq!(
            check(&schema, r#"{"a":null,"b":1,"c":2}"#),
            Ok(()),
            "{validator:?}"
        );
    }
}

#[test]
fn passthrough_and_custom_check_nothing_else() {
    for validator in [Validator::Passthrough, Validator::Custom] {
        let schema = input(
            r#""properties":{"a":{"type":"integer"}},"additionalProperties":false"#,
            validator,
        );
        assert_eq!(check(&schema, r#"{"a":"x","b":1}"#), Ok(()));
        let output = Schema::output(&json(r#"{"type":"object"}"#), validator).unwrap();
        assert!(output.accepts_output(b"[]"));
    }
}

#[test]
fn output_is_held_to_its_schema_whatever_its_root() {
    let cases = [
        (r#"{"type":"object","required":["a"]}"#, r#"{"a":1}"#, true),
        (r#"{"type":"object","required":["a"]}"#, "{}", false),
        (
            r#"{"type":"array","items":{"type":"integer"}}"#,
            "[1,2]",
            true,
        ),
        (
            r#"{"type":"array","items":{"type":"integer"}}"#,
            r#"[1,"2"]"#,
            false,
        ),
        (r#"{"type":["integer","null"]}"#, "null", true),
        ("{}", "not json", false),
        ("{}", r#"{"a":1}"#, true),
    ];
    for (schema, content, accepted) in cases {
        let schema = Schema::output(&json(schema), Validator::Full).unwrap();
        assert_eq!(
            schema.accepts_output(content.as_bytes()),
            accepted,
            "{content}"
        );
    }
}

#[test]
fn a_recursive_schema_is_applied_to_every_level() {
    let schema = r##"{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
        "next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}"##;
    assert_eq!(
        failures(schema, r#"{"v":1,"next":{"v":2,"next":{"v":3}}}"#),
        [""; 0]
    );
    assert_eq!(
        failures(schema, r#"{"v":1,"next":{"v":2,"next":{"v":"x"}}}"#),
        ["/next/next/v: expected integer, got string"],
    );
}
