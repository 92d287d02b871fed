//! MCP 2024-11-05: neither sound nor what a tool says of its effects; progress without words.

use super::{Revision, questions};
use crate::operation::Feature;

/// MCP 2024-11-05.
pub static V2024_11_05: Revision = Revision {
    version: "2024-11-05",
    assumed: false,
    batches: false,
    primes: false,
    unknown_members: &["_meta", "icons", "outputSchema", "title"],
    unknown_tool_members: &["annotations"],
    unknown_info: &["description", "icons", "title", "websiteUrl"],
    unknown_blocks: &["audio", "resource_link"],
    unnamed: &[Feature::Completions],
    structured: false,
    progress_messages: false,
    capability_members: false,
    visits: false,
    elicitation: questions::none,
    sampling: questions::silent_sampling,
};
