//! What is said during a request, spelled the same in every revision.

use crate::context::Context;
use crate::json::write_string;
use crate::notice::{Entry, Notice, Progress};

pub(super) fn write(context: &Context, notice: &Notice, out: &mut Vec<u8>) {
    match notice {
        Notice::Progress(report) => progress(context, report, out),
        Notice::Log(entry) => log(entry, out),
    }
    out.extend_from_slice(b"}}");
}

fn progress(context: &Context, report: &Progress, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"#);
    // Whoever has no token wants no progress, and is not told of any.
    if let Some(token) = context.progress_token() {
        out.extend_from_slice(br#""progressToken":"#);
        token.write(out);
        out.push(b',');
    }
    out.extend_from_slice(br#""progress":"#);
    report.done.write(out);
    if let Some(total) = report.total {
        out.extend_from_slice(br#","total":"#);
        total.write(out);
    }
    if let Some(message) = &report.message {
        out.extend_from_slice(br#","message":"#);
        write_string(message, out);
    }
}

fn log(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":""#,
    );
    out.extend_from_slice(entry.level.name().as_bytes());
    out.push(b'"');
    if let Some(logger) = &entry.logger {
        out.extend_from_slice(br#","logger":"#);
        write_string(logger, out);
    }
    out.extend_from_slice(br#","data":"#);
    out.extend_from_slice(&entry.data);
}
