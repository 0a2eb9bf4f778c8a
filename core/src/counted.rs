//! Blocks to sign over, with the payments that an account had made by then.
//!
//! A transfer names a count of payments among which its tag was not. A fork may drop what was counted, and other payments take its
//! numbers: then the count hides them. So a transfer is signed over a block of the chain on which its payments were counted, and a
//! fork that drops one of them drops that block, and the transfer, too. Which chain a block is of is asked for once for several
//! transfers: those that follow count no more than it has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use purser_policy::RecentTags;

use crate::{Address, UnsignedTransfer};

/// No fork drops a block that is followed by so many: it is final.
const FORKED_SLOTS_MAX: u64 = 32;
/// With more accounts all are forgotten, and asked for again.
const ACCOUNTS_MAX: usize = 10_000;

/// The latest block of each account that paid a moment ago.
pub struct CountedBlocks<B>(Mutex<HashMap<Address, (B, RecentTags)>>);

impl<B> Default for CountedBlocks<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B: Copy> CountedBlocks<B> {
    /// The account's block if the transfer may be signed over it, and the transfer that counts only what was paid by then.
    pub fn block_for(&self, order: &UnsignedTransfer) -> Option<(B, UnsignedTransfer)> {
        let (block, counted) = *self.blocks().get(&order.agent.agent)?;
        let later = order.counted.recorded().checked_sub(counted.recorded())?;
        let follows = later <= order.may_lag && follows(&order.counted, &counted);
        follows.then(|| (block, UnsignedTransfer { counted, ..order.clone() }))
    }

    /// The account had made what this transfer counts, on the chain of this block.
    pub fn keep(&self, order: &UnsignedTransfer, block: B) {
        let mut blocks = self.blocks();
        if blocks.len() >= ACCOUNTS_MAX {
            blocks.clear();
        }
        blocks.insert(order.agent.agent, (block, order.counted));
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<Address, (B, RecentTags)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an account with these tags is on the chain on which it had `earlier` before: it remembers the newest of those.
pub fn follows(tags: &RecentTags, earlier: &RecentTags) -> bool {
    let newest = earlier.numbered().last();
    newest.is_none_or(|newest| tags.numbered().any(|payment| payment == newest))
}

impl UnsignedTransfer {
    /// Whether a fork may drop what was counted and keep the block of this slot, as far as the slots tell.
    pub fn may_outlive_its_count(&self, slot: u64) -> bool {
        self.counted.recorded() > 0 && slot < self.counted_in.saturating_add(FORKED_SLOTS_MAX)
    }
}
