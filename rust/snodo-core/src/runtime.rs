//! What a server is once nothing can change it any more: who it is, what it offers, its policies.

use std::cmp::Reverse;
use std::time::Duration;

use crate::call::Target;
use crate::dialect::{Dialect, Rendered};
use crate::extension::{self, Active, Extension, ExtensionError, Extensions};
use crate::json::Object;
use crate::limits::Limits;
use crate::meta::{self, ImplementationError};
use crate::operation::Feature;
use crate::registry::{Components, Registry, RegistryError};

/// How long a client may keep a list, and who may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cache {
    /// Milliseconds; 0 means stale at once.
    pub ttl_ms: u64,
    /// Who may share it.
    pub scope: Scope,
}

/// Who may share a cached answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// The caller alone.
    #[default]
    Private,
    /// Anybody.
    Public,
}

impl Scope {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }

    /// The scope of a name on the wire.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Private, Self::Public]
            .into_iter()
            .find(|scope| scope.name() == name)
    }
}

/// What is decided about a server before it is frozen.
#[derive(Debug)]
pub struct Settings {
    /// `Implementation` object: `name`, `version`, optional `title`, `description`, `websiteUrl`, `icons`.
    pub server_info: Object,
    /// For the model, in the discovery answer.
    pub instructions: Option<String>,
    /// Revisions served, in any order.
    pub dialects: Vec<&'static dyn Dialect>,
    /// Bounds.
    pub limits: Limits,
    /// Silence after which a call whose client follows its progress gives a sign of life.
    pub heartbeat: Option<Duration>,
    /// Entries in one page of a list; `None` for all.
    pub page_size: Option<usize>,
    /// Whether clients may listen for changes.
    pub subscriptions: bool,
    /// Whether a policy of the application's is asked which components a request sees and uses.
    pub authorized: bool,
    /// Whether a component that it refuses looks as if it did not exist.
    pub conceals_refusals: bool,
    /// Policy of `server/discover`.
    pub discover_cache: Cache,
    /// Policy of `tools/list`.
    pub tools_cache: Cache,
    /// Policy of `resources/list`, `resources/templates/list`, and of reads that have none of their own.
    pub resources_cache: Cache,
    /// Policy of `prompts/list`.
    pub prompts_cache: Cache,
    /// What is installed beside the core, outermost first.
    pub extensions: Vec<Extension>,
}

impl Settings {
    /// The versions served, in the order of [`Self::dialects`].
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        self.dialects.iter().map(|dialect| dialect.version())
    }

    fn check(&self) -> Result<(), SettingsError> {
        meta::check_implementation(&self.server_info)?;
        if self.page_size == Some(0) {
            return Err(SettingsError::PageSize);
        }
        let caches = [
            ("tools_cache", self.tools_cache),
            ("resources_cache", self.resources_cache),
            ("prompts_cache", self.prompts_cache),
        ];
        for (name, cache) in caches {
            if self.authorized && cache.scope == Scope::Public {
                return Err(SettingsError::PublicCache(name));
            }
        }
        if self.dialects.is_empty() {
            return Err(SettingsError::NoProtocol);
        }
        for (at, version) in self.versions().enumerate() {
            if self.versions().take(at).any(|earlier| earlier == version) {
                return Err(SettingsError::RepeatedProtocol(version));
            }
        }
        extension::check(&self.extensions, &self.dialects)?;
        Ok(())
    }
}

/// Why a server cannot be built from its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Who the server is.
    #[error("{}", server_info_text(*.0))]
    ServerInfo(#[from] ImplementationError),
    /// A page of nothing would never end.
    #[error("page size must be a positive integer")]
    PageSize,
    /// Nobody could speak with it.
    #[error("at least one protocol revision must be enabled")]
    NoProtocol,
    /// One would never be used.
    #[error("protocol revision {0} is enabled more than once")]
    RepeatedProtocol(&'static str),
    /// What one caller may see another may not.
    #[error("{0} cannot use scope \"public\" with an authorization policy")]
    PublicCache(&'static str),
    /// The same, of one resource or template by name.
    #[error("resource {0:?} cannot be cached with scope \"public\" under an authorization policy")]
    PublicReads(String),
    /// What it offers.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// What it is extended by.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
}

fn server_info_text(error: ImplementationError) -> String {
    match error {
        ImplementationError::NameAndVersion => format!("server_info {error}"),
        ImplementationError::NotString(_) | ImplementationError::Website => {
            format!("server info {error}")
        }
        ImplementationError::Icon(icon) => icon.to_string(),
    }
}

/// Frozen; shared by every transport. Building one starts nothing.
#[derive(Debug)]
pub struct Runtime {
    /// What was decided. The revisions are in order, newest first.
    pub settings: Settings,
    /// What is offered.
    pub registry: Registry,
    /// What each of the dialects wrote in advance, in their order.
    rendered: Vec<Rendered>,
    /// What each of the dialects is extended by, in their order; empty if none is.
    active: Vec<Option<Active>>,
}

impl Runtime {
    /// Checks the settings and the components, and writes in advance what does not depend on a request.
    pub fn new(mut settings: Settings, components: Components) -> Result<Self, SettingsError> {
        settings.check()?;
        let versions = |dialect: &&'static dyn Dialect| Reverse(dialect.version());
        settings.dialects.sort_by_key(versions);
        let registry = Registry::build(components)?;
        if settings.authorized
            && let Some(name) = registry.shared()
        {
            return Err(SettingsError::PublicReads(name.to_owned()));
        }
        let rendered = settings
            .dialects
            .iter()
            .map(|dialect| dialect.render(&settings, &registry))
            .collect();
        let active = |version| Active::of(&settings.extensions, version);
        let mut active: Vec<_> = settings.versions().map(active).collect();
        if active.iter().all(Option::is_none) {
            active = Vec::new();
        }
        Ok(Self {
            settings,
            registry,
            rendered,
            active,
        })
    }

    /// What one of this server's dialects is extended by; `None`, at the cost of a comparison, if by
    /// nothing.
    pub(crate) fn extensions(&self, dialect: &dyn Dialect) -> Option<Extensions<'_>> {
        if self.active.is_empty() {
            return None;
        }
        let mut versions = self.settings.versions();
        let at = versions.position(|version| version == dialect.version())?;
        Some(Extensions {
            all: &self.settings.extensions,
            active: self.active[at].as_ref()?,
        })
    }

    /// What the component, or the extension, of a call is called.
    pub fn name<'a>(&'a self, target: &'a Target) -> &'a str {
        let at = match target {
            Target::Negotiation(negotiation) => negotiation.at,
            Target::Layer(layer) => layer.at,
            Target::Selection(selecting) => selecting.at,
            Target::Event(at) => *at,
            target => return self.registry.name(target),
        };
        &self.settings.extensions[at].id
    }

    /// Whether the server has a part of the protocol.
    pub fn offers(&self, feature: Feature) -> bool {
        match feature {
            Feature::Subscriptions => self.settings.subscriptions,
            feature => self.registry.offers(feature),
        }
    }

    /// What one of this server's dialects wrote in advance.
    pub(crate) fn rendered(&self, dialect: &dyn Dialect) -> &Rendered {
        let at = self
            .settings
            .versions()
            .position(|version| version == dialect.version());
        &self.rendered[at.expect("a request is admitted by one of the server's own dialects")]
    }
}
