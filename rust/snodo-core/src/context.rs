//! Who asks, and under which terms: what a handler may know of the request it serves.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::Dialect;
use crate::envelope::Id;
use crate::json::{Json, Object};
use crate::meta::{self, Trace};
use crate::notice::{Level, Notice};
use crate::peer::Peer;

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
    /// Who is at the other end, where a session or a pipe remembers a handshake.
    pub peer: Option<Arc<Peer>>,
    /// From which level on the session wants log entries, if it said so.
    pub log_level: Option<Level>,
    /// Whether requests of the server reach the client, and its answers the server.
    pub can_ask: bool,
    /// The number that its telemetry knows the message by, if anybody watches.
    pub span: Option<u64>,
}

impl Arrival {
    /// Of a message of which nothing is known but how it came.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            headers: None,
            principal: None,
            peer: None,
            log_level: None,
            can_ask: false,
            span: None,
        }
    }
}

/// What a layer gives to whatever runs below it. Nobody here looks into it.
#[derive(Clone)]
pub struct Carried(pub Arc<dyn Any + Send + Sync>);

impl Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").finish_non_exhaustive()
    }
}

/// The request as its handler sees it. Immutable.
#[derive(Debug, Clone)]
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
    /// How often the client has been asked for input on behalf of this request, by requests of the
    /// server.
    pub round: usize,
    /// The extensions that both sides declare for this request, with the settings that came of it;
    /// `None` where there are none.
    pub extensions: Option<Arc<Object>>,
    /// What the layers around it have given to it.
    pub carried: Option<Carried>,
    /// The time for what is called, where it is not the component's own.
    pub time: Option<Duration>,
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
                peer: self.arrival.peer.clone(),
                log_level: None,
                can_ask: false,
                span: None,
            },
            meta: Object::new(),
            log_level: None,
            input_responses: None,
            request_state: None,
            round: 0,
            extensions: None,
            carried: None,
            time: None,
        }
    }

    /// For a stream that no request opened: it has been asked for by the handshake.
    pub(crate) fn standing(dialect: &'static dyn Dialect, arrival: Arrival) -> Self {
        Self {
            dialect,
            id: Id::String(String::new()),
            method: "initialize",
            arrival,
            meta: Object::new(),
            log_level: None,
            input_responses: None,
            request_state: None,
            round: 0,
            extensions: None,
            carried: None,
            time: None,
        }
    }

    /// The same request, as it is once the client has answered.
    #[must_use]
    pub fn again(&self, responses: Object, state: Option<String>) -> Self {
        Self {
            dialect: self.dialect,
            id: self.id.clone(),
            method: self.method,
            arrival: self.arrival.clone(),
            meta: self.meta.clone(),
            log_level: self.log_level,
            input_responses: Some(responses),
            request_state: state,
            round: self.round + 1,
            extensions: self.extensions.clone(),
            carried: self.carried.clone(),
            time: self.time,
        }
    }

    /// Whether both sides declare this extension for the request.
    pub fn agrees_on(&self, extension: &str) -> bool {
        let agreed = self.extensions.as_ref();
        agreed.is_some_and(|agreed| agreed.contains(extension))
    }

    /// The same request, agreed on one more extension.
    #[must_use]
    pub(crate) fn agreed(&self, extension: &str, settings: Object) -> Self {
        let agreed = self.extensions.as_deref();
        let mut agreed = agreed.cloned().unwrap_or_default();
        agreed.insert(extension, Json::Object(settings));
        Self {
            extensions: Some(Arc::new(agreed)),
            ..self.clone()
        }
    }

    /// The same request, with what a layer gives to it.
    #[must_use]
    pub(crate) fn carrying(&self, carried: Carried) -> Self {
        Self {
            carried: Some(carried),
            ..self.clone()
        }
    }

    /// What is kept when work for the request goes on after its answer: who asked, for what and with
    /// which answers; nothing of the way it came, and no way back.
    #[must_use]
    pub fn detached(&self, time: Option<Duration>) -> Self {
        let kept = [
            meta::PROTOCOL_VERSION,
            meta::CLIENT_INFO,
            meta::CLIENT_CAPABILITIES,
        ];
        let mut said = Object::new();
        for key in kept {
            if let Some(value) = self.meta.get(key) {
                said.insert(key, value.clone());
            }
        }
        Self {
            meta: said,
            input_responses: self.input_responses.clone(),
            request_state: self.request_state.clone(),
            extensions: self.extensions.clone(),
            carried: self.carried.clone(),
            time,
            ..self.retained()
        }
    }

    /// The revision the request is made under.
    pub fn protocol_version(&self) -> &'static str {
        self.dialect.version()
    }

    /// What the client says of itself. For display and logs; decides nothing.
    pub fn client_info(&self) -> Option<&Object> {
        if let Some(peer) = &self.arrival.peer {
            return Some(&peer.client_info);
        }
        self.meta.get(meta::CLIENT_INFO).and_then(Json::as_object)
    }

    /// What the client declared, for this request or for its session.
    pub fn client_capabilities(&self) -> Option<&Object> {
        if let Some(peer) = &self.arrival.peer {
            return Some(&peer.capabilities);
        }
        self.meta
            .get(meta::CLIENT_CAPABILITIES)
            .and_then(Json::as_object)
    }

    /// Whether what its handler asks is sent to the client while the request waits. Whoever runs the
    /// request then keeps its arguments: the handler is run again with the answers.
    pub fn asks(&self) -> bool {
        self.dialect.asks() && self.arrival.can_ask
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

    /// Where the request stands in a distributed trace, by its `_meta`, or else by its headers.
    pub fn trace(&self) -> Trace<'_> {
        Trace::read(&self.meta, self.arrival.headers.as_deref())
    }
}
