//! The plain values that Python hands over, as settings and definitions of the core.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use snodo_core::dialect::{self, Dialect};
use snodo_core::json::{self, Json, Object};
use snodo_core::limits::Limits;
use snodo_core::runtime::{Cache, Scope, Settings};
use snodo_core::schema::Validator;
use snodo_server::hub::Hub;

use crate::convert::encode;
use crate::hub::PyHub;
use crate::imports;
use crate::policy::Policy;
use crate::telemetry::Watching;

/// `ConfigurationError(text)`.
pub(crate) fn configuration_error(py: Python<'_>, text: impl std::fmt::Display) -> PyErr {
    match imports::configuration_error(py) {
        Ok(kind) => PyErr::from_type(kind.clone(), text.to_string()),
        Err(error) => error,
    }
}

/// The options of a `Server`, checked by it already as far as their types go.
pub(crate) struct Options<'a, 'py>(pub(crate) &'a Bound<'py, PyDict>);

impl<'py> Options<'_, 'py> {
    pub(crate) fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        match self.0.get_item(name)? {
            Some(value) if !value.is_none() => value.extract().map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn validator(&self) -> PyResult<Validator> {
        Ok(match self.get::<String>("validator")?.as_deref() {
            Some("basic") => Validator::Basic,
            Some("passthrough") => Validator::Passthrough,
            Some("custom") => Validator::Custom,
            _ => Validator::Full,
        })
    }

    pub(crate) fn settings(&self) -> PyResult<Settings> {
        let py = self.0.py();
        let info = self
            .0
            .get_item("server_info")?
            .unwrap_or_else(|| PyDict::new(py).into_any());
        let info = encode(&info, Limits::default().result_bytes).map_err(|refusal| {
            configuration_error(
                py,
                format!("server_info must contain only JSON values: {refusal}"),
            )
        })?;
        let limits = self.limits()?;
        let server_info = match json::parse(&info, &limits) {
            Ok(Json::Object(object)) => object,
            _ => Object::new(),
        };
        Ok(Settings {
            server_info,
            instructions: self.get("instructions")?,
            dialects: self.dialects()?,
            heartbeat: self.heartbeat()?,
            page_size: self.get("page_size")?,
            subscriptions: self.source()?.is_some(),
            authorized: self.policy()?.is_some(),
            conceals_refusals: self.get("conceal_refusals")?.unwrap_or(false),
            discover_cache: self.cache("discover_cache")?,
            tools_cache: self.cache("tools_cache")?,
            resources_cache: self.cache("resources_cache")?,
            prompts_cache: self.cache("prompts_cache")?,
            extensions: Vec::new(),
            limits,
        })
    }

    /// Where the events of subscriptions come from.
    pub(crate) fn source(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let source = self.0.get_item("subscriptions")?;
        Ok(source.filter(|source| !source.is_none()))
    }

    /// What decides who sees and uses the components.
    pub(crate) fn policy(&self) -> PyResult<Option<Policy>> {
        self.get("authorize")
    }

    /// What knows who sends an HTTP request: a function, and whether it gives an awaitable.
    pub(crate) fn authenticator(&self) -> PyResult<Option<(Py<PyAny>, bool)>> {
        self.get("authenticate")
    }

    /// The server's own hub.
    pub(crate) fn hub(&self) -> PyResult<Option<Hub>> {
        let hub = self.0.get_item("hub")?;
        let hub = hub.as_ref().and_then(|hub| hub.cast::<PyHub>().ok());
        Ok(hub.map(|hub| hub.get().hub.clone()))
    }

    /// Who watches the server.
    pub(crate) fn watching(&self) -> PyResult<Option<Watching>> {
        let sinks: Vec<Bound<'py, PyAny>> = match self.0.get_item("instrument")? {
            Some(sinks) => sinks.try_iter()?.collect::<PyResult<_>>()?,
            None => Vec::new(),
        };
        let is_on = |name| Ok::<_, PyErr>(self.get::<bool>(name)?.unwrap_or(false));
        Watching::new(self.0.py(), &sinks, is_on("metrics")?, is_on("access_log")?)
    }

    fn dialects(&self) -> PyResult<Vec<&'static dyn Dialect>> {
        let Some(wanted) = self.get::<Vec<String>>("protocols")? else {
            return Ok(dialect::ALL.to_vec());
        };
        let known = |name: &String| {
            dialect::ALL
                .into_iter()
                .find(|known| known.version() == name)
        };
        wanted
            .iter()
            .map(|name| {
                known(name).ok_or_else(|| {
                    let names: Vec<_> = dialect::ALL.iter().map(|known| known.version()).collect();
                    let text = format!(
                        "unknown protocol revision {name:?}; known: {}",
                        names.join(", ")
                    );
                    configuration_error(self.0.py(), text)
                })
            })
            .collect()
    }

    fn heartbeat(&self) -> PyResult<Option<Duration>> {
        self.get::<f64>("heartbeat")?
            .map(|every| seconds(self.0.py(), "heartbeat", every))
            .transpose()
    }

    fn cache(&self, name: &str) -> PyResult<Cache> {
        let Some((ttl_ms, scope)) = self.get::<(u64, String)>(name)? else {
            return Ok(Cache::default());
        };
        let scope = if scope == "public" {
            Scope::Public
        } else {
            Scope::Private
        };
        Ok(Cache { ttl_ms, scope })
    }

    pub(crate) fn limits(&self) -> PyResult<Limits> {
        let mut limits = Limits::default();
        if let Some(timeout) = self.get::<f64>("timeout")? {
            limits.call_timeout = Some(seconds(self.0.py(), "timeout", timeout)?);
        } else if self.0.contains("timeout")? {
            limits.call_timeout = None;
        }
        let Some(given) = self.0.get_item("limits")? else {
            return Ok(limits);
        };
        let given = given.cast::<PyDict>()?;
        for (name, value) in given.iter() {
            let name: String = name.extract()?;
            set_limit(&mut limits, &name, &value)?;
        }
        Ok(limits)
    }
}

fn set_limit(limits: &mut Limits, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let count = || {
        value.extract::<usize>().map_err(|_| {
            configuration_error(
                py,
                format!("limit {name} must be an integer of zero or more"),
            )
        })
    };
    let time = || {
        let given = value.extract::<f64>().map_err(|_| {
            configuration_error(py, format!("limit {name} must be a number of seconds"))
        })?;
        seconds(py, name, given)
    };
    match name {
        "body_bytes" => limits.body_bytes = count()?,
        "line_bytes" => limits.line_bytes = count()?,
        "json_depth" => limits.json_depth = count()?,
        "integer_digits" => limits.integer_digits = count()?,
        "id_bytes" => limits.id_bytes = count()?,
        "cursor_bytes" => limits.cursor_bytes = count()?,
        "head_bytes" => limits.head_bytes = count()?,
        "connections" => limits.connections = count()?,
        "streams" => limits.streams = count()?,
        "running" => limits.running = count()?,
        "queued" => limits.queued = count()?,
        "result_bytes" => limits.result_bytes = count()?,
        "input_rounds" => limits.input_rounds = count()?,
        "batch" => limits.batch = count()?,
        "sessions" => limits.sessions = count()?,
        "replay_events" => limits.replay_events = count()?,
        "replay_bytes" => limits.replay_bytes = count()?,
        "session_idle" => limits.session_idle = time()?,
        "answer_timeout" => limits.answer_timeout = time()?,
        "head_timeout" => limits.head_timeout = time()?,
        "authenticate_timeout" => limits.authenticate_timeout = time()?,
        "body_timeout" => limits.body_timeout = time()?,
        "write_timeout" => limits.write_timeout = time()?,
        "eof_timeout" => limits.eof_timeout = time()?,
        "keep_alive_interval" => limits.keep_alive_interval = time()?,
        "drain_timeout" => limits.drain_timeout = time()?,
        _ => {
            return Err(configuration_error(
                py,
                format!("there is no limit named {name}"),
            ));
        }
    }
    Ok(())
}

/// A number of seconds as a duration.
pub(crate) fn seconds(py: Python<'_>, name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        configuration_error(
            py,
            format!("{name} must be a number of seconds, zero or more"),
        )
    })
}
