//! Signers. A keypair is read and checked once; a remote service that holds the key implements the same trait.

use crate::ChainError;
use async_trait::async_trait;
use purser_model::Address;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::{Keypair, Signer as _};
use std::path::Path;
use zeroize::Zeroizing;

/// Bytes of a Solana keypair: the secret seed, then the public key.
const KEYPAIR_BYTES: usize = 64;
/// 64 numbers, commas and spaces need less; a longer file is not a keypair.
pub const FILE_BYTES_MAX: u64 = 4_096;

/// Signs messages for one address.
#[async_trait]
pub trait Signer: Send + Sync {
    /// The 32 bytes of the public key.
    fn public_key(&self) -> [u8; 32];

    /// An ed25519 signature over a transaction's `message`. `SignerUnavailable` when the holder of the key does not sign.
    async fn sign(&self, message: &[u8]) -> Result<[u8; 64], ChainError>;

    /// Whether it failed to sign when last asked. Asks no service.
    fn is_away(&self) -> bool {
        false
    }

    /// Checks whether it could sign, unless that is known, and updates [`Signer::is_away`].
    async fn look(&self) {}
}

/// A keypair in memory. Its secret is wiped on drop and never printed.
pub struct FileSigner(Keypair);

impl FileSigner {
    /// Reads a Solana keypair file: a JSON array of 64 numbers. `role` names it in errors.
    pub fn from_file(role: &str, path: &Path) -> Result<Self, ChainError> {
        let wrong = |reason: &str| {
            ChainError::Misconfigured(format!("{role} keypair file {}: {reason}", path.display()))
        };
        purser_base::secret_file::check(path).map_err(|problem| wrong(&problem))?;
        let size = std::fs::metadata(path).map_err(|error| wrong(&error.to_string()))?.len();
        if size > FILE_BYTES_MAX {
            return Err(wrong("not a keypair (too long)"));
        }
        let text = Zeroizing::new(std::fs::read(path).map_err(|error| wrong(&error.to_string()))?);
        let bytes = serde_json::from_slice::<Vec<u8>>(&text)
            .map_err(|_| wrong("not a JSON array of 64 numbers from 0 to 255"))?;
        Self::from_bytes(&Zeroizing::new(bytes))
            .map_err(|_| wrong("not a keypair of 64 bytes, or its halves differ"))
    }

    /// From the 64 bytes of a keypair, whose halves must belong together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ChainError> {
        let wrong = || ChainError::Misconfigured("not a keypair of 64 bytes, or its halves differ".into());
        if bytes.len() != KEYPAIR_BYTES {
            return Err(wrong());
        }
        Keypair::try_from(bytes).map(Self).map_err(|_| wrong())
    }
}

#[async_trait]
impl Signer for FileSigner {
    fn public_key(&self) -> [u8; 32] {
        self.0.pubkey().to_bytes()
    }

    async fn sign(&self, message: &[u8]) -> Result<[u8; 64], ChainError> {
        Ok(self.0.sign_message(message).into())
    }
}

/// A new keypair: its file in the format of Solana's tools, and its address.
pub fn new_keypair() -> (Zeroizing<String>, Address) {
    let keypair = Keypair::new();
    let numbers = Zeroizing::new(keypair.to_bytes().map(|byte| byte.to_string()).join(","));
    (Zeroizing::new(format!("[{}]", *numbers)), Address::from_bytes(keypair.pubkey().to_bytes()))
}

/// The address of a signer as the Solana crates type it.
pub fn address(signer: &dyn Signer) -> Pubkey {
    Pubkey::new_from_array(signer.public_key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(contents: &str) -> Result<FileSigner, ChainError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(contents.as_bytes()).unwrap();
        FileSigner::from_file("policy authority", file.path())
    }

    #[tokio::test]
    async fn a_keypair_file_signs_for_its_address() {
        let keypair = Keypair::new();
        let signer = read(&serde_json::to_string(&keypair.to_bytes().to_vec()).unwrap()).unwrap();
        assert_eq!(address(&signer), keypair.pubkey());
        assert_eq!(
            signer.sign(b"message").await.unwrap(),
            <[u8; 64]>::from(keypair.sign_message(b"message"))
        );
    }

    #[test]
    fn a_new_keypair_is_read_again() {
        let (text, address) = new_keypair();
        assert_eq!(read(&text).unwrap().public_key(), address.bytes());
    }

    #[test]
    fn a_file_that_is_no_keypair_is_refused_with_its_path_and_without_its_contents() {
        let mut torn = Keypair::new().to_bytes().to_vec();
        torn[40] ^= 1;
        let torn = serde_json::to_string(&torn).unwrap();
        let short = serde_json::to_string(&vec![7u8; 32]).unwrap();
        for contents in ["", "{}", "[1,2,3]", "[256]", &torn, &short, &"1".repeat(5_000)] {
            let error = read(contents).err().unwrap_or_else(|| panic!("accepted {contents:.60}")).to_string();
            assert!(error.starts_with("policy authority keypair file /"), "{error}");
            assert!(contents.len() < 20 || !error.contains(contents), "{error}");
        }
    }
}
