use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::OpenedBy;
use purser::state::Grant;
use purser_policy::UsdcAmount;
use serde_json::{Value, json};

use crate::agent::facts::timestamp;
use crate::agent::of_operator::owned;
use crate::agent::{AgentArgs, LocatedAgent};
use crate::network::Network;
use crate::report::{Report, Table};

pub async fn run(network: &Network, args: &AgentArgs) -> Result<Report> {
    let located = args.locate(network).await?;
    let now = network.time().await?;
    let agent_at = std::mem::offset_of!(Grant, agent);
    let mut found = owned::<Grant>(network, agent_at, &located.address).await?;
    found.sort_by_key(|(_, data)| Grant::read(data).map(|grant| grant.id));
    let rows: Vec<_> =
        found.iter().filter_map(|(address, data)| describe(address, data, &located, now)).collect();
    let columns = rows.first().map_or(Vec::new(), |row| row.iter().map(|(name, _)| *name).collect());
    let rows: Vec<Vec<Value>> =
        rows.into_iter().map(|row| row.into_iter().map(|(_, it)| it).collect()).collect();
    Ok(Report::new("grants")
        .with("agent", located.address.to_string())
        .with("count", rows.len())
        .table(Table { name: "grants", columns, headings: 0, rows }))
}

/// What is printed of a grant.
pub fn describe(
    address: &Pubkey,
    data: &[u8],
    located: &LocatedAgent,
    now: i64,
) -> Option<Vec<(&'static str, Value)>> {
    let grant = Grant::read(data)?;
    let agent = &located.view.agent;
    let is_void = grant.epoch != agent.grant_epoch
        || grant.opened_by() == OpenedBy::Approver && grant.approver_epoch != located.operator.approver_epoch
        || ![0, agent.policy_version].contains(&grant.policy_version);
    let waits = (grant.opened_by() == OpenedBy::PolicyAuthority).then(|| grant.loosens_at(&located.operator));
    let (state, pays_from) = match waits {
        _ if grant.is_over(now) => ("over", None),
        _ if is_void => ("void", None),
        Some(None) => ("never", None),
        Some(Some(at)) if now < at => ("waiting", Some(timestamp(at))),
        Some(Some(_)) | None => ("open", None),
    };
    let mut facts =
        vec![("grant", json!(address.to_string())), ("state", json!(state)), ("pays_from", json!(pays_from))];
    facts.extend(terms(&grant));
    Some(facts)
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
