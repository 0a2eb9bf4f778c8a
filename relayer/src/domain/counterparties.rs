use purser_core::words;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{AccountId, Address, Invalid};

/// Who may be paid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Counterparties {
    #[default]
    Anyone,
    /// Only these; an empty list allows nobody. In the order submitted.
    Only(Vec<AllowlistEntry>),
}

/// An allowlist entry. It matches only as its own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AllowlistEntry {
    /// An account of the same operator; means its PDA as a wallet.
    Account(AccountId),
    /// Every token account that this address owns.
    Wallet(Address),
    /// Only this token account.
    TokenAccount(Address),
    /// An address whose kind was not stated.
    Address(Address),
}

words! {
    /// What an entry matches.
    pub enum CounterpartyKind {
        Wallet = "wallet",
        TokenAccount = "token_account",
    }
}

impl CounterpartyKind {
    /// An entry for this address as this kind.
    pub const fn entry(self, address: Address) -> AllowlistEntry {
        match self {
            Self::Wallet => AllowlistEntry::Wallet(address),
            Self::TokenAccount => AllowlistEntry::TokenAccount(address),
        }
    }
}

const PARAM: &str = "allowed_counterparties";
const FORMS: &str =
    r#"must be an account id, a Solana address, {"wallet": ADDRESS} or {"token_account": ADDRESS}"#;

/// An entry that states its kind.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Wallet(String),
    TokenAccount(String),
}

impl AllowlistEntry {
    /// The text as submitted; for an object, its address.
    pub fn text(&self) -> String {
        match self {
            Self::Account(id) => id.to_string(),
            Self::Wallet(address) | Self::TokenAccount(address) | Self::Address(address) => {
                address.to_string()
            }
        }
    }

    /// `None` if the kind was not stated.
    pub const fn kind(&self) -> Option<CounterpartyKind> {
        match self {
            Self::Account(_) | Self::Wallet(_) => Some(CounterpartyKind::Wallet),
            Self::TokenAccount(_) => Some(CounterpartyKind::TokenAccount),
            Self::Address(_) => None,
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().map(Self::Account).or_else(|_| text.parse().map(Self::Address)).ok()
    }

    fn from_json(json: &RawValue) -> Option<Self> {
        if json.get().starts_with('"') {
            return Self::from_text(&serde_json::from_str::<String>(json.get()).ok()?);
        }
        match serde_json::from_str(json.get()).ok()? {
            Said::Wallet(text) => text.parse().map(Self::Wallet).ok(),
            Said::TokenAccount(text) => text.parse().map(Self::TokenAccount).ok(),
        }
    }
}

impl Counterparties {
    /// Reads `null` or an array of entries. Allows duplicates, and as many entries as fit a request: they are counted
    /// once they are resolved. Invalid: a malformed entry, named by its place.
    pub fn from_json(json: &RawValue) -> Result<Self, Invalid> {
        let entries: Option<Vec<&RawValue>> = serde_json::from_str(json.get())
            .map_err(|_| Invalid::new(PARAM, "must be null or an array of addresses and account ids"))?;
        let Some(entries) = entries else { return Ok(Self::Anyone) };
        let read = |(index, json): (usize, &RawValue)| {
            AllowlistEntry::from_json(json).ok_or_else(|| Self::invalid_entry(index, FORMS))
        };
        Ok(Self::Only(entries.into_iter().enumerate().map(read).collect::<Result<_, _>>()?))
    }

    /// The allowlist from these texts, which [`Counterparties::texts`] made. `None` when one of them is no entry.
    pub fn from_texts<T: AsRef<str>>(texts: &[T]) -> Option<Self> {
        let entries: Option<_> = texts.iter().map(|text| AllowlistEntry::from_text(text.as_ref())).collect();
        entries.map(Self::Only)
    }

    /// The same with what each address is, in the order of the entries.
    pub(super) fn with_kinds(self, kinds: &[Option<CounterpartyKind>]) -> Self {
        let Self::Only(entries) = self else { return self };
        let said = |index: usize| kinds.get(index).copied().flatten();
        let entry = |(index, entry)| match (entry, said(index)) {
            (AllowlistEntry::Address(address), Some(kind)) => kind.entry(address),
            (entry, _) => entry,
        };
        Self::Only(entries.into_iter().enumerate().map(entry).collect())
    }

    /// An error in the entry at `index`, counted from 0.
    pub fn invalid_entry(index: usize, message: impl Into<String>) -> Invalid {
        Invalid::new(format!("{PARAM}[{index}]"), message)
    }

    /// An error in the list as a whole.
    pub fn invalid(message: impl Into<String>) -> Invalid {
        Invalid::new(PARAM, message)
    }

    /// The entries; empty when anyone may be paid.
    pub fn entries(&self) -> &[AllowlistEntry] {
        match self {
            Self::Anyone => &[],
            Self::Only(entries) => entries,
        }
    }

    /// The texts as submitted; `None` when anyone may be paid.
    pub fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Anyone => None,
            Self::Only(entries) => Some(entries.iter().map(AllowlistEntry::text).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "11111111111111111111111111111111";
    const ACCOUNT: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn read(json: &str) -> Result<Counterparties, Invalid> {
        Counterparties::from_json(serde_json::from_str(json).expect("JSON"))
    }

    #[test]
    fn an_entry_says_its_kind_or_leaves_it_to_be_found_out() {
        let list = read(&format!(
            r#"["{ACCOUNT}", "{ADDRESS}", {{"wallet": "{ADDRESS}"}}, {{"token_account":"{ADDRESS}"}}]"#
        ));
        let list = list.expect("valid");
        let address = Address::from_bytes([0; 32]);
        let expected = [
            AllowlistEntry::Account(ACCOUNT.parse().expect("an id")),
            AllowlistEntry::Address(address),
            AllowlistEntry::Wallet(address),
            AllowlistEntry::TokenAccount(address),
        ];
        assert_eq!(list.entries(), expected);
        let kinds = expected.map(|entry| entry.kind().map(CounterpartyKind::as_str));
        assert_eq!(kinds, [Some("wallet"), None, Some("wallet"), Some("token_account")]);
        assert_eq!(list.texts().expect("a list"), [ACCOUNT, ADDRESS, ADDRESS, ADDRESS]);
        assert_eq!(read("null"), Ok(Counterparties::Anyone));
        assert_eq!(read("[]"), Ok(Counterparties::Only(vec![])));
    }

    #[test]
    fn a_bad_entry_is_named_by_its_place() {
        for entry in [
            r#""nobody""#.to_owned(),
            "5".to_owned(),
            "null".to_owned(),
            "{}".to_owned(),
            r#"["wallet"]"#.to_owned(),
            format!(r#"{{"Wallet":"{ADDRESS}"}}"#),
            format!(r#"{{"wallet":"{ACCOUNT}"}}"#),
            format!(r#"{{"wallet":"{ADDRESS}","token_account":"{ADDRESS}"}}"#),
            r#"{"wallet":5}"#.to_owned(),
        ] {
            let error = read(&format!(r#"["{ADDRESS}", {entry}]"#)).expect_err(&entry);
            assert_eq!(error.param(), "allowed_counterparties[1]", "{entry}");
        }
        for list in ["\"all\"", "{}", "1"] {
            assert_eq!(read(list).expect_err(list).param(), "allowed_counterparties");
        }
    }

    #[test]
    fn texts_come_back() {
        let texts = [ACCOUNT, ADDRESS];
        let list = Counterparties::from_texts(&texts).expect("entries");
        assert_eq!(list.texts().expect("a list"), texts);
        assert_eq!(Counterparties::from_texts(&[ADDRESS, "a\0b"]), None);
    }
}
