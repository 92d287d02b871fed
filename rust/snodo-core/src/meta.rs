//! The reserved `_meta` keys: their names, typed readers, the key grammar, trace context.

/// The protocol revision a request is made under.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The server's name and version, on results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// From which level on the client wants log messages.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Where progress is to be reported.
pub const PROGRESS_TOKEN: &str = "progressToken";
