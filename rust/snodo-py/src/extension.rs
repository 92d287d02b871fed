//! Extensions as Python declared them: definitions for the core, and callables for what each has to say.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use snodo_core::call::Target;
use snodo_core::dialect;
use snodo_core::error::{Error, Kind as ErrorKind};
use snodo_core::extension::{self, Around, Extension, Method};
use snodo_core::json::{self, Json};
use snodo_core::limits::Limits;
use snodo_core::schema::{Schema, Validator};

use crate::binding::{Passing, optional};
use crate::callable::{PyCallable, Terms};
use crate::lane::EventLoopLane;
use crate::settings::configuration_error;

/// What is installed, in the order of its declaration.
#[derive(Default)]
pub(crate) struct Installed {
    pub(crate) definitions: Vec<Extension>,
    callables: Vec<Callables>,
}

/// Holds a list of `ExtensionSpec` to the rules, for a server of these revisions.
#[pyfunction]
pub(crate) fn check_extensions(
    extensions: &Bound<'_, PyAny>,
    protocols: Vec<String>,
) -> PyResult<()> {
    let py = extensions.py();
    let mut definitions = Vec::new();
    for spec in extensions.try_iter()? {
        let spec = spec?;
        definitions.push(definition(&spec, spec.getattr("id")?.extract()?)?);
    }
    let spoken = protocols.into_iter().filter_map(|name| {
        let mut known = dialect::ALL.into_iter();
        known.find(|known| known.version() == name)
    });
    let spoken: Vec<_> = spoken.collect();
    extension::check(&definitions, &spoken).map_err(|error| configuration_error(py, error))
}

/// Who speaks for an extension.
struct Callables {
    negotiate: Option<Arc<PyCallable>>,
    methods: Vec<Arc<PyCallable>>,
    around: Option<Arc<PyCallable>>,
    subscribe: Option<Arc<PyCallable>>,
    event: Option<Arc<PyCallable>>,
}

impl Installed {
    /// Reads a list of `ExtensionSpec`.
    pub(crate) fn read(
        specs: &Bound<'_, PyAny>,
        terms: &Terms,
        event_loop: &Arc<EventLoopLane>,
    ) -> PyResult<Self> {
        let mut installed = Self::default();
        for spec in specs.try_iter()? {
            let spec = spec?;
            let id: String = spec.getattr("id")?.extract()?;
            let callback = |name: &str, passing| callback(&spec, name, &id, passing, terms);
            installed.callables.push(Callables {
                negotiate: callback("negotiate", Passing::Raw)?,
                methods: methods(&spec, &id, terms)?,
                around: callback("around", Passing::Layer(event_loop.clone()))?,
                subscribe: callback("subscribe", Passing::Raw)?,
                event: callback("event", Passing::Raw)?,
            });
            installed.definitions.push(definition(&spec, id)?);
        }
        Ok(installed)
    }

    /// Whether anything needs an event loop.
    pub(crate) fn has_coroutines(&self) -> bool {
        self.callables.iter().any(|callables| {
            let single = [
                &callables.negotiate,
                &callables.around,
                &callables.subscribe,
                &callables.event,
            ];
            let single = single.into_iter().flatten();
            single
                .chain(&callables.methods)
                .any(|callable| callable.is_async)
        })
    }

    /// Who is called.
    pub(crate) fn callable(&self, target: &Target) -> Option<&Arc<PyCallable>> {
        match target {
            Target::Method(method) => self.callables[method.at].methods.get(method.method),
            Target::Negotiation(asked) => self.callables[asked.at].negotiate.as_ref(),
            Target::Layer(layer) => self.callables[layer.at].around.as_ref(),
            Target::Selection(asked) => self.callables[asked.at].subscribe.as_ref(),
            Target::Event(at) => self.callables[*at].event.as_ref(),
            _ => None,
        }
    }
}

fn callback(
    spec: &Bound<'_, PyAny>,
    name: &str,
    id: &str,
    passing: Passing,
    terms: &Terms,
) -> PyResult<Option<Arc<PyCallable>>> {
    let callback = optional(spec, name)?;
    let read = |callback: Py<PyAny>| {
        let callback = callback.bind(spec.py());
        PyCallable::callback(callback, id, passing, terms).map(Arc::new)
    };
    callback.map(read).transpose()
}

fn methods(spec: &Bound<'_, PyAny>, id: &str, terms: &Terms) -> PyResult<Vec<Arc<PyCallable>>> {
    let methods = spec.getattr("methods")?.try_iter()?;
    let read = |method: PyResult<Bound<'_, PyAny>>| {
        PyCallable::callback(&method?, id, Passing::Raw, terms).map(Arc::new)
    };
    methods.map(read).collect()
}

fn definition(spec: &Bound<'_, PyAny>, id: String) -> PyResult<Extension> {
    let py = spec.py();
    let settings: Vec<u8> = spec.getattr("settings")?.extract()?;
    let Ok(Json::Object(settings)) = json::parse(&settings, &Limits::default()) else {
        let text = format!("extension {id:?}: settings must be a JSON object");
        return Err(configuration_error(py, text));
    };
    let mut methods = Vec::new();
    for method in spec.getattr("methods")?.try_iter()? {
        let method = method?;
        let name: String = method.getattr("name")?.extract()?;
        let mirrored: Option<(String, String)> = method.getattr("header")?.extract()?;
        let mirrored = mirrored.map(|(header, field)| (header.to_ascii_lowercase(), field));
        let schema: Option<Vec<u8>> = method.getattr("schema")?.extract()?;
        let schema = schema.map(|schema| compiled(py, &id, &name, &schema));
        methods.push(Method {
            name: lasting(name),
            mirrored,
            schema: schema.transpose()?,
        });
    }
    let surrounds = optional(spec, "around")?.is_some();
    let around = match spec
        .getattr("operations")?
        .extract::<Option<Vec<String>>>()?
    {
        _ if !surrounds => Around::Nothing,
        None => Around::Everything,
        Some(methods) => Around::These(methods),
    };
    let missing: Option<(i64, String, Option<Vec<u8>>)> = spec.getattr("missing")?.extract()?;
    let missing = missing.map(|(code, message, data)| {
        let error = Error::new(code, ErrorKind::Extension, message);
        let data = data.and_then(|data| json::parse(&data, &Limits::default()).ok());
        match data {
            Some(data) => error.with_data(data),
            None => error,
        }
    });
    Ok(Extension {
        id,
        versions: spec.getattr("versions")?.extract()?,
        settings,
        advertised: spec.getattr("advertised")?.extract()?,
        methods,
        negotiates: optional(spec, "negotiate")?.is_some(),
        missing,
        around,
        result_types: spec.getattr("result_types")?.extract()?,
        filter_keys: spec.getattr("filter_keys")?.extract()?,
        tells_current: spec.getattr("tells_current")?.extract()?,
    })
}

fn compiled(py: Python<'_>, id: &str, method: &str, schema: &[u8]) -> PyResult<Arc<Schema>> {
    let wrong = |what: &dyn std::fmt::Display| {
        configuration_error(py, format!("extension {id:?}: method {method:?}: {what}"))
    };
    let schema = json::parse(schema, &Limits::default()).map_err(|error| wrong(&error))?;
    let schema = Schema::input(&schema, Validator::Full).map_err(|error| wrong(&error))?;
    Ok(Arc::new(schema))
}

/// The name as one that lives as long as the process. Each is kept once, and only what the application
/// declares, so they are few.
fn lasting(name: String) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}
