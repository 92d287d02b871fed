//! A header value of any bytes is a text or malformed, and a text survives being a header value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::dialect::headers::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Some(text) = decode(bytes) {
        let value = encode(&text);
        assert_eq!(decode(value.as_bytes()).as_deref(), Some(&*text));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(decode(encode(text).as_bytes()).as_deref(), Some(text));
    }
});
