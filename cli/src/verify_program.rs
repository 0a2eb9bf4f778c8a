use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use purser_audit::node::{Node, node_at};
use purser_client::{Comparison, ProgramData, committed_sha256, compare, program_data_address, security_txt};
use reqwest::Url;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

use super::output::{Format, print_one};
use purser_model::Timestamp;

/// Another program runs, or none does.
const DIFFERS: u8 = 1;
/// The comparison could not be made.
const NOT_DONE: u8 = 2;

#[derive(Debug, Args)]
pub(super) struct VerifyProgram {
    /// An RPC node
    #[arg(long)]
    url: Url,
    /// The program, where it is not at its own address
    #[arg(long, value_name = "ADDRESS", default_value_t = purser::ID)]
    program_id: Pubkey,
    /// What its file's SHA-256 must be, in hex; without it, that of the committed build
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
}

/// Compares the bytes on chain with a build, and returns the result as the exit status.
pub(super) async fn run(format: Format, arguments: VerifyProgram) -> ExitCode {
    match look(&arguments).await.and_then(|found| found.print(format).map(|()| found.is_same)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(DIFFERS),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(NOT_DONE)
        }
    }
}

/// The program found at the address.
struct ProgramOnChain {
    is_same: bool,
    program_id: Pubkey,
    genesis_hash: String,
    expected: String,
    /// Hash of the bytes on chain, without trailing zeros unless they belong to the build.
    on_chain: Option<String>,
    upgrade_authority: Option<Pubkey>,
    changed_in_slot: Option<u64>,
    changed_at: Option<String>,
    /// The program's contacts for security reports; `None` if it names none.
    security_txt: Option<Value>,
}

async fn look(arguments: &VerifyProgram) -> Result<ProgramOnChain> {
    let expected = match &arguments.sha256 {
        Some(text) => text.to_ascii_lowercase(),
        None => committed_sha256(),
    };
    let is_hash = expected.len() == 64 && hex::decode(&expected).is_ok();
    ensure!(is_hash, "--sha256 must be 64 hex digits");
    let program_id = arguments.program_id;
    let node = node_at(&arguments.url)?;
    let genesis_hash = node.genesis_hash().await?;
    let mut found = ProgramOnChain {
        is_same: false,
        program_id,
        genesis_hash,
        expected,
        on_chain: None,
        upgrade_authority: None,
        changed_in_slot: None,
        changed_at: None,
        security_txt: None,
    };
    let Some((owner, data)) = account(&node, &program_id).await? else { return Ok(found) };
    let Some(address) = program_data_address(&owner, &data) else { return Ok(found) };
    let Some((_, data)) = account(&node, &address).await? else { return Ok(found) };
    let program = ProgramData::read(&data).context("the program's account has an unknown form")?;
    found.upgrade_authority = program.upgrade_authority;
    found.changed_in_slot = Some(program.slot);
    let changed_at = node.block_time(program.slot).await?;
    found.changed_at = changed_at.map(|second| Timestamp::from_unix_seconds(second).to_string());
    found.security_txt = security_txt(program.bytes).map(|fields| {
        let fields = fields.into_iter().map(|(name, value)| (name, Value::String(value)));
        Value::Object(fields.collect())
    });
    let compared = compare(program.bytes, &found.expected);
    found.is_same = compared == Comparison::Same;
    found.on_chain = Some(match compared {
        Comparison::Same => found.expected.clone(),
        Comparison::Other(sha256) => sha256,
    });
    Ok(found)
}

/// Owner and bytes at finalized commitment.
async fn account(node: &Node, address: &Pubkey) -> Result<Option<(Pubkey, Vec<u8>)>> {
    let Some((_, Some(saved))) = node.accounts(&[*address]).await?.pop() else { return Ok(None) };
    let read = saved.owner().zip(saved.bytes());
    Ok(Some(read.with_context(|| format!("what the node says of {address} cannot be read"))?))
}

impl ProgramOnChain {
    fn print(&self, format: Format) -> Result<()> {
        let verdict = match (&self.on_chain, self.is_same) {
            (None, _) => "there is no program",
            (Some(_), true) => "same",
            (Some(_), false) => "another program",
        };
        // `nobody` if there is a program without an authority.
        let authority = self.upgrade_authority.map(|authority| authority.to_string());
        let authority = authority.or_else(|| self.on_chain.as_ref().map(|_| "nobody".to_owned()));
        let fields: [(&str, Value); 9] = [
            ("verdict", json!(verdict)),
            ("program_id", json!(self.program_id.to_string())),
            ("genesis_hash", json!(self.genesis_hash)),
            ("sha256_on_chain", json!(self.on_chain)),
            ("sha256_expected", json!(self.expected)),
            ("upgrade_authority", json!(authority)),
            ("changed_in_slot", json!(self.changed_in_slot)),
            ("changed_at", json!(self.changed_at)),
            ("security_txt", json!(self.security_txt)),
        ];
        print_one(format, &fields)
    }
}
