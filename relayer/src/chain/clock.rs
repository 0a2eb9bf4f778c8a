//! What moves by itself on chain: the newest blockhash to sign over, and the time.
//!
//! Both are cached. The blockhash is refreshed in the background while transactions are being signed, so that signing
//! does not wait for a node; one that is a third through its life is never signed over.

use super::ChainError;
use super::decode;
use super::rpc::Rpc;
use solana_sdk::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A blockhash lives 150 blocks, about 30 s: it is signed over for a third of that, by the clock and by slots.
const BLOCKHASH_AGE_MAX: Duration = Duration::from_secs(10);
const BLOCKHASH_SLOTS_MAX: u64 = 50;
/// How often the background refresh asks, and how long after the last signature it goes on.
const REFRESH_INTERVAL: Duration = Duration::from_secs(3);
const REFRESH_WHILE_USED: Duration = Duration::from_secs(30);
/// How old the chain's time may be.
const TIME_AGE_MAX: Duration = Duration::from_secs(1);

/// A blockhash and the block height after which nothing signed over it can land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recent {
    pub blockhash: Hash,
    pub last_valid_block_height: u64,
}

#[derive(Debug, Clone, Copy)]
struct Cached<T> {
    value: T,
    slot: u64,
    at: Instant,
}

#[derive(Debug, Default)]
struct State {
    recent: Option<Cached<Recent>>,
    time: Option<Cached<i64>>,
    signed_at: Option<Instant>,
}

/// The cache of one network.
pub(super) struct ChainClock {
    rpc: Arc<Rpc>,
    state: Mutex<State>,
    /// One refresh at a time; the others wait for its result.
    refreshing: tokio::sync::Mutex<()>,
}

impl ChainClock {
    pub fn new(rpc: Arc<Rpc>) -> Self {
        Self { rpc, state: Mutex::default(), refreshing: tokio::sync::Mutex::default() }
    }

    /// Refreshes the blockhash while it is used; returns when `stop` is cancelled.
    pub async fn keep_fresh(&self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REFRESH_INTERVAL) => {}
            }
            let used = self.state().signed_at.is_some_and(|at| at.elapsed() < REFRESH_WHILE_USED);
            if used && let Err(error) = self.refresh().await {
                tracing::debug!(%error, "blockhash not refreshed");
            }
        }
    }

    /// A blockhash in the first third of its life.
    pub async fn recent(&self) -> Result<Recent, ChainError> {
        self.state().signed_at = Some(Instant::now());
        if let Some(recent) = self.cached_recent() {
            return Ok(recent);
        }
        let _one = self.refreshing.lock().await;
        match self.cached_recent() {
            Some(recent) => Ok(recent),
            None => self.refresh().await,
        }
    }

    /// Unix seconds by the chain's clock.
    pub async fn now(&self) -> Result<i64, ChainError> {
        if let Some(now) = self.cached_time() {
            return Ok(now);
        }
        let _one = self.refreshing.lock().await;
        if let Some(now) = self.cached_time() {
            return Ok(now);
        }
        let read = self.rpc.accounts(&[decode::CLOCK], 0).await?;
        let clock = read.value.first().and_then(Option::as_ref);
        let now = clock.and_then(|account| decode::unix_timestamp(&account.data)).ok_or_else(unreadable)?;
        self.time_seen(read.slot, now);
        Ok(now)
    }

    /// Takes over the time that another read brought along.
    pub fn time_seen(&self, slot: u64, now: i64) {
        let mut state = self.state();
        if state.time.is_none_or(|known| known.slot <= slot) {
            state.time = Some(Cached { value: now, slot, at: Instant::now() });
        }
    }

    async fn refresh(&self) -> Result<Recent, ChainError> {
        let at = Instant::now();
        let latest = self.rpc.latest_blockhash().await?;
        let recent = Recent {
            blockhash: latest.value.blockhash.parse().map_err(|_| unreadable())?,
            last_valid_block_height: latest.value.last_valid_block_height,
        };
        let mut state = self.state();
        // A node that lags behind another must not bring an older hash back.
        if state.recent.is_none_or(|known| known.slot <= latest.slot) {
            state.recent = Some(Cached { value: recent, slot: latest.slot, at });
        }
        Ok(recent)
    }

    fn cached_recent(&self) -> Option<Recent> {
        let newest_slot = self.rpc.newest_slot();
        let state = self.state();
        let cached = state.recent.as_ref()?;
        let young = cached.at.elapsed() < BLOCKHASH_AGE_MAX
            && newest_slot.saturating_sub(cached.slot) < BLOCKHASH_SLOTS_MAX;
        young.then_some(cached.value)
    }

    fn cached_time(&self) -> Option<i64> {
        let state = self.state();
        let cached = state.time.as_ref()?;
        (cached.at.elapsed() < TIME_AGE_MAX).then_some(cached.value)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable() -> ChainError {
    ChainError::Unavailable { during: "clock", reason: "unreadable answer".into() }
}
