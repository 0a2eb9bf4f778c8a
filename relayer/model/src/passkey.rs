use std::fmt;
use std::time::Duration;

use super::{HashedKey, KeyId, PasskeyId, SessionId, Timestamp};

/// How many passkeys a key may have.
pub const PASSKEYS_PER_KEY_MAX: u32 = 10;
/// How long a person may take to make or to use one.
pub const CEREMONY_MAX: Duration = Duration::from_secs(5 * 60);

/// What a person's device signs in with, in place of an operator key. It can do what that key can do, for as long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: PasskeyId,
    pub key_id: KeyId,
    pub name: String,
    /// What the device calls it, in base64url.
    pub credential_id: String,
    /// Its public key and its counter, as whoever checks its signatures wrote them.
    pub credential: String,
    pub created_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

impl Passkey {
    /// What a try with a passkey counts as, beside those with keys and tokens.
    pub fn counted_as(credential_id: &str) -> HashedKey {
        HashedKey::of(credential_id)
    }
}

/// A passkey that signed a challenge.
#[derive(Debug, Clone)]
pub struct PasskeyUse {
    /// As it was read.
    pub passkey: Passkey,
    /// Its credential after that.
    pub credential: String,
    /// When the challenge was made. A challenge is good for what was not used since: nobody signs in with it twice.
    pub begun_at: Timestamp,
}

/// What a challenge is for. One for something else is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    /// Anybody's.
    SignIn,
    /// A passkey is made for this key, in this session.
    Making(KeyId, SessionId),
}

impl fmt::Display for Ceremony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SignIn => f.write_str("sign in"),
            Self::Making(key, session) => write!(f, "make for {key} in {session}"),
        }
    }
}
