//! What the worker that a client came to vouches for, when it hands a request over: who sends it.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;

use crate::authenticate::Principal;

/// Bytes that what is vouched for may add to a head.
pub(crate) const VOUCHED_BYTES: usize = 64 << 10;

const VOUCHED: HeaderName = HeaderName::from_static("snodo-vouched");

/// What the worker that admitted a request says of it.
#[derive(Debug, Clone)]
pub(crate) struct Vouched {
    pub(crate) principal: Option<Json>,
    pub(crate) peer: Option<SocketAddr>,
}

impl Vouched {
    /// Takes it from the headers of a request that a worker hands over to where it is looked for.
    pub(super) fn unpack(head: &mut Parts) {
        let vouched = head.headers.remove(VOUCHED);
        if let Some(vouched) = vouched.and_then(|value| Self::read(&value)) {
            if let Some(principal) = vouched.principal.clone() {
                head.extensions.insert(Principal(principal));
            }
            head.extensions.insert(vouched);
        }
    }

    /// Lays it into the headers of a request that is handed over.
    pub(super) fn pack(&self, headers: &mut HeaderMap) {
        headers.insert(VOUCHED, self.write());
    }

    fn write(&self) -> HeaderValue {
        let mut said = Object::new();
        if let Some(principal) = &self.principal {
            said.insert("principal", principal.clone());
        }
        if let Some(peer) = self.peer {
            said.insert("peer", Json::String(peer.to_string()));
        }
        let text = STANDARD.encode(said.to_vec());
        HeaderValue::try_from(text).expect("base64 is legal in a header")
    }

    fn read(value: &HeaderValue) -> Option<Self> {
        let limits = Limits {
            json_depth: snodo_core::limits::MAX_JSON_DEPTH,
            ..Limits::default()
        };
        let text = STANDARD.decode(value.as_bytes()).ok()?;
        let Ok(Json::Object(mut said)) = json::parse(&text, &limits) else {
            return None;
        };
        let peer = said.get("peer").and_then(Json::as_str);
        Some(Self {
            peer: peer.and_then(|peer| peer.parse().ok()),
            principal: said.take("principal"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_vouched_for_is_read_as_it_was_written() {
        let deep = json::parse(
            r#"{"sub":"Ada \u007f é","n":[1,2.5,null]}"#.as_bytes(),
            &Limits::default(),
        );
        for (principal, peer) in [
            (None, None),
            (Some(Json::String("ada".to_owned())), Some("127.0.0.1:80")),
            (Some(deep.expect("JSON")), Some("[::1]:65535")),
        ] {
            let peer = peer.map(|peer| peer.parse().expect("an address"));
            let written = Vouched { principal, peer };
            let read = Vouched::read(&written.write()).expect("as written");
            assert_eq!(
                (read.principal, read.peer),
                (written.principal, written.peer)
            );
        }
        for junk in ["", "e30", "bm90IEpTT04=", "W10="] {
            assert!(Vouched::read(&HeaderValue::from_static(junk)).is_none());
        }
    }
}
