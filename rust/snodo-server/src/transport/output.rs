//! Lines out: whole, in one write where several are ready, and never waiting for a slow reader.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PIPE_BUF;

use crate::transport::bell::Bell;

/// Why nothing more can be written. Both are final: nobody knows how much the reader has seen.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The reader is gone.
    #[error("cannot write to the client: {0}")]
    Failed(#[from] io::Error),
    /// The reader is there and does not read.
    #[error("the client does not read what is written to it")]
    Stalled,
}

/// The one writer of a stream.
///
/// What a pipe takes without blocking is written at once, by whoever calls: a hand-over to another
/// thread costs more than the write. The rest goes to a thread that may block.
pub(crate) struct Output {
    file: Arc<File>,
    /// Whole lines that nobody writes yet.
    lines: Vec<u8>,
    /// What the thread writes next.
    thread: Sender<Vec<u8>>,
    /// The thread has written all of it, or cannot.
    written: Receiver<io::Result<()>>,
    /// The thread is writing.
    busy: bool,
    /// Counts what the thread gets written.
    progress: Arc<AtomicU64>,
    /// What `progress` was when patience began.
    seen: u64,
    /// When it ends, unless there is progress.
    patience: Instant,
    write_timeout: Duration,
    room: usize,
}

/// How much the thread writes at a time; what is written of it counts as progress.
const PIECE: usize = 16 << 10;

impl Output {
    /// `room`: bytes that may wait before [`Self::has_room`] says no. `bell` rings when a call of
    /// [`Self::flush`] can do more than the last one could.
    pub(crate) fn new(
        file: File,
        room: usize,
        write_timeout: Duration,
        bell: Arc<Bell>,
    ) -> io::Result<Self> {
        let file = Arc::new(file);
        let progress = Arc::new(AtomicU64::new(0));
        let (thread, work) = channel::<Vec<u8>>();
        let (done, written) = channel();
        let (sink, count) = (file.clone(), progress.clone());
        thread::Builder::new()
            .name("snodo-stdout".to_owned())
            .spawn(move || {
                for lines in work {
                    let result = lines.chunks(PIECE).try_for_each(|piece| {
                        (&*sink).write_all(piece)?;
                        count.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    });
                    if done.send(result).is_err() {
                        break;
                    }
                    bell.ring();
                }
            })?;
        Ok(Self {
            file,
            lines: Vec::new(),
            thread,
            written,
            busy: false,
            progress,
            seen: 0,
            patience: Instant::now(),
            write_timeout,
            room,
        })
    }

    /// Adds a line, to be written by the next [`Self::flush`].
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
    }

    /// Whether the reader keeps up well enough to produce more for it.
    pub(crate) fn has_room(&self) -> bool {
        self.lines.len() < self.room
    }

    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.busy
    }

    /// When [`Self::flush`] is to be called again, if nothing else happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.busy.then_some(self.patience)
    }

    /// Gets what waits on its way; fails when it cannot be written or gets nowhere. Never blocks.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        if self.busy {
            self.check()?;
        }
        if self.busy || self.lines.is_empty() {
            return Ok(());
        }
        let mut done = 0;
        while done < self.lines.len() && takes_a_piece(&self.file) {
            let end = self.lines.len().min(done + PIPE_BUF);
            match (&*self.file).write(&self.lines[done..end]) {
                Ok(0) => return Err(io::Error::from(ErrorKind::WriteZero).into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        if done == self.lines.len() {
            self.lines.clear();
            return Ok(());
        }
        let rest = self.lines.split_off(done);
        self.lines = Vec::new();
        self.be_patient();
        self.busy = self.thread.send(rest).is_ok();
        if self.busy { Ok(()) } else { Err(broken()) }
    }

    /// What has become of what the thread writes.
    fn check(&mut self) -> Result<(), WriteError> {
        match self.written.try_recv() {
            Ok(result) => {
                self.busy = false;
                return Ok(result?);
            }
            Err(TryRecvError::Disconnected) => return Err(broken()),
            Err(TryRecvError::Empty) => {}
        }
        if self.progress.load(Ordering::Relaxed) != self.seen {
            self.be_patient();
        } else if Instant::now() >= self.patience {
            return Err(WriteError::Stalled);
        }
        Ok(())
    }

    fn be_patient(&mut self) {
        self.seen = self.progress.load(Ordering::Relaxed);
        self.patience = Instant::now() + self.write_timeout;
    }
}

/// The thread that writes is gone.
fn broken() -> WriteError {
    io::Error::from(ErrorKind::BrokenPipe).into()
}

/// Whether `PIPE_BUF` bytes can be written without blocking: a pipe that polls as writable has room
/// for as many, a socket and a file have more.
fn takes_a_piece(file: &File) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
