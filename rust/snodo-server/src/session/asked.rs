//! What the server asked a client and waits to hear: ids nobody can guess, and bounded.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::json::Object;
use snodo_core::limits::QUESTIONS_PENDING;
use tokio::sync::oneshot;

use crate::session::key::Key;

/// What a client says to a question: a result, or an error of its own.
pub(crate) type Response = Result<Object, Error>;

/// The questions to one client that are open.
#[derive(Debug, Default)]
pub(crate) struct Asked(Mutex<HashMap<Key, oneshot::Sender<Response>>>);

impl Asked {
    /// A place for the answer to a question that is about to be asked under this key. `None`: too many
    /// are open.
    pub(crate) fn open(&self) -> Option<(Key, oneshot::Receiver<Response>)> {
        let mut open = self.lock();
        if open.len() >= QUESTIONS_PENDING {
            return None;
        }
        let (key, (sender, receiver)) = (Key::random(), oneshot::channel());
        open.insert(key, sender);
        Some((key, receiver))
    }

    /// Hands an answer to whoever waits for it; nobody may any more.
    pub(crate) fn settle(&self, id: &Id, response: Response) {
        let Id::String(id) = id else { return };
        let waiting = Key::read(id.as_bytes()).and_then(|key| self.lock().remove(&key));
        if let Some(waiting) = waiting {
            let _ = waiting.send(response);
        }
    }

    /// Nobody waits for the answer any more. Whether it was still open.
    pub(crate) fn close(&self, key: Key) -> bool {
        let mut open = self.lock();
        let was_open = open.remove(&key).is_some();
        if open.is_empty() {
            *open = HashMap::new(); // an idle session keeps nothing
        }
        was_open
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, oneshot::Sender<Response>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_finds_its_question_once() {
        let asked = Asked::default();
        let (first, mut waiting) = asked.open().expect("room");
        let (second, mut other) = asked.open().expect("room");
        asked.settle(&Id::String(first.to_string()), Ok(Object::new()));
        asked.settle(
            &Id::String(first.to_string()),
            Err(Error::internal("again")),
        );
        asked.settle(&Id::Int(1), Ok(Object::new()));
        asked.settle(&Id::String("x".to_owned()), Ok(Object::new()));
        assert!(matches!(waiting.try_recv(), Ok(Ok(_))));
        assert!(other.try_recv().is_err());
        assert!(!asked.close(first));
        assert!(asked.close(second));
    }

    #[test]
    fn questions_are_bounded() {
        let asked = Asked::default();
        let open: Vec<_> = (0..QUESTIONS_PENDING)
            .map(|_| asked.open().expect("room"))
            .collect();
        assert!(asked.open().is_none());
        asked.close(open[0].0);
        assert!(asked.open().is_some());
    }
}
