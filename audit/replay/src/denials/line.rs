//! One line: whether it is byte for byte what the key signed.

use anchor_lang::prelude::Pubkey;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use solana_signature::Signature;
use ulid::Ulid;

use super::LINE_BYTES_MAX;

const VERSION: u64 = 1;

/// The keys whose signatures count.
pub(super) struct Keys {
    pub keys: Vec<Pubkey>,
    /// Whether the keys were given, rather than taken from the file.
    pub are_stated: bool,
}

impl Keys {
    pub fn new(keys: Vec<Pubkey>) -> Self {
        Self { are_stated: !keys.is_empty(), keys }
    }

    fn count(&mut self, key: &Pubkey) -> bool {
        if self.keys.is_empty() {
            self.keys.push(*key);
        }
        self.keys.contains(key)
    }
}

/// The owner of the chain: an operator, at one service.
pub(super) struct FileOwner {
    operator: Option<Pubkey>,
    id_and_network: Option<(String, String)>,
}

impl FileOwner {
    pub fn new(operator: Option<Pubkey>) -> Self {
        Self { operator, id_and_network: None }
    }

    pub fn operator(&self) -> Option<Pubkey> {
        self.operator
    }

    pub fn network(&self) -> Option<&str> {
        self.id_and_network.as_ref().map(|(_, network)| network.as_str())
    }

    /// Takes what is still open from the document. False if it names another operator or network.
    fn adopt(&mut self, document: &Document) -> bool {
        let Ok(operator) = document.operator.parse::<Pubkey>() else { return false };
        if *self.operator.get_or_insert(operator) != operator {
            return false;
        }
        let said = (document.operator_id.clone(), document.network.clone());
        *self.id_and_network.get_or_insert_with(|| said.clone()) == said
    }
}

/// A line exactly as the key signed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedLine {
    pub number: u64,
    /// SHA-256 of its document.
    pub hash: [u8; 32],
    pub previous: [u8; 32],
    pub transfer: Option<Ulid>,
    pub previous_transfer: Option<Ulid>,
}

/// What a line claims that is not what a key signed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claims {
    pub number: Option<u64>,
    pub transfer: Option<Ulid>,
    /// A good line of another chain, which stands for none of this one.
    pub is_foreign: bool,
    pub why: &'static str,
}

pub(super) enum Read {
    Good(SignedLine),
    Spoiled(Claims),
    /// Correctly signed, but of another version.
    Newer,
}

#[derive(Deserialize)]
struct Document {
    version: u64,
    key: String,
    network: String,
    number: u64,
    operator: String,
    operator_id: String,
    previous_sha256: String,
    previous_transfer_id: Option<String>,
    transfer_id: String,
}

/// Reads a line. If keys and owner were not given, the first good line sets them.
pub(super) fn read(bytes: &[u8], keys: &mut Keys, owner: &mut FileOwner) -> Read {
    let spoiled = |value: &Value, why| {
        let claimed = &value["denial"];
        Read::Spoiled(Claims {
            number: claimed["number"].as_u64(),
            transfer: claimed["transfer_id"].as_str().and_then(transfer),
            is_foreign: false,
            why,
        })
    };
    if bytes.len() > LINE_BYTES_MAX {
        return spoiled(&Value::Null, "it is longer than any denial");
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return spoiled(&Value::Null, "it is not JSON");
    };
    // One form for one value, RFC 8785: a line holds nothing beside the signed content. Maps are sorted by name.
    let is_canonical = value.as_object().is_some_and(|line| line.len() == 2)
        && serde_json::to_vec(&value).is_ok_and(|canonical| canonical == bytes);
    if !is_canonical {
        return spoiled(&value, "it does not have the one form of a denial");
    }
    let (Ok(document), Ok(text)) =
        (Document::deserialize(&value["denial"]), serde_json::to_vec(&value["denial"]))
    else {
        return spoiled(&value, "it lacks a field that every denial has");
    };
    let signature = value["signature"].as_str().and_then(|text| text.parse::<Signature>().ok());
    let (Some(signature), Ok(key)) = (signature, document.key.parse::<Pubkey>()) else {
        return spoiled(&value, "it names no key, or carries no signature");
    };
    if !signature.verify(key.as_ref(), &text) {
        return spoiled(&value, "the signature does not match the document");
    }
    if !keys.count(&key) {
        return spoiled(&value, "another key signed it");
    }
    if document.version != VERSION {
        return Read::Newer;
    }
    if !owner.adopt(&document) {
        return Read::Spoiled(Claims {
            number: None,
            transfer: transfer(&document.transfer_id),
            is_foreign: true,
            why: "it is of another operator's chain",
        });
    }
    let Some(previous) = hash(&document.previous_sha256) else {
        return spoiled(&value, "it does not name the one before");
    };
    Read::Good(SignedLine {
        number: document.number,
        hash: Sha256::digest(&text).into(),
        previous,
        transfer: transfer(&document.transfer_id),
        previous_transfer: document.previous_transfer_id.as_deref().and_then(transfer),
    })
}

/// The ULID of a transfer's id.
pub(super) fn transfer(text: &str) -> Option<Ulid> {
    Ulid::from_string(text.strip_prefix("txn_")?).ok()
}

pub(super) fn hash(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
}
