//! `x-mcp-header` declarations (MCP 2026-07-28).

use super::*;

fn mirrors(members: &str) -> Result<Vec<Mirror>, (String, String)> {
    let schema = json(&format!(r#"{{"type":"object",{members}}}"#));
    Schema::input(&schema, Validator::Passthrough)
        .map(|schema| schema.mirrors)
        .map_err(|error| (error.path, error.reason))
}

#[test]
fn mirrored_arguments_are_found_at_any_depth_of_properties() {
    let found = mirrors(
        r#""properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "opts":{"type":"object","properties":{
                "dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
                "n":{"type":"integer","x-mcp-header":"!#$%&'*+-.^_`|~9"}}},
            "sql":{"type":"string"}}"#,
    );
    let mirror = |header: &str, path: &[&str], kind| Mirror {
        header: header.into(),
        path: path.iter().map(|&name| name.into()).collect(),
        kind,
    };
    assert_eq!(
        found,
        Ok(vec![
            mirror("mcp-param-region", &["region"], MirrorKind::String),
            mirror("mcp-param-dry-run", &["opts", "dry"], MirrorKind::Boolean),
            mirror(
                "mcp-param-!#$%&'*+-.^_`|~9",
                &["opts", "n"],
                MirrorKind::Integer
            ),
        ])
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn unsound_declarations_are_refused() {
    let property = |members: &str| format!(r#""properties":{{"a":{{{members}}}}}"#);
    let at = "/properties/a/x-mcp-header";
    let unreachable = "x-mcp-header is only allowed on properties reached through `properties`";
    let sound = r#"{"type":"string","x-mcp-header":"N"}"#;
    let cases = [
        (
            property(r#""type":"string","x-mcp-header":5"#),
            at,
            "x-mcp-header must be a string, got: 5",
        ),
        (
            property(r#""type":"string","x-mcp-header":null"#),
            at,
            "x-mcp-header must be a string, got: null",
        ),
        (
            property(r#""type":"string","x-mcp-header":"""#),
            at,
            "x-mcp-header must not be empty",
        ),
        (
            property(r#""type":"string","x-mcp-header":"a b""#),
            at,
            r#"x-mcp-header "a b" is not a valid header name token"#,
        ),
        (
            property(r#""type":"string","x-mcp-header":"a:b""#),
            at,
            r#"x-mcp-header "a:b" is not a valid header name token"#,
        ),
        (
            property(r#""type":"string","x-mcp-header":"é""#),
            at,
            r#"x-mcp-header "é" is not a valid header name token"#,
        ),
        (
            property(r#""type":"string","x-mcp-header":"a\r\nb""#),
            at,
            r#"x-mcp-header "a\r\nb" is not a valid header name token"#,
        ),
        (
            property(r#""type":"number","x-mcp-header":"N""#),
            at,
            r#"x-mcp-header "N" requires type string, integer, or boolean, got: "number""#,
        ),
        (
            property(r#""type":["string"],"x-mcp-header":"N""#),
            at,
            r#"x-mcp-header "N" requires type string, integer, or boolean, got: ["string"]"#,
        ),
        (
            property(r#""x-mcp-header":"N""#),
            at,
            r#"x-mcp-header "N" requires type string, integer, or boolean, got: none"#,
        ),
        (
            format!(r#""properties":{{"a":{sound},"b":{{"type":"string","x-mcp-header":"n"}}}}"#),
            "/properties/b/x-mcp-header",
            r#"x-mcp-header "n" is used more than once, ignoring case"#,
        ),
        (
            r#""x-mcp-header":"N""#.to_owned(),
            "/x-mcp-header",
            unreachable,
        ),
        (
            property(&format!(r#""items":{sound}"#)),
            "/properties/a/items/x-mcp-header",
            unreachable,
        ),
        (
            property(&format!(r#""items":{{"properties":{{"b":{sound}}}}}"#)),
            "/properties/a/items/properties/b/x-mcp-header",
            unreachable,
        ),
        (
            format!(r#""$defs":{{"d":{sound}}}"#),
            "/$defs/d/x-mcp-header",
            unreachable,
        ),
        (
            format!(r#""additionalProperties":{sound}"#),
            "/additionalProperties/x-mcp-header",
            unreachable,
        ),
        (
            format!(r#""patternProperties":{{"x":{sound}}}"#),
            "/patternProperties/x/x-mcp-header",
            unreachable,
        ),
        (
            format!(r#""anyOf":[{{"properties":{{"b":{sound}}}}}]"#),
            "/anyOf/0/properties/b/x-mcp-header",
            unreachable,
        ),
        (
            format!(r#""x-other":{{"y":{sound}}}"#),
            "/x-other/y/x-mcp-header",
            unreachable,
        ),
    ];
    for (members, path, reason) in cases {
        assert_eq!(
            mirrors(&members),
            Err((path.into(), reason.into())),
            "{members}"
        );
    }
}

#[test]
fn the_word_means_nothing_in_data_and_as_a_name() {
    let data = r#"{"x-mcp-header":5}"#;
    let cases = [
        format!(r#""default":{data}"#),
        format!(r#""properties":{{"a":{{"const":{data},"enum":[{data}],"examples":[{data}]}}}}"#),
        r#""properties":{"x-mcp-header":{"type":"string"}}"#.to_owned(),
    ];
    for members in cases {
        assert_eq!(mirrors(&members), Ok(vec![]), "{members}");
    }
    // A property called `default` is a property.
    let members = r#""properties":{"default":{"type":"string","x-mcp-header":"D"}}"#;
    assert_eq!(mirrors(members).map(|found| found.len()), Ok(1));
}
