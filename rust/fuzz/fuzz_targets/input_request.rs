//! JSON of any kind is a request that may be embedded or refused, and answers it or does not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snodo_core::json::{Json, Object, parse};
use snodo_core::limits::Limits;
use snodo_core::mrtr::{METHODS, check_response, check_request};

fuzz_target!(|input: (&[u8], &[u8])| {
    let (params, response) = input;
    let limits = Limits::default();
    let Ok(params) = parse(params, &limits) else {
        return;
    };
    let response = parse(response, &limits).unwrap_or(Json::Null);
    for method in METHODS {
        let mut request = Object::new();
        request.insert("method", Json::String(method.to_owned()));
        request.insert("params", params.clone());
        let request = Json::Object(request);
        let is_good = check_request(&request).is_ok();
        let _ = check_response(&request, &response);
        // A person may always say no.
        if is_good && method == "elicitation/create" {
            let mut declined = Object::new();
            declined.insert("action", Json::String("decline".to_owned()));
            assert!(check_response(&request, &Json::Object(declined)).is_ok());
        }
    }
});
