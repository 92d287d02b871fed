//! MCP 2025-03-26: batches; no questions to the user, and tools give content alone.

use super::{Revision, questions};

/// MCP 2025-03-26.
pub static V2025_03_26: Revision = Revision {
    version: "2025-03-26",
    assumed: true,
    batches: true,
    primes: false,
    unknown_members: &["_meta", "icons", "outputSchema", "title"],
    unknown_tool_members: &[],
    unknown_info: &["description", "icons", "title", "websiteUrl"],
    unknown_blocks: &["resource_link"],
    unnamed: &[],
    structured: false,
    progress_messages: true,
    capability_members: false,
    visits: false,
    elicitation: questions::none,
    sampling: questions::simple_sampling,
};
