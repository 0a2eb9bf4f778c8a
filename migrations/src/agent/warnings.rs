//! Which of an account's rules can never match. The service answers the same sentences.

use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::state::{Budget, ClosedAgent, Operator};
use purser::{Bounds, BudgetCaps};
use purser_client::{Deployment, OnChainPolicy};
use purser_policy::{AccountRules, Address, Limit, UsdcAmount, Warning};

use crate::network::Network;

/// Sentences about the rules that the account at `agent` is to have.
pub async fn of(
    network: &Network,
    deployment: &Deployment,
    (agent, operator): (&Pubkey, &Operator),
    policy: &OnChainPolicy,
    bounds: &Bounds,
) -> Result<Vec<&'static str>> {
    let budget = match bounds.budget {
        Some(budget) => caps_of(network, operator, &budget).await?.map(|caps| limits(&caps)),
        None => None,
    };
    let policy = policy.as_policy();
    let rules = AccountRules {
        policy,
        own: [agent.to_bytes(), deployment.token_account(agent).to_bytes()],
        closed: &closed(network, deployment, policy.allowlist.entries().0).await?,
        by_grant_only: bounds.by_grant_only,
        max_30_day_spend: limit(bounds.max_30_day_spend),
        budget: budget.unwrap_or([Limit::Unlimited; 2]),
    };
    Ok(rules.warnings().map(Warning::sentence).collect())
}

/// For 24 hours, and for 30 days.
pub fn limits(caps: &BudgetCaps) -> [Limit; 2] {
    [limit(Some(caps.max_daily_spend)), limit(caps.max_30_day_spend)]
}

fn limit(micros: Option<u64>) -> Limit {
    micros.map_or(Limit::Unlimited, |micros| Limit::AtMost(UsdcAmount::from_micros(micros)))
}

async fn caps_of(network: &Network, operator: &Operator, budget: &Pubkey) -> Result<Option<BudgetCaps>> {
    let account = network.account(budget).await?.filter(|account| account.owner == network.program);
    let budget = account.and_then(|account| Budget::read(&account.data));
    let Some(budget) = budget else { return Ok(None) };
    Ok(Some(budget.caps(operator, network.time().await?)))
}

/// The listed accounts that were closed, and their token accounts.
async fn closed(network: &Network, deployment: &Deployment, wallets: &[Address]) -> Result<Vec<Address>> {
    // One that is a key of somebody may be paid, and is never an account.
    let wallets: Vec<Pubkey> = wallets.iter().copied().map(Pubkey::new_from_array).collect();
    if wallets.iter().any(Pubkey::is_on_curve) {
        return Ok(Vec::new());
    }
    let found = network.many_accounts(&wallets).await?;
    let is_closed = |account: &solana_sdk::account::Account| {
        account.owner == network.program && ClosedAgent::read(&account.data).is_some()
    };
    let all = wallets.iter().zip(&found);
    let closed = all.filter(|(_, account)| account.as_ref().is_some_and(is_closed));
    Ok(closed
        .flat_map(|(wallet, _)| [wallet.to_bytes(), deployment.token_account(wallet).to_bytes()])
        .collect())
}
