use super::{TransferView, Transfers};
use crate::error::{Forbidden, ServiceError};
use purser_model::{Operator, Page, PageRequest, PaidInDay, Principal, Refusals, Timestamp, TransferFilter};

const DAY_SECONDS: i64 = 24 * 60 * 60;

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

    /// The beginning of this day in UTC.
    pub fn today(&self) -> Timestamp {
        let seconds = self.inside.clock.now().unix_seconds();
        Timestamp::from_unix_seconds(seconds - seconds.rem_euclid(DAY_SECONDS))
    }

    /// The time by the service's clock.
    pub fn now(&self) -> Timestamp {
        self.inside.clock.now()
    }

    /// What each account paid in each of the days that begin at `days`, over the newest `rows_max` transfers that settled in each.
    pub async fn paid_by_day(
        &self,
        operator: &Operator,
        days: &[Timestamp],
        rows_max: u32,
    ) -> Result<Vec<PaidInDay>, ServiceError> {
        Ok(self.inside.store.transfers.list_paid_by_day(operator.id, days, rows_max).await?)
    }

    /// How many transfers of each account were refused for which reason, over the newest `rows_max` that were asked for at `since`
    /// or later.
    pub async fn refusals(
        &self,
        operator: &Operator,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Refusals>, ServiceError> {
        Ok(self.inside.store.transfers.list_refusals(operator.id, since, rows_max).await?)
    }
}
