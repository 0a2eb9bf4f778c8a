use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::state::{Operator, Role};

use super::OperatorName;
use crate::network::Network;
use crate::report::Report;

pub async fn run(network: &Network, name: &OperatorName) -> Result<Report> {
    let address = name.address(network)?;
    let operator = super::read(network, &address).await?;
    Ok(describe("operator", &address, &operator))
}

/// Everything that the chain holds of an operator.
pub fn describe(title: &str, address: &Pubkey, operator: &Operator) -> Report {
    let transfer_authorities: Vec<String> =
        operator.transfer_authorities().iter().map(ToString::to_string).collect();
    Report::new(title)
        .with("operator", address.to_string())
        .with("id", operator.id)
        .with("created_by", operator.created_by.to_string())
        .with("halted_by", role(operator.halted_by))
        .with("admin", operator.admin.to_string())
        .with("pending_admin", somebody(&operator.pending_admin))
        .with("policy_authority", operator.policy_authority.to_string())
        .with("transfer_authorities", transfer_authorities)
        .with("guardian", somebody(&operator.guardian))
        .with("loosening_delay_seconds", operator.loosening_delay_seconds)
        .with("usdc_mint", operator.usdc_mint.to_string())
}

/// Who holds an account halted, by the number that it stores.
pub fn role(halted_by: u8) -> Option<&'static str> {
    Role::of_halt(halted_by).map(|role| match role {
        Role::Admin => "admin",
        Role::PolicyAuthority => "policy_authority",
        Role::Guardian => "guardian",
    })
}

/// The program writes "nobody" as the default key.
fn somebody(key: &Pubkey) -> Option<String> {
    (*key != Pubkey::default()).then(|| key.to_string())
}
