//! The policy that waits in the agent's draft: shown, applied, dropped.

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use purser::state::DraftView;
use purser_client::{RentPayers, must_wait};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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
    let effective_at = located.operator.loosens_at(found.draft.sealed_at);
    match state(&found, &located, now) {
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
        State::Waiting => ensure!(
            !must_wait(&located.operator, &wallet, &found.policy(), &located.view.policy()),
            "this loosens the policy, so it waits until {} (the chain's clock says {}); only the admin's wallet applies it \
             sooner",
            timestamp(effective_at),
            timestamp(now)
        ),
        State::Ready => {}
    }
    let rent_payers = RentPayers { agent: located.view.agent.rent_payer, draft: found.draft.rent_payer };
    let at = located.signed_by(wallet);
    let apply = located.deployment.apply_draft(at, wallet, rent_payers, found.draft.hash);
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
    let close = located.deployment.close_draft(at, found.draft.rent_payer, found.draft.hash);
    let report = Report::new("the policy that waited is given up; the one in force stays")
        .with("agent", located.address.to_string())
        .with("hash", hex(&found.draft.hash))
        .with("rent_back_to", found.draft.rent_payer.to_string());
    let change = Change::of(report.clone(), close);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

impl WaitingArgs {
    async fn find(&self, network: &Network) -> Result<(LocatedAgent, DraftView)> {
        let located = self.agent.locate(network).await?;
        let found = located.draft(network).await?;
        let found = found.with_context(|| format!("no policy waits for the agent {}", located.address))?;
        let hash = hex(&found.draft.hash);
        ensure!(
            self.hash.as_ref().is_none_or(|wanted| *wanted == hash),
            "another policy waits, whose hash is {hash}: look with `account show`"
        );
        Ok((located, found))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not all of its recipients are written.
    Incomplete,
    /// The policy has changed since; the draft can only be dropped.
    Outdated,
    /// So far only the admin can apply it.
    Waiting,
    Ready,
}

fn state(found: &DraftView, located: &LocatedAgent, now: i64) -> State {
    let draft = &found.draft;
    let loosens = found.policy().loosens(&located.view.policy());
    match draft.is_sealed() {
        false => State::Incomplete,
        true if draft.expected_version != located.view.agent.policy_version => State::Outdated,
        true if loosens && now < located.operator.loosens_at(draft.sealed_at) => State::Waiting,
        true => State::Ready,
    }
}

/// What `account show` prints about it.
pub fn describe(found: &DraftView, located: &LocatedAgent, now: i64) -> Value {
    let draft = &found.draft;
    let state = state(found, located, now);
    let word = match state {
        State::Incomplete => "incomplete",
        State::Outdated => "outdated",
        State::Waiting => "waiting",
        State::Ready => "ready",
    };
    let effective_at = match state {
        State::Incomplete | State::Outdated => None,
        State::Waiting => Some(timestamp(located.operator.loosens_at(draft.sealed_at))),
        State::Ready => Some(timestamp(now)),
    };
    let mut facts: Map<String, Value> = Map::new();
    let mut put = |name: &str, value: Value| facts.insert(name.to_string(), value);
    put("state", json!(word));
    put("hash", json!(hex(&draft.hash)));
    put("over_policy_version", json!(draft.expected_version));
    put("sealed_at", json!(draft.is_sealed().then(|| timestamp(draft.sealed_at))));
    put("effective_at", json!(effective_at));
    if draft.is_sealed() {
        for (name, value) in show::rules(&found.policy()) {
            put(name, value);
        }
    }
    Value::Object(facts)
}

/// RFC 3339, or the Unix second if it is beyond any calendar.
pub fn timestamp(unix_seconds: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(unix_seconds).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| unix_seconds.to_string())
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
