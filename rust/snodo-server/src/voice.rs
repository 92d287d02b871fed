//! The way to say something before the answer, and the two together as one stream of messages.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use futures_util::Stream;
use futures_util::task::AtomicWaker;
use snodo_core::context::Context;
use snodo_core::limits::{NOTICE_BYTES_PENDING, NOTICES_PENDING};
use snodo_core::notice::{Ledger, Notice};
use snodo_core::pipeline::Answer;
use tokio::time::{Instant, Sleep, sleep};

use crate::cancel::{CancelToken, Reason};
use crate::said::Said;

/// Speaks to the client of one request while it is served, from any thread. Never blocks: a client
/// that reads slowly misses intermediate progress.
#[derive(Clone)]
pub struct Voice(Arc<Inner>);

struct Inner {
    context: Arc<Context>,
    state: Mutex<State>,
    ear: AtomicWaker,
    /// Says stop when no answer of the client can arrive any more.
    deaf: CancelToken,
}

#[derive(Default)]
struct State {
    ledger: Ledger,
    pending: VecDeque<Notice>,
    /// Bytes of the log entries that are pending.
    bytes: usize,
    /// Requests to the client and their withdrawals, each with how many notices go before it. They
    /// are as few as a session may have open, and none is left out.
    questions: VecDeque<(usize, Vec<u8>)>,
    over: bool,
}

impl Voice {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self(Arc::new(Inner {
            context,
            state: Mutex::default(),
            ear: AtomicWaker::new(),
            deaf: CancelToken::new(),
        }))
    }

    /// The server takes no more messages, so whoever waits for an answer waits in vain.
    pub(crate) fn deafen(&self) {
        self.0.deaf.cancel(Reason::Shutdown);
    }

    /// Waits until there is nothing to wait for any more.
    pub(crate) async fn deafened(&self) {
        self.0.deaf.stopped().await;
    }

    /// Whether the client wants to hear it; asked before something is made for nothing.
    pub fn wants(&self, notice: &Notice) -> bool {
        self.0.context.wants(notice)
    }

    /// Says something, if the client wants to hear it and the request is not over.
    pub fn say(&self, notice: Notice) {
        if !self.wants(&notice) {
            return;
        }
        let mut state = self.state();
        if state.over || !state.ledger.admits(&notice) {
            return;
        }
        state.push(notice);
        let first = state.pending.len() == 1;
        drop(state);
        if first {
            self.0.ear.wake();
        }
    }

    /// Sends a request to the client, after everything that has been said, or withdraws one.
    pub(crate) fn ask(&self, message: Vec<u8>) {
        let mut state = self.state();
        let before = state.pending.len();
        state.questions.push_back((before, message));
        drop(state);
        self.0.ear.wake();
    }

    /// From here on nothing is said. What was said before still can be heard.
    fn end(&self) {
        self.state().over = true;
    }

    /// The next message, if there is one.
    fn take(&self) -> Option<Said> {
        let mut state = self.state();
        if let Some((0, _)) = state.questions.front() {
            return state
                .questions
                .pop_front()
                .map(|(_, message)| Said::Question(message));
        }
        let notice = state.pop()?;
        drop(state);
        let mut message = Vec::with_capacity(128);
        let context = &self.0.context;
        context.dialect.notice(context, &notice, &mut message);
        Some(Said::Notice(message))
    }

    /// What is left to say to a client that has cancelled the request.
    fn take_question(&self) -> Option<Said> {
        let question = self.state().questions.pop_front();
        question.map(|(_, message)| Said::Question(message))
    }

    fn poll_take(&self, task: &Task<'_>) -> Poll<Said> {
        if let Some(message) = self.take() {
            return Poll::Ready(message);
        }
        self.0.ear.register(task.waker());
        // Said between the two lines: nobody wakes for it again.
        self.take().map_or(Poll::Pending, Poll::Ready)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, notice: Notice) {
        self.bytes += size(&notice);
        self.pending.push_back(notice);
        while self.pending.len() > NOTICES_PENDING || self.bytes > NOTICE_BYTES_PENDING {
            self.forget_one();
        }
    }

    fn pop(&mut self) -> Option<Notice> {
        let notice = self.pending.pop_front()?;
        self.bytes -= size(&notice);
        self.one_less(0);
        Some(notice)
    }

    /// Leaves out the oldest progress, which a later one makes superfluous, or else the oldest entry.
    fn forget_one(&mut self) {
        let too_many = self.bytes <= NOTICE_BYTES_PENDING;
        let is_progress = |notice: &Notice| matches!(notice, Notice::Progress(_));
        let at = self.pending.iter().position(is_progress);
        let at = at.filter(|at| too_many && at + 1 < self.pending.len());
        let at = at.or_else(|| self.pending.iter().position(|notice| !is_progress(notice)));
        let at = at.unwrap_or(0);
        if let Some(notice) = self.pending.remove(at) {
            self.bytes -= size(&notice);
            self.one_less(at);
        }
    }

    /// A notice has left this place.
    fn one_less(&mut self, at: usize) {
        for (before, _) in &mut self.questions {
            *before -= usize::from(*before > at);
        }
    }
}

fn size(notice: &Notice) -> usize {
    match notice {
        Notice::Progress(_) => 0,
        Notice::Log(entry) => entry.data.len() + entry.logger.as_ref().map_or(0, String::len),
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

/// A call whose client hears what is said on the way. A stream that ends with the answer, or without
/// one if the client cancelled. Dropping it cancels the call.
pub struct Conversation {
    voice: Voice,
    running: Option<Running>,
    answer: Option<Answer>,
    heartbeat: Option<Heartbeat>,
    asks: bool,
}

type Running = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

impl Conversation {
    pub(crate) fn new(voice: Voice, running: Running, heartbeat: Option<Duration>) -> Self {
        Self {
            voice,
            running: Some(running),
            answer: None,
            heartbeat: heartbeat.map(Heartbeat::new),
            asks: false,
        }
    }

    /// Lets the call ask the client.
    pub(crate) fn asking(mut self, asks: bool) -> Self {
        self.asks = asks;
        self
    }

    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// The server is about to stop: the call has its time to finish, but is answered nothing.
    pub(crate) fn end(&self) {
        self.voice.deafen();
    }
}

impl Stream for Conversation {
    type Item = Said;

    fn poll_next(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Said>> {
        let this = self.get_mut();
        if let Some(running) = &mut this.running
            && let Poll::Ready(answer) = running.as_mut().poll(task)
        {
            // Nothing is said after the answer; what was said before it leaves before it.
            this.voice.end();
            this.running = None;
            this.answer = answer;
        }
        if this.running.is_none() {
            // Without an answer it was cancelled: nothing else may be sent any more.
            let left = match this.answer {
                Some(_) => this.voice.take(),
                None => this.voice.take_question(),
            };
            return Poll::Ready(left.or_else(|| this.answer.take().map(Said::Answer)));
        }
        loop {
            if let Poll::Ready(said) = this.voice.poll_take(task) {
                if let Some(heartbeat) = &mut this.heartbeat {
                    heartbeat.begin_again();
                }
                return Poll::Ready(Some(said));
            }
            match &mut this.heartbeat {
                None => return Poll::Pending,
                Some(heartbeat) => {
                    ready!(heartbeat.sleep.as_mut().poll(task));
                    heartbeat.begin_again();
                    let beat = this.voice.state().ledger.beat();
                    if let Some(beat) = beat {
                        this.voice.say(beat);
                    }
                }
            }
        }
    }
}

/// Signs of life for a call that says nothing by itself.
struct Heartbeat {
    every: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Heartbeat {
    fn new(every: Duration) -> Self {
        Self {
            every,
            sleep: Box::pin(sleep(every)),
        }
    }

    fn begin_again(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.every);
    }
}
