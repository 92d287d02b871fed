//! Work that goes on although the connection it came by is gone, and that the end of the server waits
//! for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// `None` once the server has ended.
#[derive(Debug)]
pub(crate) struct Loose(Mutex<Option<JoinSet<()>>>);

impl Loose {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(JoinSet::new())))
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

    /// Waits until nothing goes on any more.
    pub(crate) async fn ended(&self) {
        loop {
            let taken = self.tasks().as_mut().map(std::mem::take);
            let Some(mut tasks) = taken.filter(|tasks| !tasks.is_empty()) else {
                return;
            };
            while tasks.join_next().await.is_some() {}
        }
    }

    /// Ends what goes on, and lets nothing go on from here.
    pub(crate) fn close(&self) {
        drop(self.tasks().take());
    }

    fn tasks(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
