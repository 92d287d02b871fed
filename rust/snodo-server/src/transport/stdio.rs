//! Concurrent requests over one pair of pipes; cancellation by notification; output is ours alone.
//!
//! One thread reads, drives what is in flight and writes, so that a message changes threads only
//! to reach its tool and to come back. It waits with `poll`, which takes a terminal, a file and a
//! pipe alike and does not change them for the processes that share them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, SelectAll};
use futures_util::{Stream, StreamExt};
use snodo_core::context::{Arrival, Transport};
use snodo_core::envelope::{self, Id};
use snodo_core::error::{Error, code};
use snodo_core::json::Json;
use snodo_core::pipeline::{Answer, Verdict, refuse};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::cancel::{CancelToken, Reason};
use crate::said::{Said, Speech};
use crate::service::{Listener, Prepared, Service, Settling, Work};
use crate::session::{Changes, Session as Client, Used};
use crate::transport::batches::Batches;
use crate::transport::bell::Bell;
use crate::transport::framing::{Batch, Framer, Line};
use crate::transport::output::{Output, WriteError};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

/// How many messages of requests that are answered by more than one are taken in a row.
const SPEECHES: usize = 64;

/// How long the last answers may take to leave when the server is told to stop.
const FAREWELL: Duration = Duration::from_millis(200);

/// Serves until `input` ends or `shutdown` comes, and returns when what was admitted is answered or
/// out of time. An error means that the client cannot be written to any more.
///
/// Give it an `input` that no other process reads, or a child can take a message away. `principal` is who
/// is at the other end, if anybody knows.
pub async fn serve_stdio(
    service: Arc<Service>,
    input: File,
    output: File,
    principal: Option<Json>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WriteError> {
    let stop = StopOnDrop {
        bell: Arc::new(Bell::new()?),
        told: Arc::default(),
    };
    let limits = service.limits();
    let output = Output::new(
        output,
        limits.line_bytes,
        limits.write_timeout,
        stop.bell.clone(),
    )?;
    let (bell, told) = (stop.bell.clone(), stop.told.clone());
    let (sender, mut ended) = oneshot::channel();
    let runtime = Handle::current();
    thread::Builder::new()
        .name("snodo-stdio".to_owned())
        .spawn(move || {
            // Deadlines of calls are timers of this runtime.
            let _entered = runtime.enter();
            let _ =
                sender.send(Session::new(&service, output, principal).serve(&input, &bell, &told));
        })?;
    let ended = tokio::select! {
        ended = &mut ended => Ok(ended),
        () = shutdown => {
            drop(stop);
            timeout(2 * FAREWELL, ended).await
        }
    };
    match ended {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(io::Error::other("the thread that serves stdio has panicked").into()),
        // It is inside a system call that does not return, which is no reason to stay.
        Err(_) => Ok(()),
    }
}

struct StopOnDrop {
    bell: Arc<Bell>,
    told: Arc<AtomicBool>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.told.store(true, Ordering::Release);
        self.bell.ring();
    }
}

type Running<'s> = Pin<Box<dyn Future<Output = Done> + Send + 's>>;

/// A call that has ended: which, and with what answer.
type Done = (u64, Id, Option<Answer>);

/// The messages of a request that is answered by more than one.
struct Speaking {
    number: u64,
    id: Id,
    /// `None` once the client has cancelled it.
    speech: Option<Box<dyn Speech>>,
    waker: Option<Waker>,
}

impl Speaking {
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

impl Stream for Speaking {
    type Item = (u64, Id, Said);

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(speech) = &mut self.speech else {
            return Poll::Ready(None);
        };
        // A panic is a bug of ours; it ends this request and not the connection's other ones.
        let polled = catch_unwind(AssertUnwindSafe(|| speech.poll_next_unpin(task)));
        let said = match polled {
            Ok(Poll::Ready(said)) => said,
            Ok(Poll::Pending) => {
                self.waker = Some(task.waker().clone());
                return Poll::Pending;
            }
            Err(_) => {
                self.speech = None;
                let error = Error::internal("Internal error");
                let verdict = Verdict::Error(error.code);
                Some(Said::Answer(refuse(Some(&self.id), &error, verdict)))
            }
        };
        let (number, id) = (self.number, &self.id);
        Poll::Ready(said.map(|said| (number, id.clone(), said)))
    }
}

struct Session<'s> {
    service: &'s Arc<Service>,
    principal: Option<Json>,
    output: Output,
    framer: Framer,
    batch: Option<Batch>,
    running: FuturesUnordered<Running<'s>>,
    speaking: SelectAll<Speaking>,
    /// The requests whose answer somebody waits for, each with its place in the order of arrival:
    /// an id may be used again while a cancelled call of the same id still runs.
    in_flight: HashMap<Id, (u64, CancelToken)>,
    arrived: u64,
    /// Whose messages they are that say nothing of it, once a client has opened with a handshake.
    client: Option<Arc<Client>>,
    changes: Option<Changes>,
    batches: Batches,
}

impl<'s> Session<'s> {
    fn new(service: &'s Arc<Service>, output: Output, principal: Option<Json>) -> Self {
        Self {
            service,
            principal,
            output,
            framer: Framer::new(service.limits().line_bytes),
            batch: None,
            running: FuturesUnordered::new(),
            speaking: SelectAll::new(),
            in_flight: HashMap::new(),
            arrived: 0,
            client: None,
            changes: None,
            batches: Batches::default(),
        }
    }

    fn serve(
        mut self,
        input: &File,
        bell: &Arc<Bell>,
        told: &AtomicBool,
    ) -> Result<(), WriteError> {
        let waker = Waker::from(bell.clone());
        let mut context = Context::from_waker(&waker);
        let mut chunk = vec![0; CHUNK];
        // When to go although something runs: set by the end of input.
        let mut end: Option<Instant> = None;
        loop {
            self.work(&mut context);
            let full = !self.output.has_room();
            self.output.flush()?;
            if told.load(Ordering::Acquire) || end.is_some_and(|end| Instant::now() >= end) {
                return self.stop(bell, &mut context);
            }
            if full && self.output.has_room() {
                // Work was left undone for want of room, and nothing will ring for it again.
                continue;
            }
            let idle = self.batch.is_none() && !self.is_busy() && self.output.is_empty();
            if end.is_some() && idle {
                return Ok(());
            }
            let wanted = end.is_none() && self.batch.is_none() && self.output.has_room();
            let until = [end, self.output.deadline()].into_iter().flatten().min();
            if bell.sleep(wanted.then_some(input), until)? && !self.read(input, &mut chunk) {
                end = Some(Instant::now() + self.service.limits().eof_timeout);
                self.end_speeches();
            }
        }
    }

    /// Takes in what has arrived. False at the end of input.
    fn read(&mut self, mut input: &File, chunk: &mut [u8]) -> bool {
        match input.read(chunk) {
            Ok(0) => {
                self.batch = self.framer.finish();
                return false;
            }
            Ok(count) => self.batch = self.framer.push(&chunk[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) =>
            {
                return true;
            }
            Err(error) => {
                tracing::error!("cannot read standard input: {error}");
                return false;
            }
        }
        true
    }

    /// Does whatever can be done without waiting, as long as the reader of the output keeps up.
    fn work(&mut self, context: &mut Context<'_>) {
        while self.output.has_room() {
            while let Poll::Ready(Some(done)) = self.running.poll_next_unpin(context) {
                self.answered(done);
            }
            let more = self.hear(context);
            match self.batch.as_mut().and_then(Batch::next) {
                Some(Line::Text(text)) => {
                    let mut arrival = Arrival::new(Transport::Stdio);
                    arrival.principal.clone_from(&self.principal);
                    if let Some(client) = &self.client {
                        client.sign(&mut arrival, true);
                    }
                    if let Some(messages) = self.service.batch(text, &arrival) {
                        self.take_batch(&messages, &arrival);
                    } else {
                        let prepared = self.service.prepare(text, arrival);
                        self.prepared(prepared);
                    }
                }
                Some(Line::TooLong(beginning)) => {
                    // A client that learns no id waits for its answer for ever.
                    let limits = self.service.limits();
                    let id = envelope::peek_id(beginning, limits);
                    let text = format!("Line is longer than {} bytes", limits.line_bytes);
                    self.refuse(id.as_ref(), &Error::invalid_request(text));
                }
                None => {
                    self.batch = None;
                    if !more {
                        break;
                    }
                }
            }
        }
    }

    /// Takes some of what is said, so that whoever says much does not keep the others from being
    /// heard. Whether there may be more.
    fn hear(&mut self, context: &mut Context<'_>) -> bool {
        let changes = self.changes.as_mut();
        if let Some(Poll::Ready(said)) = changes.map(|changes| changes.poll_next_unpin(context)) {
            match said {
                Some(Said::Notice(message)) => self.output.push(&message),
                _ => self.changes = None,
            }
            return true;
        }
        for _ in 0..SPEECHES {
            match self.speaking.poll_next_unpin(context) {
                Poll::Ready(Some((number, id, Said::Answer(answer)))) => {
                    self.answered((number, id, Some(answer)));
                }
                Poll::Ready(Some((number, id, Said::Notice(message)))) => {
                    if self.is_wanted(number, &id) {
                        self.output.push(&message);
                    }
                }
                Poll::Ready(Some((_, _, Said::Question(message)))) => self.output.push(&message),
                Poll::Ready(None) | Poll::Pending => return false,
            }
        }
        true
    }

    fn prepared(&mut self, prepared: Prepared) {
        self.begin_changes();
        match prepared {
            Prepared::Answer(answer) => self.say(answer),
            Prepared::Open { answer, peer } => {
                let before = self
                    .client
                    .replace(Arc::new(Client::new(peer, self.principal.clone())));
                self.changes = None;
                if let Some(before) = before {
                    before.end();
                    before.forsake();
                }
                self.say(answer);
            }
            Prepared::Settle(settling) => self.settle(settling),
            Prepared::Reply(reply) => {
                if let Some(client) = &self.client {
                    client.settle(reply);
                }
            }
            Prepared::Work(work) => self.run(work),
            Prepared::Listen(listen) => self.subscribe(listen),
            Prepared::Cancel(id) => {
                if let Some((number, token)) = self.in_flight.remove(&id) {
                    token.cancel(Reason::Client);
                    self.silence(number);
                    if let Some(answers) = self.batches.leave(number) {
                        self.output.push(&answers);
                    }
                }
            }
            Prepared::Silence => {}
        }
    }

    fn settle(&mut self, settling: Settling) {
        let id = settling.id().clone();
        let Some((number, _)) = self.begin(&id) else {
            return settling.refused(code::INVALID_REQUEST);
        };
        let client = self.client.clone();
        self.running.push(Box::pin(async move {
            (number, id, Some(settling.within(client.as_deref()).await))
        }));
    }

    fn run(&mut self, work: Work) {
        let id = work.id().clone();
        let Some((number, token)) = self.begin(&id) else {
            return work.refused(code::INVALID_REQUEST);
        };
        let service = self.service;
        let work = match &self.client {
            Some(client) => work.within(client.clone()),
            None => work,
        };
        if work.wants_notices() || work.may_ask() {
            let speech = service.clone().converse(work, token);
            return self.listen(number, id, speech);
        }
        self.running.push(Box::pin(async move {
            (number, id, service.run(work, token).await)
        }));
    }

    fn subscribe(&mut self, listen: Listener) {
        let id = listen.id().clone();
        let Some((number, _)) = self.begin(&id) else {
            return listen.refused(code::INVALID_REQUEST);
        };
        match self.service.listen(listen) {
            Ok(speech) => self.listen(number, id, speech),
            Err(answer) => self.answered((number, id, Some(answer))),
        }
    }

    /// Takes a request in, unless another one of its id is under way.
    fn begin(&mut self, id: &Id) -> Option<(u64, CancelToken)> {
        if self.in_flight.contains_key(id) {
            let error = Error::invalid_request("Duplicate in-flight request id");
            self.refuse(Some(id), &error);
            return None;
        }
        self.arrived += 1;
        let token = CancelToken::new();
        self.in_flight
            .insert(id.clone(), (self.arrived, token.clone()));
        self.batches.enter(self.arrived);
        Some((self.arrived, token))
    }

    fn listen(&mut self, number: u64, id: Id, speech: impl Speech) {
        self.speaking.push(Speaking {
            number,
            id,
            speech: Some(Box::new(speech)),
            waker: None,
        });
    }

    /// Ends the messages of a request that was cancelled.
    fn silence(&mut self, number: u64) {
        for speaking in &mut self.speaking {
            if speaking.number == number {
                speaking.speech = speaking.speech.take().filter(|speech| speech.cancelled());
                speaking.wake();
            }
        }
    }

    /// Lets come to an end what would go on by itself.
    fn end_speeches(&mut self) {
        for speaking in &mut self.speaking {
            if let Some(speech) = &mut speaking.speech {
                speech.end();
                speaking.wake();
            }
        }
    }

    fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.speaking.is_empty()
    }

    fn answered(&mut self, (number, id, answer): Done) {
        if self.is_wanted(number, &id) {
            self.in_flight.remove(&id);
            let body = answer.map(|answer| answer.body);
            if let Some(body) = self.batches.answer(number, body) {
                self.output.push(&body);
            }
        }
    }

    /// Answers what needed no call.
    fn say(&mut self, answer: Answer) {
        if let Some(body) = self.batches.say(answer.body) {
            self.output.push(&body);
        }
    }

    /// Tells the client of changes, from its first message after the handshake on: it is to hear of
    /// nothing before.
    fn begin_changes(&mut self) {
        if let Some(client) = &self.client
            && self.changes.is_none()
        {
            self.changes = self.service.changes(client, Transport::Stdio);
        }
    }

    /// Takes in messages that came together, whose answers leave together.
    fn take_batch(&mut self, messages: &[Vec<u8>], arrival: &Arrival) {
        self.batches.begin();
        for message in messages {
            let prepared = self.service.prepare(message, arrival.clone());
            self.prepared(prepared);
        }
        if let Some(answers) = self.batches.end() {
            self.output.push(&answers);
        }
    }

    /// Cancelled requests have left the table: whatever they still say is not sent.
    fn is_wanted(&self, number: u64, id: &Id) -> bool {
        self.in_flight
            .get(id)
            .is_some_and(|(current, _)| *current == number)
    }

    fn refuse(&mut self, id: Option<&Id>, error: &Error) {
        let answer = self.service.refuse(id, error);
        self.say(answer);
    }

    /// Stops what runs and writes what is already answered.
    fn stop(mut self, bell: &Bell, context: &mut Context<'_>) -> Result<(), WriteError> {
        self.end_speeches();
        while self.output.has_room() && self.hear(context) {}
        for (_, (_, token)) in self.in_flight.drain() {
            token.cancel(Reason::Shutdown);
        }
        let end = Instant::now() + FAREWELL;
        loop {
            self.output.flush()?;
            if self.output.is_empty() || Instant::now() >= end {
                return Ok(());
            }
            bell.sleep(None, Some(end))?;
        }
    }
}
