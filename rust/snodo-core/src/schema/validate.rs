//! A value against a compiled validator, and what to say when it is refused.

use jsonschema::Validator;

use super::node::{Diagnosis, Ours};
use super::rule::{Context, Failure, explain};
use crate::limits::{FAILURES_EXAMINED, FAILURES_TOLD};

/// Why a value is refused: at most [`FAILURES_TOLD`] failures, none twice, none if it is accepted.
pub(super) fn failures(validator: &Validator<Ours>, context: Context<'_>) -> Vec<Failure> {
    if validator.is_valid(context.value) {
        return Vec::new();
    }
    let diagnosis = Diagnosis::new(context.value, FAILURES_EXAMINED);
    let mut told: Vec<Failure> = Vec::new();
    for error in validator.iter_errors(diagnosis.view()) {
        for failure in explain(&error, Some(context)) {
            if told.len() == FAILURES_TOLD {
                return told;
            }
            if !told.contains(&failure) {
                told.push(failure);
            }
        }
    }
    if told.is_empty() {
        told.push(Failure {
            path: Vec::new(),
            rule: "does not match the schema".to_owned(),
        });
    }
    told
}

/// The text of a tool failure: one line for each.
pub(super) fn text(failures: &[Failure]) -> String {
    let lines = failures.iter().map(|failure| {
        let place = failure.place();
        let at = if place.is_empty() {
            String::new()
        } else {
            format!(" at {place}")
        };
        format!("Invalid arguments{at}: {}", failure.rule)
    });
    lines.collect::<Vec<_>>().join("\n")
}
