//! `GET /metrics`: what is counted of the server, for whoever keeps an eye on it.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};

use crate::telemetry;
use crate::transport::body::Incoming;
use crate::transport::connection::Life;
use crate::transport::hosted::Outside;
use crate::transport::http::{Body, Endpoint, leave_unread, refusal};

/// Where it is.
pub(crate) const METRICS: &str = "/metrics";

impl Endpoint {
    /// The metrics of a server that keeps some.
    pub(super) fn scrape(&self, request: &Request<impl Incoming>, life: &Life) -> Response<Body> {
        leave_unread(life, request.body());
        let authority = request.uri().authority();
        let authority = authority.map(http::uri::Authority::as_str);
        let gate = match request.extensions().get::<Outside>() {
            None => self.gate.admit(request.headers(), authority),
            Some(_) => self.gate.admit_outside(request.headers()),
        };
        if let Err(reason) = gate {
            return refusal(StatusCode::FORBIDDEN, reason.message());
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "Metrics take GET");
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        let metrics = self.service.telemetry().and_then(|it| it.metrics());
        let text = metrics.map_or_else(String::new, |it| it.text(&self.service.gauges()));
        let mut response = Response::new(Body::Whole(Bytes::from(text)));
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(telemetry::CONTENT_TYPE);
        headers.insert(CONTENT_TYPE, kind);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
