//! A statement's inputs and outputs on either database.

/// A value of one of the types that both databases have.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(bool),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// The result wanted from a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The number of rows touched.
    Count,
    /// The first row returned.
    First,
    /// All rows returned.
    All,
}

pub(super) struct Answer<R> {
    pub touched: u64,
    pub rows: Vec<R>,
}
