use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::state::{Operator, Role};
use serde_json::{Value, json};

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
        .with_all(keys(operator))
}

/// The changeable fields of an operator, and its mint.
pub fn keys(operator: &Operator) -> [(&'static str, Value); 8] {
    let transfer_authorities: Vec<String> =
        operator.transfer_authorities().iter().map(ToString::to_string).collect();
    [
        ("halted_by", json!(role(operator.halted_by))),
        ("admin", json!(operator.admin.to_string())),
        ("pending_admin", json!(somebody(&operator.pending_admin))),
        ("policy_authority", json!(operator.policy_authority.to_string())),
        ("transfer_authorities", json!(transfer_authorities)),
        ("guardian", json!(somebody(&operator.guardian))),
        ("loosening_delay_seconds", json!(operator.loosening_delay_seconds)),
        ("usdc_mint", json!(operator.usdc_mint.to_string())),
    ]
}

/// Who set a halt, from the number that the account stores.
pub fn role(halted_by: u8) -> Option<&'static str> {
    Role::of_halt(halted_by).map(|role| match role {
        Role::Admin => "admin",
        Role::PolicyAuthority => "policy_authority",
        Role::Guardian => "guardian",
    })
}

/// The program encodes "nobody" as the default key.
fn somebody(key: &Pubkey) -> Option<String> {
    (*key != Pubkey::default()).then(|| key.to_string())
}
