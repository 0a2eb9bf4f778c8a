//! Encrypted text in the database, whose key is not in the database.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

pub(super) const NONCE_BYTES: usize = 24;

/// Base64 of the nonce and the XChaCha20-Poly1305 ciphertext of `text`, which opens only for the same `bound_to`. A
/// nonce must be random and never reused.
pub(super) fn seal(key: &[u8; 32], bound_to: &[u8], text: &[u8], nonce: &[u8; NONCE_BYTES]) -> String {
    // Fails only beyond 256 GB.
    let sealed = XChaCha20Poly1305::new(key.into())
        .encrypt(XNonce::from_slice(nonce), Payload { msg: text, aad: bound_to })
        .unwrap_or_default();
    STANDARD.encode([nonce.as_slice(), &sealed].concat())
}

/// `None`: sealed with another key, bound to something else, or changed.
pub(super) fn open(key: &[u8; 32], bound_to: &[u8], sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
    let bytes = STANDARD.decode(sealed).ok()?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
    XChaCha20Poly1305::new(key.into())
        .decrypt(XNonce::from_slice(nonce), Payload { msg: sealed, aad: bound_to })
        .ok()
        .map(Zeroizing::new)
}
