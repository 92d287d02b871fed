//! What the server asked a client and waits to hear: ids nobody can guess, and bounded.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::json::Object;
use snodo_core::limits::QUESTIONS_PENDING;
use snodo_core::pipeline::{Questions, withdraw};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::cancel::CancelToken;
use crate::session::Session;
use crate::session::key::Key;
use crate::voice::Voice;

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

    /// No answer will come any more: whoever waits for one is told.
    pub(crate) fn close_all(&self) {
        let open = std::mem::take(&mut *self.lock());
        drop(open); // after the lock: it wakes whoever waits
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, oneshot::Sender<Response>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts questions to a client, all at once, and waits for the answer to each. `None`: the client has
/// cancelled the request. What is still open in the end is withdrawn.
pub(crate) async fn ask(
    session: &Session,
    voice: &Voice,
    questions: &Questions,
    cancel: &CancelToken,
    patience: Duration,
) -> Option<Vec<Response>> {
    let mut open = Open {
        session,
        voice,
        keys: Vec::new(),
    };
    let mut waiting = Vec::new();
    for at in 0..questions.questions.len() {
        let place = session.asked.open().map(|(key, answer)| {
            open.keys.push(key);
            voice.ask(questions.request(at, &key.to_string()));
            answer
        });
        waiting.push(place);
    }
    let end = Instant::now() + patience;
    let mut answers = Vec::new();
    for answer in waiting {
        let Some(answer) = answer else {
            answers.push(failed("The client has too many open questions"));
            continue;
        };
        let answer = tokio::select! {
            biased;
            answer = timeout_at(end, answer) => answer,
            _ = cancel.stopped() => return None,
            () = voice.deafened() => {
                answers.push(failed("The server is shutting down"));
                continue;
            }
        };
        answers.push(match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => failed("The client's session has ended"),
            Err(_) => failed("The client did not answer in time"),
        });
    }
    Some(answers)
}

/// What is answered to questions for which there is no room.
pub(crate) fn refused(questions: &Questions) -> Vec<Response> {
    let refused = |_| failed("Server execution capacity exhausted");
    questions.questions.iter().map(refused).collect()
}

fn failed(text: &'static str) -> Response {
    Err(Error::internal(text))
}

/// Questions that wait for their answers.
struct Open<'a> {
    session: &'a Session,
    voice: &'a Voice,
    keys: Vec<Key>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        for key in &self.keys {
            if self.session.asked.close(*key) {
                self.voice.ask(withdraw(&key.to_string()));
            }
        }
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
