//! Messages that come in one array, where the revision in force has that.

use crate::context::Arrival;
use crate::dialect::{self, Dialect, Opening};
use crate::error::Error;
use crate::json::{self, Json};
use crate::runtime::Runtime;

/// The messages of a batch, each to be prepared by itself. `None`: it is none, or not one that is taken,
/// and preparing it as one message tells why.
pub fn batch(runtime: &Runtime, body: &[u8], arrival: &Arrival) -> Option<Vec<Vec<u8>>> {
    let taken = is_array(body) && has_batches(runtime, arrival);
    taken.then(|| messages(runtime, body)?.ok())?
}

/// Why a batch is not taken, where that is not for its not being JSON, or for batches being unheard of.
pub(super) fn refused(runtime: &Runtime, body: &[u8], arrival: &Arrival) -> Option<Error> {
    if !is_array(body) {
        return None;
    }
    if has_batches(runtime, arrival) {
        return messages(runtime, body)?.err();
    }
    // Who has not said yet which revision it speaks, or speaks one of the other era, does not mean one.
    let said = arrival.peer.is_some() || arrival.headers.is_some();
    let dialect = in_force(runtime, arrival).filter(|dialect| said && dialect.asks())?;
    let text = format!(
        "Batches are not part of protocol revision {}: send one message at a time",
        dialect.version()
    );
    Some(Error::invalid_request(text))
}

fn is_array(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[")
}

fn has_batches(runtime: &Runtime, arrival: &Arrival) -> bool {
    in_force(runtime, arrival).is_some_and(Dialect::batches)
}

/// The revision of a message that says nothing of its own.
fn in_force(runtime: &Runtime, arrival: &Arrival) -> Option<&'static dyn Dialect> {
    // Any method will do that every revision has.
    let opening = Opening::new("tools/list", None, arrival);
    dialect::choose(&runtime.settings.dialects, &opening).ok()
}

/// `None`: it is not JSON.
fn messages(runtime: &Runtime, body: &[u8]) -> Option<Result<Vec<Vec<u8>>, Error>> {
    let limits = &runtime.settings.limits;
    let Ok(Json::Array(messages)) = json::parse(body, limits) else {
        return None;
    };
    if messages.is_empty() || messages.len() > limits.batch {
        let text = format!(
            "A batch has at least one and at most {} messages",
            limits.batch
        );
        return Some(Err(Error::invalid_request(text)));
    }
    let opens = |message: &Json| {
        let message = message.as_object();
        message.and_then(|message| message.get("method")?.as_str()) == Some("initialize")
    };
    if messages.iter().any(opens) {
        let text = "initialize must not be part of a batch";
        return Some(Err(Error::invalid_request(text)));
    }
    Some(Ok(messages.iter().map(Json::to_vec).collect()))
}
