//! An argument whose values can be completed, as data.

use std::collections::HashSet;

use crate::json::write_string;
use crate::limits::COMPLETION_VALUES;
use crate::outcome::Value;

/// An argument of a prompt or a template that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completable {
    /// Its name.
    pub argument: String,
    /// All of its values, if they are known: then no handler is needed.
    pub values: Option<Vec<String>>,
}

impl Completable {
    /// Which of the known values begin with `typed`, whatever the case of the letters.
    pub(crate) fn complete(values: &[String], typed: &str) -> Value {
        let typed = typed.to_lowercase();
        let mut encoded = b"[".to_vec();
        let mut total = 0;
        for value in values
            .iter()
            .filter(|value| value.to_lowercase().starts_with(&typed))
        {
            total += 1;
            if total <= COMPLETION_VALUES {
                if total > 1 {
                    encoded.push(b',');
                }
                write_string(value, &mut encoded);
            }
        }
        encoded.push(b']');
        Value::Completion {
            values: encoded,
            total: u64::try_from(total).ok(),
            has_more: Some(total > COMPLETION_VALUES),
        }
    }
}

/// Whether the names are unique, not empty, and declared.
pub(super) fn check_completions(
    completions: &[Completable],
    declared: impl Fn(&str) -> bool,
) -> Result<(), ()> {
    let mut seen = HashSet::new();
    let good = completions.iter().all(|completable| {
        let name = completable.argument.as_str();
        !name.is_empty() && declared(name) && seen.insert(name)
    });
    if good { Ok(()) } else { Err(()) }
}
