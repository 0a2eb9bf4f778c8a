use anyhow::Result;
use solana_sdk::signature::Signature;

use super::AgentArgs;
use crate::change::Change;
use crate::grant::waiting;
use crate::network::Network;
use crate::operator::halt::Halt;
use crate::operator::show::role;
use crate::report::Report;

pub async fn run(network: &Network, args: &AgentArgs, halt: Halt) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let (wallet, operator, agent) = (signing.address(), located.operator_address, Some(located.address));
    let about = |title| Report::new(title).with("agent", located.address.to_string());
    let (change, waits) = match halt {
        Halt::Set => {
            let halt = located.deployment.halt(wallet, operator, agent);
            (Change::of(about("agent halted"), halt).at_once(), Vec::new())
        }
        Halt::Lift => {
            let mut view = located.view.clone();
            view.agent.halted_by = 0;
            let agents = [(located.address, view)];
            let waits = waiting::all(network, &operator, &located.operator, &agents).await?.to_vec();
            let resume = located.deployment.resume(wallet, operator, agent);
            (Change::of(about("agent resumed").with_all(waits.clone()), resume), waits)
        }
    };
    let done = async |signature: Signature| {
        let after = args.locate(network).await?;
        let title = match (halt, after.operator.halted_by, after.view.agent.policy.is_paused()) {
            (Halt::Set, ..) => "agent halted; the admin alone resumes it, with `account resume`",
            (Halt::Lift, 0, false) => "agent resumed",
            (Halt::Lift, 0, true) => "agent resumed, but its policy pauses it, so it still pays nothing",
            (Halt::Lift, ..) => "agent resumed, but its operator is halted, so it still pays nothing",
        };
        let report = about(title)
            .with("halted_by", role(after.view.agent.halted_by))
            .with("operator_halted_by", role(after.operator.halted_by))
            .with("paused", after.view.agent.policy.is_paused())
            .with_all(waits);
        Ok(report.with("signature", signature.to_string()))
    };
    signing.carry_out(change, done).await
}
