//! Who sends an HTTP request: asked once a request, before its body is read.

use std::net::SocketAddr;
use std::pin::Pin;

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use snodo_core::json::Json;

/// Whatever knows who somebody is: the application, a closure in a test.
pub trait Authenticate: Send + Sync + 'static {
    /// Says who sends this. Dropping the future gives it up.
    fn authenticate(&self, head: Head) -> Authenticating;
}

impl<F: Fn(Head) -> Authenticating + Send + Sync + 'static> Authenticate for F {
    fn authenticate(&self, head: Head) -> Authenticating {
        self(head)
    }
}

/// The word of an [`Authenticate`], when it is there.
pub type Authenticating = Pin<Box<dyn Future<Output = Result<Principal, Denial>> + Send>>;

/// What of a request is known before its body.
#[derive(Debug, Clone)]
pub struct Head {
    /// `POST`, `GET` or `DELETE`.
    pub method: Method,
    /// Without the query.
    pub path: String,
    /// As they were sent.
    pub headers: HeaderMap,
    /// The other end of the connection, where it has an address.
    pub peer: Option<SocketAddr>,
}

/// A verified identity. One that stands in the extensions of a request is not asked for again.
#[derive(Debug, Clone)]
pub struct Principal(pub Json);

/// Why a request goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// It is of nobody who may come in.
    Refused(Refusal),
    /// Whoever was asked failed.
    Failed,
    /// Whoever was asked gave nothing that could be a principal.
    Invalid,
}

/// What is said to somebody who may not come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 401 or 403.
    pub status: StatusCode,
    /// For `WWW-Authenticate`.
    pub challenge: Option<HeaderValue>,
    /// One sentence for the reader.
    pub message: String,
}
