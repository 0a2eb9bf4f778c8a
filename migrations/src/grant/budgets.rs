use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use purser::BudgetCaps;
use purser::state::Budget;
use purser_policy::{Limit, UsdcAmount, Warning, budget_warnings};
use serde_json::{Value, json};

use super::facts::of_budget;
use crate::agent::of_operator::{agents_of, owned};
use crate::agent::warnings::limits;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::operator::{self, OperatorName};
use crate::report::{Report, Table};

#[derive(Subcommand)]
pub enum BudgetCommand {
    /// Make a budget, which accounts name with `account set-bounds --budget`; signed by the admin
    Create(BudgetArgs),
    /// Give a budget other caps; what the policy authority raises waits for the loosening delay, what is lowered holds at once
    /// and drops what waits; signed by admin, policy authority or, to lower, guardian
    Set(BudgetArgs),
    /// List an operator's budgets, what left through each, and what waits (reads only)
    List(OperatorName),
    /// Close a budget in which nothing counts, 31 days after its last payment at the latest; signed by the admin
    Close(CloseBudgetArgs),
}

#[derive(Args)]
pub struct BudgetArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The budget's number among those of the operator
    #[arg(long, value_name = "N", default_value_t = 0)]
    budget_id: u64,
    /// The most that may leave through it in any 24 hours, in USDC
    #[arg(long, value_name = "USDC", value_parser = arguments::usdc)]
    max_daily: UsdcAmount,
    /// The most in any 30 days, by calendar days; or `none`
    #[arg(long, value_name = "USDC|none", value_parser = arguments::limit, default_value = "none")]
    max_30_days: Limit,
}

#[derive(Args)]
pub struct CloseBudgetArgs {
    #[command(flatten)]
    name: OperatorName,
    /// The budget's number among those of the operator
    #[arg(long, value_name = "N", default_value_t = 0)]
    budget_id: u64,
}

pub async fn run(network: &Network, command: &BudgetCommand) -> Result<Report> {
    match command {
        BudgetCommand::Create(args) => set(network, args, true).await,
        BudgetCommand::Set(args) => set(network, args, false).await,
        BudgetCommand::List(name) => list(network, name).await,
        BudgetCommand::Close(args) => close(network, args).await,
    }
}

async fn set(network: &Network, args: &BudgetArgs, is_new: bool) -> Result<Report> {
    let operator = args.name.address(network)?;
    let deployment = network.deployment(operator::read(network, &operator).await?.usdc_mint);
    let address = deployment.budget_address(&operator, args.budget_id);
    let known = find(network, &address).await?;
    ensure!(
        known.is_some() != is_new,
        match is_new {
            true => format!("the budget {address} is there already: change it with `budget set`"),
            false => format!(
                "the operator {operator} has no budget {}: make it with `budget create`",
                args.budget_id
            ),
        }
    );
    let caps = BudgetCaps {
        max_daily_spend: args.max_daily.micros(),
        max_30_day_spend: match args.max_30_days {
            Limit::AtMost(cap) => Some(cap.micros()),
            Limit::Unlimited => None,
        },
    };
    let named = agents_of(network, &operator)
        .await?
        .into_iter()
        .filter(|(_, view)| view.bounds().budget == Some(address));
    let single_limits: Vec<Limit> = named.map(|(_, view)| view.policy().max_single_transfer).collect();
    let warnings = budget_warnings(limits(&caps), &single_limits).map(Warning::sentence);
    let warnings: Vec<&str> = warnings.collect();
    let signing = network.signing()?;
    let set = deployment.set_budget(signing.address(), operator, args.budget_id, caps, None);
    let title = if is_new { "budget made" } else { "budget set" };
    let change =
        Change::new(title, set).with("budget", address.to_string()).with("warnings", warnings.clone());
    signing
        .carry_out(change, async |signature| {
            let budget = find(network, &address).await?.context("the budget is not there any more")?;
            let operator = operator::read(network, &operator).await?;
            let facts = of_budget(&budget, &operator, network.time().await?);
            let report = Report::new(title).with("budget", address.to_string()).with("warnings", warnings);
            let report = report.with_all(facts);
            Ok(report.with("signature", signature.to_string()))
        })
        .await
}

async fn close(network: &Network, args: &CloseBudgetArgs) -> Result<Report> {
    let operator = args.name.address(network)?;
    let deployment = network.deployment(operator::read(network, &operator).await?.usdc_mint);
    let address = deployment.budget_address(&operator, args.budget_id);
    find(network, &address).await?.with_context(|| format!("{address} is not a budget"))?;
    let agents = agents_of(network, &operator).await?;
    let names = |(_, view): &&(Pubkey, purser::state::AgentView)| view.bounds().budget == Some(address);
    let named: Vec<String> = agents.iter().filter(names).map(|(agent, _)| agent.to_string()).collect();
    let signing = network.signing()?;
    let close = deployment.close_budget(signing.address(), operator, address);
    let report =
        Report::new("budget closed; accounts that name it pay nothing until they name another, or none")
            .with("budget", address.to_string())
            .with("named_by", named);
    let change = Change::of(report.clone(), close);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

async fn list(network: &Network, name: &OperatorName) -> Result<Report> {
    let address = name.address(network)?;
    let operator = operator::read(network, &address).await?;
    let now = network.time().await?;
    let found = owned::<Budget>(network, std::mem::offset_of!(Budget, operator), &address).await?;
    let mut found: Vec<_> = found.iter().filter_map(|(at, data)| Some((at, Budget::read(data)?))).collect();
    found.sort_by_key(|(_, budget)| budget.id);
    let row = |(at, budget): &(&Pubkey, Budget)| {
        let first = [("budget", json!(at.to_string())), ("id", json!(budget.id))];
        first.into_iter().chain(of_budget(budget, &operator, now)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    let columns = rows.first().map_or(Vec::new(), |row| row.iter().map(|(name, _)| *name).collect());
    let rows: Vec<Vec<Value>> =
        rows.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect()).collect();
    Ok(Report::new("budgets").with("operator", address.to_string()).with("count", rows.len()).table(Table {
        name: "budgets",
        columns,
        headings: 0,
        rows,
    }))
}

async fn find(network: &Network, address: &Pubkey) -> Result<Option<Budget>> {
    let account = network.account(address).await?.filter(|account| account.owner == network.program);
    Ok(account.and_then(|account| Budget::read(&account.data)))
}
