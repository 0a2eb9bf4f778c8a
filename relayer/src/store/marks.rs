//! Transactions by signature and slot. The slot locates their history rows, because rows of one time lie together.

use super::query::{Query, places};

/// A transaction as a place in an address's past.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Base58.
    pub signature: String,
    pub slot: u64,
}

/// The condition that a row belongs to one of `marks` transactions, with placeholders from `first` on: see [`bind_marks`].
pub(super) fn row_matches(first: usize, marks: usize) -> String {
    format!("slot IN ({}) AND tx_signature IN ({})", places(first, marks), places(first + marks, marks))
}

/// Binds the values of [`row_matches`].
pub(super) fn bind_marks(query: Query, marks: &[Mark]) -> Query {
    let slots = marks.iter().map(|mark| mark.slot.cast_signed());
    query.bind_all(slots).bind_all(marks.iter().map(|mark| mark.signature.as_str()))
}
