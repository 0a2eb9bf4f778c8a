//! `account list`: every agent account of an operator, as the chain holds them.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow};
use purser_policy::UsdcAmount;
use serde_json::{Value, json};

use super::facts::in_usdc;
use super::of_operator::agents_of;
use super::show::status;
use super::waiting;
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::{Report, Table};
use crate::tokens::Holding;

const COLUMNS: [&str; 7] = [
    "account_id",
    "agent",
    "usdc_token_account",
    "status",
    "balance_usdc",
    "max_single_transfer_usdc",
    "max_daily_spend_usdc",
];

pub async fn run(network: &Network, name: &OperatorName) -> Result<Report> {
    let operator_address = name.address(network)?;
    let operator = operator::read(network, &operator_address).await?;
    let mut found = agents_of(network, &operator_address).await?;
    // An agent id that nobody chose begins with the time of its making.
    found.sort_by_key(|(_, view)| view.agent.agent_id);
    let places: Vec<Pubkey> = found.iter().map(|(_, view)| view.agent.token_account).collect();
    let balances = network.many_accounts(&places).await?;
    let account_ids = network.account_ids().await?;
    let waiting = waiting::of(network, &found, &operator).await?;
    let mut total = UsdcAmount::ZERO;
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(found.len());
    for ((address, view), held) in found.iter().zip(balances) {
        let agent = &view.agent;
        let held = held.and_then(|account| Holding::read(&agent.token_account, &account));
        let balance = held.map(|held| UsdcAmount::from_micros(held.units));
        total = total
            .checked_add(balance.unwrap_or(UsdcAmount::ZERO))
            .ok_or_else(|| anyhow!("the balances are more than can be added"))?;
        let policy = view.policy();
        let limits = [policy.max_single_transfer, policy.max_daily_spend];
        let [single, daily] = limits.map(|limit| json!(in_usdc(limit.micros())));
        rows.push(vec![
            json!(account_ids.of(address)),
            json!(address.to_string()),
            json!(agent.token_account.to_string()),
            json!(status(agent, &operator)),
            json!(balance.map(|balance| balance.to_string())),
            single,
            daily,
        ]);
    }
    Ok(Report::new("agent accounts")
        .with("operator", operator_address.to_string())
        .with("count", rows.len())
        .with("total_usdc", total.to_string())
        .with("waiting_policies", waiting)
        .table(Table { name: "accounts", columns: COLUMNS.to_vec(), headings: 0, rows }))
}
