//! Laws of sealed state and of embedded requests that hold for every input, tried on many.

mod common;

use common::object;
use common::values::values;
use proptest::prelude::*;
use snodo_core::json::{Json, Object};
use snodo_core::mrtr::state::{Binding, KeyRing, Purpose, TOKEN_BYTES, TooLarge};
use snodo_core::mrtr::{check_request, check_response};

const NOW: u64 = 1_800_000_000;
const TTL: u64 = 300;

fn ring(secrets: &[u8]) -> KeyRing {
    KeyRing::new(secrets.iter().map(|byte| (None, [*byte; 32]))).expect("a good ring")
}

/// The request that tokens are sealed for here.
#[derive(Debug)]
struct Request {
    method: String,
    subject: String,
    arguments: Object,
    principal: Json,
}

impl Request {
    fn binding(&self) -> Binding<'_> {
        Binding {
            method: &self.method,
            subject: &self.subject,
            arguments: &self.arguments,
            principal: &self.principal,
        }
    }

    fn seal(&self, data: &[u8]) -> String {
        let ring = ring(&[1]);
        let sealed = ring.seal(Purpose::State, &self.binding(), data, NOW, TTL, [7; 24]);
        sealed.expect("small enough")
    }

    fn open(&self, token: &str) -> Result<Vec<u8>, ()> {
        ring(&[1])
            .open(Purpose::State, &self.binding(), token, NOW, TTL)
            .map_err(drop)
    }
}

fn deploy() -> Request {
    Request {
        method: "tools/call".to_owned(),
        subject: "deploy".to_owned(),
        arguments: object(r#"{"to":"staging","n":1}"#),
        principal: Json::Object(object(r#"{"sub":"ada"}"#)),
    }
}

fn refused() -> Result<Vec<u8>, ()> {
    Err(())
}

/// The same value with the members of every object the other way round.
fn turned(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(turned).collect()),
        Json::Object(object) => Json::Object(turned_object(object)),
        flat => flat.clone(),
    }
}

fn turned_object(object: &Object) -> Object {
    let mut members: Vec<_> = object.iter().collect();
    members.reverse();
    let mut turned_object = Object::new();
    for (key, value) in members {
        turned_object.insert(key, turned(value));
    }
    turned_object
}

fn objects() -> impl Strategy<Value = Object> {
    prop::collection::vec((any::<String>(), values()), 0..4).prop_map(|members| {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    })
}

fn requests() -> impl Strategy<Value = Request> {
    (any::<String>(), any::<String>(), objects(), values()).prop_map(
        |(method, subject, arguments, principal)| Request {
            method,
            subject,
            arguments,
            principal,
        },
    )
}

proptest! {
    // Requests of every shape are large, and each is sealed and opened.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_sealed_is_opened(
        request in requests(),
        data in prop::collection::vec(any::<u8>(), 0..1000),
        nonce in any::<[u8; 24]>(),
        ttl in 1..=900u64,
        later in 0..900u64,
    ) {
        let ring = ring(&[1]);
        for purpose in [Purpose::Ask, Purpose::State] {
            let binding = request.binding();
            let token = ring.seal(purpose, &binding, &data, NOW, ttl, nonce).expect("small enough");
            let expected = if later < ttl { Ok(data.clone()) } else { refused() };
            prop_assert_eq!(ring.open(purpose, &binding, &token, NOW + later, ttl).map_err(drop), expected);
        }
    }

    #[test]
    fn the_order_of_keys_does_not_count(request in requests()) {
        let other = Request {
            arguments: turned_object(&request.arguments),
            principal: turned(&request.principal),
            method: request.method.clone(),
            subject: request.subject.clone(),
        };
        prop_assert_eq!(other.open(&request.seal(b"data")), Ok(b"data".to_vec()));
    }

    #[test]
    fn another_request_does_not_open_it(one in requests(), other in requests()) {
        let same = one.method == other.method
            && one.subject == other.subject
            && turned_object(&one.arguments) == turned_object(&other.arguments)
            && one.principal == other.principal;
        prop_assume!(!same);
        prop_assert_eq!(other.open(&one.seal(b"data")), refused());
    }

    #[test]
    fn no_other_text_is_opened(token in any::<String>()) {
        let request = deploy();
        prop_assert_eq!(request.open(&token), refused());
        prop_assert_eq!(request.open(&format!("snodo1.{token}")), refused());
    }

    #[test]
    fn a_changed_character_is_found(at in any::<prop::sample::Index>(), to in any::<char>()) {
        let request = deploy();
        let token = request.seal(b"{\"step\":2}");
        let mut changed: Vec<char> = token.chars().collect();
        let at = at.index(changed.len());
        prop_assume!(changed[at] != to);
        changed[at] = to;
        prop_assert_eq!(request.open(&changed.into_iter().collect::<String>()), refused());
    }

    #[test]
    fn nothing_makes_a_check_panic(request in values(), response in values()) {
        let _ = check_request(&request);
        let _ = check_response(&request, &response);
    }

    #[test]
    fn nothing_in_a_good_request_makes_a_check_panic(
        method in prop::sample::select(&["elicitation/create", "sampling/createMessage", "roots/list"][..]),
        params in nearly_params(),
        response in nearly_params(),
    ) {
        let mut request = Object::new();
        request.insert("method", Json::String(method.to_owned()));
        request.insert("params", params);
        let request = Json::Object(request);
        let _ = check_request(&request);
        let _ = check_response(&request, &response);
    }
}

/// Objects whose members have names that mean something.
fn nearly_params() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        values(),
        prop::sample::select(WORDS).prop_map(|word| Json::String(word.to_owned())),
        any::<i64>().prop_map(Json::Int),
    ];
    leaf.prop_recursive(5, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec((prop::sample::select(WORDS), inner), 0..8).prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object.insert(key, value);
                }
                Json::Object(object)
            }),
        ]
    })
}

const WORDS: &[&str] = &[
    "mode",
    "form",
    "url",
    "https://é",
    "message",
    "requestedSchema",
    "type",
    "object",
    "string",
    "array",
    "number",
    "properties",
    "required",
    "format",
    "date",
    "date-time",
    "2026-01-31",
    "enum",
    "oneOf",
    "items",
    "anyOf",
    "const",
    "title",
    "default",
    "minLength",
    "maximum",
    "action",
    "accept",
    "content",
    "messages",
    "maxTokens",
    "role",
    "user",
    "assistant",
    "text",
    "tool_use",
    "tool_result",
    "toolUseId",
    "id",
    "input",
    "name",
    "roots",
    "uri",
    "file:///",
    "model",
    "toolChoice",
    "tools",
];

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let request = deploy();
    let token = request.seal(b"{\"step\":2}");
    assert_eq!(request.open(&token), Ok(b"{\"step\":2}".to_vec()));
    for at in 0..token.len() {
        assert_eq!(request.open(&token[..at]), refused(), "cut at {at}");
        for bit in 0..7 {
            let mut flipped = token.clone().into_bytes();
            flipped[at] ^= 1 << bit;
            let flipped = String::from_utf8(flipped).expect("ASCII");
            assert_eq!(request.open(&flipped), refused(), "bit {bit} of byte {at}");
        }
    }
    for more in ["A", "=", ".", " ", "\n"] {
        assert_eq!(
            request.open(&format!("{token}{more}")),
            refused(),
            "{more:?}"
        );
        assert_eq!(
            request.open(&format!("{more}{token}")),
            refused(),
            "{more:?}"
        );
    }
}

#[test]
fn a_token_is_for_one_request_only() {
    let request = deploy();
    let token = request.seal(b"data");
    let others = [
        Request {
            method: "prompts/get".to_owned(),
            ..deploy()
        },
        Request {
            subject: "destroy".to_owned(),
            ..deploy()
        },
        Request {
            arguments: object(r#"{"to":"production","n":1}"#),
            ..deploy()
        },
        Request {
            arguments: object(r#"{"to":"staging","n":1.0}"#),
            ..deploy()
        },
        Request {
            arguments: object(r#"{"to":"staging","n":"1"}"#),
            ..deploy()
        },
        Request {
            arguments: object(r#"{"to":"staging","n":1,"x":null}"#),
            ..deploy()
        },
        Request {
            arguments: object(r#"{"to":"staging"}"#),
            ..deploy()
        },
        Request {
            principal: Json::Object(object(r#"{"sub":"bob"}"#)),
            ..deploy()
        },
        Request {
            principal: Json::Null,
            ..deploy()
        },
    ];
    for other in others {
        assert_eq!(other.open(&token), refused(), "{:?}", other.binding());
    }
    let ask = ring(&[1])
        .open(Purpose::Ask, &request.binding(), &token, NOW, TTL)
        .map_err(drop);
    assert_eq!(ask, refused());
}

#[test]
fn a_token_opens_within_its_time_only() {
    let request = deploy();
    let token = request.seal(b"data");
    let open = |now, max_ttl| {
        ring(&[1])
            .open(Purpose::State, &request.binding(), &token, now, max_ttl)
            .map_err(drop)
    };
    for (now, max_ttl, opens) in [
        (NOW, TTL, true),
        (NOW + TTL - 1, TTL, true),
        (NOW + TTL, TTL, false),
        (NOW + TTL, 900, false),
        (NOW, TTL - 1, false),
        (NOW, 0, false),
        // The clocks of a fleet may differ.
        (NOW - 60, TTL, true),
        (NOW - 61, TTL, false),
        (0, TTL, false),
        (u64::MAX, u64::MAX, false),
    ] {
        let expected = if opens {
            Ok(b"data".to_vec())
        } else {
            refused()
        };
        assert_eq!(open(now, max_ttl), expected, "{now} {max_ttl}");
    }
    let ring = ring(&[1]);
    let binding = request.binding();
    let endless = ring
        .seal(Purpose::State, &binding, b"", NOW, u64::MAX, [7; 24])
        .expect("small");
    assert_eq!(
        ring.open(Purpose::State, &binding, &endless, NOW, 900)
            .map_err(drop),
        refused()
    );
    let dead = ring
        .seal(Purpose::State, &binding, b"", NOW, 0, [7; 24])
        .expect("small");
    assert_eq!(
        ring.open(Purpose::State, &binding, &dead, NOW - 1, 900)
            .map_err(drop),
        refused()
    );
}

#[test]
fn keys_are_rotated_without_losing_a_token() {
    let request = deploy();
    let binding = request.binding();
    let seal = |ring: &KeyRing| {
        ring.seal(Purpose::State, &binding, b"data", NOW, TTL, [7; 24])
            .expect("small enough")
    };
    let opens = |ring: &KeyRing, token: &str| {
        let opened = ring
            .open(Purpose::State, &binding, token, NOW, TTL)
            .map_err(drop);
        assert!(opened == Ok(b"data".to_vec()) || opened == refused());
        opened.is_ok()
    };
    let (old, accepting, rotated, new) = (ring(&[1]), ring(&[1, 2]), ring(&[2, 1]), ring(&[2]));
    for (sealer, openers) in [
        (&old, [true, true, true, false]),
        (&accepting, [true, true, true, false]),
        (&rotated, [false, true, true, true]),
        (&new, [false, true, true, true]),
    ] {
        let token = seal(sealer);
        let found = [&old, &accepting, &rotated, &new].map(|ring| opens(ring, &token));
        assert_eq!(found, openers, "{sealer:?}");
    }
    // An id is a name, not a key: the same name for another secret opens nothing.
    let named = |byte: u8| KeyRing::new([(Some("a".to_owned()), [byte; 32])]).expect("a good ring");
    assert!(seal(&named(1)).starts_with("snodo1.a."));
    assert!(opens(&named(1), &seal(&named(1))));
    assert!(!opens(&named(2), &seal(&named(1))));
}

#[test]
fn a_token_is_of_bounded_size() {
    let request = deploy();
    let binding = request.binding();
    let ring = KeyRing::new([(Some("a".to_owned()), [1; 32])]).expect("a good ring");
    let seal = |bytes| {
        ring.seal(
            Purpose::State,
            &binding,
            &vec![b'x'; bytes],
            NOW,
            TTL,
            [7; 24],
        )
    };
    // 16,384 less `snodo1.a.` are 16,375 characters of base64, which hold 12,281 bytes: nonce, tag and
    // times take 56 of them.
    let largest = seal(12_225).expect("fits");
    assert!(largest.len() <= TOKEN_BYTES);
    let opened = ring
        .open(Purpose::State, &binding, &largest, NOW, TTL)
        .map_err(drop);
    assert_eq!(opened.map(|data| data.len()), Ok(12_225));
    assert_eq!(seal(12_226), Err(TooLarge));
    assert_eq!(seal(1 << 24), Err(TooLarge));
    let padded = format!("{largest}{}", "A".repeat(TOKEN_BYTES));
    assert_eq!(
        ring.open(Purpose::State, &binding, &padded, NOW, TTL)
            .map_err(drop),
        refused()
    );
}
