use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use purser::state::DraftView;
use purser_client::{INLINE_ENTRIES_MAX, OwnedPolicy, Proposal, RentPayers, Staging, must_wait};
use purser_policy::Limit;

use super::recipients::RecipientArgs;
use super::waiting::timestamp;
use super::{AgentArgs, LocatedAgent};
use crate::arguments;
use crate::loader::progress::Progress;
use crate::network::{Network, Signing};
use crate::report::Report;

#[derive(Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args([
    "max_single_transfer", "max_daily_spend", "require_memo", "paused", "allow_anyone", "allow_nobody", "allow",
    "allow_wallet", "allow_token_account", "allow_file",
])))]
pub struct SetPolicyArgs {
    #[command(flatten)]
    agent: AgentArgs,
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

pub async fn run(network: &Network, args: &SetPolicyArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let policy = args.changed(network, &located).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    let current = located.view.policy();
    if policy == OwnedPolicy::from(current) {
        let shown = super::show::run(network, &args.agent).await?;
        return Ok(Report::new("the policy is so already").with("signature", None::<String>).and(shown));
    }
    let waits = must_wait(&located.operator, &wallet, &policy.as_policy(), &current);
    let agent = &located.view.agent;
    let (title, signature) = if waits || policy.allowlist.len() > INLINE_ENTRIES_MAX {
        let proposal = Proposal { agent: located.address, expected_version: agent.policy_version, policy };
        through_a_draft(&signing, &located, &proposal, waits).await?
    } else {
        let at = located.signed_by(wallet);
        let set =
            located.deployment().set_policy(at, wallet, agent.rent_payer, agent.policy_version, &policy);
        ("policy set".to_string(), Some(signing.call(set).await?))
    };
    let shown = super::show::run(network, &args.agent).await?;
    Ok(Report::new(title).with("signature", signature.map(|signature| signature.to_string())).and(shown))
}

impl SetPolicyArgs {
    /// The policy that is asked for: as it is, but for what the command line names.
    async fn changed(&self, network: &Network, located: &LocatedAgent) -> Result<OwnedPolicy> {
        let mut policy = OwnedPolicy::from(located.view.policy());
        let mint = &located.operator.usdc_mint;
        if let Some(allowlist) = self.recipients.read(network, &located.operator_address, mint).await? {
            policy.allowlist = allowlist;
        }
        policy.max_single_transfer = self.max_single_transfer.unwrap_or(policy.max_single_transfer);
        policy.max_daily_spend = self.max_daily_spend.unwrap_or(policy.max_daily_spend);
        policy.require_memo = self.require_memo.unwrap_or(policy.require_memo);
        policy.paused = self.paused.unwrap_or(policy.paused);
        Ok(policy)
    }
}

type Signature = solana_sdk::signature::Signature;

/// Seals the proposal in the agent's draft, and applies it unless it has to wait still. Goes on with what a broken run
/// left.
async fn through_a_draft(
    signing: &Signing<'_>,
    located: &LocatedAgent,
    proposal: &Proposal,
    waits: bool,
) -> Result<(String, Option<Signature>)> {
    let network = signing.network;
    let wallet = signing.address();
    let staging = Staging {
        deployment: located.deployment(),
        authority: wallet,
        payer: wallet,
        operator: located.operator_address,
        proposal,
    };
    let found = located.draft(network).await?;
    if let Some(found) = found.as_ref().filter(|found| !staging.continues(found)) {
        ensure_replaceable(found, located)?;
    }
    let steps = staging.steps(found.as_ref());
    let mut progress = Progress::start("writing the policy", steps.len() as u64);
    let mut last = None;
    for (done, step) in steps.into_iter().enumerate() {
        let sent = signing.call(step).await;
        last = Some(
            sent.context("the policy is written in part and not in force: run the command again to go on")?,
        );
        progress.set(done as u64 + 1);
    }
    progress.finish();

    let sealed = located.draft(network).await?.filter(|draft| staging.continues(draft));
    let sealed = sealed.context("somebody put another policy in its place: look with `agent show`")?;
    if waits {
        let now = network.time().await?;
        let effective_at = located.operator.loosens_at(sealed.draft.sealed_at);
        if now < effective_at {
            let agent = located.address;
            let title = format!(
                "this loosens the policy, so it waits until {}: then put it in force with `agent apply-policy --agent \
                 {agent}`; until then the policy below stays as it is",
                timestamp(effective_at)
            );
            return Ok((title, last));
        }
    }
    let rent_payers = RentPayers { agent: located.view.agent.rent_payer, draft: sealed.draft.rent_payer };
    Ok(("policy set".to_string(), Some(signing.call(staging.apply(rent_payers)).await?)))
}

/// A policy that waits is nobody's to lose in passing.
fn ensure_replaceable(found: &DraftView, located: &LocatedAgent) -> Result<()> {
    let draft = &found.draft;
    if draft.is_sealed() && draft.expected_version == located.view.agent.policy_version {
        bail!(
            "another policy waits for this agent (`agent show` prints it): apply it with `agent apply-policy`, or give it \
             up with `agent drop-policy`, and run the command again"
        );
    }
    Ok(())
}
