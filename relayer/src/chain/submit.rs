//! The ONE loop of a network that follows transactions to their end.
//!
//! Everything in flight is asked for together. What the node does not know is sent again, the same bytes, until it is
//! known or can no longer land. Nothing but the chain ends a flight: not a deadline, not a send error, not the caller's
//! going away. Polling is one source of landings; others may call [`Submitter::land`] beside it.

use super::fault::Fault;
use super::rpc::{Rpc, STATUSES_MAX};
use super::wire::{FinalizedTip, SignatureStatus};
use super::{ChainError, Commitment};
use base64::Engine;
use futures::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often statuses are asked while something young is in flight, something older, or only leftovers.
const POLL_YOUNG: Duration = Duration::from_millis(50);
const POLL_OLDER: Duration = Duration::from_millis(100);
const POLL_LEFTOVER: Duration = Duration::from_millis(500);
const YOUNG: Duration = Duration::from_secs(5);
const LEFTOVER: Duration = Duration::from_secs(60);
/// After failed polls the pause doubles up to this.
const POLL_PAUSE_MAX: Duration = Duration::from_millis(1_600);
/// How long after the last send bytes that the node does not know are sent again.
const RESEND_INTERVAL: Duration = Duration::from_secs(2);
const RESENDS_AT_ONCE: usize = 8;
/// How often expiry is looked into while something stays unknown.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(2);

/// How a transaction ended. Every variant is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Landing {
    Landed { slot: u64 },
    Failed { slot: u64, fault: Fault },
    Expired,
}

/// Signed bytes to follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Followed<'a> {
    pub bytes: &'a [u8],
    /// Base58.
    pub signature: &'a str,
    pub last_valid_block_height: u64,
}

#[derive(Debug)]
struct Flight {
    transaction_base64: Arc<str>,
    last_valid_block_height: u64,
    commitment: Commitment,
    since: Instant,
    sent_at: Instant,
    /// The node knows the signature, below the commitment.
    known: bool,
    end: watch::Sender<Option<Landing>>,
}

/// Follows the transactions of one network.
pub(super) struct Submitter {
    rpc: Arc<Rpc>,
    flights: Mutex<HashMap<String, Flight>>,
    wake: Notify,
    /// Since when no poll was answered, while something is in flight.
    silent_since: Mutex<Option<Instant>>,
    tasks: TaskTracker,
}

impl Submitter {
    pub fn new(rpc: Arc<Rpc>, tasks: TaskTracker) -> Self {
        Self { rpc, flights: Mutex::default(), wake: Notify::new(), silent_since: Mutex::default(), tasks }
    }

    /// Sends bytes once.
    pub async fn send(&self, bytes: &[u8]) -> Result<(), ChainError> {
        self.rpc.send(&base64::engine::general_purpose::STANDARD.encode(bytes)).await
    }

    /// Resolves when the transaction is at `commitment`, or never can be. Joins a flight that is under way.
    pub async fn follow(&self, followed: Followed<'_>, commitment: Commitment) -> Landing {
        let mut end = self.register(followed, commitment);
        loop {
            if let Some(landing) = end.borrow_and_update().clone() {
                return landing;
            }
            if end.changed().await.is_err() {
                // The flight ended and this saw nothing of it: take it up anew, the chain knows.
                end = self.register(followed, commitment);
            }
        }
    }

    /// How many transactions are being followed.
    pub fn in_flight(&self) -> usize {
        self.flights().len()
    }

    /// Resolves when no poll has been answered for `limit`: whoever waits for a landing may stop waiting. The flight
    /// goes on.
    pub async fn silent(&self, limit: Duration) {
        loop {
            let since = *self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
            let left = since.map_or(limit, |since| limit.saturating_sub(since.elapsed()));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn heard(&self, answered: bool) {
        let mut since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = if answered { None } else { Some(since.unwrap_or_else(Instant::now)) };
    }

    /// Ends a flight. Called by the poll, and by whatever else learns of a landing at the flight's commitment.
    pub fn land(&self, signature: &str, landing: Landing) {
        if let Some(flight) = self.flights().remove(signature) {
            flight.end.send_replace(Some(landing));
        }
    }

    /// Runs until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        let mut failures = 0u32;
        let mut expiry_looked_at = Instant::now();
        loop {
            if self.in_flight() == 0 {
                self.heard(true);
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = self.wake.notified() => {}
                }
            }
            let turn = async {
                let polled = self.poll().await;
                self.resend(&stop);
                if expiry_looked_at.elapsed() >= EXPIRY_INTERVAL && self.has_long_unknown() {
                    expiry_looked_at = Instant::now();
                    if let Err(error) = self.expire().await {
                        tracing::debug!(%error, "expiry not looked into");
                    }
                }
                polled
            };
            let polled = tokio::select! {
                () = stop.cancelled() => return,
                polled = turn => polled,
            };
            self.heard(polled.is_ok());
            failures = match polled {
                Ok(()) => 0,
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(%error, in_flight = self.in_flight(), "statuses not read");
                    }
                    failures.saturating_add(1)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.rest(failures) => {}
            }
        }
    }

    /// The pause before the next poll. What comes in meanwhile shortens it, and nothing in flight ends it.
    async fn rest(&self, failures: u32) {
        let begun = Instant::now();
        loop {
            let left =
                self.pause(failures).map_or(Duration::ZERO, |pause| pause.saturating_sub(begun.elapsed()));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(POLL_YOUNG)).await;
        }
    }

    fn register(&self, followed: Followed, commitment: Commitment) -> watch::Receiver<Option<Landing>> {
        let mut flights = self.flights();
        if let Some(flight) = flights.get(followed.signature) {
            return flight.end.subscribe();
        }
        let (end, receiver) = watch::channel(None);
        let now = Instant::now();
        let flight = Flight {
            transaction_base64: base64::engine::general_purpose::STANDARD.encode(followed.bytes).into(),
            last_valid_block_height: followed.last_valid_block_height,
            commitment,
            since: now,
            sent_at: now,
            known: false,
            end,
        };
        flights.insert(followed.signature.to_owned(), flight);
        drop(flights);
        self.wake.notify_one();
        receiver
    }

    /// Asks for everything in flight, in batches side by side.
    async fn poll(&self) -> Result<(), ChainError> {
        let signatures: Vec<String> = self.flights().keys().cloned().collect();
        let batches = signatures.chunks(STATUSES_MAX).map(|batch| async move {
            let statuses = self.rpc.statuses(batch, false).await?;
            for (signature, status) in batch.iter().zip(statuses.value) {
                self.learn(signature, status);
            }
            Ok(())
        });
        futures::future::join_all(batches).await.into_iter().collect()
    }

    /// Takes in what the node says of a signature; `None` when it does not know it.
    fn learn(&self, signature: &str, status: Option<SignatureStatus>) {
        let mut flights = self.flights();
        let Some(flight) = flights.get_mut(signature) else { return };
        match status {
            Some(status) if status.reached(flight.commitment) => {
                drop(flights);
                self.land(signature, landing(&status));
            }
            Some(_) => flight.known = true,
            None => flight.known = false,
        }
    }

    /// Sends the bytes again of whatever the node has not known for a while.
    fn resend(&self, stop: &CancellationToken) {
        let due: Vec<Arc<str>> = self
            .flights()
            .values_mut()
            .filter(|flight| !flight.known && flight.sent_at.elapsed() >= RESEND_INTERVAL)
            .map(|flight| {
                flight.sent_at = Instant::now();
                flight.transaction_base64.clone()
            })
            .collect();
        if due.is_empty() {
            return;
        }
        let (rpc, stop) = (self.rpc.clone(), stop.clone());
        // Beside the poll: a slow node must not keep landings from being seen.
        self.tasks.spawn(async move {
            let sends = futures::stream::iter(due).for_each_concurrent(RESENDS_AT_ONCE, |transaction| {
                let rpc = rpc.clone();
                async move {
                    if let Err(error) = rpc.send(&transaction).await {
                        tracing::debug!(%error, "transaction not re-sent");
                    }
                }
            });
            stop.run_until_cancelled(sends).await;
        });
    }

    fn has_long_unknown(&self) -> bool {
        self.flights().values().any(|flight| !flight.known && flight.since.elapsed() >= EXPIRY_INTERVAL)
    }

    /// Ends flights that can no longer land: the finalized block height is past their last valid one, and a search of
    /// the whole history, by a node that has seen that block, does not know the signature. In this order: a
    /// transaction that lands while we ask lands before that height.
    async fn expire(&self) -> Result<(), ChainError> {
        let tip = self.rpc.finalized_tip().await?;
        let past: Vec<String> = self
            .flights()
            .iter()
            .filter(|(_, flight)| !flight.known && flight.last_valid_block_height < tip.block_height)
            .map(|(signature, _)| signature.clone())
            .collect();
        for batch in past.chunks(STATUSES_MAX) {
            let statuses = self.rpc.statuses(batch, true).await?;
            for (signature, status) in batch.iter().zip(statuses.value) {
                match status {
                    None if has_seen(statuses.slot, tip) => self.land(signature, Landing::Expired),
                    status => self.learn(signature, status),
                }
            }
        }
        Ok(())
    }

    /// `None` when nothing is in flight.
    fn pause(&self, failures: u32) -> Option<Duration> {
        let youngest = self.flights().values().map(|flight| flight.since.elapsed()).min()?;
        if failures > 0 {
            return Some(POLL_OLDER.saturating_mul(1 << failures.min(6)).min(POLL_PAUSE_MAX));
        }
        Some(match youngest {
            age if age < YOUNG => POLL_YOUNG,
            age if age < LEFTOVER => POLL_OLDER,
            _ => POLL_LEFTOVER,
        })
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<String, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an answer given at `slot` comes from a node that has seen the tip: behind a balancer it may be another one.
fn has_seen(slot: u64, tip: FinalizedTip) -> bool {
    slot >= tip.slot
}

fn landing(status: &SignatureStatus) -> Landing {
    let slot = status.slot;
    match &status.err {
        None => Landing::Landed { slot },
        Some(err) => Landing::Failed { slot, fault: Fault::from_json(err) },
    }
}

#[cfg(test)]
#[path = "submit_tests.rs"]
mod tests;
