//! What is kept for a client of the initialize era between its messages: over HTTP while its session
//! lives, on a pipe as long as the pipe.

pub(crate) mod asked;
mod changes;
pub(crate) mod key;
pub(crate) mod replay;
mod store;
pub(crate) mod total;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Waker};
use std::time::Duration;

use snodo_core::context::Arrival;
use snodo_core::envelope::Id;
use snodo_core::json::Json;
use snodo_core::limits::{FILTER_BYTES, FILTER_URIS, Limits, REPLAY_BYTES_TOTAL};
use snodo_core::notice::Level;
use snodo_core::peer::Peer;
use snodo_core::pipeline::{Change, Reply};
use tokio::sync::Notify;
use tokio::time::timeout;

pub use changes::Changes;
pub use key::Key;
pub use store::{Store, Use, Used};

use crate::cancel::{CancelToken, Reason};
use crate::session::asked::Asked;
use crate::session::replay::Replay;
use crate::session::total::Total;

/// One client. An idle one takes less than 2 KB, what it said of itself included.
pub struct Session {
    peer: Arc<Peer>,
    principal: Option<Json>,
    log_level: Mutex<Option<Level>>,
    pub(crate) asked: Asked,
    running: Mutex<Running>,
    replay: Mutex<Replay>,
    ear: Mutex<Ear>,
    /// Tells those who wait until the stream follows. They are many, and it may never: nothing is kept of
    /// those who wait no longer.
    following: Notify,
    used: Use,
}

/// The calls that the client may cancel. An id may be used again while a cancelled call still runs.
#[derive(Default)]
struct Running {
    calls: HashMap<Id, (u64, CancelToken)>,
    begun: u64,
}

/// Who hears of changes, and of which: one stream at a time.
#[derive(Default)]
struct Ear {
    watched: Vec<Watched>,
    /// Counts the streams; only the newest one hears.
    turn: u64,
    /// Counts the changes of what is watched.
    changed: u64,
    /// Up to which of them the stream follows; `None` while there is no stream.
    followed: Option<u64>,
    over: bool,
    waiting: Option<Waker>,
}

/// What a stream that tells of changes learns of what is watched.
enum Heard {
    Same,
    Changed(u64, Vec<Watched>),
}

/// How long an answer waits for the stream that is to tell of what it promises.
const FOLLOWING: Duration = Duration::from_secs(1);

/// What a client wants to hear of.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    uri: Arc<str>,
    /// Whether nobody is to be asked again before it is heard.
    vetted: bool,
    /// The change with which that was said last.
    as_of: u64,
}

impl Session {
    /// A session of a client that has just said who it is.
    pub fn new(peer: Arc<Peer>, principal: Option<Json>) -> Self {
        Self {
            peer,
            principal,
            log_level: Mutex::default(),
            asked: Asked::default(),
            running: Mutex::default(),
            replay: Mutex::default(),
            ear: Mutex::default(),
            following: Notify::new(),
            used: Use::new(),
        }
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Whether it is this caller's. A session is bound to the identity that opened it.
    pub fn is_of(&self, principal: Option<&Json>) -> bool {
        self.principal.as_ref() == principal
    }

    /// Says of a message whose it is. `can_ask`: requests of the server can go out with its answer.
    pub fn sign(&self, arrival: &mut Arrival, can_ask: bool) {
        arrival.peer = Some(self.peer.clone());
        arrival.log_level = *lock(&self.log_level);
        arrival.can_ask = can_ask;
    }

    /// Changes what the client may change, at once. What this gives leaves the stream that tells of
    /// changes, if there is one, the time to hear of what is watched now: what happens after the client
    /// has its answer is told to it. Not for long, as a source of the application may be slow, and the
    /// stream may not be read. False: it holds no more of it.
    pub fn change(&self, change: Change) -> impl Future<Output = bool> + Send {
        let done = self.apply(change);
        // Before it is looked whether it is needed: it hears what happens from here on.
        let followed = self.following.notified();
        let lags = done && lock(&self.ear).lags();
        async move {
            if lags {
                let _ = timeout(FOLLOWING, followed).await;
            }
            done
        }
    }

    fn apply(&self, change: Change) -> bool {
        match change {
            Change::LogLevel(level) => *lock(&self.log_level) = Some(level),
            Change::Watch { uri, vetted } => {
                let mut ear = lock(&self.ear);
                let as_of = ear.changed + 1;
                if let Some(watched) = ear.watched.iter_mut().find(|it| *it.uri == *uri) {
                    (watched.vetted, watched.as_of) = (vetted, as_of);
                } else {
                    let bytes: usize = ear.watched.iter().map(|it| it.uri.len()).sum();
                    if ear.watched.len() >= FILTER_URIS || bytes + uri.len() > FILTER_BYTES {
                        return false;
                    }
                    ear.watched.push(Watched {
                        uri: uri.into(),
                        vetted,
                        as_of,
                    });
                }
                ear.change();
            }
            Change::Unwatch(uri) => {
                let mut ear = lock(&self.ear);
                ear.watched.retain(|it| *it.uri != *uri);
                ear.change();
            }
        }
        true
    }

    /// The client has begun anew on the same pipe: what it was asked before it answers no more.
    pub(crate) fn forsake(&self) {
        self.asked.close_all();
    }

    /// The client answers a question.
    pub fn settle(&self, reply: Reply) {
        self.asked.settle(&reply.id, reply.response);
    }

    /// Takes a call in that the client may cancel until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: Id, token: CancelToken) -> Cancellable {
        let mut running = lock(&self.running);
        running.begun += 1;
        let number = running.begun;
        running.calls.insert(id.clone(), (number, token));
        drop(running);
        Cancellable {
            session: self.clone(),
            id,
            number,
        }
    }

    /// The client no longer wants the answer to this request.
    pub(crate) fn cancel(&self, id: &Id) {
        let call = lock(&self.running).calls.remove(id);
        if let Some((_, token)) = call {
            token.cancel(Reason::Client);
        }
    }

    /// The streams of this session.
    pub(crate) fn replay(&self) -> MutexGuard<'_, Replay> {
        lock(&self.replay)
    }

    /// Whether nobody has begun to hear of changes for it.
    pub(crate) fn is_deaf(&self) -> bool {
        lock(&self.ear).turn == 0
    }

    /// Begins to hear of changes. Whoever heard of them before hears no more.
    fn listen(&self) -> u64 {
        let mut ear = lock(&self.ear);
        ear.turn += 1;
        ear.followed = Some(0);
        ear.wake();
        ear.turn
    }

    /// What is to be heard of, for the stream whose turn it is, if that has changed since; `None` if it
    /// is not its turn.
    fn watched(&self, turn: u64, since: u64, task: &Task<'_>) -> Option<Heard> {
        let mut ear = lock(&self.ear);
        if ear.over || ear.turn != turn {
            return None;
        }
        ear.waiting = Some(task.waker().clone());
        Some(if ear.changed == since {
            Heard::Same
        } else {
            Heard::Changed(ear.changed, ear.watched.clone())
        })
    }

    /// The stream whose turn it is hears of all that is watched as of this change. `None`: it is over.
    fn follow(&self, turn: u64, changed: Option<u64>) {
        let mut ear = lock(&self.ear);
        if ear.turn == turn {
            ear.followed = changed;
            if !ear.lags() {
                self.following.notify_waiters();
            }
        }
    }
}

impl Ear {
    fn change(&mut self) {
        self.changed += 1;
        self.wake();
    }

    fn lags(&self) -> bool {
        self.followed
            .is_some_and(|followed| followed < self.changed)
    }

    fn wake(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }
}

impl Used for Session {
    fn last_use(&self) -> &Use {
        &self.used
    }

    /// Nobody waits for anything any more.
    fn end(&self) {
        {
            let mut ear = lock(&self.ear);
            ear.over = true;
            ear.wake();
        }
        let calls = std::mem::take(&mut lock(&self.running).calls);
        for (_, token) in calls.into_values() {
            token.cancel(Reason::Client);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// A call that the client may cancel.
pub(crate) struct Cancellable {
    session: Arc<Session>,
    id: Id,
    number: u64,
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        let calls = &mut lock(&self.session.running).calls;
        if calls
            .get(&self.id)
            .is_some_and(|(number, _)| *number == self.number)
        {
            calls.remove(&self.id);
        }
        if calls.is_empty() {
            *calls = HashMap::new(); // an idle session keeps nothing
        }
        self.session.used.touch();
    }
}

/// The sessions of a server, over HTTP.
#[derive(Debug)]
pub struct Sessions {
    store: Store<Session>,
    /// What their streams keep.
    pub(crate) total: Arc<Total>,
}

impl Sessions {
    /// None yet. `worker`: which of several processes keeps them.
    pub fn new(limits: &Limits, worker: Option<u8>) -> Self {
        Self {
            store: Store::new(limits.sessions, limits.session_idle).of_worker(worker),
            total: Arc::new(Total::new(REPLAY_BYTES_TOTAL)),
        }
    }

    /// Keeps a session, under a key for its client.
    pub fn open(&self, session: Session) -> Key {
        self.store.insert(Arc::new(session))
    }

    /// The session of this key, if it is this caller's.
    pub fn get(&self, key: Key, principal: Option<&Json>) -> Option<Arc<Session>> {
        let session = self.store.get(key)?;
        session.is_of(principal).then_some(session)
    }

    /// Ends a session.
    pub fn end(&self, key: Key) {
        self.store.remove(key);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of the 2 KB is for what the client said of itself.
    #[test]
    fn an_idle_session_is_small() {
        assert!(size_of::<Session>() <= 640, "{}", size_of::<Session>());
    }
}
