//! Who may be paid.

use core::cmp::Ordering;

/// A Solana address: 32 bytes.
pub type Address = [u8; 32];

/// Most entries that an allowlist may have.
pub const ALLOWLIST_ENTRIES_MAX: usize = 256;

/// Whom a policy allows as recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowlist<'a> {
    Anyone,
    /// Only these, sorted strictly ascending by bytes. An empty list allows nobody.
    Only(&'a [Address]),
}

impl<'a> Allowlist<'a> {
    /// `entries` as a list, if they are in strictly ascending order and not too many.
    pub fn only(entries: &'a [Address]) -> Option<Self> {
        let ascending = entries.windows(2).all(|pair| match pair {
            [left, right] => compare(left, right) == Ordering::Less,
            _ => true,
        });
        (ascending && entries.len() <= ALLOWLIST_ENTRIES_MAX).then_some(Self::Only(entries))
    }

    /// Whether a payment to `recipient`, a token account that `owner` owns at this moment, is allowed.
    #[inline]
    pub fn allows(&self, recipient: &Address, owner: &Address) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(entries) => contains(entries, recipient) || contains(entries, owner),
        }
    }
}

/// The `index`th 8 bytes of an address, such that word order is byte order.
#[inline(always)]
fn word(address: &Address, index: usize) -> u64 {
    let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7] =
        *address;
    u64::from_be_bytes(match index {
        0 => [a0, a1, a2, a3, a4, a5, a6, a7],
        1 => [b0, b1, b2, b3, b4, b5, b6, b7],
        2 => [c0, c1, c2, c3, c4, c5, c6, c7],
        _ => [d0, d1, d2, d3, d4, d5, d6, d7],
    })
}

/// Byte order, eight bytes at a time: on chain, the derived order compares byte by byte.
#[inline(always)]
fn compare(left: &Address, right: &Address) -> Ordering {
    word(left, 0)
        .cmp(&word(right, 0))
        .then_with(|| word(left, 1).cmp(&word(right, 1)))
        .then_with(|| word(left, 2).cmp(&word(right, 2)))
        .then_with(|| word(left, 3).cmp(&word(right, 3)))
}

#[inline]
fn contains(entries: &[Address], address: &Address) -> bool {
    entries.binary_search_by(|entry| compare(entry, address)).is_ok()
}
