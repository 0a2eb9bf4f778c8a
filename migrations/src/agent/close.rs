use anyhow::Result;
use purser::{accounts, instruction};

use super::AgentArgs;
use crate::arguments::account_id;
use crate::network::Network;
use crate::report::Report;

pub async fn run(network: &Network, args: &AgentArgs) -> Result<Report> {
    let located = args.locate(network).await?;
    let signing = network.signing()?;
    let accounts = accounts::CloseAgent {
        admin: signing.address(),
        operator: located.operator_address,
        agent: located.address,
        token_account: located.view.agent.token_account,
        token_program: anchor_spl::token::ID,
    };
    let signature = signing.call(accounts, instruction::CloseAgent {}).await?;
    Ok(Report::new("agent account closed, its rent is back in the wallet")
        .with("agent", located.address.to_string())
        .with("account_id", account_id(&located.view.agent.agent_id))
        .with("signature", signature.to_string()))
}
