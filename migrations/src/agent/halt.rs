use anyhow::Result;
use serde_json::Value;
use solana_sdk::signature::Signature;

use super::AgentArgs;
use super::facts::describe;
use crate::change::Change;
use crate::network::Network;
use crate::operator::halt::Halt;
use crate::operator::show::role;
use crate::report::Report;

pub async fn run(network: &Network, args: &AgentArgs, halt: Halt) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let (wallet, operator, agent) = (signing.address(), located.operator_address, Some(located.address));
    let (change, waits) = match halt {
        Halt::Set => {
            (Change::new("agent halted", located.deployment.halt(wallet, operator, agent)).at_once(), None)
        }
        Halt::Lift => {
            let mut view = located.view.clone();
            view.agent.halted_by = 0;
            let now = network.time().await?;
            let draft = located.draft(network).await?;
            let waits = Value::from(draft.map(|draft| describe(&draft, &view, &located.operator, now)));
            let change = Change::new("agent resumed", located.deployment.resume(wallet, operator, agent));
            (change.with("waiting_policy", waits.clone()), Some(waits))
        }
    };
    let change = change.with("agent", located.address.to_string());
    let done = async |signature: Signature| {
        let after = args.locate(network).await?;
        let title = match (halt, after.operator.halted_by, after.view.agent.policy.is_paused()) {
            (Halt::Set, ..) => "agent halted; the admin alone resumes it, with `account resume`",
            (Halt::Lift, 0, false) => "agent resumed",
            (Halt::Lift, 0, true) => "agent resumed, but its policy pauses it, so it still pays nothing",
            (Halt::Lift, ..) => "agent resumed, but its operator is halted, so it still pays nothing",
        };
        let report = Report::new(title)
            .with("agent", located.address.to_string())
            .with("halted_by", role(after.view.agent.halted_by))
            .with("operator_halted_by", role(after.operator.halted_by))
            .with("paused", after.view.agent.policy.is_paused());
        let report = waits.into_iter().fold(report, |report, waits| report.with("waiting_policy", waits));
        Ok(report.with("signature", signature.to_string()))
    };
    signing.carry_out(change, done).await
}
