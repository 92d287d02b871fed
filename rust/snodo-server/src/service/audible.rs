//! What a policy lets a listener hear of.

use std::sync::Arc;

use snodo_core::context::Context;
use snodo_core::error::Error;
use snodo_core::pipeline::{self, Step};
use snodo_core::subscription::Filter;
use tokio::time::timeout;

use super::{Service, TIMED_OUT};

impl Service {
    /// What of a filter the application's policy lets whoever asks hear of: URIs that somebody owns and
    /// it refuses are left out. An error: the policy has no word, and nothing is heard.
    pub(crate) async fn audible(
        &self,
        filter: Filter,
        context: &Arc<Context>,
    ) -> Result<Filter, Error> {
        let asking = self.asked(filter, context);
        match self.limits().call_timeout {
            None => asking.await,
            Some(limit) => timeout(limit, asking)
                .await
                .unwrap_or_else(|_| Err(Error::internal(TIMED_OUT))),
        }
    }

    async fn asked(&self, mut filter: Filter, context: &Arc<Context>) -> Result<Filter, Error> {
        let offer = self.offer();
        let mut kept = Vec::new();
        for uri in std::mem::take(&mut filter.resource_subscriptions) {
            let mut step = pipeline::heed(&offer.runtime, context, uri.clone());
            loop {
                match step {
                    Step::Call(call) => {
                        let target = call.target.clone();
                        let outcome = self.aside(&offer, call).await?;
                        step = pipeline::proceed(&offer.runtime, context, target, &outcome);
                    }
                    Step::Heed(heard) => {
                        kept.extend(heard.then_some(uri));
                        break;
                    }
                    Step::Answer(answer) => {
                        let passed = pipeline::passed(context, &answer);
                        return Err(passed.err().unwrap_or_else(internal));
                    }
                    Step::Settle { .. } | Step::Ask(_) => return Err(internal()),
                }
            }
        }
        filter.resource_subscriptions = kept;
        Ok(filter)
    }

    /// Whether a policy has a say in what may be heard of.
    pub(crate) fn is_authorized(&self) -> bool {
        self.offer().runtime.settings.authorized
    }
}

fn internal() -> Error {
    Error::internal("Internal error")
}
