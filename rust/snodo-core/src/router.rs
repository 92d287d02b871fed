//! An operation and a context to either a finished answer or a call.
