//! State that travels through the client and back: sealed, so that it can be neither read nor changed,
//! and bound to the request it was made for.
//!
//! A token is `snodo1.<key id>.<nonce and cipher text>`, the last part in unpadded URL-safe base64. It
//! may be used as often as its maker likes until it expires: what may happen only once must be kept
//! on the server. Clock and randomness are the caller's.

use std::collections::HashSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use sha2::Sha256;

use crate::json::{Json, Object, write_string};

/// Bytes of a token. A longer one is neither made nor opened; it must fit a client's next request.
pub const TOKEN_BYTES: usize = 16_384;
/// Keys of a ring: the current one, and those of rotations that are not over.
pub const KEYS: usize = 8;
/// Bytes of a secret, at least. A key of 32 bytes is derived from it, and it must not be weaker.
pub const SECRET_BYTES: usize = 32;
/// Seconds by which the clocks of one fleet may differ: a token may seem issued this far ahead.
pub const CLOCK_SKEW: u64 = 60;

const VERSION: &str = "snodo1";
const KEY_ID_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// Issued and expires, before the data.
const TIMES_BYTES: usize = 16;

/// What a token is made for. One that was made for something else does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The library's own record of an interview.
    Ask,
    /// What an author keeps.
    State,
}

/// The request that a token belongs to. It opens only for one that is equal in all of these; the order
/// of keys does not count, the kind of a number does.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
    /// The method.
    pub method: &'a str,
    /// The name of the tool or prompt, or the URI.
    pub subject: &'a str,
    /// The arguments.
    pub arguments: &'a Object,
    /// Who asks; `null` for nobody in particular.
    pub principal: &'a Json,
}

/// The keys that seal and open, the current one first.
pub struct KeyRing {
    keys: Vec<Key>,
}

struct Key {
    id: String,
    ask: [u8; 32],
    state: [u8; 32],
}

/// What is wrong with the keys that are to make a ring. Never tells a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyRingError {
    /// None, or too many.
    #[error("request state keys must be a list of 1 to 8 secrets or (id, secret) pairs")]
    Count,
    /// An id that could not stand in a token.
    #[error("request state key identifiers must be 1 to 32 characters from A-Z, a-z, 0-9, _ and -")]
    Id,
    /// An id that is given twice, or a secret without an id that is.
    #[error("request state key identifiers must be unique")]
    Unique,
    /// A secret that could be guessed.
    #[error("request state requires a secret of at least 32 bytes")]
    Secret,
}

/// The data does not fit a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("request state exceeds the 16 KiB token size limit")]
pub struct TooLarge;

impl KeyRing {
    /// A ring of secrets, the current one first, each with an id or with one derived from it, so that
    /// every process with the same secret comes to the same.
    pub fn new(
        secrets: impl IntoIterator<Item = (Option<String>, impl AsRef<[u8]>)>,
    ) -> Result<Self, KeyRingError> {
        let keys = secrets
            .into_iter()
            .map(|(id, secret)| Key::new(id, secret.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        if !(1..=KEYS).contains(&keys.len()) {
            return Err(KeyRingError::Count);
        }
        let mut ids = HashSet::new();
        if !keys.iter().all(|key| ids.insert(&key.id)) {
            return Err(KeyRingError::Unique);
        }
        Ok(Self { keys })
    }

    /// A token with `data` for the request of `binding`, good for `ttl` seconds from `now` (Unix
    /// seconds). No two calls with one ring may have the same nonce: it must be random.
    pub fn seal(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        data: &[u8],
        now: u64,
        ttl: u64,
        nonce: [u8; NONCE_BYTES],
    ) -> Result<String, TooLarge> {
        let key = &self.keys[0];
        let mut token = format!("{VERSION}.{}.", key.id);
        let sealed_bytes = NONCE_BYTES + TIMES_BYTES + data.len() + TAG_BYTES;
        let encoded = base64::encoded_len(sealed_bytes, false).ok_or(TooLarge)?;
        if token.len() + encoded > TOKEN_BYTES {
            return Err(TooLarge);
        }
        let mut plain = Vec::with_capacity(TIMES_BYTES + data.len());
        plain.extend_from_slice(&now.to_be_bytes());
        plain.extend_from_slice(&now.saturating_add(ttl).to_be_bytes());
        plain.extend_from_slice(data);
        let payload = Payload {
            msg: &plain,
            aad: &binding.canonical(&key.id),
        };
        let cipher = key.cipher(purpose);
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a token is far smaller than what the cipher takes");
        URL_SAFE_NO_PAD.encode_string([&nonce[..], &sealed].concat(), &mut token);
        Ok(token)
    }

    /// The data of a token that was sealed for such a request, has not expired at `now` (Unix seconds)
    /// and was never meant to live longer than `max_ttl` seconds. What is wrong is for the log: whoever
    /// sent it is told the same whatever the fault (-32602), or it would learn how to come closer.
    pub fn open(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        token: &str,
        now: u64,
        max_ttl: u64,
    ) -> Result<Vec<u8>, Fault> {
        if token.len() > TOKEN_BYTES {
            return Err(Fault::Malformed);
        }
        let (id, encoded) = token
            .strip_prefix(VERSION)
            .and_then(|rest| rest.strip_prefix('.')?.split_once('.'))
            .ok_or(Fault::Malformed)?;
        let key = self.keys.iter().find(|key| key.id == id);
        let key = key.ok_or(Fault::UnknownKey)?;
        let sealed = URL_SAFE_NO_PAD.decode(encoded);
        let sealed = sealed.map_err(|_| Fault::Malformed)?;
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(Fault::Malformed)?;
        let payload = Payload {
            msg: sealed,
            aad: &binding.canonical(&key.id),
        };
        let plain = key.cipher(purpose).decrypt(&XNonce::from(*nonce), payload);
        let plain = plain.map_err(|_| Fault::Foreign)?;
        let lived = times(&plain).filter(|(issued, expires, _)| {
            *expires > now && *issued <= now.saturating_add(CLOCK_SKEW)
        });
        let (issued, expires, data) = lived.ok_or(Fault::Expired)?;
        let lifetime = expires.checked_sub(issued);
        if lifetime.is_none_or(|lifetime| !(1..=max_ttl).contains(&lifetime)) {
            return Err(Fault::Expired);
        }
        Ok(data.to_vec())
    }
}

/// When a token was issued, when it expires, and its data.
fn times(plain: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (issued, rest) = plain.split_first_chunk()?;
    let (expires, data) = rest.split_first_chunk()?;
    Some((
        u64::from_be_bytes(*issued),
        u64::from_be_bytes(*expires),
        data,
    ))
}

/// Why a token does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not of this kind, cut, or too long.
    #[error("it is not a sealed state, or only a part of one")]
    Malformed,
    /// Of a server with another secret, or of one that has been rotated out.
    #[error(
        "it names a key that this server does not have: does every process have the same secret?"
    )]
    UnknownKey,
    /// Changed, or sealed for something else.
    #[error("it was changed, or belongs to another request, other arguments or another principal")]
    Foreign,
    /// Its time is over, has not come, or was never to be so long.
    #[error("it has expired")]
    Expired,
}

/// Only the ids: they stand in every token.
impl fmt::Debug for KeyRing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.keys.iter().map(|key| &key.id).collect();
        out.debug_struct("KeyRing")
            .field("ids", &ids)
            .finish_non_exhaustive()
    }
}

impl Key {
    fn new(id: Option<String>, secret: &[u8]) -> Result<Self, KeyRingError> {
        if id.as_deref().is_some_and(|id| !is_key_id(id)) {
            return Err(KeyRingError::Id);
        }
        if secret.len() < SECRET_BYTES {
            return Err(KeyRingError::Secret);
        }
        let id = id.unwrap_or_else(|| URL_SAFE_NO_PAD.encode(derive::<9>(secret, "key id")));
        Ok(Self {
            id,
            ask: derive(secret, "ask"),
            state: derive(secret, "state"),
        })
    }

    fn cipher(&self, purpose: Purpose) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&match purpose {
            Purpose::Ask => self.ask.into(),
            Purpose::State => self.state.into(),
        })
    }
}

fn is_key_id(id: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=KEY_ID_BYTES).contains(&id.len()) && id.bytes().all(legal)
}

/// HKDF-SHA256 (RFC 5869): from one secret as many keys as there are labels, none of which tells
/// another.
fn derive<const BYTES: usize>(secret: &[u8], label: &str) -> [u8; BYTES] {
    let mut derived = [0; BYTES];
    Hkdf::<Sha256>::new(Some(b"snodo request state 1"), secret)
        .expand(label.as_bytes(), &mut derived)
        .expect("a few bytes are less than HKDF can give");
    derived
}

impl Binding<'_> {
    /// One text for all requests that are the same, and no other, under this version and key.
    fn canonical(&self, key_id: &str) -> Vec<u8> {
        let mut out = vec![b'['];
        for text in [VERSION, key_id, self.method, self.subject] {
            write_string(text, &mut out);
            out.push(b',');
        }
        write_canonical_object(self.arguments, &mut out);
        out.push(b',');
        write_canonical(self.principal, &mut out);
        out.push(b']');
        out
    }
}

/// JSON text with the keys of every object sorted. Numbers keep their kind, lists their order.
fn write_canonical(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Object(object) => write_canonical_object(object, out),
        Json::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        flat => flat.write(out),
    }
}

fn write_canonical_object(object: &Object, out: &mut Vec<u8>) {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    out.push(b'{');
    for (at, (key, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_canonical(value, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::limits::Limits;

    fn value(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::default()).expect("JSON")
    }

    fn canonical(text: &str) -> String {
        let mut out = Vec::new();
        write_canonical(&value(text), &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn keys_are_sorted_at_every_depth_and_nothing_else_changes() {
        assert_eq!(
            canonical(r#"{"b":[{"d":1,"c":1.0}],"a":null,"é":"\n","B":18446744073709551616}"#),
            r#"{"B":18446744073709551616,"a":null,"b":[{"c":1.0,"d":1}],"é":"\n"}"#
        );
        assert_ne!(canonical("[1,2]"), canonical("[2,1]"));
        assert_ne!(canonical("1"), canonical("1.0"));
        assert_ne!(canonical("1"), canonical("\"1\""));
    }

    #[test]
    fn a_ring_is_shown_without_its_secrets() {
        let secret = *b"0123456789abcdef0123456789abcdef";
        let ring = KeyRing::new([(Some("2026-a".to_owned()), secret)]).expect("a good ring");
        assert_eq!(format!("{ring:?}"), r#"KeyRing { ids: ["2026-a"], .. }"#);
    }

    #[test]
    fn rings_that_would_not_do_are_refused() {
        let secret = |byte: u8| [byte; 32];
        let named = |id: &str| KeyRing::new([(Some(id.to_owned()), secret(1))]);
        let unnamed = |count: u8| KeyRing::new((0..count).map(|byte| (None, secret(byte))));
        let refusal = |ring: Result<KeyRing, KeyRingError>| ring.err();
        assert_eq!(refusal(unnamed(0)), Some(KeyRingError::Count));
        assert_eq!(refusal(unnamed(1)), None);
        assert_eq!(refusal(unnamed(8)), None);
        assert_eq!(refusal(unnamed(9)), Some(KeyRingError::Count));
        for id in ["", "a.b", "é", "a b", &"x".repeat(33)] {
            assert_eq!(refusal(named(id)), Some(KeyRingError::Id), "{id:?}");
        }
        for id in ["a", "A-9_z", &"x".repeat(32)] {
            assert_eq!(refusal(named(id)), None, "{id:?}");
        }
        let short = KeyRing::new([(None, [7; 31])]);
        assert_eq!(refusal(short), Some(KeyRingError::Secret));
        let twice = KeyRing::new([(None, secret(1)), (None, secret(1))]);
        assert_eq!(refusal(twice), Some(KeyRingError::Unique));
        let renamed = KeyRing::new([(None, secret(1)), (Some("b".to_owned()), secret(1))]);
        assert_eq!(refusal(renamed), None);
    }

    /// What a fleet of mixed builds relies on: the same secret, request and nonce are the same token.
    #[test]
    fn the_token_is_the_one_that_other_builds_make() {
        let ring = KeyRing::new([(None, *b"0123456789abcdef0123456789abcdef")]).expect("a ring");
        let arguments = value(r#"{"b":1,"a":[1.0]}"#);
        let binding = Binding {
            method: "tools/call",
            subject: "deploy",
            arguments: arguments.as_object().expect("an object"),
            principal: &value(r#""ada""#),
        };
        let token = ring.seal(Purpose::State, &binding, b"{}", 1_000, 300, [9; 24]);
        assert_eq!(
            token.as_deref(),
            Ok(
                "snodo1.Z_7GjkJFFyt1.CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJYHYVDjBQZN7n4DblOAquJpmmGmNy4H78_ir9VtdEuvLGKA"
            )
        );
    }
}
