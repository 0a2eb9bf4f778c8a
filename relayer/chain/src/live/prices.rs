//! The price of a compute unit: within two bounds, by what others lately paid for the accounts that we write. A background task
//! looks it up every few slots. Only the first payment to a destination in a while waits for a look, at that account: others may compete for it
//! while nobody competes for ours.

use crate::ChainError;
use parking_lot::{Mutex, MutexGuard};
use purser_rpc::Rpc;
use serde::Deserialize;
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// About ten slots.
pub const LOOK_EVERY: Duration = Duration::from_secs(4);
/// Most accounts that a node takes in one question.
const ACCOUNTS_MAX: usize = 128;
/// How long a payment waits for the price at its destination.
const PATIENCE: Duration = Duration::from_secs(1);
/// An account that we have not written for this long is not asked about.
const ASKED_FOR: Duration = Duration::from_secs(60);
/// How many of the latest slots count (20 s), and the percentage of them in which the price would have been enough.
const SLOTS: usize = 50;
const ENOUGH_IN: usize = 90;

/// What may be paid for a compute unit, in micro-lamports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceBounds {
    pub least: u64,
    pub most: u64,
}

/// The price on one network.
#[derive(Debug)]
pub struct Prices {
    bounds: PriceBounds,
    level: AtomicU64,
    /// Which accounts were written lately, and when.
    written: Mutex<HashMap<Pubkey, Instant>>,
}

/// The price for writing all the accounts that we asked about, in one slot.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlotFee {
    slot: u64,
    prioritization_fee: u64,
}

impl Prices {
    pub fn new(bounds: PriceBounds) -> Self {
        Self { bounds, level: AtomicU64::new(0), written: Mutex::default() }
    }

    /// The price that was enough at the latest look, within the bounds.
    pub fn now(&self) -> u64 {
        self.level.load(Ordering::Relaxed).min(self.bounds.most).max(self.bounds.least)
    }

    /// The price for a transaction that writes this account too. Asks about an account that was not written lately.
    pub async fn now_for(&self, rpc: &Rpc, account: &Pubkey) -> u64 {
        if !self.is_fixed() && !self.written().contains_key(account) {
            let accounts = [account.to_string()];
            match tokio::time::timeout(PATIENCE, fees_of(rpc, &accounts)).await {
                // Until the next look, which asks about it with the others.
                Ok(Ok(fees)) => drop(self.level.fetch_max(enough(fees), Ordering::Relaxed)),
                Ok(Err(_)) | Err(_) => {
                    tracing::debug!(%account, "cannot read priority fees of a destination")
                }
            }
        }
        self.now()
    }

    pub const fn bounds(&self) -> PriceBounds {
        self.bounds
    }

    /// A transaction that writes these accounts is being signed.
    pub fn writes(&self, accounts: impl IntoIterator<Item = Pubkey>) {
        if self.is_fixed() {
            return;
        }
        let now = Instant::now();
        let mut written = self.written();
        for account in accounts {
            if written.len() >= ACCOUNTS_MAX && !written.contains_key(&account) {
                let oldest = written.iter().min_by_key(|(_, at)| **at).map(|(account, _)| *account);
                oldest.map(|oldest| written.remove(&oldest));
            }
            written.insert(account, now);
        }
    }

    /// Looks once. Where that fails, the last price stays. Changes nothing where the price [`Prices::is_fixed`].
    pub async fn look(&self, rpc: &Rpc) -> Result<(), ChainError> {
        let accounts: Vec<String> = {
            let mut written = self.written();
            written.retain(|_, at| at.elapsed() < ASKED_FOR);
            written.keys().map(Pubkey::to_string).collect()
        };
        self.level.store(enough(fees_of(rpc, &accounts).await?), Ordering::Relaxed);
        Ok(())
    }

    /// The price is the same, whatever others pay.
    pub const fn is_fixed(&self) -> bool {
        self.bounds.most <= self.bounds.least
    }

    fn written(&self) -> MutexGuard<'_, HashMap<Pubkey, Instant>> {
        self.written.lock()
    }
}

async fn fees_of(rpc: &Rpc, accounts: &[String]) -> Result<Vec<SlotFee>, ChainError> {
    Ok(rpc.ask("getRecentPrioritizationFees", json!([accounts])).await?)
}

/// The price that would have been enough in most of the latest slots.
fn enough(mut fees: Vec<SlotFee>) -> u64 {
    fees.sort_unstable_by_key(|fee| std::cmp::Reverse(fee.slot));
    fees.truncate(SLOTS);
    let mut paid: Vec<u64> = fees.into_iter().map(|fee| fee.prioritization_fee).collect();
    paid.sort_unstable();
    let place = (paid.len() * ENOUGH_IN).div_ceil(100).saturating_sub(1);
    paid.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
