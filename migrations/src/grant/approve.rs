//! The grant for one transfer that waits for a person, as its approver's phone opens it.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::Args;
use purser::{GrantPayee, GrantTerms};
use purser_policy::{UsdcAmount, tag_of};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use super::open::open;
use crate::agent::AgentArgs;
use crate::arguments;
use crate::network::Network;
use crate::report::Report;

/// How long a transfer waits.
const WAITS_SECONDS: i64 = 86_400;

#[derive(Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// The transfer that waits
    #[arg(long, value_name = "ID", value_parser = arguments::transfer_id)]
    transfer: Ulid,
    /// The token account that it pays
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    to: Pubkey,
    /// What it pays, in USDC
    #[arg(long, value_name = "USDC", value_parser = arguments::usdc)]
    amount: UsdcAmount,
    /// Its memo, if it has one
    #[arg(long, value_name = "TEXT", default_value = "")]
    memo: String,
    /// The version of the account's policy that refused it; with another one in force nothing is opened
    #[arg(long, value_name = "N")]
    policy_version: Option<u32>,
}

pub async fn run(network: &Network, args: &ApproveArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let version = located.view.agent.policy_version;
    ensure!(
        args.policy_version.is_none_or(|asked| asked == version),
        "the account's policy has changed: version {version} is in force, and the transfer waits for nobody any more"
    );
    ensure!(!args.amount.is_zero(), "a transfer pays more than nothing: --amount");
    let asked_at = i64::try_from(args.transfer.timestamp_ms() / 1_000)?;
    let expires_at = asked_at.saturating_add(WAITS_SECONDS);
    ensure!(
        network.time().await? < expires_at,
        "nobody can approve it any more: a transfer waits for 24 hours"
    );
    let tag = tag_of(&args.transfer.to_bytes());
    let grant = located.deployment.grant_address(&located.address, tag);
    ensure!(
        network.account(&grant).await?.is_none_or(|account| account.owner != network.program),
        "the grant {grant} is there already: if it pays nothing any more, `grant close --grant {grant}` makes room"
    );
    let terms = GrantTerms {
        payee: GrantPayee::TokenAccount(args.to),
        amount: args.amount.micros(),
        expires_at,
        beyond_allowlist: true,
        beyond_single_limit: true,
        beyond_daily_limit: false,
        tag: Some(tag),
        memo_hash: Some(Sha256::digest(&args.memo).into()),
        policy_version: Some(version),
    };
    open(network, &args.agent, located, terms, tag).await
}
