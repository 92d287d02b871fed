//! What a resource gives: contents, held to their rules and written one after the other.

use super::encoded::{items, members, string};
use super::{Encoded, Unfit, Value};
use crate::json::write_string;
use crate::meta::{IconError, is_absolute_uri};

/// What is wrong with contents of a resource or with a message of a prompt. Never quotes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says it all")]
pub enum ContentError {
    #[error("resource contents must be a list of objects")]
    NotList,
    #[error("resource content requires a URI string")]
    Uri,
    #[error("resource content uri must be an absolute URI")]
    RelativeUri,
    #[error("resource content requires exactly one string text or blob field")]
    TextOrBlob,
    #[error("resource blob must be valid base64")]
    Blob,
    #[error("resource content mimeType must be a string")]
    MimeType,
    #[error("resource content annotations and _meta must be objects")]
    Extras,
    #[error("resource text is not valid UTF-8")]
    Utf8,
    #[error("resource content blocks must be a list of at least one")]
    NoBlocks,
    #[error("only text, image, audio and resource blocks can be what was read")]
    NotReadable,
    #[error("resource content block has no text, data or resource")]
    BlockMember,
    #[error("prompt messages must be a list of objects")]
    NotMessages,
    #[error("prompt messages must not be empty")]
    NoMessages,
    #[error("prompt messages cannot be made of bytes")]
    Bytes,
    #[error("prompt message must have exactly role and content")]
    MessageFields,
    #[error("prompt message role must be user or assistant")]
    Role,
    #[error("prompt content type is not supported")]
    Kind,
    #[error("prompt content contains unsupported or non-JSON fields")]
    Fields,
    #[error("prompt text content requires a text string")]
    Text,
    #[error("prompt content data must be valid base64")]
    Data,
    #[error("prompt content mimeType must be a string")]
    MediaType,
    #[error("prompt content annotations and _meta must be objects")]
    MessageExtras,
    #[error("prompt resource link requires an absolute uri and a non-empty name")]
    Link,
    #[error("prompt resource link title and description must be strings")]
    LinkText,
    #[error("prompt resource link size must be a non-negative integer")]
    LinkSize,
    #[error(transparent)]
    Icon(#[from] IconError),
}

/// The members of one encoded object.
pub(crate) struct Content<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Content<'a> {
    pub(crate) fn read(object: &'a [u8]) -> Option<Self> {
        members(object).map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.0.iter().find(|(key, _)| *key == name.as_bytes());
        found.map(|(_, value)| *value)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// Whether a member is absent or satisfies.
    pub(super) fn optional(&self, name: &str, good: impl Fn(&[u8]) -> bool) -> bool {
        self.get(name).is_none_or(good)
    }
}

pub(super) fn is_string(value: &[u8]) -> bool {
    value.starts_with(b"\"")
}

pub(super) fn is_object(value: &[u8]) -> bool {
    value.starts_with(b"{")
}

/// Whether an encoded string is standard base64.
pub(super) fn is_base64_string(value: &[u8]) -> bool {
    string(value).is_some_and(|text| is_base64(&text))
}

/// Whether a text is standard base64.
pub(crate) fn is_base64(text: &str) -> bool {
    let text = text.as_bytes();
    let data = text
        .strip_suffix(b"==")
        .or(text.strip_suffix(b"="))
        .unwrap_or(text);
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
    text.len().is_multiple_of(4) && data.iter().all(legal)
}

/// Holds one content to the rules. Whether it names its URI, which it may leave out.
pub(super) fn check_content(content: &Content<'_>) -> Result<bool, ContentError> {
    let uri = content.get("uri");
    if let Some(uri) = uri {
        let uri = string(uri).ok_or(ContentError::Uri)?;
        if !is_absolute_uri(&uri) {
            return Err(ContentError::RelativeUri);
        }
    }
    match (content.get("text"), content.get("blob")) {
        (Some(text), None) if is_string(text) => {}
        (None, Some(blob)) if is_string(blob) => {
            if !is_base64_string(blob) {
                return Err(ContentError::Blob);
            }
        }
        _ => return Err(ContentError::TextOrBlob),
    }
    if !content.optional("mimeType", is_string) {
        return Err(ContentError::MimeType);
    }
    if !content.optional("annotations", is_object) || !content.optional("_meta", is_object) {
        return Err(ContentError::Extras);
    }
    Ok(uri.is_some())
}

/// Appends contents (an encoded array) as they are, except that one without a URI gets `uri`.
pub(crate) fn write_contents(
    contents: &[u8],
    uri: &str,
    out: &mut Encoded,
) -> Result<(), ContentError> {
    out.reserve(contents.len() + uri.len());
    out.push(b'[');
    for (at, item) in items(contents)
        .ok_or(ContentError::NotList)?
        .into_iter()
        .enumerate()
    {
        let content = Content::read(item).ok_or(ContentError::NotList)?;
        if at > 0 {
            out.push(b',');
        }
        if check_content(&content)? {
            out.extend_from_slice(item);
        } else {
            // A content without a text or blob is refused, so there is a member to follow.
            open(uri, out);
            out.push(b',');
            out.extend_from_slice(&item[1..]);
        }
    }
    out.push(b']');
    Ok(())
}

/// Appends what a read gave as an array of contents.
pub(crate) fn write_read(
    value: &Value,
    uri: &str,
    mime_type: Option<&str>,
    out: &mut Encoded,
) -> Result<(), Unfit> {
    match value {
        Value::Text(text) => single(uri, mime_type, "text", text, out),
        Value::Structured(json) => {
            let text = std::str::from_utf8(json).map_err(|_| ContentError::Utf8)?;
            let mime_type = mime_type.unwrap_or("application/json");
            single(uri, Some(mime_type), "text", text, out);
        }
        Value::Blob(base64) => single(uri, mime_type, "blob", base64, out),
        Value::Content(blocks) => write_blocks(blocks, uri, mime_type, out)?,
        Value::ResourceRead { contents, .. } => write_contents(contents, uri, out)?,
        Value::Failure(_) | Value::Raised(_) => return Err(Unfit::Failed),
        Value::Error(error) => return Err(Unfit::Error(error.clone())),
        Value::Raw(_)
        | Value::Wire(_)
        | Value::InputRequired { .. }
        | Value::PromptGet { .. }
        | Value::Completion { .. }
        | Value::Decisions(_) => return Err(Unfit::Kind),
    }
    Ok(())
}

/// The beginning of a content.
fn open(uri: &str, out: &mut Encoded) {
    out.extend_from_slice(br#"{"uri":"#);
    write_string(uri, out);
}

fn single(uri: &str, mime_type: Option<&str>, key: &str, value: &str, out: &mut Encoded) {
    out.reserve(value.len() + value.len() / 8 + 128);
    out.push(b'[');
    open(uri, out);
    if let Some(mime_type) = mime_type {
        out.extend_from_slice(br#","mimeType":"#);
        write_string(mime_type, out);
    }
    out.push(b',');
    write_string(key, out);
    out.push(b':');
    write_string(value, out);
    out.extend_from_slice(b"}]");
}

/// Content blocks, such as a tool gives, as contents of a resource; contents among them stay what they
/// are. A link, or nothing at all, is nothing that was read.
fn write_blocks(
    blocks: &[u8],
    uri: &str,
    mime_type: Option<&str>,
    out: &mut Encoded,
) -> Result<(), ContentError> {
    let blocks = items(blocks).filter(|blocks| !blocks.is_empty());
    let blocks = blocks.ok_or(ContentError::NoBlocks)?;
    let mut contents = b"[".to_vec();
    for (at, item) in blocks.into_iter().enumerate() {
        if at > 0 {
            contents.push(b',');
        }
        let block = Content::read(item).ok_or(ContentError::NotList)?;
        let Some(kind) = block.get("type") else {
            contents.extend_from_slice(item);
            continue;
        };
        let (key, value) = match string(kind).as_deref() {
            Some("text") => ("text", block.get("text")),
            Some("image" | "audio") => ("blob", block.get("data")),
            Some("resource") => {
                let resource = block.get("resource").ok_or(ContentError::BlockMember)?;
                contents.extend_from_slice(resource);
                continue;
            }
            _ => return Err(ContentError::NotReadable),
        };
        let value = value.ok_or(ContentError::BlockMember)?;
        open(uri, &mut contents);
        match (block.get("mimeType"), mime_type) {
            (Some(mime_type), _) => member("mimeType", mime_type, &mut contents),
            (None, Some(mime_type)) => {
                contents.extend_from_slice(br#","mimeType":"#);
                write_string(mime_type, &mut contents);
            }
            (None, None) => {}
        }
        member(key, value, &mut contents);
        for key in ["annotations", "_meta"] {
            if let Some(value) = block.get(key) {
                member(key, value, &mut contents);
            }
        }
        contents.push(b'}');
    }
    contents.push(b']');
    write_contents(&contents, uri, out)
}

fn member(key: &str, value: &[u8], out: &mut Encoded) {
    out.push(b',');
    write_string(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}
