//! MCP 2025-06-18: questions as simple forms, structured content; no icons, no pages.

use super::{Revision, questions};

/// MCP 2025-06-18.
pub static V2025_06_18: Revision = Revision {
    version: "2025-06-18",
    assumed: false,
    batches: false,
    primes: false,
    unknown_members: &["icons"],
    unknown_tool_members: &[],
    unknown_info: &["description", "icons", "websiteUrl"],
    unknown_blocks: &[],
    unnamed: &[],
    structured: true,
    progress_messages: true,
    capability_members: false,
    visits: false,
    elicitation: questions::simple_form,
    sampling: questions::simple_sampling,
};
