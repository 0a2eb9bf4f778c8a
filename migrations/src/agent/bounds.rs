use anyhow::{Result, ensure};
use clap::{ArgGroup, Args};
use purser::Bounds;
use purser::state::Budget;
use purser_client::owned;
use purser_policy::{Limit, UsdcAmount};

use super::facts::in_usdc;
use super::{AgentArgs, warnings};
use crate::arguments::{self, AddressOrNone};
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
#[command(group(
    ArgGroup::new("bounds").required(true).multiple(true).args(["by_grant_only", "max_30_days", "budget"])
))]
pub struct BoundsArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// Whether the account pays by grants alone, which say whom and how much [default: as it is]
    #[arg(long, value_name = "true|false", action = clap::ArgAction::Set)]
    by_grant_only: Option<bool>,
    /// The most that may leave in any 30 days, by calendar days and counted from when it is set; or `none` [default: as it is]
    #[arg(long, value_name = "USDC|none", value_parser = arguments::limit)]
    max_30_days: Option<Limit>,
    /// The budget that it pays through, made by `budget create`; or `none` [default: as it is]
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    budget: Option<AddressOrNone>,
}

/// Replaces what binds the account beside its policy.
pub async fn run(network: &Network, args: &BoundsArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let signing = network.signing()?;
    let wallet = signing.address();
    let current = located.view.bounds();
    let cap = |limit| match limit {
        Limit::AtMost(cap) => Some(UsdcAmount::micros(cap)),
        Limit::Unlimited => None,
    };
    let bounds = Bounds {
        by_grant_only: args.by_grant_only.unwrap_or(current.by_grant_only),
        max_30_day_spend: args.max_30_days.map_or(current.max_30_day_spend, cap),
        budget: match args.budget {
            Some(AddressOrNone::Address(budget)) => Some(budget),
            Some(AddressOrNone::Nobody) => None,
            None => current.budget,
        },
    };
    if let Some(budget) = bounds.budget {
        let account = network.account(&budget).await?.filter(|account| account.owner == network.program);
        let known = account.and_then(|account| Budget::read(&account.data));
        let own = known.is_some_and(|known| known.operator == located.operator_address);
        ensure!(
            own,
            "{budget} is no budget of the operator {}: the account would pay nothing",
            located.operator_address
        );
    }
    let waits = bounds.loosens(&current)
        && wallet == located.operator.policy_authority
        && located.operator.loosening_delay_seconds > 0;
    ensure!(
        !waits,
        "this loosens what binds the account, and where loosened policies wait the admin alone does that: sign with {}",
        located.operator.admin
    );
    let rent_refund = located.view.agent.rent_refund;
    let set =
        located.deployment.set_bounds(located.signed_by(wallet), wallet, rent_refund, bounds, Some(current));
    let about = (&located.address, &located.operator);
    let policy = owned(&located.view.policy());
    let warnings = warnings::of(network, &located.deployment, about, &policy, &bounds).await?;
    let report = Report::new("bounds set")
        .with("agent", located.address.to_string())
        .with("by_grant_only", bounds.by_grant_only)
        .with("max_30_days_usdc", in_usdc(bounds.max_30_day_spend))
        .with("budget", bounds.budget.map(|budget| budget.to_string()))
        .with("warnings", warnings);
    let change = Change::of(report.clone(), set);
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}
