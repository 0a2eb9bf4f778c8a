use std::sync::Arc;

use std::collections::VecDeque;

use futures::Stream;

use super::reads::find_account;
use super::{ExplorerUrl, ServiceError};
use crate::Inside;
use purser_model::{
    Account, AccountId, AccountPlace, HistoryFilter, Operator, Page, PageRequest, PlacedEntry, Principal,
};

/// Entries per page when a caller wants all of them.
const ROWS_AT_ONCE: u32 = 500;
/// Sorts above every position.
const ABOVE_ALL: &str = "~";

/// An entry, and the explorer template for its transaction.
#[derive(Debug, Clone)]
pub struct EntryView {
    pub placed: PlacedEntry,
    pub explorer: ExplorerUrl,
}

/// An account's history, most recently visible first. Forbidden: an agent key of another account. NotFound: the account.
pub async fn list(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
    filter: HistoryFilter,
    request: PageRequest,
) -> Result<Page<EntryView>, ServiceError> {
    let operator = principal.operator();
    let listing = request.of::<String>(filter.text(operator.id, id))?;
    let account = find_account(&inside.store.accounts, principal, id).await?;
    let explorer = inside.chains.get(operator.network)?.explorer.clone();
    let (after, rows_max) = (listing.after.as_deref(), listing.rows_max());
    let rows = inside.store.history.list_history(operator.id, account.id, &filter, after, rows_max).await?;
    let page = listing.page(rows, |last| last.position.clone());
    Ok(page.map(|placed| EntryView { placed, explorer: explorer.clone() }))
}

/// The whole history page by page, each page read on demand. Entries that become visible meanwhile are not
/// included. Errors as [`list`].
pub async fn all(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
    filter: HistoryFilter,
) -> Result<impl Stream<Item = Result<Vec<EntryView>, ServiceError>> + use<>, ServiceError> {
    let operator = principal.operator().clone();
    let account = find_account(&inside.store.accounts, principal, id).await?;
    let explorer = inside.chains.get(operator.network)?.explorer.clone();
    let history = inside.store.history.clone();
    let beginning = Some(String::from(ABOVE_ALL));
    Ok(futures::stream::try_unfold(beginning, move |after| {
        let (history, explorer) = (history.clone(), explorer.clone());
        async move {
            let Some(after) = after else { return Ok(None) };
            let rows =
                history.list_history(operator.id, account.id, &filter, Some(&after), ROWS_AT_ONCE).await?;
            let is_full = rows.len() >= ROWS_AT_ONCE as usize;
            let next = rows.last().filter(|_| is_full).map(|last| last.position.clone());
            let views = rows.into_iter().map(|placed| EntryView { placed, explorer: explorer.clone() });
            Ok(Some((views.collect(), next)))
        }
    }))
}

/// The histories of all accounts, one account after the other, the newest first, page by page, each read on demand.
pub fn all_of_operator(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: HistoryFilter,
) -> Result<impl Stream<Item = Result<Vec<(Account, EntryView)>, ServiceError>> + use<>, ServiceError> {
    let (inside, operator_id) = (inside.clone(), operator.id);
    let explorer = inside.chains.get(operator.network)?.explorer.clone();
    Ok(futures::stream::try_unfold(AllHistories::default(), move |mut walk| {
        let (inside, explorer) = (inside.clone(), explorer.clone());
        async move {
            if walk.waiting.is_empty() {
                let accounts =
                    inside.store.accounts.list_accounts(operator_id, None, walk.last, ROWS_AT_ONCE).await?;
                walk.last = accounts.last().map(Account::place);
                walk.waiting = accounts.into();
            }
            let Some(account) = walk.waiting.front().cloned() else { return Ok(None) };
            let after = walk.after.take().unwrap_or_else(|| ABOVE_ALL.to_owned());
            let rows = inside.store.history.list_history(
                operator_id,
                account.id,
                &filter,
                Some(&after),
                ROWS_AT_ONCE,
            );
            let rows = rows.await?;
            let is_full = rows.len() >= ROWS_AT_ONCE as usize;
            walk.after = rows.last().filter(|_| is_full).map(|last| last.position.clone());
            if walk.after.is_none() {
                walk.waiting.pop_front();
            }
            let of_account = |placed| (account.clone(), EntryView { placed, explorer: explorer.clone() });
            Ok(Some((rows.into_iter().map(of_account).collect(), walk)))
        }
    }))
}

/// How far a reader of all histories is.
#[derive(Default)]
struct AllHistories {
    /// The last account that was listed.
    last: Option<AccountPlace>,
    /// Listed accounts that are not read to their end.
    waiting: VecDeque<Account>,
    /// Where the first of them goes on.
    after: Option<String>,
}
