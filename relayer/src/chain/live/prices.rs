//! The price of a compute unit: within two bounds, by what others lately paid for the accounts that we write. A background task
//! looks it up every few slots, so no transaction waits for it.

use crate::chain::ChainError;
use crate::chain::rpc::Rpc;
use serde::Deserialize;
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// About ten slots.
const LOOK_EVERY: Duration = Duration::from_secs(4);
/// Most accounts that a node takes in one question.
const ACCOUNTS_MAX: usize = 128;
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

    /// Looks every few slots until `stop`. Changes nothing where the price [`Prices::is_fixed`].
    pub async fn keep_fresh(&self, rpc: &Rpc, stop: CancellationToken) {
        let mut failed = false;
        loop {
            let looked = self.look(rpc).await;
            if let Err(error) = &looked
                && !failed
            {
                tracing::warn!(%error, "priority fees of others cannot be read; the last price stays");
            }
            failed = looked.is_err();
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn look(&self, rpc: &Rpc) -> Result<(), ChainError> {
        let accounts: Vec<String> = {
            let mut written = self.written();
            written.retain(|_, at| at.elapsed() < ASKED_FOR);
            written.keys().map(Pubkey::to_string).collect()
        };
        let fees: Vec<SlotFee> = rpc.ask("getRecentPrioritizationFees", json!([accounts])).await?;
        self.level.store(enough(fees), Ordering::Relaxed);
        Ok(())
    }

    /// The price is the same, whatever others pay.
    pub const fn is_fixed(&self) -> bool {
        self.bounds.most <= self.bounds.least
    }

    fn written(&self) -> MutexGuard<'_, HashMap<Pubkey, Instant>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
mod tests {
    use super::*;
    use crate::chain::rpc::transport::Transport;
    use std::sync::Arc;

    fn fees(paid: &[u64]) -> Vec<SlotFee> {
        let fee = |(slot, fee): (u64, &u64)| SlotFee { slot, prioritization_fee: *fee };
        (1..).zip(paid).map(fee).collect()
    }

    #[test]
    fn price_is_what_was_enough_in_nine_of_ten_of_the_latest_slots() {
        assert_eq!(enough(Vec::new()), 0);
        assert_eq!(enough(fees(&[7])), 7);
        assert_eq!(enough(fees(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 1_000])), 9, "one slot is not the market");
        let mut rising = vec![1_000_000; 100];
        rising.extend([5; SLOTS]);
        assert_eq!(enough(fees(&rising)), 5, "what was paid long ago does not count");
    }

    #[test]
    fn price_stays_within_its_bounds() {
        let prices = Prices::new(PriceBounds { least: 10, most: 100 });
        for (level, price) in [(0, 10), (10, 10), (55, 55), (100, 100), (u64::MAX, 100)] {
            prices.level.store(level, Ordering::Relaxed);
            assert_eq!(prices.now(), price);
        }
        let fixed = Prices::new(PriceBounds { least: 0, most: 0 });
        fixed.level.store(5, Ordering::Relaxed);
        assert_eq!(fixed.now(), 0);
    }

    #[test]
    fn accounts_that_are_asked_about_are_bounded_and_those_written_last_stay() {
        let key = |number: u16| {
            let mut bytes = [0; 32];
            bytes[..2].copy_from_slice(&number.to_le_bytes());
            Pubkey::new_from_array(bytes)
        };
        let prices = Prices::new(PriceBounds { least: 0, most: 1 });
        for number in 0..1_000 {
            prices.writes([key(number), key(9_999)]);
        }
        assert_eq!(prices.written().len(), ACCOUNTS_MAX);
        assert!(prices.written().contains_key(&key(999)) && prices.written().contains_key(&key(9_999)));
        let fixed = Prices::new(PriceBounds { least: 7, most: 7 });
        fixed.writes([key(1)]);
        assert!(fixed.written().is_empty(), "nothing is kept where nothing is asked");
    }

    #[tokio::test]
    async fn nodes_are_asked_about_what_is_written_and_the_last_price_outlasts_their_failures() {
        use crate::chain::rpc::node_fault::{CallError, NodeFault};
        use serde_json::Value;

        struct Market(Mutex<Vec<Value>>);
        #[async_trait::async_trait]
        impl Transport for Market {
            async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
                assert_eq!(method, "getRecentPrioritizationFees");
                let mut asked = self.0.lock().expect("lock");
                asked.push(params);
                match asked.len() {
                    1 => Ok(json!([{ "slot": 1, "prioritizationFee": 42 }])),
                    _ => Err(CallError::Node(NodeFault::Unhealthy)),
                }
            }
        }
        let market = Arc::new(Market(Mutex::default()));
        struct Shared(Arc<Market>);
        #[async_trait::async_trait]
        impl Transport for Shared {
            async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
                self.0.call(method, params).await
            }
        }
        let rpc = Rpc::over(vec![Box::new(Shared(market.clone()))], Vec::new(), Default::default());
        let prices = Prices::new(PriceBounds { least: 1, most: 1_000 });
        let account = Pubkey::new_from_array([7; 32]);
        prices.writes([account]);
        prices.look(&rpc).await.expect("looked");
        assert_eq!(prices.now(), 42);
        assert_eq!(market.0.lock().expect("lock")[0], json!([[account.to_string()]]));
        prices.look(&rpc).await.expect_err("a node that fails");
        assert_eq!(prices.now(), 42);
    }
}
