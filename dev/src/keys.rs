//! The demo's keypairs, in the file format of Solana's own tools: a JSON array of 64 bytes, secret then public.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ed25519_dalek::SigningKey;
use rustix::rand::{GetRandomFlags, getrandom};

use super::folder::Folder;

/// The name of the approver's keypair.
const APPROVER: &str = "approver";

/// One keypair per role from the first day, so that nothing comes to depend on two roles sharing one.
pub struct Keys {
    pub admin: Keypair,
    pub policy_authority: Keypair,
    pub transfer_authority: Keypair,
    /// A wallet outside the service, to pay to.
    pub payee: Keypair,
    /// A person's wallet, which stands in for the phone: see `approve.rs`.
    pub approver: Keypair,
    /// The file with the key that seals webhook secrets.
    pub webhook_key: PathBuf,
}

pub struct Keypair {
    pub path: PathBuf,
    /// The public key, base58.
    pub address: String,
}

impl Keys {
    pub fn load_or_make(folder: &Folder) -> Result<Self> {
        Ok(Self {
            admin: load_or_make(folder, "admin")?,
            policy_authority: load_or_make(folder, "policy-authority")?,
            transfer_authority: load_or_make(folder, "transfer-authority")?,
            payee: load_or_make(folder, "payee")?,
            approver: load_or_make(folder, APPROVER)?,
            webhook_key: find_or_make_webhook_key(folder)?,
        })
    }
}

/// 32 bytes in hex.
fn find_or_make_webhook_key(folder: &Folder) -> Result<PathBuf> {
    const NAME: &str = "keys/webhook-key";
    let path = folder.file(NAME);
    if path.exists() {
        return Ok(path);
    }
    let digits: String = random()?.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.write_secret(NAME, &digits)
}

fn random() -> Result<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    let given = getrandom(&mut bytes, GetRandomFlags::empty())?;
    ensure!(given == bytes.len(), "the system returned too little randomness");
    Ok(bytes)
}

/// The approver's key, of a run in this folder.
pub fn read_approver(folder: &Path) -> Result<SigningKey> {
    read(&folder.join(format!("keys/{APPROVER}.json")))
}

fn read(path: &Path) -> Result<SigningKey> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes: Vec<u8> =
        serde_json::from_str(&text).with_context(|| format!("{} is not a keypair file", path.display()))?;
    let bytes: [u8; 64] =
        bytes.try_into().ok().with_context(|| format!("{} does not hold 64 bytes", path.display()))?;
    SigningKey::from_keypair_bytes(&bytes)
        .with_context(|| format!("the halves of {} do not belong together", path.display()))
}

fn load_or_make(folder: &Folder, role: &str) -> Result<Keypair> {
    let name = format!("keys/{role}.json");
    let path = folder.file(&name);
    let signing = if path.exists() {
        read(&path)?
    } else {
        let signing = SigningKey::from_bytes(&random()?);
        folder.write_secret(&name, &serde_json::to_string(&signing.to_keypair_bytes().as_slice())?)?;
        signing
    };
    Ok(Keypair { path, address: bs58::encode(signing.verifying_key().as_bytes()).into_string() })
}
