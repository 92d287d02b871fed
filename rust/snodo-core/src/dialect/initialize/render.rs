//! What is written in advance: the answer to the handshake, the lists, and resources that never change.

use super::{Frame, List, Rendered, Revision, shape};
use crate::json::{Json, Object, write_string};
use crate::registry::Registry;
use crate::runtime::Settings;

pub(super) fn render(revision: &Revision, settings: &Settings, registry: &Registry) -> Rendered {
    let list = |method: &'static str, key: &str, entries: Vec<Vec<u8>>| {
        let frame = Frame {
            version: revision.version,
            method,
            page_size: settings.page_size,
            head: format!("{{\"{key}\":[").into_bytes(),
            tail: b"}".to_vec(),
        };
        List::render(frame, entries, settings.authorized)
    };
    let known = |definition: &Object| known(revision, definition).to_vec();
    let tools = registry.tools.iter();
    let resources = registry.resources.iter();
    let templates = registry.templates.iter();
    let prompts = registry.prompts.iter();
    let reads = resources.clone().map(|resource| {
        let content = resource.content.as_deref()?;
        Some([br#"{"contents":"#, content, b"}"].concat())
    });
    Rendered {
        discover: initialized(revision, settings, registry),
        tools: list(
            "tools/list",
            "tools",
            tools
                .map(|tool| self::tool(revision, &tool.definition))
                .collect(),
        ),
        resources: list(
            "resources/list",
            "resources",
            resources
                .map(|resource| known(&resource.definition))
                .collect(),
        ),
        templates: list(
            "resources/templates/list",
            "resourceTemplates",
            templates
                .map(|template| known(&template.definition))
                .collect(),
        ),
        prompts: list(
            "prompts/list",
            "prompts",
            prompts.map(|prompt| known(&prompt.definition)).collect(),
        ),
        reads: reads.collect(),
        meta: Vec::new(),
    }
}

fn initialized(revision: &Revision, settings: &Settings, registry: &Registry) -> Vec<u8> {
    let mut out = br#"{"protocolVersion":"#.to_vec();
    write_string(revision.version, &mut out);
    out.extend_from_slice(br#","capabilities":{"#);
    shape::capabilities(settings, registry, revision.unnamed, &mut out);
    out.extend_from_slice(br#"},"serverInfo":"#);
    without(&settings.server_info, revision.unknown_info).write(&mut out);
    if let Some(instructions) = &settings.instructions {
        out.extend_from_slice(br#","instructions":"#);
        write_string(instructions, &mut out);
    }
    out.push(b'}');
    out
}

/// A definition without what the revision does not know.
fn known(revision: &Revision, definition: &Object) -> Object {
    without(definition, revision.unknown_members)
}

fn tool(revision: &Revision, definition: &Object) -> Vec<u8> {
    let mut tool = without(&known(revision, definition), revision.unknown_tool_members);
    // What a tool gives is an object in these revisions, so nothing else can be promised.
    let promised = tool.get("outputSchema").and_then(Json::as_object);
    if promised.is_some_and(|schema| schema.get("type").and_then(Json::as_str) != Some("object")) {
        tool.take("outputSchema");
    }
    for key in ["inputSchema", "outputSchema"] {
        if let Some(Json::Object(schema)) = tool.get_mut(key) {
            spell_out(schema);
        }
    }
    tool.to_vec()
}

/// These revisions want the schema of a property to be an object, where JSON Schema has `true` and
/// `false` too.
fn spell_out(schema: &mut Object) {
    let Some(Json::Object(properties)) = schema.get("properties") else {
        return;
    };
    let mut spelled = properties.clone();
    for (name, property) in properties.iter() {
        let mut object = Object::new();
        match property {
            Json::Bool(true) => {}
            Json::Bool(false) => object.insert("not", Json::Object(Object::new())),
            _ => continue,
        }
        spelled.insert(name, Json::Object(object));
    }
    schema.insert("properties", Json::Object(spelled));
}

fn without(object: &Object, keys: &[&str]) -> Object {
    let mut kept = object.clone();
    for key in keys {
        kept.take(key);
    }
    kept
}
