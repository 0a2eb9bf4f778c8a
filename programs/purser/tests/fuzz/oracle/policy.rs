//! Policies, and which changes loosen them.

use anchor_lang::prelude::Pubkey;
use purser::events::{AllowlistRecord, PolicyRecord};
use purser::Rules;

use super::{code, ensure, Refusal};

const ENTRIES_MAX: usize = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub single: Option<u64>,
    pub daily: Option<u64>,
    pub memo: bool,
    pub paused: bool,
    /// `None`: anyone may be paid.
    pub only: Option<Only>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    pub wallets: Vec<Pubkey>,
    pub token_accounts: Vec<Pubkey>,
}

impl Only {
    pub fn len(&self) -> usize {
        self.wallets.len() + self.token_accounts.len()
    }

    /// Wallets, then token accounts.
    pub fn entries(&self) -> Vec<Pubkey> {
        self.wallets.iter().chain(&self.token_accounts).copied().collect()
    }
}

impl Policy {
    pub fn entry_count(&self) -> usize {
        self.only.as_ref().map_or(0, Only::len)
    }

    pub fn allows(&self, token_account: &Pubkey, owner: &Pubkey) -> bool {
        match &self.only {
            None => true,
            Some(only) => only.token_accounts.contains(token_account) || only.wallets.contains(owner),
        }
    }

    /// Whether it may be stored.
    pub fn check(&self) -> Result<(), Refusal> {
        let Some(only) = &self.only else { return Ok(()) };
        ensure(only.len() <= ENTRIES_MAX, code::ALLOWLIST_TOO_LONG)?;
        let ascending = |keys: &[Pubkey]| keys.windows(2).all(|pair| pair[0].to_bytes() < pair[1].to_bytes());
        ensure(ascending(&only.wallets) && ascending(&only.token_accounts), code::ALLOWLIST_NOT_SORTED)
    }

    /// Whether no payment can pass it.
    pub fn refuses_all(&self) -> bool {
        let pays_nobody = self.only.as_ref().is_some_and(|only| only.len() == 0);
        self.paused || self.single == Some(0) || self.daily == Some(0) || pays_nobody
    }

    /// Whether it allows anything that `current` does not.
    pub fn loosens(&self, current: &Self) -> bool {
        let raises = |new: Option<u64>, old: Option<u64>| match (new, old) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(new), Some(old)) => new > old,
        };
        let adds = match (&self.only, &current.only) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(new), Some(old)) => {
                new.wallets.iter().any(|key| !old.wallets.contains(key))
                    || new.token_accounts.iter().any(|key| !old.token_accounts.contains(key))
            }
        };
        let drops = |old: bool, new: bool| old && !new;
        raises(self.single, current.single)
            || raises(self.daily, current.daily)
            || drops(current.memo, self.memo)
            || drops(current.paused, self.paused)
            || adds
    }

    /// As arguments and events hold them.
    pub fn rules(&self) -> Rules {
        Rules {
            max_single_transfer: self.single,
            max_daily_spend: self.daily,
            require_memo: self.memo,
            paused: self.paused,
        }
    }

    /// The policy as events show it; a list from a draft only by its hash.
    pub(super) fn record(&self, draft: Option<[u8; 32]>) -> PolicyRecord {
        PolicyRecord {
            rules: self.rules(),
            allowlist: match (&self.only, draft) {
                (None, _) => AllowlistRecord::Anyone,
                (Some(only), None) => AllowlistRecord::Only {
                    wallets: only.wallets.clone(),
                    token_accounts: only.token_accounts.clone(),
                },
                (Some(only), Some(hash)) => AllowlistRecord::Draft {
                    wallet_count: only.wallets.len() as u16,
                    token_account_count: only.token_accounts.len() as u16,
                    hash,
                },
            },
        }
    }
}
