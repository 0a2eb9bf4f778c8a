//! Feeds what a transfer learns of its account to webhooks for balances and limits.

use super::carrier::Carrier;
use crate::domain::{BalanceSeen, Timestamp, UsdcAmount};
use crate::service::Events;

impl Carrier {
    /// Before the payment: the start of a crossing. A failure here does not hold up the payment.
    pub(super) async fn note_balance(&self, balance: UsdcAmount, read_at: Timestamp) {
        let events = Events::new(self.parts.clone());
        if let Err(error) =
            events.observe_balance(&self.account, BalanceSeen { balance, read_at, paid: Vec::new() }).await
        {
            tracing::warn!(account_id = %self.account.id, %error, "cannot record a balance");
        }
    }

    /// After the payment, once it was answered. If this is cut off, the next reading finds the crossing.
    pub(super) fn look_at_balance(&self) {
        let events = Events::new(self.parts.clone());
        let (operator, account) = (self.operator.clone(), self.account.clone());
        self.parts.tasks.start(async move {
            if let Err(error) = events.look_at_balance(&operator, &account).await {
                tracing::warn!(account_id = %account.id, %error, "cannot read a balance after a payment");
            }
        });
    }

    /// After the payment: what its account has spent stands in the transaction, which the indexer reads.
    pub(super) fn look_at_limits(&self) {
        let (store, chain) = (self.parts.store.clone(), self.network.chain.clone());
        let operator = self.operator.id;
        self.parts.tasks.start(async move {
            if store.watches_limits(operator).await.unwrap_or(true) {
                chain.look_again();
            }
        });
    }
}
