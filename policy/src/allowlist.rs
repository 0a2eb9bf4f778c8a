//! Who may be paid.

use core::cmp::Ordering;

/// A Solana address: 32 bytes.
pub type Address = [u8; 32];

/// The most entries that an allowlist may have, wallets and token accounts together.
pub const ALLOWLIST_ENTRIES_MAX: usize = 256;

/// The recipients that a policy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowlist<'a> {
    Anyone,
    /// Only these. With no entries, nobody.
    Only(Recipients<'a>),
}

/// Entries by kind. An entry matches only as its own kind: anyone can make a token account whose owner field holds any
/// address, so the address of a listed token account must not count as an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipients<'a> {
    /// Owners of token accounts, in strictly ascending order of bytes.
    wallets: &'a [Address],
    /// Token accounts, in the same order.
    token_accounts: &'a [Address],
}

impl<'a> Allowlist<'a> {
    /// An allowlist of these entries, if each list is in strictly ascending order and they are not too many.
    pub fn only(wallets: &'a [Address], token_accounts: &'a [Address]) -> Option<Self> {
        let count = wallets.len().saturating_add(token_accounts.len());
        let valid = count <= ALLOWLIST_ENTRIES_MAX && is_ascending(wallets) && is_ascending(token_accounts);
        valid.then_some(Self::stored(wallets, token_accounts))
    }

    /// Like [`Self::only`], for entries that were checked when they were stored.
    #[inline(always)]
    pub fn stored(wallets: &'a [Address], token_accounts: &'a [Address]) -> Self {
        Self::Only(Recipients { wallets, token_accounts })
    }

    /// Wallets and token accounts; both are empty if anyone may be paid.
    pub fn entries(&self) -> (&'a [Address], &'a [Address]) {
        match self {
            Self::Anyone => (&[], &[]),
            Self::Only(Recipients { wallets, token_accounts }) => (wallets, token_accounts),
        }
    }

    /// Whether a payment to `recipient`, a token account that `owner` owns right now, is allowed.
    #[inline]
    pub fn allows(&self, recipient: &Address, owner: &Address) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(only) => contains(only.token_accounts, recipient) || contains(only.wallets, owner),
        }
    }

    /// Whether this list has an entry that `other` lacks.
    pub fn adds_to(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Anyone) => false,
            (Self::Anyone, Self::Only(_)) => true,
            (Self::Only(new), Self::Only(old)) => {
                has_others(new.wallets, old.wallets) || has_others(new.token_accounts, old.token_accounts)
            }
        }
    }
}

/// Whether `entries` has any that `known` lacks. Both ascend, so one pass over each is enough; if one were out of order
/// after all, the answer could only be yes.
fn has_others(entries: &[Address], known: &[Address]) -> bool {
    let mut known = known.iter();
    entries.iter().any(|entry| known.find(|known| compare(known, entry) != Ordering::Less) != Some(entry))
}

fn is_ascending(entries: &[Address]) -> bool {
    entries.windows(2).all(|pair| match pair {
        [left, right] => compare(left, right) == Ordering::Less,
        _ => true,
    })
}

/// Byte order, eight bytes at a time: on chain, the derived order compares single bytes.
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

/// The `index`th eight bytes of an address, as a number whose order is byte order.
#[inline(always)]
fn word(address: &Address, index: usize) -> u64 {
    let bytes = address.get(8 * index..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Binary search for the last entry that is not above `address`. It takes the same number of steps for every address,
/// so that a transfer's compute units hardly depend on its keys. Not inlined: among all else that a transfer has at hand, each
/// step would go by the stack.
#[inline(never)]
fn contains(entries: &[Address], address: &Address) -> bool {
    let first = word(address, 0);
    let (mut base, mut size) = (0, entries.len());
    while size > 1 {
        let half = size / 2;
        let Some(middle) = entries.get(base + half) else { return false };
        let middle_first = word(middle, 0);
        // Eight bytes almost always distinguish two addresses, so the rest are compared only if they do not.
        if middle_first < first
            || middle_first == first && (middle == address || compare(middle, address) == Ordering::Less)
        {
            base += half;
        }
        size -= half;
    }
    entries.get(base) == Some(address)
}
