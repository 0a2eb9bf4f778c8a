//! What waits at an operator, and allows more once its time has come: policies, grants of the policy authority, raises of budgets.

use std::mem::offset_of;

use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::state::{AgentView, Budget, Grant, Operator};
use serde_json::{Value, json};

use super::facts::{has_to_wait, is_void, of_grant, raise};
use crate::agent::of_operator::owned;
use crate::agent::waiting::{self, listed};
use crate::network::Network;

/// All of it, by the name under which it is printed: policies and grants of these agents, budgets of their operator. `operator`: as
/// it will be. What has waited long enough is in it too, since a halt or a longer delay can be all that holds it up.
pub async fn all(
    network: &Network,
    address: &Pubkey,
    operator: &Operator,
    agents: &[(Pubkey, AgentView)],
) -> Result<[(&'static str, Value); 3]> {
    let policies = waiting::of(network, agents, operator).await?;
    let (now, account_ids) = (network.time().await?, network.account_ids().await?);
    let found = owned::<Grant>(network, offset_of!(Grant, operator), address).await?;
    let grants = found.iter().filter_map(|(at, data)| {
        let grant = Grant::read(data)?;
        let (agent, view) = agents.iter().find(|(agent, _)| *agent == grant.agent)?;
        let under = (operator, &view.agent);
        let is_open = !grant.is_over(now) && !is_void(&grant, under);
        let id = [("account_id", json!(account_ids.of(agent)))];
        (is_open && has_to_wait(&grant, under.1))
            .then(|| id.into_iter().chain(of_grant(at, &grant, under, now)).collect::<Value>())
    });
    let grants = listed(grants.collect());
    let found = owned::<Budget>(network, offset_of!(Budget, operator), address).await?;
    let budgets = found.iter().filter_map(|(at, data)| {
        let budget = Budget::read(data)?;
        let raised_to = raise(&budget, operator, now)?;
        Some(json!({ "budget": at.to_string(), "id": budget.id, "raised_to": raised_to }))
    });
    let budgets = listed(budgets.collect());
    Ok([("waiting_policies", policies), ("waiting_grants", grants), ("waiting_budgets", budgets)])
}
