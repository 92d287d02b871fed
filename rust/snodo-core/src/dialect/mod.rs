//! What a revision owes the house, and choosing one.
//!
//! A revision is a file or a folder in this room; `if version ==` is written nowhere. What a feature
//! means is decided elsewhere (`operation`, `router`, `outcome`): here is only how it is spelled.

pub mod headers;
mod initialize;
mod notices;
mod params;
pub(crate) mod shape;
mod v2026_07_28;

use std::borrow::Cow;
use std::fmt::Debug;

pub use initialize::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};
pub use v2026_07_28::V2026_07_28;

use crate::call::Target;
use crate::context::{Arrival, Context, Header, Headers};
use crate::envelope::Id;
use crate::error::{self, Error, Kind, code};
use crate::json::{Json, Object, write_string};
use crate::meta;
use crate::mrtr;
use crate::notice::Notice;
use crate::operation::{Listed, Operation};
use crate::outcome::Outcome;
use crate::page::{CursorError, Pages};
use crate::peer::Peer;
use crate::pipeline::Verdict;
use crate::registry::Registry;
use crate::runtime::{Runtime, Settings};
use crate::schema::Mirror;
use crate::subscription::{Event, Filter};

/// Every revision this crate speaks, newest first.
pub static ALL: [&dyn Dialect; 5] = [
    &V2026_07_28,
    &initialize::V2025_11_25,
    &initialize::V2025_06_18,
    &initialize::V2025_03_26,
    &initialize::V2024_11_05,
];

/// A protocol revision.
pub trait Dialect: Debug + Send + Sync {
    /// Its name on the wire.
    fn version(&self) -> &'static str;

    /// Whether a message is spoken in this revision.
    fn claim(&self, opening: &Opening<'_>) -> Claim;

    /// Admits a request: its terms (`_meta`, headers) hold, and its method is known and offered.
    /// Gives what a handler may know of it, and the parameters that are left.
    fn admit(
        &'static self,
        runtime: &Runtime,
        request: Request,
    ) -> Result<(Context, Object), Error>;

    /// What an admitted request asks for. Members that belong to the request rather than to the
    /// operation are moved into the context.
    fn operation(&self, context: &mut Context, params: Object) -> Result<Operation, Error>;

    /// What a notification is for. An error is for transports that answer one.
    fn notification(
        &self,
        settings: &Settings,
        method: &str,
        params: Option<Object>,
        arrival: &Arrival,
    ) -> Result<Notification, Error>;

    /// Holds arguments to the headers that mirror them, in revisions that have such headers.
    fn check_mirrors(
        &self,
        mirrors: &[Mirror],
        arguments: &Object,
        headers: &dyn Headers,
    ) -> Result<(), Error>;

    /// Writes in advance what does not depend on a request.
    fn render(&self, settings: &Settings, registry: &Registry) -> Rendered;

    /// Appends the result object for what the call of a target gave.
    fn shape(
        &self,
        runtime: &Runtime,
        context: &Context,
        target: &Target,
        outcome: &Outcome,
        out: &mut Vec<u8>,
    ) -> Result<(), Error>;

    /// Appends the notification that something was said during the request.
    fn notice(&self, context: &Context, notice: &Notice, out: &mut Vec<u8>);

    /// The notification that opens a subscription: what will be told.
    fn acknowledge(&self, id: &Id, filter: &Filter) -> Vec<u8>;

    /// The notification that tells a subscription of an event.
    fn tell(&self, id: &Id, event: &Event) -> Vec<u8>;

    /// The notification that tells a subscription of what happened to an extension, in its words; `None`
    /// if these are the revision's own, or it has no such extensions.
    fn tell_own(
        &self,
        _id: &Id,
        _method: &str,
        _params: &Object,
        _metadata: &Object,
    ) -> Option<Vec<u8>> {
        None
    }

    /// The response that closes a subscription.
    fn listened(&self, runtime: &Runtime, id: &Id) -> Vec<u8>;

    /// The error as this revision may say it.
    fn shape_error<'a>(&self, error: &'a Error) -> Cow<'a, Error>;

    /// Whether it has this method.
    fn knows(&self, method: &str) -> bool;

    /// Whether a client is asked for input by requests of the server, while its own request waits. Such
    /// clients open with a handshake, and are told of changes without having asked in a request that
    /// stays open.
    fn asks(&self) -> bool {
        false
    }

    /// Whether it can be extended by what both sides declare with each request.
    fn extends(&self) -> bool {
        false
    }

    /// Whether a message may be an array of messages.
    fn batches(&self) -> bool {
        false
    }

    /// Whether an event stream begins with an event of nothing but an id, so that it can be resumed from
    /// there, and may be closed before its response.
    fn primes(&self) -> bool {
        false
    }

    /// What an answer to an admitted request says, for transports that have statuses.
    fn verdict(&self, verdict: Verdict) -> Verdict {
        verdict
    }

    /// The notification that something changed, for whoever did not ask in a request that stays open.
    fn changed(&self, _event: &Event) -> Option<Vec<u8>> {
        None
    }

    /// A request of the server with this id, out of an input request, which is a good one. An error is
    /// the end of a sentence: why this revision has no such request.
    fn question(&self, _request: &Object, _id: &str) -> Result<Vec<u8>, &'static str> {
        Err(NO_QUESTION)
    }

    /// The capabilities that an input request needs, each with a member (`""` for none in particular).
    fn needs(&self, request: &Json) -> Vec<[&'static str; 2]> {
        mrtr::needs(request)
    }

    /// The error that sends the client's user to the pages of these input requests, where there is one
    /// and they are nothing else. `id` makes an id for each by its key.
    fn visit(&self, _requests: &Object, _id: &dyn Fn(&str) -> String) -> Option<Error> {
        None
    }
}

/// Why a revision does not ask something, for the end of a sentence.
const NO_QUESTION: &str = "is no request of this protocol revision";

/// How sure a dialect is that a message is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It names this revision.
    Exact,
    /// Its era would do, the newest revision of it best.
    Era,
    /// Nobody else may want it.
    Fallback,
    /// It does not.
    No,
}

/// What of a message tells its revision.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The method.
    pub method: &'a str,
    /// The parameters, if any.
    pub params: Option<&'a Object>,
    /// Whether there are headers where it came from.
    pub has_headers: bool,
    /// Who is at the other end, where that is known from before.
    pub peer: Option<&'a Peer>,
    /// The version in the body's `_meta`, whatever it is.
    body: Option<&'a Json>,
    /// The version in the headers.
    header: Option<&'a str>,
    /// Whether there was one, be it a garbled one.
    has_header: bool,
}

impl<'a> Opening<'a> {
    /// Looks at a message.
    pub fn new(method: &'a str, params: Option<&'a Object>, arrival: &'a Arrival) -> Self {
        let meta = params.and_then(|params| params.get("_meta")?.as_object());
        let headers = arrival.headers.as_deref();
        let header = headers.map_or(Header::Missing, |headers| {
            headers.get(headers::PROTOCOL_VERSION)
        });
        Self {
            method,
            params,
            has_headers: headers.is_some(),
            peer: arrival.peer.as_deref(),
            body: meta.and_then(|meta| meta.get(meta::PROTOCOL_VERSION)),
            header: match header {
                Header::One(value) => headers::plain(value),
                Header::Missing | Header::Repeated => None,
            },
            has_header: header != Header::Missing,
        }
    }

    /// Whether the body's `_meta` says a version.
    pub fn names_version(&self) -> bool {
        self.body.is_some()
    }

    /// The version in the body's `_meta`.
    pub fn body_version(&self) -> Option<&'a str> {
        self.body?.as_str()
    }

    /// The version in the headers.
    pub fn header_version(&self) -> Option<&'a str> {
        self.header
    }

    /// Whether the headers say a version, be it a garbled one.
    pub fn has_header_version(&self) -> bool {
        self.has_header
    }
}

/// A request, not yet admitted.
#[derive(Debug)]
pub struct Request {
    /// To be echoed.
    pub id: Id,
    /// What is asked.
    pub method: String,
    /// The parameters, if any.
    pub params: Option<Object>,
    /// How it came.
    pub arrival: Arrival,
}

/// What a notification is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Notification {
    /// The answer to this request is no longer wanted.
    Cancel(Id),
    /// Nothing this server acts on.
    Ignored,
}

/// Results written when the server was built, around which only the id is put.
#[derive(Debug)]
pub struct Rendered {
    /// The result of discovery.
    pub discover: Vec<u8>,
    /// The results of listing the tools.
    pub tools: List,
    /// The results of listing the direct resources.
    pub resources: List,
    /// The results of listing the resource templates.
    pub templates: List,
    /// The results of listing the prompts.
    pub prompts: List,
    /// The results of reading those direct resources that never change, in the registry's order.
    pub reads: Vec<Option<Vec<u8>>>,
    /// The `_meta` member that every result ends with.
    pub meta: Vec<u8>,
}

impl Rendered {
    /// The results of a list.
    pub fn list(&self, of: Listed) -> &List {
        match of {
            Listed::Tools => &self.tools,
            Listed::Resources => &self.resources,
            Listed::Templates => &self.templates,
            Listed::Prompts => &self.prompts,
        }
    }
}

/// A list, written in advance: its pages, or where not everybody sees the same of it its entries.
#[derive(Debug)]
pub struct List {
    frame: Frame,
    pages: Pages,
    results: Vec<Vec<u8>>,
    entries: Vec<Vec<u8>>,
}

/// What is around the entries of a list.
#[derive(Debug)]
pub struct Frame {
    /// The revision.
    pub version: &'static str,
    /// The method.
    pub method: &'static str,
    /// Entries in one page.
    pub page_size: Option<usize>,
    /// The result up to its entries.
    pub head: Vec<u8>,
    /// The result from behind its entries and the cursor on.
    pub tail: Vec<u8>,
}

impl Frame {
    fn pages<E: AsRef<[u8]>>(&self, entries: &[E]) -> Pages {
        Pages::new(self.version, self.method, self.page_size, entries)
    }

    fn page<E: AsRef<[u8]>>(&self, entries: &[E], cursor: Option<&str>) -> Vec<u8> {
        let bytes: usize = entries.iter().map(|entry| entry.as_ref().len() + 1).sum();
        let mut out = Vec::with_capacity(self.head.len() + bytes + self.tail.len() + 128);
        out.extend_from_slice(&self.head);
        for (at, entry) in entries.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(entry.as_ref());
        }
        out.push(b']');
        if let Some(cursor) = cursor {
            out.extend_from_slice(br#","nextCursor":"#);
            write_string(cursor, &mut out);
        }
        out.extend_from_slice(&self.tail);
        out
    }
}

impl List {
    /// Cuts into pages. `chosen`: a policy decides who sees which entries.
    pub fn render(frame: Frame, entries: Vec<Vec<u8>>, chosen: bool) -> Self {
        let pages = frame.pages(&entries);
        let write = |page| {
            let cursor = pages.next_cursor(page);
            frame.page(&entries[pages.range(page)], cursor.as_deref())
        };
        let results = if chosen {
            Vec::new()
        } else {
            (0..pages.count()).map(write).collect()
        };
        Self {
            entries: if chosen { entries } else { Vec::new() },
            results,
            pages,
            frame,
        }
    }

    /// The result that a cursor stands for.
    pub fn open(&self, cursor: Option<&str>, cursor_bytes: usize) -> Result<&[u8], CursorError> {
        let page = self.pages.open(cursor, cursor_bytes)?;
        Ok(&self.results[page])
    }

    /// The result that a cursor stands for among the entries that are allowed. A cursor is of what was
    /// seen when it was given: to whoever sees something else it has expired.
    pub fn visible(
        &self,
        allowed: &[bool],
        cursor: Option<&str>,
        cursor_bytes: usize,
    ) -> Result<Vec<u8>, CursorError> {
        let both = self.entries.iter().zip(allowed);
        let entries: Vec<&[u8]> = both
            .filter_map(|(entry, allowed)| allowed.then_some(&**entry))
            .collect();
        let one = self
            .frame
            .page_size
            .is_none_or(|size| entries.len() <= size);
        if one && cursor.is_none() {
            return Ok(self.frame.page(&entries, None));
        }
        let pages = self.frame.pages(&entries);
        let page = pages.open(cursor, cursor_bytes)?;
        let next = pages.next_cursor(page);
        Ok(self
            .frame
            .page(&entries[pages.range(page)], next.as_deref()))
    }
}

/// The own name of a method or notification that any revision has, out of what a caller wrote.
pub(crate) fn name_of(method: &str) -> Option<&'static str> {
    v2026_07_28::name_of(method).or_else(|| initialize::name_of(method))
}

/// The one dialect among the enabled ones, newest first, that a message is spoken in.
pub fn choose(
    dialects: &[&'static dyn Dialect],
    opening: &Opening<'_>,
) -> Result<&'static dyn Dialect, Error> {
    // Nearly every message, so nobody else is asked: what names its version itself is of the revision
    // that has this name, unless that is one which learns it from a handshake.
    if let Some(named) = opening.body_version() {
        let own = |dialect: &&&dyn Dialect| dialect.version() == named && !dialect.asks();
        if let Some(dialect) = dialects.iter().find(own) {
            return Ok(*dialect);
        }
    }
    for claim in [Claim::Exact, Claim::Era, Claim::Fallback] {
        let mut claimants = dialects
            .iter()
            .filter(|dialect| dialect.claim(opening) == claim);
        match (claimants.next(), claimants.next()) {
            (Some(dialect), None) => return Ok(*dialect),
            (Some(newest), Some(_)) if claim == Claim::Era => return Ok(*newest),
            (Some(_), Some(_)) => {
                let text = "Multiple protocol dialects matched the request";
                return Err(Error::invalid_request(text));
            }
            (None, _) => {}
        }
    }
    Err(unrecognized(dialects, opening))
}

fn unrecognized(dialects: &[&'static dyn Dialect], opening: &Opening<'_>) -> Error {
    if opening.method == "initialize" {
        // A handshake that no enabled revision has. MCP 2026-07-28 (Streamable HTTP, "eras on one
        // endpoint"): name the versions, so that the client's user learns what would be spoken.
        let asked = opening
            .params
            .and_then(|params| params.get("protocolVersion"));
        let requested = asked.and_then(Json::as_str).unwrap_or_default();
        return unsupported_version(requested, dialects, true);
    }
    if let Some(named) = opening.body_version().or(opening.header_version()) {
        return unsupported_version(named, dialects, true);
    }
    if opening.has_headers {
        headers::missing_version(dialects.iter().map(|dialect| dialect.version()))
    } else {
        Error::invalid_request("No configured protocol dialect recognized the request")
    }
}

/// -32022; `spelled_out` names the versions in the message too, for readers of a log.
fn unsupported_version(
    requested: &str,
    supported: &[&'static dyn Dialect],
    spelled_out: bool,
) -> Error {
    let versions: Vec<_> = supported.iter().map(|dialect| dialect.version()).collect();
    let mut message = Cow::Borrowed("Unsupported protocol version");
    if spelled_out {
        message = format!("{message}; this server supports {}", versions.join(", ")).into();
    }
    let versions = versions
        .into_iter()
        .map(|version| Json::String(version.to_owned()));
    let mut data = Object::new();
    let requested = error::excerpt(requested).into_owned();
    data.insert("requested", Json::String(requested));
    data.insert("supported", Json::Array(versions.collect()));
    Error::new(code::UNSUPPORTED_VERSION, Kind::Protocol, message).with_data(Json::Object(data))
}
