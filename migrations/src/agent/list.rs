//! `account list`: every agent account of an operator, as the chain holds them.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow};
use purser::constants::DISCRIMINATOR_BYTES;
use purser::state::{Agent, AgentView, PolicyDraft};
use purser_policy::UsdcAmount;
use serde_json::{Value, json};
use solana_rpc_client_api::filter::{Memcmp, RpcFilterType};
use solana_rpc_client_api::request::RpcRequest;
use solana_rpc_client_api::response::RpcKeyedAccount;

use super::facts::{in_words, rules};
use super::show::status;
use crate::failure;
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::{Report, Table};
use crate::tokens::Holding;

const COLUMNS: [&str; 8] = [
    "account_id",
    "agent",
    "usdc_token_account",
    "status",
    "balance_usdc",
    "max_single_transfer_usdc",
    "max_daily_spend_usdc",
    "waiting_policy",
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
    let deployment = network.deployment(operator.usdc_mint);
    let places: Vec<Pubkey> = found.iter().map(|(address, _)| deployment.draft_address(address)).collect();
    let drafts = network.many_accounts(&places).await?;
    let now = network.time().await?;
    let mut total = UsdcAmount::ZERO;
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(found.len());
    for ((address, view), (held, draft)) in found.iter().zip(balances.into_iter().zip(drafts)) {
        let draft = draft.filter(|account| account.owner == network.program);
        let draft = draft.and_then(|account| PolicyDraft::read(&account.data));
        let waits = draft.map(|draft| in_words(&draft, view, &operator, now));
        let agent = &view.agent;
        let held = held.and_then(|account| Holding::read(&agent.token_account, &account));
        let balance = held.map(|held| UsdcAmount::from_micros(held.units));
        total = total
            .checked_add(balance.unwrap_or(UsdcAmount::ZERO))
            .ok_or_else(|| anyhow!("the balances are more than can be added"))?;
        let [(_, single), (_, daily), ..] = rules(&view.policy());
        rows.push(vec![
            json!(account_ids.of(address)),
            json!(address.to_string()),
            json!(agent.token_account.to_string()),
            json!(status(agent, &operator)),
            json!(balance.map(|balance| balance.to_string())),
            single,
            daily,
            json!(waits),
        ]);
    }
    Ok(Report::new("agent accounts")
        .with("operator", operator_address.to_string())
        .with("count", rows.len())
        .with("total_usdc", total.to_string())
        .table(Table { name: "accounts", columns: COLUMNS.to_vec(), headings: 0, rows }))
}

/// Every agent account of the operator.
pub async fn agents_of(network: &Network, operator: &Pubkey) -> Result<Vec<(Pubkey, AgentView)>> {
    let operator_at = DISCRIMINATOR_BYTES + std::mem::offset_of!(Agent, operator);
    let is = |offset, bytes: &[u8]| RpcFilterType::Memcmp(Memcmp::new_raw_bytes(offset, bytes.to_vec()));
    let config = json!({
        "encoding": "base64", "commitment": network.commitment.commitment,
        "filters": [is(0, Agent::DISCRIMINATOR), is(operator_at, operator.as_ref())],
    });
    let params = json!([network.program.to_string(), config]);
    let answer = network.rpc.send::<Vec<RpcKeyedAccount>>(RpcRequest::GetProgramAccounts, params).await;
    let answer = answer.map_err(|error| failure::explain_read(&error, &network.url))?;
    let views = answer
        .into_iter()
        .filter_map(|found| Some((found.pubkey.parse().ok()?, Agent::read(&found.account.data.decode()?)?)));
    Ok(views.collect())
}
