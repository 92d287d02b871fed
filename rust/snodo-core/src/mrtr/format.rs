//! The formats that a text of a form may be held to.

use std::ops::Range;

use super::request::RequestError;
use crate::json::{Json, Object};
use crate::meta::is_absolute_uri;

/// Whether a text is what a format says.
pub(super) type Format = fn(&str) -> bool;

/// The format that a property of a form names, if it names one.
pub(super) fn format(property: &Object) -> Result<Option<Format>, RequestError> {
    Ok(Some(match property.get("format").map(Json::as_str) {
        None => return Ok(None),
        Some(Some("email")) => is_email,
        Some(Some("uri")) => is_absolute_uri,
        Some(Some("date")) => is_date,
        Some(Some("date-time")) => is_date_time,
        Some(_) => {
            let reason = "must be email, uri, date or date-time";
            return Err(RequestError::new(reason).under("format"));
        }
    }))
}

/// Whether something stands on both sides of an `@`: whether mail arrives there only mail can tell.
fn is_email(text: &str) -> bool {
    let sides = text.split_once('@');
    sides.is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@')
    }) && !text.contains(char::is_whitespace)
}

/// RFC 3339, section 5.6: `full-date`.
fn is_date(text: &str) -> bool {
    let (Some(year), Some(month), Some(day)) =
        (number(text, 0..4), number(text, 5..7), number(text, 8..10))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    text.len() == 10 && separated(text, &[(4, b'-'), (7, b'-')]) && (1..=days).contains(&day)
}

/// RFC 3339, section 5.6: `date-time`; its letters may be small ones.
fn is_date_time(text: &str) -> bool {
    let (Some(date), Some(time)) = (text.get(..10), text.get(11..)) else {
        return false;
    };
    let between = text.as_bytes()[10];
    let (Some(hour), Some(minute), Some(second)) =
        (number(time, 0..2), number(time, 3..5), number(time, 6..8))
    else {
        return false;
    };
    let in_day = hour < 24 && minute < 60 && second <= 60;
    let rest = &time[8..];
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
    };
    is_date(date)
        && between.eq_ignore_ascii_case(&b'T')
        && separated(time, &[(2, b':'), (5, b':')])
        && in_day
        && (zone.eq_ignore_ascii_case("Z") || is_offset(zone))
}

fn is_offset(zone: &str) -> bool {
    zone.len() == 6
        && zone.starts_with(['+', '-'])
        && separated(zone, &[(3, b':')])
        && number(zone, 1..3).is_some_and(|hours| hours < 24)
        && number(zone, 4..6).is_some_and(|minutes| minutes < 60)
}

/// The number that stands, in digits only, at a place of a text.
fn number(text: &str, at: Range<usize>) -> Option<u32> {
    let digits = text.get(at)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

fn separated(text: &str, separators: &[(usize, u8)]) -> bool {
    separators
        .iter()
        .all(|(at, separator)| text.as_bytes().get(*at) == Some(separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_what_rfc_3339_and_common_sense_say() {
        let cases: [(Format, &[&str], &[&str]); 3] = [
            (
                is_email,
                &["a@b", "ada@example.org", "é+x@münchen.example"],
                &["", "@", "a@", "@b", "a", "a b@c", "a@b@c", "a@b\n"],
            ),
            (
                is_date,
                &["2026-01-31", "2024-02-29", "2000-02-29", "0001-12-01"],
                &[
                    "",
                    "2026-02-29",
                    "1900-02-29",
                    "2026-13-01",
                    "2026-00-01",
                    "2026-01-00",
                    "2026-04-31",
                    "2026-1-1",
                    "2026-01-011",
                    "2026/01/01",
                    "+026-01-01",
                    "202é-01-1",
                ],
            ),
            (
                is_date_time,
                &[
                    "2026-01-31T23:59:59Z",
                    "2026-01-31t00:00:00z",
                    "2026-01-31T10:00:00.123456+14:00",
                    "2016-12-31T23:59:60Z",
                    "2026-01-31T10:00:00-00:30",
                ],
                &[
                    "",
                    "2026-01-31",
                    "2026-01-31T10:00:00",
                    "2026-01-31 10:00:00Z",
                    "2026-01-31T10:00Z",
                    "2026-01-31T24:00:00Z",
                    "2026-01-31T10:60:00Z",
                    "2026-01-31T10:00:61Z",
                    "2026-01-31T10:00:00.Z",
                    "2026-01-31T10:00:00+1:00",
                    "2026-01-31T10:00:00+24:00",
                    "2026-01-31T10:00:00+00:60",
                    "2026-01-31T10:00:00ZZ",
                    "2026-02-30T10:00:00Z",
                    "2026-01-31é10:00:00Z",
                    "2026-01-31T10:00:00é",
                    "2026-01-31T10-00-00Z",
                ],
            ),
        ];
        for (format, good, bad) in cases {
            for text in good {
                assert!(format(text), "{text}");
            }
            for text in bad {
                assert!(!format(text), "{text}");
            }
        }
    }
}
