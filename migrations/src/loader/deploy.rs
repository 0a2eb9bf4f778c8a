//! `deploy`: puts the program's bytes onto a cluster. `refund`: takes back what a broken deploy left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::json;
use solana_loader_v3_interface::state::UpgradeableLoaderState;
use solana_loader_v3_interface::{get_program_data_address, instruction as loader};
use solana_rpc_client_api::client_error::TransactionError;
use solana_sdk::instruction::{Instruction, InstructionError};
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use solana_system_interface::instruction as system;

use super::buffer::{self, Buffer};
use super::costs::Costs;
use super::program::{self, DeployedProgram, sha256};
use super::progress::say;
use super::verify::BuildRecord;
use crate::arguments;
use crate::change::Change;
use crate::effects::{self, Effect};
use crate::landing::Refusal;
use crate::network::{Mode, Network, read_keypair};
use crate::report::{Outcome, Report};
use crate::signing::Signing;
use crate::tokens::sol;

/// The minimum extension of a program: SIMD-0431.
const EXTENSION_BYTES_MIN: usize = 10_240;
/// How often, and how far apart, to ask a node that lags behind for what was just sent.
const VERIFY_ATTEMPTS: u32 = 20;
const VERIFY_EVERY: Duration = Duration::from_millis(500);
/// Mainnet's genesis hash.
const MAINNET: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
/// The contact of the committed build, under which nobody answers.
const NO_CONTACT: &str = "other:the holder of this program's upgrade authority";

#[derive(Args)]
pub struct DeployArgs {
    /// The built program
    #[arg(long, value_name = "FILE", default_value = "programs/purser/idl/purser.so")]
    program_so: PathBuf,
    /// The keypair of the program's address; needed for the first deploy, not for upgrades
    #[arg(long, value_name = "FILE")]
    program_keypair: Option<PathBuf>,
    /// Longest program, in bytes, that fits without an extension [default: the length of this one]
    #[arg(long, value_name = "BYTES")]
    max_len: Option<usize>,
}

#[derive(Args)]
pub struct RefundArgs {
    /// The program that was being deployed
    #[arg(long, value_name = "FILE", default_value = "programs/purser/idl/purser.so")]
    program_so: PathBuf,
    /// The buffer that the broken deploy named, where the program was built anew since
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address, conflicts_with = "program_so")]
    buffer: Option<Pubkey>,
}

pub async fn run(network: &Network, args: &DeployArgs) -> Result<Report> {
    ensure!(
        network.mode != Mode::Unsigned,
        "a program is written by hundreds of transactions, which no multisig signs one by one: deploy it with a keypair file, \
         and hand it over with `upgrade-authority --to`"
    );
    let id = network.program;
    let elf = read_elf(&args.program_so, &id)?;
    ensure!(
        has_contact(&elf) || network.genesis_hash().await? != MAINNET,
        "{} names nobody to tell of a weakness, so it does not go to mainnet: write your contact into \
         programs/purser/src/security.rs and run `cargo xtask sbf`",
        args.program_so.display()
    );
    let keypair = args.program_keypair.as_deref().map(|file| program_keypair(file, &id)).transpose()?;
    let before = program::read(network, &id).await?;
    let sha256 = sha256(&elf);
    let about = |outcome: &str, program_data: &Pubkey| {
        Report::new(format!("program {outcome}"))
            .with("program_id", id.to_string())
            .with("program", outcome)
            .with("sha256", sha256.clone())
            .with("bytes", elf.len())
            .with("program_data", program_data.to_string())
            .with("idl", unpublished(&id, "idl", "programs/purser/idl/purser.json"))
            .with("security", unpublished(&id, "security", "security.json"))
    };
    if let Some(program) = before.as_ref().filter(|program| program.holds(&elf)) {
        let authority = program.upgrade_authority.map(|authority| authority.to_string());
        return Ok(about("unchanged", &program.program_data)
            .with("upgrade_authority", authority)
            .with("deploy_signature", None::<String>));
    }
    let signing = network.signing()?;
    let (outcome, plan) = match &before {
        Some(program) => ("upgraded", upgrade(&signing, args, &elf, program).await?),
        None => ("deployed", deploy(&signing, args, &elf, keypair).await?),
    };
    if network.mode == Mode::Show {
        let report = about(outcome, &get_program_data_address(&id));
        let mut effects = replaced(&id, before.as_ref(), &sha256, &signing.address());
        effects.extend(plan.costs.effect(signing.address()));
        return Ok(plan.costs.add_to(report).table(effects::table(effects)).outcome(Outcome::Shown));
    }
    let signature = plan.carry_out(&signing).await?;
    let program = verified(network, &elf).await?;
    Ok(about(outcome, &program.program_data)
        .with("upgrade_authority", program.upgrade_authority.map(|authority| authority.to_string()))
        .with("deploy_signature", signature.to_string())
        .outcome(Outcome::Done))
}

/// No crate in the registry supports the Program Metadata program, and the embedded network has none to try it on. The contacts
/// are in the program's own bytes (`programs/purser/src/security.rs`).
fn unpublished(id: &Pubkey, seed: &str, file: &str) -> String {
    format!(
        "not published on chain: this tool does not speak to the Program Metadata program. Its own tool does: \
         npx @solana-program/program-metadata@0.7 write {seed} {id} {file}"
    )
}

/// The effects of the upgrade: the program before and after.
fn replaced(id: &Pubkey, before: Option<&DeployedProgram>, sha256: &str, wallet: &Pubkey) -> Vec<Effect> {
    let facts = |sha256: String, authority: Option<Pubkey>| {
        let authority = authority.map(|authority| authority.to_string());
        vec![("sha256", json!(sha256)), ("upgrade_authority", json!(authority))]
    };
    let before = before.map(|program| facts(program.sha256(sha256), program.upgrade_authority));
    let after = facts(sha256.to_string(), Some(*wallet));
    effects::differing("program", *id, &before.unwrap_or_default(), &after)
}

pub async fn refund(network: &Network, args: &RefundArgs) -> Result<Report> {
    let signing = network.signing()?;
    let wallet = signing.address();
    let address = match args.buffer {
        Some(address) => address,
        None => Buffer::of(&signing, &read_elf(&args.program_so, &network.program)?)?.address,
    };
    let account = network.account(&address).await?.filter(buffer::is_buffer);
    let account =
        account.ok_or_else(|| anyhow!("there is nothing to take back: {address} is not a buffer"))?;
    let report = Report::new("buffer closed, its SOL is back in the wallet")
        .with("buffer", address.to_string())
        .with("refunded_sol", sol(account.lamports));
    let change = Change::of(report.clone(), loader::close(&address, &wallet, &wallet));
    signing.carry_out(change, async |signature| Ok(report.with("signature", signature.to_string()))).await
}

/// A prepared deploy: only payment is left.
struct Plan<'a> {
    buffer: Buffer<'a>,
    /// How many bytes of additional room the program needs.
    extension: usize,
    /// The instructions that take the buffer over.
    last: Vec<Instruction>,
    /// Signs those, besides the wallet.
    keypair: Option<Keypair>,
    costs: Costs,
}

impl Plan<'_> {
    async fn carry_out(&self, signing: &Signing<'_>) -> Result<Signature> {
        let wallet = signing.address();
        let kept = || kept(&self.buffer);
        self.costs.ensure_covered(&wallet)?;
        say(&self.costs.line());
        self.buffer.fill().await.with_context(kept)?;
        if self.extension > 0 {
            say(&format!("making room for {} bytes more", self.extension));
            extend(signing, self.extension as u32).await.with_context(kept)?;
        }
        say("putting the program in its place");
        let also: Vec<&Keypair> = self.keypair.iter().collect();
        let sent = signing.send(&self.last, &also).await;
        sent.map_err(|refusal| refusal.explain(&wallet)).with_context(kept)
    }
}

async fn deploy<'a>(
    signing: &'a Signing<'a>,
    args: &DeployArgs,
    elf: &'a [u8],
    keypair: Option<Keypair>,
) -> Result<Plan<'a>> {
    let network = signing.network;
    let id = network.program;
    let keypair = keypair.ok_or_else(|| {
        anyhow!("the program {id} is not on this cluster yet: pass its keypair as --program-keypair FILE")
    })?;
    let max_len = args.max_len.unwrap_or(elf.len());
    ensure!(max_len >= elf.len(), "--max-len {max_len} is less than the program's {} bytes", elf.len());
    let rent = network.rent(UpgradeableLoaderState::size_of_programdata(max_len)).await?;
    let program_bytes = UpgradeableLoaderState::size_of_program();
    let program_rent = network.rent(program_bytes).await?;
    let buffer = Buffer::of(signing, elf)?;
    let wallet = signing.address();
    let held = network.account(&id).await?.map_or(0, |account| account.lamports);
    let deploy =
        loader::deploy_with_max_program_len(&wallet, &id, &buffer.address, &wallet, program_rent, max_len)
            .map_err(|error| anyhow!("{error}"))?
            .pop()
            .context("the loader has no instruction for a deploy")?;
    // Not `create_account`, which refuses an address that already holds lamports.
    let last = vec![
        system::transfer(&wallet, &id, program_rent.saturating_sub(held)),
        system::allocate(&id, program_bytes as u64),
        system::assign(&id, &bpf_loader_upgradeable::ID),
        deploy,
    ];
    let costs = Costs {
        rent: rent + program_rent.saturating_sub(held),
        fees: buffer.fees().await? + signing.fee(&last).await?,
        // The buffer's own rent comes back before the program's is due.
        meanwhile: buffer.rent().await?.saturating_sub(rent),
        in_buffer: buffer.lamports().await?,
        balance: network.balance(&wallet).await?,
    };
    Ok(Plan { buffer, extension: 0, last, keypair: Some(keypair), costs })
}

async fn upgrade<'a>(
    signing: &'a Signing<'a>,
    args: &DeployArgs,
    elf: &'a [u8],
    program: &DeployedProgram,
) -> Result<Plan<'a>> {
    let wallet = signing.address();
    let network = signing.network;
    match program.upgrade_authority {
        Some(authority) if authority == wallet => {}
        Some(authority) => bail!("the program may be upgraded by {authority} only; this wallet is {wallet}"),
        None => bail!("the program {} is final: nobody may upgrade it", network.program),
    }
    let longer_by = args.max_len.unwrap_or(0).max(elf.len()).saturating_sub(program.capacity());
    let extension = if longer_by == 0 { 0 } else { longer_by.max(EXTENSION_BYTES_MIN) };
    let bytes = UpgradeableLoaderState::size_of_programdata(program.capacity() + extension);
    let held = network.account(&program.program_data).await?.map_or(0, |account| account.lamports);
    let buffer = Buffer::of(signing, elf)?;
    let last = vec![loader::upgrade(&network.program, &buffer.address, &wallet, &wallet)];
    let last_fee = signing.fee(&last).await?;
    let costs = Costs {
        rent: network.rent(bytes).await?.saturating_sub(held),
        // An extension is one more transaction, at the same price.
        fees: buffer.fees().await? + last_fee * if extension > 0 { 2 } else { 1 },
        meanwhile: buffer.rent().await?,
        in_buffer: buffer.lamports().await?,
        balance: network.balance(&wallet).await?,
    };
    Ok(Plan { buffer, extension, last, keypair: None, costs })
}

/// Clusters know one of two instructions for this: the older one, or the one that the authority signs.
async fn extend(signing: &Signing<'_>, bytes: u32) -> Result<Signature> {
    let wallet = signing.address();
    let id = signing.network.program;
    let checked = loader::extend_program_checked(&id, &wallet, Some(&wallet), bytes);
    match signing.send(&[checked], &[]).await {
        Err(Refusal::Transaction(TransactionError::InstructionError(
            _,
            InstructionError::InvalidInstructionData,
        ))) => {
            let older = loader::extend_program(&id, Some(&wallet), bytes);
            signing.send(&[older], &[]).await.map_err(|refusal| refusal.explain(&wallet))
        }
        answer => answer.map_err(|refusal| refusal.explain(&wallet)),
    }
}

fn kept(buffer: &Buffer<'_>) -> String {
    format!(
        "the buffer {0} keeps what was written: run the command again to go on, or take its SOL back with \
         `purser-migrate refund --buffer {0}`",
        buffer.address
    )
}

/// The program that runs now, which must be `elf`.
async fn verified(network: &Network, elf: &[u8]) -> Result<DeployedProgram> {
    for _ in 0..VERIFY_ATTEMPTS {
        match program::read(network, &network.program).await? {
            Some(program) if program.holds(elf) => return Ok(program),
            _ => tokio::time::sleep(VERIFY_EVERY).await,
        }
    }
    bail!("{} does not show the new program: look with `purser-migrate verify` in a while", network.url)
}

/// Reads a program built for `id`: any other would refuse every instruction, after costing several SOL.
fn read_elf(file: &Path, id: &Pubkey) -> Result<Vec<u8>> {
    let shown = file.display();
    let elf = std::fs::read(file).with_context(|| format!("cannot read the program {shown}"))?;
    ensure!(elf.starts_with(b"\x7fELF"), "{shown} is not a program: `cargo xtask sbf` builds one");
    ensure!(
        elf.windows(32).any(|bytes| bytes == id.as_ref()),
        "{shown} does not declare {id}: every instruction to it would be refused, so nothing was paid for. Name the address \
         that it declares with --program-id, or build it with {id} in declare_id! (programs/purser/src/lib.rs)"
    );
    // If a build record lies beside the file, the file must be that build.
    let record = PathBuf::from(format!("{shown}.json"));
    if record.exists() {
        let recorded = BuildRecord::read(&record)?.sha256;
        ensure!(
            recorded == sha256(&elf),
            "{shown} is not the build that {} describes: run `cargo xtask sbf`",
            record.display()
        );
    }
    Ok(elf)
}

/// Whether the program's `security.txt` was filled in.
fn has_contact(elf: &[u8]) -> bool {
    let fields = purser_client::security_txt(elf).unwrap_or_default();
    fields.iter().any(|(name, value)| name == "contacts" && !value.is_empty() && value != NO_CONTACT)
}

/// Reads the keypair of the address that the program was built for.
fn program_keypair(file: &Path, id: &Pubkey) -> Result<Keypair> {
    let keypair = read_keypair(file)?;
    let address = keypair.pubkey();
    ensure!(
        address == *id,
        "{} is the keypair of {address}, and the program declares {id}: pass the other keypair; or write {address} into \
         declare_id! (programs/purser/src/lib.rs) and Anchor.toml, run `cargo xtask sbf` and `cargo xtask idl`, and name it \
         with --program-id",
        file.display()
    );
    Ok(keypair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_build_names_nobody_and_a_filled_one_does() {
        let committed = include_bytes!("../../../programs/purser/idl/purser.so");
        let contact = |elf: &[u8]| {
            let fields = purser_client::security_txt(elf).unwrap_or_default();
            fields.into_iter().find(|(name, _)| name == "contacts").map(|(_, value)| value)
        };
        assert_eq!(contact(committed).as_deref(), Some(NO_CONTACT));
        let text = |contact: &str| {
            format!(
                "=======BEGIN SECURITY.TXT V1=======\0contacts\0{contact}\0=======END SECURITY.TXT V1=======\0"
            )
        };
        assert!(has_contact(text("email:security@example.com").as_bytes()));
        for nobody in [&committed[..], text("").as_bytes(), text(NO_CONTACT).as_bytes(), b""] {
            assert!(!has_contact(nobody));
        }
    }
}
