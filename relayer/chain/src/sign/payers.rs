//! The wallets that pay our fees and rent, and the SOL left in them, as far as we know without asking.
//!
//! Every read of accounts for a payment or a policy includes these wallets. What we signed after a read, or so shortly before it
//! that the read may not show it, counts as spent.

use anchor_lang::prelude::Rent;
use parking_lot::{Mutex, MutexGuard};
use purser_model::Address;
use purser_rpc::wire::RawAccount;
use solana_sdk::pubkey::Pubkey;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Lamports that each signature of a transaction costs.
pub const SIGNATURE_FEE: u64 = 5_000;
/// A read shows everything that was signed longer ago than this.
const LANDED_AFTER: Duration = Duration::from_secs(3);

/// Minimum lamports of an account of this many bytes; a wallet has none.
pub fn rent(bytes: usize) -> u64 {
    Rent::default().minimum_balance(bytes)
}

/// The wallets of one network.
pub struct Payers {
    keys: Vec<Pubkey>,
    /// Wallets that we no longer sign with.
    former: Vec<Address>,
    state: Mutex<PayersState>,
}

struct PayersState {
    wallets: HashMap<Pubkey, PayerWallet>,
    /// When `latest` began to count.
    since: Instant,
}

#[derive(Debug, Default)]
struct PayerWallet {
    /// `None` until first read.
    lamports: Option<u64>,
    /// Lamports signed away in the present time span, and in the one before it.
    latest: u64,
    before: u64,
}

impl Payers {
    /// Tracks these keys; rent may also go back to `former` ones.
    pub fn new(keys: Vec<Pubkey>, former: Vec<Address>) -> Self {
        Self {
            keys,
            former,
            state: Mutex::new(PayersState { wallets: HashMap::new(), since: Instant::now() }),
        }
    }

    /// The keys that a read must include.
    pub fn keys(&self) -> &[Pubkey] {
        &self.keys
    }

    /// Whether rent that goes back to this wallet goes back to us.
    pub fn is_ours(&self, wallet: &Address) -> bool {
        self.former.contains(wallet) || self.keys.iter().any(|key| key.to_bytes() == wallet.bytes())
    }

    /// Takes in a read of [`Payers::keys`].
    pub fn saw(&self, accounts: &[Option<RawAccount>]) {
        let mut state = self.state();
        for (key, account) in self.keys.iter().zip(accounts) {
            let wallet = state.wallets.entry(*key).or_default();
            let lamports = account.as_ref().map_or(0, |account| account.lamports);
            wallet.lamports = Some(lamports.saturating_sub(wallet.latest.saturating_add(wallet.before)));
        }
    }

    /// Records that something with this cost was signed.
    pub fn signed(&self, payer: &Pubkey, lamports: u64) {
        let mut state = self.state();
        let wallet = state.wallets.entry(*payer).or_default();
        wallet.latest = wallet.latest.saturating_add(lamports);
        wallet.lamports = wallet.lamports.map(|left| left.saturating_sub(lamports));
    }

    /// What a wallet can spend: all but the minimum that it must keep. `None` until first read.
    pub fn spendable(&self, payer: &Pubkey) -> Option<u64> {
        let lamports = self.state().wallets.get(payer)?.lamports?;
        Some(lamports.saturating_sub(rent(0)))
    }

    /// Whether a wallet can pay this much, as far as we know.
    pub fn can_pay(&self, payer: &Pubkey, lamports: u64) -> bool {
        self.spendable(payer).is_none_or(|spendable| spendable >= lamports)
    }

    fn state(&self) -> MutexGuard<'_, PayersState> {
        let mut state = self.state.lock();
        if state.since.elapsed() >= LANDED_AFTER {
            let idle = state.since.elapsed() >= LANDED_AFTER * 2;
            for wallet in state.wallets.values_mut() {
                wallet.before = if idle { 0 } else { wallet.latest };
                wallet.latest = 0;
            }
            state.since = Instant::now();
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Pubkey = Pubkey::new_from_array([7; 32]);

    fn holding(lamports: u64) -> Vec<Option<RawAccount>> {
        vec![Some(RawAccount { owner: Pubkey::default(), executable: false, lamports, data: Vec::new() })]
    }

    #[tokio::test(start_paused = true)]
    async fn signed_fees_count_as_spent_whether_or_not_a_read_shows_them() {
        let payers = Payers::new(vec![KEY], Vec::new());
        assert!(payers.can_pay(&KEY, u64::MAX), "nothing is refused by what is not known");
        payers.saw(&holding(rent(0) + 10));
        payers.signed(&KEY, 4);
        assert!(payers.can_pay(&KEY, 6) && !payers.can_pay(&KEY, 7));
        payers.saw(&holding(rent(0) + 10));
        assert!(!payers.can_pay(&KEY, 7), "the read may be older");
        tokio::time::advance(LANDED_AFTER * 2).await;
        payers.saw(&holding(rent(0) + 6));
        assert!(payers.can_pay(&KEY, 6) && !payers.can_pay(&KEY, 7));
    }

    #[test]
    fn a_wallet_keeps_what_it_needs_to_exist_and_one_that_is_not_there_has_nothing() {
        assert_eq!(rent(0), 890_880);
        let payers = Payers::new(vec![KEY], Vec::new());
        for accounts in [vec![None], holding(0), holding(rent(0))] {
            payers.saw(&accounts);
            assert_eq!(payers.spendable(&KEY), Some(0));
            assert!(!payers.can_pay(&KEY, SIGNATURE_FEE));
        }
    }
}
