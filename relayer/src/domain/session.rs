use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use super::{HashedKey, Timestamp};

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

/// When somebody signed in, and when the session was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub started_at: Timestamp,
    pub used_at: Timestamp,
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
        let used_at = |used_at| Session { started_at: start, used_at };
        assert!(!used_at(start).is_over(minutes(29)) && used_at(start).is_over(minutes(30)));
        assert!(!used_at(minutes(700)).is_over(minutes(719)) && used_at(minutes(700)).is_over(minutes(720)));
        assert!(!used_at(start).is_to_be_noted(start) && used_at(start).is_to_be_noted(minutes(1)));
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
