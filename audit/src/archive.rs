//! A directory with everything that an audit read. With it, anyone can audit again without a node, and an interrupted
//! gathering resumes where it stopped: each file is either complete or absent.
//!
//! ```text
//! audit.json                      what is audited, and up to where
//! signatures/<address>.json       the node's list for one address, newest first
//! transactions/<signature>.json   the node's answer to getTransaction
//! accounts/<address>.json         an account as it stood, with the slot; null where there was none
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::AuditError;

const VERSION: u32 = 1;
/// Where files stand, beside `audit.json`.
const PARTS: [&str; 3] = ["signatures", "transactions", "accounts"];

/// The subject of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    pub genesis_hash: String,
    /// The address of the program. Directories of before it was written down are about the committed one.
    #[serde(default = "committed_program")]
    pub program: String,
    pub operator: String,
    /// `None`: all accounts of the operator.
    pub account: Option<String>,
    /// Everything up to this slot was read.
    pub until_slot: u64,
    /// Unix seconds, if the node gave it.
    pub until_time: Option<i64>,
    /// The audited agent accounts.
    pub agents: Vec<String>,
    /// The operator's accounts that a node lists as they stand, transactions or not. `None`: no node did.
    #[serde(default)]
    pub standing: Option<Vec<String>>,
    /// In what the nodes that were asked contradict each other; `None` if there was one.
    #[serde(default)]
    pub contradictions: Option<Vec<String>>,
}

fn committed_program() -> String {
    purser::ID.to_string()
}

/// An entry of an address's signature list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub signature: String,
    pub slot: u64,
    #[serde(default)]
    pub block_time: Option<i64>,
    /// The transaction failed: it did nothing but pay its fee.
    #[serde(default)]
    pub err: Option<Value>,
    /// The text that the memo program got, as far as the node reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
}

/// An account as a node returned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAccount {
    pub owner: String,
    /// Base64.
    pub data: String,
}

impl SavedAccount {
    pub fn owner(&self) -> Option<Pubkey> {
        self.owner.parse().ok()
    }

    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.data).ok()
    }
}

/// An account at a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub slot: u64,
    pub account: Option<SavedAccount>,
}

/// The archive's directory.
pub struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// Opens an archive for writing, and makes it if it is missing.
    pub fn create(folder: &Path) -> Result<Self, AuditError> {
        for part in PARTS {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(|cause| AuditError::File { path, cause })?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Opens an archive for reading only.
    pub fn open(folder: &Path) -> Result<Self, AuditError> {
        let archive = Self { folder: folder.to_owned() };
        archive.manifest()?.ok_or_else(|| {
            let what =
                "no audit was saved there, or saving it was interrupted: finish it with --url and --save";
            AuditError::Refused(format!("{}: {what}", folder.join("audit.json").display()))
        })?;
        Ok(archive)
    }

    /// `None`: no gathering was finished yet.
    pub fn manifest(&self) -> Result<Option<Manifest>, AuditError> {
        let path = self.folder.join("audit.json");
        let manifest: Option<Manifest> = read(&path)?;
        match manifest {
            Some(manifest) if manifest.version != VERSION => {
                let why = format!("it has version {}, this audit knows {VERSION}", manifest.version);
                Err(AuditError::Unreadable { path, why })
            }
            manifest => Ok(manifest),
        }
    }

    /// Saves what the archive is about; the last step.
    pub fn finish(&self, mut manifest: Manifest) -> Result<(), AuditError> {
        manifest.version = VERSION;
        write(&self.folder.join("audit.json"), &manifest)
    }

    /// The list of an address, newest first; empty if none was saved.
    pub fn signatures(&self, address: &Pubkey) -> Result<Vec<Line>, AuditError> {
        Ok(read(&self.path("signatures", &address.to_string())?)?.unwrap_or_default())
    }

    pub fn save_signatures(&self, address: &Pubkey, lines: &[Line]) -> Result<(), AuditError> {
        write(&self.path("signatures", &address.to_string())?, lines)
    }

    pub fn has_transaction(&self, signature: &str) -> Result<bool, AuditError> {
        Ok(self.path("transactions", signature)?.exists())
    }

    pub fn transaction(&self, signature: &str) -> Result<Option<Value>, AuditError> {
        read(&self.path("transactions", signature)?)
    }

    pub fn save_transaction(&self, signature: &str, transaction: &Value) -> Result<(), AuditError> {
        write(&self.path("transactions", signature)?, transaction)
    }

    /// `None`: the account was not requested.
    pub fn account(&self, address: &Pubkey) -> Result<Option<Snapshot>, AuditError> {
        read(&self.path("accounts", &address.to_string())?)
    }

    pub fn save_account(&self, address: &Pubkey, snapshot: &Snapshot) -> Result<(), AuditError> {
        write(&self.path("accounts", &address.to_string())?, snapshot)
    }

    /// The root of a Merkle tree over all files, in hex. As in RFC 6962, leaves and nodes are hashed with a byte before them that
    /// tells them apart; a leaf is a file's path in the directory, a zero byte, and the SHA-256 of its bytes, in the order of
    /// the paths.
    pub fn root(&self) -> Result<String, AuditError> {
        let mut names = vec!["audit.json".to_owned()];
        for part in PARTS {
            let path = self.folder.join(part);
            let failed = |cause| AuditError::File { path: path.clone(), cause };
            for entry in fs::read_dir(&path).map_err(failed)? {
                let name = entry.map_err(failed)?.file_name();
                // What an interruption left is no part of it.
                names.extend(
                    name.to_str().filter(|it| it.ends_with(".json")).map(|it| format!("{part}/{it}")),
                );
            }
        }
        names.sort();
        let mut leaves = Vec::with_capacity(names.len());
        for name in names {
            let path = self.folder.join(&name);
            let bytes = fs::read(&path).map_err(|cause| AuditError::File { path, cause })?;
            leaves.push(hashed(&[&[0], name.as_bytes(), &[0], &Sha256::digest(bytes)]));
        }
        Ok(hex::encode(merkle_root(&leaves)))
    }

    /// A node's text may become a file name only if it is base58.
    fn path(&self, part: &str, name: &str) -> Result<PathBuf, AuditError> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(AuditError::Refused(format!("{name:?} is neither a signature nor an address")));
        }
        Ok(self.folder.join(part).join(format!("{name}.json")))
    }
}

fn hashed(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn merkle_root(leaves: &[[u8; 32]]) -> [u8; 32] {
    match leaves {
        [] => hashed(&[]),
        [leaf] => *leaf,
        leaves => {
            // The largest power of two below their number.
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            hashed(&[&[1], &merkle_root(left), &merkle_root(right)])
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, AuditError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(AuditError::File { path: path.to_owned(), cause }),
    };
    let unreadable =
        |error: serde_json::Error| AuditError::Unreadable { path: path.to_owned(), why: error.to_string() };
    serde_json::from_slice(&bytes).map(Some).map_err(unreadable)
}

/// Writes under another name first, so that an existing file is complete.
fn write<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), AuditError> {
    let failed = |cause: std::io::Error| AuditError::File { path: path.to_owned(), cause };
    let bytes = serde_json::to_vec(value).map_err(|error| failed(error.into()))?;
    let beside = path.with_extension("part");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_changes_with_every_byte_and_name_and_not_with_what_an_interruption_left() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let archive = Archive::create(folder.path()).expect("the folder is writable");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("the folder is writable");
        };
        write("audit.json", "{}");
        let mut roots = vec![archive.root().expect("it is readable")];
        for (name, text) in [
            ("transactions/a.json", "1"),
            ("transactions/b.json", "2"),
            ("transactions/b.json", "3"),
            ("accounts/b.json", "3"),
        ] {
            write(name, text);
            roots.push(archive.root().expect("it is readable"));
        }
        fs::remove_file(folder.path().join("transactions/b.json")).expect("it is there");
        roots.push(archive.root().expect("it is readable"));
        let different = roots.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(different, roots.len(), "{roots:?}");
        write("transactions/c.part", "4");
        assert_eq!(archive.root().ok(), roots.pop());
    }

    /// The second example of RFC 6962's own tests: leaves of nothing and of one zero byte.
    #[test]
    fn tree_is_that_of_the_rfc() {
        let leaves = [hashed(&[&[0]]), hashed(&[&[0], &[0]])];
        let root = hex::encode(merkle_root(&leaves));
        assert_eq!(root, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    }
}
