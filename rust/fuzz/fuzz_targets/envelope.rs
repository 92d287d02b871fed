//! Bytes of any kind are one message or a refusal, and an id comes back as it was sent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::envelope::{Message, read};
use snodo_core::limits::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let id = match read(bytes, &limits) {
        Ok(Some(Message::Request { id, .. })) => id,
        Ok(_) => return,
        Err(malformed) => match malformed.id {
            Some(id) => id,
            None => return,
        },
    };
    let mut message = br#"{"jsonrpc":"2.0","method":"m","id":"#.to_vec();
    id.write(&mut message);
    message.push(b'}');
    let expected = Message::Request {
        id,
        method: "m".to_owned(),
        params: None,
    };
    assert_eq!(read(&message, &limits), Ok(Some(expected)));
});
