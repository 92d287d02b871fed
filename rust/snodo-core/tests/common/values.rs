//! JSON of every kind and shape.

use proptest::prelude::*;
use snodo_core::json::{Json, Object};

pub fn values() -> impl Strategy<Value = Json> {
    let big = "-?[1-9][0-9]{19,63}".prop_map(|digits| Json::Big(digits.into()));
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        big,
        prop::num::f64::NORMAL.prop_map(Json::Float),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(6, 64, 24, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..24).prop_map(Json::Array),
            prop::collection::vec((any::<String>(), inner), 0..24).prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object.insert(key, value);
                }
                Json::Object(object)
            }),
        ]
    })
}
