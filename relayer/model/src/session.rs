use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use super::{HashedKey, Invalid, Timestamp};

/// A session expires after this long without a request.
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// A session expires after this long in any case.
pub const SESSION_LIFE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The key's oldest sessions beyond these end. A refusal in their place would let whoever signs in often keep others out.
pub const SESSIONS_PER_KEY_MAX: i64 = 32;
/// How late a session's use may be recorded.
const NOTED_WITHIN: Duration = Duration::from_secs(60);

/// A browser's session token: 256 random bits. Stored as a hash, like keys.
#[derive(Clone)]
pub struct SessionToken(SecretString);

impl SessionToken {
    /// A new one from 256 random bits.
    pub fn new(random: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(random).into())
    }

    /// `None`: the text does not have the form of a token.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        (bytes.len() == 32).then(|| Self(text.to_owned().into()))
    }

    /// The text, only for the browser.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The form that is stored and looked up.
    pub fn hash(&self) -> HashedKey {
        HashedKey::of(self.expose())
    }
}

/// The name of a session, `ses_...`: the beginning of its token's hash. Opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

impl SessionId {
    /// Of the session with this token.
    pub fn of(token: &HashedKey) -> Self {
        Self(token.beginning().swap_bytes())
    }

    /// Of the session that is stored under this hash.
    pub fn from_stored(hash: &str) -> Option<Self> {
        u64::from_str_radix(hash.get(..16)?, 16).ok().map(Self)
    }

    /// What its hash begins with.
    pub fn stored(self) -> String {
        format!("{:016x}", self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ses_{}", self.stored())
    }
}

impl FromStr for SessionId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let id = text.strip_prefix("ses_").and_then(|hex| u64::from_str_radix(hex, 16).ok()).map(Self);
        let id = id.filter(|id| id.to_string() == text);
        id.ok_or_else(|| Invalid::new("session", "must be `ses_` and 16 hexadecimal digits"))
    }
}

/// When somebody signed in, from where, and when the session was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub started_at: Timestamp,
    pub used_at: Timestamp,
    pub address: Option<IpAddr>,
}

impl Session {
    /// Whether it has expired.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.started_at.after(SESSION_LIFE_MAX) || now >= self.used_at.after(SESSION_IDLE_MAX)
    }

    /// Whether its use is due to be recorded.
    pub fn is_to_be_noted(&self, now: Timestamp) -> bool {
        now >= self.used_at.after(NOTED_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_idle_and_at_the_end_of_its_life() {
        let start = Timestamp::from_unix_seconds(1_800_000_000);
        let minutes = |minutes: u64| start.after(Duration::from_secs(minutes * 60));
        let id = SessionId(7);
        let used_at = |used_at| Session { id, started_at: start, used_at, address: None };
        assert!(!used_at(start).is_over(minutes(29)) && used_at(start).is_over(minutes(30)));
        assert!(!used_at(minutes(700)).is_over(minutes(719)) && used_at(minutes(700)).is_over(minutes(720)));
        assert!(!used_at(start).is_to_be_noted(start) && used_at(start).is_to_be_noted(minutes(1)));
    }

    #[test]
    fn a_session_is_named_by_the_beginning_of_its_tokens_hash() {
        let hash = SessionToken::new([7; 32]).hash();
        let id = SessionId::of(&hash);
        assert_eq!(id.to_string(), format!("ses_{}", &hash.to_hex()[..16]));
        assert_eq!(id.to_string().parse(), Ok(id));
        for other in
            ["", "ses_", "ses_1", "ses_+000000000000001", "ses_00000000000000AB", &hash.to_hex()[..16]]
        {
            assert!(other.parse::<SessionId>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_token_is_read_back_and_other_text_is_none() {
        let token = SessionToken::new([7; 32]);
        let read = SessionToken::parse(token.expose()).expect("its own text");
        assert_eq!(read.hash(), token.hash());
        for text in ["", "abc", &format!("{}=", token.expose()), &token.expose()[1..], &"a".repeat(10_000)] {
            assert!(SessionToken::parse(text).is_none(), "{text:.60}");
        }
    }
}
