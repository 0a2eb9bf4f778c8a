use super::{AccountId, IdempotencyKey, OperatorId, RejectionReason, Timestamp, TransferStatus};

/// Which transfers a list shows; `None` shows all.
#[derive(Debug, Clone, Default)]
pub struct TransferFilter {
    /// The paying account.
    pub account: Option<AccountId>,
    pub status: Option<TransferStatus>,
    pub idempotency_key: Option<IdempotencyKey>,
    /// Only transfers that policy refused for this reason.
    pub reason: Option<RejectionReason>,
    /// Only transfers requested after this time.
    pub since: Option<Timestamp>,
    /// Only transfers requested up to this time.
    pub until: Option<Timestamp>,
}

impl TransferFilter {
    /// Binds a cursor of the list to its operator and filter. The key comes last: it may contain any character.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let moment = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.to_string());
        format!(
            "transfers|{operator_id}|{}|{}|{}|{}|{}|{}",
            self.account.map_or_else(String::new, |id| id.to_string()),
            self.status.map_or("", TransferStatus::as_str),
            self.reason.map_or("", RejectionReason::as_str),
            moment(self.since),
            moment(self.until),
            self.idempotency_key.as_ref().map_or("", IdempotencyKey::as_str),
        )
    }
}
