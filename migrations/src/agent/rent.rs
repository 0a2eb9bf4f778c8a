//! `account rent-refund` and `account reclaim-rent`: who gets rent back, and what can go there now.

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, ensure};
use clap::Args;
use purser::state::{Agent, ClosedAgent, Grant, PolicyDraft};

use super::AgentArgs;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;
use crate::tokens::sol;

#[derive(Args)]
pub struct RentRefundArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// The wallet that gets the rent back from here on
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    to: Pubkey,
}

#[derive(Args)]
pub struct ReclaimArgs {
    /// The address of an agent account, a draft, a grant, or an account that was closed
    #[arg(long = "account", value_name = "ADDRESS", value_parser = arguments::address)]
    address: Pubkey,
}

pub async fn set(network: &Network, args: &RentRefundArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let signing = network.signing()?;
    let known = located.view.agent.rent_refund;
    ensure!(
        signing.address() == known,
        "the rent goes back to {known}, which alone says who gets it instead: sign with its wallet"
    );
    let (operator, agent) = (located.operator_address, located.address);
    let set = located.deployment.set_rent_refund(signing.address(), operator, agent, args.to);
    let report = Report::new("another wallet gets the rent back")
        .with("agent", agent.to_string())
        .with("rent_back_to", args.to.to_string());
    let change = Change::of(report.clone(), set);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

pub async fn reclaim(network: &Network, args: &ReclaimArgs) -> Result<Report> {
    let address = args.address;
    let account = network.account(&address).await?.filter(|account| account.owner == network.program);
    let account = account.with_context(|| format!("{address} is no account of the program"))?;
    let data = &account.data;
    let refund = Agent::read(data)
        .map(|view| view.agent.rent_refund)
        .or_else(|| PolicyDraft::read(data).map(|view| view.draft.rent_refund))
        .or_else(|| Grant::read(data).map(|grant| grant.rent_refund))
        .or_else(|| ClosedAgent::read(data).map(|closed| closed.rent_refund));
    let refund = refund.with_context(|| format!("nobody gets rent of {address} back"))?;
    let surplus = account.lamports.saturating_sub(network.rent(data.len()).await?);
    let signing = network.signing()?;
    let report = Report::new("what was more than rent went back")
        .with("account", address.to_string())
        .with("rent_back_to", refund.to_string())
        .with("surplus_sol", sol(surplus));
    // The mint does not matter to rent.
    let reclaim = network.deployment(Pubkey::default()).reclaim_rent(address, refund);
    let change = Change::of(report.clone(), reclaim);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}
