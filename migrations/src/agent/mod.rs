//! An agent account: its policy, what it did lately, and the admin's way to its money.

pub mod close;
pub mod draft;
pub mod pause;
pub mod set_policy;
pub mod show;
pub mod withdraw;

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow, ensure};
use clap::{Args, Subcommand};
use purser::constants::AGENT_SEED;
use purser::state::{Agent, AgentView, Operator};

use crate::arguments::{self, AgentName};
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::Report;

#[derive(Subcommand)]
pub enum AgentCommand {
    /// Show an agent's policy, what left it in the last 24 hours, and its balance (reads only)
    Show(AgentArgs),
    /// Replace an agent's whole policy; signed by policy authority or admin
    SetPolicy(set_policy::SetPolicyArgs),
    /// Stop an agent's transfers; signed by guardian, policy authority or admin
    Pause(AgentArgs),
    /// Let an agent's transfers go on; signed by policy authority or admin
    Resume(AgentArgs),
    /// Take USDC out of an agent's account, past its policy; signed by the admin
    Withdraw(withdraw::WithdrawArgs),
    /// Close an agent's account that is empty and paid nothing for 24 hours; signed by the admin, who gets the rent
    Close(AgentArgs),
}

pub async fn run(network: &Network, command: &AgentCommand) -> Result<Report> {
    match command {
        AgentCommand::Show(args) => show::run(network, args).await,
        AgentCommand::SetPolicy(args) => set_policy::run(network, args).await,
        AgentCommand::Pause(args) => pause::run(network, args, true).await,
        AgentCommand::Resume(args) => pause::run(network, args, false).await,
        AgentCommand::Withdraw(args) => withdraw::run(network, args).await,
        AgentCommand::Close(args) => close::run(network, args).await,
    }
}

/// Which agent is meant.
#[derive(Args)]
pub struct AgentArgs {
    /// The agent: its account id, found under its operator, or its address
    #[arg(long, value_name = "acct_ID|ADDRESS", value_parser = arguments::agent_name)]
    agent: AgentName,
    #[command(flatten)]
    operator: OperatorName,
}

/// An agent and its operator, as the chain holds them.
pub struct LocatedAgent {
    pub address: Pubkey,
    pub view: AgentView,
    pub operator_address: Pubkey,
    pub operator: Operator,
}

impl AgentArgs {
    pub async fn locate(&self, network: &Network) -> Result<LocatedAgent> {
        let address = match self.agent {
            AgentName::Address(address) => address,
            AgentName::Id(id) => address_of(&self.operator.address(network)?, &id),
        };
        let view = find(network, &address).await?.ok_or_else(|| {
            anyhow!(
                "{address} is no agent account on {}: name its operator with --operator, or pass its address",
                network.url
            )
        })?;
        let operator_address = view.agent.operator;
        ensure!(
            !self.operator.is_given() || self.operator.address(network)? == operator_address,
            "the agent {address} belongs to the operator {operator_address}"
        );
        let operator = operator::read(network, &operator_address).await?;
        Ok(LocatedAgent { address, view, operator_address, operator })
    }
}

/// The agent account of an operator under an id.
pub fn address_of(operator: &Pubkey, id: &[u8; 16]) -> Pubkey {
    Pubkey::find_program_address(&[AGENT_SEED, operator.as_ref(), id], &purser::ID).0
}

/// The agent at `address`, or `None` where there is none.
async fn find(network: &Network, address: &Pubkey) -> Result<Option<AgentView>> {
    let account = network.account(address).await?.filter(|account| account.owner == purser::ID);
    Ok(account.and_then(|account| Agent::read(&account.data)))
}
