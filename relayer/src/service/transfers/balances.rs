//! What carrying out a transfer learns of its account's balance, for webhooks with a threshold.

use super::carrier::Carrier;
use crate::domain::{BalanceSeen, Timestamp, UsdcAmount};
use crate::service::Events;

impl Carrier {
    /// Before the payment: where a crossing starts from. No reason to hold the payment up.
    pub(super) async fn note_balance(&self, balance: UsdcAmount, read_at: Timestamp) {
        let events = Events::new(self.parts.clone());
        if let Err(error) =
            events.observe_balance(&self.account, BalanceSeen { balance, read_at, paid: Vec::new() }).await
        {
            tracing::warn!(account_id = %self.account.id, %error, "a balance could not be noted");
        }
    }

    /// After the payment, and after it was answered. Should this be cut off, the next look finds the crossing.
    pub(super) fn look_at_balance(&self) {
        let events = Events::new(self.parts.clone());
        let (operator, account) = (self.operator.clone(), self.account.clone());
        self.parts.tasks.start(async move {
            if let Err(error) = events.look_at_balance(&operator, &account).await {
                tracing::warn!(account_id = %account.id, %error, "a balance could not be looked at after a payment");
            }
        });
    }
}
