//! URI templates: which shapes there are, which URIs match them, and what those bind.

mod common;

use common::object;
use proptest::prelude::*;
use snodo_core::json::{Json, Object};
use snodo_core::registry::UriTemplate;

fn compile(text: &str) -> UriTemplate {
    UriTemplate::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What URIs bind (a JSON object), or `""` where they do not match.
fn matches(template: &str, cases: &[(&str, &str)]) {
    let compiled = compile(template);
    for (uri, expected) in cases {
        let expected = (!expected.is_empty()).then(|| object(expected));
        assert_eq!(compiled.matches(uri), expected, "{template} and {uri}");
    }
}

#[test]
fn supported_shapes_are_accepted_and_name_their_variables() {
    for (template, variables) in [
        ("s://h", &[][..]),
        ("s://h/a", &[]),
        ("S+1.2-x://h/a", &[]),
        ("s://{host}", &["host"]),
        ("s://{host}/a/{b}/c", &["host", "b"]),
        ("file:///a/{b}", &["b"]),
        ("file:///{+path}", &["path"]),
        ("s://h/{+rest}/end", &["rest"]),
        ("s://h{/v}", &["v"]),
        ("s://h/a{/v}/b", &["v"]),
        ("s://h{/v*}/b/{c}", &["v", "c"]),
        ("s://{h}{/v*}{?q}", &["h", "v", "q"]),
        ("s://h{?q}", &["q"]),
        ("s://h/a{?q,r}{&s}{&t,u}", &["q", "r", "s", "t", "u"]),
        ("s://h/{a}/{a}", &["a"]),
        ("s://h/{a}{?a}", &["a"]),
        ("s://h/{A_b.c-1}", &["A_b.c-1"]),
        ("s://h/a%20b/@me;v=1,2/~x!$&'()*+", &[]),
    ] {
        assert_eq!(compile(template).variables(), variables, "{template}");
    }
}

#[test]
fn other_shapes_are_refused_each_with_its_reason() {
    for (template, reason) in [
        ("{s}://x", "a scheme that is not a literal followed by ://"),
        ("", "a scheme that is not a literal followed by ://"),
        ("x", "a scheme that is not a literal followed by ://"),
        ("x:/h", "a scheme that is not a literal followed by ://"),
        ("://h", "a scheme that is not a literal followed by ://"),
        ("1x://h", "a scheme that is not a literal followed by ://"),
        ("x y://h", "a scheme that is not a literal followed by ://"),
        ("x{s}://h", "a scheme that is not a literal followed by ://"),
        ("x://h/{a", "an unclosed or nested expression"),
        ("x://h/{a{b}}", "an unclosed or nested expression"),
        ("x://h/a}", "a } outside an expression"),
        ("x://h{#f}", "fragment expansion ({#var})"),
        ("x://h/a{.ext}", "label expansion ({.var})"),
        ("x://h{;p}", "path-style parameter expansion ({;var})"),
        ("x://h/{=a}", "the reserved operator ="),
        ("x://h/{,a}", "the reserved operator ,"),
        ("x://h/{!a}", "the reserved operator !"),
        ("x://h/{@a}", "the reserved operator @"),
        ("x://h/{|a}", "the reserved operator |"),
        ("x://h/{a:3}", "a prefix modifier ({var:n})"),
        ("x://h{?a:3}", "a prefix modifier ({var:n})"),
        ("x://h/{}", "an invalid variable name \"\""),
        ("x://h{?}", "an invalid variable name \"\""),
        ("x://h/{a b}", "an invalid variable name \"a b\""),
        ("x://h/{a,}", "an invalid variable name \"\""),
        ("x://h/{a,.b}", "an invalid variable name \".b\""),
        ("x://h/{a**}", "an invalid variable name \"a*\""),
        ("x://h/{é}", "an invalid variable name \"é\""),
        (
            "x://h/{uri}",
            "a variable named uri, which the request owns",
        ),
        (
            "x://h{?_meta}",
            "a variable named _meta, which the request owns",
        ),
        ("x://h/a?b=1", "a literal query"),
        ("x://h?q={a}", "a literal query"),
        ("x://h/a#b", "a literal fragment"),
        ("x://u@h/a", "userinfo"),
        ("x://u:p@h/a", "userinfo"),
        ("x://{u}@h/a", "userinfo"),
        ("x://h:80/a", "a port or a colon in literal text"),
        ("x://{h}:80/a", "a port or a colon in literal text"),
        ("x://h/a:b", "a port or a colon in literal text"),
        (
            "x://h{?q}/a",
            "literal text or a path expression after a query expression",
        ),
        (
            "x://h{?q}&r=1",
            "literal text or a path expression after a query expression",
        ),
        (
            "x://h{?q}{/a}",
            "literal text or a path expression after a query expression",
        ),
        (
            "x://h{?q}{a}",
            "literal text or a path expression after a query expression",
        ),
        (
            "x://h{&q}",
            "a {&var} continuation without a preceding {?var}",
        ),
        ("x://h{?q}{?r}", "more than one {?var} expression"),
        ("x://h{?q*}", "an exploded query variable ({?var*})"),
        ("x://h{?q}{&r*}", "an exploded query variable ({?var*})"),
        ("x://h{?q,q}", "a query variable named more than once"),
        ("x://h{?q}{&q}", "a query variable named more than once"),
        ("x://", "an empty authority that is not followed by /"),
        ("x://{/v}", "an empty authority that is not followed by /"),
        ("x://{?q}", "an empty authority that is not followed by /"),
        ("x://{+h}/a", "reserved expansion ({+var}) in the authority"),
        ("x://a{+h}", "reserved expansion ({+var}) in the authority"),
        (
            "x://a{h}",
            "an authority that is not one literal or one {var}",
        ),
        (
            "x://{h}{i}",
            "an authority that is not one literal or one {var}",
        ),
        (
            "x://h/{/v}",
            "a {/var} expression after a literal /, which would leave an empty segment",
        ),
        (
            "x://h/a/{/v*}",
            "a {/var} expression after a literal /, which would leave an empty segment",
        ),
        (
            "x://h{/a,b}",
            "more than one variable in a path expression ({/a,b})",
        ),
        (
            "x://h/{a*}",
            "an exploded simple or reserved variable ({var*})",
        ),
        (
            "x://h/{+a*}",
            "an exploded simple or reserved variable ({var*})",
        ),
        (
            "x://{a*}",
            "an exploded simple or reserved variable ({var*})",
        ),
        (
            "x://h/{a,b}",
            "more than one variable in a simple or reserved expression ({a,b})",
        ),
        (
            "x://h/{+a,b}",
            "more than one variable in a simple or reserved expression ({a,b})",
        ),
        (
            "x://{a,b}",
            "more than one variable in a simple or reserved expression ({a,b})",
        ),
        ("x://h//a", "an empty path segment"),
        ("x://h/", "an empty path segment"),
        ("x://h/a/", "an empty path segment"),
        ("x:///", "an empty path segment"),
        ("x://h/{a}/", "an empty path segment"),
        ("x://h/{?q}", "an empty path segment"),
        ("x://h{/v}/", "an empty path segment"),
        (
            "x://h/v{version}",
            "a path segment that holds literal text and an expression, or two expressions",
        ),
        (
            "x://h/{a}b",
            "a path segment that holds literal text and an expression, or two expressions",
        ),
        (
            "x://h/{a}{b}",
            "a path segment that holds literal text and an expression, or two expressions",
        ),
        (
            "x://h/{a}{+b}",
            "a path segment that holds literal text and an expression, or two expressions",
        ),
        (
            "x://h{/v}b",
            "a path segment that holds literal text and an expression, or two expressions",
        ),
        (
            "x://h/a%",
            "a malformed percent escape or non-UTF-8 literal",
        ),
        (
            "x://h/a%4",
            "a malformed percent escape or non-UTF-8 literal",
        ),
        (
            "x://h/a%zz",
            "a malformed percent escape or non-UTF-8 literal",
        ),
        (
            "x://h/%ff",
            "a malformed percent escape or non-UTF-8 literal",
        ),
        (
            "x://h/{+a}/{+b}",
            "more than one variable-length path expression ({+var}, {/var}, or {/var*})",
        ),
        (
            "x://h{/a}{/b}",
            "more than one variable-length path expression ({+var}, {/var}, or {/var*})",
        ),
        (
            "x://h{/a*}/{+b}",
            "more than one variable-length path expression ({+var}, {/var}, or {/var*})",
        ),
        ("x://h/a b", "literal text that is not valid in a URI"),
        ("x://h/é", "literal text that is not valid in a URI"),
        ("x://h/a\"b", "literal text that is not valid in a URI"),
        ("x://h/a\\b", "literal text that is not valid in a URI"),
        ("x://[h]/a", "literal text that is not valid in a URI"),
        ("x://h/\0", "literal text that is not valid in a URI"),
    ] {
        match UriTemplate::compile(template) {
            Err(error) => assert_eq!(error.to_string(), reason, "{template}"),
            Ok(_) => panic!("{template} is accepted instead of {reason}"),
        }
    }
    assert_eq!(
        UriTemplate::compile(b"x://h/\xff").map_err(|error| error.to_string()),
        Err("a template that is not valid UTF-8".to_owned())
    );
}

#[test]
fn a_template_may_be_1024_bytes_long_and_have_32_variables() {
    let long = |length: usize| format!("x://h/{}", "a".repeat(length - 6));
    assert!(UriTemplate::compile(long(1024)).is_ok());
    assert_eq!(
        UriTemplate::compile(long(1025)).map_err(|error| error.to_string()),
        Err("a template longer than 1024 bytes".to_owned())
    );
    let many = |count: usize| {
        let segments: Vec<_> = (0..count).map(|at| format!("{{v{at}}}")).collect();
        format!("x://h/{}", segments.join("/"))
    };
    assert_eq!(compile(&many(32)).variables().len(), 32);
    let refused = Err("more than 32 variables".to_owned());
    for template in [
        many(33),
        format!("{}{{?q}}", many(32)),
        format!("x://h/{}", vec!["{a}"; 33].join("/")),
    ] {
        let compiled = UriTemplate::compile(&template);
        assert_eq!(
            compiled.map_err(|error| error.to_string()),
            refused,
            "{template}"
        );
    }
}

#[test]
fn a_variable_binds_one_whole_segment_that_is_not_empty() {
    matches(
        "s://h/{a}/x",
        &[
            ("s://h/1/x", r#"{"a":"1"}"#),
            ("S://h/1/x", r#"{"a":"1"}"#),
            ("s://h//x", ""),
            ("s://h/1/2/x", ""),
            ("s://h/1", ""),
            ("s://h/1/x/", ""),
            ("s://h/1/X", ""),
            ("s:/h/1/x", ""),
            ("t://h/1/x", ""),
            ("ss://h/1/x", ""),
            ("s", ""),
            ("", ""),
            ("é://h/1/x", ""),
        ],
    );
    matches(
        "s://{h}/x",
        &[
            ("s://a/x", r#"{"h":"a"}"#),
            ("s://a%40b/x", r#"{"h":"a@b"}"#),
            ("s:///x", ""),
            ("s://a:1/x", ""),
            ("s://u@a/x", ""),
            ("s://a", ""),
        ],
    );
    matches("s://h", &[("s://h", "{}"), ("s://h/", ""), ("s://h?", "")]);
}

#[test]
fn a_reserved_variable_binds_one_segment_or_more() {
    matches(
        "s://h/{+p}",
        &[
            ("s://h/a/b", r#"{"p":"a/b"}"#),
            ("s://h/a", r#"{"p":"a"}"#),
            ("s://h/a%2Fb/../c", r#"{"p":"a/b/../c"}"#),
            ("s://h/", ""),
            ("s://h", ""),
            ("s://h/a/", ""),
            ("s://h//a", ""),
            ("s://h/a//b", ""),
        ],
    );
    matches(
        "s://h/a/{+p}/z/{q}",
        &[
            ("s://h/a/1/z/2", r#"{"p":"1","q":"2"}"#),
            ("s://h/a/z/z/z/z", r#"{"p":"z/z","q":"z"}"#),
            ("s://h/a/z/2", ""),
            ("s://h/a", ""),
        ],
    );
}

#[test]
fn a_path_variable_binds_a_segment_or_none_and_an_exploded_one_any_number() {
    matches(
        "s://h{/v}",
        &[
            ("s://h", "{}"),
            ("s://h/a", r#"{"v":"a"}"#),
            ("s://h/a/b", ""),
            ("s://h/", ""),
        ],
    );
    matches(
        "s://h{/v*}",
        &[
            ("s://h", "{}"),
            ("s://h/a", r#"{"v":"a"}"#),
            ("s://h/a/b", r#"{"v":"a/b"}"#),
            ("s://h/", ""),
            ("s://h/a/", ""),
            ("s://h//a", ""),
        ],
    );
    matches(
        "s://h/a{/v}/b",
        &[
            ("s://h/a/b", "{}"),
            ("s://h/a/1/b", r#"{"v":"1"}"#),
            ("s://h/a", ""),
            ("s://h/a//b", ""),
            ("s://h/a/1/2/b", ""),
        ],
    );
    // The same segment cannot be both ends.
    matches("s://h/a{/v*}/a", &[("s://h/a", ""), ("s://h/a/a", "{}")]);
}

#[test]
fn query_variables_come_in_any_order_once_or_not_at_all() {
    matches(
        "s://h/x{?a,b}",
        &[
            ("s://h/x?b=2&a=1", r#"{"a":"1","b":"2"}"#),
            ("s://h/x", "{}"),
            ("s://h/x?a=", r#"{"a":""}"#),
            ("s://h/x?a=1=2/3?4", r#"{"a":"1=2/3?4"}"#),
            ("s://h/x?a=1+1", r#"{"a":"1+1"}"#),
            ("s://h/x?a=%26", r#"{"a":"&"}"#),
            ("s://h/x?a=1&a=2", ""),
            ("s://h/x?a=1&a=1", ""),
            ("s://h/x?c=1", ""),
            ("s://h/x?a", ""),
            ("s://h/x?", ""),
            ("s://h/x?a=1&", ""),
            ("s://h/x?&a=1", ""),
            ("s://h/x?%61=1", ""),
            ("s://h/x?A=1", ""),
            ("s://h/x?a=1#f", ""),
            ("s://h/x?a=%zz", ""),
        ],
    );
    matches(
        "s://h{?a}{&b}",
        &[("s://h?b=2", r#"{"b":"2"}"#), ("s://h&b=2", "")],
    );
    matches("s://h/x", &[("s://h/x?a=1", "")]);
}

#[test]
fn values_are_decoded_once_and_must_be_text() {
    matches(
        "s://h/{a}",
        &[
            ("s://h/%2525", r#"{"a":"%25"}"#),
            ("s://h/%2F", r#"{"a":"/"}"#),
            ("s://h/%2f..%2F", r#"{"a":"/../"}"#),
            ("s://h/%00", r#"{"a":"\u0000"}"#),
            ("s://h/%C3%A9", r#"{"a":"é"}"#),
            ("s://h/..", r#"{"a":".."}"#),
            ("s://h/+", r#"{"a":"+"}"#),
            ("s://h/a:b@c", r#"{"a":"a:b@c"}"#),
            ("s://h/%zz", ""),
            ("s://h/%", ""),
            ("s://h/%4", ""),
            ("s://h/%+1", ""),
            ("s://h/%ff", ""),
            ("s://h/%C3", ""),
            ("s://h/é", ""),
            ("s://h/a b", ""),
            ("s://h/a\"", ""),
            ("s://h/[a]", ""),
            ("s://h/a\n", ""),
        ],
    );
}

#[test]
fn nothing_is_normalised() {
    matches(
        "http://h/x/{a}",
        &[
            ("http://h/x/1", r#"{"a":"1"}"#),
            ("HTTP://h/x/1", r#"{"a":"1"}"#),
            ("http://h:80/x/1", ""),
            ("http://h:/x/1", ""),
            ("http://u@h/x/1", ""),
            ("http://H/x/1", ""),
            ("http://h./x/1", ""),
            ("http://h/x/../x/1", ""),
            ("http://h/./x/1", ""),
            ("http://h/%78/1", ""),
            ("http://h//x/1", ""),
            ("http://h/x/1#f", ""),
            ("http://h/x/1#", ""),
            ("http://h#/x/1", ""),
        ],
    );
    matches(
        "s://h/a%2fb",
        &[
            ("s://h/a%2fb", "{}"),
            ("s://h/a%2Fb", ""),
            ("s://h/a/b", ""),
        ],
    );
}

#[test]
fn a_repeated_variable_binds_one_value() {
    matches(
        "s://h/{a}/{a}",
        &[
            ("s://h/1/1", r#"{"a":"1"}"#),
            ("s://h/%31/1", r#"{"a":"1"}"#),
            ("s://h/1/2", ""),
        ],
    );
    matches(
        "s://{a}{/a}{?a}",
        &[
            ("s://1", r#"{"a":"1"}"#),
            ("s://1/1?a=%31", r#"{"a":"1"}"#),
            ("s://1/1?a=2", ""),
            ("s://1?a=", ""),
        ],
    );
}

#[test]
fn an_empty_authority_matches_only_an_empty_host() {
    matches(
        "file:///{+p}",
        &[
            ("file:///a/b", r#"{"p":"a/b"}"#),
            ("file://h/a/b", ""),
            ("file:/a/b", ""),
            ("file:////a", ""),
        ],
    );
}

#[test]
fn a_long_uri_is_matched_in_one_pass() {
    // Quadratic matching of a megabyte would take minutes.
    for unit in ["/a", "/", "a", "%2F"] {
        let middle = unit.repeat((1 << 20) / unit.len());
        for template in ["s://h/{+p}/end", "s://h{/p*}/end", "s://h/{p}/end"] {
            let _ = compile(template).matches(&format!("s://h/a{middle}/end"));
            let _ = compile(template).matches(&format!("s://h/a{middle}/enx"));
        }
        let query = format!("s://h/x?a={}", middle.replace('/', "&a="));
        let _ = compile("s://h/x{?a,b}").matches(&query);
    }
}

/// A template and a URI that it expands to, with the variables that were put in.
#[derive(Debug, Clone)]
struct Expanded {
    template: String,
    uri: String,
    variables: Object,
}

/// RFC 3986, `unreserved`; everything else as escapes, which any expansion may do.
fn escape(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[derive(Debug, Clone)]
enum Middle {
    None,
    Reserved(Vec<String>),
    One(Option<String>),
    Any(Vec<String>),
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9/?#%@: é\\x00]{1,6}", ".{1,6}"]
}

fn segments() -> impl Strategy<Value = Vec<(bool, String)>> {
    // Literals, or values for variables.
    let literal = "[a-zA-Z0-9~!@$&'()*+,;=._-]{1,5}".prop_map(|text| (false, text));
    prop::collection::vec(
        prop_oneof![literal, value().prop_map(|text| (true, text))],
        0..4,
    )
}

fn expanded() -> impl Strategy<Value = Expanded> {
    let middle = prop_oneof![
        Just(Middle::None),
        prop::collection::vec(value(), 1..4).prop_map(Middle::Reserved),
        prop::option::of(value()).prop_map(Middle::One),
        prop::collection::vec(value(), 0..4).prop_map(Middle::Any),
    ];
    let query = prop::collection::vec(prop::option::of(".{0,6}"), 0..4);
    let host = prop::option::of(value());
    (host, segments(), middle, segments(), query, any::<bool>()).prop_map(
        |(host, head, middle, tail, query, backwards)| {
            let mut expanded = Expanded {
                template: "s://".to_owned(),
                uri: "S://".to_owned(),
                variables: Object::new(),
            };
            expanded.host(host.as_deref());
            expanded.fixed("h", &head);
            expanded.middle(&middle);
            expanded.fixed("t", &tail);
            expanded.query(&query, backwards);
            expanded
        },
    )
}

impl Expanded {
    fn bind(&mut self, name: &str, value: &str) {
        self.variables.insert(name, Json::String(value.to_owned()));
    }

    fn host(&mut self, value: Option<&str>) {
        match value {
            Some(value) => {
                self.template.push_str("{host}");
                self.uri.push_str(&escape(value));
                self.bind("host", value);
            }
            None => {
                self.template.push_str("literal");
                self.uri.push_str("literal");
            }
        }
    }

    fn fixed(&mut self, prefix: &str, segments: &[(bool, String)]) {
        for (at, (variable, text)) in segments.iter().enumerate() {
            if *variable {
                let name = format!("{prefix}{at}");
                self.template.push_str(&format!("/{{{name}}}"));
                self.uri.push_str(&format!("/{}", escape(text)));
                self.bind(&name, text);
            } else {
                self.template.push_str(&format!("/{text}"));
                self.uri.push_str(&format!("/{text}"));
            }
        }
    }

    fn middle(&mut self, middle: &Middle) {
        let (text, values): (&str, &[String]) = match middle {
            Middle::None => return,
            Middle::Reserved(values) => ("/{+m}", values),
            Middle::One(value) => ("{/m}", value.as_slice()),
            Middle::Any(values) => ("{/m*}", values),
        };
        self.template.push_str(text);
        for value in values {
            self.uri.push_str(&format!("/{}", escape(value)));
        }
        if !values.is_empty() {
            self.bind("m", &values.join("/"));
        }
    }

    fn query(&mut self, values: &[Option<String>], backwards: bool) {
        let mut pairs = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let operator = if at == 0 { '?' } else { '&' };
            self.template.push_str(&format!("{{{operator}q{at}}}"));
            if let Some(value) = value {
                pairs.push(format!("q{at}={}", escape(value)));
                self.bind(&format!("q{at}"), value);
            }
        }
        if backwards {
            pairs.reverse();
        }
        if !pairs.is_empty() {
            self.uri.push_str(&format!("?{}", pairs.join("&")));
        }
    }
}

proptest! {
    #[test]
    fn what_a_template_expands_to_gives_the_variables_back(expanded in expanded()) {
        let template = compile(&expanded.template);
        prop_assert_eq!(template.matches(&expanded.uri), Some(expanded.variables));
    }

    #[test]
    fn text_of_any_kind_is_a_template_or_refused(text in "(s://)?([a-z/{}?&+*,.:%é-]|\\{[/?&+]?[ab]\\*?\\}){0,20}", uri in "s://[a-z/?&=%0-9é-]{0,20}") {
        if let Ok(template) = UriTemplate::compile(&text)
            && let Some(bound) = template.matches(&uri)
        {
            prop_assert!(bound.iter().all(|(name, _)| template.variables().iter().any(|known| known == name)));
        }
    }

    #[test]
    fn bytes_of_any_kind_are_a_template_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), uri: String) {
        if let Ok(template) = UriTemplate::compile(&bytes) {
            let _ = template.matches(&uri);
        }
    }
}
