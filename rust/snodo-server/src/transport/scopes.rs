//! Requests that one caller may cancel by a message of another: those of one identity and one scope,
//! both of which the host of the endpoint has verified.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Extensions;
use snodo_core::context::Arrival;
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::json::Json;
use snodo_core::pipeline::Answer;

use crate::cancel::{CancelToken, Reason};
use crate::service::Prepared;
use crate::transport::http::Endpoint;

/// Among which requests one may cancel another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scope {
    /// Whose they are.
    principal: Option<Json>,
    /// What the host calls them.
    name: Json,
}

impl Scope {
    /// Of this name, of whoever turns out to send the request.
    pub(super) fn new(name: Json) -> Self {
        let principal = None;
        Self { principal, name }
    }

    /// That of a request of which this is known, if it has one.
    pub(super) fn take(extensions: &mut Extensions, arrival: &Arrival) -> Option<Arc<Self>> {
        let mut scope = extensions.remove::<Self>()?;
        scope.principal.clone_from(&arrival.principal);
        Some(Arc::new(scope))
    }
}

impl Endpoint {
    /// The request that begins, or what to answer if its id is taken.
    pub(super) fn scoped(
        &self,
        scope: &Arc<Scope>,
        prepared: &Prepared,
    ) -> Result<Option<Arc<Scoped>>, Answer> {
        let id = match prepared {
            Prepared::Work(work) => work.id(),
            Prepared::Listen(listen) => listen.id(),
            _ => return Ok(None),
        };
        if let Some(scoped) = self.scopes.begin(scope, id) {
            return Ok(Some(Arc::new(scoped)));
        }
        let error = Error::invalid_request("Duplicate in-flight request id");
        Err(self.service.refuse(Some(id), &error))
    }
}

/// The requests under way that have a scope.
#[derive(Debug, Default)]
pub(crate) struct Scopes(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    /// By id: those of one id differ in who sent them.
    requests: HashMap<Id, Vec<(u64, Arc<Scope>, CancelToken)>>,
    begun: u64,
}

impl Scopes {
    /// A request of a scope begins. `None`: one of its scope has this id already.
    pub(crate) fn begin(self: &Arc<Self>, scope: &Arc<Scope>, id: &Id) -> Option<Scoped> {
        let mut open = self.open();
        open.begun += 1;
        let number = open.begun;
        let same = open.requests.entry(id.clone()).or_default();
        if same.iter().any(|(_, other, _)| other == scope) {
            return None;
        }
        let token = CancelToken::new();
        same.push((number, scope.clone(), token.clone()));
        drop(open);
        Some(Scoped {
            scopes: self.clone(),
            id: id.clone(),
            number,
            token,
        })
    }

    /// Cancels the request of this id in the scope of whoever says so, if there is one.
    pub(crate) fn cancel(&self, scope: &Scope, id: &Id) {
        let open = self.open();
        let same = open.requests.get(id);
        let found = same.and_then(|same| same.iter().find(|(_, other, _)| **other == *scope));
        let token = found.map(|(_, _, token)| token.clone());
        drop(open);
        if let Some(token) = token {
            token.cancel(Reason::Client);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a scope, until it is dropped.
#[derive(Debug)]
pub(crate) struct Scoped {
    scopes: Arc<Scopes>,
    id: Id,
    number: u64,
    pub(crate) token: CancelToken,
}

impl Drop for Scoped {
    fn drop(&mut self) {
        let mut open = self.scopes.open();
        if let Some(same) = open.requests.get_mut(&self.id) {
            same.retain(|(number, _, _)| *number != self.number);
            if same.is_empty() {
                open.requests.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(principal: &str, name: &str) -> Arc<Scope> {
        Arc::new(Scope {
            principal: Some(Json::String(principal.to_owned())),
            name: Json::String(name.to_owned()),
        })
    }

    #[test]
    fn a_request_is_cancelled_by_its_own_caller_in_its_own_scope_only() {
        let scopes = Arc::new(Scopes::default());
        let (ada, id) = (scope("ada", "a"), Id::String("1".to_owned()));
        let first = scopes.begin(&ada, &id).expect("the first");
        let token = first.token.clone();
        for other in [scope("bob", "a"), scope("ada", "b")] {
            scopes.cancel(&other, &id);
            assert!(scopes.begin(&other, &id).is_some());
        }
        scopes.cancel(&ada, &Id::String("2".to_owned()));
        assert_eq!(token.reason(), None);
        scopes.cancel(&ada, &id);
        assert_eq!(token.reason(), Some(Reason::Client));
        drop(first);
        assert!(scopes.open().requests.is_empty());
    }

    #[test]
    fn an_id_is_free_again_when_its_request_is_over() {
        let scopes = Arc::new(Scopes::default());
        let (ada, id) = (scope("ada", "a"), Id::String("1".to_owned()));
        let first = scopes.begin(&ada, &id);
        assert!(first.is_some());
        assert!(scopes.begin(&ada, &id).is_none());
        drop(first);
        assert!(scopes.begin(&ada, &id).is_some());
    }
}
