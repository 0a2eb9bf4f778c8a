//! Denials: signed documents about refused transfers, in one chain per operator. Each names the hash of the one before,
//! so an omission, a reordering or a change shows. `purser audit --denials` checks this.

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Address, OperatorId, Transfer, TransferId};

/// A refused transfer, with the addresses that its denial names.
#[derive(Debug, Clone)]
pub struct Refused {
    pub transfer: Transfer,
    pub account: Address,
    pub operator: Address,
}

/// The last denial of a chain, as the next one names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DenialHead {
    /// 0: the chain is empty.
    pub number: u64,
    pub transfer_id: Option<TransferId>,
    /// SHA-256 of its document.
    pub hash: [u8; 32],
}

impl DenialHead {
    /// The head that this document makes.
    pub fn of(number: u64, transfer_id: TransferId, document: &str) -> Self {
        Self { number, transfer_id: Some(transfer_id), hash: Sha256::digest(document.as_bytes()).into() }
    }

    /// The memo that records it on the chain.
    pub fn memo(&self, operator: &Address) -> String {
        format!("purser denials v1 {operator} {} {}", self.number, hex::encode(self.hash))
    }
}

/// A denial before its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    pub number: u64,
    pub transfer_id: TransferId,
    /// The JSON that is signed and hashed, in the form of RFC 8785.
    pub document: String,
}

impl Unsigned {
    pub fn head(&self) -> DenialHead {
        DenialHead::of(self.number, self.transfer_id, &self.document)
    }

    pub fn signed(self, signature: [u8; 64]) -> Denial {
        let Self { number, transfer_id, document } = self;
        Denial { number, transfer_id, document, signature: bs58::encode(signature).into_string() }
    }
}

/// A signed denial, as stored and handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub number: u64,
    pub transfer_id: TransferId,
    pub document: String,
    /// Base58.
    pub signature: String,
}

impl Denial {
    /// The line that a client gets and keeps in a file, also in the form of RFC 8785.
    pub fn line(&self) -> Box<RawValue> {
        let line = format!(r#"{{"denial":{},"signature":"{}"}}"#, self.document, self.signature);
        // A document that was damaged in the database is no denial.
        RawValue::from_string(line).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

/// Binds a cursor to an operator's denials.
pub fn denials_filter(operator: OperatorId, above: u64) -> String {
    format!("denials|{operator}|{above}")
}
