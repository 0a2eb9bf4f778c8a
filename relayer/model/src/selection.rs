use std::collections::BTreeMap;

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
