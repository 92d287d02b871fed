//! A template's text to literals and expressions. What may stand where is decided elsewhere.

use super::error::UriTemplateError as Error;

/// What a template consists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text between expressions; not empty.
    Literal(&'a str),
    /// What stands in braces.
    Expression(Expression<'a>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression<'a> {
    pub(super) operator: Operator,
    /// At least one; each with whether it has a `*`.
    pub(super) variables: Vec<(&'a str, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `{var}`
    Simple,
    /// `{+var}`
    Reserved,
    /// `{/var}`
    Path,
    /// `{?var}`
    Query,
    /// `{&var}`
    Continuation,
}

/// Names that the parameters of a request have already.
pub(crate) const RESERVED_NAMES: [&str; 2] = ["uri", "_meta"];

/// The tokens of a text, in order.
pub(super) fn tokens(mut text: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut tokens = Vec::new();
    while !text.is_empty() {
        let (literal, rest) = text.split_at(text.find(['{', '}']).unwrap_or(text.len()));
        if !literal.is_empty() {
            tokens.push(Token::Literal(literal));
        }
        text = match rest.strip_prefix('{') {
            Some(rest) => {
                let (body, rest) = rest.split_once('}').ok_or(Error::Unclosed)?;
                if body.contains('{') {
                    return Err(Error::Unclosed);
                }
                tokens.push(Token::Expression(expression(body)?));
                rest
            }
            None if rest.is_empty() => rest,
            None => return Err(Error::Stray),
        };
    }
    Ok(tokens)
}

fn expression(body: &str) -> Result<Expression<'_>, Error> {
    let (operator, list) = match body.chars().next() {
        Some('+') => (Operator::Reserved, &body[1..]),
        Some('/') => (Operator::Path, &body[1..]),
        Some('?') => (Operator::Query, &body[1..]),
        Some('&') => (Operator::Continuation, &body[1..]),
        Some('#') => return Err(Error::FragmentExpansion),
        Some('.') => return Err(Error::LabelExpansion),
        Some(';') => return Err(Error::ParameterExpansion),
        Some(reserved @ ('=' | ',' | '!' | '@' | '|')) => return Err(Error::Operator(reserved)),
        _ => (Operator::Simple, body),
    };
    let variables = list.split(',').map(variable).collect::<Result<_, _>>()?;
    Ok(Expression {
        operator,
        variables,
    })
}

fn variable(text: &str) -> Result<(&str, bool), Error> {
    if text.contains(':') {
        return Err(Error::Prefix);
    }
    let (name, exploded) = match text.strip_suffix('*') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(legal) {
        return Err(Error::Name(name.to_owned()));
    }
    match RESERVED_NAMES.iter().find(|reserved| **reserved == name) {
        Some(reserved) => Err(Error::Reserved(reserved)),
        None => Ok((name, exploded)),
    }
}
