use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use clap::{ArgGroup, Args};
use purser::{OperatorUpdate, accounts, instruction};

use super::OperatorName;
use super::show::describe;
use crate::arguments::{self, AddressOrNone};
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
#[command(group(
    ArgGroup::new("change")
        .required(true)
        .multiple(true)
        .args(["policy_authority", "transfer_authority", "guardian", "pending_admin"])
))]
pub struct UpdateArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The new policy authority
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    policy_authority: Option<Pubkey>,
    /// The new transfer authority
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    transfer_authority: Option<Pubkey>,
    /// The new guardian, or `none`
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    guardian: Option<AddressOrNone>,
    /// Offer the admin's place to this key, which takes it with `operator accept-admin`; `none` takes the offer back
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    pending_admin: Option<AddressOrNone>,
}

pub async fn run(network: &Network, args: &UpdateArgs) -> Result<Report> {
    let address = args.name.address(network)?;
    super::read(network, &address).await?;
    let signing = network.signing()?;
    let update = OperatorUpdate {
        policy_authority: args.policy_authority,
        transfer_authority: args.transfer_authority,
        guardian: args.guardian.map(Pubkey::from),
        pending_admin: args.pending_admin.map(Pubkey::from),
    };
    let accounts = accounts::UpdateOperator { admin: signing.address(), operator: address };
    let signature = signing.call(accounts, instruction::UpdateOperator { update }).await?;
    let operator = super::read(network, &address).await?;
    Ok(describe("operator updated", &address, &operator).with("signature", signature.to_string()))
}
