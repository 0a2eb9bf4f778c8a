//! When blocks were made: the clock that a block's own transactions saw. A websocket on the clock's account reports it for every
//! block. Without one, each block is asked for once, however many callers wait for it.

use crate::ChainError;
use purser_rpc::Rpc;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

/// How many of the newest blocks are remembered.
const REMEMBERED_MAX: usize = 256;
/// How much later the notice of a block's time may come than the notice of what landed in it.
const NOTICE_WITHIN: Duration = Duration::from_millis(100);
/// After this long without a notice, nobody waits for one.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// The times of the latest blocks, unix seconds by slot.
pub struct BlockTimes {
    known: watch::Sender<KnownTimes>,
    /// One question at a time; others who wait for the same block then have the answer.
    asking: Mutex<()>,
}

#[derive(Debug, Default)]
struct KnownTimes {
    by_slot: BTreeMap<u64, i64>,
    noticed_at: Option<Instant>,
}

impl BlockTimes {
    pub fn new() -> Self {
        Self { known: watch::Sender::default(), asking: Mutex::default() }
    }

    /// A websocket reported the clock as of the block in `slot`. If that block is forked away, the new block's time replaces it.
    pub fn notice(&self, slot: u64, time: i64) {
        self.known.send_modify(|known| {
            known.noticed_at = Some(Instant::now());
            known.remember(slot, time);
        });
    }

    /// Unix seconds by the chain's clock; `None` where the node does not know (yet).
    pub async fn of(&self, rpc: &Rpc, slot: u64) -> Result<Option<i64>, ChainError> {
        if let Some(time) = self.wait_for_notice(slot).await {
            return Ok(Some(time));
        }
        let _one = self.asking.lock().await;
        if let Some(time) = self.get(slot) {
            return Ok(Some(time));
        }
        let time = rpc.block_time(slot).await?;
        if let Some(time) = time {
            self.known.send_modify(|known| known.remember(slot, time));
        }
        Ok(time)
    }

    async fn wait_for_notice(&self, slot: u64) -> Option<i64> {
        let are_coming = self.known.borrow().noticed_at.is_some_and(|at| at.elapsed() < SILENCE_MAX);
        let patience = if are_coming { NOTICE_WITHIN } else { Duration::ZERO };
        let mut known = self.known.subscribe();
        let notice = known.wait_for(|known| known.by_slot.contains_key(&slot));
        let known = tokio::time::timeout(patience, notice).await.ok()?.ok()?;
        known.by_slot.get(&slot).copied()
    }

    fn get(&self, slot: u64) -> Option<i64> {
        self.known.borrow().by_slot.get(&slot).copied()
    }
}

impl KnownTimes {
    fn remember(&mut self, slot: u64, time: i64) {
        self.by_slot.insert(slot, time);
        while self.by_slot.len() > REMEMBERED_MAX {
            self.by_slot.pop_first();
        }
    }
}
