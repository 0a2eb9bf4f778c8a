use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::OpenedBy;
use purser::state::{Agent, Grant, Operator};
use purser_policy::{UsdcAmount, Waived};
use serde_json::{Value, json};

use crate::agent::AgentArgs;
use crate::agent::facts::timestamp;
use crate::agent::of_operator::owned;
use crate::network::Network;
use crate::report::{Report, Table};

pub async fn run(network: &Network, args: &AgentArgs) -> Result<Report> {
    let located = args.locate(network).await?;
    let now = network.time().await?;
    let agent_at = std::mem::offset_of!(Grant, agent);
    let found = owned::<Grant>(network, agent_at, &located.address).await?;
    let mut found: Vec<_> = found.iter().filter_map(|(at, data)| Some((at, Grant::read(data)?))).collect();
    found.sort_by_key(|(_, grant)| grant.id);
    let under = (&located.operator, &located.view.agent);
    let rows: Vec<_> = found.iter().map(|(address, grant)| describe(address, grant, under, now)).collect();
    let columns = rows.first().map_or(Vec::new(), |row| row.iter().map(|(name, _)| *name).collect());
    let rows: Vec<Vec<Value>> =
        rows.into_iter().map(|row| row.into_iter().map(|(_, it)| it).collect()).collect();
    Ok(Report::new("grants")
        .with("agent", located.address.to_string())
        .with("count", rows.len())
        .table(Table { name: "grants", columns, headings: 0, rows }))
}

/// What is printed of a grant of this agent. `now`: the chain's Unix second.
pub fn describe(
    address: &Pubkey,
    grant: &Grant,
    under: (&Operator, &Agent),
    now: i64,
) -> Vec<(&'static str, Value)> {
    let (state, pays_from) = match has_to_wait(grant, under.1).then(|| grant.loosens_at(under.0)) {
        _ if grant.is_over(now) => ("over", None),
        _ if is_void(grant, under) => ("void", None),
        Some(None) => ("never", None),
        Some(Some(at)) if now < at => ("waiting", Some(at)),
        Some(at) => ("open", at),
        None => ("open", None),
    };
    let mut facts = vec![
        ("grant", json!(address.to_string())),
        ("state", json!(state)),
        ("pays_from", json!(pays_from.map(timestamp))),
    ];
    facts.extend(terms(grant));
    facts
}

/// Whether it is of the policy authority and allows what is refused without it.
pub fn has_to_wait(grant: &Grant, agent: &Agent) -> bool {
    let loosens = Waived::from_bits(grant.flags) != Waived::NOTHING || agent.pays_by_grant_only();
    loosens && grant.opened_by() == OpenedBy::PolicyAuthority
}

/// Whether it pays nothing any more because of what changed since it was opened.
pub fn is_void(grant: &Grant, (operator, agent): (&Operator, &Agent)) -> bool {
    grant.epoch != agent.grant_epoch
        || grant.opened_by() == OpenedBy::Approver && grant.approver_epoch != operator.approver_epoch
        || ![0, agent.policy_version].contains(&grant.policy_version)
}

/// What a grant is for.
pub fn terms(grant: &Grant) -> Vec<(&'static str, Value)> {
    let opened_by = match grant.opened_by() {
        OpenedBy::Admin => "admin",
        OpenedBy::PolicyAuthority => "policy_authority",
        OpenedBy::Approver => "approver",
    };
    let past = [(1, "list"), (2, "single_limit"), (4, "daily_limit")];
    let past = past.into_iter().filter(|(bit, _)| grant.flags & bit != 0).map(|(_, name)| name);
    let kind = if grant.flags & 8 == 0 { "wallet" } else { "token_account" };
    vec![
        ("payee", json!({ kind: grant.payee.to_string() })),
        ("left_usdc", json!(UsdcAmount::from_micros(grant.left).to_string())),
        ("ends_at", json!(timestamp(grant.expires_at))),
        ("beyond", json!(past.collect::<Vec<_>>())),
        ("one_payment", json!(grant.tag != 0)),
        ("opened_by", json!(opened_by)),
    ]
}
