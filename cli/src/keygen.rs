use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;

use super::output::{Format, print_made};
use purser_base::secret_file;
use purser_chain::new_keypair;
use purser_model::Address;

#[derive(Debug, Args)]
pub(super) struct Keygen {
    /// The files to write, one keypair each; one that is there already is left alone, and that is an error
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Writes new keypair files that only their owner may read, as Solana's tools do.
pub(super) fn run(format: Format, arguments: &Keygen) -> Result<()> {
    let mut rows = Vec::new();
    for file in &arguments.files {
        let address = write(file)?;
        rows.push(vec![json!(address.to_string()), json!(file.display().to_string())]);
    }
    print_made(format, "keypair", &["address", "file"], &rows)
}

pub(super) fn write(file: &std::path::Path) -> Result<Address> {
    let (text, address) = new_keypair();
    secret_file::write_new(file, text.as_bytes())
        .with_context(|| format!("cannot make {}", file.display()))?;
    Ok(address)
}
