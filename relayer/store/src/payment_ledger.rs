//! The database as the payment engine's ledger.

use async_trait::async_trait;
use purser_core::{
    AccountId, Address, AgentAddresses, Claim, ClaimClock, GivesBack, IdempotencyKey, Ledger, LedgerError,
    Network, NewTransfer, OperatorId, Payer, PaymentMade, Timestamp, Transfer, TransferId, TransferState,
    UsedKey,
};

use super::{Accounts, Operators, StoreError, Transfers};

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Superseded => Self::Superseded,
            StoreError::TooManyApprovals => Self::TooManyApprovals,
            StoreError::WrongState(wrong) => Self::WrongState(wrong),
            StoreError::Unavailable { .. } | StoreError::DiskFull(_) | StoreError::NoRoom => {
                Self::Unavailable(error.to_string())
            }
            error => Self::Failed(error.to_string()),
        }
    }
}

#[async_trait]
impl Ledger for Transfers {
    async fn claim(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim, LedgerError> {
        Ok(self.claim_transfer(new, clock).await?)
    }

    async fn find_used_key(
        &self,
        operator: OperatorId,
        network: Network,
        key: &IdempotencyKey,
    ) -> Result<Option<UsedKey>, LedgerError> {
        Ok(Transfers::find_used_key(self, operator, network, key).await?)
    }

    async fn find_transfer(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<Transfer>, LedgerError> {
        Ok(Transfers::find_transfer(self, operator, id).await?)
    }

    async fn mark(
        &self,
        transfer: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError> {
        Ok(Transfers::mark(self, transfer, next, now).await?)
    }

    async fn give_up(
        &self,
        transfer: &Transfer,
        failed: TransferState,
        gives_back: GivesBack,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError> {
        Ok(self.step(transfer, failed, Some(gives_back), now).await?)
    }

    async fn find_payment(
        &self,
        payer: &Payer,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>, LedgerError> {
        Ok(Transfers::find_payment(self, payer.account_id, tag, asked_after).await?)
    }

    async fn find_payer(&self, transfer: &Transfer) -> Result<Option<Payer>, LedgerError> {
        let operator = Operators(self.0.clone()).find_operator(transfer.operator_id).await?;
        let account =
            Accounts(self.0.clone()).find_account(transfer.operator_id, transfer.request.from).await?;
        Ok(operator.zip(account).map(|(operator, account)| Payer {
            network: operator.network,
            operator_id: operator.id,
            operator: operator.address,
            account_id: account.id,
            addresses: AgentAddresses { agent: account.address, token_account: account.token_account },
        }))
    }

    async fn find_payee(&self, network: Network, id: AccountId) -> Result<Option<Address>, LedgerError> {
        Ok(Accounts(self.0.clone()).find_payee(network, id).await?)
    }

    async fn take_unfinished(
        &self,
        network: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, LedgerError> {
        Ok(self.take_unfinished_transfers(network, now, lease_expires_at, rows_max).await?)
    }

    async fn renew_leases(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
        lease_expires_at: Timestamp,
    ) -> Result<(), LedgerError> {
        Ok(Transfers::renew_leases(self, operator, ids, lease_expires_at).await?)
    }

    async fn release_lease(
        &self,
        operator: OperatorId,
        id: TransferId,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        Ok(Transfers::release_lease(self, operator, id, now).await?)
    }
}
