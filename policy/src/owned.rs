//! A policy that owns its allowlist, for whoever can allocate: everybody but the program.

use alloc::vec::Vec;

use crate::{Address, Allowlist, AsAllowlist, Policy, PolicyOver};

/// A whole policy: what the program stores, and what everybody who reads or writes it passes on.
pub type SpendingPolicy = PolicyOver<AllowedRecipients>;

/// Who may be paid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowedRecipients {
    /// Every recipient.
    #[default]
    Anyone,
    /// Each list is sorted by bytes, without duplicates: [`AllowedRecipients::only`] ensures that.
    Only {
        /// All token accounts of these.
        wallets: Vec<Address>,
        /// These alone.
        token_accounts: Vec<Address>,
    },
}

impl AllowedRecipients {
    /// Sorts, and drops duplicates.
    pub fn only(mut wallets: Vec<Address>, mut token_accounts: Vec<Address>) -> Self {
        for entries in [&mut wallets, &mut token_accounts] {
            entries.sort_unstable();
            entries.dedup();
        }
        Self::Only { wallets, token_accounts }
    }

    /// The wallets and the token accounts; `None` if anyone may be paid.
    pub fn lists(&self) -> Option<(&[Address], &[Address])> {
        match self {
            Self::Anyone => None,
            Self::Only { wallets, token_accounts } => Some((wallets, token_accounts)),
        }
    }

    /// The number of entries; 0 if anyone may be paid.
    pub fn len(&self) -> usize {
        self.lists().map_or(0, |(wallets, token_accounts)| wallets.len() + token_accounts.len())
    }

    /// Whether there are no entries: anyone may be paid, or nobody.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl AsAllowlist for AllowedRecipients {
    fn as_allowlist(&self) -> Allowlist<'_> {
        match self {
            Self::Anyone => Allowlist::Anyone,
            Self::Only { wallets, token_accounts } => Allowlist::stored(wallets, token_accounts),
        }
    }
}

impl From<Allowlist<'_>> for AllowedRecipients {
    fn from(allowlist: Allowlist) -> Self {
        let (wallets, token_accounts) = allowlist.entries();
        match allowlist {
            Allowlist::Anyone => Self::Anyone,
            Allowlist::Only(_) => {
                Self::Only { wallets: wallets.to_vec(), token_accounts: token_accounts.to_vec() }
            }
        }
    }
}

/// A copy that owns its allowlist.
pub fn owned(policy: &Policy) -> SpendingPolicy {
    policy.over(policy.allowlist.into())
}
