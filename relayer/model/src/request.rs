//! Named requests: POSTs with an `Idempotency-Key`. Transfers have their own rules.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::sealing::{self, NONCE_BYTES};
use super::{Fingerprint, PlainKey, SessionToken, Timestamp};

/// The fingerprint of a request: over method, path and body, byte by byte.
pub fn request_fingerprint(method: &str, path: &str, body: &[u8]) -> Fingerprint {
    let mut hash = Sha256::new();
    hash.update(b"purser:request:v1");
    for part in [method.as_bytes(), path.as_bytes(), body] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Fingerprint::from_digest(hash.finalize().into())
}

/// 128 random bits, drawn once per name. Everything made under the name follows from them, however often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 16]);

impl Seed {
    /// From random bits.
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Lower-case hex, as stored.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

/// Replaces the clock and random generator: the time and bits for making something.
#[derive(Clone)]
pub struct SeededRandom {
    /// When the name was first used.
    pub at: Timestamp,
    /// For making an id.
    pub id_bits: u128,
    /// For making a secret.
    pub secret: Zeroizing<[u8; 32]>,
}

impl SeededRandom {
    /// The same for another id, where the first one will not do: repeating the request finds the same ones in turn.
    pub fn next(self) -> Self {
        Self { id_bits: self.id_bits.wrapping_add(1), ..self }
    }
}

impl fmt::Debug for SeededRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeededRandom({}, ...)", self.at)
    }
}

/// A secret that only the holder of an API key or session has, because the database stores only their hashes. It seals
/// answers that show a secret, and secrets are drawn from it.
#[derive(Clone)]
pub struct AnswerKey(Zeroizing<[u8; 32]>);

impl AnswerKey {
    /// From the API key of a request.
    pub fn of(key: &PlainKey) -> Self {
        Self(mac(key.expose().as_bytes(), &[b"purser:answer:v1"]))
    }

    /// From the session of a form.
    pub fn of_session(token: &SessionToken) -> Self {
        Self(mac(token.expose().as_bytes(), &[b"purser:answer:v1"]))
    }

    /// What a request with this seed makes things from.
    pub fn draw(&self, seed: Seed, at: Timestamp) -> SeededRandom {
        let secret = mac(self.0.as_slice(), &[b"secret", &seed.0]);
        SeededRandom { at, id_bits: u128::from_le_bytes(seed.0), secret }
    }

    /// Seals an answer for the request with this seed. A nonce must be random and never reused.
    pub fn seal(&self, seed: Seed, text: &str, nonce: &[u8; NONCE_BYTES]) -> String {
        sealing::seal(&self.0, &seed.0, text.as_bytes(), nonce)
    }

    /// `None`: it was sealed with another API key.
    pub fn open(&self, seed: Seed, sealed: &str) -> Option<String> {
        let opened = sealing::open(&self.0, &seed.0, sealed)?;
        std::str::from_utf8(&opened).ok().map(str::to_owned)
    }
}

impl fmt::Debug for AnswerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerKey(...)")
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Zeroizing::default() };
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// An answer kept for repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// An HTTP status of success.
    pub status: u16,
    pub body: StoredBody,
}

/// A body in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBody {
    Plain(String),
    /// It shows a secret; see [`AnswerKey`].
    Sealed(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyRole, Network};

    fn key(byte: u8) -> AnswerKey {
        AnswerKey::of(&PlainKey::new(KeyRole::Operator, Network::Test, None, [byte; 32]))
    }

    #[test]
    fn fingerprints_differ_wherever_the_requests_do() {
        let one = request_fingerprint("POST", "/v1/a", b"{}");
        assert_eq!(one, request_fingerprint("POST", "/v1/a", b"{}"));
        for other in [
            request_fingerprint("POST", "/v1/a", b"{ }"),
            request_fingerprint("POST", "/v1/a", b""),
            request_fingerprint("POST", "/v1/a{", b"}"),
            request_fingerprint("POST", "/v1/b", b"{}"),
            request_fingerprint("PUT", "/v1/a", b"{}"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn answer_opens_with_the_key_and_seed_that_it_was_sealed_with_and_no_other() {
        let (one, other) = (Seed::new([1; 16]), Seed::new([2; 16]));
        let sealed = key(1).seal(one, r#"{"key":"psr"}"#, &[9; 24]);
        assert!(!sealed.contains("psr"));
        assert_eq!(key(1).open(one, &sealed).as_deref(), Some(r#"{"key":"psr"}"#));
        assert_eq!(key(1).open(other, &sealed), None);
        assert_eq!(key(2).open(one, &sealed), None);
        assert_eq!(key(1).open(one, "AAAA"), None);
    }

    #[test]
    fn drawn_ids_follow_from_seed_and_key() {
        let at = Timestamp::from_unix_seconds(1);
        let drawn = |byte, seed| key(byte).draw(Seed::new([seed; 16]), at);
        let one = drawn(1, 1);
        assert_eq!((one.id_bits, *one.secret), (drawn(1, 1).id_bits, *drawn(1, 1).secret));
        assert_ne!(*one.secret, *drawn(2, 1).secret, "whoever reads the database cannot draw it");
        assert_ne!(*one.secret, *drawn(1, 2).secret);
        assert_ne!(one.id_bits, drawn(1, 2).id_bits);
    }

    #[test]
    fn seeds_come_back_from_their_text() {
        let seed = Seed::new([0xab; 16]);
        assert_eq!(Seed::from_hex(&seed.to_hex()), Some(seed));
        assert_eq!(Seed::from_hex("ab"), None);
    }
}
