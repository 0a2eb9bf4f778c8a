use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow};
use purser::state::Agent;
use purser_policy::{Allowlist, Limit, UsdcAmount};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::AgentArgs;
use crate::arguments::account_id;
use crate::network::Network;
use crate::report::Report;

/// The auditor's read: from the chain alone, and as the chain's clock stands.
pub async fn run(network: &Network, args: &AgentArgs) -> Result<Report> {
    let located = args.locate(network).await?;
    // Once more, now together with the balance and the clock.
    let addresses = [located.address, located.view.agent.token_account];
    let ([agent, token_account], now) = network.accounts_and_time(&addresses).await?;
    let view = agent.and_then(|account| Agent::read(&account.data));
    let view = view.ok_or_else(|| anyhow!("the agent {} was closed just now", located.address))?;
    let agent = &view.agent;
    let policy = view.policy();
    let spent = agent.window().spent(now);
    let operator_paused = located.operator.paused != 0;
    Ok(Report::new("agent account")
        .with("agent", located.address.to_string())
        .with("account_id", account_id(&agent.agent_id))
        .with("operator", agent.operator.to_string())
        .with("usdc_token_account", agent.token_account.to_string())
        .with(
            "balance_usdc",
            token_account.and_then(|account| balance(&account.data)).map(|usdc| usdc.to_string()),
        )
        .with("status", if policy.paused || operator_paused { "paused" } else { "active" })
        .with("operator_paused", operator_paused)
        .with("paused", policy.paused)
        .with("policy_version", agent.policy_version)
        .with("policy_updated_at", timestamp(agent.policy_updated_at))
        .with("max_single_transfer_usdc", limit(policy.max_single_transfer))
        .with("max_daily_spend_usdc", limit(policy.max_daily_spend))
        .with("require_memo", policy.require_memo)
        .with("allowed_counterparties", counterparties(&policy.allowlist))
        .with("spent_last_24_hours_usdc", spent.to_string())
        .with("daily_remaining_usdc", remaining(policy.max_daily_spend, spent))
        .with("recent_tags", recent_tags(agent, now))
        .with("chain_time", timestamp(now)))
}

/// Micro-USDC of a token account's data.
pub fn balance(data: &[u8]) -> Option<UsdcAmount> {
    let micros = data.get(64..72)?.try_into().ok()?;
    Some(UsdcAmount::from_micros(u64::from_le_bytes(micros)))
}

fn limit(limit: Limit) -> Option<String> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.to_string()),
    }
}

fn remaining(limit: Limit, spent: UsdcAmount) -> Option<String> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.saturating_sub(spent).to_string()),
    }
}

fn counterparties(allowlist: &Allowlist) -> Value {
    match allowlist {
        Allowlist::Anyone => Value::from("anyone"),
        Allowlist::Only(entries) => {
            entries.iter().map(|entry| Pubkey::new_from_array(*entry).to_string()).collect::<Vec<_>>().into()
        }
    }
}

/// Transfers whose repetition the chain would recognise now.
fn recent_tags(agent: &Agent, now: i64) -> usize {
    agent.tags().remembered(now).count()
}

/// RFC 3339, or the Unix second where no calendar has it.
fn timestamp(unix_seconds: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(unix_seconds).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| unix_seconds.to_string())
}

#[cfg(test)]
mod tests {
    use purser_policy::RecentTags;

    use super::*;

    #[test]
    fn tags_are_counted_while_the_chain_remembers_them() {
        let mut agent: Agent = bytemuck::Zeroable::zeroed();
        let tags: &mut RecentTags = agent.ledger_mut().1;
        for tag in 1..=20 {
            tags.record(tag, 1_000);
        }
        assert_eq!(recent_tags(&agent, 1_000), 16);
        assert_eq!(recent_tags(&agent, 1_000 + 86_399), 16);
        assert_eq!(recent_tags(&agent, 1_000 + 86_400), 0);
    }
}
