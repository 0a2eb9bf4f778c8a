//! What people and programs change through the service.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use purser_core::words;
use serde_json::value::RawValue;

use super::{ActionId, KeyHint, KeyId, OperatorId, ParseError, SessionId, Timestamp};

const WORD_CHARS_MAX: usize = 64;

/// A name or an id in the record: letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionWord(String);

impl FromStr for ActionWord {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if text.is_empty() || text.len() > WORD_CHARS_MAX || !is_plain {
            return Err(format!("must be 1 to {WORD_CHARS_MAX} letters, digits and underscores").into());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ActionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

words! {
    /// What became of an action.
    pub enum ActionOutcome = "ActionOutcome":
        "`unknown` while it runs, and afterwards if the service was interrupted or answered 5xx. If the change \
         sends transactions, the service looks them up within minutes: `done` if one of them changed something, \
         `unchanged` if they all failed or expired." {
        /// It is not over, or nobody knows yet how it ended.
        Unknown = "unknown",
        Done = "done",
        /// It changed nothing. Only one that was interrupted is kept with this outcome, once the chain shows it.
        Unchanged = "unchanged",
    }
}

/// What the names of actions begin with that stop, revoke, drop or say no.
const NEVER_REFUSED: [&str; 11] = [
    "halt",
    "revoke_",
    "reject_",
    "withdraw_",
    "drop_",
    "close_",
    "void_",
    "delete_",
    "remove_",
    "end_",
    "sign_out",
];
/// Changes of limits. A key has a number of its own for them: nothing else that it does keeps anybody from tightening them.
pub const ACTIONS_OF_LIMITS: [&str; 4] =
    ["replace_policy", "update_policy", "change_policies", "update_budget"];

/// A change that somebody made through the service.
#[derive(Debug, Clone)]
pub struct Action {
    pub id: ActionId,
    pub operator_id: OperatorId,
    /// The operation of REST that does this, or one of the dashboard alone: `sign_in`.
    pub name: ActionWord,
    pub outcome: ActionOutcome,
    /// The key of the request or of the session; `None`: the command line on the server.
    pub key_id: Option<KeyId>,
    /// The dashboard session.
    pub session_id: Option<SessionId>,
    /// The client's, where it is known.
    pub address: Option<IpAddr>,
    /// What was changed.
    pub object_id: Option<ActionWord>,
    /// What was made.
    pub made_id: Option<ActionWord>,
    /// What was asked for: a JSON object.
    pub after: Option<Box<RawValue>>,
    /// Of the change on the chain, base58.
    pub tx_signature: Option<String>,
    pub request_id: Option<ActionWord>,
    pub created_at: Timestamp,
}

/// A transaction of an action. It is recorded before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTransaction {
    /// Base58.
    pub signature: String,
    pub last_valid_block_height: u64,
    /// It only prepares the change, as those that write a draft do.
    pub is_step: bool,
    pub sent_at: Timestamp,
}

impl Action {
    /// One that only begins: nothing else is known of it.
    pub fn new(operator_id: OperatorId, name: ActionWord, at: Timestamp, random: u128) -> Self {
        Self {
            id: ActionId::new(at, random),
            operator_id,
            name,
            outcome: ActionOutcome::Unknown,
            key_id: None,
            session_id: None,
            address: None,
            object_id: None,
            made_id: None,
            after: None,
            tx_signature: None,
            request_id: None,
            created_at: at,
        }
    }

    /// True if it may be refused for the number of its key's actions in a day.
    pub fn is_counted(&self) -> bool {
        !NEVER_REFUSED.iter().any(|beginning| self.name.0.starts_with(beginning))
    }

    /// True if it is a change of limits, which are counted apart from everything else.
    pub fn is_of_limits(&self) -> bool {
        ACTIONS_OF_LIMITS.contains(&self.name.0.as_str())
    }
}

/// An action, and the key that did it.
#[derive(Debug, Clone)]
pub struct ListedAction {
    pub action: Action,
    pub key_name: Option<String>,
    pub key_hint: Option<KeyHint>,
    /// Of the passkey that opened its session.
    pub passkey_name: Option<String>,
}

/// Which actions a list shows.
#[derive(Debug, Clone, Default)]
pub struct ActionFilter {
    pub id: Option<ActionId>,
    pub name: Option<ActionWord>,
    /// What was changed or made.
    pub object_id: Option<ActionWord>,
    pub key_id: Option<KeyId>,
    /// Only what began after this time.
    pub since: Option<Timestamp>,
    /// Only what began up to this time.
    pub until: Option<Timestamp>,
}

impl ActionFilter {
    /// Binds a cursor of the list to its operator and filter.
    pub fn text(&self, operator_id: OperatorId) -> String {
        fn text<T: fmt::Display>(part: Option<&T>) -> String {
            part.map_or_else(String::new, T::to_string)
        }
        let Self { id, name, object_id, key_id, since, until } = self;
        let (name, object_id, key_id) =
            (text(name.as_ref()), text(object_id.as_ref()), text(key_id.as_ref()));
        let (id, since, until) = (text(id.as_ref()), text(since.as_ref()), text(until.as_ref()));
        format!("actions|{operator_id}|{id}|{name}|{object_id}|{key_id}|{since}|{until}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_nothing_that_could_be_more_than_a_name() {
        for text in ["create_account", "acct_01JD5Z8K40C5B8H1S2E7G9PMAW", "a"] {
            assert_eq!(text.parse::<ActionWord>().expect("a word").to_string(), text);
        }
        for text in ["", " a", "a b", "<b>", "a\n", "a\0", "\u{202e}a", "=1+1", &"a".repeat(65)] {
            assert!(text.parse::<ActionWord>().is_err(), "{text:?}");
        }
    }
}
