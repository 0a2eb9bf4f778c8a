//! `purser-migrate`: an operator's actions on a cluster with its own wallet, without the relayer. `purser` is the service, and
//! signs with the service's keys.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`arguments`] | texts of the command line, parsed once |
//! | [`network`] | the cluster: reads |
//! | [`signing`] | who signs and pays |
//! | [`change`] | one transaction: previewed, printed unsigned, or carried out |
//! | [`effects`] | what a transaction would change, before and after, as the cluster simulates it |
//! | [`meaning`] | what a transaction does, decoded from its bytes |
//! | [`submit`] | sends a printed transaction once it is signed |
//! | [`landing`] | follows one signed transaction until its outcome is certain |
//! | [`failure`] | errors, each in one line that says what to do |
//! | [`loader`] | the program's bytes: deploy, upgrade, refund, verify |
//! | [`operator`], [`agent`], [`grant`] | one file per verb |
//! | [`keys`] | new keypair files |
//! | [`tokens`] | token accounts of either token program, and amounts of any mint |
//! | [`report`] | the answer of a command, as text or as JSON |

mod agent;
mod arguments;
mod change;
mod effects;
mod failure;
mod grant;
mod keys;
mod landing;
mod loader;
mod meaning;
mod network;
mod operator;
mod report;
mod signing;
mod submit;
mod tokens;

use std::process::ExitCode;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::arguments::ClusterArgs;
use crate::loader::progress::say;
use crate::network::Network;
use crate::report::Report;

/// Deploys the Purser program to a cluster, and runs an operator on it, with your own wallet (`purser` is the service, which
/// signs with the service's keys).
#[derive(Parser)]
#[command(name = "purser-migrate", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Deploy the program and create an operator: `deploy`, then `operator create`; both may be done already
    Migrate(loader::migrate::MigrateArgs),
    /// Deploy the program, or upgrade it where its bytes differ; goes on where a broken run stopped
    Deploy(loader::deploy::DeployArgs),
    /// Take back the SOL of a deploy that was broken off
    Refund(loader::deploy::RefundArgs),
    /// Check that the cluster runs the committed build of the program (reads only)
    Verify(loader::verify::VerifyArgs),
    /// Hand over who may upgrade the program, or make it final; signed by the upgrade authority
    UpgradeAuthority(loader::authority::AuthorityArgs),
    /// Write a new keypair file, for a relayer or a wallet (asks no cluster)
    NewKey(keys::NewKeyArgs),
    /// Create and change an operator, the holder of the keys
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    /// Create, read and change agent accounts
    #[command(subcommand, alias = "agent")]
    Account(agent::AgentCommand),
    /// Let an account pay beyond its policy, one payee and amount at a time
    #[command(subcommand)]
    Grant(grant::GrantCommand),
    /// Say who may approve payments, and how much
    #[command(subcommand)]
    Approver(grant::ApproverCommand),
    /// Let one transfer pass that waits for a person; signed by an approver, the admin or, after the loosening delay, the policy
    /// authority
    Approve(grant::approve::ApproveArgs),
    /// Cap what several accounts spend together
    #[command(subcommand)]
    Budget(grant::budgets::BudgetCommand),
    /// Send a transaction that --unsigned printed and somebody signed
    Submit(submit::SubmitArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Some(contradiction) = cli.cluster.change.contradiction() {
        Cli::command().error(ErrorKind::ArgumentConflict, contradiction).exit();
    }
    match run(&cli) {
        Ok(report) => {
            report.print(cli.cluster.json);
            report.exit_code()
        }
        Err(error) => {
            say(&format!("error: {}", failure::one_line(&error)));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let network = || Network::connect(&cli.cluster);
        match &cli.command {
            Command::Migrate(args) => loader::migrate::run(&network()?, args).await,
            Command::Deploy(args) => loader::deploy::run(&network()?, args).await,
            Command::Refund(args) => loader::deploy::refund(&network()?, args).await,
            Command::Verify(args) => loader::verify::run(&network()?, args).await,
            Command::UpgradeAuthority(args) => loader::authority::run(&network()?, args).await,
            Command::NewKey(args) => keys::new_key(args),
            Command::Operator(command) => operator::run(&network()?, command).await,
            Command::Account(command) => agent::run(&network()?, command).await,
            Command::Grant(command) => grant::run(&network()?, command).await,
            Command::Approver(command) => grant::run_approver(&network()?, command).await,
            Command::Approve(args) => grant::approve::run(&network()?, args).await,
            Command::Budget(command) => grant::budgets::run(&network()?, command).await,
            Command::Submit(args) => submit::run(&network()?, args).await,
        }
    })
}
