//! Work that goes on although the connection it came by is gone, and that the end of the server waits
//! for.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cancel::{CancelToken, Reason};
use crate::said::{Said, Speech};
use crate::session::Cancellable;

/// How long a question waits for a client whose connection is gone: it may come back for the stream.
const ABANDONED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Loose {
    /// `None` once the server has ended.
    tasks: Mutex<Option<JoinSet<()>>>,
    /// Says stop when the server takes no more messages.
    closing: CancelToken,
}

impl Loose {
    pub(crate) fn new() -> Self {
        Self {
            tasks: Mutex::new(Some(JoinSet::new())),
            closing: CancelToken::new(),
        }
    }

    /// The server takes no more messages: nobody is answered any more.
    pub(crate) fn stop(&self) {
        self.closing.cancel(Reason::Shutdown);
    }

    /// What says so.
    pub(crate) fn closing(&self) -> CancelToken {
        self.closing.clone()
    }

    /// Hears to its end what nobody reads any more.
    pub(crate) fn hear<S: Speech>(
        &self,
        mut speech: S,
        cancellable: Option<Cancellable>,
        mut heard: impl FnMut(Said) + Send + 'static,
    ) {
        let closing = self.closing();
        self.spawn(async move {
            let _cancellable = cancellable;
            let mut abandoned = pin!(timeout(ABANDONED, closing.stopped()));
            let mut waits = true;
            loop {
                tokio::select! {
                    biased;
                    said = speech.next() => match said {
                        Some(said) => heard(said),
                        None => break,
                    },
                    _ = &mut abandoned, if waits => {
                        waits = false;
                        speech.end();
                    }
                }
            }
        });
    }

    /// Lets something go on, unless the server has ended: then it is dropped.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *self.tasks()
            && Handle::try_current().is_ok()
        {
            while tasks.try_join_next().is_some() {}
            tasks.spawn(work);
        }
    }

    /// Waits until nothing goes on any more. Dropping this and waiting anew is the same as waiting on.
    pub(crate) async fn ended(&self) {
        poll_fn(|context| {
            let mut tasks = self.tasks();
            let Some(tasks) = &mut *tasks else {
                return Poll::Ready(());
            };
            while ready!(tasks.poll_join_next(context)).is_some() {}
            Poll::Ready(())
        })
        .await;
    }

    /// Ends what goes on, and lets nothing go on from here.
    pub(crate) fn close(&self) {
        drop(self.tasks().take());
    }

    fn tasks(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
