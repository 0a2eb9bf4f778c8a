use purser_core::words;
use purser_policy::AllowedRecipients;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{AccountId, Address, Invalid};

/// Who may be paid, as a request says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counterparties {
    Anyone,
    /// Only these; an empty list allows nobody.
    Only(Vec<AllowlistEntry>),
}

/// An allowlist entry. It matches only as its own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub enum CounterpartyKind = "CounterpartyKind":
        "Whether an entry stands for all token accounts of a wallet, or for one token account." {
        Wallet = "wallet",
        TokenAccount = "token_account",
    }
}

/// The entries of an allowlist: wallets, then token accounts. `None`: anyone may be paid.
pub fn entries(allowed: &AllowedRecipients) -> Option<Vec<(CounterpartyKind, Address)>> {
    let (wallets, token_accounts) = allowed.lists()?;
    let of_kind = |kind| move |bytes: &[u8; 32]| (kind, Address::from_bytes(*bytes));
    let wallets = wallets.iter().map(of_kind(CounterpartyKind::Wallet));
    Some(wallets.chain(token_accounts.iter().map(of_kind(CounterpartyKind::TokenAccount))).collect())
}

/// The allowlist of these entries, of which there may be duplicates.
pub fn of_entries(entries: impl IntoIterator<Item = (CounterpartyKind, Address)>) -> AllowedRecipients {
    let (mut wallets, mut token_accounts) = (Vec::new(), Vec::new());
    for (kind, address) in entries {
        match kind {
            CounterpartyKind::Wallet => wallets.push(address.bytes()),
            CounterpartyKind::TokenAccount => token_accounts.push(address.bytes()),
        }
    }
    AllowedRecipients::only(wallets, token_accounts)
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

impl<'de> Deserialize<'de> for Counterparties {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Self::from_json(&Box::<RawValue>::deserialize(json)?).map_err(D::Error::custom)
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

    /// An error in the entry at `index`, counted from 0.
    pub fn invalid_entry(index: usize, message: impl Into<String>) -> Invalid {
        Invalid::new(format!("{PARAM}[{index}]"), message)
    }

    /// An error in the list as a whole.
    pub fn invalid(message: impl Into<String>) -> Invalid {
        Invalid::new(PARAM, message)
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
        assert_eq!(list, Counterparties::Only(expected.into()));
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
}
