//! The two pure halves of a call, timed: `cargo bench -p snodo-core`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints what its clock says"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{COUNT, GREET, MIRRORED};
use common::{constant, every_era, http, opened, template, tool, with_tools};
use snodo_core::envelope;
use snodo_core::limits::Limits;
use snodo_core::outcome::Value;
use snodo_core::pipeline::{Prepared, finish, prepare};
use snodo_core::registry::Components;
use snodo_core::runtime::Runtime;

const CALL: &str = r#"{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada Lovelace"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench-client","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{}},"progressToken":"0123456789"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":12345,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

const READ: &str = r#"{"jsonrpc":"2.0","id":12345,"method":"resources/read","params":{"uri":"URI","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// One resource that never changes and one template.
fn readable() -> Runtime {
    let definition = r#"{"uri":"cfg://app/main","name":"main"}"#;
    let content = format!(r#"[{{"text":"{}"}}]"#, "0123456789".repeat(100));
    let components = Components {
        resources: vec![constant(definition, &content)],
        templates: vec![template(
            r#"{"uriTemplate":"note://{store}/{+path}","name":"note"}"#,
            &[],
        )],
        ..Components::default()
    };
    Runtime::new(every_era(), components).expect("a good server")
}

fn time(name: &str, mut step: impl FnMut()) {
    let rounds = 200_000;
    for _ in 0..rounds / 10 {
        step();
    }
    let start = Instant::now();
    for _ in 0..rounds {
        step();
    }
    println!("{name:<32} {:>6} ns", start.elapsed().as_nanos() / rounds);
}

fn main() {
    let runtime = with_tools(every_era(), [MIRRORED, GREET, COUNT].map(tool).into());
    let headers = |method: &str, name: &str| {
        http(&format!(
            "mcp-protocol-version: 2026-07-28\nmcp-method: {method}\n{name}"
        ))
    };
    let call_headers = headers("tools/call", "mcp-name: greet");
    let list_headers = headers("tools/list", "");

    let limits = Limits::default();
    time("read the envelope", || {
        drop(black_box(envelope::read(
            black_box(CALL.as_bytes()),
            &limits,
        )));
    });
    let prepared = || match prepare(&runtime, black_box(CALL.as_bytes()), call_headers.clone()) {
        Prepared::Call(call) => call,
        other => panic!("{other:?}"),
    };
    time("prepare a call", || drop(black_box(prepared())));
    let call = prepared();
    time("finish a text", || {
        let text = Value::Text("Hello, Ada Lovelace!".to_owned());
        drop(black_box(finish(
            &runtime,
            &call.context,
            &call.target,
            &text.into(),
        )));
    });
    time("prepare and finish", || {
        let call = prepared();
        let text = Value::Text("Hello, Ada Lovelace!".to_owned());
        drop(black_box(finish(
            &runtime,
            &call.context,
            &call.target,
            &text.into(),
        )));
    });
    time("list the tools", || {
        drop(black_box(prepare(
            &runtime,
            black_box(LIST.as_bytes()),
            list_headers.clone(),
        )));
    });

    let old = CALL.replace(
        "io.modelcontextprotocol/protocolVersion",
        "example.com/anything",
    );
    for version in ["2025-11-25", "2025-03-26"] {
        for (of, arrival) in [
            ("a session", opened(version, "{}")),
            ("nobody", http(&format!("mcp-protocol-version: {version}"))),
        ] {
            time(&format!("prepare, {of} of {version}"), || {
                drop(black_box(prepare(
                    &runtime,
                    black_box(old.as_bytes()),
                    arrival.clone(),
                )));
            });
        }
    }

    let runtime = readable();
    for (name, uri) in [
        ("read what never changes", "cfg://app/main"),
        ("prepare a read of a template", "note://store/2026/july"),
    ] {
        let message = READ.replace("URI", uri);
        let headers = headers("resources/read", &format!("mcp-name: {uri}"));
        time(name, || {
            drop(black_box(prepare(
                &runtime,
                black_box(message.as_bytes()),
                headers.clone(),
            )));
        });
    }
}
