//! What may be said *during* a call: progress, log entries. How it is spelled is the dialect's business.

use crate::json::{write_float, write_int};
use crate::limits::{NOTICES, PROGRESS_MESSAGE_BYTES};
use crate::meta::LOG_LEVELS;

/// Something said before the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// How far the work is.
    Progress(Progress),
    /// What happened on the way.
    Log(Entry),
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done. Each report of a request is of more than the one before.
    pub done: Amount,
    /// How much there is, if known.
    pub total: Option<Amount>,
    /// For people.
    pub message: Option<String>,
}

impl Progress {
    /// A report whose message is cut to what may be sent.
    pub fn new(done: Amount, total: Option<Amount>, message: Option<String>) -> Self {
        Self {
            done,
            total,
            message: message.map(shortened),
        }
    }
}

/// A finite number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Written without a fraction.
    Int(i64),
    /// Written as floating-point numbers are; finite.
    Float(f64),
}

impl Amount {
    #[expect(clippy::cast_precision_loss, reason = "only compared")]
    fn value(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Int(value) => write_int(value, out),
            Self::Float(value) => write_float(value, out),
        }
    }
}

/// What happened on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// How grave it is.
    pub level: Level,
    /// Who says it.
    pub logger: Option<String>,
    /// JSON text of what is said.
    pub data: Vec<u8>,
}

/// How grave a log entry is, as syslog has it (RFC 5424, section 6.2.1): `debug` the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(usize);

impl Level {
    /// The level of a name on the wire.
    pub fn named(name: &str) -> Option<Self> {
        LOG_LEVELS.iter().position(|level| *level == name).map(Self)
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        LOG_LEVELS[self.0]
    }
}

/// What has been said of one request, which decides what may still be said.
#[derive(Debug, Default)]
pub struct Ledger {
    said: usize,
    last: Option<Progress>,
}

/// How much further a heart-beat is than what was reported last: nothing to look at, yet more.
const BEAT: f64 = 1e-6;

impl Ledger {
    /// Whether this may be said after everything before: progress goes up (MCP 2026-07-28, progress:
    /// the value MUST increase), and there is an end to it.
    pub fn admits(&mut self, notice: &Notice) -> bool {
        if let Notice::Progress(progress) = notice {
            let last = self.last.as_ref().map(|last| last.done.value());
            if last.is_some_and(|last| progress.done.value() <= last) {
                return false;
            }
        }
        if self.said >= NOTICES {
            return false;
        }
        self.said += 1;
        if let Notice::Progress(progress) = notice {
            self.last = Some(Progress {
                message: None,
                ..*progress
            });
        }
        true
    }

    /// A sign of life for a call that says nothing by itself: nothing done yet, or the last report and
    /// a trifle more. `None` where no number is left above the last.
    pub fn beat(&self) -> Option<Notice> {
        let (done, total) = match &self.last {
            None => (Amount::Int(0), None),
            Some(last) => {
                let done = last.done.value();
                // Added to a large number the trifle would be lost.
                let next = (done + BEAT).max(done.next_up());
                (Amount::Float(next), last.total)
            }
        };
        done.value().is_finite().then(|| {
            Notice::Progress(Progress {
                done,
                total,
                message: Some("still working".to_owned()),
            })
        })
    }
}

fn shortened(mut message: String) -> String {
    if message.len() > PROGRESS_MESSAGE_BYTES {
        let mut end = PROGRESS_MESSAGE_BYTES - '…'.len_utf8();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn progress(done: f64) -> Notice {
        Notice::Progress(Progress::new(Amount::Float(done), None, None))
    }

    #[test]
    fn levels_are_ordered_as_syslog_has_them() {
        let levels = LOG_LEVELS.map(|name| Level::named(name).expect("a level"));
        assert!(levels.is_sorted());
        assert_eq!(levels.map(Level::name), LOG_LEVELS);
        assert_eq!(Level::named("verbose"), None);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let long = "é".repeat(PROGRESS_MESSAGE_BYTES);
        let cut = Progress::new(Amount::Int(1), None, Some(long)).message;
        let cut = cut.expect("a message");
        assert!(cut.ends_with("é…") && cut.len() <= PROGRESS_MESSAGE_BYTES);
        assert!(cut.len() > PROGRESS_MESSAGE_BYTES - 5);
    }

    #[test]
    fn above_the_largest_number_there_is_no_sign_of_life() {
        let mut ledger = Ledger::default();
        assert_eq!(
            ledger.beat().map(|beat| ledger.admits(&beat)),
            Some(true),
            "nothing is done yet"
        );
        assert!(ledger.admits(&progress(f64::MAX)));
        assert_eq!(ledger.beat(), None);
    }

    #[test]
    fn there_is_an_end_to_what_is_said() {
        let mut ledger = Ledger::default();
        let entry = Notice::Log(Entry {
            level: Level::named("info").expect("a level"),
            logger: None,
            data: b"1".to_vec(),
        });
        assert!((0..NOTICES).all(|_| ledger.admits(&entry)));
        assert!(!ledger.admits(&entry));
        assert!(!ledger.admits(&progress(1.0)));
    }

    proptest! {
        #[test]
        fn progress_only_goes_up(reports in proptest::collection::vec(-1e300..1e300_f64, 0..50)) {
            let mut ledger = Ledger::default();
            let mut sent: Vec<f64> = Vec::new();
            for report in reports {
                if ledger.admits(&progress(report)) {
                    sent.push(report);
                }
                let beat = ledger.beat().expect("there are larger numbers");
                prop_assert!(ledger.admits(&beat));
                if let Notice::Progress(Progress { done, .. }) = beat {
                    sent.push(done.value());
                }
            }
            prop_assert!(sent.is_sorted_by(|a, b| a < b));
        }
    }
}
