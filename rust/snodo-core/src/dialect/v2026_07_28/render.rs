//! What is written in advance: discovery, the lists, and resources that never change.

use super::{Frame, List, Rendered, VERSION, shape};
use crate::extension::{Active, Extensions};
use crate::json::{Json, Object, write_string};
use crate::meta;
use crate::registry::Registry;
use crate::runtime::{Cache, Settings};

pub(super) fn render(settings: &Settings, registry: &Registry) -> Rendered {
    let mut meta = br#""_meta":{""#.to_vec();
    meta.extend_from_slice(meta::SERVER_INFO.as_bytes());
    meta.extend_from_slice(b"\":");
    Json::Object(settings.server_info.clone()).write(&mut meta);
    meta.push(b'}');

    let list = |method: &'static str, key: &str, cache: Cache, definitions: Vec<&Object>| {
        let entries: Vec<_> = definitions.into_iter().map(Object::to_vec).collect();
        let mut head = COMPLETE.to_vec();
        head.extend_from_slice(format!("\"{key}\":[").as_bytes());
        let mut tail = Vec::new();
        cache_hints(cache, &mut tail);
        tail.push(b',');
        tail.extend_from_slice(&meta);
        tail.push(b'}');
        let frame = Frame {
            version: VERSION,
            method,
            page_size: settings.page_size,
            head,
            tail,
        };
        List::render(frame, entries, settings.authorized)
    };
    let tools = registry.tools.iter().map(|tool| &tool.definition);
    let resources = registry
        .resources
        .iter()
        .map(|resource| &resource.definition);
    let templates = registry
        .templates
        .iter()
        .map(|template| &template.definition);
    let prompts = registry.prompts.iter().map(|prompt| &prompt.definition);
    let reads = registry.resources.iter().map(|resource| {
        let cache = resource.cache.unwrap_or(settings.resources_cache);
        let content = resource.content.as_deref()?;
        Some(read(content, cache, &meta))
    });
    Rendered {
        discover: discover(settings, registry, &meta),
        tools: list("tools/list", "tools", settings.tools_cache, tools.collect()),
        resources: list(
            "resources/list",
            "resources",
            settings.resources_cache,
            resources.collect(),
        ),
        templates: list(
            "resources/templates/list",
            "resourceTemplates",
            settings.resources_cache,
            templates.collect(),
        ),
        prompts: list(
            "prompts/list",
            "prompts",
            settings.prompts_cache,
            prompts.collect(),
        ),
        reads: reads.collect(),
        meta,
    }
}

pub(super) const COMPLETE: &[u8] = br#"{"resultType":"complete","#;

fn discover(settings: &Settings, registry: &Registry, meta: &[u8]) -> Vec<u8> {
    let mut out = COMPLETE.to_vec();
    out.extend_from_slice(br#""supportedVersions":["#);
    for (at, version) in settings.versions().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(version, &mut out);
    }
    out.extend_from_slice(br#"],"capabilities":{"#);
    shape::capabilities(settings, registry, &[], &mut out);
    if let Some(active) = Active::of(&settings.extensions, VERSION) {
        let all = &settings.extensions;
        let active = &active;
        let advertised = Extensions { all, active }.advertised();
        shape::member("extensions", &advertised.to_vec(), &mut out);
    }
    out.push(b'}');
    if let Some(instructions) = &settings.instructions {
        out.extend_from_slice(br#","instructions":"#);
        write_string(instructions, &mut out);
    }
    cache_hints(settings.discover_cache, &mut out);
    out.push(b',');
    out.extend_from_slice(meta);
    out.push(b'}');
    out
}

pub(super) fn cache_hints(cache: Cache, out: &mut Vec<u8>) {
    let hints = format!(
        r#","ttlMs":{},"cacheScope":"{}""#,
        cache.ttl_ms,
        cache.scope.name()
    );
    out.extend_from_slice(hints.as_bytes());
}

/// A read that is always answered with the same contents.
fn read(contents: &[u8], cache: Cache, meta: &[u8]) -> Vec<u8> {
    let mut out = COMPLETE.to_vec();
    out.reserve_exact(contents.len() + meta.len() + 64);
    out.extend_from_slice(br#""contents":"#);
    out.extend_from_slice(contents);
    cache_hints(cache, &mut out);
    out.push(b',');
    out.extend_from_slice(meta);
    out.push(b'}');
    out
}
