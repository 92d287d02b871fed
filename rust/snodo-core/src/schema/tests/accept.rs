//! Which schemas are accepted, and what is said of the others.

use super::*;

fn refusal(schema: &str) -> (String, String) {
    let error = Schema::output(&json(schema), Validator::Full).expect_err(schema);
    (error.path, error.reason)
}

#[test]
fn the_root_of_an_input_is_an_object_schema() {
    let cases = [
        ("true", "", "a schema must be a JSON object"),
        ("[]", "", "a schema must be a JSON object"),
        ("{}", "", "the root must have \"type\": \"object\""),
        (
            r#"{"type":"array"}"#,
            "/type",
            "the type of the root must be exactly \"object\"",
        ),
        (
            r#"{"type":["object"]}"#,
            "/type",
            "the type of the root must be exactly \"object\"",
        ),
        (
            r#"{"type":"object","required":"a"}"#,
            "/required",
            "required must be a list of unique strings",
        ),
        (
            r#"{"type":"object","required":["a",1]}"#,
            "/required",
            "required must be a list of unique strings",
        ),
        (
            r#"{"type":"object","required":["a","a"]}"#,
            "/required",
            "required must be a list of unique strings",
        ),
    ];
    for (schema, path, reason) in cases {
        for validator in [
            Validator::Full,
            Validator::Basic,
            Validator::Passthrough,
            Validator::Custom,
        ] {
            let error = Schema::input(&json(schema), validator).expect_err(schema);
            assert_eq!(
                (error.path.as_str(), error.reason.as_str()),
                (path, reason),
                "{schema} {validator:?}"
            );
        }
    }
    let schema = Schema::input(
        &json(r#"{"type":"object","required":["b","a"]}"#),
        Validator::Full,
    )
    .unwrap();
    assert_eq!(schema.required, ["b", "a"]);
}

#[test]
fn an_error_names_place_and_reason() {
    let error = Schema::input(&json(r#"{"type":"array"}"#), Validator::Full).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the type of the root must be exactly \"object\" (at /type)"
    );
}

#[test]
fn two_drafts_are_spoken() {
    let accepted = [
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema"}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$schema":"http://json-schema.org/draft-07/schema"}}}"#,
    ];
    for schema in accepted {
        assert!(
            Schema::output(&json(schema), Validator::Full).is_ok(),
            "{schema}"
        );
    }
    let unsupported = r#"$schema must be "https://json-schema.org/draft/2020-12/schema" (the default) or "http://json-schema.org/draft-07/schema#""#;
    for draft in [
        "\"http://json-schema.org/draft-04/schema#\"",
        "\"https://json-schema.org/draft/2019-09/schema\"",
        "\"http://json-schema.org/schema#\"",
        "\"https://example.com/mine\"",
        "7",
    ] {
        let schema = format!(r#"{{"$schema":{draft}}}"#);
        assert_eq!(
            refusal(&schema),
            ("/$schema".into(), unsupported.into()),
            "{draft}"
        );
    }
    let nested =
        r#"{"$defs":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-07/schema#"}}}"#;
    assert_eq!(
        refusal(nested),
        (
            "/$defs/a/$schema".into(),
            "a nested $schema must be the same as the root's".into()
        )
    );
}

#[test]
fn draft_7_is_applied_where_declared() {
    let tuple = r#""items":[{"type":"integer"}],"additionalItems":false"#;
    let seven = format!(r#"{{"$schema":"http://json-schema.org/draft-07/schema#",{tuple}}}"#);
    assert_eq!(
        failures(&seven, r#"["x"]"#),
        ["/0: expected integer, got string"]
    );
    assert_eq!(failures(&seven, "[1,2]"), [": must have at most 1 item"]);
    // In 2020-12 that is not a schema at all.
    assert_eq!(refusal(&format!("{{{tuple}}}")).0, "/items");
}

#[test]
fn a_schema_is_held_to_its_meta_schema() {
    let cases = [
        (
            r#"{"type":"strin"}"#,
            "/type",
            r#"must be one of "array", "boolean", "integer", "null", "number", "object", "string""#,
        ),
        (
            r#"{"type":5}"#,
            "/type",
            r#"must be one of "array", "boolean", "integer", "null", "number", "object", "string""#,
        ),
        (
            r#"{"properties":[]}"#,
            "/properties",
            "expected object, got array",
        ),
        (
            r#"{"properties":{"a":{"minimum":"1"}}}"#,
            "/properties/a/minimum",
            "expected number, got string",
        ),
        (
            r#"{"properties":{"a/b":{"maxLength":-1}}}"#,
            "/properties/a~1b/maxLength",
            "must be at least 0",
        ),
        (
            r#"{"properties":{"a":5}}"#,
            "/properties/a",
            "expected boolean or object, got integer",
        ),
        (r#"{"allOf":[]}"#, "/allOf", "must have at least 1 item"),
        (
            r#"{"multipleOf":0}"#,
            "/multipleOf",
            "must be greater than 0",
        ),
        (
            r#"{"required":["a"],"$anchor":"1"}"#,
            "/$anchor",
            r#"must match the pattern "^[A-Za-z_][-A-Za-z0-9._]*$""#,
        ),
        (
            r#"{"properties":{"a":{"pattern":"("}}}"#,
            "/properties/a/pattern",
            "pattern is not a valid regular expression",
        ),
    ];
    for (schema, path, reason) in cases {
        assert_eq!(refusal(schema), (path.into(), reason.into()), "{schema}");
    }
}

/// References that stay inside and land on a schema, and what only looks like one.
const SOUND: &[&str] = &[
    r##"{"$ref":"#"}"##,
    r##"{"$defs":{"a":{}},"$ref":"#/$defs/a"}"##,
    r##"{"$defs":{"a/b~c d":{}},"$ref":"#/$defs/a~1b~0c%20d"}"##,
    r##"{"definitions":{"a":{}},"$ref":"#/definitions/a"}"##,
    r##"{"properties":{"a":{"$ref":"#/properties/b"},"b":{"items":{}}}}"##,
    r##"{"$defs":{"a":{"$anchor":"here"}},"$ref":"#here"}"##,
    r##"{"$defs":{"a":{"$dynamicAnchor":"here"}},"$dynamicRef":"#here"}"##,
    r#"{"$defs":{"a":{"$id":"thing"}},"$ref":"thing"}"#,
    r#"{"$id":"https://example.com/root","$defs":{"a":{"$id":"thing","$defs":{"b":{}}}},"$ref":"https://example.com/thing#/$defs/b"}"#,
    r##"{"$defs":{"a":{"$id":"thing","$defs":{"b":{}},"items":{"$ref":"#/$defs/b"}}}}"##,
    r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#,
    r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#here"}},"items":{"$ref":"#here"}}"##,
    // Not references: a property of that name, and data.
    r#"{"properties":{"$ref":{"type":"string"}}}"#,
    r#"{"default":{"$ref":"http://example.com/"},"enum":[{"$ref":"x"}],"const":{"$ref":5}}"#,
];

const AWAY: &str =
    r##"$ref must stay within this schema, as in "#/$defs/name"; nothing is fetched"##;

/// Schema, place, reason.
const UNSOUND: &[(&str, &str, &str)] = &[
    (
        r#"{"items":{"$ref":"https://example.com/a.json"}}"#,
        "/items/$ref",
        AWAY,
    ),
    (r#"{"$ref":"http://127.0.0.1:1/a"}"#, "/$ref", AWAY),
    (r#"{"$ref":"file:///etc/passwd"}"#, "/$ref", AWAY),
    (r#"{"$ref":"other.json"}"#, "/$ref", AWAY),
    (
        r#"{"$ref":"http://json-schema.org/draft-04/schema#"}"#,
        "/$ref",
        AWAY,
    ),
    (r##"{"$ref":"#/$defs/a"}"##, "/$ref", "$ref leads nowhere"),
    (
        r##"{"$ref":"#nowhere"}"##,
        "/$ref",
        "$ref names an anchor that does not exist",
    ),
    (
        r##"{"$dynamicRef":"#nowhere"}"##,
        "/$dynamicRef",
        "$dynamicRef names an anchor that does not exist",
    ),
    (
        r##"{"$ref":"#/properties","properties":{}}"##,
        "/$ref",
        "$ref leads to a place that is not a schema",
    ),
    (
        r##"{"$ref":"#/default","default":{}}"##,
        "/$ref",
        "$ref leads to a place that is not a schema",
    ),
    (
        r##"{"$ref":"#/enum/0","enum":[{}]}"##,
        "/$ref",
        "$ref leads to a place that is not a schema",
    ),
    (
        r##"{"$ref":"#/x-mine","x-mine":{}}"##,
        "/$ref",
        "$ref leads to a place that is not a schema",
    ),
    (
        r##"{"$ref":"#/$defs/a~2"}"##,
        "/$ref",
        "$ref has a malformed ~ escape",
    ),
    (
        r##"{"$ref":"#/$defs/%zz"}"##,
        "/$ref",
        "$ref has a malformed percent escape",
    ),
    (
        r#"{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}"#,
        "/$defs/b/$anchor",
        "this anchor is used twice",
    ),
    (
        r#"{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}"#,
        "/$defs/b/$id",
        "this $id is used twice",
    ),
    (
        r#"{"$id":"https://JSON-schema.org/mine"}"#,
        "/$id",
        "$id must not use the host json-schema.org, which is reserved",
    ),
    (
        r#"{"$defs":{"a":{"$id":"http://json-schema.org/x"}}}"#,
        "/$defs/a/$id",
        "$id must not use the host json-schema.org, which is reserved",
    ),
    (
        r#"{"$defs":{"a":{"$id":"http://[x"}}}"#,
        "/$defs/a/$id",
        "$id must be a URI",
    ),
];

#[test]
fn references_stay_inside_and_land_on_schemas() {
    for schema in SOUND {
        if let Err(error) = Schema::output(&json(schema), Validator::Full) {
            panic!("{schema}: {error}");
        }
    }
    for (schema, path, reason) in UNSOUND {
        assert_eq!(
            refusal(schema),
            ((*path).into(), (*reason).into()),
            "{schema}"
        );
    }
}

#[test]
fn depth_and_number_of_schemas_are_bounded() {
    let nest = |depth: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
    assert!(Schema::output(&json(&nest(64)), Validator::Full).is_ok());
    let (path, reason) = refusal(&nest(65));
    assert_eq!(
        (path.len(), reason.as_str()),
        ("/not".len() * 65, "schemas are nested more than 64 deep")
    );
    let many = |count: usize| format!(r#"{{"anyOf":[{}true]}}"#, "true,".repeat(count - 2));
    assert!(Schema::output(&json(&many(10_000)), Validator::Full).is_ok());
    assert_eq!(
        refusal(&many(10_001)).1,
        "there are more than 10000 schemas in this schema"
    );
}
