//! Policies that own their allowlist.

use anchor_lang::prelude::Pubkey;
use purser::state::PolicyDraft;
use purser::{AllowlistArg, DraftArgs, EntryCounts, PolicyArgs};
use purser_policy::{Address, Allowlist, Limit, Policy};

/// A whole policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPolicy {
    pub max_single_transfer: Limit,
    /// Most that may leave in any 24 hours.
    pub max_daily_spend: Limit,
    pub require_memo: bool,
    pub paused: bool,
    pub allowlist: OwnedAllowlist,
}

/// Who may be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedAllowlist {
    Anyone,
    /// Each list sorted by bytes, nothing twice: [`OwnedAllowlist::only`] sees to it.
    Only {
        wallets: Vec<Address>,
        token_accounts: Vec<Address>,
    },
}

impl OwnedAllowlist {
    /// Sorts, and drops what is there twice.
    pub fn only(mut wallets: Vec<Address>, mut token_accounts: Vec<Address>) -> Self {
        for entries in [&mut wallets, &mut token_accounts] {
            entries.sort_unstable();
            entries.dedup();
        }
        Self::Only { wallets, token_accounts }
    }

    /// How many entries it has; 0 where anyone may be paid.
    pub fn len(&self) -> usize {
        match self {
            Self::Anyone => 0,
            Self::Only { wallets, token_accounts } => wallets.len() + token_accounts.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl OwnedPolicy {
    /// No limits, everyone may be paid.
    pub const OPEN: Self = Self {
        max_single_transfer: Limit::Unlimited,
        max_daily_spend: Limit::Unlimited,
        require_memo: false,
        paused: false,
        allowlist: OwnedAllowlist::Anyone,
    };

    /// The form that `purser_policy::check` decides on.
    pub fn as_policy(&self) -> Policy<'_> {
        Policy {
            max_single_transfer: self.max_single_transfer,
            max_daily_spend: self.max_daily_spend,
            require_memo: self.require_memo,
            paused: self.paused,
            allowlist: match &self.allowlist {
                OwnedAllowlist::Anyone => Allowlist::Anyone,
                OwnedAllowlist::Only { wallets, token_accounts } => {
                    Allowlist::stored(wallets, token_accounts)
                }
            },
        }
    }

    /// As `create_agent` and `set_policy` take it.
    pub fn as_args(&self) -> PolicyArgs {
        PolicyArgs {
            max_single_transfer: micros(self.max_single_transfer),
            max_daily_spend: micros(self.max_daily_spend),
            require_memo: self.require_memo,
            paused: self.paused,
            allowlist: match &self.allowlist {
                OwnedAllowlist::Anyone => AllowlistArg::Anyone,
                OwnedAllowlist::Only { wallets, token_accounts } => {
                    AllowlistArg::Only { wallets: keys(wallets), token_accounts: keys(token_accounts) }
                }
            },
        }
    }
}

impl From<Policy<'_>> for OwnedPolicy {
    fn from(policy: Policy) -> Self {
        let (wallets, token_accounts) = policy.allowlist.entries();
        Self {
            max_single_transfer: policy.max_single_transfer,
            max_daily_spend: policy.max_daily_spend,
            require_memo: policy.require_memo,
            paused: policy.paused,
            allowlist: match policy.allowlist {
                Allowlist::Anyone => OwnedAllowlist::Anyone,
                Allowlist::Only(_) => OwnedAllowlist::Only {
                    wallets: wallets.to_vec(),
                    token_accounts: token_accounts.to_vec(),
                },
            },
        }
    }
}

/// A policy that goes through a draft: for one agent, against one version of its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub agent: Pubkey,
    pub expected_version: u32,
    pub policy: OwnedPolicy,
}

impl Proposal {
    /// What the draft is named by.
    pub fn hash(&self) -> [u8; 32] {
        PolicyDraft::hash_of(&self.agent, self.expected_version, &self.policy.as_policy())
    }

    /// The entries in the order in which they are written.
    pub fn entries(&self) -> Vec<Pubkey> {
        match &self.policy.allowlist {
            OwnedAllowlist::Anyone => Vec::new(),
            OwnedAllowlist::Only { wallets, token_accounts } => {
                [keys(wallets), keys(token_accounts)].concat()
            }
        }
    }

    /// As `open_draft` takes it.
    pub fn as_args(&self) -> DraftArgs {
        let policy = &self.policy;
        DraftArgs {
            hash: self.hash(),
            expected_version: self.expected_version,
            max_single_transfer: micros(policy.max_single_transfer),
            max_daily_spend: micros(policy.max_daily_spend),
            require_memo: policy.require_memo,
            paused: policy.paused,
            entries: match &policy.allowlist {
                OwnedAllowlist::Anyone => None,
                // More than fit u16 are more than the program takes.
                OwnedAllowlist::Only { wallets, token_accounts } => Some(EntryCounts {
                    wallets: u16::try_from(wallets.len()).unwrap_or(u16::MAX),
                    token_accounts: u16::try_from(token_accounts.len()).unwrap_or(u16::MAX),
                }),
            },
        }
    }
}

fn micros(limit: Limit) -> Option<u64> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.micros()),
    }
}

fn keys(entries: &[Address]) -> Vec<Pubkey> {
    entries.iter().copied().map(Pubkey::new_from_array).collect()
}
