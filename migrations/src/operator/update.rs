use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::{ArgGroup, Args};
use purser::OperatorUpdate;
use purser::state::Operator;

use super::OperatorName;
use super::create::check_transfer_authorities;
use super::show::describe;
use crate::agent::of_operator::agents_of;
use crate::arguments::{self, AddressOrNone};
use crate::change::Change;
use crate::grant::waiting;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
#[command(group(
    ArgGroup::new("change")
        .required(true)
        .multiple(true)
        .args([
            "policy_authority", "transfer_authorities", "add_transfer_authority", "remove_transfer_authority",
            "guardian", "pending_admin", "loosening_delay",
        ])
))]
pub struct UpdateArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The new policy authority
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    policy_authority: Option<Pubkey>,
    /// The transfer authorities from here on, in the place of all that there are; may be repeated, up to eight keys
    #[arg(
        long = "transfer-authority",
        value_name = "ADDRESS",
        value_parser = arguments::address,
        conflicts_with_all = ["add_transfer_authority", "remove_transfer_authority"]
    )]
    transfer_authorities: Vec<Pubkey>,
    /// One more transfer authority beside those that there are; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    add_transfer_authority: Vec<Pubkey>,
    /// A transfer authority that is none any more; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    remove_transfer_authority: Vec<Pubkey>,
    /// The new guardian, or `none`
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    guardian: Option<AddressOrNone>,
    /// Offer the admin's place to this key, which takes it with `operator accept-admin`; `none` takes the offer back
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    pending_admin: Option<AddressOrNone>,
    /// How long a policy waits that loosens anything, those that wait already too: seconds, or as 15m, 1h, 2d; at most 30d
    #[arg(long, value_name = "TIME", value_parser = arguments::delay)]
    loosening_delay: Option<u32>,
}

pub async fn run(network: &Network, args: &UpdateArgs) -> Result<Report> {
    let address = args.name.address(network)?;
    let before = super::read(network, &address).await?;
    let transfer_authorities = args.transfer_authorities(&before)?;
    let policy_authority = args.policy_authority.unwrap_or(before.policy_authority);
    let guardian = args.guardian.map_or(before.guardian, Pubkey::from);
    ensure!(
        policy_authority != before.admin,
        "{policy_authority} is the admin, and the policy authority must be another key"
    );
    check_transfer_authorities(&transfer_authorities, &[before.admin, policy_authority, guardian])?;
    let signing = network.signing()?;
    let update = OperatorUpdate {
        policy_authority: args.policy_authority,
        transfer_authorities: (transfer_authorities != before.transfer_authorities())
            .then_some(transfer_authorities),
        guardian: args.guardian.map(Pubkey::from),
        pending_admin: args.pending_admin.map(Pubkey::from),
        loosening_delay_seconds: args.loosening_delay,
    };
    let update = network.deployment(before.usdc_mint).update_operator(signing.address(), address, update);
    let waits = match args.loosening_delay {
        // What began to wait under another delay may wait for longer than this one says, or for the admin.
        Some(seconds) => {
            let after = Operator { loosening_delay_seconds: seconds, ..before };
            let agents = agents_of(network, &address).await?;
            waiting::all(network, &address, &after, &agents).await?.to_vec()
        }
        None => Vec::new(),
    };
    let title = "operator updated";
    let report = Report::new(title).with("operator", address.to_string()).with_all(waits.clone());
    let change = Change::of(report, update);
    signing
        .carry_out(change, async |signature| {
            let operator = super::read(network, &address).await?;
            let report = describe(title, &address, &operator).with_all(waits);
            Ok(report.with("signature", signature.to_string()))
        })
        .await
}

impl UpdateArgs {
    /// All transfer authorities after the update.
    fn transfer_authorities(&self, before: &Operator) -> Result<Vec<Pubkey>> {
        if !self.transfer_authorities.is_empty() {
            return Ok(self.transfer_authorities.clone());
        }
        let mut keys = before.transfer_authorities().to_vec();
        for key in &self.remove_transfer_authority {
            // This must not pass silently: whoever mistypes a stolen key would think it gone.
            ensure!(
                keys.contains(key),
                "{key} is not a transfer authority of this operator: see `operator show`"
            );
            keys.retain(|other| other != key);
        }
        for key in &self.add_transfer_authority {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        Ok(keys)
    }
}
