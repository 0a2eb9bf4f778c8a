use std::path::{Path, PathBuf};

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, ensure};
use clap::{ArgGroup, Args};
use purser::{AllowlistArg, PolicyArgs, accounts, instruction};
use purser_policy::{ALLOWLIST_ENTRIES_MAX, Limit};

use super::{AgentArgs, LocatedAgent, draft};
use crate::arguments::{self, AgentName};
use crate::network::Network;
use crate::report::Report;

/// Entries up to which a list goes into the instruction itself; a transaction has room for about 25.
const INLINE_ENTRIES_MAX: usize = 20;

#[derive(Args)]
#[command(group(
    ArgGroup::new("recipients").required(true).multiple(true).args(["allow_anyone", "allow_nobody", "allow", "allow_file"])
))]
pub struct SetPolicyArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// Most USDC in one transfer: a decimal with at most six digits after the point, or `none` for no limit
    #[arg(long, value_name = "USDC|none", value_parser = arguments::limit)]
    max_single_transfer: Limit,
    /// Most USDC in any 24 hours: a decimal with at most six digits after the point, or `none` for no limit
    #[arg(long, value_name = "USDC|none", value_parser = arguments::limit)]
    max_daily_spend: Limit,
    /// Refuse transfers without a memo
    #[arg(long)]
    require_memo: bool,
    /// Whether the agent is paused [default: as it is]
    #[arg(long, value_name = "true|false")]
    paused: Option<bool>,
    /// Everyone may be paid
    #[arg(long, conflicts_with_all = ["allow_nobody", "allow", "allow_file"])]
    allow_anyone: bool,
    /// Nobody may be paid
    #[arg(long, conflicts_with_all = ["allow", "allow_file"])]
    allow_nobody: bool,
    /// Only these may be paid: token account, wallet, or account id of this operator; may be repeated
    #[arg(long, value_name = "acct_ID|ADDRESS", value_parser = arguments::agent_name)]
    allow: Vec<AgentName>,
    /// Only those in this file may be paid: one on a line; `#` begins a remark
    #[arg(long, value_name = "FILE")]
    allow_file: Option<PathBuf>,
}

pub async fn run(network: &Network, args: &SetPolicyArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let entries = match args.allow_anyone {
        true => None,
        false => Some(entries(args, &located.operator_address)?),
    };
    let signing = network.signing()?;
    let draft = match &entries {
        Some(entries) if entries.len() > INLINE_ENTRIES_MAX => {
            Some(draft::stage(&signing, &located, entries).await?)
        }
        _ => None,
    };
    let policy = PolicyArgs {
        max_single_transfer: micros(args.max_single_transfer),
        max_daily_spend: micros(args.max_daily_spend),
        require_memo: args.require_memo,
        paused: args.paused.unwrap_or(located.view.agent.is_paused()),
        allowlist: match (&draft, entries) {
            (Some(_), _) => AllowlistArg::Draft,
            (None, Some(entries)) => AllowlistArg::Only(entries),
            (None, None) => AllowlistArg::Anyone,
        },
    };
    let LocatedAgent { address, operator_address, .. } = located;
    let accounts = accounts::SetPolicy {
        authority: signing.address(),
        operator: operator_address,
        agent: address,
        draft,
        system_program: anchor_lang::system_program::ID,
    };
    let signature = signing.call(accounts, instruction::SetPolicy { policy }).await?;
    let shown = super::show::run(network, &args.agent).await?;
    Ok(Report::new("policy set").with("signature", signature.to_string()).and(shown))
}

fn micros(limit: Limit) -> Option<u64> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.micros()),
    }
}

/// All entries in the program's order; the same one twice is one.
fn entries(args: &SetPolicyArgs, operator: &Pubkey) -> Result<Vec<Pubkey>> {
    let mut names = args.allow.clone();
    if let Some(file) = &args.allow_file {
        names.extend(read_names(file)?);
    }
    let mut entries: Vec<Pubkey> = names
        .into_iter()
        .map(|name| match name {
            AgentName::Address(address) => address,
            AgentName::Id(id) => super::address_of(operator, &id),
        })
        .collect();
    entries.sort_unstable_by_key(|entry| entry.to_bytes());
    entries.dedup();
    ensure!(
        entries.len() <= ALLOWLIST_ENTRIES_MAX,
        "an allowlist has at most {ALLOWLIST_ENTRIES_MAX} entries, and these are {}",
        entries.len()
    );
    Ok(entries)
}

fn read_names(file: &Path) -> Result<Vec<AgentName>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the allowlist {shown}"))?;
    let lines =
        text.lines().map(|line| line.split_once('#').map_or(line, |(entry, _)| entry).trim()).enumerate();
    lines
        .filter(|(_, entry)| !entry.is_empty())
        .map(|(index, entry)| {
            arguments::agent_name(entry)
                .map_err(|error| anyhow!("{shown}, line {}: \"{entry}\" {error}", index + 1))
        })
        .collect()
}
