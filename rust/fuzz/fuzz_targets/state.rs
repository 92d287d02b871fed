//! A token of any text opens nothing, and what was sealed comes back for its own request only.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::json::{Json, Object};
use snodo_core::mrtr::state::{Binding, KeyRing, Purpose};

fuzz_target!(|input: (&str, &[u8], [u8; 24], u64)| {
    let (text, data, nonce, now) = input;
    let ring = KeyRing::new([(Some("a".to_owned()), [7; 32])]).expect("a good ring");
    let mut arguments = Object::new();
    arguments.insert("text", Json::String(text.to_owned()));
    let binding = Binding {
        method: "tools/call",
        subject: text,
        arguments: &arguments,
        principal: &Json::Null,
    };
    for token in [text, &format!("snodo1.a.{text}")] {
        assert!(
            ring.open(Purpose::State, &binding, token, now, u64::MAX)
                .is_err()
        );
    }
    let Ok(token) = ring.seal(Purpose::State, &binding, data, now, 300, nonce) else {
        return;
    };
    let open = |purpose, binding| ring.open(purpose, binding, &token, now, 300);
    // At the end of time nothing has any time left.
    if now < u64::MAX - 300 {
        assert_eq!(open(Purpose::State, &binding).as_deref(), Ok(data));
    }
    assert!(open(Purpose::Ask, &binding).is_err());
    let other = Binding {
        method: "prompts/get",
        ..binding
    };
    assert!(open(Purpose::State, &other).is_err());
});
