//! What a database that was lost no longer knows.
//!
//! The chain refuses a payment's tag for as long as it is among the agent's latest 16. When one of these was not made
//! from our database, others may have been made that we do not know either, further back: before anything new is
//! signed, the agent's history of the last 24 hours is read once and kept in the database, and a payment that is in
//! there is the answer.
//!
//! What was paid before the latest 16 is known because somebody looked then: this process, not more than 16 payments
//! ago; or whoever signed the newest of them, if all 16 were made from our database, since the chain takes no
//! transfer whose signer was further behind.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::carry::Carrier;
use super::known::{AgentTags, KEPT_SECONDS, Place, Seen};
use crate::chain::{ChainError, LandedTransfer, TransferView};
use crate::domain::{Timestamp, Transfer};
use crate::service::ServiceError;
use crate::store::{LandedTag, StoreError};

/// A node shows a transaction in the history of its accounts a little later than in the accounts themselves.
const LOOKS_MAX: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(400);
/// Another process records what has landed within moments; once more of it before each further look.
const RECALL_PAUSE: Duration = Duration::from_millis(50);

/// Why it could not be found out.
pub(super) enum Unknowable {
    Chain(ChainError),
    Service(ServiceError),
}

impl Carrier {
    /// A place for one more payment of the agent's on its way, if there is one.
    pub(super) fn try_place(&self) -> Option<Place> {
        self.places().try_acquire_owned().ok()
    }

    /// The same, when there is one. `None` at a stop.
    pub(super) async fn place(&self) -> Option<Place> {
        tokio::select! {
            place = self.places().acquire_owned() => place.ok(),
            () = self.parts.tasks.stop.cancelled() => None,
        }
    }

    fn places(&self) -> Arc<Semaphore> {
        self.known.with(&self.account.address, |tags| Arc::clone(&tags.on_their_way))
    }

    /// Takes the tag as ours, until it is disowned. False, and not taken, when it was paid, or may have been: the chain
    /// remembers a payment that nothing is known about, or the tag was taken before.
    pub(super) fn own_if_unpaid(&self, tag: u64, view: &TransferView) -> bool {
        self.known.with(&self.account.address, |tags| tags.own_if_unpaid(tag, &Seen::by(view)))
    }

    /// Whether nothing was paid under this tag, as far as that is known without asking.
    pub(super) fn is_unpaid(&self, tag: u64, view: &TransferView) -> bool {
        self.known.with(&self.account.address, |tags| tags.is_unpaid(tag, &Seen::by(view)))
    }

    /// Nothing was paid under this tag, or it was paid by somebody else: should the chain remember it, it is to be looked
    /// up again.
    pub(super) fn disown(&self, tag: u64) {
        self.known.with(&self.account.address, |tags| tags.disown(tag));
    }

    /// It was paid, and it may not have been from our database.
    pub(super) async fn keep_landed(&self, tag: u64, at: Timestamp) -> Result<(), StoreError> {
        let now = self.chain_now().await.unix_seconds();
        let landed = [LandedTag { tag, landed_at: at, is_read: false }];
        self.parts.store.keep_landed_tags(&self.account, &landed, since(now)).await?;
        self.known.with(&self.account.address, |tags| {
            tags.remove(tag);
            tags.learn(&landed, now);
        });
        Ok(())
    }

    /// Takes the transfer's tag as ours, unless the chain's history of the last 24 hours holds a payment with it that our
    /// database does not know as made. Asks nobody while all that the chain remembers is known.
    pub(super) async fn was_paid_before(
        &self,
        transfer: &Transfer,
        view: &TransferView,
    ) -> Result<bool, Unknowable> {
        if self.own_if_unpaid(transfer.tag, view) {
            return Ok(false);
        }
        let agent = &self.account.address;
        let finding_out = self.known.with(agent, |tags| Arc::clone(&tags.finding_out));
        let _turn = finding_out.lock().await;
        if self.own_if_unpaid(transfer.tag, view) {
            // Somebody else has found out meanwhile.
            return Ok(false);
        }
        let seen = Seen::by(view);
        let is_taken = self.known.with(agent, |tags| tags.ours.contains(&transfer.tag));
        if is_taken || !self.recall(&seen).await.map_err(|error| Unknowable::Service(error.into()))? {
            self.read_history(&seen).await?;
        }
        let was_paid = self.known.with(agent, |tags| {
            tags.is_known_up_to(&seen);
            tags.has_landed(transfer.tag, seen.now)
        });
        if was_paid && is_taken {
            tracing::warn!(account_id = %self.account.id, "the database has forgotten a payment of this process");
            self.known.agents().values_mut().for_each(AgentTags::forget);
        }
        if !was_paid {
            self.known.with(agent, |tags| tags.own(transfer.tag));
        }
        Ok(was_paid)
    }

    /// Whether the database knows everything up to what was seen. What another process is just making is waited for.
    async fn recall(&self, seen: &Seen) -> Result<bool, StoreError> {
        let (store, agent) = (&self.parts.store, &self.account.address);
        for look in 1..=LOOKS_MAX {
            let made = store.find_made_tags(&self.account, &seen.remembered).await?;
            let landed = store.list_landed_tags(&self.account, since(seen.now)).await?;
            let (is_known, is_foreign) = self.known.with(agent, |tags| {
                made.iter().for_each(|(tag, _)| tags.own(*tag));
                tags.learn(&landed, seen.now);
                let may_be_foreign = |tag: &u64| tags.landed.contains_key(tag) && !tags.is_read(*tag);
                let is_sure = |tag: &u64| made.contains(&(*tag, true)) || tags.is_read(*tag);
                let is_near = tags.goes_on_to(seen);
                let is_foreign = !tags.unknown(seen).is_empty()
                    || (!is_near && seen.remembered.iter().any(may_be_foreign));
                let is_known = !is_foreign && (is_near || seen.remembered.iter().all(is_sure));
                (is_known, is_foreign)
            });
            if is_known || is_foreign {
                return Ok(is_known);
            }
            tokio::time::sleep(RECALL_PAUSE * look).await;
        }
        Ok(false)
    }

    /// Reads the agent's history until it shows everything that the chain remembers, and keeps it for good.
    async fn read_history(&self, seen: &Seen) -> Result<(), Unknowable> {
        tracing::info!(account_id = %self.account.id, "the chain may know payments that the database does not");
        let agent = &self.account.address;
        for look in 1..=LOOKS_MAX {
            let newest = self.known.with(agent, |tags| tags.newest.clone());
            let listed = self.network.chain.list_landed(agent, newest.as_deref()).await;
            let listed = listed.map_err(Unknowable::Chain)?;
            let is_whole = self.known.with(agent, |tags| {
                let is_shown =
                    |tag: &u64| tags.is_read(*tag) || listed.iter().any(|landed| landed.tag == *tag);
                seen.remembered.iter().all(is_shown)
            });
            if is_whole {
                let landed: Vec<_> = listed.iter().map(|landed| read(landed, seen.now)).collect();
                let kept = self.parts.store.keep_landed_tags(&self.account, &landed, since(seen.now)).await;
                kept.map_err(|error| Unknowable::Service(error.into()))?;
                self.known.with(agent, |tags| {
                    tags.learn(&landed, seen.now);
                    if let Some(newest) = listed.first() {
                        tags.newest = Some(newest.signature.clone());
                    }
                });
                return Ok(());
            }
            if look < LOOKS_MAX {
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        }
        let reason = "the agent's history does not show all that its account remembers".to_owned();
        Err(Unknowable::Chain(ChainError::Unavailable { during: "getSignaturesForAddress", reason }))
    }
}

fn read(landed: &LandedTransfer, now: i64) -> LandedTag {
    let landed_at = Timestamp::from_unix_seconds(landed.block_time.unwrap_or(now));
    LandedTag { tag: landed.tag, landed_at, is_read: true }
}

fn since(now: i64) -> Timestamp {
    Timestamp::from_unix_seconds(now.saturating_sub(KEPT_SECONDS))
}
