use super::reads::find_account;
use super::{ExplorerUrl, Parts, ServiceError};
use crate::domain::{
    AccountId, Cursor, HistoryEntry, HistoryStatus, OperatorId, Page, PageRequest, Principal, Timestamp,
};

/// Which entries a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryFilter {
    pub status: Option<HistoryStatus>,
    /// Only what happened after this moment.
    pub since: Option<Timestamp>,
}

impl HistoryFilter {
    /// What a cursor of the list is bound to.
    pub fn text(&self, operator_id: OperatorId, account_id: AccountId) -> String {
        let status = self.status.map_or("", HistoryStatus::as_str);
        let since = self.since.map_or_else(String::new, |since| since.to_string());
        format!("history|{operator_id}|{account_id}|{status}|{since}")
    }
}

/// An entry, and where to look at its transaction.
#[derive(Debug, Clone)]
pub struct EntryView {
    pub entry: HistoryEntry,
    pub explorer: ExplorerUrl,
}

/// What happened to the money of agent accounts. Settled and rejected transfers are written down in the step that ends
/// them, everything else by the indexer.
#[derive(Clone)]
pub struct History {
    parts: Parts,
}

impl History {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// An account's history, newest first. Forbidden: an agent key of another account. NotFound: the account.
    pub async fn list(
        &self,
        principal: &Principal,
        id: AccountId,
        filter: HistoryFilter,
        request: PageRequest,
    ) -> Result<Page<EntryView>, ServiceError> {
        let operator = principal.operator();
        let account = find_account(&self.parts, principal, id).await?;
        let explorer = self.parts.chains.get(operator.network)?.explorer.clone();
        let HistoryFilter { status, since } = filter;
        let after = request.after.as_ref().map(Cursor::position);
        let rows_max = request.limit.get() + 1;
        let store = &self.parts.store;
        let rows = store.list_history(operator.id, account.id, status, since, after, rows_max).await?;
        let bound = filter.text(operator.id, account.id);
        let page = Page::from_rows(rows, request.limit, |last| Cursor::new(&bound, last.position()));
        Ok(page.map(|entry| EntryView { entry, explorer: explorer.clone() }))
    }
}
