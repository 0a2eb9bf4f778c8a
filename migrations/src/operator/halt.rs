use anyhow::Result;

use super::OperatorName;
use super::show::role;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

/// Whether to set or lift a halt, of an operator or of one agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    Set,
    Lift,
}

pub async fn run(network: &Network, name: &OperatorName, halt: Halt) -> Result<Report> {
    let address = name.address(network)?;
    let deployment = network.deployment(super::read(network, &address).await?.usdc_mint);
    let signing = network.signing()?;
    let (title, change) = match halt {
        Halt::Set => (
            "all agents halted; the admin alone resumes them, with `operator resume`",
            deployment.halt(signing.address(), address, None),
        ),
        Halt::Lift => (
            "agents resumed, but for those that are halted or paused by themselves",
            deployment.resume(signing.address(), address, None),
        ),
    };
    let change = Change::new(title, change).with("operator", address.to_string());
    let change = if halt == Halt::Set { change.at_once() } else { change };
    signing
        .carry_out(change, async |signature| {
            let operator = super::read(network, &address).await?;
            Ok(Report::new(title)
                .with("operator", address.to_string())
                .with("halted_by", role(operator.halted_by))
                .with("signature", signature.to_string()))
        })
        .await
}
