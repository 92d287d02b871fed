//! What has been said on the event streams of a session, for a client that lost its connection.
//!
//! MCP 2025-11-25, Streamable HTTP, "resumability and redelivery": an event's id names its stream, and
//! a client that comes back with the last one it saw hears the rest of that stream and of no other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use bytes::Bytes;

use crate::session::total::Total;

/// What a stream costs besides its bytes.
const TRACK: usize = 256;

/// Where in which stream an event stands. Written `<stream>-<place>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: u64,
    pub(crate) place: u64,
}

impl EventId {
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let (stream, place) = std::str::from_utf8(text).ok()?.split_once('-')?;
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| plain)
        };
        Some(Self {
            stream: number(stream)?,
            place: number(place)?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.place)
    }
}

/// The streams of one session.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    tracks: VecDeque<Track>,
    opened: u64,
    /// The one that belongs to no request.
    standing: Option<u64>,
    events: usize,
    bytes: usize,
    /// Of all sessions; `None` before the first stream.
    total: Option<Arc<Total>>,
}

/// One stream.
#[derive(Debug)]
struct Track {
    stream: u64,
    /// The place of the event that comes next.
    next: u64,
    /// The newest of those that came.
    events: VecDeque<Bytes>,
    over: bool,
    /// Who reads it: only the newest reader does. 0: the connection that it began on.
    reader: u64,
    waiting: Option<Waker>,
}

impl Track {
    fn bytes(&self) -> usize {
        self.events.iter().map(Bytes::len).sum()
    }
}

/// What became of an event that was to be kept.
pub(crate) struct Recorded {
    pub(crate) id: EventId,
    /// Whether a later reader reads the stream, and not the connection that it began on.
    pub(crate) overtaken: bool,
    /// Who waits for it.
    pub(crate) waiting: Option<Waker>,
}

/// What the reader of a stream finds.
#[derive(Debug, PartialEq)]
pub(crate) enum Found {
    /// An event.
    Event(EventId, Bytes),
    /// No more will come.
    Over,
}

impl Replay {
    /// A new stream, of a server whose sessions keep this much.
    pub(crate) fn open(&mut self, total: &Arc<Total>) -> u64 {
        self.total.get_or_insert_with(|| total.clone()).add(TRACK);
        self.opened += 1;
        self.tracks.push_back(Track {
            stream: self.opened,
            next: 1,
            events: VecDeque::new(),
            over: false,
            reader: 0,
            waiting: None,
        });
        self.opened
    }

    /// The stream that belongs to no request: there is one, which goes on however often it is opened.
    pub(crate) fn standing(&mut self, total: &Arc<Total>) -> u64 {
        if let Some(standing) = self.standing {
            return standing;
        }
        let standing = self.open(total);
        self.standing = Some(standing);
        standing
    }

    /// Whether this is that stream.
    pub(crate) fn is_standing(&self, stream: u64) -> bool {
        self.standing == Some(stream)
    }

    /// Keeps an event, at the price of the oldest ones if there are too many.
    pub(crate) fn record(&mut self, stream: u64, message: Bytes, bounds: Bounds) -> Recorded {
        let size = message.len();
        let Some(track) = self.track(stream) else {
            // It has been closed meanwhile.
            return Recorded {
                id: EventId { stream, place: 0 },
                overtaken: false,
                waiting: None,
            };
        };
        let place = track.next;
        track.next += 1;
        track.events.push_back(message);
        let overtaken = track.reader > 0;
        let waiting = track.waiting.take_if(|_| overtaken);
        self.events += 1;
        self.bytes += size;
        if let Some(total) = &self.total {
            total.add(size);
        }
        while (self.events > bounds.events || self.bytes > bounds.bytes) && self.forget_one(stream)
        {
        }
        Recorded {
            id: EventId { stream, place },
            overtaken,
            waiting,
        }
    }

    /// No more events come. Gives who waits for more.
    pub(crate) fn end(&mut self, stream: u64) -> Option<Waker> {
        let total = self.total.clone();
        let track = self.track(stream)?;
        track.over = true;
        if let Some(total) = total {
            total.finish(TRACK + track.bytes());
        }
        track.waiting.take()
    }

    /// Whether this stream is kept.
    pub(crate) fn has(&self, stream: u64) -> bool {
        self.tracks.iter().any(|track| track.stream == stream)
    }

    /// Whether a later reader reads this stream, and not the connection that it began on, which is woken
    /// when there is one.
    pub(crate) fn is_overtaken(&mut self, stream: u64, task: &Task<'_>) -> bool {
        let Some(track) = self.track(stream) else {
            return false;
        };
        if track.reader == 0 {
            track.waiting = Some(task.waker().clone());
        }
        track.reader > 0
    }

    /// Begins to read after an event. Whoever read before reads no more, and is given to be told so.
    /// `None`: there is no such stream any more, or no such event has come, so that nobody is sent away for
    /// a reader who hears nothing; or nothing is left of it, so that a client which comes back for the
    /// answer to a request that it cancelled does not do so for ever.
    pub(crate) fn read(&mut self, after: EventId) -> Option<(u64, Option<Waker>)> {
        let track = self.track(after.stream)?;
        if after.place >= track.next || (track.over && after.place + 1 == track.next) {
            return None;
        }
        track.reader += 1;
        Some((track.reader, track.waiting.take()))
    }

    /// The first event that is kept after this one.
    pub(crate) fn poll(&mut self, after: EventId, reader: u64, task: &Task<'_>) -> Poll<Found> {
        let Some(track) = self.track(after.stream) else {
            return Poll::Ready(Found::Over);
        };
        if track.reader != reader {
            return Poll::Ready(Found::Over);
        }
        let first = track.next - track.events.len() as u64;
        let place = after.place.saturating_add(1).max(first);
        let at = usize::try_from(place - first).unwrap_or(usize::MAX);
        if let Some(message) = track.events.get(at) {
            let stream = after.stream;
            return Poll::Ready(Found::Event(EventId { stream, place }, message.clone()));
        }
        if track.over {
            return Poll::Ready(Found::Over);
        }
        track.waiting = Some(task.waker().clone());
        Poll::Pending
    }

    /// Forgets a stream.
    pub(crate) fn close(&mut self, stream: u64) {
        let Some(at) = self.tracks.iter().position(|track| track.stream == stream) else {
            return;
        };
        if let Some(track) = self.tracks.remove(at) {
            let bytes = track.bytes();
            self.events -= track.events.len();
            self.bytes -= bytes;
            if let Some(total) = &self.total {
                total.sub(TRACK + bytes, track.over);
            }
            track.waiting.into_iter().for_each(Waker::wake);
        }
        if self.tracks.is_empty() {
            self.tracks = VecDeque::new(); // an idle session keeps nothing
        }
    }

    /// Forgets of its open streams what may be, the oldest first, while those of all sessions keep too
    /// much.
    pub(crate) fn shrink(&mut self) {
        while self.total.as_ref().is_some_and(|total| total.is_full()) && self.forget_event() {}
    }

    /// Forgets the oldest event that may be, of the oldest streams first. The newest of each stream
    /// is kept, as it is the answer or will be followed by it, and so is the stream that is written;
    /// one that is over may go as a whole.
    fn forget_one(&mut self, writing: u64) -> bool {
        let over = |track: &Track| track.over && track.stream != writing;
        if let Some(stream) = self
            .tracks
            .iter()
            .find(|track| over(track))
            .map(|track| track.stream)
        {
            self.close(stream);
            return true;
        }
        self.forget_event()
    }

    fn forget_event(&mut self) -> bool {
        let long = |track: &&mut Track| track.events.len() > 1 && !track.over;
        let Some(track) = self.tracks.iter_mut().find(long) else {
            return false;
        };
        if let Some(event) = track.events.pop_front() {
            self.events -= 1;
            self.bytes -= event.len();
            if let Some(total) = &self.total {
                total.sub(event.len(), false);
            }
        }
        true
    }

    fn track(&mut self, stream: u64) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| track.stream == stream)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(total) = &self.total {
            for track in &self.tracks {
                total.sub(TRACK + track.bytes(), track.over);
            }
        }
    }
}

/// How much one session keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Wake;

    use super::*;

    const WIDE: Bounds = Bounds {
        events: 100,
        bytes: 1000,
    };

    fn say(replay: &mut Replay, stream: u64, text: &str, bounds: Bounds) -> String {
        let message = Bytes::copy_from_slice(text.as_bytes());
        replay.record(stream, message, bounds).id.to_string()
    }

    fn open(replay: &mut Replay) -> u64 {
        replay.open(&Arc::new(Total::new(1 << 20)))
    }

    fn is_there(replay: &mut Replay, after: &str) -> bool {
        let after = EventId::read(after.as_bytes()).expect("an id");
        replay.read(after).is_some()
    }

    /// What is there to read now.
    fn rest(replay: &mut Replay, after: &str) -> (Vec<String>, bool) {
        let mut last = EventId::read(after.as_bytes()).expect("an id");
        let Some((reader, _)) = replay.read(last) else {
            return (Vec::new(), true);
        };
        let mut found = Vec::new();
        loop {
            match replay.poll(last, reader, &Task::from_waker(Waker::noop())) {
                Poll::Pending => return (found, false),
                Poll::Ready(Found::Over) => return (found, true),
                Poll::Ready(Found::Event(id, message)) => {
                    last = id;
                    found.push(format!("{id} {}", String::from_utf8_lossy(&message)));
                }
            }
        }
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        for (text, id) in [("1-0", Some((1, 0))), ("12-345", Some((12, 345)))] {
            let read = EventId::read(text.as_bytes());
            assert_eq!(read.map(|id| (id.stream, id.place)), id);
            assert_eq!(read.expect("an id").to_string(), text);
        }
        for text in ["", "1", "-", "1-", "-1", "1-2-3", "+1-2", "1-x", "1--2"] {
            assert_eq!(EventId::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_reader_hears_the_rest_of_its_stream_and_of_no_other() {
        let mut replay = Replay::default();
        let (one, two) = (open(&mut replay), open(&mut replay));
        assert_eq!(say(&mut replay, one, "a", WIDE), "1-1");
        assert_eq!(say(&mut replay, two, "x", WIDE), "2-1");
        assert_eq!(say(&mut replay, one, "b", WIDE), "1-2");
        let all = vec!["1-1 a".to_owned(), "1-2 b".to_owned()];
        assert_eq!(rest(&mut replay, "1-0"), (all.clone(), false));
        assert_eq!(rest(&mut replay, "1-1"), (all[1..].to_vec(), false));
        assert_eq!(rest(&mut replay, "1-2"), (Vec::new(), false));
        let ahead = format!("1-{}", u64::MAX);
        assert!(!is_there(&mut replay, "1-3") && !is_there(&mut replay, &ahead));
        replay.end(one);
        assert_eq!(rest(&mut replay, "1-0"), (all, true));
        assert!(is_there(&mut replay, "1-1"));
        assert!(!is_there(&mut replay, "1-2"), "nothing is left of it");
        assert!(!is_there(&mut replay, "3-0"));
        replay.close(one);
        assert!(!is_there(&mut replay, "1-0"));
    }

    #[test]
    fn the_newest_reader_is_the_only_one() {
        let mut replay = Replay::default();
        let stream = open(&mut replay);
        let start = EventId { stream, place: 0 };
        let (before, _) = replay.read(start).expect("it is there");
        let (now, _) = replay.read(start).expect("it is there");
        say(&mut replay, stream, "a", WIDE);
        let task = Task::from_waker(Waker::noop());
        assert_eq!(replay.poll(start, before, &task), Poll::Ready(Found::Over));
        assert!(replay.poll(start, now, &task).is_ready());
    }

    #[test]
    fn whoever_began_to_read_is_woken_by_a_later_reader_and_reads_no_more() {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Waker::from(woken.clone());
        let task = Task::from_waker(&waker);
        let mut replay = Replay::default();
        let stream = open(&mut replay);
        assert!(!replay.is_overtaken(stream, &task));
        let message = Bytes::from_static(b"a");
        let recorded = replay.record(stream, message.clone(), WIDE);
        assert!(!recorded.overtaken);
        assert!(recorded.waiting.is_none(), "it has written that itself");
        let after = recorded.id;
        let (reader, before) = replay.read(after).expect("it is there");
        before.expect("it waits").wake();
        assert_eq!(woken.0.load(Relaxed), 1);
        assert!(replay.is_overtaken(stream, &task));
        assert!(replay.poll(after, reader, &task).is_pending());
        let recorded = replay.record(stream, message, WIDE);
        assert!(recorded.overtaken);
        assert!(recorded.waiting.is_some(), "who reads it now");
        assert!(!replay.is_overtaken(9, &task), "there is no such stream");
    }

    #[test]
    fn the_oldest_events_are_forgotten_and_never_a_last_one() {
        let tight = Bounds {
            events: 3,
            bytes: 10,
        };
        let mut replay = Replay::default();
        let (done, running) = (open(&mut replay), open(&mut replay));
        say(&mut replay, done, "answer", tight);
        replay.end(done);
        for text in ["a", "b", "c"] {
            say(&mut replay, running, text, tight);
        }
        assert!(!is_there(&mut replay, "1-0"), "it was over");
        say(&mut replay, running, "d", tight);
        let kept = ["2-2 b", "2-3 c", "2-4 d"].map(str::to_owned).to_vec();
        assert_eq!(rest(&mut replay, "2-0"), (kept, false));
        say(&mut replay, running, &"x".repeat(50), tight);
        assert_eq!(rest(&mut replay, "2-0").0.len(), 1);
        assert_eq!((replay.events, replay.bytes), (1, 50));
        replay.close(running);
        assert_eq!((replay.events, replay.bytes), (0, 0));
    }
}
