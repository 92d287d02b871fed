//! What each transport must promise: one answer a request, none to a notification.

mod batches;
mod bell;
mod body;
pub(crate) mod connection;
mod cors;
mod framing;
pub(crate) mod handover;
mod headers;
mod hosted;
pub(crate) mod http;
mod identity;
mod kept;
mod loose;
pub(crate) mod mailbox;
mod media;
pub(crate) mod origin;
mod output;
pub(crate) mod response;
mod scopes;
pub(crate) mod scrape;
mod sessions;
pub(crate) mod socket;
mod sse;
mod stdio;
pub(crate) mod vouched;

pub use hosted::{Head, Hosted, HostedOptions, Outlet, Part, Piece};
pub use origin::BadEntry;
pub use output::WriteError;
pub use stdio::serve_stdio;
