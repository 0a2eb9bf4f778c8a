//! Grants of an account, the approvers who open some, and budgets of several accounts.

pub mod approve;
pub mod approvers;
pub mod budgets;
pub mod close;
pub mod facts;
pub mod list;
pub mod open;
pub mod waiting;

use anyhow::Result;
use clap::Subcommand;

use crate::agent::AgentArgs;
use crate::network::Network;
use crate::operator::OperatorName;
use crate::report::Report;

#[derive(Subcommand)]
pub enum GrantCommand {
    /// Let an account pay one payee beyond its policy; signed by the admin, by the policy authority, whose grants wait for the
    /// loosening delay, or by an approver, for one payment
    Open(open::OpenArgs),
    /// List an account's grants, and when those that wait begin to pay (reads only)
    List(AgentArgs),
    /// Take a grant back; signed by guardian, policy authority or admin, or once it is over by anyone
    Close(close::CloseGrantArgs),
    /// Take all grants of an account back at once; signed by guardian, policy authority or admin
    Void(AgentArgs),
}

#[derive(Subcommand)]
pub enum ApproverCommand {
    /// Make a key an approver, or give it other limits; signed by the admin
    Add(approvers::AddArgs),
    /// List an operator's approvers, and what they granted in the last 24 hours (reads only)
    List(OperatorName),
    /// Remove an approver, and void every open grant of all approvers; signed by the admin
    Remove(approvers::RemoveArgs),
}

pub async fn run(network: &Network, command: &GrantCommand) -> Result<Report> {
    match command {
        GrantCommand::Open(args) => open::run(network, args).await,
        GrantCommand::List(args) => list::run(network, args).await,
        GrantCommand::Close(args) => close::run(network, args).await,
        GrantCommand::Void(args) => close::void(network, args).await,
    }
}

pub async fn run_approver(network: &Network, command: &ApproverCommand) -> Result<Report> {
    match command {
        ApproverCommand::Add(args) => approvers::add(network, args).await,
        ApproverCommand::List(name) => approvers::list(network, name).await,
        ApproverCommand::Remove(args) => approvers::remove(network, args).await,
    }
}
