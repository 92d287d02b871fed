//! A token that says *stop*, with a reason: cheap to clone and to ask.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

/// Why a call is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The client said so, or is gone.
    Client = 1,
    /// Its time is up.
    Deadline = 2,
    /// The server is shutting down.
    Shutdown = 3,
}

type Hook = Box<dyn FnOnce(Reason) + Send>;

/// Says *stop* once; later reasons change nothing.
#[derive(Clone, Default)]
pub struct CancelToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    reason: AtomicU8,
    hook: Mutex<Option<Hook>>,
    stopped: Notify,
    /// Only the future that runs the call cancels, by being dropped or out of time.
    is_lone: bool,
}

impl CancelToken {
    /// A token nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that only the future which runs the call will cancel.
    pub fn lone() -> Self {
        let inner = Inner {
            is_lone: true,
            ..Inner::default()
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Reason> {
        match self.inner.reason.load(Ordering::Acquire) {
            1 => Some(Reason::Client),
            2 => Some(Reason::Deadline),
            3 => Some(Reason::Shutdown),
            _ => None,
        }
    }

    /// Stops. Runs the hook, on this thread, if this is the first time.
    pub fn cancel(&self, reason: Reason) {
        let fresh = self.inner.reason.compare_exchange(
            0,
            reason as u8,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if fresh.is_ok() {
            self.inner.stopped.notify_waiters();
            self.run_hook(reason);
        }
    }

    /// Whether the future that runs the call need not listen to it.
    pub(crate) fn is_lone(&self) -> bool {
        self.inner.is_lone
    }

    /// Waits until stopped, and tells why.
    pub async fn stopped(&self) -> Reason {
        let mut notified = std::pin::pin!(self.inner.stopped.notified());
        // Registered before asking: a stop in between is not missed.
        notified.as_mut().enable();
        if let Some(reason) = self.reason() {
            return reason;
        }
        notified.await;
        self.reason()
            .expect("waiters are woken after the reason is stored")
    }

    /// Runs `hook` when stopped, at once if that has happened. It must be quick and must not block.
    /// There is one hook: the lane's that runs the call.
    pub fn on_cancel(&self, hook: impl FnOnce(Reason) + Send + 'static) {
        *self.hook() = Some(Box::new(hook));
        // Stopped between the two lines: whoever finds the hook runs it.
        if let Some(reason) = self.reason() {
            self.run_hook(reason);
        }
    }

    /// Forgets the hook: the call it belonged to is over.
    pub fn forget_hook(&self) {
        *self.hook() = None;
    }

    fn run_hook(&self, reason: Reason) {
        // Taken out first, so that the lock is not held while it runs.
        let hook = self.hook().take();
        if let Some(hook) = hook {
            hook(reason);
        }
    }

    fn hook(&self) -> std::sync::MutexGuard<'_, Option<Hook>> {
        self.inner
            .hook
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.reason()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn recorder() -> (
        Arc<Mutex<Vec<Reason>>>,
        impl FnOnce(Reason) + Send + 'static,
    ) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let writer = seen.clone();
        (seen, move |reason| {
            writer.lock().expect("not poisoned").push(reason);
        })
    }

    #[test]
    fn the_first_reason_stays_and_runs_the_hook_once() {
        let token = CancelToken::new();
        let (seen, hook) = recorder();
        token.on_cancel(hook);
        token.cancel(Reason::Deadline);
        token.clone().cancel(Reason::Client);
        assert_eq!(token.reason(), Some(Reason::Deadline));
        assert_eq!(*seen.lock().expect("not poisoned"), [Reason::Deadline]);
    }

    #[test]
    fn a_hook_put_in_place_too_late_runs_at_once() {
        let token = CancelToken::new();
        token.cancel(Reason::Shutdown);
        let (seen, hook) = recorder();
        token.on_cancel(hook);
        assert_eq!(*seen.lock().expect("not poisoned"), [Reason::Shutdown]);
    }

    #[tokio::test]
    async fn waiters_are_told_whether_they_came_before_or_after() {
        let token = CancelToken::new();
        let waiting = tokio::spawn({
            let token = token.clone();
            async move { token.stopped().await }
        });
        tokio::task::yield_now().await;
        token.cancel(Reason::Client);
        assert_eq!(waiting.await.expect("no panic"), Reason::Client);
        assert_eq!(token.stopped().await, Reason::Client);
    }
}
