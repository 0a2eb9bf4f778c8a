//! The policy that waits in the agent's draft: applied, dropped.

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use purser::state::{AgentView, DraftView, Operator, PolicyDraft};
use purser_client::RentRefunds;
use serde_json::{Map, Value, json};

use super::facts::{State, describe, hex, state, timestamp};
use super::{AgentArgs, LocatedAgent, show};
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct WaitingArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// Only the policy with this hash, as `account show` prints it [default: the one that waits]
    #[arg(long, value_name = "HEX")]
    hash: Option<String>,
}

pub async fn apply(network: &Network, args: &WaitingArgs) -> Result<Report> {
    let (located, found) = args.find(network).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    let now = network.time().await?;
    let is_admin = wallet == located.operator.admin;
    match state(&found, &located.view, &located.operator, now) {
        State::Incomplete => bail!(
            "the policy is written in part: run the `account set-policy` that began it again, or give it up with \
             `account drop-policy`"
        ),
        State::Outdated => bail!(
            "the policy was written over version {}, and version {} is in force: give it up with `account drop-policy` and \
             set it anew",
            found.draft.expected_version,
            located.view.agent.policy_version
        ),
        State::Waiting(at) => ensure!(
            is_admin,
            "this loosens the policy, so it waits until {} (the chain's clock says {}); only the admin's wallet applies it \
             sooner",
            timestamp(at),
            timestamp(now)
        ),
        State::Halted(_) => ensure!(
            is_admin,
            "this loosens the policy, and the agent or its operator is halted: until the admin resumes it, only the \
             admin's wallet applies it"
        ),
        State::AdminOnly => ensure!(
            is_admin,
            "this loosens the policy and was sealed before the operator let that wait: only the admin's wallet applies it; \
             or give it up with `account drop-policy` and set it anew, so that it waits"
        ),
        State::Ready => {}
    }
    let rent_refunds = RentRefunds { agent: located.view.agent.rent_refund, draft: found.draft.rent_refund };
    let at = located.signed_by(wallet);
    let apply = located.deployment.apply_draft(at, wallet, rent_refunds, found.draft.hash);
    let change = Change::new("policy set", apply).with("agent", located.address.to_string());
    signing
        .carry_out(change, async |signature| {
            let shown = show::run(network, &args.agent).await?;
            Ok(Report::new("policy set").with("signature", signature.to_string()).and(shown))
        })
        .await
}

pub async fn drop(network: &Network, args: &WaitingArgs) -> Result<Report> {
    let (located, found) = args.find(network).await?;
    let signing = network.signing()?;
    let at = located.signed_by(signing.address());
    let close = located.deployment.close_draft(at, found.draft.rent_refund, found.draft.hash);
    let report = Report::new("the pending policy is dropped; the one in force stays")
        .with("agent", located.address.to_string())
        .with("hash", hex(&found.draft.hash))
        .with("rent_back_to", found.draft.rent_refund.to_string());
    let change = Change::of(report.clone(), close);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

/// The policies that wait for these agents, by account; `null` where none does. `operator`: as it will be.
pub async fn of(network: &Network, agents: &[(Pubkey, AgentView)], operator: &Operator) -> Result<Value> {
    let deployment = network.deployment(operator.usdc_mint);
    let places: Vec<Pubkey> = agents.iter().map(|(agent, _)| deployment.draft_address(agent)).collect();
    let found = network.many_accounts(&places).await?;
    let (now, account_ids) = (network.time().await?, network.account_ids().await?);
    let mut waiting = Vec::new();
    for ((address, view), account) in agents.iter().zip(found) {
        let own = account.filter(|account| account.owner == network.program);
        let Some(draft) = own.and_then(|account| PolicyDraft::read(&account.data)) else { continue };
        let mut facts = Map::from_iter([("account_id".to_string(), json!(account_ids.of(address)))]);
        facts.extend(describe(&draft, view, operator, now));
        waiting.push(Value::Object(facts));
    }
    Ok(listed(waiting))
}

/// A list, or `null` where nothing is in it.
pub fn listed(found: Vec<Value>) -> Value {
    if found.is_empty() { Value::Null } else { Value::Array(found) }
}

impl WaitingArgs {
    async fn find(&self, network: &Network) -> Result<(LocatedAgent, DraftView)> {
        let located = self.agent.locate(network).await?;
        let found = located.draft(network).await?;
        let found =
            found.with_context(|| format!("no policy is pending for the agent {}", located.address))?;
        let hash = hex(&found.draft.hash);
        ensure!(
            self.hash.as_ref().is_none_or(|wanted| *wanted == hash),
            "another policy is pending, whose hash is {hash}: look with `account show`"
        );
        Ok((located, found))
    }
}
