//! Looks at the conditions of every operator regularly, for metrics: an alert must not wait until somebody opens a page.
//! What it reads of accounts and budgets is remembered for pages while no node answers.

use parking_lot::MutexGuard;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::conditions::{APPROVAL_OLD, Condition};
use super::reads::window_now;
use super::{BudgetView, ServiceError};
use crate::{Inside, accounts, health, signers};
use purser_model::{Account, AccountPlace, Network, Operator, OperatorId};

/// Accounts read at once, and in one look. With the interval as it is by default, that is 20 calls a minute, however many
/// accounts there are: 10,000 are all read within ten minutes.
const ROWS_AT_ONCE: u32 = 100;
const ACCOUNTS_IN_A_LOOK: usize = 1_000;

/// Conditions of one network, or of the process, and how often each is true.
pub(super) type Counts = BTreeMap<(Condition, Option<Network>), usize>;

/// What the looks found.
#[derive(Default)]
pub(crate) struct Watched {
    counts: Counts,
    /// The last account that was read; the next look goes on behind it.
    after: Option<(OperatorId, Option<AccountPlace>)>,
}

/// What the last look found. A condition that is not in it is not known yet.
pub fn counts(inside: &Arc<Inside>) -> Counts {
    found(inside).counts.clone()
}

/// Looks at once, and then regularly, until the process stops.
pub fn run(inside: &Arc<Inside>, every: Duration) {
    let this = inside.clone();
    inside.tasks.every("conditions", every, move || {
        let inside = this.clone();
        async move {
            look(&inside).await;
            Ok::<(), Infallible>(())
        }
    });
}

/// Looks once.
pub async fn look(inside: &Arc<Inside>) {
    let mut counts = Counts::new();
    count_parts(inside, &mut counts).await;
    if let Err(error) = count_stored(inside, &mut counts).await {
        tracing::warn!(%error, "cannot count conditions; retrying later");
        keep_last(inside, &mut counts, &[Condition::WebhookFailing, Condition::ApprovalOld]);
    }
    if let Err(error) = count_on_chain(inside, &mut counts).await {
        tracing::warn!(%error, "cannot read accounts for their conditions; retrying later");
        let kept = [Condition::AccountsUnread, Condition::AccountHalted, Condition::BudgetUsedUp];
        keep_last(inside, &mut counts, &kept);
    }
    found(inside).counts = counts;
}

async fn count_parts(inside: &Arc<Inside>, counts: &mut Counts) {
    let report = health::report(inside).await;
    for part in report.parts {
        if let Some(condition) = Condition::of_part(part.name) {
            *counts.entry((condition, part.network)).or_default() += part.problems.len();
        }
    }
    for network in inside.chains.networks() {
        if let Some(halted) = signers::halted(inside, network) {
            counts.insert((Condition::OperatorHalted, Some(network)), halted);
        }
    }
}

async fn count_stored(inside: &Arc<Inside>, counts: &mut Counts) -> Result<(), ServiceError> {
    let store = &inside.store;
    let since = inside.clock.now().before(APPROVAL_OLD);
    let failing = store.webhooks.count_failing_webhooks().await?;
    let waiting = store.transfers.count_approvals_since(since).await?;
    for (condition, found) in [(Condition::WebhookFailing, failing), (Condition::ApprovalOld, waiting)] {
        for network in inside.chains.networks() {
            let count = found.iter().find(|(of, _)| *of == network).map_or(0, |(_, count)| *count);
            counts.insert((condition, Some(network)), usize::try_from(count).unwrap_or(usize::MAX));
        }
    }
    Ok(())
}

/// Reads the next accounts, and counts all that are remembered.
async fn count_on_chain(inside: &Arc<Inside>, counts: &mut Counts) -> Result<(), ServiceError> {
    let unread = read_next(inside).await?;
    let Inside { chains, last_seen, .. } = &**inside;
    for network in chains.networks() {
        let halted = last_seen.accounts(network).iter().filter(|seen| Condition::is_halted(seen)).count();
        let is_used_up = |view: &BudgetView| {
            Condition::of_budget(view).is_some_and(|(condition, ..)| condition == Condition::BudgetUsedUp)
        };
        let used_up = last_seen.budgets(network).iter().filter(|seen| is_used_up(&seen.view)).count();
        let unread = unread.get(&network).copied().unwrap_or(0);
        counts.insert((Condition::AccountsUnread, Some(network)), unread);
        counts.insert((Condition::AccountHalted, Some(network)), halted);
        counts.insert((Condition::BudgetUsedUp, Some(network)), used_up);
    }
    Ok(())
}

/// Reads the accounts behind those of the last look, with their budgets. Returns how many no node answered for.
async fn read_next(inside: &Arc<Inside>) -> Result<BTreeMap<Network, usize>, ServiceError> {
    let operators = inside.store.operators.list_operators().await?;
    let after = found(inside).after.take();
    // From the operator of the last look on, and around.
    let begun = after.map(|(operator, _)| operator);
    let split = operators.iter().position(|operator| Some(operator.id) == begun).unwrap_or(0);
    let (before, from) = operators.split_at(split);
    let (mut left, mut unread) = (ACCOUNTS_IN_A_LOOK, BTreeMap::new());
    for operator in from.iter().chain(before) {
        let mut place = after.filter(|(of, _)| *of == operator.id).and_then(|(_, place)| place);
        loop {
            let listing = inside.store.accounts.list_accounts(operator.id, None, place, ROWS_AT_ONCE);
            let rows = listing.await?;
            let Some(last) = rows.last() else { break };
            place = Some(last.place());
            left = left.saturating_sub(rows.len());
            let (count, is_last) = (rows.len(), rows.len() < ROWS_AT_ONCE as usize);
            if let Err(error) = read(inside, operator, rows).await {
                tracing::debug!(operator_id = %operator.id, %error, "cannot read accounts");
                *unread.entry(operator.network).or_default() += count;
            }
            if left == 0 {
                found(inside).after = Some((operator.id, place));
                return Ok(unread);
            }
            if is_last {
                break;
            }
        }
    }
    Ok(unread)
}

async fn read(inside: &Arc<Inside>, operator: &Operator, rows: Vec<Account>) -> Result<(), ServiceError> {
    let unread = ServiceError::ChainUnavailable { retryable: true };
    let halt = signers::halt_of(inside, operator).ok_or(unread)?;
    let budgets = accounts::look_at_many(inside, operator, halt, rows).await?;
    if budgets.is_empty() {
        return Ok(());
    }
    let at = inside.clock.now();
    let addresses: Vec<_> = budgets.iter().map(|budget| budget.0).collect();
    let chain = inside.chain(operator.network)?;
    let found = chain.read_budgets_at(&operator.address, &addresses).await?;
    let now = window_now(&inside.chains, &inside.clock, operator).await?;
    let views: Vec<BudgetView> = found.iter().map(|budget| BudgetView::of(budget, now)).collect();
    inside.last_seen.note_budgets(operator, &budgets, &views, at);
    Ok(())
}

/// What is not known anew stays as it was.
fn keep_last(inside: &Arc<Inside>, counts: &mut Counts, conditions: &[Condition]) {
    let last = found(inside).counts.clone().into_iter();
    counts.extend(last.filter(|((condition, _), _)| conditions.contains(condition)));
}

fn found(inside: &Arc<Inside>) -> MutexGuard<'_, Watched> {
    inside.watched.lock()
}
