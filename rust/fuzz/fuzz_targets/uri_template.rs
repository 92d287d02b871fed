//! Bytes of any kind are a template or refused, and a URI of any kind binds only its variables.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::registry::UriTemplate;

fuzz_target!(|input: (&[u8], &str)| {
    let (text, uri) = input;
    let Ok(template) = UriTemplate::compile(text) else {
        return;
    };
    // A template without variables is a URI that matches itself.
    if template.variables().is_empty() {
        let text = std::str::from_utf8(text).expect("compiled, so it is text");
        assert!(template.matches(text).is_some_and(|bound| bound.is_empty()));
    }
    if let Some(bound) = template.matches(uri) {
        for (name, value) in bound.iter() {
            assert!(template.variables().iter().any(|known| known == name));
            assert!(value.as_str().is_some());
        }
    }
});
