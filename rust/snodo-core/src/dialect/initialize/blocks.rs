//! Content that a revision does not know, told in words.

use super::Revision;
use crate::json::{self, Json, Object};
use crate::limits::{Limits, MAX_JSON_DEPTH};

impl Revision {
    /// Appends an encoded array of content blocks.
    pub(super) fn write_blocks(&self, blocks: &[u8], out: &mut Vec<u8>) {
        self.write_known(blocks, out, |block| self.known(block));
    }

    /// Appends an encoded array of a prompt's messages.
    pub(super) fn write_messages(&self, messages: &[u8], out: &mut Vec<u8>) {
        self.write_known(messages, out, |message| {
            if let Json::Object(message) = message
                && let Some(content) = message.get_mut("content")
            {
                self.known(content);
            }
        });
    }

    fn write_known(&self, list: &[u8], out: &mut Vec<u8>, know: impl Fn(&mut Json)) {
        let limits = Limits {
            json_depth: MAX_JSON_DEPTH,
            integer_digits: usize::MAX,
            ..Limits::default()
        };
        if !self.unknown_blocks.is_empty()
            && let Ok(Json::Array(mut items)) = json::parse(list, &limits)
        {
            items.iter_mut().for_each(know);
            Json::Array(items).write(out);
        } else {
            out.extend_from_slice(list);
        }
    }

    fn known(&self, block: &mut Json) {
        let Json::Object(known) = block else {
            return;
        };
        let text = |key| known.get(key).and_then(Json::as_str);
        let Some(kind) = text("type").filter(|kind| self.unknown_blocks.contains(kind)) else {
            return;
        };
        let words = match (text("uri"), text("mimeType")) {
            (Some(uri), _) => {
                let name = text("title").or(text("name")).unwrap_or("resource");
                match text("description") {
                    Some(description) => format!("{name}: {uri}\n{description}"),
                    None => format!("{name}: {uri}"),
                }
            }
            (None, Some(mime_type)) => {
                format!("({kind} of type {mime_type}, which this client cannot be sent)")
            }
            (None, None) => format!("({kind}, which this client cannot be sent)"),
        };
        let mut told = Object::new();
        told.insert("type", Json::String("text".to_owned()));
        told.insert("text", Json::String(words));
        for key in ["annotations", "_meta"] {
            if let Some(value) = known.take(key) {
                told.insert(key, value);
            }
        }
        *block = Json::Object(told);
    }
}
