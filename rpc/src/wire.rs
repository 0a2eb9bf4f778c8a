//! What we read of a node's answers: only the fields that we use, and none that may differ between versions.

use serde::Deserialize;
use serde_json::Value;
use solana_sdk::pubkey::Pubkey;

/// How settled a transaction must be before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Commitment {
    Confirmed,
    Finalized,
}

impl Commitment {
    /// The word that nodes and the configuration use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Commitment::Confirmed => "confirmed",
            Commitment::Finalized => "finalized",
        }
    }
}

/// An account as a node returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAccount {
    pub owner: Pubkey,
    pub executable: bool,
    pub lamports: u64,
    pub data: Vec<u8>,
}

impl RawAccount {
    /// An address that only holds lamports: owned by the system program, without data.
    pub fn is_blank(&self) -> bool {
        self.owner == Pubkey::default() && self.data.is_empty()
    }
}

/// An account in base64, as it comes over the wire.
#[derive(Deserialize)]
pub struct WireAccount {
    owner: String,
    executable: bool,
    lamports: u64,
    data: (String, String),
}

impl WireAccount {
    /// `None` when the answer does not match the request.
    pub fn decode(self) -> Option<RawAccount> {
        use base64::Engine;
        let data = base64::engine::general_purpose::STANDARD.decode(self.data.0).ok()?;
        let owner = self.owner.parse().ok()?;
        Some(RawAccount { owner, executable: self.executable, lamports: self.lamports, data })
    }
}

/// Values read at one slot from one node (by its place in the configuration).
#[derive(Debug, Clone)]
pub struct AtSlot<T> {
    pub slot: u64,
    pub value: T,
    pub node: usize,
}

/// The envelope of answers and notices that belong to a slot.
#[derive(Debug, Deserialize)]
pub struct RpcResponse<T> {
    pub context: Context,
    pub value: T,
}

#[derive(Debug, Deserialize)]
pub struct Context {
    pub slot: u64,
}

/// A blockhash to sign over.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatestBlockhash {
    pub blockhash: String,
    pub last_valid_block_height: u64,
}

/// The finalized tip: slot and height of the same block.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinalizedTip {
    #[serde(rename = "absoluteSlot")]
    pub slot: u64,
    pub block_height: u64,
}

/// What a node knows of a signature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureStatus {
    pub slot: u64,
    /// `None` or absent: landed without error.
    #[serde(default)]
    pub err: Option<Value>,
    #[serde(default)]
    confirmation_status: Option<String>,
}

impl SignatureStatus {
    /// Whether it reached `commitment`. A status without a confirmation word did not.
    pub fn reached(&self, commitment: Commitment) -> bool {
        self.confirmation_status.as_deref().is_some_and(|word| reaches(word, commitment))
    }

    /// True if it says that it has not reached `commitment` yet.
    pub fn is_short_of(&self, commitment: Commitment) -> bool {
        self.confirmation_status.as_deref().is_some_and(|word| !reaches(word, commitment))
    }
}

fn reaches(word: &str, commitment: Commitment) -> bool {
    match (word, commitment) {
        ("finalized", Commitment::Finalized | Commitment::Confirmed) => true,
        ("confirmed", Commitment::Confirmed) => true,
        (_, Commitment::Finalized | Commitment::Confirmed) => false,
    }
}

/// One line of an address's history.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureInfo {
    pub signature: String,
    pub slot: u64,
    #[serde(default)]
    pub err: Option<Value>,
    #[serde(default)]
    pub block_time: Option<i64>,
    #[serde(default)]
    confirmation_status: Option<String>,
}

impl SignatureInfo {
    /// Whether it reached the commitment that was `asked` for. A line without a word was listed because it did.
    pub fn reached(&self, asked: Commitment) -> bool {
        self.confirmation_status.as_deref().is_none_or(|word| reaches(word, asked))
    }

    /// Whether its slot can no longer be forked away.
    pub fn is_finalized(&self, asked: Commitment) -> bool {
        match self.confirmation_status.as_deref() {
            Some(word) => reaches(word, Commitment::Finalized),
            None => asked == Commitment::Finalized,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reaches_only_what_it_says() {
        let status = |word: Option<&str>| SignatureStatus {
            slot: 1,
            err: None,
            confirmation_status: word.map(str::to_owned),
        };
        assert!(status(Some("finalized")).reached(Commitment::Finalized));
        assert!(status(Some("finalized")).reached(Commitment::Confirmed));
        assert!(status(Some("confirmed")).reached(Commitment::Confirmed));
        for word in [Some("confirmed"), Some("processed"), Some("optimistic"), None] {
            assert!(!status(word).reached(Commitment::Finalized), "{word:?}");
        }
        assert!(!status(Some("processed")).reached(Commitment::Confirmed));
        assert!(!status(None).reached(Commitment::Confirmed));
    }

    #[test]
    fn a_line_says_whether_it_is_where_it_was_asked_for() {
        let line = |word: Option<&str>| {
            let line =
                serde_json::json!({ "signature": "s", "slot": 1, "err": null, "confirmationStatus": word });
            serde_json::from_value::<SignatureInfo>(line).expect("a line")
        };
        let says = |word, asked| (line(word).reached(asked), line(word).is_finalized(asked));
        assert_eq!(says(Some("confirmed"), Commitment::Finalized), (false, false), "listed too early");
        assert_eq!(says(Some("processed"), Commitment::Confirmed), (false, false));
        assert_eq!(says(Some("confirmed"), Commitment::Confirmed), (true, false));
        assert_eq!(says(Some("finalized"), Commitment::Confirmed), (true, true));
        assert_eq!(says(None, Commitment::Finalized), (true, true));
        assert_eq!(says(None, Commitment::Confirmed), (true, false));
    }
}
