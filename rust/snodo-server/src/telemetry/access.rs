//! The access log: a line of JSON for each message, in a buffer of its own for whoever writes it.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use snodo_core::json::write_string;
use snodo_core::limits::ACCESS_LINES;

use crate::telemetry::{Dispatch, End, Event, Sink};

/// Lines that wait to be written. Those that find no room are counted.
#[derive(Debug, Default)]
pub struct AccessLog(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    waiting: Vec<String>,
    dropped: u64,
}

impl AccessLog {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the lines that wait, and how many were dropped since it was done last.
    pub fn take(&self) -> (Vec<String>, u64) {
        let mut lines = self.lines();
        (
            std::mem::take(&mut lines.waiting),
            std::mem::take(&mut lines.dropped),
        )
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, line: impl FnOnce() -> String) {
        if self.lines().waiting.len() >= ACCESS_LINES {
            self.lines().dropped += 1;
            return;
        }
        let line = line(); // outside the lock
        self.lines().waiting.push(line);
    }
}

impl Sink for AccessLog {
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Stop(dispatch, duration, end) => self.note(|| line(dispatch, *duration, Some(end))),
            Event::Exception(dispatch, duration) => self.note(|| line(dispatch, *duration, None)),
            Event::Refused(status) => self.note(|| {
                let now = SystemTime::now();
                let time = timestamp(now.duration_since(UNIX_EPOCH).unwrap_or_default());
                format!(
                    r#"{{"time":"{time}","transport":"http","method":null,"component":null,"outcome":"refused","code":null,"status":{status},"duration_ms":null,"trace_id":null}}"#
                )
            }),
            _ => {}
        }
    }
}

fn line(dispatch: &Dispatch, duration: Duration, end: Option<&End>) -> String {
    let since = dispatch.system_time.duration_since(UNIX_EPOCH);
    let mut component = Vec::new();
    match &dispatch.component {
        Some(named) => write_string(&named.name, &mut component),
        None => component.extend_from_slice(b"null"),
    }
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let trace_id = dispatch.traceparent.as_ref().and_then(|it| it.get(3..35));
    let mut line = String::with_capacity(256);
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        r#"{{"time":"{}","transport":"{}","method":"{}","component":{},"outcome":"{}","code":{},"status":{},"duration_ms":{:.3},"trace_id":{}}}"#,
        timestamp(since.unwrap_or_default()),
        dispatch.transport(),
        dispatch.method(),
        String::from_utf8_lossy(&component),
        end.map_or("exception", End::flat),
        or_null(end.and_then(|end| Some(end.error_code?.to_string()))),
        or_null(
            end.filter(|_| dispatch.transport() == "http")
                .and_then(|end| Some(end.status?.to_string()))
        ),
        duration.as_secs_f64() * 1e3,
        or_null(trace_id.map(|id| format!("\"{id}\""))),
    );
    line
}

/// RFC 3339 in UTC, with milliseconds.
fn timestamp(since: Duration) -> String {
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The Gregorian date that is so many days after 1970-01-01. Years are counted from March, so that the
/// day that some of them have more is their last.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 0000-03-01
    let (era, of_era) = (days / ERA, days % ERA);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_write_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_399, "2000-02-28T23:59:59.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (951_868_800, "2000-03-01T00:00:00.250Z"),
            (1_796_054_539, "2026-11-30T16:02:19.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
        ] {
            let since = Duration::from_secs(seconds) + Duration::from_millis(250);
            assert_eq!(timestamp(since), text);
        }
    }

    #[test]
    fn lines_beyond_the_room_are_counted() {
        let log = AccessLog::new();
        for _ in 0..ACCESS_LINES + 3 {
            log.tell(&Event::Refused(403));
        }
        let (lines, dropped) = log.take();
        assert_eq!((lines.len(), dropped), (ACCESS_LINES, 3));
        assert_eq!(log.take(), (Vec::new(), 0));
    }
}
