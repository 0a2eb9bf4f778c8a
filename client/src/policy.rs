//! Policies that own their allowlist.

use anchor_lang::prelude::Pubkey;
use purser::state::PolicyDraft;
use purser::{AllowlistArg, DraftArgs, EntryCounts, PolicyArgs};
use purser_policy::Address;
/// A whole policy, and who may be paid by it.
pub use purser_policy::{AllowedRecipients as OwnedAllowlist, SpendingPolicy as OnChainPolicy, owned};

/// The arguments of `create_agent` and `set_policy`.
pub fn args_of(policy: &OnChainPolicy) -> PolicyArgs {
    PolicyArgs {
        rules: policy.into(),
        allowlist: match &policy.allowlist {
            OwnedAllowlist::Anyone => AllowlistArg::Anyone,
            OwnedAllowlist::Only { wallets, token_accounts } => {
                AllowlistArg::Only { wallets: keys(wallets), token_accounts: keys(token_accounts) }
            }
        },
    }
}

/// What [`args_of`] was made of.
pub fn policy_of(args: PolicyArgs) -> OnChainPolicy {
    args.rules.over(match args.allowlist {
        AllowlistArg::Anyone => OwnedAllowlist::Anyone,
        AllowlistArg::Only { wallets, token_accounts } => {
            OwnedAllowlist::Only { wallets: addresses(&wallets), token_accounts: addresses(&token_accounts) }
        }
    })
}

/// A policy that goes through a draft: for one agent, against one version of its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Whose policy it is.
    pub agent: Pubkey,
    /// It applies over this version and no other.
    pub expected_version: u32,
    /// What it replaces the policy with.
    pub policy: OnChainPolicy,
}

impl Proposal {
    /// What [`Proposal::as_args`] and [`Proposal::entries`] were made of. `None`: they do not belong together.
    pub fn of(agent: Pubkey, args: &DraftArgs, entries: &[Pubkey]) -> Option<Self> {
        let allowlist = match args.entries {
            None => OwnedAllowlist::Anyone,
            Some(counts) => {
                let (wallets, token_accounts) = entries.split_at_checked(counts.wallets.into())?;
                OwnedAllowlist::Only {
                    wallets: addresses(wallets),
                    token_accounts: addresses(token_accounts),
                }
            }
        };
        let policy = args.rules.over(allowlist);
        let proposal = Self { agent, expected_version: args.expected_version, policy };
        (proposal.hash() == args.hash).then_some(proposal)
    }

    /// The hash that names the draft.
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

    /// The arguments of `open_draft`.
    pub fn as_args(&self) -> DraftArgs {
        let policy = &self.policy;
        DraftArgs {
            hash: self.hash(),
            expected_version: self.expected_version,
            rules: policy.into(),
            entries: match &policy.allowlist {
                OwnedAllowlist::Anyone => None,
                // More entries than fit u16 are more than the program accepts.
                OwnedAllowlist::Only { wallets, token_accounts } => Some(EntryCounts {
                    wallets: u16::try_from(wallets.len()).unwrap_or(u16::MAX),
                    token_accounts: u16::try_from(token_accounts.len()).unwrap_or(u16::MAX),
                }),
            },
        }
    }
}

fn keys(entries: &[Address]) -> Vec<Pubkey> {
    entries.iter().copied().map(Pubkey::new_from_array).collect()
}

fn addresses(entries: &[Pubkey]) -> Vec<Address> {
    entries.iter().map(Pubkey::to_bytes).collect()
}

#[cfg(test)]
mod tests {
    use purser_policy::Limit;

    use super::*;

    #[test]
    fn a_policy_comes_back_from_its_instructions() {
        let allowlist = OwnedAllowlist::only(vec![[2; 32], [1; 32]], vec![[3; 32]]);
        let daily = Limit::of_micros(Some(7));
        for allowlist in [OwnedAllowlist::Anyone, OwnedAllowlist::only(vec![], vec![]), allowlist] {
            let policy = OnChainPolicy {
                max_daily_spend: daily,
                require_memo: true,
                ..OnChainPolicy::default().over(allowlist)
            };
            assert_eq!(policy_of(args_of(&policy)), policy);
            let proposal = Proposal { agent: Pubkey::new_from_array([9; 32]), expected_version: 4, policy };
            let (args, entries) = (proposal.as_args(), proposal.entries());
            assert_eq!(Proposal::of(proposal.agent, &args, &entries), Some(proposal.clone()));
            assert_eq!(Proposal::of(Pubkey::new_from_array([8; 32]), &args, &entries), None);
        }
    }
}
