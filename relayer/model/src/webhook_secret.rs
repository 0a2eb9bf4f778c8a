use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::sealing::{self, NONCE_BYTES};
use super::{ParseError, WebhookId};

const PREFIX: &str = "whsec_";
const TAG_BYTES: usize = 16;

/// A webhook's signing secret as its holder has it: `whsec_` and the base64 of 256 random bits. Shown once.
#[derive(Clone)]
pub struct WebhookSecret {
    text: SecretString,
    bytes: Zeroizing<Vec<u8>>,
}

impl WebhookSecret {
    /// A new secret from 256 random bits.
    pub fn new(random: &[u8; 32]) -> Self {
        Self {
            text: format!("{PREFIX}{}", STANDARD.encode(random)).into(),
            bytes: Zeroizing::new(random.to_vec()),
        }
    }

    /// Reads such a text.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        Some(Self { text: text.to_owned().into(), bytes: Zeroizing::new(bytes) })
    }

    /// The text, to be shown once. Its UTF-8 bytes are the key of `X-Service-Signature`.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// The decoded base64 after `whsec_`: the key of `webhook-signature`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(...)")
    }
}

/// A secret as stored: base64 of a nonce and the secret's XChaCha20-Poly1305 ciphertext, bound to its webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret(String);

impl SealedSecret {
    /// As stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// The key that seals secrets. It lives in the configuration, never in the database.
pub struct SealingKey(SecretBox<[u8; 32]>);

impl SealingKey {
    /// Reads 32 bytes in base64 or hex; ignores surrounding white space.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let bytes = hex::decode(text).ok().or_else(|| STANDARD.decode(text).ok()).map(Zeroizing::new);
        let key = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        let must_be = "must be 32 bytes in base64 or hex, such as `openssl rand -base64 32` prints";
        key.map(|key| Self(SecretBox::new(Box::new(key)))).ok_or_else(|| must_be.into())
    }

    /// Seals a secret for the row of `webhook`. A nonce must be random and never reused.
    pub fn seal(
        &self,
        webhook: WebhookId,
        secret: &WebhookSecret,
        nonce: &[u8; NONCE_BYTES],
    ) -> SealedSecret {
        let text = secret.expose().as_bytes();
        SealedSecret(sealing::seal(self.0.expose_secret(), webhook.to_string().as_bytes(), text, nonce))
    }

    /// 16 bytes that only this key makes of `bytes`, for this purpose alone.
    pub fn tag(&self, purpose: &[u8], bytes: &[u8]) -> [u8; TAG_BYTES] {
        let mac: [u8; 32] = self.mac(purpose, bytes).finalize().into_bytes().into();
        mac.first_chunk().copied().unwrap_or_default()
    }

    /// Whether `tag` is that of `bytes`. Takes as long whatever is wrong with it.
    pub fn is_tag(&self, purpose: &[u8], bytes: &[u8], tag: &[u8]) -> bool {
        tag.len() == TAG_BYTES && self.mac(purpose, bytes).verify_truncated_left(tag).is_ok()
    }

    fn mac(&self, purpose: &[u8], bytes: &[u8]) -> Hmac<Sha256> {
        let key = Zeroizing::new([self.0.expose_secret().as_slice(), purpose].concat());
        // HMAC takes keys of any length.
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&key);
        let mut mac = mac.unwrap_or_else(|_| Hmac::new(&Default::default()));
        mac.update(bytes);
        mac
    }

    /// Opens a secret that was sealed for the row of `webhook`. `None`: with another key, or for another row.
    pub fn open(&self, webhook: WebhookId, sealed: &SealedSecret) -> Option<WebhookSecret> {
        let opened = sealing::open(self.0.expose_secret(), webhook.to_string().as_bytes(), &sealed.0)?;
        WebhookSecret::parse(std::str::from_utf8(&opened).ok()?)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SealingKey {
        SealingKey::parse(&hex::encode([byte; 32])).expect("a key")
    }

    #[test]
    fn a_secret_comes_back_for_its_own_row_and_key_only() {
        let (one, other) = (WebhookId::from_bytes([1; 16]), WebhookId::from_bytes([2; 16]));
        let secret = WebhookSecret::new(&[7; 32]);
        let sealed = key(1).seal(one, &secret, &[9; 24]);
        assert_eq!(key(1).open(one, &sealed).expect("ours").expose(), secret.expose());
        assert!(key(1).open(other, &sealed).is_none(), "another row");
        assert!(key(2).open(one, &sealed).is_none(), "another key");
        assert!(!sealed.as_str().contains(&secret.expose()[6..]));
        let mut bytes = STANDARD.decode(sealed.as_str()).expect("base64");
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            let changed = SealedSecret::from_stored(STANDARD.encode(&bytes));
            assert!(key(1).open(one, &changed).is_none(), "byte {at}");
            bytes[at] ^= 1;
        }
        assert!(key(1).open(one, &SealedSecret::from_stored("AAAA".into())).is_none());
    }

    #[test]
    fn a_secret_has_the_form_of_standard_webhooks() {
        let secret = WebhookSecret::new(&[255; 32]);
        assert_eq!(secret.expose(), "whsec_//////////////////////////////////////////8=");
        assert_eq!(secret.bytes(), [255; 32]);
        assert!(!format!("{secret:?}").contains("///"));
    }

    #[test]
    fn a_key_is_32_bytes_in_base64_or_hex() {
        assert!(SealingKey::parse(&format!(" {}\n", STANDARD.encode([1; 32]))).is_ok());
        for text in ["", "abc", &hex::encode([1; 31]), &STANDARD.encode([1; 33])] {
            assert!(SealingKey::parse(text).is_err(), "{text}");
        }
    }
}
