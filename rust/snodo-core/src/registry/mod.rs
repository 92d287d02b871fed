//! What this server offers: built once, then frozen, sorted in byte order, found by name or URI.
//!
//! Definitions only: neither callables nor anything that belongs to a request lives here.

mod completable;
mod error;
mod prompt;
mod resource;
mod tool;
mod uri_template;

use std::collections::{HashMap, HashSet};

pub use completable::Completable;
pub use error::RegistryError;
pub use prompt::Prompt;
pub use resource::{Resource, Template};
pub use tool::Tool;
pub(crate) use uri_template::RESERVED_NAMES;
pub use uri_template::{UriTemplate, UriTemplateError};

use crate::call::{Completed, Target};
use crate::json::Object;
use crate::operation::{Feature, Listed};
use crate::policy::Subject;
use crate::runtime::{Cache, Scope};
use completable::check_completions;

/// What a registry is built from, in any order.
#[derive(Debug, Default)]
pub struct Components {
    /// Tools.
    pub tools: Vec<Tool>,
    /// Direct resources.
    pub resources: Vec<Resource>,
    /// Resource templates.
    pub templates: Vec<Template>,
    /// Prompts.
    pub prompts: Vec<Prompt>,
}

/// The frozen catalogue. Every list is sorted in byte order.
#[derive(Debug, Default)]
pub struct Registry {
    /// Sorted by name.
    pub tools: Vec<Tool>,
    /// Sorted by URI.
    pub resources: Vec<Resource>,
    /// Sorted by their text.
    pub templates: Vec<Template>,
    /// Sorted by name.
    pub prompts: Vec<Prompt>,
    tools_by_name: Index,
    resources_by_uri: Index,
    templates_by_text: Index,
    prompts_by_name: Index,
    own_matchers: Vec<usize>,
}

type Index = HashMap<String, usize>;

impl Registry {
    /// Checks, sorts and freezes.
    pub fn build(components: Components) -> Result<Self, RegistryError> {
        let Components {
            mut tools,
            mut resources,
            mut templates,
            mut prompts,
        } = components;
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        resources.sort_by(|a, b| a.uri.cmp(&b.uri));
        templates.sort_by(|a, b| a.text.cmp(&b.text));
        prompts.sort_by(|a, b| a.name.cmp(&b.name));

        if tools.iter().any(|tool| tool.name.is_empty()) {
            return Err(RegistryError::EmptyToolName);
        }
        resources.iter_mut().try_for_each(Resource::check)?;
        templates.iter().try_for_each(Template::check)?;
        prompts.iter().try_for_each(Prompt::check)?;
        check_names(&resources, &templates)?;
        check_overlap(&resources, &templates)?;

        let own = |(_, template): &(usize, &Template)| template.template.is_none();
        let own_matchers = templates.iter().enumerate().filter(own);
        Ok(Self {
            own_matchers: own_matchers.map(|(at, _)| at).collect(),
            tools_by_name: index(
                &tools,
                |tool| &tool.name,
                |tool| RegistryError::Name("tool", tool.name.clone()),
            )?,
            resources_by_uri: index(
                &resources,
                |resource| &resource.uri,
                |owner| RegistryError::Uri(owner.uri.clone(), owner.name().to_owned()),
            )?,
            templates_by_text: index(
                &templates,
                |template| &template.text,
                |owner| RegistryError::Template(owner.text.clone(), owner.name().to_owned()),
            )?,
            prompts_by_name: index(
                &prompts,
                |prompt| &prompt.name,
                |prompt| RegistryError::Name("prompt", prompt.name.clone()),
            )?,
            tools,
            resources,
            templates,
            prompts,
        })
    }

    /// Where in [`Self::tools`] the tool of this name is.
    pub fn find_tool(&self, name: &str) -> Option<usize> {
        self.tools_by_name.get(name).copied()
    }

    /// Where in [`Self::resources`] the resource of exactly this URI is.
    pub fn find_resource(&self, uri: &str) -> Option<usize> {
        self.resources_by_uri.get(uri).copied()
    }

    /// Where in [`Self::templates`] the template of this text is.
    pub fn find_template(&self, text: &str) -> Option<usize> {
        self.templates_by_text.get(text).copied()
    }

    /// Where in [`Self::prompts`] the prompt of this name is.
    pub fn find_prompt(&self, name: &str) -> Option<usize> {
        self.prompts_by_name.get(name).copied()
    }

    /// The compiled templates that match a URI, with the variables that it binds.
    pub fn matching<'a>(&'a self, uri: &'a str) -> impl Iterator<Item = (usize, Object)> + 'a {
        let templates = self.templates.iter().enumerate();
        templates.filter_map(|(at, template)| Some((at, template.matches(uri)?)))
    }

    /// The templates that match by code of their own, which only a handler can run.
    pub(crate) fn own_matchers(&self) -> &[usize] {
        &self.own_matchers
    }

    /// What can be completed of a prompt or a template.
    pub fn completions(&self, of: Completed) -> &[Completable] {
        match of {
            Completed::Prompt(at) => &self.prompts[at].completions,
            Completed::Template(at) => &self.templates[at].completions,
        }
    }

    /// What the component of a call is called.
    pub fn name(&self, target: &Target) -> &str {
        match target {
            Target::Tool(at) => &self.tools[*at].name,
            Target::Resource { at, .. } => self.resources[*at].name(),
            Target::Template { at, .. } => self.templates[*at].name(),
            Target::Matcher(search) => self.templates[search.at].name(),
            Target::Policy(inquiry) => inquiry.used().map_or("", |of| self.name_of(of)),
            Target::Prompt(at) => &self.prompts[*at].name,
            Target::Completion { of, .. } => match of {
                Completed::Prompt(at) => &self.prompts[*at].name,
                Completed::Template(at) => self.templates[*at].name(),
            },
            Target::Method(method) => method.name,
            Target::Negotiation(_) | Target::Layer(_) | Target::Selection(_) | Target::Event(_) => {
                ""
            }
        }
    }

    /// What a component that a policy is asked about is called.
    fn name_of(&self, subject: &Subject) -> &str {
        match subject.of {
            Listed::Tools => &self.tools[subject.at].name,
            Listed::Resources => self.resources[subject.at].name(),
            Listed::Templates => self.templates[subject.at].name(),
            Listed::Prompts => &self.prompts[subject.at].name,
        }
    }

    /// A resource or template whose reads may be shared by everybody.
    pub(crate) fn shared(&self) -> Option<&str> {
        let resources = self.resources.iter();
        let resources = resources.map(|resource| (resource.cache, resource.name()));
        let templates = self.templates.iter();
        let templates = templates.map(|template| (template.cache, template.name()));
        let is_public = |cache: Option<Cache>| cache.is_some_and(|it| it.scope == Scope::Public);
        let mut all = resources.chain(templates);
        all.find_map(|(cache, name)| is_public(cache).then_some(name))
    }

    /// How many components a list has.
    pub(crate) fn count(&self, of: Listed) -> usize {
        match of {
            Listed::Tools => self.tools.len(),
            Listed::Resources => self.resources.len(),
            Listed::Templates => self.templates.len(),
            Listed::Prompts => self.prompts.len(),
        }
    }

    /// Longest run of a call in ms; `None` for the server's default.
    pub fn timeout_ms(&self, target: &Target) -> Option<u64> {
        match target {
            Target::Tool(at) => self.tools[*at].timeout_ms,
            Target::Resource { at, .. } => self.resources[*at].timeout_ms,
            Target::Template { at, .. } => self.templates[*at].timeout_ms,
            Target::Matcher(search) => self.templates[search.at].timeout_ms,
            Target::Policy(inquiry) => {
                let Subject { of, at, .. } = inquiry.used()?;
                match of {
                    Listed::Tools => self.tools[*at].timeout_ms,
                    Listed::Resources => self.resources[*at].timeout_ms,
                    Listed::Templates => self.templates[*at].timeout_ms,
                    Listed::Prompts => self.prompts[*at].timeout_ms,
                }
            }
            Target::Prompt(at) => self.prompts[*at].timeout_ms,
            Target::Completion { of, .. } => match of {
                Completed::Prompt(at) => self.prompts[*at].timeout_ms,
                Completed::Template(at) => self.templates[*at].timeout_ms,
            },
            Target::Method(_)
            | Target::Negotiation(_)
            | Target::Layer(_)
            | Target::Selection(_)
            | Target::Event(_) => None,
        }
    }

    /// Whether anything of this feature is registered; what is not is not advertised either.
    pub fn offers(&self, feature: Feature) -> bool {
        let templates = || self.templates.iter().map(|template| &template.completions);
        let prompts = || self.prompts.iter().map(|prompt| &prompt.completions);
        match feature {
            Feature::Tools => !self.tools.is_empty(),
            Feature::Resources => !self.resources.is_empty() || !self.templates.is_empty(),
            Feature::Prompts => !self.prompts.is_empty(),
            Feature::Completions => templates().chain(prompts()).any(|all| !all.is_empty()),
            Feature::Logging => {
                let mut resources = self.resources.iter();
                self.offers(Feature::Tools)
                    || self.offers(Feature::Prompts)
                    || !self.templates.is_empty()
                    || resources.any(|resource| resource.content.is_none())
            }
            // Nothing registered decides that.
            Feature::Subscriptions => false,
        }
    }
}

/// Where each item is, by its key. Items are sorted; of two with the same key the first owns it.
fn index<T>(
    items: &[T],
    key: impl Fn(&T) -> &String,
    owned: impl Fn(&T) -> RegistryError,
) -> Result<Index, RegistryError> {
    let mut index = Index::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        if let Some(owner) = index.insert(key(item).clone(), at) {
            return Err(owned(&items[owner]));
        }
    }
    Ok(index)
}

/// Resources and templates share one space of names.
fn check_names(resources: &[Resource], templates: &[Template]) -> Result<(), RegistryError> {
    let names = resources.iter().map(Resource::name);
    let mut seen = HashSet::new();
    for name in names.chain(templates.iter().map(Template::name)) {
        if !seen.insert(name) {
            return Err(RegistryError::Name("resource", name.to_owned()));
        }
    }
    Ok(())
}

/// No URI may mean both a resource of its own and one of a template; of templates that match by code
/// of their own whoever registers them has to see to that. Templates are not compared with
/// each other: whether two match the same URI is known when somebody asks for it.
fn check_overlap(resources: &[Resource], templates: &[Template]) -> Result<(), RegistryError> {
    for resource in resources {
        for template in templates {
            if template.matches(&resource.uri).is_some() {
                let owner = template.name().to_owned();
                return Err(RegistryError::Overlap(resource.uri.clone(), owner));
            }
        }
    }
    Ok(())
}
