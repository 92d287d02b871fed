//! What this server offers: built once, then frozen, sorted by name in byte order, found by name.

mod tool;

pub use tool::Tool;

/// The frozen catalogue.
#[derive(Debug, Default)]
pub struct Registry {
    /// Sorted by name in byte order.
    pub tools: Vec<Tool>,
}
