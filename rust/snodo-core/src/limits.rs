//! Every number a caller can push against: its default, why, and the error it fails with.
//!
//! A limit that is not declared here does not exist. Limits that only a transport can enforce are
//! declared here too, so that one page tells them all.

use std::time::Duration;

/// No setting of [`Limits::json_depth`] goes beyond this: values are walked by recursion, and a
/// thread's stack has an end.
pub const MAX_JSON_DEPTH: usize = 1000;

/// Extensions that surround operations. More: refused when the server is made. Each is polled within
/// the one outside of it, and a thread's stack has an end.
pub const LAYERS: usize = 16;

/// Schemas nested in a schema. Deeper: refused at registration. Compiling walks them by recursion.
pub const SCHEMA_DEPTH: usize = 64;

/// Schemas in one schema document, the root included. More: refused at registration.
pub const SUBSCHEMAS: usize = 10_000;

/// Bytes of a string or property name that meets a regular expression with look-around or
/// back-references. Longer: refused. Such a pattern costs time by the square of the text; one that
/// needs neither takes any length.
pub const FANCY_PATTERN_BYTES: usize = 1024;

/// Steps back that a regular expression may take on one string. More: the string is refused, so
/// that no pattern runs for long.
pub const PATTERN_STEPS: usize = 20_000;

/// Steps back that a pattern of `patternProperties` may take on one name: names are short, and there
/// are many of them. More: the value is refused.
pub const NAME_PATTERN_STEPS: usize = 1000;

/// What all matches of patterns with look-around or back-references on one value may cost together,
/// in bytes read at worst. More: the value is refused.
pub const PATTERN_WORK: u64 = 50_000_000;

/// Failures that are looked at to explain why a value is refused. With more, the explanation is
/// made from these, so that a message of nothing but mistakes cannot fill memory.
pub const FAILURES_EXAMINED: usize = 200;

/// Failures that are told of one value: enough for a model to correct its call.
pub const FAILURES_TOLD: usize = 5;

/// Characters of a caller's own words (a property name) that are repeated in a message.
pub const ECHOED_CHARACTERS: usize = 64;

/// Characters of a method or of a component's name that an error repeats. A legal name fits; of more
/// the rest is cut off, so that no answer is as large as what it refuses.
pub const ECHOED_NAME_CHARACTERS: usize = 256;

/// Characters of a URI that an error repeats. Longer ones are cut off, as names are.
pub const ECHOED_URI_CHARACTERS: usize = 2048;

/// Bytes at the beginning of an over-long stdio line in which its id is looked for.
pub const PEEKED_BYTES: usize = 4096;

/// Bytes of a URI template. Longer: refused at registration.
pub const URI_TEMPLATE_BYTES: usize = 1024;

/// Variables in a URI template, counted where they stand. More: refused at registration.
pub const URI_TEMPLATE_VARIABLES: usize = 32;

/// Values in one completion, by the protocol. What completes in Rust and what a handler gives as a
/// plain list is cut to this and says so; a result that claims more: -32603.
pub const COMPLETION_VALUES: usize = 100;

/// Bytes of the message of a progress report. Longer: cut, as it is for people to look at.
pub const PROGRESS_MESSAGE_BYTES: usize = 4096;

/// Bytes of what one log entry says, as JSON. More: refused where it is said.
pub const LOG_ENTRY_BYTES: usize = 64 << 10;

/// Bytes of the name of whoever says it. More: refused where it is said.
pub const LOGGER_BYTES: usize = 256;

/// Progress reports and log entries of one request. More: not sent.
pub const NOTICES: usize = 10_000;

/// Of these, those that wait for a client that reads slowly. More: the older progress is left out.
pub const NOTICES_PENDING: usize = 1024;

/// Bytes of log entries that wait for a client that reads slowly. More: the oldest are left out.
pub const NOTICE_BYTES_PENDING: usize = 1 << 20;

/// URIs in the filter of one subscription, which keeps them as long as it is open. More: -32602.
pub const FILTER_URIS: usize = 1000;

/// Bytes of these URIs together, which are kept as long as the subscription is open. More: -32602.
pub const FILTER_BYTES: usize = 128 << 10;

/// Bytes of what a client of the initialize era says of itself, which is kept for its whole session.
/// More: -32602.
pub const PEER_BYTES: usize = 8 << 10;

/// Values in what such a client can do. More: only what the protocol knows of it is kept, as an object
/// takes far more memory than its text.
pub const PEER_VALUES: usize = 64;

/// Questions to one initialize-era client that wait for its answers. More: the call that asks fails.
pub const QUESTIONS_PENDING: usize = 256;

/// Bytes of events that are kept for clients which come back, in all sessions together. More: of the
/// streams that are over the oldest are forgotten, and where open ones keep more than half of it, who
/// keeps one more forgets its oldest events but the newest of each stream.
pub const REPLAY_BYTES_TOTAL: usize = 64 << 20;

/// Combinations of method, outcome and component that metrics tell apart. More: counted as one
/// component, as every one of them takes memory for good.
pub const METRIC_SERIES: usize = 1000;

/// Lines of the access log that wait to be written. More: dropped and counted.
pub const ACCESS_LINES: usize = 4096;

/// Events that wait for the application's sinks. More: dropped and counted; of a message that was told
/// to begin the end is still told.
pub const EVENTS_PENDING: usize = 4096;

/// Bytes of a verified identity, as JSON: every request and every session has one. More: HTTP 500.
pub const PRINCIPAL_BYTES: usize = 16 << 10;

/// Bytes of a URI that a session hears about: it is kept as long as the session. Longer: -32602.
pub const WATCHED_URI_BYTES: usize = 2048;

/// The bounds a server holds its callers to. `Default` is what a server gets when it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an HTTP body. Larger: HTTP 413. 4 MiB holds any sane call and few of them fill memory.
    pub body_bytes: usize,
    /// Bytes of a stdio line, line ending included. Longer: -32600, the line is dropped.
    pub line_bytes: usize,
    /// Nested arrays and objects in a message. Deeper: -32700. Bounds recursion everywhere behind it.
    pub json_depth: usize,
    /// Digits of an integer literal, sign not counted. More: -32700. Big integers cost quadratic time.
    pub integer_digits: usize,
    /// Bytes of a request id or progress token that is a string. Longer: -32600, or -32602 for tokens.
    pub id_bytes: usize,
    /// Bytes of a pagination cursor. Longer: -32602.
    pub cursor_bytes: usize,
    /// Bytes of an HTTP head. Larger: HTTP 431.
    pub head_bytes: usize,
    /// Time for an HTTP head to arrive, from accept or from the previous answer. Later: closed.
    pub head_timeout: Duration,
    /// Time for an HTTP body to arrive, from the end of its head. Later: HTTP 408.
    pub body_timeout: Duration,
    /// Time to find out who sends an HTTP request. Longer: HTTP 504.
    pub authenticate_timeout: Duration,
    /// Open HTTP connections. More: closed unread. A subscription holds one, so
    /// there are more of them than of [`Self::streams`].
    pub connections: usize,
    /// Subscriptions open at the same time. More: HTTP 503, -32603 on stdio.
    pub streams: usize,
    /// Calls that run at the same time, in coroutines and threads together.
    pub running: usize,
    /// Calls that wait for one of those places. More: HTTP 503, -32603 on stdio.
    pub queued: usize,
    /// Time a call may take, unless its tool says otherwise. Longer: HTTP 504, -32603 on stdio.
    pub call_timeout: Option<Duration>,
    /// Time running calls get to finish at shutdown.
    pub drain_timeout: Duration,
    /// Time the process gets between the end of standard input and its own end. Its parent may be
    /// gone, and nobody waits for a child much longer than this before killing it.
    pub eof_timeout: Duration,
    /// Time a write may make no progress. Longer: the connection is dropped; stdio ends.
    pub write_timeout: Duration,
    /// Time an event stream may be silent. Longer: a comment is sent, so that nothing on the way takes
    /// the connection for dead.
    pub keep_alive_interval: Duration,
    /// Bytes of an encoded result. Larger: -32603; a model cannot read it anyway.
    pub result_bytes: usize,
    /// Times that one call may be answered with questions. More: the call fails. Nobody fills in so
    /// many forms, but a loop that never likes its answers sends them.
    pub input_rounds: usize,
    /// Messages in one JSON-RPC batch, where the revision has batches. More: -32600.
    pub batch: usize,
    /// Sessions of initialize-era clients at the same time. More: the one idle for longest ends, and its
    /// client starts again.
    pub sessions: usize,
    /// Time a session may be idle. Longer: it ends.
    pub session_idle: Duration,
    /// Events that a session keeps for a client that lost its connection. More: the oldest are gone.
    pub replay_events: usize,
    /// Bytes of these events. More: the oldest are gone.
    pub replay_bytes: usize,
    /// Time a client of the initialize era has to answer a question. Longer: the call fails. A person may
    /// have to be found first.
    pub answer_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            line_bytes: 4 << 20,
            json_depth: 128,
            integer_digits: 64,
            id_bytes: 256,
            cursor_bytes: 2048,
            head_bytes: 32 << 10,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            authenticate_timeout: Duration::from_secs(10),
            connections: 2048,
            streams: 1024,
            running: 1024,
            queued: 1024,
            call_timeout: Some(Duration::from_secs(30)),
            drain_timeout: Duration::from_secs(10),
            eof_timeout: Duration::from_secs(1),
            write_timeout: Duration::from_secs(5),
            keep_alive_interval: Duration::from_secs(15),
            result_bytes: 64 << 20,
            input_rounds: 32,
            batch: 100,
            sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            replay_events: 256,
            replay_bytes: 256 << 10,
            answer_timeout: Duration::from_secs(10 * 60),
        }
    }
}
