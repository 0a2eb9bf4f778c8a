//! An agent account: its policy, its recent payments, and the admin's access to its money.

pub mod bounds;
pub mod close;
pub mod create;
pub mod facts;
pub mod halt;
pub mod list;
pub mod of_operator;
pub mod pause;
pub mod recipients;
pub mod rent;
pub mod rules;
pub mod set_policy;
pub mod show;
pub mod tag_buckets;
pub mod waiting;
pub mod warnings;
pub mod withdraw;

use std::collections::HashMap;

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use purser::state::{Agent, AgentView, ClosedAgent, DraftView, Operator, PolicyDraft};
use purser_client::{Deployment, DraftAccounts};

use crate::arguments::{self, AccountId, AgentName};
use crate::network::Network;
use crate::operator::halt::Halt;
use crate::operator::{self, OperatorName};
use crate::report::Report;

#[derive(Subcommand)]
pub enum AgentCommand {
    /// Create an agent account with its policy, and its USDC token account; signed by policy authority or admin
    Create(create::CreateAccountArgs),
    /// List an operator's agent accounts (reads only)
    List(OperatorName),
    /// Show an agent's policy, the one that waits, what left it in the last 24 hours, and its balance (reads only)
    Show(AgentArgs),
    /// Change an agent's policy; rules that are not named stay as they are; signed by policy authority or admin
    SetPolicy(set_policy::SetPolicyArgs),
    /// Put the policy that waits in force; signed by policy authority, or before its time by the admin
    ApplyPolicy(waiting::WaitingArgs),
    /// Give up the policy that waits; signed by guardian, policy authority or admin
    DropPolicy(waiting::WaitingArgs),
    /// Stop an agent's transfers, until the admin resumes it; signed by guardian, policy authority or admin
    Halt(AgentArgs),
    /// Lift an agent's halt; signed by the admin
    Resume(AgentArgs),
    /// Set `paused` in an agent's policy; signed by policy authority or admin
    Pause(AgentArgs),
    /// Take `paused` out of an agent's policy; signed by policy authority or admin
    Unpause(AgentArgs),
    /// Take money out of a token account of the agent, past its policy; signed by the admin
    Withdraw(withdraw::WithdrawArgs),
    /// Close an agent that paid nothing for 25 hours, with its token account and its draft; signed by the admin
    Close(close::CloseArgs),
    /// Say what binds an account beside its policy: grants alone, a limit for 30 days, a budget; signed by policy authority or admin
    SetBounds(bounds::BoundsArgs),
    /// Give an account room for more payments a day, or take room back; signed by policy authority or admin
    TagBuckets(tag_buckets::TagBucketsArgs),
    /// Name another wallet that gets the account's rent back; signed by the one that gets it so far
    RentRefund(rent::RentRefundArgs),
    /// Send what an account holds beyond its rent to who gets it back; signed by anyone
    ReclaimRent(rent::ReclaimArgs),
}

pub async fn run(network: &Network, command: &AgentCommand) -> Result<Report> {
    match command {
        AgentCommand::Create(args) => create::run(network, args).await,
        AgentCommand::List(name) => list::run(network, name).await,
        AgentCommand::Show(args) => show::run(network, args).await,
        AgentCommand::SetPolicy(args) => set_policy::run(network, args).await,
        AgentCommand::ApplyPolicy(args) => waiting::apply(network, args).await,
        AgentCommand::DropPolicy(args) => waiting::drop(network, args).await,
        AgentCommand::Halt(args) => halt::run(network, args, Halt::Set).await,
        AgentCommand::Resume(args) => halt::run(network, args, Halt::Lift).await,
        AgentCommand::Pause(args) => pause::run(network, args, true).await,
        AgentCommand::Unpause(args) => pause::run(network, args, false).await,
        AgentCommand::Withdraw(args) => withdraw::run(network, args).await,
        AgentCommand::Close(args) => close::run(network, args).await,
        AgentCommand::SetBounds(args) => bounds::run(network, args).await,
        AgentCommand::TagBuckets(args) => tag_buckets::run(network, args).await,
        AgentCommand::RentRefund(args) => rent::set(network, args).await,
        AgentCommand::ReclaimRent(args) => rent::reclaim(network, args).await,
    }
}

/// Which agent is meant.
#[derive(Args)]
pub struct AgentArgs {
    /// The account: its id, found under its operator, or its address
    #[arg(long = "account", alias = "agent", value_name = "acct_ID|ADDRESS", value_parser = arguments::agent_name)]
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
    pub deployment: Deployment,
}

impl AgentArgs {
    pub async fn locate(&self, network: &Network) -> Result<LocatedAgent> {
        let address = match self.agent {
            AgentName::Address(address) => address,
            AgentName::Id(id) => {
                let operator = self.operator.address(network)?;
                by_id(network, &operator)
                    .await?
                    .remove(&id)
                    .ok_or_else(|| unknown(network, &operator, &id))?
            }
        };
        let Some(view) = find(network, &address).await? else {
            ensure!(closed(network, &address).await?.is_none(), "the agent account {address} was closed");
            bail!(
                "{address} is not an agent account on {}: name its operator with --operator, or pass its address",
                network.url
            );
        };
        let operator_address = view.agent.operator;
        ensure!(
            !self.operator.is_given() || self.operator.address(network)? == operator_address,
            "the agent {address} belongs to the operator {operator_address}"
        );
        let operator = operator::read(network, &operator_address).await?;
        let deployment = network.deployment(operator.usdc_mint);
        Ok(LocatedAgent { address, view, operator_address, operator, deployment })
    }
}

impl LocatedAgent {
    /// The accounts of a change signed by `authority`.
    pub fn signed_by(&self, authority: Pubkey) -> DraftAccounts {
        DraftAccounts { authority, operator: self.operator_address, agent: self.address }
    }

    /// The agent's draft, sealed or not.
    pub async fn draft(&self, network: &Network) -> Result<Option<DraftView>> {
        let address = self.deployment.draft_address(&self.address);
        let account = network.account(&address).await?.filter(|account| account.owner == network.program);
        let draft = account.map(|account| PolicyDraft::read(&account.data));
        draft.map(|draft| draft.context("the agent's draft has an unknown layout")).transpose()
    }
}

/// The agent accounts of an operator by id. An id is a hash of its account's address, so accounts are found by listing them.
pub async fn by_id(network: &Network, operator: &Pubkey) -> Result<HashMap<AccountId, Pubkey>> {
    let account_ids = network.account_ids().await?;
    let agents = of_operator::agents_of(network, operator).await?;
    Ok(agents.into_iter().map(|(address, _)| (AccountId(account_ids.bytes_of(&address)), address)).collect())
}

/// The operator has no account with this id.
pub fn unknown(network: &Network, operator: &Pubkey, id: &AccountId) -> anyhow::Error {
    anyhow!(
        "{id} is not an agent account of the operator {operator} on {}: name its operator with --operator, or pass its address",
        network.url
    )
}

/// What an agent that was closed left at `address`.
pub async fn closed(network: &Network, address: &Pubkey) -> Result<Option<ClosedAgent>> {
    let account = network.account(address).await?.filter(|account| account.owner == network.program);
    Ok(account.and_then(|account| ClosedAgent::read(&account.data)))
}

/// The agent at `address`, or `None` if there is none.
pub async fn find(network: &Network, address: &Pubkey) -> Result<Option<AgentView>> {
    let account = network.account(address).await?.filter(|account| account.owner == network.program);
    Ok(account.and_then(|account| Agent::read(&account.data)))
}
