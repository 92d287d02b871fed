//! What a handler asks of the client, as requests of the server. The input requests are good ones, in the
//! spelling of the newest revision.

use super::{NO_QUESTION, Respelled, Revision};
use crate::error::{Error, Kind, code};
use crate::json::{Json, Object, write_string};

/// The whole JSON-RPC request.
pub(super) fn write(
    revision: &Revision,
    request: &Object,
    id: &str,
) -> Result<Vec<u8>, &'static str> {
    let method = request.get("method").and_then(Json::as_str);
    let params = request.get("params").and_then(Json::as_object);
    let nothing = Object::new();
    let given = params.unwrap_or(&nothing);
    let method = method.ok_or(NO_QUESTION)?;
    let params = match method {
        "elicitation/create" => Some((revision.elicitation)(given, id)?),
        "sampling/createMessage" => Some((revision.sampling)(given)?),
        "roots/list" => None,
        _ => return Err(NO_QUESTION),
    };
    let mut out = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    write_string(id, &mut out);
    out.extend_from_slice(br#","method":"#);
    write_string(method, &mut out);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        params.write(&mut out);
    }
    out.push(b'}');
    Ok(out)
}

/// -32042 with the pages, unless something else is asked too.
pub(super) fn visit(
    revision: &Revision,
    requests: &Object,
    id: &dyn Fn(&str) -> String,
) -> Option<Error> {
    let mut pages = Vec::with_capacity(requests.len());
    for (key, request) in requests.iter() {
        let params = request.as_object()?.get("params")?.as_object()?;
        if params.get("mode").and_then(Json::as_str) != Some("url") {
            return None;
        }
        pages.push(Json::Object((revision.elicitation)(params, &id(key)).ok()?));
    }
    if pages.is_empty() {
        return None;
    }
    let mut data = Object::new();
    data.insert("elicitations", Json::Array(pages));
    let text = "This request needs the user to open a page first";
    let error = Error::new(code::URL_ELICITATION_REQUIRED, Kind::Protocol, text);
    Some(error.with_data(Json::Object(data)))
}

/// No questions to the user.
pub(super) fn none(_: &Object, _: &str) -> Respelled {
    Err(NO_QUESTION)
}

/// A form as it is, and a page with an id: that of the request, which nobody else has.
#[expect(clippy::unnecessary_wraps, reason = "other revisions refuse")]
pub(super) fn form_or_page(params: &Object, id: &str) -> Respelled {
    let mut params = params.clone();
    if params.get("mode").and_then(Json::as_str) == Some("url") {
        params.insert("elicitationId", Json::String(id.to_owned()));
    }
    Ok(params)
}

/// A form of text, numbers, switches and one choice out of several, without a mode. Only switches are
/// preset.
pub(super) fn simple_form(params: &Object, _: &str) -> Respelled {
    if params.get("mode").and_then(Json::as_str) == Some("url") {
        return Err("of a page is no request of this protocol revision");
    }
    let mut params = params.clone();
    params.take("mode");
    let Some(Json::Object(schema)) = params.get_mut("requestedSchema") else {
        return Err(NO_QUESTION);
    };
    schema.take("$schema");
    let Some(Json::Object(fields)) = schema.get_mut("properties") else {
        return Err(NO_QUESTION);
    };
    let names: Vec<_> = fields.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        if let Some(Json::Object(field)) = fields.get_mut(&name) {
            simplify(field)?;
        }
    }
    Ok(params)
}

fn simplify(field: &mut Object) -> Result<(), &'static str> {
    let kind = field.get("type").and_then(Json::as_str);
    if kind == Some("array") {
        return Err("with a choice of several at once is no request of this protocol revision");
    }
    if kind != Some("boolean") {
        field.take("default");
    }
    if let Some(Json::Array(options)) = field.take("oneOf") {
        let all = |key| {
            let options = options.iter().filter_map(Json::as_object);
            options
                .filter_map(|option| option.get(key).cloned())
                .collect()
        };
        field.insert("enum", Json::Array(all("const")));
        field.insert("enumNames", Json::Array(all("title")));
    }
    Ok(())
}

/// Everything as it is.
#[expect(clippy::unnecessary_wraps, reason = "other revisions refuse")]
pub(super) fn whole_sampling(params: &Object) -> Respelled {
    Ok(params.clone())
}

/// No tools, and one block of content a message.
pub(super) fn simple_sampling(params: &Object) -> Respelled {
    plain_sampling(params, &["text", "image", "audio"])
}

/// The same without sound.
pub(super) fn silent_sampling(params: &Object) -> Respelled {
    plain_sampling(params, &["text", "image"])
}

fn plain_sampling(params: &Object, kinds: &[&str]) -> Respelled {
    if params.contains("tools") || params.contains("toolChoice") {
        return Err("with tools is no request of this protocol revision");
    }
    let mut params = params.clone();
    let Some(Json::Array(messages)) = params.take("messages") else {
        return Err(NO_QUESTION);
    };
    let mut plain = Vec::with_capacity(messages.len());
    for message in messages {
        let Json::Object(mut message) = message else {
            return Err(NO_QUESTION);
        };
        let blocks = match message.take("content") {
            Some(Json::Array(blocks)) => blocks,
            Some(block) => vec![block],
            None => return Err(NO_QUESTION),
        };
        for block in blocks {
            let kind = block
                .as_object()
                .and_then(|block| block.get("type")?.as_str());
            if !kind.is_some_and(|kind| kinds.contains(&kind)) {
                return Err("with such content is no request of this protocol revision");
            }
            let mut message = message.clone();
            message.insert("content", block);
            plain.push(Json::Object(message));
        }
    }
    params.insert("messages", Json::Array(plain));
    Ok(params)
}
