//! What a handler asks the client, by requests of the server, and how it goes on with the answers.

use std::sync::Arc;

use super::Step;
use crate::call::{Call, Target};
use crate::context::Context;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::{Json, Object, write_string};
use crate::runtime::Runtime;

/// Everything that one run of a handler asks. All of it is asked at the same time; it may be nothing,
/// when the handler only wants to be run again.
#[derive(Debug)]
pub struct Questions {
    /// What is asked, each a request of its own.
    pub questions: Vec<Question>,
    /// What the handler wants to have again with the answers.
    pub state: Option<String>,
    dialect: &'static dyn Dialect,
}

/// A request of the server.
#[derive(Debug)]
pub struct Question {
    /// What the handler calls it.
    pub key: String,
    /// The input request.
    request: Object,
}

impl Questions {
    /// The whole JSON-RPC request for one of the questions. The id must be unguessable where others than
    /// the client could respond.
    ///
    /// # Panics
    ///
    /// If there is no such question.
    pub fn request(&self, at: usize, id: &str) -> Vec<u8> {
        let question = &self.questions[at];
        // What cannot be asked in this revision was refused before.
        let request = self.dialect.question(&question.request, id);
        request.unwrap_or_default()
    }
}

/// The notification that a request of the server need not be responded to any more.
pub fn withdraw(id: &str) -> Vec<u8> {
    let mut out =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#.to_vec();
    write_string(id, &mut out);
    out.extend_from_slice(b"}}");
    out
}

/// What follows on responses to questions, one for each in their order: the call again, from the top,
/// with `arguments` as before; or the answer, where the client refused or responded wrongly.
pub fn answered(
    _runtime: &Runtime,
    context: &Arc<Context>,
    target: Target,
    arguments: Object,
    questions: Questions,
    responses: Vec<Result<Object, Error>>,
) -> Step {
    let mut given = Object::new();
    for (question, response) in questions.questions.into_iter().zip(responses) {
        given.insert(question.key, Json::Object(response.unwrap_or_default()));
    }
    Step::Call(Call {
        target,
        arguments,
        context: Arc::new(context.again(given, questions.state)),
    })
}
