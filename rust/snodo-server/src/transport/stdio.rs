//! Concurrent requests over one pair of pipes; cancellation by notification; output is ours alone.
//!
//! A thread reads, as nothing else can read a terminal, a file and a pipe alike without changing them
//! for the processes that share them. One task does the rest, so that it owns what is in flight.

use std::collections::HashMap;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use snodo_core::call::Call;
use snodo_core::context::{Arrival, Transport};
use snodo_core::envelope::Id;
use snodo_core::error::Error;
use snodo_core::pipeline::{Answer, Prepared};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::cancel::{CancelToken, Reason};
use crate::service::Service;
use crate::transport::framing::{Batch, Framer, Line};
use crate::transport::output::{Output, WriteError};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

/// Batches of lines that wait between the thread that reads and the task that serves.
const BATCHES: usize = 2;

/// How long the last answers may take to leave when the server is told to stop.
const FAREWELL: Duration = Duration::from_millis(200);

/// Serves until `input` ends or `shutdown` comes, and returns when what was admitted is answered or
/// out of time. An error means that the client cannot be written to any more.
pub async fn serve_stdio(
    service: Arc<Service>,
    input: File,
    output: File,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WriteError> {
    let limits = service.runtime().settings.limits.clone();
    let mut batches = read(input, limits.line_bytes)?;
    let output = Output::new(output, limits.line_bytes, limits.write_timeout)?;
    let mut session = Session::new(&service, output);
    // Only what still runs is waited for once there is nothing more to read.
    let patience = sleep(limits.eof_timeout);
    tokio::pin!(shutdown, patience);
    let mut batch = None;
    let mut open = true;
    loop {
        session.work(&mut batch).await;
        session.output.flush()?;
        if !open && batch.is_none() && session.running.is_empty() && session.output.is_empty() {
            return Ok(());
        }
        let has_room = session.output.has_room();
        tokio::select! {
            biased;
            () = shutdown.as_mut() => return session.stop().await,
            written = session.output.written(), if session.output.is_busy() => written?,
            answered = session.running.next(), if has_room && !session.running.is_empty() => {
                session.answered(answered);
            }
            next = batches.recv(), if open && batch.is_none() && has_room => {
                batch = next;
                if batch.is_none() {
                    open = false;
                    patience.as_mut().reset(tokio::time::Instant::now() + limits.eof_timeout);
                }
            }
            () = patience.as_mut(), if !open => return session.stop().await,
        }
    }
}

type Running<'s> = Pin<Box<dyn Future<Output = Done> + Send + 's>>;

/// A call that has ended: which, and with what answer.
type Done = (u64, Id, Option<Answer>);

struct Session<'s> {
    service: &'s Service,
    output: Output,
    running: FuturesUnordered<Running<'s>>,
    /// The requests whose answer somebody waits for, each with its place in the order of arrival:
    /// an id may be used again while a cancelled call of the same id still runs.
    in_flight: HashMap<Id, (u64, CancelToken)>,
    arrived: u64,
}

impl<'s> Session<'s> {
    fn new(service: &'s Service, output: Output) -> Self {
        Self {
            service,
            output,
            running: FuturesUnordered::new(),
            in_flight: HashMap::new(),
            arrived: 0,
        }
    }

    /// Does whatever can be done without waiting, as long as the reader of the output keeps up.
    async fn work(&mut self, batch: &mut Option<Batch>) {
        poll_fn(|context| {
            while self.output.has_room() {
                while let Poll::Ready(Some(done)) = self.running.poll_next_unpin(context) {
                    self.answered(Some(done));
                }
                let Some(line) = batch.as_mut().and_then(Batch::next) else {
                    *batch = None;
                    break;
                };
                match line {
                    Line::Text(text) => self.message(text),
                    Line::TooLong => self.refuse(None, &Error::invalid_request("Line is too long")),
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    fn message(&mut self, text: &[u8]) {
        let arrival = Arrival {
            transport: Transport::Stdio,
            headers: None,
            principal: None,
        };
        match self.service.prepare(text, arrival) {
            Prepared::Answer(answer) => self.output.push(&answer.body),
            Prepared::Call(call) => self.call(call),
            Prepared::Cancel(id) => {
                if let Some((_, token)) = self.in_flight.remove(&id) {
                    token.cancel(Reason::Client);
                }
            }
            Prepared::Silence => {}
        }
    }

    fn call(&mut self, call: Call) {
        let id = call.context.id.clone();
        if self.in_flight.contains_key(&id) {
            let error = Error::invalid_request("Duplicate in-flight request id");
            return self.refuse(Some(&id), &error);
        }
        let token = CancelToken::new();
        self.arrived += 1;
        let number = self.arrived;
        self.in_flight.insert(id.clone(), (number, token.clone()));
        let service = self.service;
        self.running.push(Box::pin(async move {
            (number, id, service.run(call, token).await)
        }));
    }

    fn answered(&mut self, done: Option<Done>) {
        let Some((number, id, answer)) = done else {
            return;
        };
        // Cancelled ones have left the table: whatever they still say is not sent.
        if self
            .in_flight
            .get(&id)
            .is_some_and(|(current, _)| *current == number)
        {
            self.in_flight.remove(&id);
            if let Some(answer) = answer {
                self.output.push(&answer.body);
            }
        }
    }

    fn refuse(&mut self, id: Option<&Id>, error: &Error) {
        let answer = self.service.refuse(id, error);
        self.output.push(&answer.body);
    }

    /// Stops what runs and writes what is already answered.
    async fn stop(mut self) -> Result<(), WriteError> {
        for (_, (_, token)) in self.in_flight.drain() {
            token.cancel(Reason::Shutdown);
        }
        let farewell = async {
            while !self.output.is_empty() {
                self.output.flush()?;
                if self.output.is_busy() {
                    self.output.written().await?;
                }
            }
            Ok(())
        };
        timeout(FAREWELL, farewell).await.unwrap_or(Ok(()))
    }
}

/// Starts the thread that reads. It cannot be stopped while it waits for input, and need not be:
/// it owns nothing, and it ends with the process.
fn read(mut input: File, line_bytes: usize) -> io::Result<mpsc::Receiver<Batch>> {
    let (batches, receiver) = mpsc::channel(BATCHES);
    thread::Builder::new()
        .name("snodo-stdin".to_owned())
        .spawn(move || {
            let mut framer = Framer::new(line_bytes);
            let mut chunk = vec![0; CHUNK];
            loop {
                match input.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => {
                        if let Some(batch) = framer.push(&chunk[..count])
                            && batches.blocking_send(batch).is_err()
                        {
                            return;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        tracing::error!("cannot read standard input: {error}");
                        break;
                    }
                }
            }
            if let Some(batch) = framer.finish() {
                let _ = batches.blocking_send(batch);
            }
        })?;
    Ok(receiver)
}
