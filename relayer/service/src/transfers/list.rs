use super::{TransferView, Transfers};
use crate::error::{Forbidden, ServiceError};
use purser_model::{Page, PageRequest, Principal, TransferFilter};

impl Transfers {
    /// The transfers that the caller may read, newest first, in any state: all accounts for an operator, its own
    /// account for an agent. Forbidden: an agent key that asks for another account's.
    pub async fn list(
        &self,
        principal: &Principal,
        filter: TransferFilter,
        request: PageRequest,
    ) -> Result<Page<TransferView>, ServiceError> {
        let operator = principal.operator();
        let listing = request.of(filter.text(operator.id))?;
        let mut filter = filter;
        match principal {
            Principal::Agent { account_id, .. }
                if filter.account.is_some_and(|asked| asked != *account_id) =>
            {
                return Err(ServiceError::Forbidden(Forbidden::OtherAccount));
            }
            Principal::Agent { account_id, .. } => filter.account = Some(*account_id),
            Principal::Operator { .. } => {}
        }
        let (after, rows_max) = (listing.after, listing.rows_max());
        let rows = self.inside.store.transfers.list_transfers(operator.id, &filter, after, rows_max).await?;
        self.views.page(listing.page(rows, |last| last.id)).await
    }
}
