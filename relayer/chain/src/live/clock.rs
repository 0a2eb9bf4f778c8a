//! What changes by itself on chain: the time, and the newest blockhash to sign over.
//!
//! Both are cached. A background task refreshes the blockhash while transactions are being signed, so that signing does not
//! wait for a node. A blockhash older than a third of its life is never signed over.

use crate::ChainError;
use parking_lot::Mutex;
use purser_rpc::Rpc;
use purser_rpc::sysvar;
use solana_sdk::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A blockhash lives 150 blocks; we sign over it for the first 50. How long that takes follows from the pace of blocks between
/// two refreshes, within these bounds; until the pace is known, it is short.
const BLOCKHASH_BLOCKS: u32 = 50;
const BLOCKHASH_AGE_MAX: Duration = Duration::from_secs(10);
const BLOCKHASH_AGE_MIN: Duration = Duration::from_millis(200);
const BLOCKHASH_AGE_UNMEASURED: Duration = Duration::from_secs(1);
/// Refreshes closer together than this do not show the pace of blocks.
const PACE_SPAN_MIN: Duration = Duration::from_millis(200);
/// How long after the last signature the background refresh goes on.
const REFRESH_WHILE_USED: Duration = Duration::from_secs(30);
/// How old the chain's time may be.
const TIME_AGE_MAX: Duration = Duration::from_secs(1);
/// How old the chain's time may be when our own clock moves it on, where an estimate is enough.
const ESTIMATE_AGE_MAX: Duration = Duration::from_secs(30);

/// A blockhash and the block height after which nothing signed over it can land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recent {
    pub blockhash: Hash,
    pub last_valid_block_height: u64,
    pub slot: u64,
    /// When it was asked for.
    pub at: Instant,
}

/// Unix seconds in a slot.
#[derive(Debug, Clone, Copy)]
struct ChainTime {
    now: i64,
    slot: u64,
    at: Instant,
}

#[derive(Debug, Default)]
struct ClockState {
    recent: Option<Recent>,
    /// The pace between two refreshes.
    block_time: Option<Duration>,
    time: Option<ChainTime>,
    signed_at: Option<Instant>,
}

/// The cache of one network.
pub struct ChainClock {
    rpc: Arc<Rpc>,
    state: Mutex<ClockState>,
    /// One refresh at a time; other callers wait for its result.
    refreshing: tokio::sync::Mutex<()>,
}

impl ChainClock {
    pub fn new(rpc: Arc<Rpc>) -> Self {
        Self { rpc, state: Mutex::default(), refreshing: tokio::sync::Mutex::default() }
    }

    /// Refreshes the blockhash while it is in use; returns when `stop` is cancelled.
    pub async fn keep_fresh(&self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(self.refresh_interval()) => {}
            }
            let used = self.state().signed_at.is_some_and(|at| at.elapsed() < REFRESH_WHILE_USED);
            if used && let Err(error) = self.refresh().await {
                tracing::debug!(%error, "cannot refresh the blockhash");
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

    /// A blockhash as new as a node has it, for whoever takes its time to sign over it.
    pub async fn newest(&self) -> Result<Recent, ChainError> {
        let _one = self.refreshing.lock().await;
        self.refresh().await
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
        self.read_time().await
    }

    /// The same from a node, whatever is known.
    pub async fn read_time(&self) -> Result<i64, ChainError> {
        let read = self.rpc.accounts(&[sysvar::CLOCK], 0).await?;
        let clock = read.value.first().and_then(Option::as_ref);
        let now = clock.and_then(|account| sysvar::unix_timestamp(&account.data)).ok_or_else(unreadable)?;
        self.time_seen(read.slot, now);
        Ok(now)
    }

    /// Unix seconds: the chain's clock as last seen, moved on by ours; `None` when that was too long ago.
    pub fn estimate(&self) -> Option<i64> {
        let state = self.state();
        let cached = state.time.as_ref()?;
        let elapsed = cached.at.elapsed();
        let seconds = i64::try_from(elapsed.as_secs()).ok()?;
        (elapsed < ESTIMATE_AGE_MAX).then(|| cached.now.saturating_add(seconds))
    }

    /// Takes over a time that came with another read or a notice.
    pub fn time_seen(&self, slot: u64, now: i64) {
        let mut state = self.state();
        if state.time.is_none_or(|known| known.slot <= slot) {
            state.time = Some(ChainTime { now, slot, at: Instant::now() });
        }
    }

    /// Makes the next reader ask a node.
    #[cfg(any(test, feature = "testing"))]
    pub fn forget_time(&self) {
        self.state().time = None;
    }

    async fn refresh(&self) -> Result<Recent, ChainError> {
        let at = Instant::now();
        let latest = self.rpc.latest_blockhash(0).await?;
        let recent = Recent {
            blockhash: latest.value.blockhash.parse().map_err(|_| unreadable())?,
            last_valid_block_height: latest.value.last_valid_block_height,
            slot: latest.slot,
            at,
        };
        let mut state = self.state();
        // A lagging node must not bring an older hash back.
        if state.recent.is_some_and(|known| known.slot > recent.slot) {
            return Ok(recent);
        }
        if let Some(known) = state.recent
            && let Some(measured) = pace(&known, &recent)
        {
            state.block_time = Some(steadied(state.block_time, measured));
        }
        state.recent = Some(recent);
        Ok(recent)
    }

    fn cached_recent(&self) -> Option<Recent> {
        let state = self.state();
        state.recent.filter(|recent| recent.at.elapsed() < age_max(state.block_time))
    }

    /// Short enough that the cached blockhash never grows too old to use.
    fn refresh_interval(&self) -> Duration {
        age_max(self.state().block_time) * 4 / 5
    }

    fn cached_time(&self) -> Option<i64> {
        let state = self.state();
        let cached = state.time.as_ref()?;
        (cached.at.elapsed() < TIME_AGE_MAX).then_some(cached.now)
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, ClockState> {
        self.state.lock()
    }
}

/// Time per block between two refreshes; `None` when they are too close together, or no block came.
fn pace(known: &Recent, recent: &Recent) -> Option<Duration> {
    let span = recent.at.saturating_duration_since(known.at);
    let blocks = recent.last_valid_block_height.saturating_sub(known.last_valid_block_height);
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    if span < PACE_SPAN_MIN { None } else { span.checked_div(blocks) }
}

/// Returns the pace to use after a measurement. A stalled network looks slow, then catches up, and a blockhash kept at the slow pace
/// expires early. So the pace slows down by at most a quarter at a time.
fn steadied(known: Option<Duration>, measured: Duration) -> Duration {
    known.map_or(measured, |known| measured.min(known.max(Duration::from_millis(1)) * 5 / 4))
}

/// How long after it was read a blockhash may be signed over.
fn age_max(block_time: Option<Duration>) -> Duration {
    block_time.map_or(BLOCKHASH_AGE_UNMEASURED, |block_time| {
        block_time.saturating_mul(BLOCKHASH_BLOCKS).clamp(BLOCKHASH_AGE_MIN, BLOCKHASH_AGE_MAX)
    })
}

fn unreadable() -> ChainError {
    ChainError::Unavailable { during: "clock", reason: "unreadable answer".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(last_valid_block_height: u64, at: Instant) -> Recent {
        Recent { blockhash: Hash::new_from_array([7; 32]), last_valid_block_height, slot: 1, at }
    }

    #[test]
    fn network_that_stood_still_is_not_taken_for_a_slow_one() {
        let ms = Duration::from_millis;
        let mut pace = steadied(None, ms(40));
        for measured in [ms(2_000), ms(1), ms(40)] {
            pace = steadied(Some(pace), measured);
            assert!(age_max(Some(pace)) <= ms(2_500), "{pace:?}");
        }
        // One that is slow from now on is found to be.
        for _ in 0..40 {
            pace = steadied(Some(pace), ms(400));
        }
        assert_eq!(pace, ms(400));
        assert_eq!(steadied(Some(Duration::ZERO), ms(400)), Duration::from_micros(1_250));
    }

    #[test]
    fn a_blockhash_is_used_for_a_third_of_its_life_at_the_measured_pace() {
        let at = Instant::now();
        let known = height(1_000, at);
        let after = |span_ms, height_after| {
            age_max(pace(&known, &height(height_after, at + Duration::from_millis(span_ms))))
        };
        // 25 ms, 100 ms and 400 ms a block: 50 blocks, capped at the maximum age.
        assert_eq!(after(1_000, 1_040), Duration::from_millis(1_250));
        assert_eq!(after(1_000, 1_010), Duration::from_secs(5));
        assert_eq!(after(4_000, 1_010), BLOCKHASH_AGE_MAX);
        assert_eq!(after(1_000, 1_000_000), BLOCKHASH_AGE_MIN);
        // Nothing to measure: no new block, a lagging node, refreshes too close together.
        for (span_ms, height) in [(1_000, 1_000), (1_000, 900), (100, 1_010)] {
            assert_eq!(after(span_ms, height), BLOCKHASH_AGE_UNMEASURED);
        }
    }
}
