//! Serves extensions that ask people about transfers. A build without one asks nobody.

use purser_core::Rejected;

use super::{TransferView, Transfers, payer};
use crate::audit_scope::AuditScope;
use crate::error::{ServiceError, meant};
use purser_model::{Account, Address, ApprovalEnd, Invalid, Operator, OperatorId, Recipient, TransferId};

/// The answer to a new request for an approval, in a build without approvals.
pub(super) fn asks_nobody() -> ServiceError {
    let message = "must be `never`: this service was built without approvals, so nobody can be asked";
    Invalid::new("approval", message).into()
}

impl Transfers {
    /// Ends a transfer's wait for a person, unpaid. ApprovalClosed: it does not wait any more.
    pub async fn end_approval(
        &self,
        operator: OperatorId,
        id: TransferId,
        end: ApprovalEnd,
        _: &AuditScope,
    ) -> Result<TransferView, ServiceError> {
        match self.engine.end_approval(operator, id, end).await.map_err(|error| meant(&error))? {
            Rejected::Done(transfer) => self.views.one(*transfer).await,
            Rejected::TooLate(transfer) => Err(ServiceError::ApprovalClosed(transfer.state.status())),
        }
    }

    /// The token account that a transfer of this account pays. `None`: it cannot be paid.
    pub async fn payee(
        &self,
        operator: &Operator,
        account: &Account,
        to: &Recipient,
    ) -> Result<Option<Address>, ServiceError> {
        let task = self.engine.task(payer(operator, account))?;
        Ok(task.destination(to).await?.ok())
    }
}
