//! Who sends a request, where somebody has to say so: asked after `Host` and `Origin`, before the body.

use std::sync::Arc;

use http::header::WWW_AUTHENTICATE;
use http::request::Parts;
use http::{Extensions, Method, Response, StatusCode};
use snodo_core::context::{Arrival, Transport};
use snodo_core::error::{Error, Kind, code};
use snodo_core::json::Json;
use snodo_core::pipeline::{Verdict, refuse};
use tokio::time::timeout;

use crate::authenticate::{Authenticate, Denial, Head, Principal, Refusal};
use crate::transport::connection::Life;
use crate::transport::http::Endpoint;
use crate::transport::response::{Body, json};

impl Endpoint {
    /// Finds out who sends a request, and writes it on it. The answer to somebody who may not come in.
    pub(super) async fn identify(
        &self,
        authenticator: &Arc<dyn Authenticate>,
        parts: &mut Parts,
        life: &Life,
    ) -> Option<Response<Body>> {
        let asks = matches!(parts.method, Method::POST | Method::GET | Method::DELETE);
        if !asks || parts.extensions.get::<Principal>().is_some() {
            return None;
        }
        let head = Head {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            headers: parts.headers.clone(),
            peer: life.peer(),
        };
        let said = authenticator.authenticate(head);
        match timeout(self.limits().authenticate_timeout, said).await {
            Ok(Ok(principal)) => {
                parts.extensions.insert(principal);
                None
            }
            Ok(Err(Denial::Refused(refusal))) => Some(refused(refusal)),
            Ok(Err(Denial::Failed)) => Some(broken(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Request gate failed",
            )),
            Ok(Err(Denial::Invalid)) => Some(broken(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Request gate returned an invalid result",
            )),
            Err(_) => {
                tracing::error!("nobody said in time who sends a request");
                Some(broken(
                    StatusCode::GATEWAY_TIMEOUT,
                    "Request gate timed out",
                ))
            }
        }
    }
}

/// What is known of a message that came with a request.
pub(super) fn arrival(extensions: &Extensions) -> Arrival {
    Arrival {
        principal: principal(extensions),
        ..Arrival::new(Transport::Http)
    }
}

/// Who sends a request, as it is written on it.
pub(super) fn principal(extensions: &Extensions) -> Option<Json> {
    let principal = extensions.get::<Principal>()?;
    Some(principal.0.clone())
}

fn refused(refusal: Refusal) -> Response<Body> {
    let error = Error::new(code::INVALID_REQUEST, Kind::Transport, refusal.message);
    let mut response = told(refusal.status, &error);
    if let Some(challenge) = refusal.challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

fn broken(status: StatusCode, message: &'static str) -> Response<Body> {
    told(status, &Error::internal(message))
}

fn told(status: StatusCode, error: &Error) -> Response<Body> {
    json(status, refuse(None, error, Verdict::Error(error.code)).body)
}
