//! `operator halt` and `operator resume`: all agents of an operator at once.

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use purser::state::{AgentView, Operator};
use purser_client::{AccountIds, RESUMED_MAX};
use serde_json::json;

use super::OperatorName;
use super::show::role;
use crate::agent::of_operator::agents_of;
use crate::arguments::{self, AgentName};
use crate::change::Change;
use crate::grant::waiting;
use crate::network::{Mode, Network};
use crate::report::{Outcome, Report};

/// Whether to set or lift a halt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    Set,
    Lift,
}

#[derive(Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    name: OperatorName,
    /// Resume these accounts too, which are halted by themselves: ids or addresses, or `all`; by one signature for each 24 of
    /// them
    #[arg(long, value_name = "all|acct_ID|ADDRESS", num_args = 1.., value_delimiter = ',')]
    accounts: Vec<String>,
}

pub async fn run(network: &Network, name: &OperatorName) -> Result<Report> {
    let address = name.address(network)?;
    let deployment = network.deployment(super::read(network, &address).await?.usdc_mint);
    let signing = network.signing()?;
    let title = "all agents halted; the admin alone resumes them, with `operator resume`";
    let halt = deployment.halt(signing.address(), address, None);
    let change = Change::new(title, halt).with("operator", address.to_string()).at_once();
    signing
        .carry_out(change, async |signature| {
            let operator = super::read(network, &address).await?;
            Ok(Report::new(title)
                .with("operator", address.to_string())
                .with("halted_by", role(operator.halted_by))
                .with("signature", signature.to_string()))
        })
        .await
}

/// The operator and the named accounts, in as few transactions as there can be. Without `--yes` it shows the first one.
pub async fn resume(network: &Network, args: &ResumeArgs) -> Result<Report> {
    let address = args.name.address(network)?;
    let operator = super::read(network, &address).await?;
    let agents = agents_of(network, &address).await?;
    let account_ids = network.account_ids().await?;
    let chosen = args.chosen(&account_ids, &address, &agents)?;
    let deployment = network.deployment(operator.usdc_mint);
    let signing = network.signing()?;
    let title = "agents resumed, but for those that are halted or paused by themselves";
    // What a thief left to wait before the halt or in it can be in force soon after it: the admin looks first.
    let waits = waiting::all(network, &address, &Operator { halted_by: 0, ..operator }, &agents).await?;
    let about = Report::new(title)
        .with("operator", address.to_string())
        .with("accounts", json!(chosen.iter().map(|agent| account_ids.of(agent)).collect::<Vec<_>>()))
        .with_all(waits);
    let mut parts: Vec<&[Pubkey]> = chosen.chunks(RESUMED_MAX).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let mut changes = parts.iter().map(|part| {
        let resume = deployment.resume_with(signing.address(), address, part);
        Change::of(about.clone().with("transactions_left", parts.len()), resume)
    });
    if network.mode != Mode::Do {
        let first = changes.next().context("there is always one")?;
        return signing.carry_out(first, async |_| Ok(about.clone())).await;
    }
    let mut signatures = Vec::new();
    for part in &parts {
        let sent = signing.call(deployment.resume_with(signing.address(), address, part)).await;
        let sent = sent.with_context(|| {
            format!(
                "{} of {} transactions landed: run the command again to go on",
                signatures.len(),
                parts.len()
            )
        })?;
        signatures.push(sent.to_string());
    }
    let still = super::read(network, &address).await?.halted_by;
    Ok(about
        .with("halted_by", role(still))
        .with("signature", signatures.last().cloned())
        .with("signatures", json!(signatures))
        .outcome(Outcome::Done))
}

impl ResumeArgs {
    /// The accounts to resume beside the operator.
    fn chosen(
        &self,
        account_ids: &AccountIds,
        operator: &Pubkey,
        agents: &[(Pubkey, AgentView)],
    ) -> Result<Vec<Pubkey>> {
        if self.accounts.iter().any(|name| name == "all") {
            ensure!(self.accounts.len() == 1, "--accounts takes `all` or names, not both");
            let halted = agents.iter().filter(|(_, view)| view.agent.halted_by != 0);
            return Ok(halted.map(|(address, _)| *address).collect());
        }
        let mut chosen = Vec::new();
        for text in &self.accounts {
            let name = arguments::agent_name(text).map_err(|error| anyhow!("--accounts {text}: {error}"))?;
            let is_named = |agent: &Pubkey| match name {
                AgentName::Id(id) => account_ids.bytes_of(agent) == id.0,
                AgentName::Address(address) => *agent == address,
            };
            let found = agents.iter().map(|(agent, _)| *agent).find(is_named);
            chosen
                .push(found.with_context(|| format!("{text} is not an account of the operator {operator}"))?);
        }
        Ok(chosen)
    }
}
