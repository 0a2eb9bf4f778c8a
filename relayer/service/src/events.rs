use std::sync::Arc;
use std::time::Duration;

use super::error::{Resource, ServiceError};
use super::reads::addresses;
use crate::Inside;
use purser_base::crash_point::crash_point;
use purser_chain::AgentOnChain;
use purser_model::{
    Account, AccountId, BalanceSeen, Event, EventId, EventType, Operator, OperatorId, Page, PageRequest,
    Timestamp, Transfer, UsdcAmount,
};
use purser_policy::PaidTags;

/// The longest time until events that another process wrote get their places and deliveries here.
const PLACED_WITHIN: Duration = Duration::from_secs(1);

/// Gives new events their places and deliveries, until the stop: at once after this process wrote some.
pub fn place_until_stopped(inside: &Arc<Inside>) {
    let this = inside.clone();
    inside.tasks.keep("events", async move {
        let mut written = this.store.events.events_written();
        let stop = this.tasks.stop.clone();
        loop {
            crash_point!("place.before");
            if let Err(error) = this.store.events.place_waiting(this.clock.now()).await {
                tracing::warn!(%error, "cannot give events their places; retrying");
            }
            crash_point!("place.after");
            tokio::select! {
                () = stop.cancelled() => return,
                _ = written.changed() => {}
                () = tokio::time::sleep(PLACED_WITHIN) => {}
            }
        }
    });
}

/// Which events a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventsFilter {
    pub event_type: Option<EventType>,
    pub account_id: Option<AccountId>,
}

impl EventsFilter {
    /// Binds a cursor of the list to its operator and filter.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let event_type = self.event_type.map_or("", EventType::as_str);
        let account_id = self.account_id.map_or_else(String::new, |id| id.to_string());
        format!("events|{operator_id}|{event_type}|{account_id}")
    }
}

/// The balance before a payment, as far as the account's reading shows it: the node may lag behind.
fn paid_before(payment: &Transfer, agent: &AgentOnChain) -> Option<(UsdcAmount, Timestamp)> {
    let asked_at = payment.created_at;
    let paid = (payment.request.amount, asked_at);
    PaidTags(&agent.tags).contains(payment.id.tag(), asked_at.unix_seconds()).then_some(paid)
}

/// One event. NotFound: unknown or another operator's.
pub async fn get(inside: &Arc<Inside>, operator: &Operator, id: EventId) -> Result<Event, ServiceError> {
    let event = inside.store.events.find_event(operator.id, id).await?;
    event.ok_or(ServiceError::NotFound(Resource::Event))
}

/// The operator's events, newest first.
pub async fn list(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: EventsFilter,
    request: PageRequest,
) -> Result<Page<Event>, ServiceError> {
    let listing = request.of(filter.text(operator.id))?;
    let EventsFilter { event_type, account_id } = filter;
    let rows = inside
        .store
        .events
        .list_events(operator.id, event_type, account_id, listing.after, listing.rows_max())
        .await?;
    Ok(listing.page(rows, |last| last.id))
}

/// Takes in every balance that is read. Announces `balance.low_threshold` when it crosses a threshold downwards.
/// Costs one database read while no webhook has a threshold.
pub async fn observe_balance(
    inside: &Arc<Inside>,
    account: &Account,
    seen: BalanceSeen,
) -> Result<(), ServiceError> {
    let clock = inside.clock.clone();
    let now = clock.now();
    let random = move || clock.id_bits();
    Ok(inside.store.events.mark_balance(account, seen, now, random).await?)
}

/// Reads and observes an account's balance if a webhook watches it. The account's latest payments also show what it
/// held before; nothing else would show a deposit that was paid away again.
pub async fn look_at_balance(
    inside: &Arc<Inside>,
    operator: &Operator,
    account: &Account,
) -> Result<(), ServiceError> {
    if inside.store.events.list_watching(account).await?.is_empty() {
        return Ok(());
    }
    let Some((mut seen, agent)) =
        read_balances(inside, operator, std::slice::from_ref(account)).await?.pop().flatten()
    else {
        return Ok(());
    };
    // Listed after the reading, so every payment that the reading shows is known.
    let latest = inside.store.transfers.list_latest_signed(account).await?;
    seen.paid = latest.iter().filter_map(|payment| paid_before(payment, &agent)).collect();
    // A reading that shows a payment happened after that payment was asked for.
    seen.read_at = seen.paid.iter().fold(seen.read_at, |read_at, (_, asked_at)| read_at.max(*asked_at));
    observe_balance(inside, account, seen).await
}

/// Reads the balances of the operator's accounts, and observes them.
pub(super) async fn look_at_balances(
    inside: &Arc<Inside>,
    operator: &Operator,
    accounts: &[Account],
) -> Result<(), ServiceError> {
    let read = read_balances(inside, operator, accounts).await?;
    for (account, read) in accounts.iter().zip(read) {
        let Some((seen, _)) = read else { continue };
        observe_balance(inside, account, seen).await?;
    }
    Ok(())
}

/// One per account; `None` for accounts that are not on the chain.
async fn read_balances(
    inside: &Arc<Inside>,
    operator: &Operator,
    accounts: &[Account],
) -> Result<Vec<Option<(BalanceSeen, AgentOnChain)>>, ServiceError> {
    let chain = inside.chain(operator.network)?;
    let read_at = inside.clock.now();
    let places: Vec<_> = accounts.iter().map(addresses).collect();
    let agents = chain.read_agents(&places).await?;
    let seen =
        |agent: AgentOnChain| (BalanceSeen { balance: agent.balance, read_at, paid: Vec::new() }, agent);
    Ok(agents.into_iter().map(|agent| agent.map(seen)).collect())
}
