//! `deploy`: the program's bytes onto a cluster. `refund`: what a broken deploy left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use solana_loader_v3_interface::instruction as loader;
use solana_loader_v3_interface::state::UpgradeableLoaderState;
use solana_rpc_client_api::client_error::TransactionError;
use solana_sdk::instruction::InstructionError;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use solana_system_interface::instruction as system;

use super::buffer::{self, Buffer};
use super::program::{self, DeployedProgram, sha256};
use super::progress::say;
use super::verify::BuildRecord;
use crate::arguments;
use crate::failure;
use crate::network::{Network, Signing, read_keypair};
use crate::report::Report;
use crate::submit::Refusal;

const LAMPORTS_PER_SOL: u64 = 1_000_000_000;
/// Lamports of one signature.
const SIGNATURE_FEE: u64 = 5_000;
/// Least that a program may be extended by: SIMD-0431.
const EXTENSION_BYTES_MIN: usize = 10_240;
/// How often, and how long apart, a node that lags behind is asked for what it was just given.
const VERIFY_ATTEMPTS: u32 = 20;
const VERIFY_EVERY: Duration = Duration::from_millis(500);

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
    let elf = read_elf(&args.program_so)?;
    let keypair = args.program_keypair.as_deref().map(program_keypair).transpose()?;
    let signing = network.signing()?;
    let before = program::read(network, &purser::ID).await?;
    let (outcome, signature) = match before {
        Some(program) if program.holds(&elf) => ("unchanged", None),
        Some(program) => ("upgraded", Some(upgrade(&signing, args, &elf, &program).await?)),
        None => ("deployed", Some(deploy(&signing, args, &elf, keypair).await?)),
    };
    let program = verified(network, &elf).await?;
    Ok(Report::new(format!("program {outcome}"))
        .with("program_id", purser::ID.to_string())
        .with("program", outcome)
        .with("sha256", sha256(&elf))
        .with("bytes", elf.len())
        .with("upgrade_authority", program.upgrade_authority.map(|authority| authority.to_string()))
        .with("program_data", program.program_data.to_string())
        .with("deploy_signature", signature.map(|signature| signature.to_string())))
}

pub async fn refund(network: &Network, args: &RefundArgs) -> Result<Report> {
    let signing = network.signing()?;
    let wallet = signing.address();
    let address = match args.buffer {
        Some(address) => address,
        None => Buffer::of(&signing, &read_elf(&args.program_so)?)?.address,
    };
    let account = network.account(&address).await?.filter(buffer::is_buffer);
    let account =
        account.ok_or_else(|| anyhow!("there is nothing to take back: {address} is not a buffer"))?;
    let close = loader::close(&address, &wallet, &wallet);
    let signature = signing.send(&[close], &[]).await.map_err(|refusal| refusal.explain(&wallet))?;
    Ok(Report::new("buffer closed, its SOL is back in the wallet")
        .with("buffer", address.to_string())
        .with("refunded_sol", sol(account.lamports))
        .with("signature", signature.to_string()))
}

async fn deploy(
    signing: &Signing<'_>,
    args: &DeployArgs,
    elf: &[u8],
    keypair: Option<Keypair>,
) -> Result<Signature> {
    let keypair = keypair.ok_or_else(|| {
        anyhow!(
            "the program {} is not on this cluster yet: pass its keypair as --program-keypair FILE",
            purser::ID
        )
    })?;
    let max_len = args.max_len.unwrap_or(elf.len());
    ensure!(max_len >= elf.len(), "--max-len {max_len} is less than the program's {} bytes", elf.len());
    let network = signing.network;
    let rent = network.rent(UpgradeableLoaderState::size_of_programdata(max_len)).await?;
    let program_bytes = UpgradeableLoaderState::size_of_program();
    let program_rent = network.rent(program_bytes).await?;
    let buffer = Buffer::of(signing, elf)?;
    // The buffer's own rent comes back before the program's is due.
    ensure_funded(signing, &buffer, rent.max(buffer.rent().await?) + program_rent).await?;
    written(&buffer).await?;

    say("deploying");
    let wallet = signing.address();
    let id = keypair.pubkey();
    let held = network.account(&id).await?.map_or(0, |account| account.lamports);
    let deploy =
        loader::deploy_with_max_program_len(&wallet, &id, &buffer.address, &wallet, program_rent, max_len)
            .map_err(|error| anyhow!("{error}"))?
            .pop()
            .context("the loader has no instruction for a deploy")?;
    // Not `create_account`, which refuses an address that somebody sent lamports to.
    let instructions = [
        system::transfer(&wallet, &id, program_rent.saturating_sub(held)),
        system::allocate(&id, program_bytes as u64),
        system::assign(&id, &bpf_loader_upgradeable::ID),
        deploy,
    ];
    let sent = signing.send(&instructions, &[&keypair]).await;
    sent.map_err(|refusal| refusal.explain(&wallet)).with_context(|| kept(&buffer))
}

async fn upgrade(
    signing: &Signing<'_>,
    args: &DeployArgs,
    elf: &[u8],
    program: &DeployedProgram,
) -> Result<Signature> {
    let wallet = signing.address();
    match program.upgrade_authority {
        Some(authority) if authority == wallet => {}
        Some(authority) => bail!("the program may be upgraded by {authority} only; this wallet is {wallet}"),
        None => bail!("the program {} is final: nobody may upgrade it", purser::ID),
    }
    let longer_by = args.max_len.unwrap_or(0).max(elf.len()).saturating_sub(program.capacity());
    let extension = if longer_by == 0 { 0 } else { longer_by.max(EXTENSION_BYTES_MIN) };
    let network = signing.network;
    let bytes = UpgradeableLoaderState::size_of_programdata(program.capacity() + extension);
    let held = network.account(&program.program_data).await?.map_or(0, |account| account.lamports);
    let extension_rent = network.rent(bytes).await?.saturating_sub(held);
    let buffer = Buffer::of(signing, elf)?;
    ensure_funded(signing, &buffer, buffer.rent().await? + extension_rent).await?;
    written(&buffer).await?;

    if extension > 0 {
        say(&format!("making room for {extension} bytes more"));
        extend(signing, extension as u32).await.with_context(|| kept(&buffer))?;
    }
    say("upgrading");
    let upgrade = loader::upgrade(&purser::ID, &buffer.address, &wallet, &wallet);
    let sent = signing.send(&[upgrade], &[]).await;
    sent.map_err(|refusal| refusal.explain(&wallet)).with_context(|| kept(&buffer))
}

/// Clusters know one of two instructions for it: the older one, or the one that the authority signs.
async fn extend(signing: &Signing<'_>, bytes: u32) -> Result<Signature> {
    let wallet = signing.address();
    let checked = loader::extend_program_checked(&purser::ID, &wallet, Some(&wallet), bytes);
    match signing.send(&[checked], &[]).await {
        Err(Refusal::Transaction(TransactionError::InstructionError(
            _,
            InstructionError::InvalidInstructionData,
        ))) => {
            let older = loader::extend_program(&purser::ID, Some(&wallet), bytes);
            signing.send(&[older], &[]).await.map_err(|refusal| refusal.explain(&wallet))
        }
        answer => answer.map_err(|refusal| refusal.explain(&wallet)),
    }
}

async fn written(buffer: &Buffer<'_>) -> Result<()> {
    buffer.fill().await.with_context(|| kept(buffer))
}

fn kept(buffer: &Buffer<'_>) -> String {
    format!(
        "the buffer {0} keeps what was written: run the command again to go on, or take its SOL back with \
         `purser-migrate refund --buffer {0}`",
        buffer.address
    )
}

/// What runs now, which must be `elf`.
async fn verified(network: &Network, elf: &[u8]) -> Result<DeployedProgram> {
    for _ in 0..VERIFY_ATTEMPTS {
        match program::read(network, &purser::ID).await? {
            Some(program) if program.holds(elf) => return Ok(program),
            _ => tokio::time::sleep(VERIFY_EVERY).await,
        }
    }
    bail!("{} does not show the new program: look with `purser-migrate verify` in a while", network.url)
}

/// `needed` lamports, less what the buffer holds already, and the fees.
async fn ensure_funded(signing: &Signing<'_>, buffer: &Buffer<'_>, needed: u64) -> Result<()> {
    let network = signing.network;
    let wallet = signing.address();
    let balance = network.rpc.get_balance(&wallet).await;
    let balance = balance.map_err(|error| failure::explain_read(&error, &network.url))?;
    let needed = needed.saturating_sub(buffer.lamports().await?) + (buffer.writes() + 10) * SIGNATURE_FEE;
    ensure!(
        balance >= needed,
        "the wallet {wallet} holds {} SOL and this takes {}: send it the rest and run the command again",
        sol(balance),
        sol(needed)
    );
    Ok(())
}

fn read_elf(file: &Path) -> Result<Vec<u8>> {
    let shown = file.display();
    let elf = std::fs::read(file).with_context(|| format!("cannot read the program {shown}"))?;
    ensure!(elf.starts_with(b"\x7fELF"), "{shown} is not a program: `cargo xtask sbf` builds one");
    let id = purser::ID.to_bytes();
    ensure!(
        elf.windows(id.len()).any(|bytes| bytes == id),
        "{shown} does not declare {}: every instruction to it would be refused, so nothing was paid for. Build it with that \
         address in declare_id! (programs/purser/src/lib.rs)",
        purser::ID
    );
    // Where a record of the build lies beside it, the file must be that build.
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

/// A keypair whose address the program was built for; with any other, every instruction would be refused.
fn program_keypair(file: &Path) -> Result<Keypair> {
    let keypair = read_keypair(file)?;
    let address = keypair.pubkey();
    ensure!(
        address == purser::ID,
        "{} is the keypair of {address}, and the program declares {}: pass the other keypair, or write {address} into \
         declare_id! (programs/purser/src/lib.rs) and Anchor.toml, and run `cargo xtask sbf` and `cargo xtask idl`",
        file.display(),
        purser::ID
    );
    Ok(keypair)
}

/// Lamports as exact decimal SOL.
fn sol(lamports: u64) -> String {
    format!("{}.{:09}", lamports / LAMPORTS_PER_SOL, lamports % LAMPORTS_PER_SOL)
}
