//! Why a text is not a template this crate can match.

use crate::limits::{URI_TEMPLATE_BYTES, URI_TEMPLATE_VARIABLES};

/// Why a text is not a template this crate can match: the shape that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says it all")]
pub enum UriTemplateError {
    #[error("a template longer than {URI_TEMPLATE_BYTES} bytes")]
    TooLong,
    #[error("a template that is not valid UTF-8")]
    Utf8,
    #[error("an unclosed or nested expression")]
    Unclosed,
    #[error("a }} outside an expression")]
    Stray,
    #[error("a scheme that is not a literal followed by ://")]
    Scheme,
    #[error("fragment expansion ({{#var}})")]
    FragmentExpansion,
    #[error("label expansion ({{.var}})")]
    LabelExpansion,
    #[error("path-style parameter expansion ({{;var}})")]
    ParameterExpansion,
    #[error("the reserved operator {0}")]
    Operator(char),
    #[error("a prefix modifier ({{var:n}})")]
    Prefix,
    #[error("an invalid variable name \"{0}\"")]
    Name(String),
    #[error("a variable named {0}, which the request owns")]
    Reserved(&'static str),
    #[error("more than {URI_TEMPLATE_VARIABLES} variables")]
    TooManyVariables,
    #[error("a literal query")]
    LiteralQuery,
    #[error("a literal fragment")]
    LiteralFragment,
    #[error("userinfo")]
    UserInfo,
    #[error("a port or a colon in literal text")]
    Colon,
    #[error("literal text or a path expression after a query expression")]
    AfterQuery,
    #[error("a {{&var}} continuation without a preceding {{?var}}")]
    Continuation,
    #[error("more than one {{?var}} expression")]
    SecondQuery,
    #[error("an exploded query variable ({{?var*}})")]
    ExplodedQuery,
    #[error("a query variable named more than once")]
    RepeatedQuery,
    #[error("an empty authority that is not followed by /")]
    EmptyAuthority,
    #[error("reserved expansion ({{+var}}) in the authority")]
    ReservedAuthority,
    #[error("an authority that is not one literal or one {{var}}")]
    Authority,
    #[error("a {{/var}} expression after a literal /, which would leave an empty segment")]
    PathAfterSlash,
    #[error("more than one variable in a path expression ({{/a,b}})")]
    ManyInPath,
    #[error("an exploded simple or reserved variable ({{var*}})")]
    ExplodedSimple,
    #[error("more than one variable in a simple or reserved expression ({{a,b}})")]
    ManyInSimple,
    #[error("an empty path segment")]
    EmptySegment,
    #[error("a path segment that holds literal text and an expression, or two expressions")]
    MixedSegment,
    #[error("a malformed percent escape or non-UTF-8 literal")]
    Escape,
    #[error("more than one variable-length path expression ({{+var}}, {{/var}}, or {{/var*}})")]
    SecondSpan,
    #[error("literal text that is not valid in a URI")]
    Literal,
}
