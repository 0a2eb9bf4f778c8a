use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use purser::state::DraftView;
use purser_client::{INLINE_ENTRIES_MAX, Proposal, RentRefunds, Staging, must_wait, owned};
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Signature;

use super::facts::{State, rules, state, timestamp};
use super::rules::{NAMES, RuleArgs};
use super::{AgentArgs, LocatedAgent, show, warnings};
use crate::change::Change;
use crate::effects::{Effect, differing};
use crate::loader::progress::Progress;
use crate::network::{Mode, Network};
use crate::report::{Outcome, Report};
use crate::signing::Signing;

#[derive(Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(NAMES.iter().copied())))]
pub struct SetPolicyArgs {
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    rules: RuleArgs,
}

pub async fn run(network: &Network, args: &SetPolicyArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let current = located.view.policy();
    let policy = args.rules.over(current, network, &located.operator_address, &located.operator).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    if policy == owned(&current) {
        let shown = show::run(network, &args.agent).await?;
        return Ok(Report::new("the policy is already so").with("signature", None::<String>).and(shown));
    }
    let about = (&located.address, &located.operator);
    let bounds = located.view.bounds();
    let warnings = warnings::of(network, &located.deployment, about, &policy, &bounds).await?;
    let waits = must_wait(&located.operator, &wallet, &policy.as_policy(), &current);
    let agent = &located.view.agent;
    let done = async |title: String, signature: Option<Signature>| {
        let shown = show::run(network, &args.agent).await?;
        let signature = signature.map(|signature| signature.to_string());
        Ok(Report::new(title).with("warnings", warnings.clone()).with("signature", signature).and(shown))
    };
    if !waits && policy.allowlist.len() <= INLINE_ENTRIES_MAX {
        let at = located.signed_by(wallet);
        let set = located.deployment.set_policy(at, wallet, agent.rent_refund, agent.policy_version, &policy);
        let change = Change::new("policy set", set).with("agent", located.address.to_string());
        let change = change.with("warnings", warnings.clone());
        let done = async |signature| done("policy set".to_string(), Some(signature)).await;
        return signing.carry_out(change, done).await;
    }
    let proposal = Proposal { agent: located.address, expected_version: agent.policy_version, policy };
    let staged = Staged { signing: &signing, located: &located, proposal: &proposal, waits };
    if network.mode == Mode::Do {
        let (title, signature) = staged.carry_out().await?;
        return Ok(done(title, signature).await?.outcome(Outcome::Done));
    }
    match staged.next_step().await? {
        Some(change) => {
            let change = change.with("warnings", warnings.clone());
            let done = async |signature| done("one step done".to_string(), Some(signature)).await;
            signing.carry_out(change, done).await
        }
        None => done("the policy is already pending".to_string(), None).await,
    }
}

/// A policy being staged in the agent's draft. It continues what an interrupted run left.
struct Staged<'a> {
    signing: &'a Signing<'a>,
    located: &'a LocatedAgent,
    proposal: &'a Proposal,
    /// Whether it must wait: it loosens something, and the signer is not the admin.
    waits: bool,
}

impl Staged<'_> {
    fn staging(&self) -> Staging<'_> {
        Staging {
            deployment: self.located.deployment,
            authority: self.signing.address(),
            payer: self.signing.address(),
            rent_refund: self.signing.address(),
            operator: self.located.operator_address,
            proposal: self.proposal,
        }
    }

    /// The agent's draft, and the remaining steps until it holds this proposal, sealed.
    async fn steps(&self) -> Result<(Option<DraftView>, Vec<Instruction>)> {
        let found = self.located.draft(self.signing.network).await?;
        if let Some(found) = found.as_ref().filter(|found| !self.staging().continues(found)) {
            ensure_replaceable(found, self.located)?;
        }
        let steps = self.staging().steps(found.as_ref()).into_iter().map(|step| step.instruction).collect();
        Ok((found, steps))
    }

    /// The next transaction, and what all of them change together; `None` if only waiting is left.
    async fn next_step(&self) -> Result<Option<Change>> {
        let (found, mut steps) = self.steps().await?;
        let now = self.signing.network.time().await?;
        let sealed = found.as_ref().filter(|_| steps.is_empty());
        if !self.waits || sealed.is_some_and(|found| self.state(found, now) == State::Ready) {
            let draft = sealed.map_or(self.signing.address(), |found| found.draft.rent_refund);
            let rent_refunds = RentRefunds { agent: self.located.view.agent.rent_refund, draft };
            steps.push(self.staging().apply(rent_refunds));
        }
        let left = steps.len();
        let Some(step) = steps.into_iter().next() else { return Ok(None) };
        let title = match (self.waits, left) {
            (_, 1) => "policy set".to_string(),
            (false, _) => format!("policy set, by {left} transactions, the first of which is this one"),
            (true, _) => format!(
                "policy sealed in a draft, by {left} transactions, the first of which is this one; it loosens the policy, so it waits {} seconds and is put in force with `account apply-policy`",
                self.located.operator.loosening_delay_seconds
            ),
        };
        let change = Change::new(title, step).with("agent", self.located.address.to_string());
        let change = change.with("transactions_left", left);
        Ok(Some(if left == 1 { change } else { change.ahead(self.ahead()) }))
    }

    fn state(&self, found: &DraftView, now: i64) -> State {
        state(found, &self.located.view, &self.located.operator, now)
    }

    /// The rules before and after all the transactions.
    fn ahead(&self) -> Vec<Effect> {
        let (before, after) = (self.located.view.policy(), self.proposal.policy.as_policy());
        differing("account", self.located.address, &rules(&before), &rules(&after))
    }

    /// Seals the proposal, and applies it unless it still has to wait.
    async fn carry_out(&self) -> Result<(String, Option<Signature>)> {
        let Self { signing, located, .. } = self;
        let network = signing.network;
        let (_, steps) = self.steps().await?;
        let mut progress = Progress::start("writing the policy", steps.len() as u64);
        let mut last = None;
        for (done, step) in steps.into_iter().enumerate() {
            let sent = signing.call(step).await;
            last =
                Some(sent.context(
                    "the policy is written in part and not in force: run the command again to go on",
                )?);
            progress.set(done as u64 + 1);
        }
        progress.finish();

        let sealed = located.draft(network).await?.filter(|draft| self.staging().continues(draft));
        let sealed = sealed.context("somebody put another policy in its place: look with `account show`")?;
        let state = self.state(&sealed, network.time().await?);
        if self.waits && state != State::Ready {
            let until = match state {
                State::Waiting(at) | State::Halted(Some(at)) => format!("until {}", timestamp(at)),
                _ => "for the admin's wallet".to_string(),
            };
            let title = format!(
                "this loosens the policy, so it waits {until}: then put it in force with `account apply-policy --account \
                 {}`; until then the policy below stays as it is",
                located.address
            );
            return Ok((title, last));
        }
        let rent_refunds =
            RentRefunds { agent: located.view.agent.rent_refund, draft: sealed.draft.rent_refund };
        Ok(("policy set".to_string(), Some(signing.call(self.staging().apply(rent_refunds)).await?)))
    }
}

/// Refuses to discard a waiting policy as a side effect.
fn ensure_replaceable(found: &DraftView, located: &LocatedAgent) -> Result<()> {
    let draft = &found.draft;
    if draft.is_sealed() && draft.expected_version == located.view.agent.policy_version {
        bail!(
            "another policy is pending for this agent (`account show` prints it): apply it with `account apply-policy`, or give it \
             up with `account drop-policy`, and run the command again"
        );
    }
    Ok(())
}
