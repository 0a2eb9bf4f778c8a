//! Uploads a program: written in parts into a buffer account, which the loader then takes over at once.
//!
//! The buffer's address is derived from the wallet and the program's bytes, so an interrupted run leaves nothing to
//! remember: the same command finds the buffer, compares it with the file and writes what differs. The buffer's
//! contents are the only truth; it does not matter whether a single write was confirmed.

use std::collections::HashMap;
use std::time::Duration;

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::stream::{self, StreamExt};
use solana_commitment_config::CommitmentConfig;
use solana_loader_v3_interface::instruction as loader;
use solana_loader_v3_interface::state::UpgradeableLoaderState;
use solana_sdk::account::Account;
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Signature;
use solana_sdk::transaction::Transaction;
use solana_system_interface::instruction as system;

use super::program::sha256;
use super::progress::{Progress, say};
use crate::failure;
use crate::landing;
use crate::signing::Signing;

/// First four bytes of a buffer account, little-endian.
const BUFFER: u32 = 1;
/// Size limit of a transaction, in bytes.
const TRANSACTION_BYTES_MAX: usize = 1_232;
/// Bytes of one signature and of the count before it.
const SIGNATURE_BYTES: usize = 65;
/// Maximum length of an address seed.
const SEED_CHARS: usize = 32;
const SENDS_AT_ONCE: usize = 16;
/// How many signatures one status request may name.
const STATUSES_AT_ONCE: usize = 256;
/// After this many rounds without a new part in the buffer, the cluster counts as out of order.
const IDLE_ROUNDS_MAX: u32 = 3;
const POLL_EVERY: Duration = Duration::from_millis(500);
/// After this many polls, unconfirmed parts are sent again.
const POLLS_UNTIL_RESEND: u32 = 4;

/// Whether this is a buffer, whoever owns it.
pub fn is_buffer(account: &Account) -> bool {
    account.owner == bpf_loader_upgradeable::ID && account.data.starts_with(&BUFFER.to_le_bytes())
}

/// One wallet's buffer for one program.
pub struct Buffer<'a> {
    signing: &'a Signing<'a>,
    pub address: Pubkey,
    seed: String,
    elf: &'a [u8],
    /// How many of the program's bytes one transaction carries.
    part_bytes: usize,
}

impl<'a> Buffer<'a> {
    /// The buffer of this wallet for these bytes, whether it exists or not.
    pub fn of(signing: &'a Signing<'a>, elf: &'a [u8]) -> Result<Self> {
        let seed =
            sha256(elf).get(..SEED_CHARS).map(str::to_string).context("a hash is too short for a seed")?;
        let address = Pubkey::create_with_seed(&signing.address(), &seed, &bpf_loader_upgradeable::ID)
            .map_err(|error| anyhow!("the wallet cannot own a buffer: {error}"))?;
        // A full part needs one more byte for its length than an empty one.
        let empty = loader::write(&address, &signing.address(), 0, Vec::new());
        let empty = signing.message(&[empty], Default::default()).serialize();
        let part_bytes = TRANSACTION_BYTES_MAX - SIGNATURE_BYTES - 1 - empty.len();
        Ok(Self { signing, address, seed, elf, part_bytes })
    }

    /// Its lamports; zero if it does not exist.
    pub async fn lamports(&self) -> Result<u64> {
        Ok(self.signing.network.account(&self.address).await?.map_or(0, |account| account.lamports))
    }

    /// The lamports that it must hold.
    pub async fn rent(&self) -> Result<u64> {
        self.signing.network.rent(self.account_bytes()).await
    }

    /// How many transactions it takes to write it from scratch.
    fn writes(&self) -> u64 {
        self.elf.len().div_ceil(self.part_bytes) as u64
    }

    /// The fees, in lamports, for the parts that are not written yet.
    pub async fn fees(&self) -> Result<u64> {
        let create = match self.exists().await? {
            true => 0,
            false => self.signing.fee(&self.creation(0)?).await?,
        };
        let writes = self.missing().await?.len() as u64;
        Ok(create + writes * self.signing.fee(&[self.write_part(0)]).await?)
    }

    /// Creates the buffer if it is missing, and writes what differs from the program.
    pub async fn fill(&self) -> Result<()> {
        if !self.exists().await? {
            say(&format!("creating the buffer {}", self.address));
            self.create().await?;
        }
        let parts = self.writes();
        let mut progress = Progress::start("writing the program", parts);
        let (mut fewest, mut idle) = (usize::MAX, 0);
        loop {
            let missing = self.missing().await?;
            if missing.is_empty() {
                progress.set(parts);
                progress.finish();
                return Ok(());
            }
            idle = if missing.len() < fewest { 0 } else { idle + 1 };
            ensure!(
                idle < IDLE_ROUNDS_MAX,
                "the cluster takes no more writes ({} of {parts} left)",
                missing.len()
            );
            fewest = fewest.min(missing.len());
            self.write(&missing, &mut progress, parts).await?;
        }
    }

    /// Whether it exists and can be written to.
    pub async fn exists(&self) -> Result<bool> {
        let account = self.signing.network.account(&self.address).await?;
        let Some(account) = account.filter(|account| account.owner != anchor_lang::system_program::ID) else {
            return Ok(false);
        };
        // Only this wallet can have made it at this address; a changed authority shows that it was handed over.
        let ours = account.data.get(5..37) == Some(self.signing.address().as_ref());
        ensure!(
            is_buffer(&account) && ours && account.data.len() == self.account_bytes(),
            "the account {} is not a buffer of this wallet any more",
            self.address
        );
        Ok(true)
    }

    /// Not `create_account`, which refuses an address that already holds lamports.
    async fn create(&self) -> Result<()> {
        let missing = self.rent().await?.saturating_sub(self.lamports().await?);
        let sent = self.signing.send(&self.creation(missing)?, &[]).await;
        sent.map_err(|refusal| refusal.explain(&self.signing.address()))?;
        Ok(())
    }

    fn creation(&self, lamports: u64) -> Result<[Instruction; 3]> {
        let wallet = self.signing.address();
        let bytes = self.account_bytes() as u64;
        let initialise = loader::create_buffer(&wallet, &self.address, &wallet, 0, self.elf.len())
            .map_err(|error| anyhow!("{error}"))?
            .pop()
            .context("the loader has no instruction for a buffer")?;
        Ok([
            system::transfer(&wallet, &self.address, lamports),
            system::allocate_with_seed(
                &self.address,
                &wallet,
                &self.seed,
                bytes,
                &bpf_loader_upgradeable::ID,
            ),
            initialise,
        ])
    }

    /// Offsets of the parts that differ from the program.
    async fn missing(&self) -> Result<Vec<usize>> {
        let account = self.signing.network.account(&self.address).await?;
        let data = account.map(|account| account.data).unwrap_or_default();
        let held = data.get(UpgradeableLoaderState::size_of_buffer_metadata()..).unwrap_or_default();
        let differs = |offset: &usize| held.get(*offset..self.part_end(*offset)) != Some(self.part(*offset));
        Ok((0..self.elf.len()).step_by(self.part_bytes).filter(differs).collect())
    }

    /// Sends these parts side by side, and returns when all are confirmed or can no longer land.
    async fn write(&self, offsets: &[usize], progress: &mut Progress, parts: u64) -> Result<()> {
        let rpc = &self.signing.network.rpc;
        let unreadable = |error| failure::explain_read(&error, &self.signing.network.url);
        let latest = rpc.get_latest_blockhash_with_commitment(self.signing.network.commitment).await;
        let (blockhash, last_valid_height) = latest.map_err(unreadable)?;
        let signed = offsets.iter().map(|offset| self.signing.sign(self.write_part(*offset), blockhash));
        let signed: Vec<Transaction> = signed.collect::<Result<_>>()?;
        let named = signed.into_iter().filter_map(|sent| Some((*sent.signatures.first()?, sent)));
        let mut waiting: HashMap<Signature, Transaction> = named.collect();
        for poll in 0u32.. {
            if poll.is_multiple_of(POLLS_UNTIL_RESEND) {
                let sends = waiting
                    .values()
                    .map(|transaction| landing::send_blindly(self.signing.network, transaction));
                stream::iter(sends).buffer_unordered(SENDS_AT_ONCE).collect::<Vec<()>>().await;
            }
            let height = rpc.get_block_height_with_commitment(CommitmentConfig::processed()).await;
            self.forget_confirmed(&mut waiting).await?;
            progress.set(parts.saturating_sub(waiting.len() as u64));
            if waiting.is_empty() || height.map_err(unreadable)? > last_valid_height {
                break;
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok(())
    }

    async fn forget_confirmed(&self, waiting: &mut HashMap<Signature, Transaction>) -> Result<()> {
        let signatures: Vec<Signature> = waiting.keys().copied().collect();
        for group in signatures.chunks(STATUSES_AT_ONCE) {
            let answer = self.signing.network.rpc.get_signature_statuses(group).await;
            let statuses =
                answer.map_err(|error| failure::explain_read(&error, &self.signing.network.url))?.value;
            for (signature, status) in group.iter().zip(statuses) {
                let Some(status) = status else { continue };
                if let Some(error) = &status.err {
                    bail!(failure::explain_transaction(error, &self.signing.address()));
                }
                if status.satisfies_commitment(self.signing.network.commitment) {
                    waiting.remove(signature);
                }
            }
        }
        Ok(())
    }

    fn write_part(&self, offset: usize) -> Instruction {
        let wallet = self.signing.address();
        // A program has at most 10 MiB.
        loader::write(&self.address, &wallet, offset as u32, self.part(offset).to_vec())
    }

    fn part(&self, offset: usize) -> &[u8] {
        self.elf.get(offset..self.part_end(offset)).unwrap_or_default()
    }

    fn part_end(&self, offset: usize) -> usize {
        (offset + self.part_bytes).min(self.elf.len())
    }

    fn account_bytes(&self) -> usize {
        UpgradeableLoaderState::size_of_buffer(self.elf.len())
    }
}
