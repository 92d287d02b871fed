//! A value against a compiled validator, and what to say when it is refused.

use super::compile::Compiled;
use super::node::{Diagnosis, View};
use super::pattern::{Excess, measured, pay_name};
use super::rule::{Context, Failure, explain};
use crate::limits::{FAILURES_EXAMINED, FAILURES_TOLD};

/// Whether a value is accepted.
pub(super) fn accepts(compiled: &Compiled, value: View<'_>) -> bool {
    weigh(compiled, value) == Ok(true)
}

/// Whether a value is accepted, or what is too much for a pattern.
fn weigh(compiled: &Compiled, value: View<'_>) -> Result<bool, Excess> {
    let (accepted, excess) = measured(|| {
        if compiled.fancy_names > 0 {
            value.try_each_name(&mut |name| pay_name(name, compiled.fancy_names))?;
        }
        Ok(compiled.validator.is_valid(value))
    });
    match (accepted, excess) {
        // Found before the library was asked.
        (Err(excess), _) | (Ok(true), Some(excess)) => Err(excess),
        (Ok(accepted), _) => Ok(accepted),
    }
}

/// Why a value is refused, as far as that is to be told: at most [`FAILURES_TOLD`] failures, none
/// twice, none if it is accepted.
pub(super) fn failures(
    compiled: &Compiled,
    context: Context<'_>,
    to_tell: fn(&Failure) -> bool,
) -> Vec<Failure> {
    let broad = |rule| Some(at_root(rule)).filter(to_tell).into_iter().collect();
    match weigh(compiled, context.value) {
        Ok(true) => return Vec::new(),
        Ok(false) => {}
        Err(excess) => return broad(excess.rule()),
    }
    let diagnosis = Diagnosis::new(context.value, FAILURES_EXAMINED);
    let (errors, _) = measured(|| compiled.validator.iter_errors(diagnosis.view()));
    let mut told: Vec<Failure> = Vec::new();
    for error in errors {
        for failure in explain(&error, Some(context)) {
            if told.len() == FAILURES_TOLD {
                return told;
            }
            if to_tell(&failure) && !told.contains(&failure) {
                told.push(failure);
            }
        }
    }
    if told.is_empty() {
        return broad("does not match the schema".to_owned());
    }
    told
}

fn at_root(rule: String) -> Failure {
    Failure {
        path: Vec::new(),
        rule,
    }
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
