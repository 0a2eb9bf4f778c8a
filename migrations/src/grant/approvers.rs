use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, ensure};
use clap::Args;
use purser::state::Approver;
use purser_policy::UsdcAmount;
use serde_json::Value;

use super::facts::of_approver;
use crate::agent::of_operator::owned;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::{Report, Table};

#[derive(Args)]
pub struct AddArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The approver's own wallet: neither the admin's, nor a key on a server
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    key: Pubkey,
    /// The largest payment that it may approve, in USDC. A lower one voids nothing that it approved: for that, remove the approver
    #[arg(long, value_name = "USDC", value_parser = arguments::usdc)]
    max_grant: UsdcAmount,
    /// The most that it may approve in any 24 hours, in USDC
    #[arg(long, value_name = "USDC", value_parser = arguments::usdc)]
    max_daily: UsdcAmount,
}

#[derive(Args)]
pub struct RemoveArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The approver's wallet
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    key: Pubkey,
}

pub async fn add(network: &Network, args: &AddArgs) -> Result<Report> {
    let address = args.name.address(network)?;
    let operator = operator::read(network, &address).await?;
    ensure!(
        operator.may_approve(&args.key),
        "{} is the admin or a key that a server holds, and an approver must be another one",
        args.key
    );
    let signing = network.signing()?;
    let [max_grant, max_daily] = [args.max_grant, args.max_daily].map(UsdcAmount::micros);
    let deployment = network.deployment(operator.usdc_mint);
    let set = deployment.set_approver(signing.address(), address, args.key, max_grant, max_daily);
    let report = Report::new("approver set")
        .with("operator", address.to_string())
        .with("key", args.key.to_string())
        .with("max_grant_usdc", args.max_grant.to_string())
        .with("max_daily_usdc", args.max_daily.to_string());
    let change = Change::of(report.clone(), set);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

pub async fn remove(network: &Network, args: &RemoveArgs) -> Result<Report> {
    let address = args.name.address(network)?;
    let operator = operator::read(network, &address).await?;
    let deployment = network.deployment(operator.usdc_mint);
    let found = network.account(&deployment.approver_address(&address, &args.key)).await?;
    found
        .filter(|account| account.owner == network.program)
        .and_then(|account| Approver::read(&account.data))
        .filter(|approver| !approver.is_removed())
        .with_context(|| format!("{} is not an approver of the operator {address}", args.key))?;
    let signing = network.signing()?;
    let remove = deployment.remove_approver(signing.address(), address, args.key);
    let report = Report::new("approver removed, and all open grants of approvers voided")
        .with("operator", address.to_string())
        .with("key", args.key.to_string());
    let change = Change::of(report.clone(), remove);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

pub async fn list(network: &Network, name: &OperatorName) -> Result<Report> {
    let address = name.address(network)?;
    let now = network.time().await?;
    let operator_at = std::mem::offset_of!(Approver, operator);
    let found = owned::<Approver>(network, operator_at, &address).await?;
    let mut found: Vec<_> = found.iter().filter_map(|(_, data)| Approver::read(data)).collect();
    found.retain(|approver| !approver.is_removed());
    found.sort_by_key(|approver| approver.key);
    let rows: Vec<Vec<Value>> = found
        .iter()
        .map(|approver| of_approver(approver, now).into_iter().map(|(_, value)| value).collect())
        .collect();
    let columns =
        found.first().map_or(Vec::new(), |first| of_approver(first, now).map(|(name, _)| name).to_vec());
    Ok(Report::new("approvers")
        .with("operator", address.to_string())
        .with("count", rows.len())
        .table(Table { name: "approvers", columns, headings: 0, rows }))
}
