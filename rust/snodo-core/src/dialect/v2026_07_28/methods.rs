//! The methods of this revision, and how their parameters are read. What they lead to is the router's.

use super::params::{call_tool, complete, get_prompt, list, read_resource};
use crate::error::Error;
use crate::json::Object;
use crate::operation::{Feature, Listed, Operation};
use crate::subscription::Filter;

/// What is known of a method besides its name.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Offered only together with this.
    pub(super) feature: Option<Feature>,
    /// The parameter that `Mcp-Name` mirrors.
    pub(super) mirrored: Option<&'static str>,
    /// May be answered with a request for input, and then asked again with the answers.
    pub(super) rounds: bool,
    /// Reads the parameters; `None` while the feature has no components.
    pub(super) operation: Option<fn(Object) -> Result<Operation, Error>>,
}

impl Method {
    const fn new(name: &'static str, feature: Option<Feature>) -> Self {
        Self {
            name,
            feature,
            mirrored: None,
            rounds: false,
            operation: None,
        }
    }

    const fn mirrored(mut self, parameter: &'static str) -> Self {
        self.mirrored = Some(parameter);
        self
    }

    const fn rounds(mut self) -> Self {
        self.rounds = true;
        self
    }

    const fn served(mut self, operation: fn(Object) -> Result<Operation, Error>) -> Self {
        self.operation = Some(operation);
        self
    }
}

/// What a client may request. A method that is not here does not exist.
static REQUESTS: [Method; 10] = [
    Method::new("tools/call", Some(Feature::Tools))
        .mirrored("name")
        .rounds()
        .served(call_tool),
    Method::new("tools/list", Some(Feature::Tools)).served(|params| list(Listed::Tools, params)),
    Method::new("server/discover", None).served(|_| Ok(Operation::Discover)),
    Method::new("resources/list", Some(Feature::Resources))
        .served(|params| list(Listed::Resources, params)),
    Method::new("resources/templates/list", Some(Feature::Resources))
        .served(|params| list(Listed::Templates, params)),
    Method::new("resources/read", Some(Feature::Resources))
        .mirrored("uri")
        .rounds()
        .served(read_resource),
    Method::new("prompts/list", Some(Feature::Prompts))
        .served(|params| list(Listed::Prompts, params)),
    Method::new("prompts/get", Some(Feature::Prompts))
        .mirrored("name")
        .rounds()
        .served(get_prompt),
    Method::new("completion/complete", Some(Feature::Completions)).served(complete),
    Method::new("subscriptions/listen", Some(Feature::Subscriptions)).served(listen),
];

/// The one notification of a client.
pub(super) const CANCELLED: &str = "notifications/cancelled";

/// The first message of a subscription.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Notifications, which cannot be requested; all but the first are the server's own.
pub(super) const NOTIFICATIONS: [&str; 8] = [
    CANCELLED,
    "notifications/progress",
    "notifications/message",
    ACKNOWLEDGED,
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

pub(super) fn find(method: &str) -> Option<&'static Method> {
    REQUESTS.iter().find(|known| known.name == method)
}

/// The name of a method or notification of this revision.
pub(in crate::dialect) fn name_of(method: &str) -> Option<&'static str> {
    let notified = || NOTIFICATIONS.iter().find(|known| **known == method);
    find(method)
        .map(|known| known.name)
        .or_else(|| notified().copied())
}

fn listen(mut params: Object) -> Result<Operation, Error> {
    let (filter, others) = Filter::take(&mut params)?;
    Ok(Operation::Listen { filter, others })
}
