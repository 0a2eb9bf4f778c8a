use std::fmt::Display;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Invalid;

const VERSION: u8 = 1;
const FILTER_BYTES: usize = 8;
const CURSOR_CHARS_MAX: usize = 512;

/// Where the next page begins. Opaque to clients, and good only for the list and filter that it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cursor(String);

impl From<String> for Cursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Cursor {
    /// The place after `place` in the list that `filter` describes (list name, owner and every parameter but the limit).
    pub fn new(filter: &str, place: impl Display) -> Self {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&digest(filter));
        bytes.extend_from_slice(place.to_string().as_bytes());
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The place of the previous page's last item. Invalid: not one of our cursors, or from another list or filter.
    pub fn place<P: FromStr>(&self, filter: &str) -> Result<P, Invalid> {
        let invalid = || Invalid::new("cursor", "must be a cursor of the same list with the same filter");
        if self.0.len() > CURSOR_CHARS_MAX {
            return Err(invalid());
        }
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| invalid())?;
        let (version, rest) = bytes.split_first().ok_or_else(invalid)?;
        let (bound, place) = rest.split_first_chunk::<FILTER_BYTES>().ok_or_else(invalid)?;
        if *version != VERSION || *bound != digest(filter) {
            return Err(invalid());
        }
        let place = std::str::from_utf8(place).map_err(|_| invalid())?;
        place.parse().map_err(|_| invalid())
    }

    /// Base64url without padding.
    pub fn text(&self) -> &str {
        &self.0
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
    /// How many items it may have, at least 1.
    pub limit: u32,
    /// `None` for the first page.
    pub cursor: Option<Cursor>,
}

impl PageRequest {
    pub const fn first(limit: u32) -> Self {
        Self { limit, cursor: None }
    }

    /// As the query parameters `limit` and `cursor` say. Invalid: the limit is no whole number from 1 to `max`.
    pub fn parse(
        limit: Option<&str>,
        (default, max): (u32, u32),
        cursor: Option<String>,
    ) -> Result<Self, Invalid> {
        let cursor = cursor.map(Cursor::from);
        let Some(text) = limit else { return Ok(Self { limit: default, cursor }) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(limit) if digits && (1..=max).contains(&limit) => Ok(Self { limit, cursor }),
            Ok(_) | Err(_) => Err(Invalid::new("limit", format!("must be a whole number from 1 to {max}"))),
        }
    }

    /// The page of the list that `filter` describes, as for [`Cursor::new`]. Invalid: the cursor is of another.
    pub fn of<P: FromStr>(self, filter: String) -> Result<Listing<P>, Invalid> {
        let Self { limit, cursor } = self;
        Ok(Listing { limit, after: cursor.map(|cursor| cursor.place(&filter)).transpose()?, filter })
    }
}

/// A page that is looked for, in a list whose items have places `P`.
#[derive(Debug, Clone)]
pub struct Listing<P> {
    pub limit: u32,
    /// The place of the previous page's last item.
    pub after: Option<P>,
    filter: String,
}

impl<P: Display> Listing<P> {
    /// One more than the page may have: it shows that more follow.
    pub const fn rows_max(&self) -> u32 {
        self.limit.saturating_add(1)
    }

    /// The page of up to [`Listing::rows_max`] items.
    pub fn page<T>(&self, mut items: Vec<T>, place_of: impl FnOnce(&T) -> P) -> Page<T> {
        let limit = self.limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| self.cursor(place_of(last)));
        Page { items, next }
    }

    /// The cursor after this place.
    pub fn cursor(&self, place: P) -> Cursor {
        Cursor::new(&self.filter, place)
    }
}

/// One page of a list, and where the next one begins, if any.
#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
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
        fn a_cursor_comes_back_only_for_its_filter(place in "\\PC{0,40}") {
            let cursor = Cursor::new("accounts|op_1|", &place);
            prop_assert_eq!(cursor.place("accounts|op_1|"), Ok(place));
            prop_assert!(cursor.place::<String>("accounts|op_1|paused").is_err());
        }

        #[test]
        fn no_text_breaks_the_cursor_reader(text in "\\PC{0,60}") {
            let _ = Cursor::from(text).place::<String>("accounts");
        }
    }

    #[test]
    fn the_item_too_many_is_not_shown() {
        let listing = PageRequest::first(2).of::<u8>("x".to_owned()).expect("valid");
        let first = listing.page(vec![9, 8, 7], |last| *last);
        assert_eq!((first.items, first.next), (vec![9, 8], Some(Cursor::new("x", 8))));
        assert!(listing.page(vec![9, 8], |last| *last).next.is_none());
    }

    #[test]
    fn a_cursor_whose_place_is_none_of_the_list_is_refused() {
        let request = PageRequest { limit: 2, cursor: Some(Cursor::new("x", "later")) };
        assert_eq!(request.of::<u8>("x".to_owned()).expect_err("no number").param(), "cursor");
    }

    #[test]
    fn limit_is_from_one_to_the_maximum() {
        let parse = |text| PageRequest::parse(text, (20, 100), None).map(|request| request.limit);
        assert_eq!((parse(None), parse(Some("100"))), (Ok(20), Ok(100)));
        for text in ["", "0", "101", "-1", "+1", "1.0", " 1", "99999999999999999999"] {
            assert!(parse(Some(text)).is_err(), "{text:?}");
        }
    }
}
