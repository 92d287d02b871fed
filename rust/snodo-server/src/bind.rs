//! Bind, accept, connection limit, graceful stop.
