//! The rules of a policy, as the command line names them.

use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use clap::Args;
use purser::state::Operator;
use purser_client::{OnChainPolicy, owned};
use purser_policy::{Limit, Policy};

use super::recipients::RecipientArgs;
use crate::arguments;
use crate::network::Network;

/// Arguments that set a rule.
pub const NAMES: [&str; 10] = [
    "max_single_transfer",
    "max_daily_spend",
    "require_memo",
    "paused",
    "allow_anyone",
    "allow_nobody",
    "allow",
    "allow_wallet",
    "allow_token_account",
    "allow_file",
];

#[derive(Args)]
pub struct RuleArgs {
    /// Most USDC in one transfer: a decimal with at most six digits after the point, or `none` for no limit
    #[arg(long, visible_alias = "max-single", value_name = "USDC|none", value_parser = arguments::limit)]
    max_single_transfer: Option<Limit>,
    /// Most USDC in any 24 hours: a decimal with at most six digits after the point, or `none` for no limit
    #[arg(long, visible_alias = "max-daily", value_name = "USDC|none", value_parser = arguments::limit)]
    max_daily_spend: Option<Limit>,
    /// Whether transfers without a memo are refused
    #[arg(long, value_name = "true|false")]
    require_memo: Option<bool>,
    /// Whether all transfers are refused
    #[arg(long, value_name = "true|false")]
    paused: Option<bool>,
    #[command(flatten)]
    recipients: RecipientArgs,
}

impl RuleArgs {
    /// The requested policy: `current`, with the changes that the command line names.
    pub async fn over(
        &self,
        current: Policy<'_>,
        network: &Network,
        operator_address: &Pubkey,
        operator: &Operator,
    ) -> Result<OnChainPolicy> {
        let mut policy = owned(&current);
        if let Some(allowlist) = self.recipients.read(network, operator_address, &operator.usdc_mint).await? {
            policy.allowlist = allowlist;
        }
        policy.max_single_transfer = self.max_single_transfer.unwrap_or(policy.max_single_transfer);
        policy.max_daily_spend = self.max_daily_spend.unwrap_or(policy.max_daily_spend);
        policy.require_memo = self.require_memo.unwrap_or(policy.require_memo);
        policy.paused = self.paused.unwrap_or(policy.paused);
        Ok(policy)
    }
}
