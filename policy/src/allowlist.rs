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

/// Byte order, eight bytes at a time: on chain, the derived order compares byte by byte.
#[inline(never)]
fn compare(left: &Address, right: &Address) -> Ordering {
    for index in 0..4 {
        let (left, right) = (word(left, index), word(right, index));
        if left != right {
            return left.cmp(&right);
        }
    }
    Ordering::Equal
}

/// The `index`th eight bytes of an address as a number, such that its order is byte order.
#[inline(always)]
fn word(address: &Address, index: usize) -> u64 {
    let bytes = address.get(8 * index..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Binary search for the last entry that is not above `address`: as many steps for every address, so that a transfer's
/// compute units hardly depend on its keys.
#[inline]
fn contains(entries: &[Address], address: &Address) -> bool {
    let first = word(address, 0);
    let (mut base, mut size) = (0, entries.len());
    while size > 1 {
        let half = size / 2;
        let Some(middle) = entries.get(base + half) else { return false };
        let middle_first = word(middle, 0);
        // Eight bytes almost always tell two addresses apart, so the others are looked at only where they do not.
        if middle_first < first
            || middle_first == first && (middle == address || compare(middle, address) == Ordering::Less)
        {
            base += half;
        }
        size -= half;
    }
    entries.get(base) == Some(address)
}
