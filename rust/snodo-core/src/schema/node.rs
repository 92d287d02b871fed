//! Our JSON as the validator library sees it: read in place, nothing converted, every digit kept.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::OnceLock;

use jsonschema_value::types::JsonType;
use jsonschema_value::{Array, JsonNumber, LazyInstance, Node, NodeIdentity};
use serde_json::Value;

use super::equal::{all_distinct, equal, equal_objects};
use crate::json::{Json, Object, parse, write_string};
use crate::limits::{Limits, MAX_JSON_DEPTH};

/// Names our representation to the library.
pub(super) struct Ours;

/// A look at why a value is refused, which must not grow with the number of its mistakes.
#[derive(Debug)]
pub(super) struct Diagnosis<'a> {
    root: View<'a>,
    /// How many more failures may be recorded. When none may, arrays and objects look empty, so that
    /// explaining a value of nothing but mistakes ends.
    left: Cell<usize>,
    /// The value with everything blank but its structure, as JSON text.
    outline: OnceCell<Vec<u8>>,
}

impl<'a> Diagnosis<'a> {
    pub(super) fn new(root: View<'a>, failures: usize) -> Self {
        Self {
            root,
            left: Cell::new(failures),
            outline: OnceCell::new(),
        }
    }

    /// The value to be looked at.
    pub(super) fn view(&self) -> View<'_> {
        View {
            diagnosis: Some(self),
            ..self.root
        }
    }

    fn outline(&self) -> &[u8] {
        self.outline.get_or_init(|| {
            let mut out = Vec::new();
            match self.root.value {
                Kind::Any(value) => write_outline(value, &mut out),
                Kind::Object(object) => write_object_outline(object, &mut out),
            }
            out
        })
    }
}

/// A value under validation.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    value: Kind<'a>,
    diagnosis: Option<&'a Diagnosis<'a>>,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Any(&'a Json),
    /// Arguments arrive without a `Json` around them.
    Object(&'a Object),
}

impl<'a> View<'a> {
    pub(super) fn new(value: &'a Json) -> Self {
        Self {
            value: Kind::Any(value),
            diagnosis: None,
        }
    }

    pub(super) fn object(value: &'a Object) -> Self {
        Self {
            value: Kind::Object(value),
            diagnosis: None,
        }
    }

    /// The members of the object at this path.
    pub(super) fn members_at(self, path: &[String]) -> Option<&'a Object> {
        let at = path
            .iter()
            .try_fold(self, |view, key| match (view.members(), view.json()) {
                (Some(object), _) => object.get(key).map(|value| view.child(value)),
                (None, Some(Json::Array(items))) => items
                    .get(key.parse::<usize>().ok()?)
                    .map(|item| view.child(item)),
                _ => None,
            });
        at?.members()
    }

    /// Every property name in the value, until one is refused.
    pub(super) fn try_each_name<E>(
        self,
        check: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(object) = self.members() {
            object.iter().try_for_each(|(name, value)| {
                check(name)?;
                self.child(value).try_each_name(check)
            })
        } else if let Some(Json::Array(items)) = self.json() {
            items
                .iter()
                .try_for_each(|item| self.child(item).try_each_name(check))
        } else {
            Ok(())
        }
    }

    fn members(self) -> Option<&'a Object> {
        match self.value {
            Kind::Any(value) => value.as_object(),
            Kind::Object(object) => Some(object),
        }
    }

    fn child(self, value: &'a Json) -> Self {
        Self {
            value: Kind::Any(value),
            ..self
        }
    }

    fn json(self) -> Option<&'a Json> {
        match self.value {
            Kind::Any(value) => Some(value),
            Kind::Object(_) => None,
        }
    }

    fn address(self) -> usize {
        match self.value {
            Kind::Any(value) => std::ptr::from_ref(value).addr(),
            Kind::Object(object) => std::ptr::from_ref(object).addr(),
        }
    }

    fn is_spent(self) -> bool {
        self.diagnosis
            .is_some_and(|diagnosis| diagnosis.left.get() == 0)
    }

    /// A value of the same type that says nothing else. Failures carry this instead of what was sent:
    /// what a message never holds it cannot give away.
    fn blank(self) -> Value {
        match self.value {
            Kind::Any(Json::Null) => Value::Null,
            Kind::Any(Json::Bool(_)) => Value::Bool(false),
            Kind::Any(Json::Int(_) | Json::Big(_)) => Value::from(0),
            Kind::Any(Json::Float(_)) => Value::from(0.5),
            Kind::Any(Json::String(_)) => Value::String(String::new()),
            Kind::Any(Json::Array(_)) => Value::Array(Vec::new()),
            Kind::Any(Json::Object(_)) | Kind::Object(_) => Value::Object(serde_json::Map::new()),
        }
    }
}

fn write_outline(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_outline(item, out);
            }
            out.push(b']');
        }
        Json::Object(object) => write_object_outline(object, out),
        Json::Int(_) | Json::Big(_) => out.push(b'0'),
        Json::Float(_) => out.extend_from_slice(b"0.5"),
        Json::String(_) => out.extend_from_slice(b"\"\""),
        Json::Bool(_) => out.extend_from_slice(b"false"),
        Json::Null => out.extend_from_slice(b"null"),
    }
}

fn write_object_outline(object: &Object, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (key, value)) in object.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_outline(value, out);
    }
    out.push(b'}');
}

/// An outline as the library wants it.
fn read_outline(outline: &[u8], _: u32) -> Value {
    let limits = Limits {
        json_depth: MAX_JSON_DEPTH,
        ..Limits::default()
    };
    parse(outline, &limits).map_or(Value::Null, |value| value.to_serde())
}

impl jsonschema_value::Json for Ours {
    type Node<'a> = View<'a>;
    type PreparedKey = String;
    type StringBuffer = Option<Json>;

    // A lookup is itself a pass over the members.
    const KEYS_PER_LOOKUP: usize = 8;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Option<Json>,
        string: &str,
        f: impl FnOnce(View<'_>) -> T,
    ) -> T {
        f(View::new(buffer.insert(Json::String(string.to_owned()))))
    }
}

impl<'a> Node<'a, Ours> for View<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = Number<'a>;

    fn as_object(&self) -> Option<Members<'a>> {
        let object = self.members()?;
        Some(Members {
            object,
            view: *self,
        })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        match self.json() {
            Some(Json::Array(items)) => Some(Items { items, view: *self }),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.json().and_then(Json::as_str).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Number<'a>> {
        match self.json()? {
            Json::Int(number) => Some(Number::Int(*number)),
            Json::Big(digits) => Some(Number::Big(digits)),
            Json::Float(number) => Some(Number::Float(*number)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.json() {
            Some(Json::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.json(), Some(Json::Null))
    }

    fn json_type(&self) -> JsonType {
        match self.value {
            Kind::Any(Json::Null) => JsonType::Null,
            Kind::Any(Json::Bool(_)) => JsonType::Boolean,
            Kind::Any(Json::Int(_) | Json::Big(_) | Json::Float(_)) => JsonType::Number,
            Kind::Any(Json::String(_)) => JsonType::String,
            Kind::Any(Json::Array(_)) => JsonType::Array,
            Kind::Any(Json::Object(_)) | Kind::Object(_) => JsonType::Object,
        }
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let text = self.json()?.as_str()?;
        // A code point takes one to four bytes: often the size in bytes already decides.
        let bytes = text.len() as u64;
        let fewest = bytes.div_ceil(4);
        if bytes < min || fewest > max {
            return Some(false);
        }
        if min <= fewest && bytes <= max {
            return Some(true);
        }
        Some((min..=max).contains(&(text.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (self.value, expected) {
            (Kind::Any(Json::String(text)), Value::String(expected)) => text == expected,
            (Kind::Any(value), _) => equal(value, &Json::from_serde(expected)),
            (Kind::Object(object), _) => Json::from_serde(expected)
                .as_object()
                .is_some_and(|expected| equal_objects(object, expected)),
        }
    }

    /// Only texts that are thrown away are made from this.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(self.blank())
    }

    fn lazy_value(&self) -> LazyInstance<'a> {
        let Some(diagnosis) = self.diagnosis else {
            return LazyInstance::Ready(self.to_value());
        };
        diagnosis.left.set(diagnosis.left.get().saturating_sub(1));
        // Where a pattern could not be matched to its end the library looks for the place in the root.
        if self.address() == diagnosis.root.address() {
            return LazyInstance::Deferred {
                bytes: diagnosis.outline(),
                tag: 0,
                make: read_outline,
                cell: OnceLock::new(),
            };
        }
        LazyInstance::Ready(self.to_value())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(self.address()))
    }
}

/// The members of an object under validation.
pub(super) struct Members<'a> {
    object: &'a Object,
    view: View<'a>,
}

impl<'a> jsonschema_value::Object<'a, Ours> for Members<'a> {
    type Node = View<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.object.len()
    }

    fn get(&self, key: &String) -> Option<View<'a>> {
        self.object.get(key).map(|value| self.view.child(value))
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter {
            members: self.object.members(),
            view: self.view,
        }
    }
}

pub(super) struct MembersIter<'a> {
    members: std::slice::Iter<'a, (String, Json)>,
    view: View<'a>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, View<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.view.is_spent() {
            return None;
        }
        self.members
            .next()
            .map(|(name, value)| (name.as_str(), self.view.child(value)))
    }
}

/// The items of an array under validation.
pub(super) struct Items<'a> {
    items: &'a [Json],
    view: View<'a>,
}

impl<'a> Array<'a, Ours> for Items<'a> {
    type Node = View<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter {
            items: self.items.iter(),
            view: self.view,
        }
    }

    fn is_unique(&self) -> bool {
        all_distinct(self.items)
    }
}

pub(super) struct ItemsIter<'a> {
    items: std::slice::Iter<'a, Json>,
    view: View<'a>,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        if self.view.is_spent() {
            return None;
        }
        self.items.next().map(|item| self.view.child(item))
    }
}

/// A number under validation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number<'a> {
    Int(i64),
    Big(&'a str),
    Float(f64),
}

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::Big(digits) => digits.parse().ok(),
            Self::Float(_) => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Big(_) | Self::Float(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "asked for after the integer forms"
            )]
            Self::Int(number) => Some(*number as f64),
            Self::Big(digits) => digits
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite()),
            Self::Float(number) => Some(*number),
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Int(number) => Cow::Owned(number.to_string()),
            Self::Big(digits) => Cow::Borrowed(digits),
            Self::Float(number) => Cow::Owned(number.to_string()),
        }
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(match self {
            Self::Int(number) => (*number).into(),
            _ => self
                .as_f64()
                .and_then(serde_json::Number::from_f64)
                .unwrap_or_else(|| 0.into()),
        })
    }

    fn is_integer(&self) -> bool {
        match self {
            Self::Int(_) | Self::Big(_) => true,
            Self::Float(number) => number.fract() == 0.0,
        }
    }

    fn is_written_as_integer(&self) -> bool {
        !matches!(self, Self::Float(_))
    }
}
