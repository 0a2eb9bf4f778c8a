use anyhow::Result;

use super::OperatorName;
use super::show::role;
use crate::network::Network;
use crate::report::Report;

/// What to do to a halt, of an operator or of one agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    Set,
    Lift,
}

pub async fn run(network: &Network, name: &OperatorName, halt: Halt) -> Result<Report> {
    let address = name.address(network)?;
    let deployment = super::deployment(&super::read(network, &address).await?);
    let signing = network.signing()?;
    let signature = match halt {
        Halt::Set => signing.call(deployment.halt(signing.address(), address, None)).await?,
        Halt::Lift => signing.call(deployment.resume(signing.address(), address, None)).await?,
    };
    let operator = super::read(network, &address).await?;
    let title = match halt {
        Halt::Set => "all agents halted; the admin alone resumes them, with `operator resume`",
        Halt::Lift => "agents resumed, but for those that are halted or paused by themselves",
    };
    Ok(Report::new(title)
        .with("operator", address.to_string())
        .with("halted_by", role(operator.halted_by))
        .with("signature", signature.to_string()))
}
