//! The ONE loop of a network that follows transactions to their end.
//!
//! The websocket reports landings first; the loop polls for the rest, all together. It re-sends bytes that no node knows,
//! unchanged and to every node, until a node knows them or they can no longer land. Only the chain ends a flight: not a deadline,
//! not a send error, not a caller that goes away.

use crate::send::cross_check::Sighting;
use crate::send::flight::{Flight, Followed, Landing, LoggedPayment, POLL_YOUNG, Progress};
use crate::{ChainError, Commitment};
use base64::Engine;
use parking_lot::{Mutex, MutexGuard};
use purser_rpc::wire::SignatureStatus;
use purser_rpc::{Rpc, STATUSES_MAX};
use serde_json::Value;
use solana_sdk::pubkey::Pubkey;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// After failed polls the pause doubles from `POLL_PAUSE` up to `POLL_PAUSE_MAX`.
const POLL_PAUSE: Duration = Duration::from_millis(200);
const POLL_PAUSE_MAX: Duration = Duration::from_millis(1_600);
/// The most re-sends that wait for an answer at once, all flights together.
const RESENDS_AT_ONCE: usize = 64;
/// How often to check for expiry while a signature stays unknown.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(2);
/// How many landings are remembered for late callers.
const ENDED_MAX: usize = 4_096;

/// Follows the transactions of one network.
pub struct Submitter {
    rpc: Arc<Rpc>,
    /// Nothing expires sooner after it was signed, whatever nodes say of heights.
    shortest_life: Duration,
    /// Which payers' transactions a websocket reports now, and at which commitment.
    subscribed: Mutex<HashSet<(Pubkey, Commitment)>>,
    flights: Mutex<HashMap<String, Flight>>,
    wake: Notify,
    /// How the latest flights ended, for callers that ask a moment later.
    ended: Mutex<RecentLandings>,
    /// Since when no node has answered about transactions in flight.
    unanswered_since: Mutex<Option<Instant>>,
    resending: Arc<Semaphore>,
    /// Takes landings for another node to confirm; `None` with a single node.
    sightings: Option<mpsc::UnboundedSender<Sighting>>,
    tasks: TaskTracker,
}

impl Submitter {
    /// Also returns the landings to cross-check, when there are several nodes.
    pub fn new(
        rpc: Arc<Rpc>,
        shortest_life: Duration,
        tasks: TaskTracker,
    ) -> (Self, Option<mpsc::UnboundedReceiver<Sighting>>) {
        let (sightings, inbox) = (rpc.nodes() > 1).then(mpsc::unbounded_channel).unzip();
        let submitter = Self {
            rpc,
            shortest_life,
            subscribed: Mutex::default(),
            flights: Mutex::default(),
            wake: Notify::new(),
            ended: Mutex::default(),
            unanswered_since: Mutex::default(),
            resending: Arc::new(Semaphore::new(RESENDS_AT_ONCE)),
            sightings,
            tasks,
        };
        (submitter, inbox)
    }

    /// Follows the bytes and sends them once. Unavailable, Rejected: neither says whether they land.
    pub async fn send(&self, followed: Followed<'_>, commitment: Commitment) -> Result<(), ChainError> {
        // A fork may have dropped bytes that are sent again after they had landed.
        self.ended().forget(followed.signature);
        let _ = self.register(followed, commitment);
        self.asking();
        let sent = self.rpc.send(&base64::engine::general_purpose::STANDARD.encode(followed.bytes)).await?;
        self.answered();
        if let Some(flight) = self.flights().get_mut(followed.signature) {
            flight.first_node = sent;
        }
        Ok(())
    }

    /// Resolves when the transaction reaches `commitment`, or never can. Joins a flight that is under way.
    pub async fn follow(&self, followed: Followed<'_>, commitment: Commitment) -> Landing {
        let mut end = self.register(followed, commitment);
        loop {
            if let Progress::Ended(landing) = end.borrow_and_update().clone() {
                return landing;
            }
            if end.changed().await.is_err() {
                // The flight ended unseen. Start a new one: the chain knows how it ended.
                end = self.register(followed, commitment);
            }
        }
    }

    /// Whether we are following this transaction, or were until lately.
    pub fn is_ours(&self, signature: &str) -> bool {
        self.flights().contains_key(signature) || self.ended().landings.contains_key(signature)
    }

    /// The payment in the log of a transaction that landed lately, if the notice of its landing had it.
    pub fn logged(&self, signature: &str) -> Option<LoggedPayment> {
        self.ended().landings.get(signature)?.1
    }

    /// How many transactions are being followed.
    pub fn in_flight(&self) -> usize {
        self.flights().len()
    }

    /// Resolves when no node has answered for `limit`: callers may stop waiting for a landing. The flight goes on.
    pub async fn silent(&self, limit: Duration) {
        loop {
            let since = *self.unanswered_since.lock();
            let left = since.map_or(limit, |since| limit.saturating_sub(since.elapsed()));
            if left.is_zero() && self.in_flight() > 0 {
                return;
            }
            tokio::time::sleep(left.max(POLL_YOUNG)).await;
        }
    }

    fn asking(&self) {
        let mut since = self.unanswered_since.lock();
        since.get_or_insert_with(Instant::now);
    }

    fn answered(&self) {
        *self.unanswered_since.lock() = None;
    }

    /// From now on a websocket reports when transactions paid by `payer` reach `commitment`. Those already in flight may have
    /// reached it before.
    pub fn listening(&self, payer: Pubkey, commitment: Commitment) {
        self.subscribed().insert((payer, commitment));
    }

    /// The websocket is gone: poll everything again, at once.
    pub fn on_socket_lost(&self) {
        self.subscribed().clear();
        self.flights().values_mut().for_each(|flight| flight.noticed = false);
    }

    /// A websocket reported that a transaction is at `commitment`. `err` is null on success, and `None` when the status has to be
    /// polled. `paid`: the payment in its log.
    pub fn noticed(
        &self,
        node: usize,
        signature: &str,
        commitment: Commitment,
        slot: u64,
        err: Option<&Value>,
        paid: Option<LoggedPayment>,
    ) {
        self.answered();
        {
            let mut flights = self.flights();
            let Some(flight) = flights.get_mut(signature) else { return };
            flight.known = true;
            flight.seen_confirmed(slot);
            self.judge_first(flight, slot);
            if commitment < flight.commitment {
                return;
            }
            // The notice comes only once. If another node denies it, polling has to find the landing.
            flight.noticed = false;
            flight.paid = paid;
            flight.asked();
        }
        let Some(err) = err else { return };
        self.report(signature, Landing::at(slot, err), node);
    }

    /// Accepts a landing, or hands it over for another node to confirm first.
    fn report(&self, signature: &str, landing: Landing, node: usize) {
        let Some(sightings) = &self.sightings else {
            return self.land(signature, landing);
        };
        let mut flights = self.flights();
        let Some(flight) = flights.get_mut(signature) else { return };
        // Polls find the landing again and again while another node is asked, which may take seconds.
        if !std::mem::replace(&mut flight.in_cross_check, true) {
            let commitment = flight.commitment;
            let _ = sightings.send(Sighting { signature: signature.to_owned(), landing, commitment, node });
        }
    }

    /// A reported landing holds, or other nodes deny it (`None`): then polling may report another one.
    pub fn cross_checked(&self, signature: &str, landing: Option<Landing>) {
        match landing {
            Some(landing) => self.land(signature, landing),
            None => {
                if let Some(flight) = self.flights().get_mut(signature) {
                    flight.in_cross_check = false;
                    flight.paid = None;
                }
            }
        }
    }

    pub fn land(&self, signature: &str, landing: Landing) {
        let Some(mut flight) = self.flights().remove(signature) else { return };
        let landing = flight.dated(landing);
        match landing {
            Landing::Landed { slot } | Landing::Failed { slot, .. } => self.judge_first(&mut flight, slot),
            Landing::Expired { .. } => {}
        }
        self.ended().keep(signature, landing.clone(), flight.paid);
        flight.end.send_replace(Progress::Ended(landing));
    }

    /// The bytes are in the block of `slot`, whoever brought them there.
    fn judge_first(&self, flight: &mut Flight, slot: u64) {
        if let Some((node, forwarded)) = flight.first_forwarded(slot) {
            self.rpc.note_forwarding(node, forwarded);
        }
    }

    /// Runs until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        // Beside the polls: one node that hangs must not hold up what the others show.
        let expiring = stop.run_until_cancelled(self.look_for_expired());
        tokio::join!(self.follow_all(stop.clone()), expiring);
    }

    async fn look_for_expired(&self) {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            if self.has_long_unknown()
                && let Err(error) = self.expire().await
            {
                tracing::debug!(%error, "cannot check a transaction for expiry");
            }
        }
    }

    async fn follow_all(&self, stop: CancellationToken) {
        let mut failures = 0u32;
        loop {
            if self.in_flight() == 0 {
                self.answered();
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = self.wake.notified() => {}
                }
            }
            let turn = async {
                self.rest(failures).await;
                let polled = self.poll().await;
                self.resend(&stop);
                polled
            };
            let polled = tokio::select! {
                () = stop.cancelled() => return,
                polled = turn => polled,
            };
            failures = match polled {
                Ok(()) => 0,
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(%error, in_flight = self.in_flight(), "cannot read signature statuses");
                    }
                    failures.saturating_add(1)
                }
            };
        }
    }

    /// Pauses before the next poll. After failures the pause grows; due bytes are re-sent meanwhile.
    async fn rest(&self, failures: u32) {
        let pause = match failures {
            0 => POLL_YOUNG / 5,
            failures => POLL_PAUSE.saturating_mul(1 << failures.min(6)).min(POLL_PAUSE_MAX),
        };
        tokio::time::sleep(pause).await;
    }

    fn register(&self, followed: Followed, commitment: Commitment) -> watch::Receiver<Progress> {
        let mut flights = self.flights();
        if let Some(flight) = flights.get(followed.signature) {
            return flight.end.subscribe();
        }
        if let Some((landing, _)) = self.ended().landings.get(followed.signature) {
            return watch::channel(Progress::Ended(landing.clone())).1;
        }
        let noticed = self.subscribed().contains(&(followed.payer, commitment));
        let flight = Flight::new(followed, commitment, noticed);
        let end = flight.end.subscribe();
        flights.insert(followed.signature.to_owned(), flight);
        drop(flights);
        self.wake.notify_one();
        end
    }

    /// Polls every flight that is due, in concurrent batches.
    async fn poll(&self) -> Result<(), ChainError> {
        let signatures = due(&mut self.flights());
        if !signatures.is_empty() {
            self.asking();
        }
        let batches = signatures.chunks(STATUSES_MAX).map(|batch| async move {
            let statuses = self.rpc.statuses(batch, false).await.inspect_err(|_| self.doubt(batch))?;
            self.answered();
            for (signature, status) in batch.iter().zip(statuses.value) {
                match status {
                    Some(status) => self.learn(signature, status, statuses.node),
                    None => self.learn_unknown(signature, statuses.slot),
                }
            }
            Ok(())
        });
        futures::future::join_all(batches).await.into_iter().collect()
    }

    /// Polls again soon, websocket or not, because these statuses could not be read.
    fn doubt(&self, signatures: &[String]) {
        let mut flights = self.flights();
        for signature in signatures {
            if let Some(flight) = flights.get_mut(signature) {
                flight.noticed = false;
            }
        }
    }

    /// Takes in a node's status for a signature.
    fn learn(&self, signature: &str, status: SignatureStatus, node: usize) {
        let mut flights = self.flights();
        let Some(flight) = flights.get_mut(signature) else { return };
        flight.known = true;
        if status.reached(Commitment::Confirmed) {
            self.judge_first(flight, status.slot);
        }
        if status.reached(flight.commitment) {
            drop(flights);
            let landing = Landing::of(&status);
            self.report(signature, landing, node);
        } else if status.reached(Commitment::Confirmed) {
            flight.seen_confirmed(status.slot);
        }
    }

    /// A node does not know the signature at `slot`.
    fn learn_unknown(&self, signature: &str, slot: u64) {
        if let Some(flight) = self.flights().get_mut(signature) {
            flight.known = false;
            flight.unknown_at = slot;
        }
    }

    /// Re-sends transactions that no node has known for a while, those that were sent longest ago first. The rest takes
    /// its turn when nodes have answered.
    fn resend(&self, stop: &CancellationToken) {
        let mut flights = self.flights();
        let mut due: Vec<&mut Flight> = flights.values_mut().filter(|flight| flight.is_due_again()).collect();
        due.sort_by_key(|flight| flight.sent_at);
        for flight in due {
            let Ok(turn) = self.resending.clone().try_acquire_owned() else { return };
            let (rpc, stop, transaction) = (self.rpc.clone(), stop.clone(), flight.resend());
            // In its own task: a slow node must not delay the poll for landings.
            self.tasks.spawn(async move {
                if let Some(Err(error)) = stop.run_until_cancelled(rpc.send_to_all(&transaction)).await {
                    tracing::debug!(%error, "cannot re-send a transaction");
                }
                drop(turn);
            });
        }
    }

    /// A flight has been unknown for so long that it may have expired.
    fn may_have_expired(&self, flight: &Flight) -> bool {
        !flight.known && flight.since.elapsed() >= EXPIRY_INTERVAL.max(self.shortest_life)
    }

    fn has_long_unknown(&self) -> bool {
        self.flights().values().any(|flight| self.may_have_expired(flight))
    }

    /// Ends flights that can no longer land: every node that moves has finalized a block height past their last valid one, and a
    /// full history search there does not find the signature. The order matters: a transaction that lands while we ask lands
    /// before that height.
    async fn expire(&self) -> Result<(), ChainError> {
        let tips = self.rpc.finalized_tips().await?;
        let tip = tips.lowest();
        let past: Vec<String> = self
            .flights()
            .iter()
            .filter(|(_, flight)| {
                self.may_have_expired(flight) && flight.last_valid_block_height < tip.block_height
            })
            .map(|(signature, _)| signature.clone())
            .collect();
        for batch in past.chunks(STATUSES_MAX) {
            let known = self.rpc.search_everywhere(batch, &tips).await?;
            for (signature, known) in batch.iter().zip(known) {
                match known {
                    None => self.land(signature, Landing::Expired { slot: tip.slot }),
                    Some((node, status)) => self.learn(signature, status, node),
                }
            }
        }
        Ok(())
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<String, Flight>> {
        self.flights.lock()
    }

    fn subscribed(&self) -> MutexGuard<'_, HashSet<(Pubkey, Commitment)>> {
        self.subscribed.lock()
    }

    fn ended(&self) -> MutexGuard<'_, RecentLandings> {
        self.ended.lock()
    }
}

/// The latest landings, oldest first in `order`.
#[derive(Debug, Default)]
struct RecentLandings {
    landings: HashMap<String, (Landing, Option<LoggedPayment>)>,
    order: VecDeque<String>,
}

impl RecentLandings {
    fn keep(&mut self, signature: &str, landing: Landing, paid: Option<LoggedPayment>) {
        if self.landings.insert(signature.to_owned(), (landing, paid)).is_none() {
            self.order.push_back(signature.to_owned());
        }
        if self.order.len() > ENDED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.landings.remove(&oldest);
        }
    }

    fn forget(&mut self, signature: &str) {
        if self.landings.remove(signature).is_some() {
            self.order.retain(|kept| kept != signature);
        }
    }
}

/// The flights to poll now. If any is due, those that almost are join the same call.
fn due(flights: &mut HashMap<String, Flight>) -> Vec<String> {
    if !flights.values().any(|flight| flight.asked_in().is_zero()) {
        return Vec::new();
    }
    let soon = flights.iter_mut().filter(|(_, flight)| flight.asked_in() <= POLL_YOUNG / 2);
    soon.map(|(signature, flight)| {
        flight.asked();
        signature.clone()
    })
    .collect()
}

#[cfg(test)]
mod tests;
