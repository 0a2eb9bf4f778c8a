use anyhow::Result;
use purser::state::Grant;
use serde_json::Value;

use super::facts::of_grant;
use crate::agent::AgentArgs;
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
    let rows: Vec<_> = found.iter().map(|(address, grant)| of_grant(address, grant, under, now)).collect();
    let columns = rows.first().map_or(Vec::new(), |row| row.iter().map(|(name, _)| *name).collect());
    let rows: Vec<Vec<Value>> =
        rows.into_iter().map(|row| row.into_iter().map(|(_, it)| it).collect()).collect();
    Ok(Report::new("grants")
        .with("agent", located.address.to_string())
        .with("count", rows.len())
        .table(Table { name: "grants", columns, headings: 0, rows }))
}
