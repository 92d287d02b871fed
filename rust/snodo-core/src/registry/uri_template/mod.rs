//! Match a URI against a template, in one way or none.
//!
//! Of RFC 6570 only shapes in which a URI splits one way: the fixed segments around the one part of
//! variable length are matched from both ends, so nothing is ever tried twice. Templates are never
//! expanded here, and no URI is normalised: a port, a dot segment or a percent escape too many is a
//! URI that does not match.

mod compile;
mod error;
mod lex;
mod matching;

pub use error::UriTemplateError;
pub(crate) use lex::RESERVED_NAMES;

/// A compiled template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    /// Compared without regard to case.
    scheme: String,
    authority: Authority,
    /// The fixed segments before the part of variable length.
    head: Vec<Part>,
    /// The part of variable length.
    span: Option<Span>,
    /// The fixed segments after it.
    tail: Vec<Part>,
    /// The query parameters, by the variable that each binds.
    query: Vec<Variable>,
    /// The names of the variables, each once, in the order they first stand in the text.
    variables: Vec<String>,
}

/// A place in [`UriTemplate::variables`].
type Variable = usize;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Authority {
    /// As in `file:///a`.
    Empty,
    /// One literal or variable.
    Part(Part),
}

/// What stands for itself, or for one value that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(Variable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    variable: Variable,
    length: Length,
}

/// How many segments a part of variable length may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// `/{+var}`
    OneOrMore,
    /// `{/var}`
    ZeroOrOne,
    /// `{/var*}`
    Any,
}

impl UriTemplate {
    /// Reads a template; the error names the shape that is not supported.
    pub fn compile(text: impl AsRef<[u8]>) -> Result<Self, UriTemplateError> {
        compile::compile(text.as_ref())
    }

    /// The names of its variables, each once, in the order they first stand in the text.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }
}
