use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::Args;

use super::show::describe;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct AcceptAdminArgs {
    /// The operator's address
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    operator: Pubkey,
}

pub async fn run(network: &Network, args: &AcceptAdminArgs) -> Result<Report> {
    let before = super::read(network, &args.operator).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    ensure!(
        before.pending_admin == wallet,
        "the admin's place is not offered to this wallet: the admin does so with \
         `operator update --operator {} --pending-admin {wallet}`",
        args.operator
    );
    let accept = network.deployment(before.usdc_mint).accept_admin(wallet, args.operator);
    let change = Change::new("admin handed over", accept).with("operator", args.operator.to_string());
    signing
        .carry_out(change, async |signature| {
            let operator = super::read(network, &args.operator).await?;
            Ok(describe("admin handed over", &args.operator, &operator)
                .with("signature", signature.to_string()))
        })
        .await
}
