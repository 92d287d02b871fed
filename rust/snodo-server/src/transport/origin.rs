//! `Host` and `Origin`: refuses what a browser could be tricked into sending.
//!
//! A page of any site can make its visitor's browser send requests to `127.0.0.1`, and by rebinding
//! its own name to that address it can read the answers as well. Both headers tell the page's name,
//! and a page cannot forge them.

use http::HeaderMap;
use http::header::{HOST, HeaderValue, ORIGIN};

/// An entry of an allow-list that names no host or origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list} entry {entry:?} is not {wanted}")]
pub struct BadEntry {
    list: &'static str,
    entry: String,
    wanted: &'static str,
}

/// Which header is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Host,
    Origin,
}

impl Refusal {
    /// What is wrong, and which setting changes it.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Host => {
                "Host is not allowed: name it with allowed_hosts, --allow-host or SNODO_ALLOWED_HOSTS to serve it"
            }
            Self::Origin => {
                "Origin is not allowed: name it with allowed_origins, --allow-origin or SNODO_ALLOWED_ORIGINS to serve it"
            }
        }
    }
}

/// What `Host` and `Origin` may say.
#[derive(Debug)]
pub(crate) struct Gate {
    /// `None`: any.
    hosts: Option<Vec<Pattern>>,
    origins: Vec<Pattern>,
}

/// The names under which a machine reaches itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Gate {
    /// Loopback names are always allowed, the entries besides. `Host` is left unchecked when the
    /// server is reachable from outside and nobody said under which names.
    pub(crate) fn new(
        loopback: bool,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, BadEntry> {
        let read = |list, entries: &[String], wanted, read: fn(&str) -> Option<Pattern>| {
            entries
                .iter()
                .map(|entry| {
                    read(entry.trim()).ok_or_else(|| BadEntry {
                        list,
                        entry: entry.clone(),
                        wanted,
                    })
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let names = read(
            "allowed hosts",
            hosts,
            "a host name such as app.example, app.example:8000, *.example or *",
            Pattern::host,
        )?;
        Ok(Self {
            hosts: (loopback || !names.is_empty()).then_some(names),
            origins: read(
                "allowed origins",
                origins,
                "an origin such as https://app.example, *.example, null or *",
                Pattern::origin,
            )?,
        })
    }

    /// The origin to answer to, if the request names one. `authority` is that of the request
    /// target, which most requests do not have and which outranks `Host` where they do.
    pub(crate) fn admit<'r>(
        &self,
        headers: &'r HeaderMap,
        authority: Option<&str>,
    ) -> Result<Option<&'r HeaderValue>, Refusal> {
        let origin = self.origin(headers)?;
        self.host(headers, authority)?;
        Ok(origin)
    }

    /// The same for a request that came from outside, in a server that can be reached from there too.
    pub(crate) fn admit_outside<'r>(
        &self,
        headers: &'r HeaderMap,
    ) -> Result<Option<&'r HeaderValue>, Refusal> {
        let origin = self.origin(headers)?;
        if self.hosts.as_ref().is_some_and(|named| !named.is_empty()) {
            self.host(headers, None)?;
        }
        Ok(origin)
    }

    fn origin<'r>(&self, headers: &'r HeaderMap) -> Result<Option<&'r HeaderValue>, Refusal> {
        let mut values = headers.get_all(ORIGIN).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let allowed = values.next().is_none()
            && value
                .to_str()
                .is_ok_and(|origin| self.allows_origin(origin.trim()));
        if allowed {
            Ok(Some(value))
        } else {
            Err(Refusal::Origin)
        }
    }

    fn host(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Refusal> {
        let Some(patterns) = &self.hosts else {
            return Ok(());
        };
        let mut values = headers.get_all(HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Refusal::Host);
        };
        let allowed = |authority: &str| {
            split_authority(authority).is_some_and(|(host, port)| {
                is_loopback(host)
                    || patterns
                        .iter()
                        .any(|pattern| pattern.matches("", host, port))
            })
        };
        let named = value.to_str().is_ok_and(|host| allowed(host.trim()));
        if named && authority.is_none_or(allowed) {
            Ok(())
        } else {
            Err(Refusal::Host)
        }
    }

    fn allows_origin(&self, origin: &str) -> bool {
        if origin == "null" {
            let opaque = |pattern: &Pattern| {
                pattern.name == Name::Any && pattern.scheme.is_none() || pattern.name == Name::Null
            };
            return self.origins.iter().any(opaque);
        }
        let Some((scheme, authority)) = origin.split_once("://") else {
            return false;
        };
        let Some((host, port)) = split_authority(authority) else {
            return false;
        };
        let port = port.or_else(|| default_port(scheme));
        let web = default_port(scheme).is_some();
        web && is_loopback(host)
            || self.origins.iter().any(|pattern| {
                // Without a scheme an entry means the web.
                (web || pattern.scheme.is_some() || pattern.name == Name::Any)
                    && pattern.matches(scheme, host, port)
            })
    }
}

/// An entry of an allow-list.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    scheme: Option<String>,
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Any,
    /// The origin of a page that has none.
    Null,
    Exact(String),
    /// `.example.com`: every name that ends so.
    Below(String),
}

impl Pattern {
    fn host(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self {
                scheme: None,
                name: Name::Any,
                port: None,
            });
        }
        let (host, port) = split_authority(entry.strip_suffix(":*").unwrap_or(entry))?;
        Some(Self {
            scheme: None,
            name: Name::read(host)?,
            port,
        })
    }

    fn origin(entry: &str) -> Option<Self> {
        if entry == "null" {
            return Some(Self {
                scheme: None,
                name: Name::Null,
                port: None,
            });
        }
        let Some((scheme, authority)) = entry.split_once("://") else {
            return Self::host(entry);
        };
        let mut pattern = Self::host(authority)?;
        if !authority.ends_with(":*") {
            pattern.port = pattern.port.or_else(|| default_port(scheme));
        }
        pattern.scheme = Some(scheme.to_ascii_lowercase());
        Some(pattern)
    }

    fn matches(&self, scheme: &str, host: &str, port: Option<u16>) -> bool {
        self.scheme
            .as_ref()
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(scheme))
            && self.port.is_none_or(|wanted| Some(wanted) == port)
            && match &self.name {
                Name::Any => true,
                Name::Null => false,
                Name::Exact(name) => name.eq_ignore_ascii_case(host),
                Name::Below(suffix) => host
                    .len()
                    .checked_sub(suffix.len())
                    .filter(|at| *at > 0)
                    .and_then(|at| host.get(at..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(suffix)),
            }
    }
}

impl Name {
    fn read(host: &str) -> Option<Self> {
        match host.strip_prefix('*') {
            None if host.contains('*') => None,
            None => Some(Self::Exact(host.to_owned())),
            Some(suffix)
                if suffix.len() > 1 && suffix.starts_with('.') && !suffix.contains('*') =>
            {
                Some(Self::Below(suffix.to_owned()))
            }
            Some(_) => None,
        }
    }
}

/// `host` or `host:port`; anything else, user information above all, is no authority.
fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.rfind(']') {
        Some(end) => (authority.get(..=end)?, authority.get(end + 1..)?),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        None if port.is_empty() => None,
        _ => return None,
    };
    let bare = host
        .strip_prefix('[')
        .map_or(host, |inner| inner.trim_end_matches(']'));
    let legal = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'-' | b'_' | b'*')
            || (byte == b':' && host.starts_with('['))
    };
    (!bare.is_empty() && bare.bytes().all(legal)).then_some((host, port))
}

fn is_loopback(host: &str) -> bool {
    LOOPBACK.iter().any(|name| name.eq_ignore_ascii_case(host))
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => Some(80),
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    fn gate(loopback: bool, hosts: &[&str], origins: &[&str]) -> Gate {
        Gate::new(loopback, &list(hosts), &list(origins)).expect("good entries")
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn origin(gate: &Gate, value: &'static str) -> bool {
        gate.admit(&headers(&[("host", "localhost"), ("origin", value)]), None)
            .is_ok()
    }

    fn host(gate: &Gate, value: &'static str) -> bool {
        gate.admit(&headers(&[("host", value)]), None).is_ok()
    }

    #[test]
    fn loopback_names_pass_by_default_whatever_the_port() {
        let gate = gate(true, &[], &[]);
        for name in [
            "localhost",
            "LocalHost:8000",
            "127.0.0.1",
            "127.0.0.1:1",
            "[::1]:8000",
            "[::1]",
        ] {
            assert!(host(&gate, name), "{name}");
        }
        for name in [
            "evil.example",
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "user@localhost",
            "localhost:",
            "localhost:port",
            "localhost:99999",
            "localhost:+80",
            "",
            "[::1",
            "[]",
            "::1",
            "0.0.0.0",
            "localhost/x",
            "localhost,evil.example",
        ] {
            assert!(!host(&gate, name), "{name}");
        }
    }

    #[test]
    fn any_host_passes_outside_loopback_until_some_are_named() {
        assert!(host(&gate(false, &[], &[]), "evil.example"));
        assert!(gate(false, &[], &[]).admit(&HeaderMap::new(), None).is_ok());
        let named = gate(
            false,
            &["app.example", "*.deep.example", "pinned.example:81"],
            &[],
        );
        for (name, allowed) in [
            ("app.example", true),
            ("APP.example:9", true),
            ("x.app.example", false),
            ("a.deep.example", true),
            ("a.b.deep.example:3", true),
            ("deep.example", false),
            ("evildeep.example", false),
            ("pinned.example:81", true),
            ("pinned.example", false),
            ("pinned.example:82", false),
            ("evil.example", false),
            ("localhost", true),
        ] {
            assert_eq!(host(&named, name), allowed, "{name}");
        }
        assert!(host(&gate(true, &["*"], &[]), "anything.example:1"));
    }

    #[test]
    fn a_missing_or_repeated_host_is_refused_where_hosts_are_checked() {
        let gate = gate(true, &[], &[]);
        assert_eq!(gate.admit(&HeaderMap::new(), None), Err(Refusal::Host));
        let twice = headers(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(gate.admit(&twice, None), Err(Refusal::Host));
        let one = headers(&[("host", "localhost")]);
        assert_eq!(gate.admit(&one, Some("evil.example")), Err(Refusal::Host));
        assert_eq!(gate.admit(&one, Some("localhost:80")), Ok(None));
    }

    #[test]
    fn loopback_origins_pass_by_default_and_others_do_not() {
        let gate = gate(true, &[], &[]);
        for value in [
            "http://localhost",
            "http://localhost:5",
            "https://127.0.0.1:5",
            "http://[::1]:5",
            "HTTP://LOCALHOST:5",
        ] {
            assert!(origin(&gate, value), "{value}");
        }
        for value in [
            "http://evil.example",
            "https://localhost.evil.example",
            "null",
            "",
            "localhost",
            "http://user@localhost",
            "http://user:pass@localhost",
            "http://localhost/",
            "http://localhost/path",
            "file://localhost",
            "ftp://localhost",
            "http://",
            "http://localhost:80:80",
            "*",
        ] {
            assert!(!origin(&gate, value), "{value}");
        }
    }

    #[test]
    fn origin_entries_compare_scheme_host_and_port() {
        let gate = gate(
            true,
            &[],
            &[
                "https://app.example",
                "https://odd.example:8443",
                "*.any.example",
                "http://free.example:*",
                "app://shell",
                "pin.example:3",
            ],
        );
        for (value, allowed) in [
            ("https://app.example", true),
            ("https://APP.example:443", true),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("https://odd.example:8443", true),
            ("https://odd.example", false),
            ("http://x.any.example:7", true),
            ("https://x.any.example", true),
            ("https://any.example", false),
            ("http://free.example:1", true),
            ("https://free.example:1", false),
            ("app://shell", true),
            ("app://other", false),
            ("app://x.any.example", false),
            ("http://pin.example:3", true),
            ("http://pin.example", false),
        ] {
            assert_eq!(origin(&gate, value), allowed, "{value}");
        }
    }

    #[test]
    fn every_origin_means_every_one_and_null_is_named_by_itself() {
        let any = gate(true, &[], &["*"]);
        assert!(origin(&any, "https://evil.example") && origin(&any, "null"));
        let null = gate(true, &[], &["null"]);
        assert!(origin(&null, "null") && !origin(&null, "https://evil.example"));
    }

    #[test]
    fn a_repeated_origin_is_refused_and_an_absent_one_is_fine() {
        let gate = gate(true, &[], &[]);
        let twice = headers(&[
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://localhost"),
        ]);
        assert_eq!(gate.admit(&twice, None), Err(Refusal::Origin));
        assert_eq!(
            gate.admit(&headers(&[("host", "localhost")]), None),
            Ok(None)
        );
    }

    #[test]
    fn entries_that_name_nothing_are_reported() {
        for entry in [
            "",
            "a b",
            "*example",
            "a.*.b",
            "http://app.example",
            "host:port",
            "me@host",
        ] {
            assert!(Gate::new(true, &list(&[entry]), &[]).is_err(), "{entry}");
        }
        for entry in ["", "https://", "https://a/b", "https://*a"] {
            let error = Gate::new(true, &[], &list(&[entry])).expect_err(entry);
            assert!(error.to_string().contains("allowed origins"), "{error}");
        }
    }
}
