use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, bail};
use clap::Args;
use purser::state::ClosedAgent;
use purser_client::RentRefunds;

use super::AgentArgs;
use super::facts::hex;
use super::withdraw::{ensure_payable, holding};
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;
use crate::tokens::{decimal, decimals, sol};

#[derive(Args)]
pub struct CloseArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// The USDC token account that gets what the agent's still holds; needed only where it holds something
    #[arg(long, value_name = "TOKEN_ACCOUNT", value_parser = arguments::address)]
    to: Option<Pubkey>,
}

pub async fn run(network: &Network, args: &CloseArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let agent = located.view.agent;
    let source = agent.token_account;
    let held = holding(network, &source).await?;
    let held = held.with_context(|| format!("the agent's token account {source} is missing"))?;
    let amount = decimal(held.units, decimals(network, &held.mint).await?);
    let destination = match args.to {
        Some(to) => to,
        // No money moves, so no recipient is needed.
        None if held.units == 0 => source,
        None => bail!("the agent holds {amount} USDC still: say which USDC token account gets it with --to"),
    };
    if args.to.is_some() {
        ensure_payable(network, &destination, &source, &held).await?;
    }
    let draft = located.draft(network).await?.map(|draft| draft.draft.rent_refund);
    let rent_refunds = RentRefunds { agent: agent.rent_refund, draft: draft.unwrap_or(agent.rent_refund) };
    let signing = network.signing()?;
    let close = located.deployment.close_agent(
        signing.address(),
        located.operator_address,
        located.address,
        destination,
        rent_refunds,
    );
    let report = Report::new("agent account closed, with its token account and its draft; only the admin creates one from this agent id anew")
        .with("agent", located.address.to_string())
        .with("agent_id", hex(&agent.agent_id))
        .with("account_id", network.account_ids().await?.of(&located.address))
        .with("swept_usdc", amount)
        .with("to", args.to.map(|to| to.to_string()))
        .with("rent_back_to", agent.rent_refund.to_string())
        .with("draft_rent_back_to", draft.map(|payer| payer.to_string()))
        .with("mark_sol", sol(network.rent(ClosedAgent::BYTES).await?));
    let change = Change::of(report.clone(), close);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}
