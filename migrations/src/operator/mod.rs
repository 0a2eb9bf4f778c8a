//! An operator: who holds which key for a set of agents.

pub mod accept_admin;
pub mod create;
pub mod halt;
pub mod show;
pub mod update;

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use purser::state::Operator;

use crate::arguments;
use crate::change::Trial;
use crate::network::Network;
use crate::report::Report;

#[derive(Subcommand)]
pub enum OperatorCommand {
    /// Create an operator, whose admin is the wallet
    Create(create::CreateOperatorArgs),
    /// Show an operator's keys and state (reads only)
    Show(OperatorName),
    /// Change keys and the loosening delay; signed by the admin
    Update(update::UpdateArgs),
    /// Take over the admin's place that `update --pending-admin` offered to this wallet
    AcceptAdmin(accept_admin::AcceptAdminArgs),
    /// Stop the transfers of all agents, until the admin resumes them; signed by guardian, policy authority or admin
    Halt(OperatorName),
    /// Lift the operator's halt and, with --accounts, those that accounts have by themselves; signed by the admin
    Resume(halt::ResumeArgs),
}

pub async fn run(network: &Network, command: &OperatorCommand) -> Result<Report> {
    match command {
        OperatorCommand::Create(args) => create::run(network, args, Trial::Asked).await,
        OperatorCommand::Show(name) => show::run(network, name).await,
        OperatorCommand::Update(args) => update::run(network, args).await,
        OperatorCommand::AcceptAdmin(args) => accept_admin::run(network, args).await,
        OperatorCommand::Halt(name) => halt::run(network, name).await,
        OperatorCommand::Resume(args) => halt::resume(network, args).await,
    }
}

/// Which operator is meant.
#[derive(Args)]
pub struct OperatorName {
    /// The operator's address [default: the operator that this wallet created under --id]
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    operator: Option<Pubkey>,
    /// The operator's number among those that this wallet created [default: 0]
    #[arg(long, value_name = "N", conflicts_with = "operator")]
    id: Option<u64>,
}

impl OperatorName {
    /// Whether the command line names it, rather than leaving it to the defaults.
    pub fn is_given(&self) -> bool {
        self.operator.is_some() || self.id.is_some()
    }

    pub fn address(&self, network: &Network) -> Result<Pubkey> {
        match self.operator {
            Some(operator) => Ok(operator),
            None => Ok(address_of(network, &network.signer_address()?, self.id.unwrap_or(0))),
        }
    }
}

/// The address of the operator that `admin` created, or would create, under `id`.
pub fn address_of(network: &Network, admin: &Pubkey, id: u64) -> Pubkey {
    // The mint does not affect addresses.
    network.deployment(Pubkey::default()).operator_address(admin, id)
}

/// The operator at `address`, or `None` if there is none.
pub async fn find(network: &Network, address: &Pubkey) -> Result<Option<Operator>> {
    match network.account(address).await? {
        // Sending lamports to the address does not create an operator.
        Some(account) if account.owner == network.program => match Operator::read(&account.data) {
            Some(operator) => Ok(Some(operator)),
            None => bail!("{address} is an account of the program, but not an operator"),
        },
        _ => Ok(None),
    }
}

/// The operator at `address`, which must exist.
pub async fn read(network: &Network, address: &Pubkey) -> Result<Operator> {
    find(network, address).await?.ok_or_else(|| {
        anyhow!(
            "{address} is not an operator on {}: name one with --operator, or create it with `operator create`",
            network.url
        )
    })
}
