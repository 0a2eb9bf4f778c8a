use super::Parts;
use super::accounts::addresses;
use super::error::{Resource, ServiceError, from_chain};
use crate::domain::{
    Account, AccountId, Cursor, Event, EventId, EventType, Invalid, Operator, OperatorId, Page, PageRequest,
    Timestamp, UsdcAmount,
};

/// Which events a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventsFilter {
    pub event_type: Option<EventType>,
    pub account_id: Option<AccountId>,
}

impl EventsFilter {
    /// What a cursor of the list is bound to.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let event_type = self.event_type.map_or("", EventType::as_str);
        let account_id = self.account_id.map_or_else(String::new, |id| id.to_string());
        format!("events|{operator_id}|{event_type}|{account_id}")
    }
}

/// What happened to an operator's accounts. Transfers announce themselves in the transaction that records them; see
/// `store::events`. Balances announce themselves here.
#[derive(Clone)]
pub struct Events {
    parts: Parts,
}

impl Events {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// One event. NotFound: unknown or another operator's.
    pub async fn get(&self, operator: &Operator, id: EventId) -> Result<Event, ServiceError> {
        let event = self.parts.store.find_event(operator.id, id).await?;
        event.ok_or(ServiceError::NotFound(Resource::Event))
    }

    /// The operator's events, newest first.
    pub async fn list(
        &self,
        operator: &Operator,
        filter: EventsFilter,
        request: PageRequest,
    ) -> Result<Page<Event>, ServiceError> {
        let after = request.after.as_ref().map(|cursor| cursor.position().parse::<EventId>()).transpose();
        let after = after.map_err(|_| Invalid::new("cursor", "is not a cursor of this list"))?;
        let rows_max = request.limit.get() + 1;
        let EventsFilter { event_type, account_id } = filter;
        let rows = self.parts.store.list_events(operator.id, event_type, account_id, after, rows_max).await?;
        let bound = filter.text(operator.id);
        Ok(Page::from_rows(rows, request.limit, |last| Cursor::new(&bound, last.id.to_string())))
    }

    /// To be told of every balance that is learnt: `balance`, by a reading of the chain that began at `read_at`.
    /// Announces `balance.low_threshold` where it crossed a threshold downwards. Costs one look at the database while
    /// no webhook has a threshold.
    pub async fn observe_balance(
        &self,
        account: &Account,
        balance: UsdcAmount,
        read_at: Timestamp,
    ) -> Result<(), ServiceError> {
        let ambient = self.parts.ambient;
        let random = move || ambient.id_bits();
        Ok(self.parts.store.mark_balance(account, balance, read_at, ambient.now(), random).await?)
    }

    /// Reads an account's balance if a webhook watches it, and observes it. For the moment after a payment.
    pub async fn look_at_balance(&self, operator: &Operator, account: &Account) -> Result<(), ServiceError> {
        if self.parts.store.list_watching(account).await?.is_empty() {
            return Ok(());
        }
        self.look_at_balances(operator, std::slice::from_ref(account)).await
    }

    /// Reads the balances of the operator's accounts, and observes them.
    pub(super) async fn look_at_balances(
        &self,
        operator: &Operator,
        accounts: &[Account],
    ) -> Result<(), ServiceError> {
        let chain = &self.parts.chains.get(operator.network)?.chain;
        let read_at = self.parts.ambient.now();
        let places: Vec<_> = accounts.iter().map(addresses).collect();
        let read = chain.read_agents(&places).await;
        let agents = read.map_err(|error| from_chain(operator.network, &error, true))?;
        for (account, agent) in accounts.iter().zip(agents) {
            let Some(agent) = agent else { continue };
            self.observe_balance(account, agent.balance, read_at).await?;
        }
        Ok(())
    }
}
