//! Extensions of the protocol, as an application declares them: what each adds to a revision, and
//! whether that can hold.
//!
//! How a request passes through those that take part is [`crate::pipeline`]'s to say; how one is
//! spelled, the dialect's.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::Context;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::{Json, Object};
use crate::limits::LAYERS;
use crate::schema::Schema;
use crate::{meta, mrtr, subscription};

/// What an extension adds.
#[derive(Debug, Clone)]
pub struct Extension {
    /// What both sides call it.
    pub id: String,
    /// The revisions it is written for.
    pub versions: Vec<String>,
    /// What is advertised under its name.
    pub settings: Object,
    /// Whether clients are told of it. If not it does nothing at all.
    pub advertised: bool,
    /// Methods for clients to request.
    pub methods: Vec<Method>,
    /// Whether it has a say in what a client's settings come to.
    pub negotiates: bool,
    /// What a client is told that uses what it did not declare; `None`: that there is no such method.
    pub missing: Option<Error>,
    /// Which operations of the core it surrounds.
    pub around: Around,
    /// Values of `resultType` that are its own.
    pub result_types: Vec<String>,
    /// Members of a listener's filter that are its own. With them it has events of its own.
    pub filter_keys: Vec<String>,
    /// Whether it tells a listener first how things stand.
    pub tells_current: bool,
}

/// A request that a client may make.
#[derive(Debug, Clone)]
pub struct Method {
    /// Its name. It lives as long as the process: whoever declares sees to that.
    pub name: &'static str,
    /// A header, in lower case, that repeats a parameter, and the parameter.
    pub mirrored: Option<(String, String)>,
    /// What its parameters are held to.
    pub schema: Option<Arc<Schema>>,
}

/// Operations of the core that an extension surrounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Around {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// Those of these methods.
    These(Vec<String>),
}

impl Around {
    fn includes(&self, method: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::These(methods) => methods.iter().any(|known| known == method),
        }
    }
}

/// Why an extension cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// Its name.
    #[error("extension id {0:?} must be a prefix and a name, as \"com.example/name\"")]
    Id(String),
    /// Another one's name.
    #[error("extension {0:?} is installed twice")]
    Repeated(String),
    /// Nothing to request.
    #[error("extension {0:?} needs at least one method")]
    NoMethods(String),
    /// A method that is somebody's already.
    #[error("extension {0:?}: method {1:?} is {2}")]
    Method(String, &'static str, String),
    /// A revision.
    #[error("extension {0:?}: revision {1:?} {2}")]
    Version(String, String, &'static str),
    /// A filter key that is somebody's already.
    #[error("extension {0:?}: filter key {1:?} is {2}")]
    FilterKey(String, String, String),
    /// A result type that is the core's.
    #[error("extension {0:?}: result type {1:?} is the protocol's own")]
    ResultType(String, String),
    /// Something that nothing can be around.
    #[error("extension {0:?}: operation {1:?} is none that around() can be around")]
    Operation(String, String),
    /// One layer too many.
    #[error("extension {0:?} is one too many: at most {LAYERS} may have around()")]
    Layers(String),
    /// A header that says something else.
    #[error("extension {0:?}: header {1:?} must be Mcp-Name or begin with Mcp-Param-")]
    Header(String, String),
}

/// Holds what is installed to the rules.
pub fn check(
    extensions: &[Extension],
    dialects: &[&'static dyn Dialect],
) -> Result<(), ExtensionError> {
    for (at, extension) in extensions.iter().enumerate() {
        let id = || extension.id.clone();
        if !is_id(&extension.id) {
            return Err(ExtensionError::Id(id()));
        }
        let earlier = &extensions[..at];
        if earlier.iter().any(|other| other.id == extension.id) {
            return Err(ExtensionError::Repeated(id()));
        }
        let layers = extensions[..=at].iter();
        if layers.filter(|one| one.around != Around::Nothing).count() > LAYERS {
            return Err(ExtensionError::Layers(id()));
        }
        if extension.methods.is_empty() {
            return Err(ExtensionError::NoMethods(id()));
        }
        for version in &extension.versions {
            let wrong = |why| Err(ExtensionError::Version(id(), version.clone(), why));
            let dialect = dialects.iter().find(|known| known.version() == version);
            let Some(dialect) = dialect else {
                return wrong("is not enabled");
            };
            if !dialect.extends() {
                return wrong("has no extensions that are negotiated with each request");
            }
            check_methods(extension, *dialect, earlier)?;
            check_operations(extension, *dialect)?;
        }
        if extension.versions.is_empty() {
            let version = String::new();
            let why = "is none: name one at least";
            return Err(ExtensionError::Version(id(), version, why));
        }
        for key in &extension.filter_keys {
            let wrong = |whose| Err(ExtensionError::FilterKey(id(), key.clone(), whose));
            if subscription::KEYS.contains(&key.as_str()) {
                return wrong("the protocol's own".to_owned());
            }
            if let Some(other) = earlier.iter().find(|other| other.filter_keys.contains(key)) {
                return wrong(format!("{:?}'s already", other.id));
            }
        }
        for kind in &extension.result_types {
            if ["complete", "input_required", ""].contains(&kind.as_str()) {
                return Err(ExtensionError::ResultType(id(), kind.clone()));
            }
        }
    }
    Ok(())
}

fn check_methods(
    extension: &Extension,
    dialect: &'static dyn Dialect,
    earlier: &[Extension],
) -> Result<(), ExtensionError> {
    for (at, method) in extension.methods.iter().enumerate() {
        let name = method.name;
        let wrong = |whose: String| Err(ExtensionError::Method(extension.id.clone(), name, whose));
        let embedded = mrtr::METHODS.contains(&name);
        if dialect.knows(name) || embedded || name == "initialize" {
            return wrong("the protocol's own".to_owned());
        }
        if name.is_empty() || name.starts_with("notifications/") {
            return wrong("no request of a client".to_owned());
        }
        let is_it = |other: &Method| other.name == name;
        if extension.methods[..at].iter().any(is_it) {
            return wrong("declared twice".to_owned());
        }
        let owner = earlier.iter().find(|other| other.methods.iter().any(is_it));
        if let Some(owner) = owner {
            return wrong(format!("{:?}'s already", owner.id));
        }
        if let Some((header, _)) = &method.mirrored
            && header != "mcp-name"
            && !header.starts_with("mcp-param-")
        {
            let id = extension.id.clone();
            return Err(ExtensionError::Header(id, header.clone()));
        }
    }
    Ok(())
}

fn check_operations(
    extension: &Extension,
    dialect: &'static dyn Dialect,
) -> Result<(), ExtensionError> {
    let Around::These(operations) = &extension.around else {
        return Ok(());
    };
    let surrounded = |name: &str| dialect.knows(name) && name != "subscriptions/listen";
    match operations.iter().find(|name| !surrounded(name)) {
        Some(name) => Err(ExtensionError::Operation(
            extension.id.clone(),
            name.clone(),
        )),
        None => Ok(()),
    }
}

/// The grammar of `_meta` keys, with a prefix and a name. MCP 2026-07-28, "capabilities".
fn is_id(id: &str) -> bool {
    let name = id.split_once('/').map(|(_, name)| name);
    name.is_some_and(|name| !name.is_empty()) && id.len() <= 256 && meta::is_key(id)
}

/// The extensions of one revision: installed, advertised, and written for it.
#[derive(Debug)]
pub(crate) struct Active {
    places: Vec<usize>,
    methods: HashMap<&'static str, (usize, usize)>,
}

impl Active {
    /// `None` where there are none.
    pub(crate) fn of(extensions: &[Extension], version: &str) -> Option<Self> {
        let is_active = |extension: &Extension| {
            extension.advertised && extension.versions.iter().any(|known| known == version)
        };
        let places = (0..extensions.len()).filter(|at| is_active(&extensions[*at]));
        let places: Vec<_> = places.collect();
        let methods = places.iter().flat_map(|&at| {
            let methods = extensions[at].methods.iter().enumerate();
            methods.map(move |(method, known)| (known.name, (at, method)))
        });
        let methods = methods.collect();
        (!places.is_empty()).then_some(Self { places, methods })
    }
}

/// What is [`Active`] for a request, with what was declared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extensions<'a> {
    pub(crate) all: &'a [Extension],
    pub(crate) active: &'a Active,
}

impl<'a> Extensions<'a> {
    /// Whose method this is: an extension's place, and the method's among its own.
    pub(crate) fn method(&self, name: &str) -> Option<(usize, usize)> {
        self.active.methods.get(name).copied()
    }

    /// Those that the client declares with this request, with its settings.
    pub(crate) fn listed<'c>(
        &self,
        context: &'c Context,
    ) -> impl Iterator<Item = (usize, &'c Object)> + use<'a, 'c> {
        let declared = context
            .client_capabilities()
            .and_then(|known| known.get("extensions")?.as_object());
        let Self { all, active } = *self;
        active.places.iter().filter_map(move |&at| {
            let settings = declared?.get(&all[at].id)?.as_object()?;
            Some((at, settings))
        })
    }

    /// Those that surround an operation, outermost first.
    pub(crate) fn around(&self, method: &str) -> Vec<usize> {
        let places = self.active.places.iter().copied();
        let includes = |at: &usize| self.all[*at].around.includes(method);
        places.filter(includes).collect()
    }

    /// Whether any surrounds an operation.
    pub(crate) fn surround(&self, method: &str) -> bool {
        let mut places = self.active.places.iter();
        places.any(|at| self.all[*at].around.includes(method))
    }

    /// Those that have a member in a filter, with what is asked of each.
    pub(crate) fn asked(&self, filter: &Object) -> Vec<(usize, Object)> {
        let places = self.active.places.iter().copied();
        let asked = places.map(|at| {
            let mut own = Object::new();
            for key in &self.all[at].filter_keys {
                if let Some(value) = filter.get(key) {
                    own.insert(key.as_str(), value.clone());
                }
            }
            (at, own)
        });
        asked.filter(|(_, own)| !own.is_empty()).collect()
    }

    /// The one of this name.
    pub(crate) fn named(&self, id: &str) -> Option<usize> {
        let mut places = self.active.places.iter().copied();
        places.find(|at| self.all[*at].id == id)
    }

    /// Whether a result of this type may be the answer to a request.
    pub(crate) fn have_type(&self, kind: &str, context: &Context) -> bool {
        let mut places = self.active.places.iter();
        places.any(|at| {
            let extension = &self.all[*at];
            context.agrees_on(&extension.id)
                && extension.result_types.iter().any(|known| known == kind)
        })
    }

    /// The members of the object that advertises them.
    pub(crate) fn advertised(&self) -> Object {
        let mut object = Object::new();
        for &at in &self.active.places {
            let Extension { id, settings, .. } = &self.all[at];
            object.insert(id.as_str(), Json::Object(settings.clone()));
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{V2025_11_25, V2026_07_28};

    fn method(name: &'static str) -> Method {
        Method {
            name,
            mirrored: None,
            schema: None,
        }
    }

    fn extension(id: &str, methods: &[&'static str]) -> Extension {
        Extension {
            id: id.to_owned(),
            versions: vec!["2026-07-28".to_owned()],
            settings: Object::new(),
            advertised: true,
            methods: methods.iter().map(|name| method(name)).collect(),
            negotiates: false,
            missing: None,
            around: Around::Nothing,
            result_types: Vec::new(),
            filter_keys: Vec::new(),
            tells_current: false,
        }
    }

    fn refusal(extensions: &[Extension]) -> Option<String> {
        let checked = check(extensions, &[&V2026_07_28, &V2025_11_25]);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn ids_have_a_prefix_and_a_name() {
        for good in ["com.example/x", "io.modelcontextprotocol/tasks", "a/b"] {
            assert_eq!(refusal(&[extension(good, &["x/y"])]), None, "{good}");
        }
        for bad in ["x", "com.example/", "/x", "1a.b/x", "a b/x", "a/b/c", ""] {
            let refused = refusal(&[extension(bad, &["x/y"])]);
            assert!(refused.is_some_and(|text| text.contains("prefix")), "{bad}");
        }
    }

    #[test]
    fn a_method_is_nobody_elses() {
        for (name, whose) in [
            ("tools/call", "the protocol's own"),
            ("elicitation/create", "the protocol's own"),
            ("initialize", "the protocol's own"),
            ("notifications/message", "no request of a client"),
            ("notifications/mine", "no request of a client"),
            ("", "no request of a client"),
        ] {
            let refused = refusal(&[extension("a/b", &[name])]);
            let refused = refused.unwrap_or_default();
            assert!(refused.ends_with(whose), "{name}: {refused}");
        }
        let twice = [extension("a/b", &["x"]), extension("a/c", &["x"])];
        assert!(refusal(&twice).is_some_and(|text| text.ends_with("\"a/b\"'s already")));
        assert!(refusal(&[extension("a/b", &["x", "x"])]).is_some());
        assert!(refusal(&[extension("a/b", &[])]).is_some());
        let same = [extension("a/b", &["x"]), extension("a/b", &["y"])];
        assert!(refusal(&same).is_some_and(|text| text.ends_with("installed twice")));
    }

    #[test]
    fn revisions_are_enabled_and_negotiate_with_each_request() {
        for (version, why) in [
            ("2025-11-25", "has no extensions"),
            ("2025-06-18", "is not enabled"),
            ("x", "is not enabled"),
        ] {
            let mut one = extension("a/b", &["x"]);
            one.versions.push(version.to_owned());
            let refused = refusal(&[one]).unwrap_or_default();
            assert!(refused.contains(why), "{refused}");
        }
        let mut none = extension("a/b", &["x"]);
        none.versions.clear();
        assert!(refusal(&[none]).is_some());
    }

    #[test]
    fn layers_are_few() {
        let ids: Vec<_> = (0..=LAYERS).map(|n| (format!("a/x{n}"), n)).collect();
        let names: Vec<&'static str> = ids.iter().map(|(id, _)| &*id.clone().leak()).collect();
        let one = |n: usize, around| Extension {
            around,
            ..extension(names[n], &[names[n]])
        };
        let mut all: Vec<_> = (0..LAYERS).map(|n| one(n, Around::Everything)).collect();
        all.push(one(LAYERS, Around::Nothing));
        assert_eq!(refusal(&all), None);
        all[LAYERS].around = Around::These(Vec::new());
        assert!(refusal(&all).is_some_and(|text| text.contains("at most 16")));
    }

    #[test]
    fn a_layer_is_around_what_is_asked_of_the_core() {
        for (name, good) in [
            ("tools/call", true),
            ("server/discover", true),
            ("completion/complete", true),
            ("subscriptions/listen", false),
            ("notifications/cancelled", false),
            ("tools/cal", false),
            ("x", false),
            ("initialize", false),
            ("ping", false),
        ] {
            let one = Extension {
                around: Around::These(vec!["tools/list".to_owned(), name.to_owned()]),
                ..extension("a/b", &["x"])
            };
            let refused = refusal(&[one]);
            let said = format!("operation {name:?} is none that around() can be around");
            assert_eq!(refused.is_none(), good, "{name}");
            assert!(refused.is_none_or(|text| text.ends_with(&said)), "{name}");
        }
    }

    #[test]
    fn filter_keys_result_types_and_headers_are_its_own() {
        let mut one = extension("a/b", &["x"]);
        one.filter_keys = vec!["taskIds".to_owned()];
        let mut other = extension("a/c", &["y"]);
        other.filter_keys = vec!["taskIds".to_owned()];
        assert!(refusal(&[one.clone(), other]).is_some());
        assert_eq!(refusal(&[one.clone()]), None);
        one.filter_keys = vec!["toolsListChanged".to_owned()];
        assert!(refusal(&[one]).is_some());
        let mut one = extension("a/b", &["x"]);
        one.result_types = vec!["complete".to_owned()];
        assert!(refusal(&[one]).is_some());
        for (header, good) in [("mcp-name", true), ("mcp-param-x", true), ("host", false)] {
            let mut one = extension("a/b", &["x"]);
            one.methods[0].mirrored = Some((header.to_owned(), "id".to_owned()));
            assert_eq!(refusal(&[one]).is_none(), good, "{header}");
        }
    }

    #[test]
    fn what_is_not_advertised_is_not_there() {
        let mut quiet = extension("a/b", &["x"]);
        quiet.advertised = false;
        assert!(Active::of(&[quiet.clone()], "2026-07-28").is_none());
        let both = [quiet, extension("a/c", &["y"])];
        let active = Active::of(&both, "2026-07-28").expect("one of them");
        assert_eq!(active.places, [1]);
        assert!(Active::of(&both, "2025-11-25").is_none());
    }
}
