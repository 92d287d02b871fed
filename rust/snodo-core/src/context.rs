//! Who asks, and under which terms: what a handler may know of the request it serves.

use std::fmt::Debug;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::envelope::Id;
use crate::json::{Json, Object};
use crate::meta::{self, Trace};
use crate::notice::{Level, Notice};

/// How a message came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// Lines over a pair of pipes.
    Stdio,
    /// In this process.
    Direct,
}

/// What a header name stands for in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// Not sent.
    Missing,
    /// Sent once; the value without surrounding white space.
    One(&'a [u8]),
    /// Sent more than once, even if equal.
    Repeated,
}

/// The headers of a request, whatever type the transport keeps them in.
pub trait Headers: Debug + Send + Sync {
    /// The header of this lower-case name.
    fn get(&self, name: &str) -> Header<'_>;
    /// All of them in order, names in lower case; values that are not UTF-8 lossily.
    fn all(&self) -> Vec<(String, String)>;
}

/// What a transport knows of a message besides its bytes.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// How it came.
    pub transport: Transport,
    /// Its headers, where the transport has such a thing.
    pub headers: Option<Arc<dyn Headers>>,
    /// The verified identity behind it, if anybody verified one.
    pub principal: Option<Json>,
}

/// The request as its handler sees it. Immutable.
#[derive(Debug)]
pub struct Context {
    /// The revision that admitted it.
    pub dialect: &'static dyn Dialect,
    /// The request's id.
    pub id: Id,
    /// The request's method.
    pub method: &'static str,
    /// How it came, with which headers and identity.
    pub arrival: Arrival,
    /// `params._meta` as sent (`clientInfo`, `clientCapabilities`, progress token, trace keys …).
    pub meta: Object,
    /// From which level on the client wants log entries; `None`: it wants none.
    pub log_level: Option<Level>,
    /// Answers to the input that the previous round asked for.
    pub input_responses: Option<Object>,
    /// Continuation state that the previous round handed out; not verified here.
    pub request_state: Option<String>,
}

impl Context {
    /// What is kept while a subscription is open: who asked, and how; nothing of what was sent.
    #[must_use]
    pub fn retained(&self) -> Self {
        Self {
            dialect: self.dialect,
            id: self.id.clone(),
            method: self.method,
            arrival: Arrival {
                transport: self.arrival.transport,
                headers: None,
                principal: self.arrival.principal.clone(),
            },
            meta: Object::new(),
            log_level: None,
            input_responses: None,
            request_state: None,
        }
    }

    /// The revision the request is made under.
    pub fn protocol_version(&self) -> &'static str {
        self.dialect.version()
    }

    /// What the client says of itself. For display and logs; decides nothing.
    pub fn client_info(&self) -> Option<&Object> {
        self.meta.get(meta::CLIENT_INFO).and_then(Json::as_object)
    }

    /// What the client declared for this request.
    pub fn client_capabilities(&self) -> Option<&Object> {
        self.meta
            .get(meta::CLIENT_CAPABILITIES)
            .and_then(Json::as_object)
    }

    /// Where the client wants progress reported: an [`Id`]-like string or integer.
    pub fn progress_token(&self) -> Option<&Json> {
        self.meta.get(meta::PROGRESS_TOKEN)
    }

    /// Whether the client wants to hear anything before the answer.
    pub fn wants_notices(&self) -> bool {
        self.progress_token().is_some() || self.log_level.is_some()
    }

    /// Whether the client wants to hear this.
    pub fn wants(&self, notice: &Notice) -> bool {
        match notice {
            Notice::Progress(_) => self.progress_token().is_some(),
            Notice::Log(entry) => self.log_level.is_some_and(|level| entry.level >= level),
        }
    }

    /// Where the request stands in a distributed trace.
    pub fn trace(&self) -> Trace<'_> {
        Trace::read(&self.meta)
    }
}
