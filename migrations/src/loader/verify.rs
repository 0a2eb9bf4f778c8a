//! `verify`: answers the auditor's question whether the cluster runs the committed program.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use serde::Deserialize;

use super::program;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct VerifyArgs {
    /// The record of the committed build
    #[arg(long, value_name = "FILE", default_value = "programs/purser/idl/purser.so.json")]
    record: PathBuf,
}

/// The record that `cargo xtask sbf` writes beside a build.
#[derive(Deserialize)]
pub struct BuildRecord {
    /// Of the shared object, lower-case hex.
    pub sha256: String,
}

impl BuildRecord {
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read the build record {shown}"))?;
        serde_json::from_str(&text).map_err(|_| anyhow!("{shown} is not a build record of `cargo xtask sbf`"))
    }
}

pub async fn run(network: &Network, args: &VerifyArgs) -> Result<Report> {
    let committed = BuildRecord::read(&args.record)?.sha256;
    let deployed = program::read(network, &network.program).await?;
    let deployed =
        deployed.ok_or_else(|| anyhow!("the program {} is not on {}", network.program, network.url))?;
    let on_chain = deployed.sha256(&committed);
    let authority = deployed.upgrade_authority.map(|authority| authority.to_string());
    ensure!(
        on_chain == committed,
        "the program {} on {} is another build than the committed one: sha256 {on_chain} on chain, {committed} in {}; \
         upgrade authority {}",
        network.program,
        network.url,
        args.record.display(),
        authority.as_deref().unwrap_or("none")
    );
    Ok(Report::new("the cluster runs the committed build")
        .with("program_id", network.program.to_string())
        .with("sha256", on_chain)
        .with("upgrade_authority", authority)
        .with("program_data", deployed.program_data.to_string())
        .with("changed_in_slot", deployed.slot))
}
