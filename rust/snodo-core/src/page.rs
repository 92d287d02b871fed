//! Cursors: make, open, slice.
