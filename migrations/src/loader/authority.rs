//! `upgrade-authority`: who may replace the program, and with it every rule.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow, bail};
use clap::{ArgGroup, Args};
use solana_loader_v3_interface::instruction as loader;

use super::program;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
#[command(group(ArgGroup::new("whom").required(true).args(["to", "drop"])))]
pub struct AuthorityArgs {
    /// The new upgrade authority, as the address of a multisig. It does not sign, so look twice: nobody takes back what
    /// went to an address without an owner
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    to: Option<Pubkey>,
    /// Nobody upgrades the program any more, for ever
    #[arg(long)]
    drop: bool,
}

pub async fn run(network: &Network, args: &AuthorityArgs) -> Result<Report> {
    let signing = network.signing()?;
    let wallet = signing.address();
    let id = network.program;
    let program = program::read(network, &id).await?;
    let program = program.ok_or_else(|| anyhow!("the program {id} is not on {}", network.url))?;
    match program.upgrade_authority {
        Some(authority) if authority == wallet => {}
        Some(authority) => {
            bail!(
                "the upgrade authority is {authority}, and only it hands itself over; this wallet is {wallet}"
            )
        }
        None => bail!("the program {id} is final: it has no upgrade authority any more"),
    }
    let hand_over = loader::set_upgrade_authority(&id, &wallet, args.to.as_ref());
    let title = if args.drop { "the program is final" } else { "upgrade authority handed over" };
    let report = Report::new(title)
        .with("program_id", id.to_string())
        .with("upgrade_authority", args.to.map(|to| to.to_string()));
    let change = Change::of(report.clone(), hand_over);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}
