use anyhow::{Result, anyhow};
use purser::state::{Agent, Operator};
use purser_policy::{BUCKET_SLOTS, Limit, UsdcAmount};

use super::facts::{self, in_usdc, rules, timestamp};
use super::{AgentArgs, LocatedAgent};
use crate::network::Network;
use crate::operator::show::role;
use crate::report::Report;
use crate::tokens::Holding;

/// The auditor's read: from the chain alone, by the chain's clock.
pub async fn run(network: &Network, args: &AgentArgs) -> Result<Report> {
    let mut located = args.locate(network).await?;
    // Read it again, this time together with the balance and the clock.
    let token_account = located.view.agent.token_account;
    let ([agent, usdc], now) = network.accounts_and_time(&[located.address, token_account]).await?;
    let view = agent.and_then(|account| Agent::read(&account.data));
    located.view = view.ok_or_else(|| anyhow!("the agent {} was closed just now", located.address))?;
    let draft = located.draft(network).await?;
    let LocatedAgent { address, view, operator, .. } = &located;
    let agent = &view.agent;
    let policy = view.policy();
    let tags = view.tags();
    let spent = agent.window().spent(now);
    let balance = usdc.and_then(|account| Holding::read(&token_account, &account));
    let mut report = Report::new("agent account")
        .with("agent", address.to_string())
        .with("account_id", network.account_ids().await?.of(address))
        .with("operator", agent.operator.to_string())
        .with("usdc_token_account", token_account.to_string())
        .with("balance_usdc", balance.map(|held| UsdcAmount::from_micros(held.units).to_string()))
        .with("status", status(agent, operator))
        .with("halted_by", role(agent.halted_by))
        .with("operator_halted_by", role(operator.halted_by))
        .with("policy_version", agent.policy_version)
        .with("policy_updated_at", timestamp(agent.policy_updated_at.into()));
    for (name, value) in rules(&policy) {
        report = report.with(name, value);
    }
    Ok(report
        .with("by_grant_only", agent.pays_by_grant_only())
        .with("max_30_days_usdc", in_usdc(view.bounds().max_30_day_spend))
        .with("budget", view.bounds().budget.map(|budget| budget.to_string()))
        .with("spent_last_30_days_usdc", view.month().map(|month| month.window().spent(now).to_string()))
        .with("waiting_policy", draft.map(|draft| facts::describe(&draft, view, operator, now)))
        .with("spent_last_24_hours_usdc", spent.to_string())
        .with("daily_remaining_usdc", remaining(policy.max_daily_spend, spent))
        .with("payments", agent.payments)
        .with("tags_kept", tags.map(|tags| tags.len(agent.clock(now))))
        .with("tag_slots", usize::from(agent.policy.tag_buckets) * BUCKET_SLOTS)
        .with("rent_back_to", agent.rent_refund.to_string())
        .with("chain_time", timestamp(now)))
}

/// Whether the agent can pay, in one word.
pub fn status(agent: &Agent, operator: &Operator) -> &'static str {
    match (agent.halted_by | operator.halted_by, agent.policy.is_paused()) {
        (0, true) => "paused",
        (0, false) => "active",
        _ => "halted",
    }
}

fn remaining(limit: Limit, spent: UsdcAmount) -> Option<String> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.saturating_sub(spent).to_string()),
    }
}
