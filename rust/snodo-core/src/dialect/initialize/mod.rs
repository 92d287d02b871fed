//! The revisions that open with a handshake: who the client is, is said once, and the server asks by
//! requests of its own. One file a revision holds what it has that the others have not.

mod blocks;
mod methods;
mod questions;
mod render;
mod results;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;

use std::borrow::Cow;

pub use v2024_11_05::V2024_11_05;
pub use v2025_03_26::V2025_03_26;
pub use v2025_06_18::V2025_06_18;
pub use v2025_11_25::V2025_11_25;

use super::{Claim, Dialect, Frame, List, Notification, Opening, Rendered, Request};
use super::{NO_QUESTION, notices, params, shape};
use crate::call::Target;
use crate::context::{Arrival, Context, Headers};
use crate::envelope::Id;
use crate::error::{Error, code};
use crate::json::{Json, Object, write_string};
use crate::meta;
use crate::notice::{Level, Notice, Progress};
use crate::operation::{Feature, Operation};
use crate::outcome::Outcome;
use crate::pipeline::Verdict;
use crate::registry::Registry;
use crate::runtime::{Runtime, Settings};
use crate::schema::Mirror;
use crate::subscription::{Change, Event, Filter};
pub(super) use methods::name_of;
use methods::{CANCELLED, INITIALIZE, PING, find};

/// An input request respelled for a revision, or why it has none such (the end of a sentence).
type Respelled = Result<Object, &'static str>;

/// A revision, by what sets it apart from its kin.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a difference of its own"
)]
pub struct Revision {
    version: &'static str,
    /// Whether an HTTP request that names no version is taken to be of this one.
    assumed: bool,
    batches: bool,
    primes: bool,
    /// Members of definitions that it does not know.
    unknown_members: &'static [&'static str],
    /// Members of tools that it does not know besides.
    unknown_tool_members: &'static [&'static str],
    /// Members of the server's `Implementation` object that it does not know.
    unknown_info: &'static [&'static str],
    /// Kinds of content that it does not know; they are told in words.
    unknown_blocks: &'static [&'static str],
    /// Features that it has no capability for.
    unnamed: &'static [Feature],
    /// Whether tools give structured content.
    structured: bool,
    /// Whether a progress report has words.
    progress_messages: bool,
    /// Whether capabilities of the client have members that say more.
    capability_members: bool,
    /// Whether there is an error that sends the user to a page.
    visits: bool,
    /// The parameters of a question to the user. They get the request's id, for a page is known by it.
    elicitation: fn(&Object, &str) -> Respelled,
    /// The parameters of a request for a message of the model.
    sampling: fn(&Object) -> Respelled,
}

/// What a client hears that did not say from which level on.
const LOG_LEVEL: &str = "info";

fn is_of_this_era(version: &str) -> bool {
    [&V2025_11_25, &V2025_06_18, &V2025_03_26, &V2024_11_05]
        .iter()
        .any(|revision| revision.version == version)
}

impl Dialect for Revision {
    fn version(&self) -> &'static str {
        self.version
    }

    fn claim(&self, opening: &Opening<'_>) -> Claim {
        // A message that says its version itself is of the other era, whoever sent it.
        if opening.names_version() {
            return Claim::No;
        }
        let header = opening.header_version();
        if opening.has_header_version() && !header.is_some_and(is_of_this_era) {
            return Claim::No;
        }
        let exactly = |own: bool| if own { Claim::Exact } else { Claim::No };
        if opening.method == INITIALIZE {
            let params = opening.params;
            let requested = params.and_then(|params| params.get("protocolVersion")?.as_str());
            return match requested {
                Some(requested) if requested == self.version => Claim::Exact,
                _ => Claim::Era,
            };
        }
        match (opening.peer, header) {
            (Some(peer), _) => exactly(peer.dialect.version() == self.version),
            (None, Some(header)) => exactly(header == self.version),
            (None, None) if opening.has_headers => exactly(self.assumed),
            (None, None) => Claim::Era,
        }
    }

    fn admit(
        &'static self,
        runtime: &Runtime,
        request: Request,
    ) -> Result<(Context, Object), Error> {
        let Request {
            id,
            method,
            params,
            arrival,
        } = request;
        let opens = method == INITIALIZE || method == PING;
        if arrival.peer.is_none() && arrival.headers.is_none() && !opens {
            return Err(not_opened(&runtime.settings));
        }
        let Some(known) = find(&method) else {
            return Err(unknown_method(&runtime.settings, &method));
        };
        if !known.needs.iter().all(|feature| runtime.offers(*feature)) {
            return Err(Error::method_not_found(&method));
        }
        let mut params = params.unwrap_or_default();
        let meta = match params.take("_meta") {
            None => Object::new(),
            Some(Json::Object(meta)) => meta,
            Some(_) => return Err(Error::invalid_params("_meta must be an object")),
        };
        params::check_progress_token(&meta, &runtime.settings.limits)?;
        let context = Context {
            dialect: self,
            id,
            method: known.name,
            log_level: arrival.log_level.or(Level::named(LOG_LEVEL)),
            arrival,
            meta,
            input_responses: None,
            request_state: None,
            round: 0,
            extensions: None,
            carried: None,
            time: None,
        };
        Ok((context, params))
    }

    fn operation(&self, context: &mut Context, params: Object) -> Result<Operation, Error> {
        match find(context.method) {
            Some(known) => (known.operation)(params),
            None => Err(Error::method_not_found(context.method)),
        }
    }

    fn notification(
        &self,
        settings: &Settings,
        method: &str,
        params: Option<Object>,
        _arrival: &Arrival,
    ) -> Result<Notification, Error> {
        if method != CANCELLED {
            return Ok(Notification::Ignored);
        }
        let id = params
            .and_then(|mut params| params.take("requestId"))
            .and_then(|id| Id::from_json(id, &settings.limits));
        Ok(id.map_or(Notification::Ignored, Notification::Cancel))
    }

    fn check_mirrors(&self, _: &[Mirror], _: &Object, _: &dyn Headers) -> Result<(), Error> {
        Ok(())
    }

    fn render(&self, settings: &Settings, registry: &Registry) -> Rendered {
        render::render(self, settings, registry)
    }

    fn shape(
        &self,
        runtime: &Runtime,
        _context: &Context,
        target: &Target,
        outcome: &Outcome,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        results::write(self, runtime, target, outcome, out)
    }

    fn notice(&self, context: &Context, notice: &Notice, out: &mut Vec<u8>) {
        match notice {
            Notice::Progress(report) if !self.progress_messages && report.message.is_some() => {
                let wordless = Progress {
                    message: None,
                    ..*report
                };
                notices::write(context, &Notice::Progress(wordless), out);
            }
            notice => notices::write(context, notice, out),
        }
    }

    // No request of these revisions subscribes: nothing of a subscription is ever told.
    fn acknowledge(&self, _: &Id, _: &Filter) -> Vec<u8> {
        Vec::new()
    }

    fn tell(&self, _: &Id, _: &Event) -> Vec<u8> {
        Vec::new()
    }

    fn listened(&self, _: &Runtime, id: &Id) -> Vec<u8> {
        shape::response(id, b"{}")
    }

    fn shape_error<'a>(&self, error: &'a Error) -> Cow<'a, Error> {
        let code = match error.code {
            _ if error.is_resource_not_found() => code::RESOURCE_NOT_FOUND,
            code::MISSING_CAPABILITY => code::INVALID_PARAMS,
            code::URL_ELICITATION_REQUIRED if !self.visits => code::INTERNAL_ERROR,
            _ => return Cow::Borrowed(error),
        };
        Cow::Owned(Error {
            code,
            ..error.clone()
        })
    }

    fn knows(&self, method: &str) -> bool {
        find(method).is_some()
    }

    fn asks(&self) -> bool {
        true
    }

    fn batches(&self) -> bool {
        self.batches
    }

    fn primes(&self) -> bool {
        self.primes
    }

    fn verdict(&self, verdict: Verdict) -> Verdict {
        // These clients take a status that is no success for a broken connection, and 404 for the end of
        // their session.
        match verdict {
            Verdict::Error(code) => Verdict::Told(code),
            Verdict::Late => Verdict::Told(code::INTERNAL_ERROR),
            verdict => verdict,
        }
    }

    fn changed(&self, event: &Event) -> Option<Vec<u8>> {
        let (method, uri) = match &event.change {
            Change::ToolsList => ("notifications/tools/list_changed", None),
            Change::PromptsList => ("notifications/prompts/list_changed", None),
            Change::ResourcesList => ("notifications/resources/list_changed", None),
            Change::Resource(uri) => ("notifications/resources/updated", Some(uri)),
            // Extensions are of the other era.
            Change::Extension(_) => return None,
        };
        let mut params = Object::new();
        if let Some(uri) = uri {
            params.insert("uri", Json::String(uri.clone()));
        }
        if !event.metadata.is_empty() {
            params.insert("_meta", Json::Object(event.metadata.clone()));
        }
        let mut out = br#"{"jsonrpc":"2.0","method":"#.to_vec();
        write_string(method, &mut out);
        if !params.is_empty() {
            shape::member("params", &params.to_vec(), &mut out);
        }
        out.push(b'}');
        Some(out)
    }

    fn question(&self, request: &Object, id: &str) -> Result<Vec<u8>, &'static str> {
        questions::write(self, request, id)
    }

    fn needs(&self, request: &Json) -> Vec<[&'static str; 2]> {
        let mut needs = crate::mrtr::needs(request);
        if !self.capability_members {
            for [_, member] in &mut needs {
                *member = "";
            }
            needs.dedup();
        }
        needs
    }

    fn visit(&self, requests: &Object, id: &dyn Fn(&str) -> String) -> Option<Error> {
        if self.visits {
            questions::visit(self, requests, id)
        } else {
            None
        }
    }
}

/// A request that came before anybody said who asks.
fn not_opened(settings: &Settings) -> Error {
    let mut dialects = settings.dialects.iter();
    let text = match dialects.find(|dialect| !dialect.asks()) {
        None => "Send initialize first".to_owned(),
        Some(stateless) => format!(
            "Send initialize first, or name {} as {} in the _meta of every request",
            stateless.version(),
            meta::PROTOCOL_VERSION
        ),
    };
    Error::invalid_params(text)
}

/// A method that only clients of the other era can have meant is told from one that nobody knows.
fn unknown_method(settings: &Settings, method: &str) -> Error {
    let error = Error::method_not_found(method);
    let mut dialects = settings.dialects.iter();
    match dialects.find(|dialect| !dialect.asks() && dialect.knows(method)) {
        None => error,
        Some(other) => Error {
            message: format!(
                "{}; it is one of {}, whose requests name that as {} in their _meta",
                error.message,
                other.version(),
                meta::PROTOCOL_VERSION
            )
            .into(),
            ..error
        },
    }
}
