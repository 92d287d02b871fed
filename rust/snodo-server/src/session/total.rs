//! How much the streams of all sessions may keep together for clients that come back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use crate::session::{Session, lock};

/// What is kept, and the streams that may be forgotten for others.
#[derive(Debug)]
pub(crate) struct Total {
    bytes: AtomicUsize,
    /// Of them, those of streams that are not over.
    open: AtomicUsize,
    most: usize,
    over: Mutex<Over>,
}

/// The streams that have been sent as a whole, oldest first, those included that are forgotten already.
#[derive(Debug, Default)]
struct Over {
    streams: VecDeque<(Weak<Session>, u64)>,
    /// How many are looked through for those.
    patience: usize,
}

/// Fewer are not looked through.
const FEW: usize = 1024;

impl Total {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            most,
            over: Mutex::default(),
        }
    }

    /// An open stream keeps more.
    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.open.fetch_add(bytes, Relaxed);
    }

    /// An open stream that keeps so much is over.
    pub(super) fn finish(&self, bytes: usize) {
        self.open.fetch_sub(bytes, Relaxed);
    }

    /// A stream keeps less.
    pub(super) fn sub(&self, bytes: usize, over: bool) {
        self.bytes.fetch_sub(bytes, Relaxed);
        if !over {
            self.open.fetch_sub(bytes, Relaxed);
        }
    }

    /// Whether open streams keep too much: half is theirs at most, so that those which never end do not
    /// keep the place of all that do.
    pub(super) fn is_full(&self) -> bool {
        self.open.load(Relaxed) > self.most / 2
    }

    /// A stream is over. It is kept on, as nobody knows what of it arrived, until there are too many
    /// such streams.
    pub(crate) fn over(&self, session: &Arc<Session>, stream: u64) {
        let mut over = lock(&self.over);
        over.streams.push_back((Arc::downgrade(session), stream));
        if over.streams.len() > over.patience.max(FEW) {
            over.streams.retain(|(session, stream)| {
                let session = session.upgrade();
                session.is_some_and(|session| session.replay().has(*stream))
            });
            over.patience = over.streams.len() * 2;
        }
    }

    /// Forgets what is kept beyond the bound: of the streams that are over the oldest, and if open ones
    /// keep too much the oldest events of this session, which has just kept one more.
    pub(crate) fn make_room(&self, session: &Session) {
        while self.bytes.load(Relaxed) > self.most {
            let oldest = lock(&self.over).streams.pop_front();
            let Some((session, stream)) = oldest else {
                break;
            };
            if let Some(session) = session.upgrade() {
                session.replay().close(stream);
            }
        }
        if self.is_full() {
            session.replay().shrink();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context as Task, Poll, Waker};

    use bytes::Bytes;
    use snodo_core::dialect::{self, Dialect};
    use snodo_core::json::Object;
    use snodo_core::peer::Peer;

    use super::*;
    use crate::session::replay::{Bounds, EventId, Found};

    /// Of an event, and with what its stream costs.
    const EVENT: usize = 744;
    const STREAM: usize = 1000;

    fn session() -> Arc<Session> {
        let asks = |dialect: &&&dyn Dialect| dialect.asks();
        let peer = Peer {
            dialect: *dialect::ALL.iter().find(asks).expect("there is one"),
            client_info: Object::new(),
            capabilities: Object::new(),
        };
        Arc::new(Session::new(Arc::new(peer), None))
    }

    fn say(total: &Total, session: &Session, stream: u64) {
        let message = Bytes::from(vec![b'x'; EVENT]);
        let bounds = Bounds {
            events: 100,
            bytes: usize::MAX,
        };
        session.replay().record(stream, message, bounds);
        total.make_room(session);
    }

    fn end(total: &Total, session: &Arc<Session>, stream: u64) {
        session.replay().end(stream);
        total.over(session, stream);
        total.make_room(session);
    }

    fn is_there(session: &Session, stream: u64, place: u64) -> bool {
        session.replay().read(EventId { stream, place }).is_some()
    }

    fn kept(total: &Total) -> (usize, usize) {
        (total.bytes.load(Relaxed), total.open.load(Relaxed))
    }

    #[test]
    fn the_oldest_streams_that_are_over_go_first() {
        let total = Arc::new(Total::new(3 * STREAM));
        let sessions: Vec<_> = (0..4).map(|_| session()).collect();
        for session in &sessions {
            let stream = session.replay().open(&total);
            say(&total, session, stream);
            end(&total, session, stream);
        }
        let there: Vec<_> = sessions.iter().map(|it| is_there(it, 1, 0)).collect();
        assert_eq!(there, [false, true, true, true]);
        assert_eq!(kept(&total), (3 * STREAM, 0));
        // What is kept for a session goes with it, and makes room.
        drop(sessions);
        assert_eq!(kept(&total), (0, 0));
    }

    #[test]
    fn open_streams_keep_half_and_the_newest_event_of_each() {
        let total = Arc::new(Total::new(6 * STREAM));
        let (over, before, session) = (session(), session(), session());
        for session in [&over, &before] {
            session.replay().open(&total);
            say(&total, session, 1);
        }
        end(&total, &over, 1);
        let stream = session.replay().open(&total);
        for _ in 0..5 {
            say(&total, &session, stream);
        }
        let mut found = Vec::new();
        let mut replay = session.replay();
        let (mut last, task) = (EventId { stream, place: 0 }, noop());
        let (reader, _) = replay.read(last).expect("it is there");
        while let Poll::Ready(Found::Event(id, _)) = replay.poll(last, reader, &task) {
            last = id;
            found.push(id.place);
        }
        drop(replay);
        assert_eq!(found, [4, 5], "the oldest are gone");
        assert!(is_there(&over, 1, 0) && is_there(&before, 1, 0));
        assert_eq!(kept(&total).1, 2 * STREAM + EVENT);
        // However little may be kept, the answer is.
        let other = self::session();
        let stream = other.replay().open(&total);
        say(&total, &other, stream);
        assert!(is_there(&other, stream, 0));
        end(&total, &other, stream);
        assert!(is_there(&other, stream, 0));
    }

    #[test]
    fn streams_that_are_forgotten_already_are_not_remembered() {
        let total = Arc::new(Total::new(1 << 20));
        let session = session();
        for _ in 0..5 * FEW {
            let stream = session.replay().open(&total);
            end(&total, &session, stream);
            session.replay().close(stream);
        }
        assert!(lock(&total.over).streams.len() <= FEW + 1);
        assert_eq!(kept(&total), (0, 0));
    }

    fn noop() -> Task<'static> {
        Task::from_waker(Waker::noop())
    }
}
