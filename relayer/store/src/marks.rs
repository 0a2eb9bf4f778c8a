//! Transactions by signature and slot. The slot locates their history rows, because rows of one time lie together.

use super::query::{Each, Piece, Place, text};
use super::row::row;
use super::statement::Value;

/// A transaction as a place in an address's past.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Base58.
    pub signature: String,
    pub slot: u64,
}

row! { Mark { signature: tx_signature, slot } }

/// The condition that a row belongs to one of these transactions.
pub(super) fn one_of(transactions: &[Mark]) -> impl Place + use<'_> {
    Piece(move |values: &mut Vec<Value>| {
        let slots: Vec<u64> = transactions.iter().map(|mark| mark.slot).collect();
        let signatures: Vec<&str> = transactions.iter().map(|mark| mark.signature.as_str()).collect();
        text!(
            values,
            "slot IN ({slots}) AND tx_signature IN ({signatures})",
            slots = Each(&slots),
            signatures = Each(&signatures)
        )
    })
}
