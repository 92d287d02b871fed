//! What a policy lets a listener hear of.

use std::sync::Arc;

use snodo_core::call::Target;
use snodo_core::context::Context;
use snodo_core::error::Error;
use snodo_core::outcome::{Outcome, Value};
use snodo_core::pipeline::{self, Step, Verdict};
use snodo_core::policy::{Hearing, Inquiry};
use snodo_core::subscription::Filter;
use tokio::time::timeout;

use super::running::{Failure, TIMED_OUT};
use super::{Offer, Service};

impl Service {
    /// What of a filter the application's policy lets whoever asks hear of: URIs that somebody owns and
    /// it refuses are left out. Gives the URIs, too, of which it has to be asked again when something
    /// changes there. An error: the policy has no word, and nothing is heard.
    pub(crate) async fn audible(
        &self,
        mut filter: Filter,
        context: &Arc<Context>,
    ) -> Result<(Filter, Vec<String>), Failure> {
        let uris = std::mem::take(&mut filter.resource_subscriptions);
        let heard = self.hearings(&uris, context).await?;
        let mut doubtful = Vec::new();
        for (uri, hearing) in uris.into_iter().zip(heard) {
            if !hearing.is_accepted() {
                continue;
            }
            if !hearing.is_vetted() {
                doubtful.push(uri.clone());
            }
            filter.resource_subscriptions.push(uri);
        }
        Ok((filter, doubtful))
    }

    /// Whether a listener is to hear now of a URI of which that was not certain when it began: somebody
    /// may own it by now. Not if the policy has no word.
    pub(crate) async fn may_hear(&self, uri: String, context: &Arc<Context>) -> bool {
        let hearings = self.hearings(&[uri], context).await;
        hearings.is_ok_and(|hearings| hearings.into_iter().all(Hearing::is_told))
    }

    async fn hearings(
        &self,
        uris: &[String],
        context: &Arc<Context>,
    ) -> Result<Vec<Hearing>, Failure> {
        let asking = self.asked(uris, context);
        match self.limits().call_timeout {
            None => asking.await,
            Some(limit) => timeout(limit, asking)
                .await
                .unwrap_or(Err(Failure::Refused(TIMED_OUT, Verdict::Late))),
        }
    }

    /// First who owns each, then the policy about all of them in one call.
    async fn asked(
        &self,
        uris: &[String],
        context: &Arc<Context>,
    ) -> Result<Vec<Hearing>, Failure> {
        let offer = self.offer();
        let mut known = Vec::with_capacity(uris.len());
        let mut inquiries = Vec::new();
        for uri in uris {
            match self.owner(&offer, uri, context).await? {
                Owner::Known(hearing) => known.push(Some(hearing)),
                Owner::Decides(inquiry) => {
                    known.push(None);
                    inquiries.push(inquiry);
                }
            }
        }
        let mut decided = self.decided(&offer, inquiries, context).await?.into_iter();
        let hearings = known
            .into_iter()
            .map(|known| known.or_else(|| decided.next()));
        hearings
            .collect::<Option<_>>()
            .ok_or_else(|| internal().into())
    }

    async fn owner(
        &self,
        offer: &Offer,
        uri: &str,
        context: &Arc<Context>,
    ) -> Result<Owner, Failure> {
        let mut step = pipeline::heed(&offer.runtime, context, uri.to_owned());
        loop {
            match step {
                Step::Call(call) => {
                    let target = match call.target {
                        Target::Policy(inquiry) => return Ok(Owner::Decides(*inquiry)),
                        ref target => target.clone(),
                    };
                    let outcome = self.aside(offer, call).await?;
                    step = pipeline::proceed(&offer.runtime, context, target, &outcome);
                }
                step => return Ok(Owner::Known(heard(step, context)?)),
            }
        }
    }

    async fn decided(
        &self,
        offer: &Offer,
        inquiries: Vec<Inquiry>,
        context: &Arc<Context>,
    ) -> Result<Vec<Hearing>, Failure> {
        let Some(all) = Inquiry::together(&inquiries) else {
            return Ok(Vec::new());
        };
        let target = Target::Policy(Box::new(all));
        let call = pipeline::inquire(context, target.clone());
        let decisions = match self.aside(offer, call).await?.value {
            Value::Decisions(decisions) if decisions.len() == inquiries.len() => decisions,
            Value::Error(fault) => return Err(fault.into()),
            _ => return Err(target.invalid_result().into()),
        };
        let each = inquiries.into_iter().zip(decisions);
        each.map(|(inquiry, decision)| {
            let target = Target::Policy(Box::new(inquiry));
            let outcome = Outcome::from(Value::Decisions(vec![decision]));
            let step = pipeline::proceed(&offer.runtime, context, target, &outcome);
            Ok(heard(step, context)?)
        })
        .collect()
    }

    /// Whether a policy has a say in what may be heard of.
    pub(crate) fn is_authorized(&self) -> bool {
        self.offer().runtime.settings.authorized
    }
}

/// What is known of who owns a URI.
enum Owner {
    Known(Hearing),
    Decides(Inquiry),
}

fn heard(step: Step, context: &Context) -> Result<Hearing, Error> {
    match step {
        Step::Heed(hearing) => Ok(hearing),
        Step::Answer(answer) => {
            let passed = pipeline::passed(context, &answer);
            Err(passed.err().unwrap_or_else(internal))
        }
        Step::Call(_) | Step::Settle { .. } | Step::Ask(_) => Err(internal()),
    }
}

fn internal() -> Error {
    Error::internal("Internal error")
}
