//! Cursors: make, open, slice.
//!
//! A cursor says where a page begins and which list it belongs to. It is not signed: forging one
//! only selects another page of what the caller may see anyway. Nothing in it depends on a process,
//! so replicas with the same catalogue accept each other's.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::Error;

const PREFIX: &str = "mcp1.";
/// Offset (4 bytes), fingerprint of the list (16), check over both and the list's name (8).
const PAYLOAD_BYTES: usize = 28;

/// Why a cursor is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Not one of ours, altered, or of another list.
    #[error("Invalid pagination cursor")]
    Invalid,
    /// One of ours, but the list or its page size is no longer the same.
    #[error("Pagination cursor has expired")]
    Expired,
}

impl From<CursorError> for Error {
    fn from(error: CursorError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

/// A list cut into pages, and what ties a cursor to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Revision and method, which a cursor must share.
    name: String,
    /// Digest of the name, the page size and every entry.
    fingerprint: u128,
    page_size: usize,
    total: usize,
}

impl Pages {
    /// Cuts `entries` into pages of `page_size`, or leaves them in one. `version` and `method` name
    /// the list.
    pub fn new<E: AsRef<[u8]>>(
        version: &str,
        method: &str,
        page_size: Option<usize>,
        entries: &[E],
    ) -> Self {
        let name = format!("{version} {method}");
        let page_size = page_size.unwrap_or(usize::MAX).max(1);
        let mut digest = Digest::new();
        digest.part(name.as_bytes());
        digest.part(&page_size.to_be_bytes());
        for entry in entries {
            digest.part(entry.as_ref());
        }
        Self {
            name,
            fingerprint: digest.0,
            page_size,
            total: entries.len(),
        }
    }

    /// How many pages: at least one, which may be empty.
    pub fn count(&self) -> usize {
        self.total.div_ceil(self.page_size).max(1)
    }

    /// Which entries are on a page.
    pub fn range(&self, page: usize) -> std::ops::Range<usize> {
        let start = page.saturating_mul(self.page_size).min(self.total);
        start..start.saturating_add(self.page_size).min(self.total)
    }

    /// The cursor at the end of a page, unless it is the last.
    pub fn next_cursor(&self, page: usize) -> Option<String> {
        let offset = self.range(page).end;
        if offset >= self.total {
            return None;
        }
        // Lists of 2^32 entries do not fit in memory.
        let offset = u32::try_from(offset).ok()?;
        let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
        payload.extend_from_slice(&offset.to_be_bytes());
        payload.extend_from_slice(&self.fingerprint.to_be_bytes());
        payload.extend_from_slice(&self.check(&payload));
        Some(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(payload)))
    }

    /// The page a cursor points to; `None` is the first.
    pub fn open(&self, cursor: Option<&str>, cursor_bytes: usize) -> Result<usize, CursorError> {
        let Some(cursor) = cursor else { return Ok(0) };
        if cursor.len() > cursor_bytes {
            return Err(CursorError::Invalid);
        }
        let payload = cursor
            .strip_prefix(PREFIX)
            .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
            .filter(|payload| payload.len() == PAYLOAD_BYTES)
            .ok_or(CursorError::Invalid)?;
        let (content, check) = payload.split_at(PAYLOAD_BYTES - 8);
        if check != self.check(content) {
            return Err(CursorError::Invalid);
        }
        let (offset, fingerprint) = content.split_at(4);
        if fingerprint != self.fingerprint.to_be_bytes() {
            return Err(CursorError::Expired);
        }
        let offset = offset
            .iter()
            .fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        if offset == 0 || !offset.is_multiple_of(self.page_size) {
            return Err(CursorError::Invalid);
        }
        if offset >= self.total {
            return Err(CursorError::Expired);
        }
        Ok(offset / self.page_size)
    }

    /// Tells an altered cursor, or one of another list, from one that was good once.
    fn check(&self, content: &[u8]) -> [u8; 8] {
        let mut digest = Digest::new();
        digest.part(self.name.as_bytes());
        digest.part(content);
        let folded = (digest.0 ^ (digest.0 >> 64)) & u128::from(u64::MAX);
        let mut check = [0; 8];
        check.copy_from_slice(&folded.to_be_bytes()[8..]);
        check
    }
}

/// FNV-1a of 128 bits: no seed, so equal on every machine; no secrets are kept by it.
struct Digest(u128);

impl Digest {
    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds one part, its length first, so that parts cannot run into each other.
    fn part(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_be_bytes().iter().chain(bytes) {
            self.0 ^= u128::from(*byte);
            self.0 = self
                .0
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(page_size: usize, entries: &[&str]) -> Pages {
        Pages::new("v", "tools/list", Some(page_size), entries)
    }

    #[test]
    fn an_exact_boundary_leaves_no_cursor_on_the_last_page() {
        let list = pages(2, &["a", "b", "c", "d"]);
        assert_eq!(list.count(), 2);
        let cursor = list.next_cursor(0).expect("a second page");
        assert_eq!(list.open(Some(&cursor), 2048), Ok(1));
        assert_eq!(list.range(1), 2..4);
        assert_eq!(list.next_cursor(1), None);
    }

    #[test]
    fn an_empty_list_has_one_empty_page() {
        let list = pages(2, &[]);
        assert_eq!(
            (list.count(), list.range(0), list.next_cursor(0)),
            (1, 0..0, None)
        );
    }

    #[test]
    fn a_cursor_of_another_list_is_invalid_and_of_another_catalogue_expired() {
        let list = pages(1, &["a", "b"]);
        let foreign = Pages::new("v", "prompts/list", Some(1), &["a", "b"]);
        let changed = pages(1, &["a", "c"]);
        let resized = pages(2, &["a", "b", "c"]);
        let open =
            |other: &Pages| list.open(Some(&other.next_cursor(0).expect("a second page")), 2048);
        assert_eq!(open(&foreign), Err(CursorError::Invalid));
        assert_eq!(open(&changed), Err(CursorError::Expired));
        assert_eq!(open(&resized), Err(CursorError::Expired));
    }

    #[test]
    fn an_altered_cursor_is_invalid() {
        let list = pages(1, &["a", "b", "c"]);
        let cursor = list.next_cursor(0).expect("a second page");
        for at in 0..cursor.len() {
            let mut altered = cursor.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).expect("ASCII");
            assert_eq!(
                list.open(Some(&altered), 2048),
                Err(CursorError::Invalid),
                "{altered}"
            );
        }
        for bad in ["", "x", "mcp1.", "mcp1.AAAA"] {
            assert_eq!(list.open(Some(bad), 2048), Err(CursorError::Invalid));
        }
        assert_eq!(
            list.open(Some(&cursor), cursor.len() - 1),
            Err(CursorError::Invalid)
        );
    }

    #[test]
    fn a_cursor_is_the_same_in_every_process() {
        let cursor = pages(1, &["a", "b"]).next_cursor(0);
        assert_eq!(
            cursor.as_deref(),
            Some("mcp1.AAAAASj4bbDpJheO_e_eSBJDtfGknE5iHWnryg")
        );
    }
}
