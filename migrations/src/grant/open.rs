use std::time::Duration;

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, ensure};
use clap::{ArgGroup, Args};
use purser::state::Grant;
use purser::{GrantPayee, GrantTerms};
use purser_policy::UsdcAmount;
use sha2::{Digest, Sha256};

use super::facts::of_grant;
use crate::agent::facts::timestamp;
use crate::agent::{AgentArgs, LocatedAgent};
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

/// How long to wait for the second after a revocation, and how often.
const MOMENT: Duration = Duration::from_millis(500);
const MOMENTS: u32 = 10;

#[derive(Args)]
#[command(group(ArgGroup::new("payee").required(true).args(["to_wallet", "to_token_account"])))]
pub struct OpenArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// Pay any token account that this wallet owns at that moment
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    to_wallet: Option<Pubkey>,
    /// Pay this token account
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    to_token_account: Option<Pubkey>,
    /// The most that may be paid, in USDC
    #[arg(long, value_name = "USDC", value_parser = arguments::usdc)]
    amount: UsdcAmount,
    /// How long, from now: seconds, or as 15m, 1h, 2d; at most 30d
    #[arg(long = "for", value_name = "TIME", value_parser = arguments::delay)]
    seconds: u32,
    /// Past the allowlist
    #[arg(long)]
    beyond_list: bool,
    /// Past the largest single transfer
    #[arg(long)]
    beyond_single_limit: bool,
    /// Past the daily limit, against which it counts all the same; the admin alone
    #[arg(long)]
    beyond_daily_limit: bool,
    /// For the one payment with this tag (the last eight bytes of its id, as a number), of all of the amount
    #[arg(long, value_name = "N")]
    tag: Option<u64>,
    /// For payments with this memo alone
    #[arg(long, value_name = "TEXT")]
    memo: Option<String>,
    /// Until the account's policy changes
    #[arg(long)]
    this_policy: bool,
    /// The grant's number among those of the account [default: the chain's second]
    #[arg(long, value_name = "N")]
    grant_id: Option<u64>,
}

pub async fn run(network: &Network, args: &OpenArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let now = network.time().await?;
    let terms = args.terms(now, located.view.agent.policy_version)?;
    let id = args.grant_id.unwrap_or(now.unsigned_abs());
    open(network, &args.agent, located, terms, id).await
}

/// Opens it with the wallet's key, in whichever part that is the operator's.
pub(super) async fn open(
    network: &Network,
    name: &AgentArgs,
    located: LocatedAgent,
    terms: GrantTerms,
    id: u64,
) -> Result<Report> {
    let signing = network.signing()?;
    let wallet = signing.address();
    let (operator, agent) = (&located.operator, &located.view.agent);
    let is_approver = ![operator.admin, operator.policy_authority].contains(&wallet);
    ensure!(
        wallet == operator.admin || !terms.beyond_daily_limit,
        "past the daily limit the admin alone lets anybody: sign with {}, or leave out --beyond-daily-limit",
        operator.admin
    );
    ensure!(
        !is_approver || terms.is_one_payment(agent),
        "{wallet} is neither admin nor policy authority, and an approver's grant is for one payment: name it with --tag, \
         --memo and --this-policy"
    );
    // In the second of a revocation none can be opened.
    let revoked_at =
        i64::from(agent.voided_at).max(if is_approver { operator.approvers_voided_at } else { 0 });
    for _ in 0..MOMENTS {
        if network.time().await? > revoked_at {
            break;
        }
        tokio::time::sleep(MOMENT).await;
    }
    let (deployment, at) = (located.deployment, (located.operator_address, located.address));
    let grant = deployment.grant_address(&located.address, id);
    let title = "grant opened";
    let change = if is_approver {
        let [memo, open] = deployment.approve(wallet, wallet, wallet, at, id, terms);
        Change::new(title, open).behind(memo).with("memo", terms.approval(&located.address))
    } else {
        Change::new(title, deployment.open_grant(wallet, wallet, wallet, at, id, terms))
    };
    let change = change
        .with("agent", located.address.to_string())
        .with("grant", grant.to_string())
        .with("amount_usdc", UsdcAmount::from_micros(terms.amount).to_string())
        .with("ends_at", timestamp(terms.expires_at));
    signing
        .carry_out(change, async |signature| {
            let (after, now) = (name.locate(network).await?, network.time().await?);
            let account = network.account(&grant).await?;
            let opened = account.and_then(|account| Grant::read(&account.data));
            let opened = opened.context("the grant is not there any more")?;
            let facts = of_grant(&grant, &opened, (&after.operator, &after.view.agent), now);
            let report = Report::new(title).with("agent", after.address.to_string()).with_all(facts);
            Ok(report.with("signature", signature.to_string()))
        })
        .await
}

impl OpenArgs {
    fn terms(&self, now: i64, policy_version: u32) -> Result<GrantTerms> {
        let wallet = self.to_wallet.map(GrantPayee::Wallet);
        let payee =
            wallet.or(self.to_token_account.map(GrantPayee::TokenAccount)).context("nobody to pay")?;
        ensure!(!self.amount.is_zero(), "a grant is for more than nothing: --amount");
        ensure!(self.seconds > 0, "a grant ends later than now: --for");
        ensure!(self.tag != Some(0), "no payment has the tag 0");
        Ok(GrantTerms {
            payee,
            amount: self.amount.micros(),
            expires_at: now.saturating_add(i64::from(self.seconds)),
            beyond_allowlist: self.beyond_list,
            beyond_single_limit: self.beyond_single_limit,
            beyond_daily_limit: self.beyond_daily_limit,
            tag: self.tag,
            memo_hash: self.memo.as_ref().map(|memo| Sha256::digest(memo).into()),
            policy_version: self.this_policy.then_some(policy_version),
        })
    }
}
