//! Keypair files for wallets and relayers, in the format of Solana's tools. Contacts no cluster.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::report::Report;

#[derive(Args)]
pub struct NewKeyArgs {
    /// The file to write; one that is there already is left alone
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Writes a new keypair that only its owner may read.
pub fn new_key(args: &NewKeyArgs) -> Result<Report> {
    let keypair = Keypair::new();
    let place = args.file.display().to_string();
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&args.file)
        .with_context(|| format!("cannot make {place}"))?;
    let bytes = serde_json::to_vec(&keypair.to_bytes().to_vec())?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).with_context(|| format!("cannot write {place}"))?;
    Ok(Report::new("made a keypair").with("address", keypair.pubkey().to_string()).with("file", place))
}
