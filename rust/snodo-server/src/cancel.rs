//! A token that says *stop*, with a reason: cheap to clone and to ask.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

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
}

impl CancelToken {
    /// A token nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
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
            let hook = self.hook().take();
            if let Some(hook) = hook {
                hook(reason);
            }
        }
    }

    /// Runs `hook` when stopped, at once if that has happened. It must be quick and must not block.
    /// There is one hook: the lane's that runs the call.
    pub fn on_cancel(&self, hook: impl FnOnce(Reason) + Send + 'static) {
        *self.hook() = Some(Box::new(hook));
        // Stopped between the two lines: whoever finds the hook runs it.
        if let Some(reason) = self.reason()
            && let Some(hook) = { self.hook().take() }
        {
            hook(reason);
        }
    }

    fn hook(&self) -> std::sync::MutexGuard<'_, Option<Hook>> {
        self.inner.hook.lock().expect("no hook panics while it is being put in place")
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.reason()).finish()
    }
}
