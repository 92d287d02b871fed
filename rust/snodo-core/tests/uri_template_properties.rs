//! Laws of URI templates: what they expand to matches, and no text or URI makes them panic.

use proptest::prelude::*;
use snodo_core::json::{Json, Object};
use snodo_core::registry::UriTemplate;

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
    /// A part of the template, and what it expands to.
    fn push(&mut self, template: &str, uri: &str) {
        self.template.push_str(template);
        self.uri.push_str(uri);
    }

    fn bind(&mut self, name: &str, value: &str) {
        self.variables.insert(name, Json::String(value.to_owned()));
    }

    fn host(&mut self, value: Option<&str>) {
        let Some(value) = value else {
            return self.push("literal", "literal");
        };
        self.push("{host}", &escape(value));
        self.bind("host", value);
    }

    fn fixed(&mut self, prefix: &str, segments: &[(bool, String)]) {
        for (at, (variable, text)) in segments.iter().enumerate() {
            self.push("/", "/");
            if *variable {
                let name = format!("{prefix}{at}");
                self.push(&format!("{{{name}}}"), &escape(text));
                self.bind(&name, text);
            } else {
                self.push(text, text);
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
        self.push(text, "");
        for value in values {
            self.push("", "/");
            self.push("", &escape(value));
        }
        if !values.is_empty() {
            self.bind("m", &values.join("/"));
        }
    }

    fn query(&mut self, values: &[Option<String>], backwards: bool) {
        let mut pairs = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let operator = if at == 0 { '?' } else { '&' };
            self.push(&format!("{{{operator}q{at}}}"), "");
            if let Some(value) = value {
                pairs.push(format!("q{at}={}", escape(value)));
                self.bind(&format!("q{at}"), value);
            }
        }
        if backwards {
            pairs.reverse();
        }
        if !pairs.is_empty() {
            self.push("", "?");
            self.push("", &pairs.join("&"));
        }
    }
}

proptest! {
    #[test]
    fn what_a_template_expands_to_gives_the_variables_back(expanded in expanded()) {
        let template = UriTemplate::compile(&expanded.template).expect("a good template");
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
