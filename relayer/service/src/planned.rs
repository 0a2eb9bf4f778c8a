//! What one change would do to each of many accounts.

use std::collections::HashMap;

use super::Inside;
use super::error::{Resource, ServiceError};
use super::reads::{addresses, read_operator};
use purser_chain::{AccountBounds, AgentOnChain, OperatorOnChain};
use purser_model::{
    Account, AccountFilter, AccountId, AccountStatus, Invalid, Label, Operator, SELECTED_MAX, Selection,
    SpendingPolicy,
};
use purser_policy::Warning;

/// How many accounts are read at once.
pub(super) const ACCOUNTS_PER_READ: usize = 100;

/// What may be paid from an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesInForce {
    pub policy: SpendingPolicy,
    pub bounds: AccountBounds,
    /// The account itself, apart from its operator.
    pub is_halted: bool,
}

impl RulesInForce {
    pub(super) fn of(agent: &AgentOnChain) -> Self {
        let is_halted = agent.halted_by.is_some();
        Self { policy: agent.policy.clone(), bounds: agent.bounds(), is_halted }
    }
}

/// What will become of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Will {
    Apply,
    /// It loosens something, and the operator has a delay.
    Wait,
    /// It is so already.
    BeUnchanged,
}

/// What the change would do to one account.
#[derive(Debug, Clone)]
pub struct Planned {
    pub id: AccountId,
    /// `None`: there is no such account of the operator.
    pub name: Option<Label>,
    /// Of its policy.
    pub version: Option<u64>,
    /// The one version that a policy is changed at.
    pub expected_version: u64,
    /// How long a change waits that loosens something.
    pub delay_seconds: u32,
    /// Before and after.
    pub rules: Option<(RulesInForce, RulesInForce)>,
    pub will: Result<Will, ServiceError>,
    /// Rules after it that can never match.
    pub warnings: Vec<Warning>,
}

impl Planned {
    pub(super) fn not_found(id: AccountId) -> Self {
        Self {
            id,
            name: None,
            version: None,
            expected_version: 0,
            delay_seconds: 0,
            rules: None,
            will: Err(ServiceError::NotFound(Resource::Account)),
            warnings: Vec::new(),
        }
    }
}

/// An account that was chosen.
pub(super) struct Chosen {
    pub id: AccountId,
    pub expected_version: Option<u64>,
    /// `None`: unknown, another operator's, or closed.
    pub found: Option<(Account, AgentOnChain)>,
}

/// The operator and the accounts chosen, as the chain has them. Invalid: too many accounts. With `in_turn`, TooManyReads: the
/// operator's turn does not come soon.
pub(super) async fn choose(
    inside: &Inside,
    operator: &Operator,
    selection: &Selection,
    in_turn: bool,
) -> Result<(OperatorOnChain, Vec<Chosen>), ServiceError> {
    let rows = match selection {
        Selection::Named(named) => {
            let ids: Vec<AccountId> = named.keys().copied().collect();
            if ids.len() > SELECTED_MAX {
                return Err(too_many());
            }
            inside.store.accounts.find_accounts(operator.id, &ids).await?
        }
        Selection::Filtered(filter) => {
            let tagged = AccountFilter { status: None, tag: filter.tag.clone() };
            let rows_max = u32::try_from(SELECTED_MAX).unwrap_or(u32::MAX).saturating_add(1);
            inside.store.accounts.list_accounts(operator.id, tagged, None, rows_max).await?
        }
    };
    if rows.len() > SELECTED_MAX {
        return Err(too_many());
    }
    if in_turn {
        for _read in 0..=rows.len().div_ceil(ACCOUNTS_PER_READ) {
            inside.read_limiter.take_change(operator.id).await?;
        }
    }
    let on_chain = read_operator(&inside.chains, operator).await?;
    let agents = read(inside, operator, &rows).await?;
    let found = rows.into_iter().zip(agents).filter_map(|(account, agent)| Some((account, agent?)));
    let chosen = match selection {
        Selection::Named(named) => {
            let mut found: HashMap<_, _> = found.map(|found| (found.0.id, found)).collect();
            let chosen = named.iter().map(|(id, expected_version)| Chosen {
                id: *id,
                expected_version: *expected_version,
                found: found.remove(id),
            });
            chosen.collect()
        }
        Selection::Filtered(AccountFilter { status, tag: _ }) => {
            let is_asked_for = |(_, agent): &(Account, AgentOnChain)| {
                let is_halted = on_chain.halted_by.is_some() || agent.halted_by.is_some();
                let is = AccountStatus::from_paused(agent.policy.paused || is_halted);
                status.is_none_or(|status| status == is)
            };
            let asked = found.filter(is_asked_for);
            asked.map(|found| Chosen { id: found.0.id, expected_version: None, found: Some(found) }).collect()
        }
    };
    Ok((on_chain, chosen))
}

async fn read(
    inside: &Inside,
    operator: &Operator,
    rows: &[Account],
) -> Result<Vec<Option<AgentOnChain>>, ServiceError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let addresses: Vec<_> = rows.iter().map(addresses).collect();
    let chain = inside.chain(operator.network)?;
    Ok(chain.read_agents(&addresses).await?)
}

fn too_many() -> ServiceError {
    let message =
        format!("selects more than {SELECTED_MAX} accounts: choose them by tag, or name some at a time");
    Invalid::new("accounts", message).into()
}
