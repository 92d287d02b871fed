//! What each transport must promise: one answer a request, none to a notification.

mod framing;
mod media;
mod origin;

pub use origin::BadEntry;
