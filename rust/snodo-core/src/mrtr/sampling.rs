//! Sampling: a message that the client's model is asked to write.

use super::request::{
    Checked, RequestError, closed, is_number, is_object, is_string, is_strings, optional, required,
};
use crate::json::{Json, Object};
use crate::outcome::{is_base64, is_block};
use crate::schema::compare;

pub(super) fn check(params: Option<&Json>) -> Checked {
    let Some(params) = params.and_then(Json::as_object) else {
        return Err(RequestError::new("must be an object"));
    };
    let known = [
        "messages",
        "maxTokens",
        "systemPrompt",
        "modelPreferences",
        "temperature",
        "stopSequences",
        "includeContext",
        "metadata",
        "tools",
        "toolChoice",
    ];
    closed(params, &known)?;
    check_messages(params.get("messages")).map_err(|error| error.under("messages"))?;
    let is_positive = |value: &Json| matches!(value, Json::Int(1..));
    required(
        params,
        "maxTokens",
        is_positive,
        "must be a positive integer",
    )?;
    optional(params, "systemPrompt", is_string, "must be a string")?;
    if let Some(preferences) = params.get("modelPreferences") {
        check_preferences(preferences).map_err(|error| error.under("modelPreferences"))?;
    }
    optional(params, "temperature", is_number, "must be a number")?;
    optional(
        params,
        "stopSequences",
        is_strings,
        "must be a list of strings",
    )?;
    let reason = "must be none, thisServer or allServers";
    optional(
        params,
        "includeContext",
        is_one_of(&["none", "thisServer", "allServers"]),
        reason,
    )?;
    optional(params, "metadata", is_object, "must be an object")?;
    let reason = "must be a list of tools, each with a name and an inputSchema of type object";
    let are_tools = |value: &Json| matches!(value, Json::Array(tools) if tools.iter().all(is_tool));
    optional(params, "tools", are_tools, reason)?;
    let reason = "must be empty or have a mode of auto, none or required";
    optional(params, "toolChoice", is_tool_choice, reason)
}

pub(super) fn needs(params: &Object) -> Vec<[&'static str; 2]> {
    let mut needs = vec![["sampling", ""]];
    if params.contains("tools") || params.contains("toolChoice") {
        needs.push(["sampling", "tools"]);
    }
    let context = params.get("includeContext").and_then(Json::as_str);
    if context.is_some_and(|context| context != "none") {
        needs.push(["sampling", "context"]);
    }
    needs
}

/// The message that was written, and by which model.
pub(super) fn check_response(response: &Object) -> Checked {
    check_message(response, Extra::LeftAlone)?;
    required(response, "model", is_string, "must be a string")?;
    optional(response, "stopReason", is_string, "must be a string")
}

/// What becomes of members that do not belong to a block.
#[derive(Clone, Copy)]
enum Extra {
    Refused,
    LeftAlone,
}

fn check_messages(messages: Option<&Json>) -> Checked {
    let messages = match messages {
        Some(Json::Array(messages)) if !messages.is_empty() => messages,
        _ => return Err(RequestError::new("must be a list of at least one message")),
    };
    let mut objects = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let checked = match message.as_object() {
            None => Err(RequestError::new("must be an object")),
            Some(message) => {
                objects.push(message);
                closed(message, &["role", "content", "_meta"])
                    .and_then(|()| check_message(message, Extra::Refused))
            }
        };
        checked.map_err(|error| error.under(at))?;
    }
    check_turns(&objects)
}

fn check_message(message: &Object, extra: Extra) -> Checked {
    required(
        message,
        "role",
        is_one_of(&["user", "assistant"]),
        "must be user or assistant",
    )?;
    optional(message, "_meta", is_object, "must be an object")?;
    let content = match message.get("content") {
        Some(Json::Array(blocks)) if !blocks.is_empty() => blocks
            .iter()
            .enumerate()
            .try_for_each(|(at, block)| check_block(block, extra).map_err(|error| error.under(at))),
        Some(block @ Json::Object(_)) => check_block(block, extra),
        _ => Err(RequestError::new(
            "must be a block or a list of at least one",
        )),
    };
    content.map_err(|error| error.under("content"))
}

fn check_block(block: &Json, extra: Extra) -> Checked {
    let Some(block) = block.as_object() else {
        return Err(RequestError::new("must be an object"));
    };
    let text = |key| required(block, key, is_string, "must be a string");
    let own: &[&str] = match block.get("type").and_then(Json::as_str) {
        Some("text") => {
            text("text")?;
            &["text", "annotations"]
        }
        Some("image" | "audio") => {
            let is_data = |data: &Json| data.as_str().is_some_and(is_base64);
            required(block, "data", is_data, "must be valid base64")?;
            text("mimeType")?;
            &["data", "mimeType", "annotations"]
        }
        Some("tool_use") => {
            text("id")?;
            text("name")?;
            required(block, "input", is_object, "must be an object")?;
            &["id", "name", "input"]
        }
        Some("tool_result") => {
            text("toolUseId")?;
            let are_blocks =
                |value: &Json| matches!(value, Json::Array(blocks) if blocks.iter().all(is_block));
            required(
                block,
                "content",
                are_blocks,
                "must be a list of content blocks",
            )?;
            let is_flag = |value: &Json| matches!(value, Json::Bool(_));
            optional(block, "isError", is_flag, "must be a boolean")?;
            &["toolUseId", "content", "structuredContent", "isError"]
        }
        _ => {
            let reason = "must be text, image, audio, tool_use or tool_result";
            return Err(RequestError::new(reason).under("type"));
        }
    };
    optional(block, "annotations", is_object, "must be an object")?;
    optional(block, "_meta", is_object, "must be an object")?;
    match extra {
        Extra::Refused => closed(block, &[&["type", "_meta"], own].concat()),
        Extra::LeftAlone => Ok(()),
    }
}

/// MCP 2026-07-28, sampling, "Tool Result Messages" and "Tool Use and Result Balance": models refuse a
/// conversation in which a use and its result are not side by side.
fn check_turns(messages: &[&Object]) -> Checked {
    let mut open = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let wrong = |reason| Err(RequestError::new(reason).under(at));
        let blocks = match message.get("content") {
            Some(Json::Array(blocks)) => blocks.as_slice(),
            block => block.map(std::slice::from_ref).unwrap_or_default(),
        };
        let uses = ids(blocks, "tool_use", "id");
        let results = ids(blocks, "tool_result", "toolUseId");
        let is_user = message.get("role").and_then(Json::as_str) == Some("user");
        if is_user && !uses.is_empty() || !is_user && !results.is_empty() {
            return wrong("must leave tool_use to the assistant and tool_result to the user");
        }
        if !results.is_empty() && results.len() != blocks.len() {
            return wrong("must have nothing besides tool_result, as it has one");
        }
        if results != open {
            return wrong("must have one tool_result for each tool_use before it, and no other");
        }
        open = uses;
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(RequestError::new(
        "must not end with a tool_use that has no tool_result",
    ))
}

/// The ids of the blocks of a kind, sorted.
fn ids<'a>(blocks: &'a [Json], kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = blocks.iter().filter_map(Json::as_object);
    let mut ids: Vec<_> = blocks
        .filter(|block| block.get("type").and_then(Json::as_str) == Some(kind))
        .filter_map(|block| block.get(key)?.as_str())
        .collect();
    ids.sort_unstable();
    ids
}

fn check_preferences(preferences: &Json) -> Checked {
    let Some(preferences) = preferences.as_object() else {
        return Err(RequestError::new("must be an object"));
    };
    let priorities = ["costPriority", "speedPriority", "intelligencePriority"];
    closed(preferences, &[&["hints"], &priorities[..]].concat())?;
    let is_hint = |hint: &Json| {
        let hint = hint.as_object();
        hint.is_some_and(|hint| hint.get("name").is_none_or(is_string))
    };
    let are_hints = |value: &Json| matches!(value, Json::Array(hints) if hints.iter().all(is_hint));
    let reason = "must be a list of objects whose name is a string";
    optional(preferences, "hints", are_hints, reason)?;
    priorities.iter().try_for_each(|key| {
        optional(
            preferences,
            key,
            is_priority,
            "must be a number from 0 to 1",
        )
    })
}

fn is_priority(value: &Json) -> bool {
    is_number(value)
        && compare(value, &Json::Int(0)).is_ge()
        && compare(value, &Json::Int(1)).is_le()
}

fn is_tool(tool: &Json) -> bool {
    let Some(tool) = tool.as_object() else {
        return false;
    };
    let input = tool.get("inputSchema").and_then(Json::as_object);
    let root = input.and_then(|input| input.get("type")?.as_str());
    let name = tool.get("name").and_then(Json::as_str);
    root == Some("object") && name.is_some_and(|name| !name.is_empty())
}

fn is_tool_choice(choice: &Json) -> bool {
    let Some(choice) = choice.as_object() else {
        return false;
    };
    let is_mode = is_one_of(&["auto", "none", "required"]);
    choice
        .iter()
        .all(|(key, value)| key == "mode" && is_mode(value))
}

fn is_one_of(texts: &[&str]) -> impl Fn(&Json) -> bool {
    |value| value.as_str().is_some_and(|text| texts.contains(&text))
}
