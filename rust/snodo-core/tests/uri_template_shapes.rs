//! URI templates: which shapes there are, and for which reasons the others are refused.

use snodo_core::registry::UriTemplate;

fn compile(text: &str) -> UriTemplate {
    UriTemplate::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
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

/// Templates, and the shape that each is refused for.
const REFUSED: &[(&str, &str)] = &[
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
];

#[test]
fn other_shapes_are_refused_each_with_its_reason() {
    for (template, reason) in REFUSED {
        match UriTemplate::compile(template) {
            Err(error) => assert_eq!(error.to_string(), *reason, "{template}"),
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
