//! What the contexts of other libraries have, for those who look for it here.

use pyo3::PyErr;
use pyo3::exceptions::PyAttributeError;

/// Raised for what there is not: the names that other libraries have get a hint.
pub(super) fn no_attribute(name: &str) -> PyErr {
    let hint = ELSEWHERE.iter().find(|(known, _)| *known == name);
    let hint = hint.map_or_else(String::new, |(_, hint)| format!(": {hint}"));
    let text = format!("'snodo.Context' object has no attribute '{name}'{hint}");
    PyAttributeError::new_err(text)
}

/// Their names, and what is written here instead.
const ELSEWHERE: [(&str, &str); 18] = [
    (
        "report_progress",
        "write context.progress(done, total, message)",
    ),
    ("debug", "write context.log(\"debug\", data)"),
    ("info", "write context.log(\"info\", data)"),
    ("warning", "write context.log(\"warning\", data)"),
    ("error", "write context.log(\"error\", data)"),
    (
        "elicit",
        "write context.ask(\"key\", elicit.form(message, fields))",
    ),
    (
        "elicit_url",
        "write context.ask(\"key\", elicit.url(message, url))",
    ),
    (
        "sample",
        "write context.ask(\"key\", sampling.create_message(messages, max_tokens))",
    ),
    ("list_roots", "write context.ask(\"key\", roots.list())"),
    ("read_resource", "call the function that makes the resource"),
    (
        "session",
        "there are no sessions; who calls is context.auth and context.client_info",
    ),
    (
        "request_context",
        "the context is the request: context.request_id, context.meta, and context.state for what \
         the lifespan yielded",
    ),
    (
        "lifespan_context",
        "what the lifespan yielded is context.state",
    ),
    ("session_id", "who calls is context.auth"),
    (
        "client_id",
        "who calls is context.auth, and what with context.client_info",
    ),
    (
        "get_state",
        "what the lifespan yielded is context.state; an Actor keeps what changes",
    ),
    (
        "set_state",
        "what the lifespan yielded is context.state; an Actor keeps what changes",
    ),
    (
        "fastmcp",
        "the server is the one that the function is declared on",
    ),
];
