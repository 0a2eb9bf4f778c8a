//! Everything that an audit read, as a directory of files. With it, anyone can audit again without a node, and an interrupted
//! gathering resumes where it stopped: each file is either complete or absent.
//!
//! ```text
//! audit.json                      what is audited, and up to where
//! signatures/<address>.json       the node's list for one address, newest first
//! transactions/<signature>.json   the node's answer to getTransaction
//! accounts/<address>.json         an account as it stood, with the slot; null where there was none
//! relayer.json                    what a relayer answered that was compared; null if another audit came after it
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_client::UPGRADEABLE_LOADER;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::AuditError;

/// The chain's own clock.
pub(crate) const CLOCK: Pubkey = Pubkey::from_str_const("SysvarC1ock11111111111111111111111111111111");

/// Where a program's bytes stand.
pub(crate) fn program_data_at(program: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[program.as_ref()], &UPGRADEABLE_LOADER).0
}

/// Version 1 did not say whether it was whole, and left out what later audits compare.
const VERSION: u32 = 2;
const MANIFEST: &str = "audit.json";
const RELAYER: &str = "relayer.json";
/// Where files stand, beside `audit.json` and `relayer.json`.
pub const PARTS: [&str; 3] = [LISTS, TRANSACTIONS, ACCOUNTS];
pub(crate) const LISTS: &str = "signatures";
pub(crate) const TRANSACTIONS: &str = "transactions";
const ACCOUNTS: &str = "accounts";

/// The subject of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    pub genesis_hash: String,
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
    pub standing: Option<Vec<String>>,
    /// The grants, approvers and budgets that were open, and were read as they stand.
    pub beside: Vec<String>,
    /// The accounts are of a slot that was not final yet when they were read: as of the block that a node was making, each may
    /// be of any moment within its slot.
    pub is_within_slot: bool,
    /// In what the nodes that were asked contradict each other; `None` if there was one.
    pub contradictions: Option<Vec<String>>,
    /// `false` from the moment that the directory is read into again until all of that is in it.
    pub is_whole: bool,
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

/// Where an archive is kept. Names are those of files in a directory, such as `signatures/ADDRESS.json`.
pub trait Files: Send + Sync {
    /// `None`: there is none of that name.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, AuditError>;

    /// Whole or not at all.
    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), AuditError>;

    fn has(&self, name: &str) -> bool;

    /// The names in one of the [`PARTS`], in any order, without what an interruption left.
    fn names(&self, part: &str) -> Result<Vec<String>, AuditError>;

    /// The name of a file for people.
    fn path(&self, name: &str) -> PathBuf;
}

/// Files in memory, for an audit that nobody continues.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Files for Memory {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, AuditError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), AuditError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), bytes);
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    fn names(&self, part: &str) -> Result<Vec<String>, AuditError> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_in = |name: &&String| name.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'));
        Ok(files.keys().filter(is_in).cloned().collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        name.into()
    }
}

/// What was read, by what it is.
pub struct Archive(Box<dyn Files>);

impl Archive {
    /// An archive that may have to be filled yet.
    pub fn over(files: impl Files + 'static) -> Self {
        Self(Box::new(files))
    }

    /// One that an earlier audit saved.
    pub fn saved(files: impl Files + 'static) -> Result<Self, AuditError> {
        let archive = Self::over(files);
        archive.whole()?;
        Ok(archive)
    }

    /// The manifest of an archive whose gathering has ended.
    pub fn whole(&self) -> Result<Manifest, AuditError> {
        self.manifest()?.filter(|manifest| manifest.is_whole).ok_or_else(|| {
            let what = "no audit was saved there, or saving it goes on or was interrupted: finish it with --url and --save";
            AuditError::Refused(format!("{}: {what}", self.0.path(MANIFEST).display()))
        })
    }

    /// `None`: no gathering was finished yet. One that is not whole tells what was gathered before.
    pub fn manifest(&self) -> Result<Option<Manifest>, AuditError> {
        let Some(manifest) = self.read::<Value>(MANIFEST)? else { return Ok(None) };
        let unreadable = |why: String| AuditError::Unreadable { path: self.0.path(MANIFEST), why };
        if manifest["version"] != VERSION {
            let why = format!(
                "it is of another version of this audit, {}, and this one reads {VERSION}: gather again with --url and --save, \
                 into another directory",
                manifest["version"]
            );
            return Err(unreadable(why));
        }
        serde_json::from_value(manifest).map(Some).map_err(|error| unreadable(error.to_string()))
    }

    /// Marks what is saved as not whole, until [`Self::finish`]: from here on it is of two times.
    pub(crate) fn begin(&self) -> Result<(), AuditError> {
        let Some(manifest) = self.manifest()? else { return Ok(()) };
        self.write(MANIFEST, &Manifest { is_whole: false, ..manifest })
    }

    /// Saves what the archive is about; the last step.
    pub fn finish(&self, manifest: Manifest) -> Result<(), AuditError> {
        self.write(MANIFEST, &Manifest { version: VERSION, is_whole: true, ..manifest })
    }

    /// Whether the list of an address was saved. An empty list counts.
    pub(crate) fn has_signatures(&self, address: &Pubkey) -> Result<bool, AuditError> {
        Ok(self.0.has(&named(LISTS, &address.to_string())?))
    }

    /// The names of a part's files, without part and ending.
    pub(crate) fn names(&self, part: &str) -> Result<Vec<String>, AuditError> {
        let names = self.0.names(part)?;
        let stem = |name: &String| {
            Some(name.strip_prefix(part)?.strip_prefix('/')?.strip_suffix(".json")?.to_owned())
        };
        Ok(names.iter().filter_map(stem).filter(|stem| is_name(stem)).collect())
    }

    /// The list of an address, newest first; empty if none was saved.
    pub fn signatures(&self, address: &Pubkey) -> Result<Vec<Line>, AuditError> {
        Ok(self.read(&named(LISTS, &address.to_string())?)?.unwrap_or_default())
    }

    pub fn save_signatures(&self, address: &Pubkey, lines: &[Line]) -> Result<(), AuditError> {
        self.write(&named(LISTS, &address.to_string())?, lines)
    }

    pub fn has_transaction(&self, signature: &str) -> Result<bool, AuditError> {
        Ok(self.0.has(&named(TRANSACTIONS, signature)?))
    }

    pub fn transaction(&self, signature: &str) -> Result<Option<Value>, AuditError> {
        self.read(&named(TRANSACTIONS, signature)?)
    }

    pub fn save_transaction(&self, signature: &str, transaction: &Value) -> Result<(), AuditError> {
        self.write(&named(TRANSACTIONS, signature)?, transaction)
    }

    /// `None`: the account was not requested.
    pub fn account(&self, address: &Pubkey) -> Result<Option<Snapshot>, AuditError> {
        self.read(&named(ACCOUNTS, &address.to_string())?)
    }

    pub fn save_account(&self, address: &Pubkey, snapshot: &Snapshot) -> Result<(), AuditError> {
        self.write(&named(ACCOUNTS, &address.to_string())?, snapshot)
    }

    /// What a relayer answered in the last audit, if one was asked.
    pub(crate) fn relayer<T: DeserializeOwned>(&self) -> Result<Option<T>, AuditError> {
        Ok(self.read::<Option<T>>(RELAYER)?.flatten())
    }

    pub(crate) fn save_relayer<T: Serialize>(&self, kept: &T) -> Result<(), AuditError> {
        self.write(RELAYER, kept)
    }

    /// What a relayer answered does not belong to what is read from now on.
    pub(crate) fn forget_relayer(&self) -> Result<(), AuditError> {
        if self.0.has(RELAYER) { self.write(RELAYER, &Value::Null) } else { Ok(()) }
    }

    /// The root of a Merkle tree over all files, in hex. As in RFC 6962, leaves and nodes are hashed with a byte before them that
    /// tells them apart; a leaf is a file's path in the directory, a zero byte, and the SHA-256 of its bytes, in the order of
    /// the paths.
    pub fn root(&self) -> Result<String, AuditError> {
        let mut names = vec![MANIFEST.to_owned()];
        names.extend(self.0.has(RELAYER).then(|| RELAYER.to_owned()));
        for part in PARTS {
            names.extend(self.names(part)?.iter().map(|name| format!("{part}/{name}.json")));
        }
        names.sort();
        let mut leaves = Vec::with_capacity(names.len());
        for name in names {
            let gone = || AuditError::Refused(format!("{} is not there", self.0.path(&name).display()));
            let bytes = self.0.read(&name)?.ok_or_else(gone)?;
            leaves.push(hashed(&[&[0], name.as_bytes(), &[0], &Sha256::digest(bytes)]));
        }
        Ok(hex::encode(merkle_root(&leaves)))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, AuditError> {
        let Some(bytes) = self.0.read(name)? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| AuditError::Unreadable {
            path: self.0.path(name),
            why: error.to_string(),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(unreadable)
    }

    fn write<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), AuditError> {
        let failed =
            |error: serde_json::Error| AuditError::File { path: self.0.path(name), cause: error.into() };
        self.0.write(name, serde_json::to_vec(value).map_err(failed)?)
    }
}

/// A node's text may become a file name only if it is base58.
fn named(part: &str, name: &str) -> Result<String, AuditError> {
    if !is_name(name) {
        return Err(AuditError::Refused(format!("{name:?} is neither a signature nor an address")));
    }
    Ok(format!("{part}/{name}.json"))
}

/// Other names than these are not read.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_changes_with_every_byte_and_name() {
        let archive = Archive::over(Memory::default());
        let write = |name: &str, text: &str| {
            archive.0.write(name, text.into()).expect("memory is writable");
        };
        write(MANIFEST, "{}");
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
        let different = roots.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(different, roots.len(), "{roots:?}");
    }

    /// The second example of RFC 6962's own tests: leaves of nothing and of one zero byte.
    #[test]
    fn tree_is_that_of_the_rfc() {
        let leaves = [hashed(&[&[0]]), hashed(&[&[0], &[0]])];
        let root = hex::encode(merkle_root(&leaves));
        assert_eq!(root, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    }
}
