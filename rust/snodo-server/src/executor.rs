//! Admission and its consequences: places for running calls, a bounded queue for the next ones.
//!
//! Knows nothing of what runs. A place is given back when the work is really gone, which for a
//! plain function that outlives its deadline is later than its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Every place and every seat in the queue is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no place to run the call, and the queue is full")]
pub struct Busy;

/// How many calls run and wait just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Calls that have a place, those included that nobody waits for any more.
    pub running: usize,
    /// Calls that wait for one.
    pub queued: usize,
}

/// Hands out the places, first come, first served.
#[derive(Debug)]
pub struct Executor {
    places: Arc<Semaphore>,
    running: usize,
    waiting: AtomicUsize,
    queued: usize,
}

impl Executor {
    /// At most `running` calls at a time, and `queued` waiting.
    pub fn new(running: usize, queued: usize) -> Self {
        let running = running.min(Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(running)),
            running,
            waiting: AtomicUsize::new(0),
            queued,
        }
    }

    /// A place, if one is free.
    pub fn try_admit(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// A place, at once or after waiting for one.
    pub async fn admit(&self) -> Result<OwnedSemaphorePermit, Busy> {
        if let Some(place) = self.try_admit() {
            return Ok(place);
        }
        let _seat = Seat::take(&self.waiting, self.queued)?;
        Ok(self
            .places
            .clone()
            .acquire_owned()
            .await
            .expect("the semaphore is never closed"))
    }

    /// How full it is.
    pub fn load(&self) -> Load {
        Load {
            running: self.running - self.places.available_permits(),
            queued: self.waiting.load(Ordering::Relaxed),
        }
    }
}

/// A seat in the queue, given back however the wait ends.
struct Seat<'a>(&'a AtomicUsize);

impl<'a> Seat<'a> {
    fn take(waiting: &'a AtomicUsize, seats: usize) -> Result<Self, Busy> {
        if waiting.fetch_add(1, Ordering::Relaxed) < seats {
            Ok(Self(waiting))
        } else {
            waiting.fetch_sub(1, Ordering::Relaxed);
            Err(Busy)
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    mod futures {
        use std::future::Future;
        use std::pin::Pin;
        use std::task::{Context, Poll, Waker};

        pub(super) fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
            future.poll(&mut Context::from_waker(Waker::noop()))
        }
    }

    #[tokio::test]
    async fn refuses_only_when_places_and_seats_are_taken() {
        let executor = Executor::new(1, 1);
        let first = executor.admit().await.expect("a free place");
        let mut second = Box::pin(executor.admit());
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!(
            executor.load(),
            Load {
                running: 1,
                queued: 1
            }
        );
        assert_eq!(executor.admit().await.expect_err("full"), Busy);
        drop(first);
        assert!(second.await.is_ok());
    }

    #[tokio::test]
    async fn serves_in_the_order_of_arrival() {
        let executor = Executor::new(1, 2);
        let first = executor.admit().await.expect("a free place");
        let mut second = Box::pin(executor.admit());
        let mut third = Box::pin(executor.admit());
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(third.as_mut()).is_pending());
        drop(first);
        assert!(poll(third.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_ready());
    }

    #[tokio::test]
    async fn a_seat_is_free_again_when_its_call_gives_up() {
        let executor = Executor::new(1, 1);
        let _first = executor.admit().await.expect("a free place");
        let mut second = Box::pin(executor.admit());
        assert!(poll(second.as_mut()).is_pending());
        drop(second);
        assert_eq!(
            executor.load(),
            Load {
                running: 1,
                queued: 0
            }
        );
    }
}
