//! Transfers about which a person was asked.

use super::operators::lock_operator;
use super::query::{Sql, sql};
use super::row::Listed;
use super::stored::{Below, OrEmpty};
use super::{Result, StoreError, Transaction, Transfers};
use purser_model::{ApprovalFilter, ApprovalState, Network, OperatorId, Timestamp, Transfer, TransferId};

/// How many transfers may wait for a person at once, of an account and of an operator.
const PENDING_OF_ACCOUNT_MAX: u64 = 10;
const PENDING_OF_OPERATOR_MAX: u64 = 1_000;

impl Transfers {
    /// Up to `rows_max` of the operator's transfers about which a person was asked, newest first, starting after `after`.
    pub async fn list_approvals(
        &self,
        operator: OperatorId,
        filter: &ApprovalFilter,
        after: Option<TransferId>,
        rows_max: u32,
    ) -> Result<Vec<Transfer>> {
        let is_in_state = match filter.state {
            None => "TRUE",
            Some(ApprovalState::Pending) => "state = 'claimed' AND message IS NOT NULL",
            Some(ApprovalState::Granted) => "state IN ('signed', 'sent')",
            Some(ApprovalState::Used) => "state = 'settled'",
            Some(ApprovalState::Rejected) => "state = 'failed' AND reason = 'approval_rejected'",
            Some(ApprovalState::Withdrawn) => "state = 'failed' AND reason = 'approval_withdrawn'",
            Some(ApprovalState::Expired) => "state = 'failed' AND reason = 'approval_expired'",
            Some(ApprovalState::Void) => "state = 'failed' AND reason = 'approval_void'",
            Some(ApprovalState::Failed) => {
                "state IN ('rejected', 'failed') AND reason NOT LIKE 'approval\\_%' ESCAPE '\\'"
            }
        };
        sql! {
            "SELECT {columns} FROM transfers
             WHERE operator_id = {operator} AND approval_expires_at IS NOT NULL AND transfer_id < {below}
                 AND ({account} = '' OR account_id = {account}) AND {is_in_state}
             ORDER BY transfer_id DESC LIMIT {rows_max}",
            columns = Transfer::COLUMNS, operator, below = Below(after), account = OrEmpty(filter.account),
            is_in_state = Sql(is_in_state), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For metrics: how many transfers of each network have waited for a person since then, or longer.
    pub async fn count_approvals_since(&self, since: Timestamp) -> Result<Vec<(Network, u64)>> {
        // Ids begin with the time of their requests.
        sql! {
            "SELECT network, COUNT(*) FROM transfers
             WHERE state = 'claimed' AND message IS NOT NULL AND transfer_id < {lowest} GROUP BY network",
            lowest = TransferId::with_tag(since, 0, 0)
        }
        .fetch_all(self.lister())
        .await
    }
}

/// TooManyApprovals: as many transfers of the account or the operator wait as may. Others of the operator that would ask for it wait until
/// the commit.
pub(super) async fn has_room_to_ask(tx: &mut Transaction<'_>, transfer: &Transfer) -> Result<()> {
    let request = &transfer.request;
    lock_operator(tx, transfer.operator_id).await?;
    let pending: Option<(u64, u64)> = sql! {
        "SELECT COALESCE(SUM(CASE WHEN account_id = {from} THEN 1 ELSE 0 END), 0), COUNT(*) FROM transfers
         WHERE operator_id = {operator_id} AND state = 'claimed' AND message IS NOT NULL",
        request.from, transfer.operator_id
    }
    .fetch_optional(tx)
    .await?;
    let (of_account, of_operator) = pending.unwrap_or((0, 0));
    let has_room = of_account < PENDING_OF_ACCOUNT_MAX && of_operator < PENDING_OF_OPERATOR_MAX;
    if has_room { Ok(()) } else { Err(StoreError::TooManyApprovals) }
}
