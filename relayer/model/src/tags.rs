//! Tags: words of an operator's own, by which it chooses several accounts at once.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Invalid, ParseError};

/// Most tags of an account.
pub const TAGS_MAX: usize = 20;
/// Longest tag, in characters.
pub const TAG_CHARS_MAX: usize = 64;

/// One tag: lower-case letters, digits and `._:/-`. There is one way to write it, so that nobody misses half of the accounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

impl FromStr for Tag {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._:/-".contains(&byte);
        if text.is_empty() || text.len() > TAG_CHARS_MAX || !text.bytes().all(is_plain) {
            let must_be = format!(
                "must be 1 to {TAG_CHARS_MAX} lower-case letters a to z, digits and the characters `.`, `_`, `:`, `/`, `-`"
            );
            return Err(must_be.into());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

purser_core::as_text! { Tag }

/// The tags of an account, each once, in order of the alphabet. Its text has blanks between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Tag>")]
pub struct Tags(Box<[Tag]>);

impl Tags {
    /// Invalid: one of the texts is no tag, or there are too many.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let read = |(index, text)| Invalid::unless::<Tag>(&format!("tags[{index}]"), text);
        texts.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?.try_into()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, tag: &Tag) -> bool {
        self.0.contains(tag)
    }
}

impl TryFrom<Vec<Tag>> for Tags {
    type Error = Invalid;

    fn try_from(mut tags: Vec<Tag>) -> Result<Self, Invalid> {
        tags.sort();
        tags.dedup();
        if tags.len() > TAGS_MAX {
            return Err(Invalid::new("tags", format!("may be {TAGS_MAX} at most")));
        }
        Ok(Self(tags.into()))
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|Tag(word)| word.as_str()).collect();
        f.write_str(&words.join(" "))
    }
}

impl FromStr for Tags {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text.split_ascii_whitespace())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_kept_once_and_in_order_and_read_back_from_their_text() {
        let tags = Tags::parse(["team:research", "eu", "eu", "a/b.c_d-1"]).expect("tags");
        assert_eq!(tags.to_string(), "a/b.c_d-1 eu team:research");
        assert_eq!(tags.to_string().parse::<Tags>().expect("its own text"), tags);
        assert_eq!("".parse::<Tags>().expect("none"), Tags::default());
    }

    #[test]
    fn what_is_no_tag_is_named() {
        let long = "x".repeat(TAG_CHARS_MAX + 1);
        for wrong in ["", " ", "Prod", "a b", "a,b", "ä", "a\0", "%", "*", long.as_str()] {
            assert_eq!(Tags::parse(["eu", wrong]).expect_err(wrong).param(), "tags[1]");
        }
        let many: Vec<String> = (0..=TAGS_MAX).map(|tag| tag.to_string()).collect();
        assert_eq!(Tags::parse(many.iter().map(String::as_str)).expect_err("too many").param(), "tags");
        assert!(Tags::parse(many.iter().skip(1).map(String::as_str)).is_ok());
        assert!(Tags::parse(["x".repeat(TAG_CHARS_MAX).as_str()]).is_ok());
    }
}
