//! What a browser must be told before a page of an allowed origin may read an answer.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// What a page may send (MCP 2026-07-28 and the revisions before it, Streamable HTTP), and where keys
/// usually are.
const HEADERS: &str = "Content-Type, Accept, Authorization, X-Api-Key, MCP-Protocol-Version, \
                       Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, traceparent, \
                       tracestate, baggage";

/// Whether an `OPTIONS` request is a browser asking first.
pub(crate) fn is_preflight(request: &HeaderMap) -> bool {
    request.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a browser that asks first. Wildcards do not cover prefixes, so the mirrored arguments
/// it asks for are named back to it.
pub(crate) fn allow(request: &HeaderMap, response: &mut HeaderMap) {
    let mut allowed = HEADERS.to_owned();
    for value in request.get_all(ACCESS_CONTROL_REQUEST_HEADERS) {
        for name in value.to_str().unwrap_or_default().split(',').map(str::trim) {
            let mirrored = name
                .get(..10)
                .is_some_and(|start| start.eq_ignore_ascii_case("mcp-param-"));
            if mirrored && HeaderName::try_from(name).is_ok() {
                allowed.push_str(", ");
                allowed.push_str(name);
            }
        }
    }
    if let Ok(allowed) = HeaderValue::try_from(allowed) {
        response.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    response.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST, GET, DELETE"),
    );
    response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

/// Lets a page of this origin read the answer.
pub(crate) fn expose(origin: HeaderValue, response: &mut HeaderMap) {
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    response.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("WWW-Authenticate, MCP-Protocol-Version, Mcp-Session-Id"),
    );
    response.append(VARY, HeaderValue::from_static("Origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_headers_are_named_back() {
        let mut request = HeaderMap::new();
        request.insert(
            ACCESS_CONTROL_REQUEST_HEADERS,
            HeaderValue::from_static(
                "Mcp-Param-City, x-other, mcp-param-<b>, mcp-param-a:b, mcp-param-\"q\"",
            ),
        );
        let mut response = HeaderMap::new();
        allow(&request, &mut response);
        let expected = format!("{HEADERS}, Mcp-Param-City");
        assert_eq!(
            response.get(ACCESS_CONTROL_ALLOW_HEADERS),
            Some(&HeaderValue::try_from(expected).unwrap())
        );
    }
}
