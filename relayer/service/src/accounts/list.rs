//! Lists of accounts: as the chain has them now or, when it does not answer, as they were last seen.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::name_halt_actions;
use super::{AccountView, BATCH_ROWS, BATCHES_MAX};
use crate::Inside;
use crate::error::{Resource, ServiceError};
use crate::reads::{read_operator, window_now};
use purser_chain::OperatorOnChain;
use purser_model::{
    Account, AccountFilter, AccountId, AccountPlace, AccountStatus, Address, Listing, Operator, OperatorId,
    Page, PageRequest,
};
use purser_store::KnownAccount;

/// How long a list waits for a first answer of the chain, and then for all of them: with hundreds of accounts, a node that is slow
/// answers all the same.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(10);

/// Binds a cursor of the list to its operator and filter.
fn accounts_filter(operator: OperatorId, AccountFilter { status, tag }: &AccountFilter) -> String {
    let (status, tag) = (status.map_or("", AccountStatus::as_str), tag.as_ref().map(|tag| format!("|{tag}")));
    format!("accounts|{operator}|{status}{}", tag.unwrap_or_default())
}

/// The operator's accounts, newest first. The status comes from the chain, not the database, so a filtered page may
/// be short while more accounts follow. When the chain does not answer, every account is shown with its last known
/// balance and without its policy: whether it may pay is not known then, and no filter leaves it out. How this process saw it
/// last is beside that.
pub async fn list(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: impl Into<AccountFilter>,
    request: PageRequest,
) -> Result<Page<AccountView>, ServiceError> {
    let filter = filter.into();
    let listing = request.of(accounts_filter(operator.id, &filter))?;
    let living = async {
        let first = timeout(PATIENCE, read_operator(&inside.chains, operator)).await;
        let on_chain = first.map_err(|_| ServiceError::ChainUnavailable { retryable: true })??;
        list_living(inside, operator, &on_chain, &filter, &listing).await
    };
    let mut listed = match timeout(PATIENCE_FOR_ALL, living).await {
        Err(_) | Ok(Err(ServiceError::ChainUnavailable { .. })) => {
            list_known(inside, operator, filter.clone(), &listing).await?
        }
        Ok(listed) => listed?,
    };
    name_halt_actions(inside, operator.id, &mut listed.items).await?;
    Ok(listed)
}

/// The operator's accounts with these ids, and those that are paid at these token accounts: without a look at the chain. At most
/// 1,000 of each.
pub async fn named(
    inside: &Arc<Inside>,
    operator: &Operator,
    ids: &[AccountId],
    token_accounts: &[Address],
) -> Result<Vec<Account>, ServiceError> {
    let mut found = inside.store.accounts.find_accounts(operator.id, ids).await?;
    found.extend(inside.store.accounts.find_accounts_paid_at(operator.id, token_accounts).await?);
    Ok(found)
}

/// How many accounts the operator has.
pub async fn count(inside: &Arc<Inside>, operator: &Operator) -> Result<u64, ServiceError> {
    Ok(inside.store.accounts.count_accounts(operator.id).await?)
}

async fn list_living(
    inside: &Arc<Inside>,
    operator: &Operator,
    on_chain: &OperatorOnChain,
    wanted: &AccountFilter,
    listing: &Listing<AccountPlace>,
) -> Result<Page<AccountView>, ServiceError> {
    let items_max = listing.limit as usize;
    let mut after = listing.after;
    let AccountFilter { status, tag } = wanted;
    let rows_at_once = if status.is_some() { BATCH_ROWS } else { listing.limit };
    let as_of = inside.clock.now();
    let now = window_now(&inside.chains, &inside.clock, operator).await?;
    let mut items = Vec::new();
    for _ in 0..BATCHES_MAX {
        // One row too many shows whether more follow.
        let tagged = AccountFilter { status: None, tag: tag.clone() };
        let mut rows =
            inside.store.accounts.list_accounts(operator.id, tagged, after, rows_at_once + 1).await?;
        let more_rows = rows.len() > rows_at_once as usize;
        rows.truncate(rows_at_once as usize);
        let agents = super::read_many(inside, operator, &rows).await?;
        let count = rows.len();
        for (index, (account, agent)) in rows.into_iter().zip(agents).enumerate() {
            after = Some(account.place());
            let Some(agent) = agent else { continue };
            let of = (operator, on_chain.halted_by);
            let view = super::view(inside, of, account, agent, (as_of, now));
            if status.is_none_or(|status| view.status == Some(status)) {
                items.push(view);
            }
            let more = more_rows || index + 1 < count;
            if items.len() == items_max {
                return Ok(Page { items, next: after.filter(|_| more).map(|after| listing.cursor(after)) });
            }
        }
        if !more_rows {
            return Ok(Page { items, next: None });
        }
        if status.is_none() {
            break;
        }
    }
    Ok(Page { items, next: after.map(|after| listing.cursor(after)) })
}

async fn list_known(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: AccountFilter,
    listing: &Listing<AccountPlace>,
) -> Result<Page<AccountView>, ServiceError> {
    let (after, rows_max) = (listing.after, listing.rows_max());
    // Those that were active may be halted by now.
    let filter =
        AccountFilter { status: filter.status.filter(|status| *status == AccountStatus::Active), ..filter };
    let rows = inside.store.accounts.list_known_accounts(operator, filter, after, rows_max).await?;
    let page = listing.page(rows, |last| last.account.place());
    Ok(page.map(|known| known_view(inside, known)))
}

/// One account without a look at the chain, as a list shows it while the chain does not answer. NotFound: unknown, closed or
/// another operator's.
pub async fn known(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
) -> Result<AccountView, ServiceError> {
    let known = inside.store.accounts.find_known_account(operator, id).await?;
    Ok(known_view(inside, known.ok_or(ServiceError::NotFound(Resource::Account))?))
}

fn known_view(inside: &Arc<Inside>, KnownAccount { account, balance, as_of }: KnownAccount) -> AccountView {
    AccountView {
        status: Some(account.status).filter(|status| *status == AccountStatus::Paused),
        seen: inside.last_seen.account(account.id),
        account,
        balance,
        as_of,
        halt: None,
        halt_action: None,
        spent: None,
        policy: None,
        budget: None,
        warnings: None,
    }
}
