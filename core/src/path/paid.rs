//! Finds out by counting whether a tag was already paid.
//!
//! An account numbers its payments and remembers the latest 16 tags. Our records are complete up to some number; this
//! process's recent views of the account bridge the gap to what the account remembers now. Views and records join in a payment
//! that both hold: two that only follow each other by number may be of two forks. If no number is missing and no payment has the
//! tag, it is unpaid. A payment that a node leaves out shows as a missing number. The program itself
//! refuses payments after the view; see the `sequence` of a transfer.

use std::time::Duration;

use purser_policy::TAGS_MAX;
use tokio::time::Instant;

use super::carrier::Carrier;
use super::error::PaymentError;
use super::seen::WasPaid;
use crate::{ChainView, IDEMPOTENCY_SECONDS, Joint, Timestamp, Transfer};

/// How long to wait before checking our records again.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

impl Carrier {
    /// If this process has seen no payment with `tag`: the joint up to which our records must rule it out. They do so with the
    /// claim.
    pub(super) fn seen_unpaid(&self, tag: u64, view: &ChainView) -> Option<Option<Joint>> {
        let joint = self.seen.learn(self.payer.account_id, &view.tags, view.now);
        let first = joint.map_or(1, |joint| joint.number);
        let is_seen = self.seen.has(self.payer.account_id, tag, first);
        (!is_seen).then_some(joint)
    }

    /// Whether the transfer's tag was paid. While a caller waits for the answer, this waits a while for payments that our records
    /// miss and the indexer looks for.
    pub(super) async fn was_paid(
        &self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<WasPaid, PaymentError> {
        let (account, tag) = (self.payer.account_id, transfer.id.tag());
        if transfer.reopened > 0 {
            // A fork dropped its payment, which earlier views of the account may have shown.
            self.seen.forget(account);
        }
        let joint = self.seen.learn(account, &view.tags, view.now);
        let newest = view.tags.recorded();
        let since = self.paid_since(transfer).await;
        let is_awaited = self.is_awaited();
        let until = Instant::now() + if is_awaited { self.outside.deadline / 2 } else { Duration::ZERO };
        let mut is_wanted = false;
        loop {
            let known = self.outside.ledger.find_payment(&self.payer, tag, since, joint).await?;
            if let Some(made) = known.made {
                return Ok(WasPaid::Yes(Box::new(made)));
            }
            // For payments that our records hold, the records decide.
            let is_seen = self.seen.has(account, tag, known.up_to.saturating_add(1))
                || view.tags.contains(tag, view.now);
            if known.up_to.saturating_sub(newest) >= TAGS_MAX as u64 {
                return Ok(WasPaid::OldView);
            }
            if known.are_joined && !is_seen {
                return Ok(WasPaid::No);
            }
            if !is_wanted {
                is_wanted = true;
                self.outside.ledger.want_payments(&self.payer, newest).await?;
                self.chain.look_again();
            }
            if Instant::now() >= until || self.outside.stop.is_cancelled() {
                if is_awaited {
                    tracing::warn!(account_id = %account, known_up_to = known.up_to, newest, is_seen,
                        "payments of an account are missing in our records");
                }
                return Ok(WasPaid::Unknown);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// From when on a payment with the transfer's tag is this transfer's: 24 hours before now or before its request, whichever is
    /// earlier. `None`: ever.
    pub(super) async fn paid_since(&self, transfer: &Transfer) -> Option<Timestamp> {
        let from = self.agreed_now().await?.min(transfer.created_at.unix_seconds());
        Some(Timestamp::from_unix_seconds(from.saturating_sub(IDEMPOTENCY_SECONDS)))
    }
}
