//! `migrate`: from nothing to an operator, in one command that can be repeated.

use anyhow::Result;
use clap::Args;

use super::deploy::{self, DeployArgs};
use super::program;
use crate::change::Trial;
use crate::network::Network;
use crate::operator::create::{self, CreateOperatorArgs};
use crate::report::Report;

#[derive(Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    deploy: DeployArgs,
    #[command(flatten)]
    operator: CreateOperatorArgs,
}

pub async fn run(network: &Network, args: &MigrateArgs) -> Result<Report> {
    // Check before any SOL is spent on the program.
    create::check(network, &args.operator).await?;
    let deployed = deploy::run(network, &args.deploy).await?;
    let trial = match program::read(network, &network.program).await? {
        Some(_) => Trial::Asked,
        None => Trial::TooEarly,
    };
    Ok(deployed.and(create::run(network, &args.operator, trial).await?))
}
