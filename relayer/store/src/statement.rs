//! A statement's inputs and outputs on either database.

/// A value of one of the types that both databases have, or none.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(Option<bool>),
}

/// A value for a column. What is absent is NULL.
pub(super) trait Bound {
    /// NULL for this type. Most are stored as text.
    const NULL: Value = Value::Text(None);

    fn value(&self) -> Value;
}

impl<T: Bound + ?Sized> Bound for &T {
    const NULL: Value = T::NULL;

    fn value(&self) -> Value {
        T::value(self)
    }
}

impl<T: Bound> Bound for Option<T> {
    const NULL: Value = T::NULL;

    fn value(&self) -> Value {
        self.as_ref().map_or(T::NULL, T::value)
    }
}

/// Text: one of the program's own, never a client's.
pub(super) struct Sql<T>(pub T);

/// The columns that an insert writes, and their values.
pub(super) struct Columns(pub Vec<(&'static str, Value)>);

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
