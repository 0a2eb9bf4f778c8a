//! Looks for payments whose numbers are missing and that transfers wait for.

use super::walk::Walked;
use super::{IndexError, Indexer};
use crate::domain::{
    AccountId, EntryKind, EntryOutcome, HistoryEntry, HistoryFilter, HistoryStatus, OperatorId,
};
use crate::store::{Mark, PaymentsMissing, Whose};

/// Accounts looked into per cycle, and accounts listed to find those that are due.
const ACCOUNTS_AT_ONCE: usize = 50;
const LISTED_AT_ONCE: u32 = 500;
/// Known payments that are read again in one step.
const PAYMENTS_AT_ONCE: u32 = 50;

impl Indexer {
    /// Reads the whole past of accounts that still miss payments: a node may have left some out.
    pub(super) async fn look_for_payments(&self) -> Result<(), IndexError> {
        let after = self.memory.payments_looked_at();
        let missing = self.parts.index.list_missing_payments(self.network, after, LISTED_AT_ONCE).await?;
        let is_last = missing.len() < LISTED_AT_ONCE as usize;
        let mut interrupted = Ok(());
        for account in self.memory.due_for_payments(missing, is_last, ACCOUNTS_AT_ONCE) {
            interrupted = interrupted.and(self.look_for_payments_of(account).await);
        }
        if self.memory.payments_looked_at().is_some() {
            // The others must not wait for the timer.
            self.parts.history.look_again();
        }
        interrupted
    }

    async fn look_for_payments_of(&self, account: PaymentsMissing) -> Result<(), IndexError> {
        let PaymentsMissing { operator_id, account_id, address, token_account } = account;
        tracing::info!(%account_id, "payments are missing in an account's history");
        if !self.memory.is_past_wanted(&token_account) {
            // The database may have lost what this process has read.
            self.memory.forget_read();
        }
        if self.walk_all(token_account, Whose::Account(account_id)).await? == Walked::PartOfTheWay {
            return Ok(());
        }
        // The count must be as new as the history that we read, or it would not match the payments found.
        let slot = self.parts.index.find_newest_slot((operator_id, account_id)).await?;
        if let Some(recorded) = self.parts.history.payments(&address, slot).await? {
            let up_to = self.parts.index.count_unnumbered((operator_id, account_id), recorded).await?;
            if self.memory.outlives(account_id, (up_to < recorded).then_some(up_to)) {
                self.read_payments_again((operator_id, account_id)).await?;
            }
        }
        Ok(())
    }

    /// Reads the account's known payments once more: one of them may have a number that is not its own.
    async fn read_payments_again(&self, account: (OperatorId, AccountId)) -> Result<(), IndexError> {
        let (operator_id, account_id) = account;
        tracing::warn!(%account_id, "a payment's number is missing after a walk; reading known payments again");
        let payments = HistoryFilter {
            kind: Some(EntryKind::Transfer),
            status: Some(HistoryStatus::Settled),
            ..HistoryFilter::default()
        };
        let mut after: Option<String> = None;
        loop {
            let page = self
                .parts
                .entries
                .list_history(operator_id, account_id, &payments, after.as_deref(), PAYMENTS_AT_ONCE)
                .await?;
            let Some(last) = page.last() else { return Ok(()) };
            let marks: Vec<Mark> = page.iter().filter_map(|placed| mark_of(&placed.entry)).collect();
            let readings = self.read(&marks).await?;
            self.parts.index.insert_readings(self.network, &readings, None).await?;
            after = Some(last.position.clone());
        }
    }
}

/// Where the chain has the entry's transaction.
fn mark_of(entry: &HistoryEntry) -> Option<Mark> {
    match &entry.outcome {
        EntryOutcome::Settled { signature, slot } => Some(Mark { signature: signature.clone(), slot: *slot }),
        EntryOutcome::Rejected { .. } => None,
    }
}
