use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result};
use clap::Args;
use purser::state::Grant;
use purser_policy::UsdcAmount;

use crate::agent::AgentArgs;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct CloseGrantArgs {
    /// The grant's address, as `grant list` says
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    grant: Pubkey,
}

pub async fn run(network: &Network, args: &CloseGrantArgs) -> Result<Report> {
    let address = args.grant;
    let account = network.account(&address).await?.filter(|account| account.owner == network.program);
    let grant = account.and_then(|account| Grant::read(&account.data));
    let grant = grant.with_context(|| format!("{address} is not a grant on {}", network.url))?;
    let signing = network.signing()?;
    // The mint does not matter to grants.
    let deployment = network.deployment(Pubkey::default());
    let close = deployment.close_grant(signing.address(), grant.operator, address, grant.rent_refund);
    let report = Report::new("grant taken back")
        .with("grant", address.to_string())
        .with("agent", grant.agent.to_string())
        .with("left_usdc", UsdcAmount::from_micros(grant.left).to_string())
        .with("rent_back_to", grant.rent_refund.to_string());
    let change = Change::of(report.clone(), close).at_once();
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

/// One signature for all of them, and whatever was opened before it.
pub async fn void(network: &Network, args: &AgentArgs) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let void = located.deployment.void_grants(located.signed_by(signing.address()));
    let report = Report::new("all grants of the account voided").with("agent", located.address.to_string());
    let change = Change::of(report.clone(), void).at_once();
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}
