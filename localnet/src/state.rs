//! What a network keeps between runs, and what it derives from its seed.
//!
//! With a state directory: `network.json` (seed and clock), `chain.sqlite` (accounts, transactions, slot; the
//! engine's own store) and `lock` (one network per directory). Without one, a fresh seed and nothing on disk.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use solana_hash::Hash;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;

use crate::error::{Context, Error, Result};

/// The identity of one network: its mint and genesis hash follow from the seed.
#[derive(Clone, Serialize, Deserialize)]
pub struct NetworkRecord {
    seed: [u8; 32],
    /// How far the chain's clock is ahead of this machine's, in milliseconds; grows with time travel.
    pub clock_ahead_ms: i64,
    /// Time of the first slot, Unix milliseconds: slot times are counted from it.
    pub genesis_time_ms: Option<u64>,
    pub slot_ms: u64,
}

impl NetworkRecord {
    fn fresh(slot_ms: u64) -> Self {
        let mut seed = [0; 32];
        seed.copy_from_slice(Keypair::new().secret_bytes());
        Self { seed, clock_ahead_ms: 0, genesis_time_ms: None, slot_ms }
    }

    pub fn mint(&self) -> Keypair {
        Keypair::new_from_array(derive("mint", &self.seed))
    }

    pub fn genesis_hash(&self) -> Hash {
        Hash::new_from_array(derive("genesis", &self.seed))
    }
}

/// The mint authority of a mint made by this binary. Anyone can compute it: play money has no secrets, and so
/// `mint` works from another process without a key file.
pub fn mint_authority(mint: &Pubkey) -> Keypair {
    Keypair::new_from_array(derive("mint-authority", mint.as_ref()))
}

fn derive(label: &str, seed: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update("purser-localnet:").chain_update(label).chain_update(seed).finalize().into()
}

/// A network's place on disk, held for as long as the network runs.
pub struct StateDir {
    path: Option<PathBuf>,
    _lock: Option<File>,
}

impl StateDir {
    /// Opens (or creates) the directory and takes its lock; `None` keeps everything in memory.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { path: None, _lock: None }) };
        fs::create_dir_all(path).context(format!("cannot create {}", path.display()))?;
        let lock_path = path.join("lock");
        let lock = File::create(&lock_path).context(format!("cannot open {}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: Some(path.to_path_buf()), _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(format!("another network is using {}", path.display())))
            }
            Err(TryLockError::Error(error)) => {
                Err(error).context(format!("cannot lock {}", lock_path.display()))
            }
        }
    }

    /// The record of an earlier run, or a new one.
    pub fn load(&self, slot_ms: u64) -> Result<NetworkRecord> {
        let Some(file) = self.record_file().filter(|file| file.exists()) else {
            return Ok(NetworkRecord::fresh(slot_ms));
        };
        let text = fs::read_to_string(&file).context(format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .context(format!("{} is damaged; remove the state directory to start anew", file.display()))
    }

    /// Replaces the record whole, so that a crash leaves the old or the new one.
    pub fn save(&self, record: &NetworkRecord) -> Result<()> {
        let Some(file) = self.record_file() else { return Ok(()) };
        let draft = file.with_extension("json.new");
        let text = serde_json::to_string_pretty(record).context("cannot write the network's record")?;
        fs::write(&draft, text).context(format!("cannot write {}", draft.display()))?;
        fs::rename(&draft, &file).context(format!("cannot write {}", file.display()))
    }

    /// Where the engine keeps accounts and transactions; `None` means in memory.
    pub fn database(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.join("chain.sqlite").display().to_string())
    }

    fn record_file(&self) -> Option<PathBuf> {
        self.path.as_ref().map(|path| path.join("network.json"))
    }
}
