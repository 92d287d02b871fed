//! `GET /metrics`: what is counted of the server, for whoever keeps an eye on it.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};

use crate::telemetry;
use crate::transport::connection::Life;
use crate::transport::hosted::Outside;
use crate::transport::http::Endpoint;
use crate::transport::response::{Body, refusal};

/// Where it is.
pub(crate) const METRICS: &str = "/metrics";

impl Endpoint {
    /// The answer to somebody who may not have the metrics, or not so.
    pub(super) fn unscraped<B>(&self, request: &Request<B>, life: &Life) -> Option<Response<Body>> {
        let authority = request.uri().authority();
        let authority = authority.map(http::uri::Authority::as_str);
        let gate = match request.extensions().get::<Outside>() {
            // Another worker has looked already.
            _ if life.is_from_worker() => Ok(None),
            None => self.gate.admit(request.headers(), authority),
            Some(_) => self.gate.admit_outside(request.headers()),
        };
        if let Err(reason) = gate {
            return Some(refusal(StatusCode::FORBIDDEN, reason.message()));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "Metrics take GET");
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return Some(response);
        }
        None
    }

    /// The metrics of a server that keeps some, and of those that serve together with it.
    pub(super) async fn scrape(&self, life: &Life) -> Response<Body> {
        let metrics = self.service.telemetry().and_then(|it| it.metrics());
        let mut text = metrics.map_or_else(String::new, |it| it.text(&self.service.gauges()));
        if let Some(fleet) = self.fleet.as_ref().filter(|_| !life.is_from_worker()) {
            text = fleet.metrics(text, METRICS).await;
        }
        let mut response = Response::new(Body::Whole(Bytes::from(text)));
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(telemetry::CONTENT_TYPE);
        headers.insert(CONTENT_TYPE, kind);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
