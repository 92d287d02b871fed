//! Bytes to one JSON-RPC message, or the reason not. The only JSON-RPC reader.

use crate::error::Error;
use crate::json::Json;
use crate::limits::Limits;

/// A request id: echoed with the type it came with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// An integer of 64 bits.
    Int(i64),
    /// A string of at most `Limits::id_bytes` bytes.
    String(String),
}

/// One message of a client.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// To be echoed.
        id: Id,
        /// What is asked.
        method: String,
        /// `params`, if there were any; always an object.
        params: Option<Json>,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: String,
        /// `params`, if there were any.
        params: Option<Json>,
    },
    /// An object with `result` or `error` and no method. Never answered.
    Response,
}

/// Why bytes are not a message, and how to say so.
#[derive(Debug, PartialEq)]
pub struct Malformed {
    /// The id, when it could be read.
    pub id: Option<Id>,
    /// What to answer.
    pub error: Error,
}

/// Reads one message. `Ok(None)`: a malformed notification, which is never answered.
pub fn read(text: &[u8], limits: &Limits) -> Result<Option<Message>, Malformed> {
    let _ = (text, limits);
    todo!()
}

impl Id {
    /// Appends the id as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
