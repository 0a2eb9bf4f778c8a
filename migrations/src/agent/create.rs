//! `account create`: does what the relayer does for `POST /v1/accounts`, with the operator's own wallet.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::Args;
use purser::Bounds;
use purser::state::{Agent, tail_bytes};
use purser_client::{Deployment, DraftAccounts, INLINE_ENTRIES_MAX, OnChainPolicy, owned};
use purser_policy::TagBucket;
use solana_sdk::signature::Signature;
use ulid::Ulid;

use super::facts::{hex, rules};
use super::rules::RuleArgs;
use super::tag_buckets::buckets_for;
use super::{closed, find, warnings};
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::Report;
use crate::tokens::sol;

/// Bytes of an SPL token account.
const TOKEN_ACCOUNT_BYTES: usize = 165;

#[derive(Args)]
pub struct CreateAccountArgs {
    #[command(flatten)]
    operator: OperatorName,
    /// What the new account's address is made from, with which the command can be repeated [default: a new one]
    #[arg(long, value_name = "32_HEX_DIGITS", value_parser = arguments::agent_id)]
    agent_id: Option<[u8; 16]>,
    /// The wallet that gets the rent back some day [default: the one that signs and pays it]
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    rent_refund: Option<Pubkey>,
    /// Room for so many payments a day; more later with `account tag-buckets`
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=540))]
    payments_a_day: u32,
    #[command(flatten)]
    rules: RuleArgs,
}

/// If the agent id already has an account, that stays as it is.
pub async fn run(network: &Network, args: &CreateAccountArgs) -> Result<Report> {
    let operator_address = args.operator.address(network)?;
    let operator = operator::read(network, &operator_address).await?;
    let open = OnChainPolicy::default();
    let policy = args.rules.over(open.as_policy(), network, &operator_address, &operator).await?;
    ensure!(
        policy.allowlist.len() <= INLINE_ENTRIES_MAX,
        "an account begins with at most {INLINE_ENTRIES_MAX} recipients, and these are {}: create it with --allow-nobody, \
         then give the list with `account set-policy`",
        policy.allowlist.len()
    );
    let agent_id = args.agent_id.unwrap_or_else(|| Ulid::generate().to_bytes());
    let deployment = network.deployment(operator.usdc_mint);
    let address = deployment.agent_address(&operator_address, &agent_id);
    let account_id = network.account_ids().await?.of(&address);
    let about = |title: &str| {
        Report::new(title)
            .with("account_id", account_id.clone())
            .with("agent_id", hex(&agent_id))
            .with("agent", address.to_string())
            .with("operator", operator_address.to_string())
            .with("usdc_token_account", deployment.token_account(&address).to_string())
    };
    if let Some(found) = find(network, &address).await? {
        ensure!(
            owned(&found.policy()) == policy,
            "the account {} exists with another policy: look with `account show`, change it with `account set-policy`",
            account_id
        );
        return Ok(about("agent account unchanged").with("signature", None::<String>));
    }
    let bounds = Bounds::default();
    let warnings = warnings::of(network, &deployment, (&address, &operator), &policy, &bounds).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    let closed = closed(network, &address).await?;
    ensure!(
        wallet == operator.admin || closed.is_none(),
        "the account {} was closed, and whoever lists it means that one: only the admin's wallet creates it anew",
        account_id
    );
    let buckets = buckets_for(args.payments_a_day);
    let tags = usize::from(buckets) * size_of::<TagBucket>();
    let bytes = Agent::BYTES + tail_bytes(&policy.as_policy().allowlist) + tags;
    let rent = network.rent(bytes).await? + network.rent(TOKEN_ACCOUNT_BYTES).await?;
    let refund = args.rent_refund.unwrap_or(wallet);
    let mut create = deployment.create_agent(wallet, wallet, refund, operator_address, agent_id, &policy);
    if let Some(closed) = &closed {
        create = Deployment::create_agent_over(create, closed.rent_refund);
    }
    let report = about("agent account created").with("warnings", warnings.clone());
    let mut change = Change::of(report.with("rent_sol", sol(rent)), create);
    if buckets > 1 {
        let at = DraftAccounts { authority: wallet, operator: operator_address, agent: address };
        change = change.and(deployment.set_tag_buckets(at, wallet, refund, buckets));
    }
    let done = async |signature: Signature| {
        let report = about("agent account created").with("warnings", warnings);
        let report = report.with("signature", signature.to_string());
        let rules = rules(&policy.as_policy()).into_iter();
        Ok(rules.fold(report, |report, (name, value)| report.with(name, value)))
    };
    signing.carry_out(change, done).await
}
