//! What a listener asked to hear of, and what there is to hear: filters and events.
//!
//! How they are spelled is the dialect's business; where events come from, the server's.

use std::collections::HashSet;
use std::sync::Arc;

use crate::call::Call;
use crate::context::{Arrival, Context};
use crate::envelope::Id;
use crate::error::{Error, excerpt};
use crate::json::{Json, Object};
use crate::limits::{FILTER_BYTES, FILTER_URIS};
use crate::meta;
use crate::operation::Feature;
use crate::peer::Peer;
use crate::runtime::Runtime;

/// An admitted request to listen.
#[derive(Debug)]
pub struct Listen {
    /// Who asks.
    pub context: Arc<Context>,
    /// What it asks for, as far as this server offers it.
    pub filter: Filter,
    /// What has to be run before it is known what it hears; its outcome goes to
    /// [`crate::pipeline::heard`].
    pub before: Option<Box<Call>>,
}

impl Listen {
    /// The request's id, which is the subscription's too.
    pub fn id(&self) -> &Id {
        &self.context.id
    }

    /// What a client hears of that asked for it by its handshake: the lists this server offers.
    pub fn standing(runtime: &Runtime, peer: &Arc<Peer>, mut arrival: Arrival) -> Self {
        arrival.peer = Some(peer.clone());
        let filter = Filter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            ..Filter::default()
        };
        Self {
            context: Arc::new(Context::standing(peer.dialect, arrival)),
            filter: filter.offered(runtime),
            before: None,
        }
    }

    /// What it hears of besides, having asked for a resource.
    pub fn watching(&self, runtime: &Runtime, uri: &str) -> Filter {
        let filter = Filter {
            resource_subscriptions: vec![uri.to_owned()],
            ..Filter::default()
        };
        filter.offered(runtime)
    }
}

/// Which events a listener hears.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// That the list of tools reads otherwise.
    pub tools_list_changed: bool,
    /// That the list of prompts does.
    pub prompts_list_changed: bool,
    /// That the list of resources or of templates does.
    pub resources_list_changed: bool,
    /// That what is at one of these URIs does, in the order asked for, none twice.
    pub resource_subscriptions: Vec<String>,
    /// What happens to extensions, one entry for each.
    pub extensions: Vec<Selection>,
}

/// The members of a filter that are the core's.
pub const KEYS: [&str; 4] = [
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "resourceSubscriptions",
];

impl Filter {
    /// Takes the filter out of the parameters of a request to listen, and what is left: members that
    /// are not known here are some extension's.
    pub(crate) fn take(params: &mut Object) -> Result<(Self, Object), Error> {
        let mut asked = match params.take("notifications") {
            Some(Json::Object(asked)) => asked,
            Some(_) => return Err(wrong("notifications must be a JSON object")),
            None => return Err(wrong("requires a notifications object")),
        };
        let mut flag = |key: &str| match asked.take(key) {
            None => Ok(false),
            Some(Json::Bool(wanted)) => Ok(wanted),
            Some(_) => Err(wrong(&format!("{key} must be a boolean"))),
        };
        let filter = Self {
            tools_list_changed: flag("toolsListChanged")?,
            prompts_list_changed: flag("promptsListChanged")?,
            resources_list_changed: flag("resourcesListChanged")?,
            resource_subscriptions: match asked.take("resourceSubscriptions") {
                None => Vec::new(),
                Some(Json::Array(uris)) => subscriptions(uris)?,
                Some(_) => return Err(wrong("resourceSubscriptions must be a list")),
            },
            extensions: Vec::new(),
        };
        Ok((filter, asked))
    }

    /// The part that the server has anything to tell about.
    pub(crate) fn offered(mut self, runtime: &Runtime) -> Self {
        self.tools_list_changed &= runtime.offers(Feature::Tools);
        self.prompts_list_changed &= runtime.offers(Feature::Prompts);
        if !runtime.offers(Feature::Resources) {
            self.resources_list_changed = false;
            self.resource_subscriptions = Vec::new();
        }
        self
    }

    /// What it asks for, in order: the keys of its members, those of extensions too.
    pub fn keys(&self) -> Vec<String> {
        let members = [
            ("promptsListChanged", self.prompts_list_changed),
            (
                "resourceSubscriptions",
                !self.resource_subscriptions.is_empty(),
            ),
            ("resourcesListChanged", self.resources_list_changed),
            ("toolsListChanged", self.tools_list_changed),
        ];
        let asked = members.into_iter().filter(|(_, asked)| *asked);
        let own = self
            .extensions
            .iter()
            .flat_map(|one| one.members.iter().map(|(key, _)| key));
        let mut keys: Vec<_> = asked
            .map(|(key, _)| key)
            .chain(own)
            .map(str::to_owned)
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Whether the listener hears of an event.
    pub fn selects(&self, event: &Event) -> bool {
        match &event.change {
            Change::ToolsList => self.tools_list_changed,
            Change::PromptsList => self.prompts_list_changed,
            Change::ResourcesList => self.resources_list_changed,
            Change::Resource(uri) => self.resource_subscriptions.contains(uri),
            Change::Extension(own) => {
                let mut selections = self.extensions.iter();
                selections.any(|selection| {
                    selection.extension == own.extension && selection.selects(&own.selector)
                })
            }
        }
    }

    /// Whether everything it selects is selected by the other one too.
    pub fn is_within(&self, other: &Self) -> bool {
        let flags = |of: &Self| {
            [
                of.tools_list_changed,
                of.prompts_list_changed,
                of.resources_list_changed,
            ]
        };
        if flags(self)
            .iter()
            .zip(flags(other))
            .any(|(mine, others)| *mine && !others)
        {
            return false;
        }
        let mut selections = self.extensions.iter();
        if !selections.all(|mine| other.extensions.iter().any(|other| mine.is_within(other))) {
            return false;
        }
        if self.resource_subscriptions == other.resource_subscriptions {
            return true;
        }
        let others: HashSet<_> = other.resource_subscriptions.iter().collect();
        let mut mine = self.resource_subscriptions.iter();
        mine.all(|uri| others.contains(uri))
    }
}

/// What a listener hears of one extension.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Which.
    pub extension: String,
    /// The members of the filter that are the extension's. A list of strings selects the events of these
    /// selectors, `true` those of the selector that is named as the member.
    members: Object,
}

impl Selection {
    /// Holds the members to what can select anything. `false` asks for nothing and is left out.
    pub fn new(extension: &str, members: Object) -> Result<Self, Error> {
        let mut kept = Object::new();
        let (mut count, mut bytes) = (0, 0);
        for (key, value) in members {
            match &value {
                Json::Bool(false) => continue,
                Json::Bool(true) => {}
                Json::Array(selectors) if selectors.iter().all(|one| one.as_str().is_some()) => {
                    count += selectors.len();
                    let length = |one: &Json| one.as_str().map_or(0, str::len);
                    bytes += selectors.iter().map(length).sum::<usize>();
                }
                _ => {
                    let text = format!("{} must be a boolean or a list of strings", excerpt(&key));
                    return Err(wrong(&text));
                }
            }
            if count > FILTER_URIS || bytes > FILTER_BYTES {
                let text = format!(
                    "{} accepts at most {FILTER_URIS} strings of {FILTER_BYTES} bytes",
                    excerpt(&key)
                );
                return Err(wrong(&text));
            }
            kept.insert(key, value);
        }
        Ok(Self {
            extension: extension.to_owned(),
            members: kept,
        })
    }

    /// The members of the filter.
    pub fn members(&self) -> &Object {
        &self.members
    }

    /// What it selects, each as often as it is named.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        self.members.iter().flat_map(|(key, value)| match value {
            Json::Array(selectors) => Selectors::These(selectors.iter()),
            _ => Selectors::One(Some(key)),
        })
    }

    fn selects(&self, selector: &str) -> bool {
        self.selectors().any(|mine| mine == selector)
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let others: HashSet<_> = other.selectors().collect();
        let mut keys = self.members.iter();
        self.extension == other.extension
            && keys.all(|(key, _)| other.members.contains(key))
            && self.selectors().all(|mine| others.contains(mine))
    }
}

enum Selectors<'a> {
    One(Option<&'a str>),
    These(std::slice::Iter<'a, Json>),
}

impl<'a> Iterator for Selectors<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match self {
            Self::One(key) => key.take(),
            Self::These(selectors) => selectors.find_map(Json::as_str),
        }
    }
}

fn subscriptions(uris: Vec<Json>) -> Result<Vec<String>, Error> {
    if uris.len() > FILTER_URIS {
        let text = format!("resourceSubscriptions accepts at most {FILTER_URIS} URIs");
        return Err(wrong(&text));
    }
    let bytes: usize = uris.iter().filter_map(Json::as_str).map(str::len).sum();
    if bytes > FILTER_BYTES {
        let text = format!("resourceSubscriptions accepts at most {FILTER_BYTES} bytes of URIs");
        return Err(wrong(&text));
    }
    let mut seen = HashSet::with_capacity(uris.len());
    let mut kept = Vec::with_capacity(uris.len());
    for uri in uris {
        match uri {
            Json::String(uri) if meta::is_absolute_uri(&uri) => {
                if seen.insert(uri.clone()) {
                    kept.push(uri);
                }
            }
            _ => {
                return Err(wrong(
                    "resourceSubscriptions must contain absolute URI strings",
                ));
            }
        }
    }
    Ok(kept)
}

fn wrong(what: &str) -> Error {
    Error::invalid_params(format!("subscriptions/listen {what}"))
}

/// Something that changed, for whoever listens.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What changed.
    pub change: Change,
    /// Members for the `_meta` of the notification.
    pub metadata: Object,
    /// What there is to say of it: for an extension to put into words.
    pub payload: Option<Box<Json>>,
}

/// What can change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// The list of tools.
    ToolsList,
    /// The list of prompts.
    PromptsList,
    /// The list of resources or of resource templates.
    ResourcesList,
    /// What is at this URI, or at one below it.
    Resource(String),
    /// Something of an extension's.
    Extension(Box<Own>),
}

/// What an extension has that changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Own {
    /// Whose.
    pub extension: String,
    /// What; listeners name it in their filters.
    pub selector: String,
}

/// Why something is no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The URI.
    #[error("event uri must be an absolute URI")]
    Uri,
    /// The metadata.
    #[error("event metadata has a key that _meta cannot have")]
    Key,
    /// The selector.
    #[error("event selector must not be empty")]
    Selector,
}

impl Event {
    /// Checks what an event says.
    pub fn new(change: Change, metadata: Object) -> Result<Self, EventError> {
        if matches!(&change, Change::Resource(uri) if !meta::is_absolute_uri(uri)) {
            return Err(EventError::Uri);
        }
        if !metadata.iter().all(|(key, _)| meta::is_key(key)) {
            return Err(EventError::Key);
        }
        if matches!(&change, Change::Extension(own) if own.selector.is_empty()) {
            return Err(EventError::Selector);
        }
        Ok(Self {
            change,
            metadata,
            payload: None,
        })
    }

    /// Something of an extension's, with what there is to say of it.
    pub fn of_extension(own: Own, payload: Json, metadata: Object) -> Result<Self, EventError> {
        Ok(Self {
            payload: Some(Box::new(payload)),
            ..Self::new(Change::Extension(Box::new(own)), metadata)?
        })
    }

    /// Whether it says nothing but that something changed.
    pub fn is_bare(&self) -> bool {
        self.metadata.is_empty() && self.payload.is_none()
    }
}
