//! Regular expressions that need backtracking, and what they may cost.
//!
//! The linear engine takes a text of any length. Look-around and back-references need the other one,
//! whose time grows with the square of the text even where it never steps back. So its texts are
//! bounded, and all its work on one value is bounded together.

use std::cell::Cell;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use jsonschema_value::Node as _;
use serde_json::Value;

use super::node::{Ours, View};
use super::rule::quoted;
use crate::limits::{FANCY_PATTERN_BYTES, PATTERN_STEPS, PATTERN_WORK};

/// What a fancy `pattern` is called in the schema that the library compiles.
pub(super) const KEYWORD: &str = "snodo:pattern";

/// Steps back a fancy pattern gets at first. Most need no more, and only those that do pay for it.
const FEW_STEPS: usize = 64;

/// Why a match was not carried to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// The text.
    TooLong,
    /// One match, or all of them together.
    TooMuch,
}

impl Excess {
    /// As a rule that is broken.
    pub(super) fn rule(self) -> String {
        match self {
            Self::TooLong => format!(
                "is too long for a pattern with look-around; at most {FANCY_PATTERN_BYTES} bytes"
            ),
            Self::TooMuch => "takes too long to match against the pattern".to_owned(),
        }
    }
}

/// What matching has cost on this thread since [`measured`] began.
#[derive(Debug, Clone, Copy)]
struct Meter {
    left: u64,
    excess: Option<Excess>,
}

thread_local! {
    /// Here, as the library hands its keywords a value and nothing else.
    static METER: Cell<Meter> = const { Cell::new(Meter { left: PATTERN_WORK, excess: None }) };
}

/// Does one validation within the work that one may cost. Tells what a pattern could not be held to,
/// which makes the value refused whatever came out: `not` turns a refusal around.
pub(super) fn measured<T>(validation: impl FnOnce() -> T) -> (T, Option<Excess>) {
    METER.set(Meter {
        left: PATTERN_WORK,
        excess: None,
    });
    let result = validation();
    (result, METER.get().excess)
}

/// Pays for matching a text with so many steps back.
fn pay(bytes: usize, steps: usize) -> Result<(), Excess> {
    /// What a match costs however short its text is.
    const START: u64 = 8000;
    let meter = METER.get();
    // The value is refused already: nothing more is done for it.
    if let Some(excess) = meter.excess {
        return Err(excess);
    }
    if bytes > FANCY_PATTERN_BYTES {
        return Err(exceed(Excess::TooLong));
    }
    // Each start and each step may read the text to its end.
    let cost = START + (bytes + steps) as u64 * bytes as u64;
    let Some(left) = meter.left.checked_sub(cost) else {
        return Err(exceed(Excess::TooMuch));
    };
    METER.set(Meter { left, ..meter });
    Ok(())
}

fn exceed(excess: Excess) -> Excess {
    METER.set(Meter {
        excess: Some(excess),
        ..METER.get()
    });
    excess
}

/// Pays for matching a property name against so many fancy patterns.
pub(super) fn pay_name(name: &str, patterns: usize) -> Result<(), Excess> {
    (0..patterns).try_for_each(|_| pay(name.len(), NAME_STEPS))
}

/// Steps back that a fancy pattern of `patternProperties` gets on one name.
pub(super) const NAME_STEPS: usize = 1000;

/// A regular expression.
#[derive(Debug)]
pub(super) enum Pattern {
    Linear(Validator<Ours>),
    /// With few steps back, and with all.
    Fancy(Box<[(usize, Validator<Ours>); 2]>),
}

impl Pattern {
    /// `None` for what is not a regular expression.
    pub(super) fn new(text: &str) -> Option<Self> {
        if let Some(linear) = linear(text) {
            return Some(Self::Linear(linear));
        }
        let fancy = |steps| {
            let options = PatternOptions::fancy_regex().backtrack_limit(steps);
            let validator = jsonschema::options_for::<Ours>()
                .with_pattern_options(options)
                .offline()
                .build(&schema(text));
            Some((steps, validator.ok()?))
        };
        Some(Self::Fancy(Box::new([
            fancy(FEW_STEPS)?,
            fancy(PATTERN_STEPS)?,
        ])))
    }

    /// Whether a text matches; always true for what is no text.
    pub(super) fn is_match(&self, value: View<'_>) -> Result<bool, Excess> {
        let tiers = match self {
            Self::Linear(validator) => return Ok(validator.is_valid(value)),
            Self::Fancy(tiers) => tiers,
        };
        let Some(text) = value.as_string() else {
            return Ok(true);
        };
        for (steps, validator) in tiers.iter() {
            pay(text.len(), *steps)?;
            match validator.validate(value) {
                Ok(()) => return Ok(true),
                Err(error) if matches!(error.kind(), Kind::Pattern { .. }) => return Ok(false),
                Err(_) => {}
            }
        }
        Err(exceed(Excess::TooMuch))
    }
}

/// Whether a text is a regular expression, and one that the linear engine does not take.
pub(super) fn is_fancy(text: &str) -> bool {
    linear(text).is_none() && matches!(Pattern::new(text), Some(Pattern::Fancy(_)))
}

fn linear(text: &str) -> Option<Validator<Ours>> {
    jsonschema::options_for::<Ours>()
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(&schema(text))
        .ok()
}

fn schema(pattern: &str) -> Value {
    serde_json::json!({ "pattern": pattern })
}

/// The keyword that a fancy `pattern` becomes.
pub(super) struct Fancy {
    pattern: Pattern,
    mismatch: String,
}

impl Fancy {
    pub(super) fn new(text: &str) -> Option<Self> {
        Some(Self {
            pattern: Pattern::new(text)?,
            mismatch: mismatch(text),
        })
    }
}

/// The rule that a text breaks which does not match.
pub(super) fn mismatch(pattern: &str) -> String {
    format!("must match the pattern {}", quoted(pattern))
}

impl<'i> Keyword<'i, Ours> for Fancy {
    fn validate(&self, instance: View<'i>) -> Result<(), ValidationError<'i>> {
        match self.pattern.is_match(instance) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ValidationError::custom(self.mismatch.clone())),
            Err(excess) => Err(ValidationError::custom(excess.rule())),
        }
    }

    fn is_valid(&self, instance: View<'i>) -> bool {
        self.pattern.is_match(instance) == Ok(true)
    }
}
