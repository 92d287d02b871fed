//! What Python declared, as definitions for the core and callables for the lanes.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use snodo_core::call::{Call, Completed, Target};
use snodo_core::json::{Json, Object};
use snodo_core::limits::Limits;
use snodo_core::registry::{
    Completable, Components, Prompt, Registry, Resource, Template, Tool, UriTemplate,
};
use snodo_core::runtime::{Cache, Scope};
use snodo_core::schema::{Schema, Validator};
use snodo_server::handler::{Handler, Reply};

use crate::binding::optional;
use crate::callable::{Kind, PyCallable, Terms};
use crate::extension::Installed;
use crate::lane::{EventLoopLane, Job, ThreadLane};
use crate::settings::{configuration_error, seconds};

/// Everything declared: definitions, and who runs each of them.
pub(crate) struct Declared {
    pub(crate) definitions: Components,
    callables: HashMap<Owner, Arc<PyCallable>>,
}

/// Whose callable it is: what a component is found by in the registry, which sorts them.
#[derive(PartialEq, Eq, Hash)]
enum Owner {
    Tool(String),
    /// By URI or template text.
    Resource(String),
    Prompt(String),
    /// An argument of a prompt, by the prompt's name.
    PromptArgument(String, String),
    /// A variable of a template, by its text.
    TemplateVariable(String, String),
    /// Of a template that matches by code of its own, by its text.
    Matcher(String),
}

impl Declared {
    /// Reads the lists of specs that a `Server` offers.
    pub(crate) fn read(offered: &Bound<'_, PyDict>, terms: &Terms) -> PyResult<Self> {
        let mut declared = Self {
            definitions: Components::default(),
            callables: HashMap::new(),
        };
        each(offered, "tools", |spec| declared.tool(spec, terms))?;
        each(offered, "resources", |spec| declared.resource(spec, terms))?;
        each(offered, "prompts", |spec| declared.prompt(spec, terms))?;
        Ok(declared)
    }

    /// Whether anything needs an event loop.
    pub(crate) fn has_coroutines(&self) -> bool {
        self.callables.values().any(|callable| callable.is_async)
    }

    fn tool(&mut self, spec: &Bound<'_, PyAny>, terms: &Terms) -> PyResult<()> {
        let tool = tool(spec, terms.validator)?;
        let callable = PyCallable::read(spec, Kind::Tool, terms)?;
        self.callables
            .insert(Owner::Tool(tool.name.clone()), Arc::new(callable));
        self.definitions.tools.push(tool);
        Ok(())
    }

    fn resource(&mut self, spec: &Bound<'_, PyAny>, terms: &Terms) -> PyResult<()> {
        let py = spec.py();
        let Common {
            name,
            definition,
            timeout_ms,
        } = Common::read(spec)?;
        let cache = cache(spec.getattr("cache")?.extract()?);
        let mime_type = spec.getattr("mime_type")?.extract()?;
        let content: Option<Vec<u8>> = spec.getattr("content")?.extract()?;
        let template: Option<String> = spec.getattr("template")?.extract()?;
        let text = match &template {
            Some(text) => text.clone(),
            None => spec.getattr("uri")?.extract()?,
        };
        if content.is_none() {
            let callable = PyCallable::read(spec, Kind::Resource, terms)?;
            self.callables
                .insert(Owner::Resource(text.clone()), Arc::new(callable));
        }
        if template.is_none() {
            self.definitions.resources.push(Resource {
                uri: text,
                definition,
                mime_type,
                content,
                cache,
                timeout_ms,
            });
            return Ok(());
        }
        let wrong = |error| configuration_error(py, format!("resource {name:?}: {error}"));
        let template = if let Some(function) = optional(spec, "matches")? {
            let matcher = PyCallable::matcher(function, &name, terms);
            self.callables
                .insert(Owner::Matcher(text.clone()), Arc::new(matcher));
            None
        } else {
            Some(UriTemplate::compile(&text).map_err(wrong)?)
        };
        let owner = |argument: String| Owner::TemplateVariable(text.clone(), argument);
        let completions = self.completions(spec, &name, terms, owner)?;
        self.definitions.templates.push(Template {
            template,
            text,
            definition,
            mime_type,
            cache,
            timeout_ms,
            completions,
        });
        Ok(())
    }

    fn prompt(&mut self, spec: &Bound<'_, PyAny>, terms: &Terms) -> PyResult<()> {
        let Common {
            name,
            definition,
            timeout_ms,
        } = Common::read(spec)?;
        let callable = PyCallable::read(spec, Kind::Prompt, terms)?;
        self.callables
            .insert(Owner::Prompt(name.clone()), Arc::new(callable));
        let owner = |argument: String| Owner::PromptArgument(name.clone(), argument);
        let completions = self.completions(spec, &name, terms, owner)?;
        let (arguments, required) = arguments(&definition);
        self.definitions.prompts.push(Prompt {
            name,
            definition,
            required,
            arguments,
            completions,
            timeout_ms,
        });
        Ok(())
    }

    fn completions(
        &mut self,
        spec: &Bound<'_, PyAny>,
        name: &str,
        terms: &Terms,
        owner: impl Fn(String) -> Owner,
    ) -> PyResult<Vec<Completable>> {
        let mut completions = Vec::new();
        for completion in spec.getattr("completions")?.try_iter()? {
            let completion = completion?;
            let argument: String = completion.getattr("argument")?.extract()?;
            let values: Option<Vec<String>> = completion.getattr("values")?.extract()?;
            if values.is_none() {
                let callable = PyCallable::completer(&completion, name, terms)?;
                self.callables
                    .insert(owner(argument.clone()), Arc::new(callable));
            }
            completions.push(Completable { argument, values });
        }
        Ok(completions)
    }

    /// Who runs the components of a registry that was built from these definitions.
    pub(crate) fn handler(
        mut self,
        registry: &Registry,
        extensions: Installed,
        threads: &Arc<ThreadLane>,
        event_loop: &Arc<EventLoopLane>,
        policy: Option<PyCallable>,
    ) -> PyHandler {
        let mut take = |owner: Owner| self.callables.remove(&owner);
        let tools = registry
            .tools
            .iter()
            .map(|tool| take(Owner::Tool(tool.name.clone())))
            .collect();
        let resources = registry.resources.iter();
        let resources = resources
            .map(|resource| take(Owner::Resource(resource.uri.clone())))
            .collect();
        let templates = registry.templates.iter();
        let templates = templates
            .map(|template| take(Owner::Resource(template.text.clone())))
            .collect();
        let matchers = registry.templates.iter();
        let matchers = matchers
            .map(|template| take(Owner::Matcher(template.text.clone())))
            .collect();
        let prompts = registry.prompts.iter();
        let prompts = prompts
            .map(|prompt| take(Owner::Prompt(prompt.name.clone())))
            .collect();
        let place = |owner: Owner| {
            Some(match owner {
                Owner::PromptArgument(name, argument) => {
                    (Completed::Prompt(registry.find_prompt(&name)?), argument)
                }
                Owner::TemplateVariable(text, variable) => (
                    Completed::Template(registry.find_template(&text)?),
                    variable,
                ),
                _ => return None,
            })
        };
        let completers = self.callables.into_iter();
        let completers = completers
            .filter_map(|(owner, callable)| Some((place(owner)?, callable)))
            .collect();
        PyHandler {
            tools,
            resources,
            templates,
            matchers,
            prompts,
            completers,
            extensions,
            policy: policy.map(Arc::new),
            threads: threads.clone(),
            event_loop: event_loop.clone(),
        }
    }
}

type Callables = Vec<Option<Arc<PyCallable>>>;

/// Sends each call to the lane its callable runs on.
pub(crate) struct PyHandler {
    tools: Callables,
    resources: Callables,
    templates: Callables,
    /// In the places of their templates.
    matchers: Callables,
    prompts: Callables,
    completers: HashMap<(Completed, String), Arc<PyCallable>>,
    extensions: Installed,
    policy: Option<Arc<PyCallable>>,
    threads: Arc<ThreadLane>,
    event_loop: Arc<EventLoopLane>,
}

impl PyHandler {
    fn callable(&self, target: &Target) -> Option<&Arc<PyCallable>> {
        match target {
            Target::Tool(at) => self.tools[*at].as_ref(),
            Target::Resource { at, .. } => self.resources[*at].as_ref(),
            Target::Template { at, .. } => self.templates[*at].as_ref(),
            Target::Matcher(search) => self.matchers[search.at].as_ref(),
            Target::Policy(_) => self.policy.as_ref(),
            Target::Prompt(at) => self.prompts[*at].as_ref(),
            Target::Completion { of, argument } => self.completers.get(&(*of, argument.clone())),
            target => self.extensions.callable(target),
        }
    }
}

impl Handler for PyHandler {
    fn call(&self, call: Call, reply: Reply) {
        // Dropping the reply answers: nothing can be called that has no callable.
        let Some(callable) = self.callable(&call.target).cloned() else {
            return;
        };
        let is_async = callable.is_async;
        let job = Job {
            callable,
            call,
            reply,
        };
        if let Some(tool) = job.callable.actor_tool().cloned() {
            tool.begin(job, &self.threads);
        } else if is_async {
            self.event_loop.push(job);
        } else {
            self.threads.push(job);
        }
    }
}

/// What every spec has.
struct Common {
    name: String,
    definition: Object,
    timeout_ms: Option<u64>,
}

impl Common {
    fn read(spec: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = spec.py();
        let name: String = spec.getattr("name")?.extract()?;
        let text: Vec<u8> = spec.getattr("definition")?.extract()?;
        let definition = match snodo_core::json::parse(&text, &Limits::default()) {
            Ok(Json::Object(definition)) => definition,
            Ok(_) => {
                return Err(configuration_error(
                    py,
                    format!("{name:?}: its definition is no object"),
                ));
            }
            Err(error) => return Err(configuration_error(py, format!("{name:?}: {error}"))),
        };
        let timeout: Option<f64> = spec.getattr("timeout")?.extract()?;
        let timeout = timeout
            .map(|timeout| seconds(py, "timeout", timeout))
            .transpose()?;
        let timeout_ms =
            timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        Ok(Self {
            name,
            definition,
            timeout_ms,
        })
    }
}

fn tool(spec: &Bound<'_, PyAny>, validator: Validator) -> PyResult<Tool> {
    let py = spec.py();
    let Common {
        name,
        definition,
        timeout_ms,
    } = Common::read(spec)?;
    let wrong =
        |what: &dyn std::fmt::Display| configuration_error(py, format!("tool {name:?}: {what}"));
    let input = definition
        .get("inputSchema")
        .ok_or_else(|| wrong(&"it has no input schema"))?;
    let input = Schema::input(input, validator).map_err(|error| wrong(&error))?;
    let output = definition
        .get("outputSchema")
        .map(|schema| Schema::output(schema, validator));
    let output = output.transpose().map_err(|error| wrong(&error))?;
    Ok(Tool {
        null_is_absent: null_is_absent(spec)?,
        timeout_ms,
        name,
        definition,
        input,
        output,
    })
}

pub(crate) fn null_is_absent(spec: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let slots = spec.getattr("slots")?;
    let mut names = Vec::new();
    if !slots.is_none() {
        for slot in slots.try_iter()? {
            let slot = slot?;
            if slot.getattr("null_is_default")?.extract()?
                && let Some(key) = slot.getattr("key")?.extract()?
            {
                names.push(key);
            }
        }
    }
    Ok(names)
}

/// A prompt's arguments as listed, and those of them it cannot do without.
fn arguments(definition: &Object) -> (Vec<String>, Vec<String>) {
    let Some(Json::Array(listed)) = definition.get("arguments") else {
        return (Vec::new(), Vec::new());
    };
    let name = |argument: &Object| {
        argument
            .get("name")
            .and_then(Json::as_str)
            .map(str::to_owned)
    };
    let listed = || listed.iter().filter_map(Json::as_object);
    let required = |argument: &&Object| argument.get("required") == Some(&Json::Bool(true));
    (
        listed().filter_map(name).collect(),
        listed().filter(required).filter_map(name).collect(),
    )
}

fn cache(policy: Option<(u64, String)>) -> Option<Cache> {
    policy.map(|(ttl_ms, scope)| Cache {
        ttl_ms,
        scope: Scope::named(&scope).unwrap_or_default(),
    })
}

fn each<'py>(
    offered: &Bound<'py, PyDict>,
    list: &str,
    mut take: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    if let Some(specs) = offered.get_item(list)? {
        for spec in specs.try_iter()? {
            take(&spec?)?;
        }
    }
    Ok(())
}
