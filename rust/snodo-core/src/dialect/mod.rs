//! What a revision owes the house, and choosing one.

use std::fmt::Debug;

/// A protocol revision. `if version ==` is written nowhere; a revision is a file in this room.
pub trait Dialect: Debug + Send + Sync {
    /// Its name on the wire.
    fn version(&self) -> &'static str;
}
