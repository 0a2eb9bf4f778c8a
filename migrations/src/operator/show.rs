use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::state::Operator;

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
    Report::new(title)
        .with("operator", address.to_string())
        .with("id", operator.id)
        .with("created_by", operator.created_by.to_string())
        .with("admin", operator.admin.to_string())
        .with("pending_admin", somebody(&operator.pending_admin))
        .with("policy_authority", operator.policy_authority.to_string())
        .with("transfer_authority", operator.transfer_authority.to_string())
        .with("guardian", somebody(&operator.guardian))
        .with("usdc_mint", operator.usdc_mint.to_string())
        .with("paused", operator.paused != 0)
}

/// The program writes "nobody" as the default key.
fn somebody(key: &Pubkey) -> Option<String> {
    (*key != Pubkey::default()).then(|| key.to_string())
}
