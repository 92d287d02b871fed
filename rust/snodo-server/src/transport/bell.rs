//! Waking a thread that waits for a file: a waker it can put beside the file in one `poll`.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Wake;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

const AWAKE: u8 = 0;
const RUNG: u8 = 1;
const ASLEEP: u8 = 2;

/// Rings for one thread. Costs a system call only while that thread sleeps.
#[derive(Debug)]
pub(crate) struct Bell {
    state: AtomicU8,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe()?;
        Ok(Self {
            state: AtomicU8::new(AWAKE),
            reader,
            writer,
        })
    }

    pub(crate) fn ring(&self) {
        if self.state.swap(RUNG, Ordering::AcqRel) == ASLEEP {
            // At most one byte is in the pipe for each sleep, so this does not block.
            let _ = (&self.writer).write(&[0]);
        }
    }

    /// Sleeps until the bell has rung, `file` can be read (if given; its end counts) or `until` is
    /// reached. Says whether the file can be read.
    pub(crate) fn sleep(&self, file: Option<&File>, until: Option<Instant>) -> io::Result<bool> {
        let asleep = self
            .state
            .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        let patience = match until {
            _ if !asleep => Some(Duration::ZERO),
            Some(until) => Some(until.saturating_duration_since(Instant::now())),
            None => None,
        };
        let timeout = patience.map(|time| Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let bell = PollFd::new(&self.reader, PollFlags::IN);
        let (mut one, mut two);
        let polled: &mut [PollFd<'_>] = if let Some(file) = file {
            two = [bell, PollFd::new(file, PollFlags::IN)];
            &mut two
        } else {
            one = [bell];
            &mut one
        };
        match poll(polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [rung, readable] = [0, 1].map(|at| {
            polled
                .get(at)
                .is_some_and(|polled| !polled.revents().is_empty())
        });
        self.state.store(AWAKE, Ordering::Release);
        if rung {
            let _ = (&self.reader).read(&mut [0]);
        }
        Ok(readable)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_whoever_sleeps_and_whoever_is_about_to() {
        let bell = Arc::new(Bell::new().expect("a pipe"));
        let never = || Some(Instant::now() + Duration::from_secs(10));
        for _ in 0..100 {
            bell.ring();
            bell.ring();
            assert!(!bell.sleep(None, never()).expect("polled"));
            let ringer = bell.clone();
            let ringing = std::thread::spawn(move || ringer.ring());
            let begun = Instant::now();
            assert!(!bell.sleep(None, never()).expect("polled"));
            ringing.join().expect("no panic");
            assert!(begun.elapsed() < Duration::from_secs(5));
            // What is left of a ring may wake once more, not for ever.
            let soon = || Some(Instant::now() + Duration::from_millis(1));
            for _ in 0..2 {
                bell.sleep(None, soon()).expect("polled");
            }
            let begun = Instant::now();
            bell.sleep(None, soon()).expect("polled");
            assert!(begun.elapsed() >= Duration::from_millis(1));
        }
    }

    #[test]
    fn tells_when_a_file_can_be_read_or_has_ended() {
        let bell = Bell::new().expect("a pipe");
        let (reader, mut writer) = pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        assert!(!bell.sleep(Some(&file), soon()).expect("polled"));
        writer.write_all(b"x").expect("written");
        assert!(bell.sleep(Some(&file), None).expect("polled"));
        (&file).read_exact(&mut [0]).expect("read");
        drop(writer);
        assert!(bell.sleep(Some(&file), None).expect("polled"));
    }
}
