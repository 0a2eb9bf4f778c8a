use anyhow::{Result, ensure};
use solana_sdk::signature::Signature;

use super::AgentArgs;
use crate::change::Change;
use crate::network::Network;
use crate::operator::show::role;
use crate::report::Report;

/// Sets `paused` in the policy, and nothing else.
pub async fn run(network: &Network, args: &AgentArgs, paused: bool) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    let waits = !paused
        && located.view.agent.policy.is_paused()
        && wallet == located.operator.policy_authority
        && located.operator.loosening_delay_seconds > 0;
    ensure!(
        !waits,
        "lifting a pause loosens the policy, and this operator lets that wait: begin the wait with \
         `account set-policy --account {} --paused false`, or let the admin's wallet unpause at once",
        located.address
    );
    let set = located.deployment.set_paused(located.signed_by(wallet), paused);
    let change = match paused {
        true => Change::new("agent paused by its policy", set).at_once(),
        false => Change::new("agent not paused any more", set),
    };
    let done = async |signature: Signature| {
        let after = args.locate(network).await?;
        let agent = &after.view.agent;
        let title = match (paused, after.operator.halted_by | agent.halted_by) {
            (true, _) => "agent paused by its policy",
            (false, 0) => "agent not paused any more",
            (false, _) => "agent not paused any more, but it is halted, so it still pays nothing",
        };
        Ok(Report::new(title)
            .with("agent", located.address.to_string())
            .with("paused", agent.policy.is_paused())
            .with("halted_by", role(agent.halted_by))
            .with("operator_halted_by", role(after.operator.halted_by))
            .with("policy_version", agent.policy_version)
            .with("signature", signature.to_string()))
    };
    signing.carry_out(change.with("agent", located.address.to_string()), done).await
}
