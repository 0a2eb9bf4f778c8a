use futures::Stream;

use super::reads::find_account;
use super::{ExplorerUrl, Parts, ServiceError};
use crate::domain::{
    AccountId, Cursor, HistoryFilter, Page, PageRequest, PlacedEntry, Principal, Timestamp, UsdcAmount,
};

/// Entries that are read together where all are wanted.
const ROWS_AT_ONCE: u32 = 500;
/// No position is above it.
const ABOVE_ALL: &str = "~";

/// An entry, and where to look at its transaction.
#[derive(Debug, Clone)]
pub struct EntryView {
    pub placed: PlacedEntry,
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

    /// An account's history, what became visible last first. Forbidden: an agent key of another account. NotFound: the account.
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
        let after = request.after.as_ref().map(Cursor::position);
        let rows_max = request.limit.get() + 1;
        let store = &self.parts.store;
        let rows = store.list_history(operator.id, account.id, &filter, after, rows_max).await?;
        let bound = filter.text(operator.id, account.id);
        let page = Page::from_rows(rows, request.limit, |last| Cursor::new(&bound, last.position.as_str()));
        Ok(page.map(|placed| EntryView { placed, explorer: explorer.clone() }))
    }

    /// What left the account after `since`, by payments and withdrawals, the latest first: up to `rows_max` amounts. Errors as
    /// [`History::list`].
    pub async fn spending(
        &self,
        principal: &Principal,
        id: AccountId,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Timestamp, UsdcAmount)>, ServiceError> {
        let account = find_account(&self.parts, principal, id).await?;
        Ok(self.parts.store.list_spending(principal.operator().id, account.id, since, rows_max).await?)
    }

    /// All of it, a page at a time, each read when it is asked for. What becomes visible meanwhile is not in it. Errors as
    /// [`History::list`].
    pub async fn all(
        &self,
        principal: &Principal,
        id: AccountId,
        filter: HistoryFilter,
    ) -> Result<impl Stream<Item = Result<Vec<EntryView>, ServiceError>> + use<>, ServiceError> {
        let operator = principal.operator().clone();
        let account = find_account(&self.parts, principal, id).await?;
        let explorer = self.parts.chains.get(operator.network)?.explorer.clone();
        let store = self.parts.store.clone();
        let beginning = Some(String::from(ABOVE_ALL));
        Ok(futures::stream::try_unfold(beginning, move |after| {
            let (store, explorer) = (store.clone(), explorer.clone());
            async move {
                let Some(after) = after else { return Ok(None) };
                let rows =
                    store.list_history(operator.id, account.id, &filter, Some(&after), ROWS_AT_ONCE).await?;
                let is_full = rows.len() >= ROWS_AT_ONCE as usize;
                let next = rows.last().filter(|_| is_full).map(|last| last.position.clone());
                let views = rows.into_iter().map(|placed| EntryView { placed, explorer: explorer.clone() });
                Ok(Some((views.collect(), next)))
            }
        }))
    }
}
