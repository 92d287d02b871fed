//! The headers of a request, as the core reads them.

use http::{HeaderMap, HeaderName, HeaderValue};
use snodo_core::context::{Header, Headers};

/// The headers of a request, as the core reads them.
#[derive(Debug)]
pub(super) struct HttpHeaders(pub(super) HeaderMap);

impl Headers for HttpHeaders {
    fn get(&self, name: &str) -> Header<'_> {
        // Looking at the dozen there are is quicker than hashing a name that is not a standard one.
        let mut named = self.0.iter().filter(|(key, _)| key.as_str() == name);
        match (named.next(), named.next()) {
            (None, _) => Header::Missing,
            (Some((_, value)), None) => Header::One(value.as_bytes().trim_ascii()),
            _ => Header::Repeated,
        }
    }

    fn all(&self) -> Vec<(String, String)> {
        let pair = |(name, value): (&HeaderName, &HeaderValue)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        };
        self.0.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_missing_or_one_or_repeated() {
        let mut map = HeaderMap::new();
        map.append(
            "mcp-name",
            HeaderValue::from_bytes(b"  add\t").expect("a legal value"),
        );
        map.append("mcp-method", HeaderValue::from_static("a"));
        map.append("mcp-method", HeaderValue::from_static("a"));
        let headers = HttpHeaders(map);
        assert_eq!(headers.get("mcp-name"), Header::One(b"add"));
        assert_eq!(headers.get("mcp-method"), Header::Repeated);
        assert_eq!(headers.get("mcp-param-x"), Header::Missing);
        assert_eq!(headers.all().len(), 3);
    }
}
