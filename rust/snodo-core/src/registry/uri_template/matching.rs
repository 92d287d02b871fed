//! A URI against a template: one pass over each part, nothing tried twice.

use std::borrow::Cow;

use super::{Authority, Length, Part, UriTemplate, Variable};
use crate::json::{Json, Object};

impl UriTemplate {
    /// The variables that a URI binds, as strings in the order of [`Self::variables`]; those it leaves
    /// unbound are absent. `None` if it does not match.
    ///
    /// Values are percent-decoded once. They may hold `/`, `..` and NUL: whoever uses one as a name of
    /// something must look at it first.
    pub fn matches(&self, uri: &str) -> Option<Object> {
        let (scheme, rest) = uri.split_at_checked(self.scheme.len())?;
        if !scheme.eq_ignore_ascii_case(&self.scheme) {
            return None;
        }
        let rest = rest.strip_prefix("://")?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path)),
            None => (rest, None),
        };
        let mut bound = Bound(vec![None; self.variables.len()]);
        self.match_authority(authority, &mut bound)?;
        self.match_path(path, &mut bound)?;
        self.match_query(query, &mut bound)?;

        let mut variables = Object::new();
        for (name, value) in self.variables.iter().zip(bound.0) {
            if let Some(value) = value {
                variables.insert(name.as_str(), Json::String(value.into_owned()));
            }
        }
        Some(variables)
    }

    fn match_authority<'a>(&self, authority: &'a str, bound: &mut Bound<'a>) -> Option<()> {
        match &self.authority {
            Authority::Empty => authority.is_empty().then_some(()),
            Authority::Part(_) if authority.contains(['@', ':']) => None,
            Authority::Part(part) => bound.part(part, authority),
        }
    }

    fn match_path<'a>(&self, path: Option<&'a str>, bound: &mut Bound<'a>) -> Option<()> {
        let mut path = Segments(path);
        for part in &self.head {
            bound.part(part, path.first()?)?;
        }
        for part in self.tail.iter().rev() {
            bound.part(part, path.last()?)?;
        }
        let Some(span) = self.span else {
            return path.0.is_none().then_some(());
        };
        match path.0 {
            None if span.length == Length::OneOrMore => None,
            None => Some(()),
            Some(rest) if span.length == Length::ZeroOrOne && rest.contains('/') => None,
            Some(rest) if rest.split('/').any(str::is_empty) => None,
            Some(rest) => bound.value(span.variable, rest),
        }
    }

    fn match_query<'a>(&self, query: Option<&'a str>, bound: &mut Bound<'a>) -> Option<()> {
        let Some(query) = query else { return Some(()) };
        let mut seen = vec![false; self.query.len()];
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=')?;
            let named = |variable: &Variable| self.variables[*variable] == name;
            let at = self.query.iter().position(named)?;
            if std::mem::replace(&mut seen[at], true) {
                return None;
            }
            bound.value(self.query[at], value)?;
        }
        Some(())
    }
}

/// What is left of a path: `None` when no segment is.
struct Segments<'a>(Option<&'a str>);

impl<'a> Segments<'a> {
    fn first(&mut self) -> Option<&'a str> {
        let rest = self.0?;
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        self.0 = rest;
        Some(segment)
    }

    fn last(&mut self) -> Option<&'a str> {
        let rest = self.0?;
        let (rest, segment) = match rest.rsplit_once('/') {
            Some((rest, segment)) => (Some(rest), segment),
            None => (None, rest),
        };
        self.0 = rest;
        Some(segment)
    }
}

/// The values of the variables so far.
struct Bound<'a>(Vec<Option<Cow<'a, str>>>);

impl<'a> Bound<'a> {
    fn part(&mut self, part: &Part, text: &'a str) -> Option<()> {
        match part {
            Part::Literal(literal) => (literal == text).then_some(()),
            Part::Variable(_) if text.is_empty() => None,
            Part::Variable(variable) => self.value(*variable, text),
        }
    }

    /// Binds a variable, which may be bound already, but then to the same.
    fn value(&mut self, variable: Variable, text: &'a str) -> Option<()> {
        let value = decode(text)?;
        if let Some(bound) = &self.0[variable] {
            return (*bound == value).then_some(());
        }
        self.0[variable] = Some(value);
        Some(())
    }
}

/// Whether a byte may stand in a path or a query (RFC 3986, `pchar`, `/` and `?`), escapes apart.
pub(super) fn is_legal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte)
}

/// Decodes percent escapes, once. `None` for anything that may not be in a URI: a malformed escape,
/// escapes that are not UTF-8, a fragment.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if text.bytes().all(is_legal) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => (hex(bytes.next()?)? << 4) | hex(bytes.next()?)?,
            _ if is_legal(byte) => byte,
            _ => return None,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
