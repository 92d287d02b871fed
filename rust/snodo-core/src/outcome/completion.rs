//! What a completion gives: values within their bounds.

use super::content::is_string;
use super::encoded::items;
use super::{Encoded, Value};
use crate::call::Target;
use crate::error::Error;
use crate::json::write_int;
use crate::limits::COMPLETION_VALUES;

/// Appends what a completion gave as an object of `values` and what is known of their number. A plain
/// list may be longer than an answer: its beginning is sent, and how long it is.
pub(crate) fn write_completion(
    target: &Target,
    value: &Value,
    out: &mut Encoded,
) -> Result<(), Error> {
    let (values, mut total, mut has_more) = match value {
        Value::Structured(values) => (values, None, None),
        Value::Completion {
            values,
            total,
            has_more,
        } => (values, *total, *has_more),
        Value::Failure(_) | Value::Raised(_) => return Err(target.failed()),
        Value::Error(error) => return Err(error.clone()),
        Value::Text(_) | Value::Blob(_) => return Err(target.invalid_result()),
        Value::Content(list) if list == b"[]" => return Err(target.invalid_result()),
        Value::Content(_)
        | Value::Raw(_)
        | Value::Wire(_)
        | Value::InputRequired { .. }
        | Value::ResourceRead { .. }
        | Value::PromptGet { .. }
        | Value::Decisions(_) => return Err(target.wrong_kind()),
    };
    let values = items(values)
        .filter(|values| values.iter().copied().all(is_string))
        .ok_or_else(|| target.invalid_result())?;
    let count = values.len() as u64;
    if values.len() > COMPLETION_VALUES {
        if !matches!(value, Value::Structured(_)) {
            return Err(target.invalid_result());
        }
        (total, has_more) = (Some(count), Some(true));
    }
    if total.is_some_and(|total| total < count) {
        return Err(target.invalid_result());
    }

    out.extend_from_slice(br#"{"values":["#);
    for (at, value) in values.into_iter().take(COMPLETION_VALUES).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value);
    }
    out.push(b']');
    if let Some(total) = total {
        out.extend_from_slice(br#","total":"#);
        write_int(i64::try_from(total).unwrap_or(i64::MAX), out);
    }
    if let Some(has_more) = has_more {
        out.extend_from_slice(br#","hasMore":"#);
        out.extend_from_slice(if has_more { b"true" } else { b"false" });
    }
    out.push(b'}');
    Ok(())
}
