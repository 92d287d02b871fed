//! What may be told of a message to whoever watches the server: what it asks for and of what, by names
//! that the server itself has. Nothing that was sent but the request's id and its place in a trace.

use std::borrow::Cow;

use crate::call::{Completed, Target};
use crate::context::Arrival;
use crate::dialect::{self, Dialect};
use crate::envelope::Id;
use crate::json::{Json, Object};
use crate::meta::Trace;
use crate::operation::Listed;
use crate::outcome;
use crate::pipeline::{Answer, Verdict};
use crate::policy::{Inquiry, Phase, Subject};
use crate::registry::Registry;
use crate::runtime::Runtime;

/// What is known of a message as soon as it is prepared.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Gist {
    /// What kind of message it is; `None`: nobody can tell.
    pub kind: Option<Kind>,
    /// The request's id.
    pub id: Option<Id>,
    /// The method's own name; `None`: there is no such method here.
    pub method: Option<&'static str>,
    /// The revision it is spoken in.
    pub version: Option<&'static str>,
    /// What it is about, if this server has it.
    pub component: Option<Component>,
    /// Valid by W3C Trace Context.
    pub traceparent: Option<String>,
    /// Only with a parent.
    pub tracestate: Option<String>,
    /// Independent of both.
    pub baggage: Option<String>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Wants an answer.
    Request,
    /// Wants none.
    Notification,
    /// Answers the server.
    Response,
}

/// A component as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// `tool`, `prompt`, `resource` or `resource_template`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
}

impl Gist {
    /// Takes down what a request or notification says of itself.
    pub(super) fn note(&mut self, registry: &Registry, said: &Said<'_>, arrival: &Arrival) {
        self.kind = Some(said.id.map_or(Kind::Notification, |_| Kind::Request));
        self.id = said.id.cloned();
        self.method = dialect::name_of(said.method);
        let nothing = Object::new();
        let params = said.params.unwrap_or(&nothing);
        self.component = named(registry, said.method, params);
        let meta = params.get("_meta").and_then(Json::as_object);
        let trace = Trace::read(meta.unwrap_or(&nothing), arrival.headers.as_deref());
        self.traceparent = trace.traceparent.map(Cow::into_owned);
        self.tracestate = trace.tracestate.map(Cow::into_owned);
        self.baggage = trace.baggage.map(Cow::into_owned);
    }

    /// Takes down the revision that a request is spoken in, in which extensions may have methods.
    pub(super) fn spoken(&mut self, runtime: &Runtime, dialect: &dyn Dialect, method: &str) {
        self.version = Some(dialect.version());
        if self.method.is_none() {
            self.method = runtime.extensions(dialect).and_then(|extensions| {
                let (at, method) = extensions.method(method)?;
                Some(extensions.all[at].methods[method].name)
            });
        }
    }

    /// Takes down what the message was found to be about.
    pub(super) fn about(&mut self, registry: &Registry, target: &Target) {
        let kind = match target {
            Target::Tool(_) => "tool",
            Target::Prompt(_) => "prompt",
            Target::Resource { .. } => "resource",
            Target::Template { .. } => "resource_template",
            Target::Completion { of, .. } => match of {
                Completed::Prompt(_) => "prompt",
                Completed::Template(_) => "resource_template",
            },
            Target::Policy(inquiry) => return self.asked_about(registry, inquiry),
            // Which component it is in the end is not known yet, or it is none.
            _ => return,
        };
        let name = registry.name(target).to_owned();
        self.component = Some(Component { kind, name });
    }
}

impl Gist {
    fn asked_about(&mut self, registry: &Registry, inquiry: &Inquiry) {
        let [Subject { of, at, .. }] = inquiry.subjects[..] else {
            return;
        };
        if inquiry.phase == Phase::Discovery {
            return; // a list may have one entry
        }
        let (kind, name) = match of {
            Listed::Tools => ("tool", registry.tools[at].name.as_str()),
            Listed::Prompts => ("prompt", registry.prompts[at].name.as_str()),
            Listed::Resources => ("resource", registry.resources[at].name()),
            Listed::Templates => ("resource_template", registry.templates[at].name()),
        };
        let name = name.to_owned();
        self.component = Some(Component { kind, name });
    }
}

/// A request or notification as it was read.
pub(super) struct Said<'a> {
    pub(super) id: Option<&'a Id>,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a Object>,
}

/// The component that a request names, which is known although the request may be refused for another
/// reason.
fn named(registry: &Registry, method: &str, params: &Object) -> Option<Component> {
    let text = |key| params.get(key).and_then(Json::as_str);
    let (kind, name) = match method {
        "tools/call" => {
            let at = registry.find_tool(text("name")?)?;
            ("tool", registry.tools[at].name.as_str())
        }
        "prompts/get" => {
            let at = registry.find_prompt(text("name")?)?;
            ("prompt", registry.prompts[at].name.as_str())
        }
        "resources/read" => {
            let at = registry.find_resource(text("uri")?)?;
            ("resource", registry.resources[at].name())
        }
        _ => return None,
    };
    let name = name.to_owned();
    Some(Component { kind, name })
}

impl Answer {
    /// Whether it is a tool's result that says the tool failed.
    pub fn is_failure(&self) -> bool {
        match self.verdict {
            Verdict::Raised => return true,
            Verdict::Result => {}
            _ => return false,
        }
        let find = |object: &[u8], name: &[u8]| {
            let members = outcome::members(object)?;
            let found = members.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_vec())
        };
        let result = find(&self.body, b"result");
        result.and_then(|result| find(&result, b"isError")) == Some(b"true".to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> Answer {
        Answer {
            body: body.as_bytes().to_vec(),
            verdict: Verdict::Result,
        }
    }

    #[test]
    fn a_failed_tool_is_told_from_a_text_that_says_so() {
        let failed = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#;
        assert!(answer(failed).is_failure());
        for good in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"isError":true}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\"isError\":true"}]}}"#,
            r#"{"jsonrpc":"2.0","id":"\"isError\":true","result":{}}"#,
        ] {
            assert!(!answer(good).is_failure(), "{good}");
        }
    }
}
