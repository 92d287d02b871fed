//! Tokens to a template, or the reason why there is none.

use super::error::UriTemplateError as Error;
use super::lex::{Expression, Operator, Token, tokens};
use super::matching::decode;
use super::{Authority, Length, Part, Span, UriTemplate, Variable};
use crate::limits::{URI_TEMPLATE_BYTES, URI_TEMPLATE_VARIABLES};

pub(super) fn compile(text: &[u8]) -> Result<UriTemplate, Error> {
    if text.len() > URI_TEMPLATE_BYTES {
        return Err(Error::TooLong);
    }
    let text = std::str::from_utf8(text).map_err(|_| Error::Utf8)?;
    let tokens = tokens(text)?;
    let variables = tokens.iter().map(|token| match token {
        Token::Literal(_) => 0,
        Token::Expression(expression) => expression.variables.len(),
    });
    if variables.sum::<usize>() > URI_TEMPLATE_VARIABLES {
        return Err(Error::TooManyVariables);
    }

    let (scheme, tokens) = take_scheme(tokens)?;
    let mut pieces = pieces(tokens)?.into_iter().peekable();
    let mut compiler = Compiler::new(scheme);
    let mut authority = Vec::new();
    while let Some(piece) = pieces.next_if(Piece::may_be_authority) {
        authority.push(piece);
    }
    compiler.authority(authority, pieces.peek())?;
    while let Some(piece) = pieces.next_if(|piece| !piece.is_query()) {
        compiler.path(piece)?;
    }
    compiler.end_path()?;
    for piece in pieces {
        compiler.query(piece)?;
    }
    Ok(compiler.template)
}

/// A literal cut at its slashes, or an expression.
enum Piece<'a> {
    Slash,
    Text(&'a str),
    Expression(Expression<'a>),
}

impl Piece<'_> {
    fn operator(&self) -> Option<Operator> {
        match self {
            Self::Expression(expression) => Some(expression.operator),
            Self::Slash | Self::Text(_) => None,
        }
    }

    fn is_query(&self) -> bool {
        matches!(
            self.operator(),
            Some(Operator::Query | Operator::Continuation)
        )
    }

    fn may_be_authority(&self) -> bool {
        match self {
            Self::Slash => false,
            Self::Text(_) => true,
            Self::Expression(expression) => {
                matches!(expression.operator, Operator::Simple | Operator::Reserved)
            }
        }
    }
}

/// RFC 3986, section 3.1.
fn take_scheme(mut tokens: Vec<Token<'_>>) -> Result<(String, Vec<Token<'_>>), Error> {
    let Some(Token::Literal(first)) = tokens.first() else {
        return Err(Error::Scheme);
    };
    let (scheme, rest) = first.split_once("://").ok_or(Error::Scheme)?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(legal)
    {
        return Err(Error::Scheme);
    }
    let scheme = scheme.to_owned();
    if rest.is_empty() {
        tokens.remove(0);
    } else {
        tokens[0] = Token::Literal(rest);
    }
    Ok((scheme, tokens))
}

/// Cuts literals at their slashes; what may not be in one is found here.
fn pieces(tokens: Vec<Token<'_>>) -> Result<Vec<Piece<'_>>, Error> {
    let mut pieces = Vec::new();
    let mut in_authority = true;
    for token in tokens {
        match token {
            Token::Expression(expression) => {
                in_authority &= expression.operator != Operator::Path;
                pieces.push(Piece::Expression(expression));
            }
            Token::Literal(text) => {
                for (at, text) in text.split('/').enumerate() {
                    if at > 0 {
                        in_authority = false;
                        pieces.push(Piece::Slash);
                    }
                    if !text.is_empty() {
                        check_literal(text, in_authority)?;
                        pieces.push(Piece::Text(text));
                    }
                }
            }
        }
    }
    Ok(pieces)
}

fn check_literal(text: &str, in_authority: bool) -> Result<(), Error> {
    if in_authority && text.contains('@') {
        return Err(Error::UserInfo);
    }
    for byte in text.bytes() {
        match byte {
            b'?' => return Err(Error::LiteralQuery),
            b'#' => return Err(Error::LiteralFragment),
            b':' => return Err(Error::Colon),
            b'%' => {}
            _ if super::matching::is_legal(byte) => {}
            _ => return Err(Error::Literal),
        }
    }
    // Compared as it is, but it must be something that a URI can say.
    decode(text).map(drop).ok_or(Error::Escape)
}

struct Compiler {
    template: UriTemplate,
    /// The last piece of the path is a slash, so a segment must follow.
    open: bool,
}

impl Compiler {
    fn new(scheme: String) -> Self {
        let template = UriTemplate {
            scheme,
            authority: Authority::Empty,
            head: Vec::new(),
            span: None,
            tail: Vec::new(),
            query: Vec::new(),
            variables: Vec::new(),
        };
        Self {
            template,
            open: false,
        }
    }

    fn variable(&mut self, name: &str) -> Variable {
        let variables = &mut self.template.variables;
        let known = variables.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            variables.push(name.to_owned());
            variables.len() - 1
        })
    }

    fn authority(&mut self, pieces: Vec<Piece<'_>>, next: Option<&Piece<'_>>) -> Result<(), Error> {
        let reserved = |piece: &Piece<'_>| piece.operator() == Some(Operator::Reserved);
        if pieces.iter().any(reserved) {
            return Err(Error::ReservedAuthority);
        }
        let mut pieces = pieces.into_iter();
        self.template.authority = match (pieces.next(), pieces.next()) {
            (None, _) if matches!(next, Some(Piece::Slash)) => Authority::Empty,
            (None, _) => return Err(Error::EmptyAuthority),
            (Some(Piece::Text(text)), None) => Authority::Part(Part::Literal(text.to_owned())),
            (Some(Piece::Expression(expression)), None) => {
                let variable = self.variable(single(&expression)?);
                Authority::Part(Part::Variable(variable))
            }
            _ => return Err(Error::Authority),
        };
        Ok(())
    }

    fn path(&mut self, piece: Piece<'_>) -> Result<(), Error> {
        match piece {
            Piece::Slash if self.open => return Err(Error::EmptySegment),
            Piece::Slash => self.open = true,
            Piece::Expression(expression) if expression.operator == Operator::Path => {
                if self.open {
                    return Err(Error::PathAfterSlash);
                }
                let [(name, exploded)] = expression.variables[..] else {
                    return Err(Error::ManyInPath);
                };
                let length = if exploded {
                    Length::Any
                } else {
                    Length::ZeroOrOne
                };
                self.span(name, length)?;
            }
            Piece::Text(_) | Piece::Expression(_) if !self.open => return Err(Error::MixedSegment),
            Piece::Text(text) => self.segment(Part::Literal(text.to_owned())),
            Piece::Expression(expression) => {
                let name = single(&expression)?;
                if expression.operator == Operator::Reserved {
                    self.span(name, Length::OneOrMore)?;
                } else {
                    let variable = self.variable(name);
                    self.segment(Part::Variable(variable));
                }
            }
        }
        Ok(())
    }

    fn segment(&mut self, part: Part) {
        let segments = match self.template.span {
            None => &mut self.template.head,
            Some(_) => &mut self.template.tail,
        };
        segments.push(part);
        self.open = false;
    }

    fn span(&mut self, name: &str, length: Length) -> Result<(), Error> {
        if self.template.span.is_some() {
            return Err(Error::SecondSpan);
        }
        let variable = self.variable(name);
        self.template.span = Some(Span { variable, length });
        self.open = false;
        Ok(())
    }

    fn end_path(&self) -> Result<(), Error> {
        if self.open {
            Err(Error::EmptySegment)
        } else {
            Ok(())
        }
    }

    fn query(&mut self, piece: Piece<'_>) -> Result<(), Error> {
        let first = self.template.query.is_empty();
        let expression = match piece {
            Piece::Expression(expression) => expression,
            Piece::Slash | Piece::Text(_) => return Err(Error::AfterQuery),
        };
        match expression.operator {
            Operator::Query if !first => return Err(Error::SecondQuery),
            Operator::Continuation if first => return Err(Error::Continuation),
            Operator::Query | Operator::Continuation => {}
            _ => return Err(Error::AfterQuery),
        }
        for (name, exploded) in expression.variables {
            if exploded {
                return Err(Error::ExplodedQuery);
            }
            let variable = self.variable(name);
            if self.template.query.contains(&variable) {
                return Err(Error::RepeatedQuery);
            }
            self.template.query.push(variable);
        }
        Ok(())
    }
}

/// The one variable of a simple or reserved expression.
fn single<'a>(expression: &Expression<'a>) -> Result<&'a str, Error> {
    match expression.variables[..] {
        [(name, false)] => Ok(name),
        [(_, true)] => Err(Error::ExplodedSimple),
        _ => Err(Error::ManyInSimple),
    }
}
