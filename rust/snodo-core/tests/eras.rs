//! Which revision a message is spoken in, and what it is told that speaks none: literal messages in,
//! literal answers out.

mod common;

use common::{GREET, ask, call, every_era, http, literal, object, opened, peer, stdio, text, tool};
use common::{settings, with_tools};
use snodo_core::context::{Arrival, Transport};
use snodo_core::dialect::{ALL, Dialect};
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::json::Json;
use snodo_core::notice::Level;
use snodo_core::pipeline::{Change, Prepared, Verdict, batch, prepare};
use snodo_core::runtime::Runtime;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"VERSION","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1","icons":[]}}}"#;
const ERA: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

fn server() -> Runtime {
    with_tools(every_era(), vec![tool(GREET)])
}

fn speaking(versions: &[&str]) -> Runtime {
    let mut settings = every_era();
    settings.dialects = ALL
        .into_iter()
        .filter(|dialect| versions.contains(&dialect.version()))
        .collect();
    with_tools(settings, vec![tool(GREET)])
}

fn initialize(version: &str) -> String {
    INITIALIZE.replace("VERSION", version)
}

/// The revision that a handshake ends with.
fn agreed(runtime: &Runtime, requested: &str, arrival: Arrival) -> String {
    match prepare(runtime, initialize(requested).as_bytes(), arrival) {
        Prepared::Open { answer, peer } => {
            let version = peer.dialect.version();
            let (body, verdict) = text(answer);
            assert!(body.contains(&format!(r#""result":{{"protocolVersion":"{version}""#)));
            assert_eq!(verdict, Verdict::Result);
            version.to_owned()
        }
        other => panic!("no handshake: {other:?}"),
    }
}

fn revision_of(runtime: &Runtime, message: &str, arrival: Arrival) -> &'static str {
    call(runtime, message, arrival).context.protocol_version()
}

fn http_session(version: &str, headers: &str) -> Arrival {
    Arrival {
        peer: Some(peer(version, "{}")),
        ..http(headers)
    }
}

#[test]
fn a_handshake_agrees_on_what_was_asked_for_or_on_the_newest_of_the_era() {
    let runtime = server();
    for version in ERA {
        assert_eq!(agreed(&runtime, version, stdio()), version);
        assert_eq!(agreed(&runtime, version, http("")), version);
    }
    for other in ["1999-01-01", "2026-07-28", "", "2099-01-01"] {
        assert_eq!(agreed(&runtime, other, stdio()), "2025-11-25");
        assert_eq!(agreed(&runtime, other, http("")), "2025-11-25");
    }
    let header = http("mcp-protocol-version: 2025-06-18");
    assert_eq!(agreed(&runtime, "2025-11-25", header), "2025-11-25");
    let two = speaking(&["2025-06-18", "2024-11-05"]);
    assert_eq!(agreed(&two, "2025-11-25", stdio()), "2025-06-18");
    let header = http("mcp-protocol-version: 2025-11-25");
    assert_eq!(agreed(&two, "2025-11-25", header), "2025-06-18");
    // The order in which revisions are enabled says nothing.
    let mut settings = every_era();
    settings.dialects.reverse();
    let reversed = with_tools(settings, vec![tool(GREET)]);
    assert_eq!(agreed(&reversed, "1999-01-01", stdio()), "2025-11-25");
    // A second handshake replaces the first.
    assert_eq!(
        agreed(&runtime, "2025-06-18", opened("2025-11-25", "{}")),
        "2025-06-18"
    );
}

#[test]
fn a_handshake_tells_who_the_client_is() {
    match prepare(&server(), initialize("2025-11-25").as_bytes(), stdio()) {
        Prepared::Open { answer, peer } => {
            assert_eq!(
                text(answer).0,
                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"demo","version":"1.0.0"}}}"#
            );
            assert_eq!(peer.client_info, object(r#"{"name":"old","version":"1"}"#));
            assert_eq!(peer.capabilities, object(r#"{"roots":{}}"#));
        }
        other => panic!("no handshake: {other:?}"),
    }
}

#[test]
fn a_handshake_must_be_whole_and_not_too_large() {
    let runtime = server();
    let whole = initialize("2025-11-25");
    let large = "x".repeat(9000);
    let wanted = "initialize requires protocolVersion, capabilities and clientInfo name/version";
    for (from, to) in [
        (r#""protocolVersion":"2025-11-25","#, ""),
        (
            r#""protocolVersion":"2025-11-25","#,
            r#""protocolVersion":1,"#,
        ),
        (r#""capabilities":{"roots":{}},"#, ""),
        (r#""capabilities":{"roots":{}},"#, r#""capabilities":[],"#),
        (r#""name":"old","#, ""),
        (r#""version":"1""#, r#""version":1"#),
        (r#""clientInfo":"#, r#""client":"#),
    ] {
        let message = whole.replace(from, to);
        assert_ne!(message, whole);
        assert_eq!(
            ask(&runtime, &message, stdio()),
            (
                format!(
                    r#"{{"jsonrpc":"2.0","id":0,"error":{{"code":-32602,"message":"{wanted}"}}}}"#
                ),
                Verdict::Told(-32602)
            )
        );
    }
    let (answer, _) = ask(&runtime, &whole.replace("old", &large), stdio());
    assert!(answer.contains("clientInfo and capabilities must not exceed 8192 bytes"));
    let (answer, _) = ask(&runtime, &whole.replace("roots", &large), stdio());
    assert!(answer.contains("clientInfo and capabilities must not exceed 8192 bytes"));
    // A great many values take far more memory than their text: what nobody knows of them goes.
    let many = format!(
        r#""roots":{{}},"elicitation":{{"form":{{}},"x":{{}}}},"experimental":{{"a":[{}0]}}"#,
        "0,".repeat(3000)
    );
    let many = whole.replace(r#""roots":{}"#, &many);
    let Prepared::Open { peer, .. } = prepare(&runtime, many.as_bytes(), stdio()) else {
        panic!("a handshake");
    };
    let kept = String::from_utf8(peer.capabilities.to_vec()).expect("UTF-8");
    assert_eq!(kept, r#"{"roots":{},"elicitation":{"form":{}}}"#);
    // Pictures do not count.
    let pictures = whole.replace("[]", &format!(r#"["{large}"]"#));
    assert!(matches!(
        prepare(&runtime, pictures.as_bytes(), stdio()),
        Prepared::Open { .. }
    ));
}

#[test]
fn over_http_header_and_body_tell_the_revision() {
    let runtime = server();
    for version in ERA {
        let header = format!("mcp-protocol-version: {version}");
        assert_eq!(revision_of(&runtime, CALL, http(&header)), version);
        // A session is of its own revision, whichever of the era the header says.
        assert_eq!(
            revision_of(&runtime, CALL, http_session(version, "")),
            version
        );
        assert_eq!(
            revision_of(&runtime, CALL, http_session(version, &header)),
            version
        );
        let header = "mcp-protocol-version: 2025-06-18";
        assert_eq!(
            revision_of(&runtime, CALL, http_session(version, header)),
            version
        );
    }
    assert_eq!(revision_of(&runtime, CALL, http("")), "2025-03-26");
    let modern = literal(&CALL.replace(r#""params":{"#, r#""params":{META,"#));
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: tools/call\nmcp-name: greet";
    assert_eq!(revision_of(&runtime, &modern, http(headers)), "2026-07-28");
    let session = http_session("2025-11-25", headers);
    assert_eq!(revision_of(&runtime, &modern, session), "2026-07-28");
}

#[test]
fn over_http_what_is_of_no_revision_is_refused_before_it_is_read() {
    let runtime = server();
    let modern = literal(&LIST.replace(r#""}"#, r#"","params":{META}}"#));
    let all = "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05";
    let unsupported = format!("Unsupported protocol version; this server supports {all}");
    for arrival in [http, |headers: &str| http_session("2025-11-25", headers)] {
        for (message, headers, code, expected) in [
            (
                LIST,
                "mcp-protocol-version: tomorrow",
                -32022,
                &*unsupported,
            ),
            (
                &initialize("2025-11-25"),
                "mcp-protocol-version: tomorrow",
                -32022,
                &unsupported,
            ),
            (
                LIST,
                "mcp-protocol-version: 2026-07-28",
                -32602,
                "Required request _meta is missing",
            ),
            (
                LIST,
                "mcp-protocol-version: é",
                -32020,
                "mcp-protocol-version is malformed",
            ),
            (
                LIST,
                "mcp-protocol-version: 2025-11-25\nmcp-protocol-version: 2025-11-25",
                -32020,
                "Missing or repeated required header: mcp-protocol-version",
            ),
            (
                &modern,
                "",
                -32020,
                "Missing or repeated required header: mcp-protocol-version",
            ),
            (
                &modern,
                "mcp-protocol-version: 2025-11-25",
                -32020,
                "Protocol header does not match request metadata",
            ),
            (
                &modern.replace("2026-07-28", "2025-11-25"),
                "mcp-protocol-version: 2025-11-25\nmcp-method: tools/list",
                -32022,
                "Unsupported protocol version",
            ),
        ] {
            let (answer, verdict) = ask(&runtime, message, arrival(headers));
            assert!(
                answer.contains(&format!(r#""error":{{"code":{code},"message":"{expected}"#)),
                "{message} {headers}: {answer}"
            );
            assert_eq!(verdict, Verdict::Error(code));
        }
    }
    // What is not enabled is not spoken.
    let newest = speaking(&["2026-07-28", "2025-11-25"]);
    let missing = ask(&newest, LIST, http(""));
    assert_eq!(
        missing,
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Missing or repeated required header: mcp-protocol-version; this server supports 2026-07-28, 2025-11-25"}}"#.to_owned(),
            Verdict::Error(-32020)
        )
    );
    let (answer, verdict) = ask(&newest, LIST, http("mcp-protocol-version: 2025-06-18"));
    assert!(
        answer.contains(
            r#""data":{"requested":"2025-06-18","supported":["2026-07-28","2025-11-25"]}"#
        )
    );
    assert_eq!(verdict, Verdict::Error(-32022));
}

#[test]
fn a_server_of_the_old_era_alone_names_its_revisions() {
    let runtime = speaking(&["2025-11-25", "2025-06-18"]);
    let modern = literal(&LIST.replace(r#""}"#, r#"","params":{META}}"#));
    let expected = (
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version; this server supports 2025-11-25, 2025-06-18","data":{"requested":"2026-07-28","supported":["2025-11-25","2025-06-18"]}}}"#.to_owned(),
        Verdict::Error(-32022),
    );
    let headers = "mcp-protocol-version: 2026-07-28\nmcp-method: tools/list";
    assert_eq!(ask(&runtime, &modern, http(headers)), expected);
    assert_eq!(ask(&runtime, &modern, stdio()), expected);
    let (answer, _) = ask(&runtime, LIST, stdio());
    assert!(
        answer.contains(r#""message":"Send initialize first"}"#),
        "{answer}"
    );
}

#[test]
fn on_a_pipe_the_handshake_comes_first_unless_a_message_brings_its_own_terms() {
    let runtime = server();
    assert_eq!(
        ask(&runtime, LIST, stdio()),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Send initialize first, or name 2026-07-28 as io.modelcontextprotocol/protocolVersion in the _meta of every request"}}"#.to_owned(),
            Verdict::Told(-32602)
        )
    );
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let nothing = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(ask(&runtime, ping, stdio()).0, nothing);
    let modern = literal(&CALL.replace(r#""params":{"#, r#""params":{META,"#));
    assert_eq!(revision_of(&runtime, &modern, stdio()), "2026-07-28");
    for version in ERA {
        assert_eq!(ask(&runtime, ping, opened(version, "{}")).0, nothing);
        assert_eq!(revision_of(&runtime, CALL, opened(version, "{}")), version);
        let context = call(&runtime, &modern, opened(version, r#"{"sampling":{}}"#)).context;
        assert_eq!(context.protocol_version(), "2026-07-28");
        // It is nothing to a modern message what a session knows.
        assert!(!context.asks());
        assert_eq!(context.client_info(), None);
        assert_eq!(context.client_capabilities(), Some(&object("{}")));
        assert_eq!(context.log_level, None);
    }
}

#[test]
fn a_session_knows_its_client_and_its_log_level() {
    let runtime = server();
    let context = call(&runtime, CALL, opened("2025-11-25", r#"{"sampling":{}}"#)).context;
    assert_eq!(
        context.client_info(),
        Some(&object(r#"{"name":"old","version":"1"}"#))
    );
    assert_eq!(
        context.client_capabilities(),
        Some(&object(r#"{"sampling":{}}"#))
    );
    assert_eq!(context.log_level.map(Level::name), Some("info"));
    assert!(context.asks());
    let arrival = Arrival {
        log_level: Level::named("error"),
        ..opened("2025-11-25", "{}")
    };
    let context = call(&runtime, CALL, arrival).context;
    assert_eq!(context.log_level.map(Level::name), Some("error"));
}

#[test]
fn errors_of_an_admitted_request_have_no_status_of_their_own() {
    let runtime = server();
    let header = || http("mcp-protocol-version: 2025-11-25");
    for (message, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"foo/bar"}"#,
            r#"{"code":-32601,"message":"Method not found: foo/bar"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
            r#"{"code":-32601,"message":"Method not found: server/discover; it is one of 2026-07-28, whose requests name that as io.modelcontextprotocol/protocolVersion in their _meta"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#,
            r#"{"code":-32601,"message":"Method not found: prompts/list"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}"#,
            r#"{"code":-32602,"message":"Cursor must be a string"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":1}}"#,
            r#"{"code":-32602,"message":"_meta must be an object"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":{}}}}"#,
            r#"{"code":-32602,"message":"progressToken must be a string of at most 256 bytes or an int64 integer"}"#,
        ),
    ] {
        let (answer, verdict) = ask(&runtime, message, header());
        assert_eq!(
            answer,
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{expected}}}"#)
        );
        assert!(matches!(verdict, Verdict::Told(_)), "{verdict:?}");
    }
    assert_eq!(ask(&runtime, "{", header()).1, Verdict::Error(-32700));
    assert_eq!(ask(&runtime, "{}", header()).1, Verdict::Error(-32600));
    let late = ALL.map(|dialect| dialect.verdict(Verdict::Late));
    assert_eq!(late[0], Verdict::Late);
    assert_eq!(late[1..], [Verdict::Told(-32603); 4]);
}

#[test]
fn what_changes_a_session_needs_one() {
    let runtime = Runtime::new(
        every_era(),
        snodo_core::registry::Components {
            tools: vec![tool(GREET)],
            resources: vec![common::resource(r#"{"uri":"a:b","name":"b"}"#)],
            ..Default::default()
        },
    )
    .expect("a good server");
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#)
    };
    let level = Level::named("error").expect("a level");
    for (method, params, expected) in [
        (
            "logging/setLevel",
            r#""level":"error""#,
            Change::LogLevel(level),
        ),
        (
            "resources/subscribe",
            r#""uri":"a:b""#,
            Change::Watch {
                uri: "a:b".to_owned(),
                vetted: true,
            },
        ),
        (
            "resources/unsubscribe",
            r#""uri":"a:b""#,
            Change::Unwatch("a:b".to_owned()),
        ),
    ] {
        let message = request(method, params);
        match prepare(&runtime, message.as_bytes(), opened("2025-06-18", "{}")) {
            Prepared::Settle { change, answer, .. } => {
                assert_eq!(change, expected);
                assert_eq!(text(answer).0, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
            }
            other => panic!("{other:?}"),
        }
    }
    let header = || http("mcp-protocol-version: 2025-11-25");
    let (answer, _) = ask(
        &runtime,
        &request("logging/setLevel", r#""level":"error""#),
        header(),
    );
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let (answer, verdict) = ask(
        &runtime,
        &request("resources/subscribe", r#""uri":"a:b""#),
        header(),
    );
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"resources/subscribe needs a session: send initialize first"}}"#
    );
    assert_eq!(verdict, Verdict::Told(-32601));
    let long = format!(r#""uri":"a:{}""#, "b".repeat(2048));
    for (method, params, expected) in [
        (
            "logging/setLevel",
            r#""level":"loud""#,
            "level must be debug, info",
        ),
        ("logging/setLevel", "", "level must be debug, info"),
        (
            "resources/subscribe",
            r#""uri":"b""#,
            "Resource URI must be absolute",
        ),
        ("resources/subscribe", "", "Resource URI must be a string"),
        (
            "resources/subscribe",
            &long,
            "A URI to subscribe to has at most 2048 bytes",
        ),
    ] {
        let (answer, verdict) = ask(
            &runtime,
            &request(method, params),
            opened("2025-11-25", "{}"),
        );
        assert!(answer.contains(expected), "{answer}");
        assert_eq!(verdict, Verdict::Told(-32602));
    }
}

#[test]
fn a_cancellation_names_its_request_over_http_too() {
    let message =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    let runtime = server();
    for arrival in [
        stdio(),
        opened("2025-11-25", "{}"),
        http_session("2024-11-05", ""),
        http_session("2025-11-25", "mcp-protocol-version: 2025-11-25"),
        http("mcp-protocol-version: 2025-11-25"),
        // Whose request it means is the transport's to know.
        http("mcp-protocol-version: 2026-07-28"),
    ] {
        match prepare(&runtime, message.as_bytes(), arrival) {
            Prepared::Cancel(id) => assert_eq!(id, Id::Int(5)),
            other => panic!("{other:?}"),
        }
    }
    for quiet in [
        "notifications/initialized",
        "notifications/roots/list_changed",
        "notifications/cancelled",
    ] {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"{quiet}"}}"#);
        for arrival in [
            opened("2025-11-25", "{}"),
            http("mcp-protocol-version: 2025-06-18"),
        ] {
            assert!(matches!(
                prepare(&runtime, message.as_bytes(), arrival),
                Prepared::Silence
            ));
        }
    }
}

#[test]
fn a_response_is_for_whoever_has_a_peer() {
    let runtime = server();
    let session = || opened("2025-11-25", "{}");
    let reply = |message: &str| match prepare(&runtime, message.as_bytes(), session()) {
        Prepared::Reply(reply) => Some((reply.id, reply.response)),
        Prepared::Silence => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reply(r#"{"jsonrpc":"2.0","id":"q1","result":{"action":"decline"}}"#),
        Some((
            Id::String("q1".to_owned()),
            Ok(object(r#"{"action":"decline"}"#))
        ))
    );
    let (_, refusal) = reply(
        r#"{"jsonrpc":"2.0","id":"q1","error":{"code":-1,"message":"User rejected","data":[1]}}"#,
    )
    .expect("a reply");
    let Err(Error {
        code,
        message,
        data,
        ..
    }) = refusal
    else {
        panic!("{refusal:?}");
    };
    assert_eq!((code, &*message), (-1, "User rejected"));
    assert_eq!(data, Some(Json::Array(vec![Json::Int(1)])));
    for bad in [
        r#"{"jsonrpc":"2.0","id":"q1","result":5}"#,
        r#"{"jsonrpc":"2.0","id":"q1","error":5}"#,
        r#"{"jsonrpc":"2.0","id":"q1","result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":"q1","error":{}}"#,
    ] {
        assert!(reply(bad).expect("a reply").1.is_err(), "{bad}");
    }
    assert_eq!(reply(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#), None);
    let stateless = http("mcp-protocol-version: 2025-11-25");
    let (_, verdict) = ask(
        &runtime,
        r#"{"jsonrpc":"2.0","id":"q1","result":{}}"#,
        stateless,
    );
    assert_eq!(verdict, Verdict::Error(-32600));
}

#[test]
fn a_batch_is_taken_where_the_revision_has_them() {
    let runtime = server();
    let two = format!(" [{LIST},\n{CALL}]");
    let both = Some(vec![LIST.as_bytes().to_vec(), CALL.as_bytes().to_vec()]);
    let header = |version: &str| http(&format!("mcp-protocol-version: {version}"));
    assert_eq!(batch(&runtime, two.as_bytes(), &http("")), both);
    assert_eq!(batch(&runtime, two.as_bytes(), &header("2025-03-26")), both);
    assert_eq!(
        batch(&runtime, two.as_bytes(), &opened("2025-03-26", "{}")),
        both
    );
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        for arrival in [
            header(version),
            opened(version, "{}"),
            http_session(version, ""),
        ] {
            assert_eq!(batch(&runtime, two.as_bytes(), &arrival), None);
            assert_eq!(
                ask(&runtime, &two, arrival),
                (
                    format!(
                        r#"{{"jsonrpc":"2.0","error":{{"code":-32600,"message":"Batches are not part of protocol revision {version}: send one message at a time"}}}}"#
                    ),
                    Verdict::Error(-32600)
                )
            );
        }
    }
    // Whoever has said nothing, or speaks the newest, is told what it always was.
    for arrival in [stdio(), header("2026-07-28")] {
        assert_eq!(batch(&runtime, two.as_bytes(), &arrival), None);
        let (answer, _) = ask(&runtime, &two, arrival);
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}"#
        );
    }
    assert_eq!(batch(&runtime, CALL.as_bytes(), &http("")), None);
    assert_eq!(batch(&runtime, b"[1", &http("")), None);
    assert_eq!(ask(&runtime, "[1", http("")).1, Verdict::Error(-32700));
    let handshake = format!("[{}]", initialize("2025-03-26"));
    let hundred = format!("[{}]", vec![LIST; 100].join(","));
    let more = format!("[{}]", vec![LIST; 101].join(","));
    assert_eq!(
        batch(&runtime, hundred.as_bytes(), &http("")).map(|all| all.len()),
        Some(100)
    );
    for (body, expected) in [
        (&*handshake, "initialize must not be part of a batch"),
        (&more, "A batch has at least one and at most 100 messages"),
        ("[]", "A batch has at least one and at most 100 messages"),
    ] {
        assert_eq!(batch(&runtime, body.as_bytes(), &http("")), None);
        let (answer, verdict) = ask(&runtime, body, http(""));
        assert!(answer.contains(expected), "{answer}");
        assert_eq!(verdict, Verdict::Error(-32600));
    }
}

#[test]
fn what_a_revision_has_besides_its_messages() {
    let facts = |dialect: &dyn Dialect| (dialect.asks(), dialect.batches(), dialect.primes());
    assert_eq!(
        ALL.map(facts),
        [
            (false, false, false),
            (true, false, true),
            (true, false, false),
            (true, true, false),
            (true, false, false),
        ]
    );
    let versions = ALL.map(Dialect::version);
    assert!(versions.is_sorted_by(|newer, older| newer > older));
}

#[test]
fn a_server_of_the_newest_revision_alone_knows_no_handshake() {
    let runtime = with_tools(settings(), vec![tool(GREET)]);
    let (answer, verdict) = ask(&runtime, &initialize("2025-11-25"), stdio());
    assert!(answer.contains("Unsupported protocol version; this server supports 2026-07-28"));
    assert_eq!(verdict, Verdict::Error(-32022));
    let direct = ask(&runtime, LIST, Arrival::new(Transport::Direct));
    assert!(direct.0.contains("Required request _meta is missing"));
}

#[test]
fn a_server_without_subscriptions_tells_of_no_changes() {
    let mut settings = every_era();
    settings.subscriptions = false;
    let runtime = Runtime::new(
        settings,
        snodo_core::registry::Components {
            resources: vec![common::resource(r#"{"uri":"a:b","name":"b"}"#)],
            ..Default::default()
        },
    )
    .expect("a good server");
    let prepared = prepare(&runtime, initialize("2025-11-25").as_bytes(), stdio());
    let Prepared::Open { answer, .. } = prepared else {
        panic!("{prepared:?}");
    };
    let (answer, _) = text(answer);
    assert!(answer.contains(r#""capabilities":{"logging":{},"resources":{}}"#));
    let watch = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
    assert_eq!(
        ask(&runtime, watch, opened("2025-11-25", "{}")),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: resources/subscribe"}}"#.to_owned(),
            Verdict::Told(-32601)
        )
    );
}
