use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::Invalid;

const VERSION: u8 = 1;
const FILTER_BYTES: usize = 8;
const CURSOR_CHARS_MAX: usize = 512;

/// How many items a page may hold: at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit(u32);

impl PageLimit {
    /// Reads the query parameter `limit`. Invalid: not a whole number from 1 to `max`.
    pub fn parse(text: Option<&str>, default: u32, max: u32) -> Result<Self, Invalid> {
        let Some(text) = text else { return Ok(Self(default)) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(limit) if digits && (1..=max).contains(&limit) => Ok(Self(limit)),
            Ok(_) | Err(_) => Err(Invalid::new("limit", format!("must be a whole number from 1 to {max}"))),
        }
    }

    /// The number of items.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Where the next page begins. Opaque to clients, and good only for the list and filter that it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    filter: [u8; FILTER_BYTES],
    position: String,
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl Cursor {
    /// The position after `position` in the list that `filter` describes (list name, owner and every parameter but the limit).
    pub fn new(filter: &str, position: impl Into<String>) -> Self {
        Self { filter: digest(filter), position: position.into() }
    }

    /// Invalid: not one of our cursors, or from another list or filter.
    pub fn parse(text: &str, filter: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid::new("cursor", "must be a cursor of the same list with the same filter");
        if text.len() > CURSOR_CHARS_MAX {
            return Err(invalid());
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
        let (version, rest) = bytes.split_first().ok_or_else(invalid)?;
        let (bound, position) = rest.split_first_chunk::<FILTER_BYTES>().ok_or_else(invalid)?;
        if *version != VERSION || *bound != digest(filter) {
            return Err(invalid());
        }
        let position = std::str::from_utf8(position).map_err(|_| invalid())?;
        Ok(Self { filter: *bound, position: position.to_owned() })
    }

    /// The sort key of the previous page's last item.
    pub fn position(&self) -> &str {
        &self.position
    }

    /// The text to hand to clients: base64url without padding.
    pub fn text(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.filter);
        bytes.extend_from_slice(self.position.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

fn digest(filter: &str) -> [u8; FILTER_BYTES] {
    let digest: [u8; 32] = Sha256::digest(filter.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// The requested page of a list.
#[derive(Debug, Clone)]
pub struct PageRequest {
    pub limit: PageLimit,
    /// `None` for the first page.
    pub after: Option<Cursor>,
}

/// One page of a list, and where the next one begins, if any.
#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Builds a page from up to `limit + 1` items; the extra one only shows that more follow.
    pub fn from_rows(mut items: Vec<T>, limit: PageLimit, cursor_after: impl FnOnce(&T) -> Cursor) -> Self {
        let limit = limit.get() as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(cursor_after) } else { None };
        Self { items, next }
    }

    /// The same page with other items, without those that are none.
    pub fn filter_map<U>(self, each: impl FnMut(T) -> Option<U>) -> Page<U> {
        Page { items: self.items.into_iter().filter_map(each).collect(), next: self.next }
    }

    /// The same page with other items.
    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(each).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_only_for_its_filter(position in "\\PC{0,40}") {
            let cursor = Cursor::new("accounts|op_1|", position.clone());
            prop_assert_eq!(Cursor::parse(&cursor.text(), "accounts|op_1|"), Ok(cursor.clone()));
            prop_assert!(Cursor::parse(&cursor.text(), "accounts|op_1|paused").is_err());
        }

        #[test]
        fn no_text_breaks_the_cursor_reader(text in "\\PC{0,60}") {
            let _ = Cursor::parse(&text, "accounts");
        }
    }

    #[test]
    fn the_item_too_many_is_not_shown() {
        let limit = PageLimit::parse(Some("2"), 20, 100).expect("valid");
        let page = |items: Vec<u8>| Page::from_rows(items, limit, |last| Cursor::new("x", last.to_string()));
        let first = page(vec![9, 8, 7]);
        assert_eq!(
            (first.items, first.next.map(|next| next.position().to_owned())),
            (vec![9, 8], Some("8".into()))
        );
        assert!(page(vec![9, 8]).next.is_none());
    }

    #[test]
    fn limit_is_from_one_to_the_maximum() {
        assert_eq!(PageLimit::parse(None, 20, 100), Ok(PageLimit(20)));
        assert_eq!(PageLimit::parse(Some("100"), 20, 100), Ok(PageLimit(100)));
        for text in ["", "0", "101", "-1", "+1", "1.0", " 1", "99999999999999999999"] {
            assert!(PageLimit::parse(Some(text), 20, 100).is_err(), "{text:?}");
        }
    }
}
