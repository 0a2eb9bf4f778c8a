use std::collections::BTreeMap;

use purser_core::words;

use super::{AccountFilter, AccountId};

/// Most accounts of one change.
pub const SELECTED_MAX: usize = 1_000;

/// Which accounts one change is for.
#[derive(Debug, Clone)]
pub enum Selection {
    /// These: each, where that was said, only while its policy has this version.
    Named(BTreeMap<AccountId, Option<u64>>),
    Filtered(AccountFilter),
}

words! {
    /// What became of one account, or would.
    pub enum ManyOutcome = "ManyOutcome":
        "`pending` waits for the loosening delay; `unchanged` was so already; `failed` changed nothing, as \
         `error` says." {
        Applied = "applied",
        /// It loosens something, and waits.
        Pending = "pending",
        /// It was so already.
        Unchanged = "unchanged",
        Failed = "failed",
    }
}
