//! `account tag-buckets`: how many payments an account can remember, and so make in 25 hours.

use anyhow::{Result, ensure};
use clap::{ArgGroup, Args};
use purser::constants::TAG_BUCKETS_ADDED_MAX;
use purser::state::Agent;
use purser_client::TAG_BUCKETS_MAX;
use purser_policy::BUCKET_SLOTS;
use solana_sdk::signature::Signature;

use super::AgentArgs;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;
use crate::tokens::sol;

/// Payments a day that a bucket is given for. It holds 16 of 25 hours; a table of many fills unevenly.
const PAYMENTS_A_BUCKET: u32 = 10;
const PAYMENTS_A_DAY_MAX: i64 = TAG_BUCKETS_MAX as i64 * PAYMENTS_A_BUCKET as i64;

#[derive(Args)]
#[command(group(ArgGroup::new("size").required(true).args(["buckets", "payments_a_day"])))]
pub struct TagBucketsArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// Buckets of 16 payments each
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=i64::from(TAG_BUCKETS_MAX)))]
    buckets: Option<u16>,
    /// Buckets for so many payments a day
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=PAYMENTS_A_DAY_MAX))]
    payments_a_day: Option<u32>,
}

/// Buckets with room for so many payments a day.
pub fn buckets_for(payments_a_day: u32) -> u16 {
    u16::try_from(payments_a_day.div_ceil(PAYMENTS_A_BUCKET)).unwrap_or(u16::MAX).max(1)
}

/// Rent is a deposit: the wallet that signs pays it, and the account's refund address gets it back.
pub async fn run(network: &Network, args: &TagBucketsArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let agent = &located.view.agent;
    let had = agent.policy.tag_buckets;
    let wanted = args.buckets.or(args.payments_a_day.map(buckets_for)).unwrap_or(had);
    let most = had.saturating_add(TAG_BUCKETS_ADDED_MAX);
    ensure!(
        wanted <= most,
        "an account grows by {TAG_BUCKETS_ADDED_MAX} buckets in one transaction: this one has {had}, so set {most} first, \
         then run this again"
    );
    let signing = network.signing()?;
    let wallet = signing.address();
    let set =
        located.deployment.set_tag_buckets(located.signed_by(wallet), wallet, agent.rent_refund, wanted);
    let bytes = |buckets: u16| {
        let mut agent: Agent = *agent;
        agent.policy.tag_buckets = buckets;
        agent.data_len()
    };
    let rent = network.rent(bytes(wanted)).await?;
    let report = Report::new("room for payments set")
        .with("agent", located.address.to_string())
        .with("tag_buckets", wanted)
        .with("payments_in_25_hours", usize::from(wanted) * BUCKET_SLOTS)
        .with("rent_sol", sol(rent))
        .with("rent_sol_before", sol(network.rent(bytes(had)).await?));
    let change = Change::of(report.clone(), set);
    let done = async |signature: Signature| Ok(report.with("signature", signature.to_string()));
    signing.carry_out(change, done).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_room_for_ten_payments_a_day() {
        for (payments, buckets) in [(1, 1), (10, 1), (11, 2), (540, 54), (2_900, 290)] {
            assert_eq!(buckets_for(payments), buckets, "{payments}");
        }
    }
}
