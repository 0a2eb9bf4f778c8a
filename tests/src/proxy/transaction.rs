//! What is read of a signed transaction in passing: a legacy message, as the relayer sends it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const SIGNATURE_BYTES: usize = 64;
const KEY_BYTES: usize = 32;

/// A transaction on its way.
pub(super) struct Passing {
    /// Base58.
    pub signature: String,
    /// Base58.
    pub blockhash: String,
    pub bytes: Vec<u8>,
}

impl Passing {
    /// From the base64 of `sendTransaction`; `None` when it is something else.
    pub fn read(base64: &str) -> Option<Passing> {
        let bytes = STANDARD.decode(base64).ok()?;
        let signatures = usize::from(*bytes.first()?);
        let signature = bytes.get(1..1 + SIGNATURE_BYTES)?;
        // Three bytes of header, then the keys with their count (below 128: one byte), then the blockhash.
        let message = bytes.get(1 + signatures * SIGNATURE_BYTES..)?;
        let keys = usize::from(*message.get(3)?);
        let blockhash = message.get(4 + keys * KEY_BYTES..4 + (keys + 1) * KEY_BYTES)?;
        let text = |bytes: &[u8]| bs58::encode(bytes).into_string();
        Some(Passing { signature: text(signature), blockhash: text(blockhash), bytes: bytes.clone() })
    }

    /// Whether these bytes stand in it, a memo for example.
    pub fn holds(&self, mark: &str) -> bool {
        self.bytes.windows(mark.len().max(1)).any(|window| window == mark.as_bytes())
    }
}
