use std::fmt;

use purser_policy::DAY_SECONDS;
use sha2::{Digest, Sha256};

use super::invalid::check_text;
use super::{Address, Invalid, TransferRequest};

/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 128;
/// How long a key is remembered, in seconds of the chain's clock.
pub const IDEMPOTENCY_SECONDS: i64 = DAY_SECONDS;

/// The client's name for one payment: 1 to 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

/// SHA-256 over the parsed request (from, to, amount, memo): `1.5` and `1.500000` are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request. Excludes the idempotency key; an empty memo counts as none, as on the chain.
    pub fn of(request: &TransferRequest) -> Self {
        let to = request.to.text();
        let memo = request.memo.as_ref().map_or("", |memo| memo.as_str());
        let mut hash = Sha256::new();
        hash.update(b"purser:fingerprint:v1");
        hash.update(request.from.bytes());
        hash.update(request.amount.micros().to_le_bytes());
        hash.update((to.len() as u64).to_le_bytes());
        hash.update(to.as_bytes());
        hash.update(memo.as_bytes());
        Self(hash.finalize().into())
    }

    /// The fingerprint of another kind of request under a transfer's key.
    pub(super) const fn from_digest(digest: [u8; 32]) -> Self {
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
mod tests {
    use super::*;
    use crate::domain::{AccountId, Memo, Recipient, UsdcAmount};

    fn request() -> TransferRequest {
        TransferRequest {
            from: AccountId::from_bytes([1; 16]),
            to: Recipient::parse("11111111111111111111111111111111").expect("valid"),
            amount: UsdcAmount::from_micros(1_500_000),
            memo: None,
            idempotency_key: IdempotencyKey::parse("order-1").expect("valid"),
        }
    }

    #[test]
    fn every_parameter_changes_the_fingerprint_and_the_key_does_not() {
        let memo = |text| Some(Memo::parse(text).expect("valid"));
        let original = Fingerprint::of(&request());
        for changed in [
            TransferRequest { from: AccountId::from_bytes([2; 16]), ..request() },
            TransferRequest { to: Recipient::Unreadable("1".into()), ..request() },
            TransferRequest { amount: UsdcAmount::from_micros(1_500_001), ..request() },
            TransferRequest { memo: memo("x"), ..request() },
        ] {
            assert_ne!(Fingerprint::of(&changed), original, "{changed:?}");
        }
        for same in [
            TransferRequest {
                idempotency_key: IdempotencyKey::parse("order-2").expect("valid"),
                ..request()
            },
            TransferRequest { memo: memo(""), ..request() },
        ] {
            assert_eq!(Fingerprint::of(&same), original, "{same:?}");
        }
    }

    #[test]
    fn text_cannot_move_between_recipient_and_memo() {
        let with = |to: &str, memo: &str| {
            Fingerprint::of(&TransferRequest {
                to: Recipient::parse(to).expect("valid"),
                memo: Some(Memo::parse(memo).expect("valid")),
                ..request()
            })
        };
        assert_ne!(with("ab", "c"), with("a", "bc"));
    }

    #[test]
    fn tag_depends_on_operator_account_and_key() {
        let key = |text| IdempotencyKey::parse(text).expect("valid");
        let (one, two) = (Address::from_bytes([1; 32]), Address::from_bytes([2; 32]));
        let tag = transfer_tag(&one, &two, &key("a"));
        assert_eq!(tag, transfer_tag(&one, &two, &key("a")));
        for other in [
            transfer_tag(&two, &one, &key("a")),
            transfer_tag(&one, &one, &key("a")),
            transfer_tag(&one, &two, &key("b")),
        ] {
            assert_ne!(tag, other);
        }
    }

    #[test]
    fn keys_have_one_to_128_characters() {
        assert!(IdempotencyKey::parse("é".repeat(128)).is_ok());
        for text in ["", "a\0", &"a".repeat(129)] {
            assert!(IdempotencyKey::parse(text).is_err(), "{text:?}");
        }
    }
}
