//! What the service makes of the steps of transfers: metrics, and webhooks for balances and limits.

use std::sync::Arc;

use async_trait::async_trait;
use purser_core::Chain as _;
use purser_core::{Observer, Payer};

use crate::Inside;
use crate::{ServiceError, events};
use purser_model::{BalanceSeen, FailureCode, Timestamp, Transfer, TransferState, UsdcAmount};

/// Why a transfer failed whose bytes somebody else had and did not send, as it is counted.
pub const UNUSED_BYTES: &str = "handed_over_unused";

#[derive(Clone)]
pub struct TransferObserver {
    inside: Arc<Inside>,
}

impl TransferObserver {
    pub fn new(inside: Arc<Inside>) -> Self {
        Self { inside }
    }
}

#[async_trait]
impl Observer for TransferObserver {
    fn submitted(&self, transfer: &Transfer) {
        self.inside.metrics.count_transfer(transfer.network.as_str(), transfer.state.status().as_str());
    }

    fn ended(&self, transfer: &Transfer) {
        let (metrics, network) = (&self.inside.metrics, transfer.network.as_str());
        metrics.count_transfer(network, transfer.state.status().as_str());
        match &transfer.state {
            TransferState::Settled(_) => {
                let took = transfer.created_at.until(self.inside.clock.now());
                metrics.settled_after(network, took.as_secs_f64());
                // An approval has the id of its transfer.
                let approval_id = transfer.approval.requested().map(|_| tracing::field::display(transfer.id));
                let (account_id, tx_signature) = (transfer.request.from, transfer.tx_signature());
                tracing::info!(transfer_id = %transfer.id, %account_id, approval_id, tx_signature, "a transfer settled");
            }
            TransferState::Failed(failure) => {
                let is_unused = transfer.fee_payer.is_some() && failure.code == FailureCode::TransferExpired;
                let reason = if is_unused { UNUSED_BYTES } else { failure.code.as_str() };
                metrics.count_failure(network, reason);
            }
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_) => {}
        }
    }

    fn contradicted(&self, transfer: &Transfer) {
        self.inside.metrics.contradicted(transfer.network.as_str());
    }

    /// Before the payment: the start of a crossing. A failure here does not hold up the payment.
    async fn balance_read(&self, payer: &Payer, balance: UsdcAmount, read_at: Timestamp) {
        if let Err(error) = self.observe(payer, balance, read_at).await {
            tracing::warn!(account_id = %payer.account_id, %error, "cannot record a balance");
        }
    }

    /// After the payment, once it was answered. If this is cut off, the next reading finds a crossing, and the indexer the rest.
    fn paid(&self, payer: &Payer) {
        let (this, payer) = (self.clone(), *payer);
        self.inside.tasks.start(async move {
            // What the account has spent stands in the transaction, which the indexer reads.
            if this.inside.store.events.watches_limits(payer.operator_id).await.unwrap_or(true)
                && let Ok(network) = this.inside.chains.get(payer.network)
            {
                network.chain.look_again();
            }
            if let Err(error) = this.look_at_balance(&payer).await {
                tracing::warn!(account_id = %payer.account_id, %error, "cannot read a balance after a payment");
            }
        });
    }
}

impl TransferObserver {
    async fn observe(
        &self,
        payer: &Payer,
        balance: UsdcAmount,
        read_at: Timestamp,
    ) -> Result<(), ServiceError> {
        // Usually nobody watches, which spares the account's row.
        if !self.inside.store.events.has_thresholds(payer.operator_id).await? {
            return Ok(());
        }
        let account = self.inside.store.accounts.find_account(payer.operator_id, payer.account_id).await?;
        let Some(account) = account else { return Ok(()) };
        let seen = BalanceSeen { balance, read_at, paid: Vec::new() };
        events::observe_balance(&self.inside, &account, seen).await
    }

    async fn look_at_balance(&self, payer: &Payer) -> Result<(), ServiceError> {
        if !self.inside.store.events.has_thresholds(payer.operator_id).await? {
            return Ok(());
        }
        let operator = self.inside.store.operators.find_operator(payer.operator_id).await?;
        let account = self.inside.store.accounts.find_account(payer.operator_id, payer.account_id).await?;
        let Some((operator, account)) = operator.zip(account) else { return Ok(()) };
        events::look_at_balance(&self.inside, &operator, &account).await
    }
}
