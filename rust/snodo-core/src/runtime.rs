//! What a server is once nothing can change it any more: who it is, what it offers, its policies.

use crate::dialect::Dialect;
use crate::json::Object;
use crate::limits::Limits;
use crate::registry::Registry;

/// How long a client may keep a list, and who may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cache {
    /// Milliseconds; 0 means stale at once.
    pub ttl_ms: u64,
    /// Who may share it.
    pub scope: Scope,
}

/// Who may share a cached answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// The caller alone.
    #[default]
    Private,
    /// Anybody.
    Public,
}

/// What is decided about a server before it is frozen.
#[derive(Debug)]
pub struct Settings {
    /// `Implementation` object: `name`, `version`, optional `title`, `description`, `websiteUrl`, `icons`.
    pub server_info: Object,
    /// For the model, in the discovery answer.
    pub instructions: Option<String>,
    /// Revisions served, newest first.
    pub dialects: Vec<&'static dyn Dialect>,
    /// Bounds.
    pub limits: Limits,
    /// Tools in one page of the list; `None` for all.
    pub page_size: Option<usize>,
    /// Policy of `server/discover`.
    pub discover_cache: Cache,
    /// Policy of `tools/list`.
    pub tools_cache: Cache,
}

/// Frozen; shared by every transport.
#[derive(Debug)]
pub struct Runtime {
    /// What was decided.
    pub settings: Settings,
    /// What is offered.
    pub registry: Registry,
}
