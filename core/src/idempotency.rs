use std::fmt;

use purser_policy::DAY_SECONDS;
use sha2::{Digest, Sha256};

use super::invalid::check_text;
use super::{Address, Invalid};

/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 128;
/// How long a key is remembered, in seconds of the chain's clock.
pub const IDEMPOTENCY_SECONDS: i64 = DAY_SECONDS;

/// The client's name for one payment: 1 to 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Counts characters, not bytes. Invalid: empty, over 128 characters, or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if text.is_empty() {
            return Err(Invalid::new("idempotency_key", "must not be empty"));
        }
        check_text("idempotency_key", &text, IDEMPOTENCY_KEY_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 over the parsed request (from, to, amount, memo): `1.5` and `1.500000` are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of another kind of request under a transfer's key.
    pub const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Lower-case hex, as stored.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", self.to_hex())
    }
}

/// The tag that makes a payment unique on the chain: the first 8 bytes, little endian, of
/// SHA-256("purser:tag:v1", operator, agent, idempotency key); never zero.
pub fn transfer_tag(operator: &Address, agent: &Address, key: &IdempotencyKey) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"purser:tag:v1");
    hash.update(operator.as_bytes());
    hash.update(agent.as_bytes());
    hash.update(key.as_str().as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_le_bytes([a, b, c, d, e, f, g, h]).max(1)
}

#[cfg(test)]
mod tests;
