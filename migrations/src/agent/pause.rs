use anyhow::Result;
use purser::{accounts, instruction};

use super::AgentArgs;
use crate::network::Network;
use crate::report::Report;

/// Stops (`paused`) or resumes one agent.
pub async fn run(network: &Network, args: &AgentArgs, paused: bool) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let accounts = accounts::SetPaused {
        authority: signing.address(),
        operator: located.operator_address,
        agent: located.address,
    };
    let signature = signing.call(accounts, instruction::SetPaused { paused }).await?;
    let after = args.locate(network).await?;
    let title = match (paused, after.operator.paused != 0) {
        (true, _) => "agent paused",
        (false, false) => "agent resumed",
        (false, true) => "agent resumed, but its operator is paused, so it still pays nothing",
    };
    Ok(Report::new(title)
        .with("agent", located.address.to_string())
        .with("paused", after.view.agent.is_paused())
        .with("operator_paused", after.operator.paused != 0)
        .with("policy_version", after.view.agent.policy_version)
        .with("signature", signature.to_string()))
}
