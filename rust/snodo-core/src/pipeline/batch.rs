//! Messages that come in one array, where the revision in force has that.

use crate::context::Arrival;
use crate::runtime::Runtime;

/// The messages of a batch, each to be prepared by itself. `None`: it is none, or there are no batches
/// in the revision in force, and preparing it as one message tells so.
pub fn batch(_runtime: &Runtime, _body: &[u8], _arrival: &Arrival) -> Option<Vec<Vec<u8>>> {
    None
}
