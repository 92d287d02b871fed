//! Requests embedded in a result and what answers them, as literals: what is held to be one, and what
//! the author is told of everything else.

mod common;

use common::{demo, object};
use snodo_core::call::Target;
use snodo_core::json::Json;
use snodo_core::mrtr::{check_request, check_response};
use snodo_core::outcome::Value;
use snodo_core::pipeline::explain_output;

fn json(text: &str) -> Json {
    Json::Object(object(text))
}

fn refusal(request: &str) -> Option<String> {
    check_request(&json(request))
        .err()
        .map(|error| error.to_string())
}

fn form(schema: &str) -> String {
    format!(
        r#"{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{schema}}}}}"#
    )
}

/// A form of one field `f`.
fn field(property: &str) -> String {
    form(&format!(
        r#"{{"type":"object","properties":{{"f":{property}}}}}"#
    ))
}

fn sampling(rest: &str) -> String {
    format!(
        r#"{{"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{{"type":"text","text":"?"}}}}],"maxTokens":1{rest}}}}}"#
    )
}

fn conversation(messages: &str) -> String {
    format!(
        r#"{{"method":"sampling/createMessage","params":{{"messages":{messages},"maxTokens":1}}}}"#
    )
}

/// A message of the user with this content.
fn said(content: &str) -> String {
    conversation(&format!(r#"[{{"role":"user","content":{content}}}]"#))
}

#[test]
fn the_examples_of_the_specification_are_requests() {
    for good in [
        r#"{"method":"elicitation/create","params":{"mode":"form","message":"Shipping details","requestedSchema":{"type":"object","properties":{"email":{"type":"string","format":"email","title":"E-mail"},"qty":{"type":"integer","minimum":1,"maximum":9,"default":1},"gift":{"type":"boolean","default":false},"size":{"type":"string","enum":["S","M","L"],"default":"M"},"colour":{"type":"string","oneOf":[{"const":"red","title":"Red"},{"const":"blue","title":"Blue"}]},"extras":{"type":"array","items":{"type":"string","enum":["card","wrap"]},"minItems":0,"maxItems":2,"default":["card"]},"tags":{"type":"array","items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}]}}},"required":["email","qty"]}}}"#,
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"Connect your calendar","url":"https://mcp.demo.example/connect/7f3c"}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"One word for happy?"}}],"maxTokens":16}}"#,
        r#"{"method":"roots/list"}"#,
        r#"{"method":"roots/list","params":{}}"#,
    ] {
        assert_eq!(refusal(good), None, "{good}");
    }
}

#[test]
fn a_request_has_a_known_method_and_nothing_of_an_envelope() {
    let cases = [
        (
            "{}",
            "method must be elicitation/create, sampling/createMessage or roots/list",
        ),
        (
            r#"{"method":"tools/call","params":{}}"#,
            "method must be elicitation/create, sampling/createMessage or roots/list",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"roots/list"}"#,
            "jsonrpc does not belong here",
        ),
        (
            r#"{"id":1,"method":"roots/list"}"#,
            "id does not belong here",
        ),
        (
            r#"{"method":"roots/list","params":{"a":1}}"#,
            "params must be absent or empty",
        ),
        (
            r#"{"method":"roots/list","params":null}"#,
            "params must be absent or empty",
        ),
        (
            r#"{"method":"elicitation/create"}"#,
            "params must be an object",
        ),
        (
            r#"{"method":"elicitation/create","params":[]}"#,
            "params must be an object",
        ),
        (
            r#"{"method":"sampling/createMessage"}"#,
            "params must be an object",
        ),
    ];
    for (request, reason) in cases {
        assert_eq!(refusal(request).as_deref(), Some(reason), "{request}");
    }
    let error = check_request(&Json::Null).expect_err("not an object");
    assert_eq!(error.to_string(), "the request must be an object");
}

#[test]
fn elicitation_has_the_members_of_its_mode() {
    let cases = [
        (
            r#"{"mode":"page","message":"m"}"#,
            "params.mode must be form or url",
        ),
        (
            r#"{"mode":1,"message":"m"}"#,
            "params.mode must be form or url",
        ),
        (
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}},"url":"https://a.example"}"#,
            "params.url does not belong here",
        ),
        (
            r#"{"mode":"url","message":"m","url":"https://a.example","elicitationId":"1"}"#,
            "params.elicitationId does not belong here",
        ),
        (
            r#"{"mode":"url","url":"https://a.example"}"#,
            "params.message must be a string",
        ),
        (
            r#"{"mode":"url","message":"m"}"#,
            "params.url must be an http or https URL with a host and without user information",
        ),
        (
            r#"{"mode":"url","message":"m","url":"/connect"}"#,
            "params.url must be an http or https URL with a host and without user information",
        ),
        (
            r#"{"message":"m"}"#,
            "params.requestedSchema must be an object",
        ),
    ];
    for (params, reason) in cases {
        let request = format!(r#"{{"method":"elicitation/create","params":{params}}}"#);
        assert_eq!(refusal(&request).as_deref(), Some(reason), "{request}");
    }
}

#[test]
fn a_form_is_an_object_of_flat_properties() {
    let cases = [
        (r#"{"type":"object"}"#, "properties must be an object"),
        (r#"{"properties":{}}"#, "type must be object"),
        (r#"{"type":"array","properties":{}}"#, "type must be object"),
        (
            r#"{"type":"object","properties":{},"title":"t"}"#,
            "title does not belong here",
        ),
        (
            r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            "additionalProperties does not belong here",
        ),
        (
            r#"{"$schema":1,"type":"object","properties":{}}"#,
            "$schema must be a string",
        ),
        (
            r#"{"type":"object","properties":{},"required":["a"]}"#,
            "required must be a list of distinct names of properties",
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a","a"]}"#,
            "required must be a list of distinct names of properties",
        ),
        (
            r#"{"type":"object","properties":{},"required":"a"}"#,
            "required must be a list of distinct names of properties",
        ),
    ];
    for (schema, reason) in cases {
        let expected = format!("params.requestedSchema.{reason}");
        assert_eq!(refusal(&form(schema)), Some(expected), "{schema}");
    }
    let complete = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"boolean"}},"required":["a"]}"#;
    assert_eq!(refusal(&form(complete)), None);
}

/// A property, and what is wrong with it.
const WRONG_PROPERTIES: &[(&str, &str)] = &[
    (
        "{}",
        "type must be string, number, integer, boolean or array",
    ),
    (
        r#"{"type":"object","properties":{}}"#,
        "type must be string, number, integer, boolean or array",
    ),
    (
        r#"{"type":["string","null"]}"#,
        "type must be string, number, integer, boolean or array",
    ),
    (
        r#"{"type":"string","pattern":"a"}"#,
        "pattern does not belong here",
    ),
    (
        r#"{"type":"string","minimum":1}"#,
        "minimum does not belong here",
    ),
    (r#"{"type":"string","title":1}"#, "title must be a string"),
    (
        r#"{"type":"string","description":1}"#,
        "description must be a string",
    ),
    (
        r#"{"type":"string","format":"hostname"}"#,
        "format must be email, uri, date or date-time",
    ),
    (
        r#"{"type":"string","minLength":-1}"#,
        "minLength must be an integer of zero or more",
    ),
    (
        r#"{"type":"string","maxLength":1.5}"#,
        "maxLength must be an integer of zero or more",
    ),
    (
        r#"{"type":"string","maxLength":-18446744073709551616}"#,
        "maxLength must be an integer of zero or more",
    ),
    (
        r#"{"type":"string","minLength":3,"maxLength":2}"#,
        "maxLength must not be less than the least",
    ),
    (
        r#"{"type":"string","default":1}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"string","minLength":2,"default":"a"}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"string","format":"email","default":"a"}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"string","enum":[]}"#,
        "enum must be a list of at least one string, none twice",
    ),
    (
        r#"{"type":"string","enum":["a","a"]}"#,
        "enum must be a list of at least one string, none twice",
    ),
    (
        r#"{"type":"string","enum":[1]}"#,
        "enum must be a list of at least one string, none twice",
    ),
    (
        r#"{"type":"string","enum":["a"],"enumNames":[]}"#,
        "enumNames must be a list of one string for each option",
    ),
    (
        r#"{"type":"string","enum":["a"],"default":"b"}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"string","enum":["a"],"maxLength":1}"#,
        "maxLength does not belong here",
    ),
    (
        r#"{"type":"string","enum":["a"],"oneOf":[]}"#,
        "oneOf does not belong here",
    ),
    (
        r#"{"type":"string","enumNames":["a"]}"#,
        "enumNames does not belong here",
    ),
    (
        r#"{"type":"string","oneOf":[]}"#,
        "oneOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"string","oneOf":[{"const":"a"}]}"#,
        "oneOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"string","oneOf":[{"const":1,"title":"A"}]}"#,
        "oneOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"string","oneOf":[{"const":"a","title":"A","x":1}]}"#,
        "oneOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"a","title":"B"}]}"#,
        "oneOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"number","minimum":"1"}"#,
        "minimum must be a number",
    ),
    (
        r#"{"type":"number","minimum":2,"maximum":1.5}"#,
        "maximum must not be less than the least",
    ),
    (
        r#"{"type":"number","exclusiveMinimum":2}"#,
        "exclusiveMinimum does not belong here",
    ),
    (
        r#"{"type":"number","default":true}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"number","maximum":1,"default":1.5}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"integer","default":1.5}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"boolean","default":"true"}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"boolean","enum":[true]}"#,
        "enum does not belong here",
    ),
    (r#"{"type":"array"}"#, "items must be an object"),
    (
        r#"{"type":"array","items":{"type":"string"}}"#,
        "items.enum must be a list of at least one string, none twice",
    ),
    (
        r#"{"type":"array","items":{"enum":["a"]}}"#,
        "items.type must be string",
    ),
    (
        r#"{"type":"array","items":{"type":"object","properties":{}}}"#,
        "items.properties does not belong here",
    ),
    (
        r#"{"type":"array","items":{"anyOf":[]}}"#,
        "items.anyOf must be a list of at least one object of const and title, no const twice",
    ),
    (
        r#"{"type":"array","items":{"type":"string","anyOf":[{"const":"a","title":"A"}]}}"#,
        "items.type does not belong here",
    ),
    (
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"uniqueItems":true}"#,
        "uniqueItems does not belong here",
    ),
    (
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"minItems":2,"maxItems":1}"#,
        "maxItems must not be less than the least",
    ),
    (
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"default":["b"]}"#,
        "default must be what the property itself takes",
    ),
    (
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"minItems":1,"default":[]}"#,
        "default must be what the property itself takes",
    ),
];

#[test]
fn properties_have_only_the_keywords_of_their_kind() {
    for good in [
        r#"{"type":"string","title":"t","description":"d","default":"ab","minLength":2,"maxLength":2}"#,
        r#"{"type":"string","default":"éé","maxLength":2}"#,
        r#"{"type":"string","format":"date","default":"2026-01-31"}"#,
        r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"],"default":"b"}"#,
        r#"{"type":"string","oneOf":[{"const":"a","title":""}],"default":"a"}"#,
        r#"{"type":"number","minimum":-1.5,"maximum":-1.5,"default":-1.5}"#,
        r#"{"type":"integer","minimum":0.5,"default":1,"maximum":18446744073709551616}"#,
        r#"{"type":"boolean","default":true}"#,
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"minItems":0,"maxItems":1,"default":[]}"#,
        r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}"#,
    ] {
        assert_eq!(refusal(&field(good)), None, "{good}");
    }
    for (property, reason) in WRONG_PROPERTIES {
        let expected = format!("params.requestedSchema.properties.f.{reason}");
        assert_eq!(refusal(&field(property)), Some(expected), "{property}");
    }
    assert_eq!(
        refusal(&field("true")).as_deref(),
        Some("params.requestedSchema.properties.f must be an object")
    );
}

#[test]
fn sampling_has_its_members_and_no_others() {
    for good in [
        r#","systemPrompt":"s","temperature":0.5,"stopSequences":["x"],"includeContext":"none","metadata":{"k":1}"#,
        r#","modelPreferences":{}"#,
        r#","modelPreferences":{"hints":[{},{"name":"m","x":1}],"costPriority":0,"speedPriority":1.0,"intelligencePriority":0.5}"#,
        r#","tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"}"#,
        r#","tools":[],"toolChoice":{}"#,
    ] {
        assert_eq!(refusal(&sampling(good)), None, "{good}");
    }
    let tools = "tools must be a list of tools, each with a name and an inputSchema of type object";
    let choice = "toolChoice must be empty or have a mode of auto, none or required";
    let hints = "modelPreferences.hints must be a list of objects whose name is a string";
    let cases = [
        (r#","top":1"#, "top does not belong here"),
        (r#","_meta":{}"#, "_meta does not belong here"),
        (r#","systemPrompt":1"#, "systemPrompt must be a string"),
        (r#","temperature":"1""#, "temperature must be a number"),
        (r#","temperature":true"#, "temperature must be a number"),
        (
            r#","stopSequences":[1]"#,
            "stopSequences must be a list of strings",
        ),
        (
            r#","includeContext":"all""#,
            "includeContext must be none, thisServer or allServers",
        ),
        (r#","metadata":[]"#, "metadata must be an object"),
        (
            r#","modelPreferences":[]"#,
            "modelPreferences must be an object",
        ),
        (
            r#","modelPreferences":{"x":1}"#,
            "modelPreferences.x does not belong here",
        ),
        (r#","modelPreferences":{"hints":["m"]}"#, hints),
        (r#","modelPreferences":{"hints":[{"name":1}]}"#, hints),
        (
            r#","modelPreferences":{"costPriority":1.5}"#,
            "modelPreferences.costPriority must be a number from 0 to 1",
        ),
        (
            r#","modelPreferences":{"speedPriority":-1}"#,
            "modelPreferences.speedPriority must be a number from 0 to 1",
        ),
        (
            r#","modelPreferences":{"intelligencePriority":true}"#,
            "modelPreferences.intelligencePriority must be a number from 0 to 1",
        ),
        (r#","tools":{}"#, tools),
        (
            r#","tools":[{"name":"","inputSchema":{"type":"object"}}]"#,
            tools,
        ),
        (r#","tools":[{"name":"t"}]"#, tools),
        (
            r#","tools":[{"name":"t","inputSchema":{"type":"string"}}]"#,
            tools,
        ),
        (r#","toolChoice":"auto""#, choice),
        (r#","toolChoice":{"mode":"any"}"#, choice),
        (r#","toolChoice":{"tool":"t"}"#, choice),
    ];
    for (rest, reason) in cases {
        assert_eq!(
            refusal(&sampling(rest)),
            Some(format!("params.{reason}")),
            "{rest}"
        );
    }
    for tokens in [
        "0",
        "-1",
        "1.0",
        "\"1\"",
        "true",
        "null",
        "18446744073709551616",
    ] {
        let request = sampling("").replace(r#""maxTokens":1"#, &format!(r#""maxTokens":{tokens}"#));
        let reason = "params.maxTokens must be a positive integer";
        assert_eq!(refusal(&request).as_deref(), Some(reason), "{tokens}");
    }
}

#[test]
fn messages_are_made_of_closed_blocks() {
    for good in [
        r#"{"type":"text","text":"","annotations":{},"_meta":{}}"#,
        r#"[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}]"#,
        r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#,
    ] {
        assert_eq!(refusal(&said(good)), None, "{good}");
    }
    let cases = [
        ("[]", " must be a block or a list of at least one"),
        (r#""text""#, " must be a block or a list of at least one"),
        ("[1]", ".0 must be an object"),
        (
            "{}",
            ".type must be text, image, audio, tool_use or tool_result",
        ),
        (
            r#"{"type":"resource","resource":{"uri":"a:b","text":""}}"#,
            ".type must be text, image, audio, tool_use or tool_result",
        ),
        (r#"{"type":"text"}"#, ".text must be a string"),
        (
            r#"{"type":"text","text":"","x":1}"#,
            ".x does not belong here",
        ),
        (
            r#"{"type":"text","text":"","annotations":1}"#,
            ".annotations must be an object",
        ),
        (
            r#"{"type":"text","text":"","_meta":1}"#,
            "._meta must be an object",
        ),
        (
            r#"{"type":"image","data":"A","mimeType":"a/b"}"#,
            ".data must be valid base64",
        ),
        (
            r#"{"type":"image","data":"AA=="}"#,
            ".mimeType must be a string",
        ),
    ];
    for (content, reason) in cases {
        let expected = format!("params.messages.0.content{reason}");
        assert_eq!(refusal(&said(content)), Some(expected), "{content}");
    }
    let cases = [
        ("[]", " must be a list of at least one message"),
        ("{}", " must be a list of at least one message"),
        ("[1]", ".0 must be an object"),
        (
            r#"[{"role":"system","content":{"type":"text","text":""}}]"#,
            ".0.role must be user or assistant",
        ),
        (
            r#"[{"role":"user","content":{"type":"text","text":""},"x":1}]"#,
            ".0.x does not belong here",
        ),
        (
            r#"[{"role":"user"}]"#,
            ".0.content must be a block or a list of at least one",
        ),
    ];
    for (messages, reason) in cases {
        let expected = format!("params.messages{reason}");
        assert_eq!(
            refusal(&conversation(messages)),
            Some(expected),
            "{messages}"
        );
    }
}

/// Who speaks, and in which blocks.
type Turns<'a> = &'a [(&'a str, &'a [&'a str])];

#[test]
fn every_use_of_a_tool_is_followed_by_its_result() {
    const USE: &str = r#"{"type":"tool_use","id":"1","name":"t","input":{}}"#;
    const RESULT: &str = r#"{"type":"tool_result","toolUseId":"1","content":[]}"#;
    const TEXT: &str = r#"{"type":"text","text":""}"#;
    let talk = |turns: Turns<'_>| {
        let turns: Vec<String> = turns
            .iter()
            .map(|(role, blocks)| {
                format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
            })
            .collect();
        refusal(&conversation(&format!("[{}]", turns.join(","))))
    };
    let second = |block: &str| block.replace(r#""1""#, r#""2""#);
    let full = r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"4"},{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":{"n":4},"isError":false,"_meta":{}}"#;
    assert_eq!(
        talk(&[
            ("assistant", &[TEXT, USE]),
            ("user", &[full]),
            ("assistant", &[TEXT])
        ]),
        None
    );
    assert_eq!(
        talk(&[
            ("assistant", &[USE, &second(USE)]),
            ("user", &[&second(RESULT), RESULT])
        ]),
        None
    );
    let unanswered = "must not end with a tool_use that has no tool_result";
    let unmatched = "must have one tool_result for each tool_use before it, and no other";
    let alone = "must have nothing besides tool_result, as it has one";
    let roles = "must leave tool_use to the assistant and tool_result to the user";
    let cases: [(Turns<'_>, &str); 9] = [
        (&[("assistant", &[USE])], unanswered),
        (&[("assistant", &[USE]), ("user", &[TEXT])], unmatched),
        (
            &[
                ("assistant", &[USE]),
                ("assistant", &[TEXT]),
                ("user", &[RESULT]),
            ],
            unmatched,
        ),
        (
            &[("assistant", &[USE]), ("user", &[&second(RESULT)])],
            unmatched,
        ),
        (
            &[("assistant", &[USE, &second(USE)]), ("user", &[RESULT])],
            unmatched,
        ),
        (
            &[("assistant", &[USE]), ("user", &[RESULT, RESULT])],
            unmatched,
        ),
        (&[("user", &[RESULT])], unmatched),
        (&[("assistant", &[USE]), ("user", &[RESULT, TEXT])], alone),
        (&[("user", &[USE])], roles),
    ];
    for (turns, reason) in cases {
        let told = talk(turns).expect("refused");
        assert!(told.starts_with("params.messages"), "{told}");
        assert!(told.ends_with(reason), "{told}");
    }
    let told = talk(&[
        ("assistant", &[USE]),
        ("user", &[&RESULT.replace("[]", "[{}]")]),
    ]);
    let expected = "params.messages.1.content.0.content must be a list of content blocks";
    assert_eq!(told.as_deref(), Some(expected));
}

#[test]
fn an_accepted_form_is_filled_in_as_it_says() {
    let request = json(&form(
        r#"{"type":"object","properties":{
            "name":{"type":"string","minLength":2,"maxLength":3},"mail":{"type":"string","format":"email"},
            "age":{"type":"number","minimum":0},"count":{"type":"integer"},"ok":{"type":"boolean"},
            "size":{"type":"string","enum":["S","M"]},"colour":{"type":"string","oneOf":[{"const":"red","title":"Red"}]},
            "tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2}},
            "required":["name"]}"#,
    ));
    let answered = |response: &str| check_response(&request, &json(response)).is_ok();
    let accepted =
        |content: &str| answered(&format!(r#"{{"action":"accept","content":{content}}}"#));
    for good in [
        r#"{"name":"ab"}"#,
        r#"{"name":"ééé","mail":"a@b","age":1.5,"count":3,"ok":false,"size":"M","colour":"\u0072ed","tags":["b","a"]}"#,
        r#"{"name":"ab","age":0,"count":3.0}"#,
        r#"{"name":"ab","age":18446744073709551616,"more":["x"],"other":1}"#,
        // What some clients send for a field that was left empty.
        r#"{"name":"ab","mail":null,"age":null,"tags":null,"more":null}"#,
    ] {
        assert!(accepted(good), "{good}");
    }
    for bad in [
        "{}",
        r#"{"name":"a"}"#,
        r#"{"name":"abcd"}"#,
        r#"{"name":null}"#,
        r#"{"name":"ab","mail":"a"}"#,
        r#"{"name":"ab","age":-0.5}"#,
        r#"{"name":"ab","age":"1"}"#,
        r#"{"name":"ab","age":true}"#,
        r#"{"name":"ab","count":1.5}"#,
        r#"{"name":"ab","ok":"true"}"#,
        r#"{"name":"ab","size":"L"}"#,
        r#"{"name":"ab","colour":"Red"}"#,
        r#"{"name":"ab","tags":[]}"#,
        r#"{"name":"ab","tags":["a","c"]}"#,
        r#"{"name":"ab","tags":["a","b","a"]}"#,
        r#"{"name":"ab","tags":"a"}"#,
        r#"{"name":"ab","more":{"deep":1}}"#,
        r#"{"name":"ab","more":[1]}"#,
        "[]",
        "null",
    ] {
        assert!(!accepted(bad), "{bad}");
    }
    for (response, good) in [
        (r#"{"action":"decline"}"#, true),
        (
            r#"{"action":"cancel","content":{},"_meta":{},"x":[]}"#,
            true,
        ),
        (r#"{"action":"decline","content":{"name":1}}"#, true),
        (r#"{"action":"decline","content":{"deep":{}}}"#, true),
        (r#"{"action":"cancel","content":null}"#, true),
        (r#"{"action":"accept"}"#, false),
        (r#"{"action":"agree","content":{"name":"ab"}}"#, false),
        (r#"{"content":{"name":"ab"}}"#, false),
        ("{}", false),
    ] {
        assert_eq!(answered(response), good, "{response}");
    }
    let optional = json(&field(r#"{"type":"boolean"}"#));
    assert!(check_response(&optional, &json(r#"{"action":"accept"}"#)).is_ok());
}

#[test]
fn other_answers_have_the_shape_of_their_kind() {
    let page = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}"#;
    let model = sampling("");
    let roots = r#"{"method":"roots/list"}"#;
    for (request, response, good) in [
        (page, r#"{"action":"accept"}"#, true),
        (page, r#"{"action":"accept","content":{"a":1}}"#, true),
        (page, r#"{"action":"accept","content":{"a":{}}}"#, false),
        (page, r#"{"action":"open"}"#, false),
        (
            &model,
            r#"{"role":"assistant","content":{"type":"text","text":"glad"},"model":"m","stopReason":"endTurn"}"#,
            true,
        ),
        (
            &model,
            r#"{"role":"assistant","content":[{"type":"text","text":"a","later":1},{"type":"tool_use","id":"1","name":"t","input":{}}],"model":"m","stopReason":"anything","x":1}"#,
            true,
        ),
        (
            &model,
            r#"{"role":"assistant","content":{"type":"text","text":"glad"}}"#,
            false,
        ),
        (
            &model,
            r#"{"role":"assistant","content":{"type":"text"},"model":"m"}"#,
            false,
        ),
        (
            &model,
            r#"{"role":"system","content":{"type":"text","text":""},"model":"m"}"#,
            false,
        ),
        (
            &model,
            r#"{"role":"assistant","content":"glad","model":"m"}"#,
            false,
        ),
        (
            &model,
            r#"{"role":"assistant","content":[],"model":"m"}"#,
            false,
        ),
        (
            &model,
            r#"{"role":"assistant","content":{"type":"text","text":""},"model":"m","stopReason":1}"#,
            false,
        ),
        (&model, r#"{"action":"accept"}"#, false),
        (roots, r#"{"roots":[]}"#, true),
        (
            roots,
            r#"{"roots":[{"uri":"file:///home/ada","name":"Ada","_meta":{},"x":1}],"y":1}"#,
            true,
        ),
        (roots, r#"{"roots":[{"uri":"https://a.example"}]}"#, false),
        (roots, r#"{"roots":[{"name":"Ada"}]}"#, false),
        (roots, r#"{"roots":[{"uri":"file:///","name":1}]}"#, false),
        (roots, r#"{"roots":[{"uri":"file:///","_meta":1}]}"#, false),
        (roots, r#"{"roots":["file:///"]}"#, false),
        (roots, r#"{"roots":{}}"#, false),
        (roots, "{}", false),
    ] {
        assert_eq!(
            check_response(&json(request), &json(response)).is_ok(),
            good,
            "{response}"
        );
    }
    assert!(check_response(&json(roots), &Json::Null).is_err());
}

#[test]
fn authors_are_told_why_their_requests_are_not_sent() {
    let runtime = demo();
    let targets = [
        Target::Tool(0),
        Target::Resource {
            at: 0,
            uri: "a:b".to_owned(),
        },
        Target::Template {
            at: 0,
            uri: "a:b".to_owned(),
        },
        Target::Prompt(0),
    ];
    let explain = |target: &Target, requests: Option<&str>| {
        let value = Value::InputRequired {
            requests: requests.map(|text| text.as_bytes().to_vec()),
            state: None,
        };
        explain_output(&runtime, target, &value.into())
    };
    let bad = field(r#"{"type":"string","pattern":"secret"}"#);
    for target in &targets {
        assert_eq!(
            explain(
                target,
                Some(&format!(
                    r#"{{"ok":{{"method":"roots/list"}},"name":{bad}}}"#
                ))
            )
            .as_deref(),
            Some(
                r#"input request "name": params.requestedSchema.properties.f.pattern does not belong here"#
            )
        );
        assert_eq!(
            explain(target, Some("[]")).as_deref(),
            Some("input requests must be an object")
        );
        assert_eq!(
            explain(target, None).as_deref(),
            Some("it has neither input requests nor a request state")
        );
        assert_eq!(
            explain(target, Some(r#"{"a":{"method":"roots/list"}}"#)),
            None
        );
    }
    let wire = |text: &str| {
        let value = Value::Wire(text.as_bytes().to_vec());
        explain_output(&runtime, &Target::Tool(0), &value.into())
    };
    assert_eq!(
        wire(r#"{"resultType":"input_required","inputRequests":{"a":1}}"#).as_deref(),
        Some(r#"input request "a": the request must be an object"#)
    );
    assert_eq!(
        wire(r#"{"resultType":"input_required","requestState":5}"#).as_deref(),
        Some("it has neither input requests nor a request state")
    );
    assert_eq!(
        wire(r#"{"resultType":"input_required","requestState":"s"}"#),
        None
    );
}

#[test]
fn authors_are_told_why_contents_and_messages_are_not_sent() {
    let runtime = demo();
    let resource = Target::Resource {
        at: 0,
        uri: "a:b".to_owned(),
    };
    let read = |contents: &str| Value::ResourceRead {
        contents: contents.as_bytes().to_vec(),
        ttl_ms: None,
        cache_scope: None,
    };
    let messages = |messages: &str| Value::PromptGet {
        messages: messages.as_bytes().to_vec(),
        description: None,
    };
    let blocks = |blocks: &str| Value::Content(blocks.as_bytes().to_vec());
    for (target, value, reason) in [
        (&resource, read(r#"[{"text":"secret"}]"#), None),
        (
            &resource,
            read("{}"),
            Some("resource contents must be a list of objects"),
        ),
        (
            &resource,
            read(r#"[{"text":1}]"#),
            Some("resource content requires exactly one string text or blob field"),
        ),
        (
            &resource,
            read(r#"[{"blob":"?"}]"#),
            Some("resource blob must be valid base64"),
        ),
        (
            &resource,
            blocks("[]"),
            Some("resource content blocks must be a list of at least one"),
        ),
        (
            &resource,
            blocks(r#"[{"type":"resource_link","uri":"a:b","name":"n"}]"#),
            Some("only text, image, audio and resource blocks can be what was read"),
        ),
        (
            &resource,
            blocks(r#"[{"type":"image"}]"#),
            Some("resource content block has no text, data or resource"),
        ),
        (
            &resource,
            Value::Failure("secret".to_owned()),
            Some("a failure that is not an Error (ToolError, Declined) only tools can tell"),
        ),
        (&Target::Prompt(0), messages("[]"), None),
        (
            &Target::Prompt(0),
            messages(r#"[{"role":"system","content":{"type":"text","text":""}}]"#),
            Some("prompt message role must be user or assistant"),
        ),
        (
            &Target::Prompt(0),
            blocks("[]"),
            Some("prompt messages must not be empty"),
        ),
        (
            &Target::Prompt(0),
            blocks("[1]"),
            Some("prompt messages must be a list of objects"),
        ),
        (
            &Target::Prompt(0),
            Value::Blob(String::new()),
            Some("prompt messages cannot be made of bytes"),
        ),
        (&Target::Prompt(0), read("[]"), None),
    ] {
        let shown = format!("{value:?}");
        assert_eq!(
            explain_output(&runtime, target, &value.into()).as_deref(),
            reason,
            "{shown}"
        );
    }
}
