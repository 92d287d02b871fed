//! What core leaves to its caller when it seals: the server's keys, the clock and the dice.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use snodo_core::call::{Call, Target};
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_core::mrtr::state::{Binding, Fault, KeyRing, Purpose};

use crate::imports;
use crate::settings::configuration_error;

/// The keys of a server: what it was given, or one that no other process has.
pub(crate) fn server_keys(options: &Bound<'_, PyDict>) -> PyResult<Arc<KeyRing>> {
    let py = options.py();
    let given = options.get_item("secret")?;
    let given = given.map(|given| given.extract()).transpose()?;
    let secrets: Vec<(Option<String>, Vec<u8>)> = given.unwrap_or_default();
    if secrets.is_empty() {
        return ring(py, vec![(None, random::<32>()?.to_vec())]);
    }
    ring(py, secrets)
}

fn ring(py: Python<'_>, secrets: Vec<(Option<String>, Vec<u8>)>) -> PyResult<Arc<KeyRing>> {
    let ring = KeyRing::new(secrets).map_err(|error| configuration_error(py, error))?;
    Ok(Arc::new(ring))
}

/// Whose request a token is for, as far as core does not know it from the call.
pub(crate) struct Sealing<'a> {
    pub(crate) keys: &'a KeyRing,
    pub(crate) purpose: &'a str,
    pub(crate) call: &'a Call,
    /// The component's name.
    pub(crate) name: &'a str,
    /// JSON text.
    pub(crate) principal: &'a [u8],
    pub(crate) ttl: u64,
}

impl Sealing<'_> {
    pub(crate) fn seal(&self, data: &[u8]) -> PyResult<String> {
        let principal = self.principal()?;
        self.keys
            .seal(
                self.purpose()?,
                &self.binding(&principal),
                data,
                now(),
                self.ttl,
                random()?,
            )
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// `None`: it is invalid or has expired, whatever the reason.
    pub(crate) fn open<'py>(
        &self,
        py: Python<'py>,
        token: &str,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(match self.opened(token)? {
            Ok(data) => Some(PyBytes::new(py, &data)),
            Err(fault) => {
                // For the operator, who would look for it in vain; the client is not told.
                let text = format!(
                    "the request state of {} {:?} does not open: {fault}",
                    self.call.context.method, self.name
                );
                let _ = imports::tell(py).and_then(|tell| tell.call1((30, text)));
                None
            }
        })
    }

    /// Whether it opens, without a word in the log.
    pub(crate) fn opens(&self, token: &str) -> PyResult<bool> {
        Ok(self.opened(token)?.is_ok())
    }

    fn opened(&self, token: &str) -> PyResult<Result<Vec<u8>, Fault>> {
        let principal = self.principal()?;
        Ok(self.keys.open(
            self.purpose()?,
            &self.binding(&principal),
            token,
            now(),
            self.ttl,
        ))
    }

    fn binding<'a>(&'a self, principal: &'a Json) -> Binding<'a> {
        let subject = match &self.call.target {
            Target::Resource { uri, .. } | Target::Template { uri, .. } => uri,
            _ => self.name,
        };
        Binding {
            method: self.call.context.method,
            subject,
            arguments: &self.call.arguments,
            principal,
        }
    }

    fn purpose(&self) -> PyResult<Purpose> {
        match self.purpose {
            "ask" => Ok(Purpose::Ask),
            "state" => Ok(Purpose::State),
            _ => Err(PyValueError::new_err("there is no such purpose")),
        }
    }

    fn principal(&self) -> PyResult<Json> {
        json::parse(self.principal, &Limits::default())
            .map_err(|error| PyValueError::new_err(format!("principal: {error}")))
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn random<const BYTES: usize>() -> PyResult<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(bytes)
}
