//! A source with a hub beside it, so that what the server itself has to tell is told whoever tells the
//! rest.

use std::sync::Arc;
use std::task::{Context as Task, Poll};

use snodo_core::context::Context;
use snodo_core::subscription::{Event, Filter};

use crate::hub::Hub;
use crate::source::{End, Failed, Feed, Opened, Opening, Source};

/// The source decides what a listener may hear, and when it has heard all.
pub struct Beside {
    /// The application's.
    pub source: Arc<dyn Source>,
    /// The server's.
    pub hub: Hub,
}

impl Source for Beside {
    fn open(&self, filter: Filter, context: Arc<Context>) -> Opening {
        // First: nothing is missed while the source makes up its mind.
        let hub = self.hub.feed(&filter);
        let opening = self.source.open(filter, context);
        Box::pin(async move {
            let Opened { accepted, feed } = opening.await?;
            let feed = Box::new(Both { hub, source: feed });
            Ok(Opened { accepted, feed })
        })
    }
}

struct Both {
    hub: Box<dyn Feed>,
    source: Box<dyn Feed>,
}

impl Feed for Both {
    fn poll_event(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Arc<Event>, Failed>>> {
        match self.hub.poll_event(task) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            Poll::Pending => self.source.poll_event(task),
            Poll::Ready(None) => match self.source.poll_event(task) {
                Poll::Pending => Poll::Ready(None),
                ready @ Poll::Ready(_) => ready,
            },
        }
    }

    fn finish(&mut self) {
        self.hub.finish();
        self.source.finish();
    }

    fn close(self: Box<Self>, why: End) {
        self.hub.close(why);
        self.source.close(why);
    }
}
