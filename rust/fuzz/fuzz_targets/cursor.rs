//! A cursor of any text is a page of the list or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::limits::Limits;
use snodo_core::page::Pages;

fuzz_target!(|cursor: &str| {
    let pages = Pages::new("v", "tools/list", Some(2), &["a", "b", "c", "d", "e"]);
    if let Ok(page) = pages.open(Some(cursor), Limits::default().cursor_bytes) {
        assert!(page < pages.count());
        assert!(!pages.range(page).is_empty());
    }
});
