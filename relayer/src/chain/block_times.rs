//! When blocks were made. A block's time never changes, so each is asked for once, whoever waits for it.

use super::ChainError;
use super::rpc::Rpc;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// How many of the newest blocks are remembered.
const REMEMBERED_MAX: usize = 64;

/// The times of the blocks that were asked for last.
#[derive(Default)]
pub(super) struct BlockTimes {
    by_slot: Mutex<BTreeMap<u64, Arc<OnceCell<i64>>>>,
}

impl BlockTimes {
    /// Unix seconds by the chain's clock; `None` where the node does not know (yet).
    pub async fn of(&self, rpc: &Rpc, slot: u64) -> Result<Option<i64>, ChainError> {
        let cell = {
            let mut by_slot = self.by_slot.lock().unwrap_or_else(PoisonError::into_inner);
            let cell = by_slot.entry(slot).or_default().clone();
            while by_slot.len() > REMEMBERED_MAX {
                by_slot.pop_first();
            }
            cell
        };
        match cell.get_or_try_init(async || rpc.block_time(slot).await.map_err(Some)?.ok_or(None)).await {
            Ok(time) => Ok(Some(*time)),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }
}
