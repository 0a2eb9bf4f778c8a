use std::fmt;
use std::str::FromStr;

use purser_core::{ParseError, words};

use serde::{Deserialize, Serialize, Serializer};

use super::Invalid;

const PARAM: &str = "scopes";

words! {
    /// What a key may do with its holder's things. None of them approves.
    pub enum Scope = "Scope":
        "What a key may do. `admin` stands for all of them, and for what has no scope of its own." {
        /// Changes nothing.
        Read = "read",
        Pay = "pay",
        Policy = "policy",
        Halt = "halt",
        RejectApprovals = "reject-approvals",
        /// All of them, and what has no scope of its own: accounts, webhooks, all keys of agents.
        Admin = "admin",
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Scopes(u8);

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list())
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = Invalid;

    fn try_from(texts: Vec<String>) -> Result<Self, Invalid> {
        Self::parse(&texts)
    }
}

impl Scopes {
    pub const ALL: Self = Self::of(&[Scope::Admin]);
    /// All that an agent key can have.
    pub const OF_AGENTS: Self = Self::of(&[Scope::Read, Scope::Pay]);

    pub const fn of(scopes: &[Scope]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < scopes.len() {
            bits |= 1 << scopes[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// Invalid: none, more than there are, or an unknown one. One that is given twice counts once.
    pub fn parse(texts: &[String]) -> Result<Self, Invalid> {
        if texts.is_empty() || texts.len() > Scope::ALL.len() {
            return Err(Invalid::new(PARAM, format!("must be 1 to {} scopes", Scope::ALL.len())));
        }
        let read = |(at, text): (usize, &String)| {
            text.parse::<Scope>()
                .map_err(|unknown| Invalid::new(format!("{PARAM}[{at}]"), unknown.to_string()))
        };
        texts.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>().map(|scopes| Self::of(&scopes))
    }

    /// Those in it, in order.
    pub fn list(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & Self::of(&[*scope]).0 != 0)
    }

    /// Those that a key with these covers, in order.
    pub fn grantable(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.cover(Self::of(&[*scope])))
    }

    /// Whether a key with these may do what one of `needed` is needed for.
    pub const fn have_one_of(self, needed: Self) -> bool {
        needed.0 != 0 && (self.has_all() || self.0 & needed.0 != 0)
    }

    /// Whether a key with these may do all that one with `others` may.
    pub const fn cover(self, others: Self) -> bool {
        self.has_all() || others.0 & !self.0 == 0
    }

    /// Those of `others` that these cover. `None` without any.
    pub fn covered(self, others: Self) -> Option<Self> {
        let covered = if self.has_all() { others } else { Self(self.0 & others.0) };
        (covered.0 != 0).then_some(covered)
    }

    const fn has_all(self) -> bool {
        self.0 & Self::ALL.0 != 0
    }
}

/// As they are stored: words with blanks between them.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.list().map(Scope::as_str).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Scopes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let scopes = text.split(' ').map(str::parse).collect::<Result<Vec<Scope>, _>>()?;
        Ok(Self::of(&scopes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Result<Scopes, Invalid> {
        Scopes::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn order_and_repetition_do_not_count_and_another_word_is_no_scope() {
        let scopes = parsed(&["halt", "read", "halt"]).expect("valid");
        assert_eq!(
            (scopes, scopes.to_string().as_str()),
            (Scopes::of(&[Scope::Read, Scope::Halt]), "read halt")
        );
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
        for other in
            [&[][..], &["Read"], &["read "], &[""], &["*"], &["approve"], &["read pay"], &["read"; 7]]
        {
            assert!(parsed(other).is_err(), "{other:?}");
        }
        assert_eq!(
            parsed(&["read", "all"]).map_err(|invalid| invalid.param().to_owned()),
            Err("scopes[1]".into())
        );
        for stored in ["", "read,pay", "READ", "read  pay", "later"] {
            assert!(stored.parse::<Scopes>().is_err(), "{stored:?}");
        }
    }

    #[test]
    fn admin_stands_for_all_and_every_other_scope_for_itself() {
        for scope in Scope::ALL {
            for other in Scope::ALL {
                let (one, two) = (Scopes::of(&[scope]), Scopes::of(&[other]));
                let expected = scope == other || scope == Scope::Admin;
                assert_eq!((one.have_one_of(two), one.cover(two)), (expected, expected), "{scope} {other}");
            }
            assert!(!Scopes::of(&[scope]).have_one_of(Scopes::of(&[])), "what needs no scope is closed");
        }
        let all_but_admin = Scopes::of(&Scope::ALL[..5]);
        assert!(!all_but_admin.cover(Scopes::of(&[Scope::Admin])), "all others together are not `admin`");
        let covered = Scopes::of(&[Scope::Read, Scope::Halt]).covered(Scopes::OF_AGENTS);
        assert_eq!(covered, Some(Scopes::of(&[Scope::Read])));
        assert_eq!(Scopes::of(&[Scope::Halt]).covered(Scopes::OF_AGENTS), None);
    }
}
