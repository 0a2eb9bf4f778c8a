use anyhow::Result;
use purser::{accounts, instruction};

use super::OperatorName;
use crate::network::Network;
use crate::report::Report;

/// Stops (`paused`) or resumes all agents.
pub async fn run(network: &Network, name: &OperatorName, paused: bool) -> Result<Report> {
    let address = name.address(network)?;
    super::read(network, &address).await?;
    let signing = network.signing()?;
    let accounts = accounts::SetOperatorPaused { authority: signing.address(), operator: address };
    let signature = signing.call(accounts, instruction::SetOperatorPaused { paused }).await?;
    let operator = super::read(network, &address).await?;
    let title =
        if paused { "all agents paused" } else { "agents resumed, but for those paused by themselves" };
    Ok(Report::new(title)
        .with("operator", address.to_string())
        .with("paused", operator.paused != 0)
        .with("signature", signature.to_string()))
}
