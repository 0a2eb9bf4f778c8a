use super::Parts;
use super::error::{Resource, ServiceError, from_chain};
use super::reads::addresses;
use crate::chain::AgentOnChain;
use crate::domain::{
    Account, AccountId, Cursor, Event, EventId, EventType, Invalid, Operator, OperatorId, Page, PageRequest,
    Timestamp, UsdcAmount,
};
use crate::domain::{BalanceSeen, PaidBefore};

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

/// A payment of an account that has settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paid {
    pub tag: u64,
    pub amount: UsdcAmount,
    pub sent_at: Timestamp,
    pub settled_at: Timestamp,
}

impl Paid {
    /// As far as what was read of the account shows it: a node may lag behind.
    fn shown_by(&self, agent: &AgentOnChain) -> Option<PaidBefore> {
        let Self { tag, amount, sent_at, settled_at } = *self;
        agent.tags.contains(tag, settled_at.unix_seconds()).then_some(PaidBefore { amount, sent_at })
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

    /// To be told of every balance that is learnt. Announces `balance.low_threshold` where it crossed a threshold
    /// downwards. Costs one look at the database while no webhook has a threshold.
    pub async fn observe_balance(&self, account: &Account, seen: BalanceSeen) -> Result<(), ServiceError> {
        let ambient = self.parts.ambient;
        let random = move || ambient.id_bits();
        Ok(self.parts.store.mark_balance(account, seen, ambient.now(), random).await?)
    }

    /// Reads an account's balance if a webhook watches it, and observes it.
    pub async fn look_at_balance(&self, operator: &Operator, account: &Account) -> Result<(), ServiceError> {
        self.look_after(operator, account, None).await
    }

    /// The same for the moment after a payment.
    pub(super) async fn look_after(
        &self,
        operator: &Operator,
        account: &Account,
        paid: Option<Paid>,
    ) -> Result<(), ServiceError> {
        if self.parts.store.list_watching(account).await?.is_empty() {
            return Ok(());
        }
        self.read_balances(operator, std::slice::from_ref(account), paid).await
    }

    /// Reads the balances of the operator's accounts, and observes them.
    pub(super) async fn look_at_balances(
        &self,
        operator: &Operator,
        accounts: &[Account],
    ) -> Result<(), ServiceError> {
        self.read_balances(operator, accounts, None).await
    }

    async fn read_balances(
        &self,
        operator: &Operator,
        accounts: &[Account],
        paid: Option<Paid>,
    ) -> Result<(), ServiceError> {
        let chain = &self.parts.chains.get(operator.network)?.chain;
        let read_at = self.parts.ambient.now();
        let places: Vec<_> = accounts.iter().map(addresses).collect();
        let read = chain.read_agents(&places).await;
        let agents = read.map_err(|error| from_chain(operator.network, &error, true))?;
        for (account, agent) in accounts.iter().zip(agents) {
            let Some(agent) = agent else { continue };
            let paid = paid.and_then(|paid| paid.shown_by(&agent));
            self.observe_balance(account, BalanceSeen { balance: agent.balance, read_at, paid }).await?;
        }
        Ok(())
    }
}
