//! Bytes to one JSON-RPC message, or the reason not. The only JSON-RPC reader.
//!
//! What a method means, and what its parameters must look like, is never decided here.

use crate::error::{Error, Kind, code};
use crate::json::{self, Json, Object};
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
        /// `params`, if there were any.
        params: Option<Object>,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: String,
        /// `params`, if there were any.
        params: Option<Object>,
    },
    /// An object with `result` or `error` and no method. Never answered as a message of its own.
    Response {
        /// Of the request that it responds to, if it can be read.
        id: Option<Id>,
        /// What it says.
        response: Result<Object, Error>,
    },
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
    let value = json::parse(text, limits).map_err(|reason| {
        let mut data = Object::new();
        data.insert("reason", Json::String(reason.to_string()));
        malformed(
            None,
            Error::parse_error("Parse error").with_data(Json::Object(data)),
        )
    })?;
    let Json::Object(mut message) = value else {
        return Err(malformed(None, Error::invalid_request("Invalid Request")));
    };
    if !message.contains("method") && (message.contains("result") || message.contains("error")) {
        return Ok(Some(response(message, limits)));
    }

    let sent_id = message.take("id");
    let is_request = sent_id.is_some();
    let id = sent_id.and_then(|id| Id::from_json(id, limits));
    if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        let error = Error::invalid_request("Expected a JSON-RPC 2.0 request");
        return Err(malformed(id, error));
    }
    let Some(Json::String(method)) = message.take("method") else {
        return Err(malformed(
            id,
            Error::invalid_request("Request method must be a string"),
        ));
    };
    let params = match message.take("params") {
        None => Ok(None),
        Some(Json::Object(params)) => Ok(Some(params)),
        Some(_) => Err(()),
    };

    if !is_request {
        return Ok(params
            .ok()
            .map(|params| Message::Notification { method, params }));
    }
    let Some(id) = id else {
        let text = format!("Request id {}", id_rule(limits));
        return Err(malformed(None, Error::invalid_request(text)));
    };
    let Ok(params) = params else {
        return Err(malformed(
            Some(id),
            Error::invalid_params("Request params must be an object"),
        ));
    };
    Ok(Some(Message::Request { id, method, params }))
}

fn response(mut message: Object, limits: &Limits) -> Message {
    let id = message.take("id").and_then(|id| Id::from_json(id, limits));
    let response = match (message.take("result"), message.take("error")) {
        (Some(Json::Object(result)), None) => Ok(result),
        (None, Some(Json::Object(mut error))) => Err(told(&mut error)),
        _ => Err(Error::invalid_request(
            "A response has either a result or an error, which are objects",
        )),
    };
    Message::Response { id, response }
}

/// An error as another one tells it.
fn told(error: &mut Object) -> Error {
    let code = match error.take("code") {
        Some(Json::Int(code)) => code,
        _ => code::INTERNAL_ERROR,
    };
    let message = match error.take("message") {
        Some(Json::String(message)) => message,
        _ => "Unknown error".to_owned(),
    };
    let told = Error::new(code, Kind::JsonRpc, message);
    match error.take("data") {
        Some(data) => told.with_data(data),
        None => told,
    }
}

/// The id of a request of which only the beginning is known, if it can be told from that alone: the
/// beginning names a method, and one id that is valid.
pub fn peek_id(beginning: &[u8], limits: &Limits) -> Option<Id> {
    let mut members = json::first_members(beginning, limits);
    let is_request = members
        .iter()
        .any(|(key, value)| key == "method" && matches!(value, Json::String(_)));
    let mut ids = members.extract_if(.., |(key, _)| key == "id");
    let (Some((_, id)), None, true) = (ids.next(), ids.next(), is_request) else {
        return None;
    };
    Id::from_json(id, limits)
}

/// What an id and a progress token have to be, for the end of a sentence.
pub(crate) fn id_rule(limits: &Limits) -> String {
    format!(
        "must be a string of at most {} bytes or an int64 integer",
        limits.id_bytes
    )
}

fn malformed(id: Option<Id>, error: Error) -> Malformed {
    Malformed { id, error }
}

impl Id {
    /// The id, unless the value is of another type or out of bounds.
    pub fn from_json(value: Json, limits: &Limits) -> Option<Self> {
        match value {
            Json::Int(number) => Some(Self::Int(number)),
            Json::String(text) if text.len() <= limits.id_bytes => Some(Self::String(text)),
            _ => None,
        }
    }

    /// Appends the id as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) => json::Json::Int(*number).write(out),
            Self::String(text) => json::write_string(text, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peek(text: &str) -> Option<Id> {
        peek_id(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn an_id_is_told_from_the_beginning_of_a_request() {
        let seven = Some(Id::Int(7));
        for (text, id) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"xx"#,
                seven.clone(),
            ),
            (r#" { "method" : "m" , "id" : 7 , "par"#, seven.clone()),
            (r#"{"method":"m","id":7}"#, seven),
            (
                r#"{"id":"a\u0062","method":"m","params":[[["#,
                Some(Id::String("ab".into())),
            ),
            // The number may go on.
            (r#"{"method":"m","id":7"#, None),
            (r#"{"method":"m","id":"x"#, None),
            (r#"{"method":"m","id":"x""#, None),
            // Not of this object.
            (r#"{"method":"m","params":{"id":7,"a":"xx"#, None),
            (r#"{"method":"m","params":{"id":7},"a":"xx"#, None),
            // Two, or none that is valid.
            (r#"{"method":"m","id":7,"id":8,"#, None),
            (r#"{"method":"m","id":null,"#, None),
            (r#"{"method":"m","id":7.5,"#, None),
            (r#"{"method":"m","id":99999999999999999999,"#, None),
            // No request.
            (r#"{"id":7,"result":{"a":"xx"#, None),
            (r#"{"id":7,"meth"#, None),
            (r#"[{"method":"m","id":7,"#, None),
            ("", None),
            ("{", None),
        ] {
            assert_eq!(peek(text), id, "{text}");
        }
        let long = format!(r#"{{"method":"m","id":"{}","#, "x".repeat(257));
        assert_eq!(peek(&long), None);
    }
}
