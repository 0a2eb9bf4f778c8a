//! Policies as tests write them, and drafts of them.

use anchor_lang::prelude::Pubkey;
use purser::events::{AllowlistRecord, PolicyRecord};
use purser::{AllowlistArg, DraftArgs, EntryCounts, PolicyArgs, Rules};
use purser_policy::{Allowlist, Limit, Policy, UsdcAmount};

use super::{Call, Place, Random, Who, World, PAYEE_OWNER};

/// Entries that fit one `write_draft`.
const PART: usize = 25;

/// Every rule set, and not paused.
pub fn all_rules() -> Rules {
    Rules { max_single_transfer: Some(7), max_daily_spend: Some(8), require_memo: true, paused: false }
}

pub fn open_policy() -> PolicyArgs {
    PolicyArgs { rules: Rules::OPEN, allowlist: AllowlistArg::Anyone }
}

/// Only these wallets and token accounts.
pub fn only(wallets: &[Pubkey], token_accounts: &[Pubkey]) -> AllowlistArg {
    AllowlistArg::Only { wallets: wallets.to_vec(), token_accounts: token_accounts.to_vec() }
}

/// `count` sorted keys, each one byte repeated.
pub fn keys(count: u8) -> Vec<Pubkey> {
    (1..=count).map(|first| Pubkey::new_from_array([first; 32])).collect()
}

/// `count` sorted random keys, including the payee's wallet.
pub fn many_keys(count: usize) -> Vec<Pubkey> {
    let mut random = Random(7);
    let mut keys: Vec<Pubkey> =
        (1..count).map(|_| Pubkey::new_from_array(core::array::from_fn(|_| random.next() as u8))).collect();
    keys.push(PAYEE_OWNER);
    keys.sort_unstable();
    keys
}

/// The wallets and token accounts of a list.
pub fn entries(allowlist: &AllowlistArg) -> (&[Pubkey], &[Pubkey]) {
    match allowlist {
        AllowlistArg::Anyone => (&[], &[]),
        AllowlistArg::Only { wallets, token_accounts } => (wallets, token_accounts),
    }
}

/// Checks field by field that `view` equals `args`.
#[track_caller]
pub fn assert_policy(view: Policy, args: &PolicyArgs) {
    let limit =
        |micros: Option<u64>| micros.map_or(Limit::Unlimited, |m| Limit::AtMost(UsdcAmount::from_micros(m)));
    assert_eq!(view.max_single_transfer, limit(args.rules.max_single_transfer));
    assert_eq!(view.max_daily_spend, limit(args.rules.max_daily_spend));
    assert_eq!((view.require_memo, view.paused), (args.rules.require_memo, args.rules.paused));
    assert_eq!(view.allowlist == Allowlist::Anyone, args.allowlist == AllowlistArg::Anyone);
    let bytes = |keys: &[Pubkey]| keys.iter().map(Pubkey::to_bytes).collect::<Vec<_>>();
    let (wallets, token_accounts) = entries(&args.allowlist);
    assert_eq!(view.allowlist.entries(), (&bytes(wallets)[..], &bytes(token_accounts)[..]));
}

/// `args` as events record it, with all entries.
pub fn record(args: &PolicyArgs) -> PolicyRecord {
    PolicyRecord {
        rules: args.rules,
        allowlist: match args.allowlist.clone() {
            AllowlistArg::Anyone => AllowlistRecord::Anyone,
            AllowlistArg::Only { wallets, token_accounts } => {
                AllowlistRecord::Only { wallets, token_accounts }
            }
        },
    }
}

/// A policy that goes through a draft.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub place: Place,
    pub args: DraftArgs,
    /// Wallets, then token accounts.
    pub entries: Vec<Pubkey>,
    pub policy: PolicyArgs,
}

impl Proposal {
    /// `policy` for the agent of `place`, written against version `expected_version`.
    pub fn new(place: Place, expected_version: u32, policy: PolicyArgs) -> Self {
        let (wallets, token_accounts) = entries(&policy.allowlist);
        let counts =
            EntryCounts { wallets: wallets.len() as u16, token_accounts: token_accounts.len() as u16 };
        let args = DraftArgs {
            hash: hash(&place.agent, expected_version, &policy),
            expected_version,
            rules: policy.rules,
            entries: (policy.allowlist != AllowlistArg::Anyone).then_some(counts),
        };
        let entries = [wallets, token_accounts].concat();
        Self { place, args, entries, policy }
    }

    pub fn open(&self) -> Call {
        self.place.open_draft(self.args.clone())
    }

    /// The entries from `start` to `end`.
    pub fn write(&self, start: usize, end: usize) -> Call {
        self.place.write_draft(self.args.hash, start as u16, &self.entries[start..end])
    }

    /// All writes, in parts.
    pub fn writes(&self) -> Vec<Call> {
        let starts = (0..self.entries.len()).step_by(PART);
        starts.map(|start| self.write(start, (start + PART).min(self.entries.len()))).collect()
    }

    pub fn apply(&self) -> Call {
        self.place.apply_draft(self.args.hash)
    }

    pub fn close(&self) -> Call {
        self.place.close_draft(self.args.hash)
    }

    /// The policy as events record it.
    pub fn record(&self) -> PolicyRecord {
        let allowlist = match self.args.entries {
            None => AllowlistRecord::Anyone,
            Some(EntryCounts { wallets, token_accounts }) => AllowlistRecord::Draft {
                wallet_count: wallets,
                token_account_count: token_accounts,
                hash: self.args.hash,
            },
        };
        PolicyRecord { allowlist, ..record(&self.policy) }
    }
}

/// A proposal's name, computed as clients do, without the program's own function.
pub fn hash(agent: &Pubkey, expected_version: u32, policy: &PolicyArgs) -> [u8; 32] {
    let (wallets, token_accounts) = entries(&policy.allowlist);
    let mut bytes = agent.to_bytes().to_vec();
    bytes.extend(expected_version.to_le_bytes());
    bytes.extend(((wallets.len() + token_accounts.len()) as u16).to_le_bytes());
    bytes.extend(stored(policy));
    bytes.extend(wallets.iter().chain(token_accounts).flat_map(Pubkey::to_bytes));
    solana_sha256_hasher::hash(&bytes).to_bytes()
}

/// A policy's 24 bytes in an account.
pub fn stored(policy: &PolicyArgs) -> [u8; 24] {
    let flags = [
        policy.rules.paused,
        policy.rules.require_memo,
        policy.rules.max_single_transfer.is_some(),
        policy.rules.max_daily_spend.is_some(),
        policy.allowlist != AllowlistArg::Anyone,
    ];
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&policy.rules.max_single_transfer.unwrap_or(0).to_le_bytes());
    bytes[8..16].copy_from_slice(&policy.rules.max_daily_spend.unwrap_or(0).to_le_bytes());
    bytes[16..18].copy_from_slice(&(entries(&policy.allowlist).0.len() as u16).to_le_bytes());
    bytes[18] = flags.iter().enumerate().map(|(bit, set)| u8::from(*set) << bit).sum();
    bytes
}

impl World {
    /// A draft of `policy` for the main agent as it is now.
    pub fn propose(&self, policy: PolicyArgs) -> Proposal {
        Proposal::new(self.main, self.version(), policy)
    }

    /// Opens a draft and writes all of it, signed by `who`.
    #[track_caller]
    pub fn seal(&mut self, proposal: &Proposal, who: Who) {
        self.accept(&proposal.open().signed_by(who));
        for write in proposal.writes() {
            self.accept(&write.signed_by(who));
        }
    }

    /// A sealed draft of `policy` for the main agent.
    #[track_caller]
    pub fn sealed(&mut self, policy: PolicyArgs) -> Proposal {
        let proposal = self.propose(policy);
        self.seal(&proposal, Who::PolicyAuthority);
        proposal
    }
}
