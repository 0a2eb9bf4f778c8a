use super::{TransferView, Transfers};
use crate::domain::{Cursor, Invalid, Page, PageRequest, Principal, TransferFilter, TransferId};
use crate::service::error::{Forbidden, ServiceError};

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
        let bound = filter.text(operator.id);
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
        let after = match &request.after {
            None => None,
            Some(cursor) => {
                let position = cursor.position().parse::<TransferId>();
                Some(position.map_err(|_| Invalid::new("cursor", "is not a cursor of this list"))?)
            }
        };
        let explorer = self.chains.get(operator.network)?.explorer.clone();
        let rows_max = request.limit.get() + 1;
        let rows = self.transfers.list_transfers(operator.id, &filter, after, rows_max).await?;
        let page = Page::from_rows(rows, request.limit, |last| Cursor::new(&bound, last.id.to_string()));
        Ok(page.map(|transfer| TransferView::new(transfer, &explorer, self.links.as_ref())))
    }
}
