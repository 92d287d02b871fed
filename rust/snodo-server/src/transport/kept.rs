//! Event streams of the initialize era: a lost connection cancels nothing, and a session's streams can
//! be resumed.
//!
//! MCP 2025-11-25, Streamable HTTP: "disconnection SHOULD NOT be interpreted as the client cancelling
//! its request".

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use snodo_core::limits::Limits;
use snodo_core::pipeline::Answer;
use tokio::time::timeout;

use crate::said::{Said, Speech};
use crate::session::replay::{Bounds, EventId, Found, Recorded};
use crate::session::{Cancellable, Changes, Session, Sessions, Used};
use crate::transport::connection::Life;
use crate::transport::loose::Loose;
use crate::transport::sse::{COMMENT, Events, First, Script, event, numbered, priming};

/// How long a call of a session whose streams begin with an id may be silent before its response is
/// such a stream; until then its answer may be all there is.
const UNPRIMED: Duration = Duration::from_millis(500);

/// The messages of one request, which is served to its end whoever hears it.
pub(crate) struct Kept<S: Speech> {
    speech: Option<(S, Option<Cancellable>)>,
    track: Option<Track>,
    loose: Arc<Loose>,
}

impl<S: Speech> Kept<S> {
    pub(crate) fn new(speech: S, cancellable: Option<Cancellable>, loose: Arc<Loose>) -> Self {
        Self {
            speech: Some((speech, cancellable)),
            track: None,
            loose,
        }
    }

    /// The answer, for a client that takes nothing else.
    pub(crate) async fn answer(mut self) -> Option<Answer> {
        loop {
            if let Said::Answer(answer) = self.next().await? {
                return Some(answer);
            }
        }
    }

    /// Waits for the first message, as [`crate::transport::sse::first`] does. `record` makes the
    /// stream one that can be resumed; `primes` begins it with an event to resume it from.
    pub(crate) async fn first(
        mut self,
        record: Option<Record>,
        primes: bool,
        life: &Arc<Life>,
        quiet: Duration,
    ) -> First<Self> {
        let patience = if primes { quiet.min(UNPRIMED) } else { quiet };
        let said = match timeout(patience, self.next()).await {
            Ok(Some(Said::Answer(answer))) => return First::Answer(answer),
            Ok(None) => return First::Nothing,
            Ok(Some(said)) => Some(said),
            Err(_) => None,
        };
        let mut frame = Vec::new();
        self.track = record.map(Record::open);
        if let Some(track) = self.track.as_ref().filter(|_| primes) {
            let (stream, place) = (track.stream, 0);
            priming(EventId { stream, place }, &mut frame);
        }
        match said {
            Some(said) => {
                self.write(said, &mut frame);
            }
            None if frame.is_empty() => frame.extend_from_slice(COMMENT),
            None => {}
        }
        First::Stream(Events::new(self, frame, life, quiet))
    }

    /// False: it is for somebody else to read.
    fn write(&self, said: Said, frame: &mut Vec<u8>) -> bool {
        let message = text(said);
        let Some(track) = &self.track else {
            event(&message, frame);
            return true;
        };
        let message = Bytes::from(message);
        let id = track.record(message.clone());
        if let Some(id) = id {
            numbered(id, &message, frame);
        }
        id.is_some()
    }
}

impl<S: Speech> Stream for Kept<S> {
    type Item = Said;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Said>> {
        let Some((speech, _)) = &mut self.speech else {
            return Poll::Ready(None);
        };
        let said = speech.poll_next_unpin(task);
        if matches!(said, Poll::Ready(None | Some(Said::Answer(_)))) {
            self.speech = None;
        }
        said
    }
}

impl<S: Speech> Script for Kept<S> {
    /// Ends where the client has come back for the rest on another connection: "the server MUST send each
    /// of its JSON-RPC messages on only one of the connected streams".
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool> {
        if self.track.as_ref().is_some_and(|it| it.is_overtaken(task)) {
            return Poll::Ready(false);
        }
        self.poll_next_unpin(task).map(|said| {
            let is_read = said.is_none_or(|said| self.write(said, frame));
            is_read && self.speech.is_some()
        })
    }

    fn end(&mut self) {
        if let Some((speech, _)) = &mut self.speech {
            speech.end();
        }
    }
}

impl<S: Speech> Drop for Kept<S> {
    fn drop(&mut self) {
        if let Some((speech, cancellable)) = self.speech.take() {
            let track = self.track.take();
            self.loose.hear(speech, cancellable, move |said| {
                if let Some(track) = &track {
                    track.record(text(said).into());
                }
            });
        }
    }
}

fn text(said: Said) -> Vec<u8> {
    match said {
        Said::Notice(message) | Said::Question(message) => message,
        Said::Answer(answer) => answer.body,
    }
}

/// Where a session's streams are recorded.
#[derive(Clone)]
pub(crate) struct Record {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
    bounds: Bounds,
}

impl Record {
    pub(crate) fn new(sessions: Arc<Sessions>, session: Arc<Session>, limits: &Limits) -> Self {
        let bounds = Bounds {
            events: limits.replay_events,
            bytes: limits.replay_bytes,
        };
        Self {
            sessions,
            session,
            bounds,
        }
    }

    fn open(self) -> Track {
        let stream = self.session.replay().open(&self.sessions.total);
        Track {
            record: self,
            stream,
        }
    }

    /// The stream of the session that belongs to no request.
    pub(crate) fn standing(&self) -> u64 {
        self.session.replay().standing(&self.sessions.total)
    }

    fn record(&self, stream: u64, message: Bytes) -> Recorded {
        let mut recorded = self.session.replay().record(stream, message, self.bounds);
        recorded.waiting.take().into_iter().for_each(Waker::wake);
        self.sessions.total.make_room(&self.session);
        recorded
    }

    /// What a client that comes back hears after the last event it saw. `None`: nothing is known of
    /// its stream any more.
    pub(crate) fn resume(self, after: EventId) -> Option<Again> {
        let (reader, before) = self.session.replay().read(after)?;
        before.into_iter().for_each(Waker::wake);
        Some(Again {
            session: self.session,
            after,
            reader,
        })
    }
}

/// One stream of a session, until it is over.
struct Track {
    record: Record,
    stream: u64,
}

impl Track {
    /// `None`: another connection reads it by now.
    fn record(&self, message: Bytes) -> Option<EventId> {
        let recorded = self.record.record(self.stream, message);
        (!recorded.overtaken).then_some(recorded.id)
    }

    fn is_overtaken(&self, task: &Context<'_>) -> bool {
        let mut replay = self.record.session.replay();
        replay.is_overtaken(self.stream, task)
    }
}

impl Drop for Track {
    fn drop(&mut self) {
        let Record {
            sessions, session, ..
        } = &self.record;
        let waiting = session.replay().end(self.stream);
        waiting.into_iter().for_each(Waker::wake);
        sessions.total.over(session, self.stream);
        sessions.total.make_room(session);
    }
}

/// The rest of a stream, for a client that came back.
pub(crate) struct Again {
    session: Arc<Session>,
    after: EventId,
    reader: u64,
}

impl Script for Again {
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool> {
        let mut replay = self.session.replay();
        replay
            .poll(self.after, self.reader, task)
            .map(|found| match found {
                Found::Event(id, message) => {
                    self.after = id;
                    numbered(id, &message, frame);
                    true
                }
                Found::Over => false,
            })
    }

    /// A call has its time to finish.
    fn end(&mut self) {}
}

impl Drop for Again {
    fn drop(&mut self) {
        self.session.last_use().touch();
    }
}

/// The stream of a session that belongs to no request.
pub(crate) struct Standing {
    changes: Changes,
    record: Record,
    stream: u64,
    /// The last event that the client saw, as long as it has missed some.
    after: Option<EventId>,
}

impl Standing {
    /// `after`: the event that a client comes back with, if it does.
    pub(crate) fn new(
        changes: Changes,
        record: Record,
        stream: u64,
        after: Option<EventId>,
    ) -> Self {
        Self {
            changes,
            record,
            stream,
            after,
        }
    }

    fn missed(&mut self, task: &Context<'_>) -> Option<(EventId, Bytes)> {
        let after = self.after?;
        let mut replay = self.record.session.replay();
        let (reader, _) = replay.read(after)?;
        match replay.poll(after, reader, task) {
            Poll::Ready(Found::Event(id, message)) => Some((id, message)),
            _ => None,
        }
    }
}

impl Script for Standing {
    fn poll_event(&mut self, task: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<bool> {
        if let Some((id, message)) = self.missed(task) {
            self.after = Some(id);
            numbered(id, &message, frame);
            return Poll::Ready(true);
        }
        self.after = None;
        self.changes.poll_next_unpin(task).map(|said| {
            let Some(said) = said else { return false };
            let message = Bytes::from(text(said));
            let Recorded { id, .. } = self.record.record(self.stream, message.clone());
            numbered(id, &message, frame);
            true
        })
    }

    fn end(&mut self) {
        self.changes.end();
    }
}
