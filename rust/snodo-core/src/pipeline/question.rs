//! What a handler asks the client, by requests of the server, and how it goes on with the answers.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::{Answer, Step, failed, finish};
use crate::call::{Call, Target};
use crate::context::Context;
use crate::dialect::Dialect;
use crate::error::{Error, excerpt};
use crate::json::{self, Json, Object, write_string};
use crate::limits::Limits;
use crate::mrtr;
use crate::outcome::{self, Outcome, Value};
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

/// What follows on the call of `target`, which gave `outcome`, under a revision that asks by requests:
/// the questions, if it asks and the client can be asked, or the answer.
pub(super) fn after(
    runtime: &Runtime,
    context: &Arc<Context>,
    target: &Target,
    outcome: &Outcome,
) -> Step {
    let asked = match (target, &outcome.value) {
        (Target::Completion { .. }, _) => None,
        (_, Value::InputRequired { requests, state }) => Some((requests.as_deref(), state.clone())),
        (Target::Tool(_), Value::Wire(object)) => asked_in(object),
        _ => None,
    };
    let Some((requests, state)) = asked else {
        return Step::Answer(finish(runtime, context, target, outcome));
    };
    match questions(runtime, context, requests, state) {
        Ok(questions) => Step::Ask(questions),
        Err(Unasked::Error(error)) => Step::Answer(failed(context, &error)),
        Err(Unasked::Failure(error)) => Step::Answer(failure(runtime, context, target, error)),
    }
}

/// Why something is not asked.
enum Unasked {
    /// What the client is told as an error, whatever asks.
    Error(Error),
    /// What a tool says in words, so that the model reads it.
    Failure(Error),
}

/// What a result object asks for, if it does.
fn asked_in(object: &[u8]) -> Option<(Option<&[u8]>, Option<String>)> {
    let members = outcome::members(object)?;
    let (requests, _) = outcome::asked(&members)?;
    let state = members.iter().find(|(key, _)| *key == b"requestState");
    let state = state.and_then(|(_, state)| match json::parse(state, &Limits::default()) {
        Ok(Json::String(state)) => Some(state),
        _ => None,
    });
    Some((requests, state))
}

fn questions(
    runtime: &Runtime,
    context: &Context,
    requests: Option<&[u8]>,
    state: Option<String>,
) -> Result<Questions, Unasked> {
    let requests = mrtr::check_requests(requests, state.is_some())
        .map_err(|_| Unasked::Error(Error::internal("Invalid input-required result")))?;
    let rounds = runtime.settings.limits.input_rounds;
    if context.round >= rounds {
        let text = format!("Gave up after {rounds} rounds of questions");
        return Err(Unasked::Failure(Error::internal(text)));
    }
    for (_, request) in requests.iter() {
        let request = request.as_object().unwrap_or(const { &Object::new() });
        if let Err(why) = context.dialect.question(request, "") {
            let text = format!("{} {why}", method(request));
            return Err(Unasked::Failure(Error::internal(text)));
        }
    }
    if let Some(peer) = &context.arrival.peer {
        check_capabilities(context, &requests, &peer.capabilities)?;
    }
    if !context.arrival.can_ask {
        let id = |key: &str| page_id(context, state.as_deref(), key);
        return Err(match context.dialect.visit(&requests, &id) {
            Some(error) => Unasked::Error(error),
            None => Unasked::Failure(Error::internal(UNREACHABLE)),
        });
    }
    let questions = requests
        .into_iter()
        .filter_map(|(key, request)| match request {
            Json::Object(request) => Some(Question { key, request }),
            _ => None,
        });
    Ok(Questions {
        questions: questions.collect(),
        state,
        dialect: context.dialect,
    })
}

const UNREACHABLE: &str = "This needs an answer of the client, which cannot be asked over its \
    connection: it needs a session with an event stream, or a newer protocol revision";

fn check_capabilities(
    context: &Context,
    requests: &Object,
    declared: &Object,
) -> Result<(), Unasked> {
    let mut missing = Object::new();
    let mut names = Vec::new();
    for (_, request) in requests.iter() {
        for [capability, member] in context.dialect.needs(request) {
            if !mrtr::declares(declared, capability, member) {
                mrtr::require(&mut missing, capability, member);
                names.push(
                    [capability, member]
                        .join(".")
                        .trim_end_matches('.')
                        .to_owned(),
                );
            }
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    names.sort_unstable();
    names.dedup();
    let text = format!(
        "The client did not declare the capability that this needs: {}",
        names.join(", ")
    );
    let mut data = Object::new();
    data.insert("requiredCapabilities", Json::Object(missing));
    let error = Error::invalid_params(text).with_data(Json::Object(data));
    Err(Unasked::Failure(error))
}

/// An id for a page that the client is only told of: nobody can guess it who does not know the state,
/// and another call has another.
fn page_id(context: &Context, state: Option<&str>, key: &str) -> String {
    let mut id = Vec::new();
    context.id.write(&mut id);
    let mut digest = Sha256::new();
    for part in [
        &id[..],
        state.unwrap_or_default().as_bytes(),
        key.as_bytes(),
    ] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    URL_SAFE_NO_PAD.encode(&digest.finalize()[..16])
}

/// A failure that a model reads where a tool asked, and an error where nothing else could say it.
fn failure(runtime: &Runtime, context: &Arc<Context>, target: &Target, error: Error) -> Answer {
    match target {
        Target::Tool(_) => {
            let text = Value::Failure(error.message.into_owned());
            finish(runtime, context, target, &text.into())
        }
        _ => failed(context, &error),
    }
}

fn method(request: &Object) -> &str {
    let method = request.get("method").and_then(Json::as_str);
    method.unwrap_or_default()
}

/// Some clients of that era write `null` for what they do not say.
fn said(response: Object) -> Object {
    let mut said = Object::new();
    for (key, value) in response {
        if value != Json::Null {
            said.insert(key, value);
        }
    }
    said
}

/// What follows on responses to questions, one for each in their order: the call again, from the top,
/// with `arguments` as before; or the answer, where the client refused or responded wrongly.
pub fn answered(
    runtime: &Runtime,
    context: &Arc<Context>,
    target: Target,
    arguments: Object,
    questions: Questions,
    responses: Vec<Result<Object, Error>>,
) -> Step {
    let mut given = Object::new();
    let mut responses = responses.into_iter();
    for Question { key, request } in questions.questions {
        let method = method(&request).to_owned();
        let why = match responses.next() {
            Some(Ok(response)) => {
                let response = Json::Object(said(response));
                match mrtr::check_response(&Json::Object(request), &response) {
                    Ok(()) => {
                        given.insert(key, response);
                        continue;
                    }
                    Err(wrong) => {
                        format!("The client's answer to {method} is not valid: {wrong}")
                    }
                }
            }
            Some(Err(error)) => {
                let told = excerpt(&error.message);
                format!(
                    "The client did not answer {method}: {told} ({})",
                    error.code
                )
            }
            None => format!("The client did not answer {method}"),
        };
        return Step::Answer(failure(runtime, context, &target, Error::internal(why)));
    }
    Step::Call(Call {
        target,
        arguments,
        context: Arc::new(context.again(given, questions.state)),
    })
}
