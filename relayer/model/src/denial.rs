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
    /// The memo that records it on the chain.
    pub fn memo(&self, operator: &Address) -> String {
        format!("purser denials v1 {operator} {} {}", self.number, hex::encode(self.hash))
    }
}

/// A signed denial, as stored and handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub number: u64,
    pub transfer_id: TransferId,
    /// The JSON that is signed and hashed, in the form of RFC 8785.
    pub document: String,
    /// Base58.
    pub signature: String,
}

impl Denial {
    /// The head of a chain that ends with it.
    pub fn head(&self) -> DenialHead {
        let hash = Sha256::digest(self.document.as_bytes()).into();
        DenialHead { number: self.number, transfer_id: Some(self.transfer_id), hash }
    }

    /// The one that follows `before`, once its document is signed.
    pub fn signed(
        before: &DenialHead,
        transfer_id: TransferId,
        document: String,
        signature: [u8; 64],
    ) -> Self {
        // Its document has the same number, or there is none.
        let number = before.number.saturating_add(1);
        Self { number, transfer_id, document, signature: bs58::encode(signature).into_string() }
    }

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
