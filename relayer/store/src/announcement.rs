//! What a transfer's step adds to histories, and whom it is announced to.

use super::events::announce;
use super::history::record;
use super::{StoreError, Transaction, Transfers};
use purser_model::{AccountId, Event, HistoryEntry, Timestamp, Transfer, TransferState, Webhook, WebhookId};

impl Transfers {
    /// Webhooks are read before the write, so that the writer is not held
    /// up; one that is registered at this moment misses the event.
    pub(super) async fn announcement_of(
        &self,
        transfer: &Transfer,
        next: &TransferState,
        now: Timestamp,
    ) -> Result<Announcement, StoreError> {
        let webhooks = async {
            if Event::of_step(transfer, next, now).is_empty() {
                Ok(Vec::new())
            } else {
                self.list_all_webhooks(transfer.operator_id).await
            }
        };
        let (webhooks, mut entries) = tokio::try_join!(webhooks, self.entries_of(transfer, next))?;
        let mut payees = Vec::new();
        if let Some(paid) = entries.iter().find(|entry| entry.operator_id != transfer.operator_id) {
            payees = self.list_all_webhooks(paid.operator_id).await?;
        }
        // Every process locks ledgers in the same order.
        entries.sort_by_key(|entry| entry.account_id);
        Ok(Announcement { entries, webhooks, payees })
    }
}

/// What a step adds to histories, and the webhooks that may be told of it.
#[derive(Clone)]
pub(super) struct Announcement {
    entries: Vec<HistoryEntry>,
    webhooks: Vec<Webhook>,
    /// Those of another operator whose account is paid.
    payees: Vec<Webhook>,
}

impl Announcement {
    /// Whether a webhook of the payer's operator watches this account's balance.
    pub(super) fn watches(&self, payer: AccountId) -> bool {
        self.webhooks.iter().any(|webhook| webhook.subscription.watches(payer).is_some())
    }

    /// In the transaction of the step. The answer wakes the dispatcher after the commit.
    pub(super) async fn write(
        mut self,
        tx: &mut Transaction<'_>,
        transfer: &Transfer,
        next: &TransferState,
        now: Timestamp,
    ) -> Result<Vec<WebhookId>, StoreError> {
        let mut events = Event::of_step(transfer, next, now);
        for entry in &self.entries {
            events.extend(record(tx, entry, now).await?);
        }
        self.webhooks.extend(self.payees);
        announce(tx, &events, &self.webhooks, now).await
    }
}
