//! MCP 2025-11-25: questions as forms and pages, sampling with tools, streams that can be resumed.

use super::{Revision, questions};

/// MCP 2025-11-25.
pub static V2025_11_25: Revision = Revision {
    version: "2025-11-25",
    assumed: false,
    batches: false,
    primes: true,
    unknown_members: &[],
    unknown_tool_members: &[],
    unknown_info: &[],
    unknown_blocks: &[],
    unnamed: &[],
    structured: true,
    progress_messages: true,
    capability_members: true,
    visits: true,
    elicitation: questions::form_or_page,
    sampling: questions::whole_sampling,
};
