//! Names in place of ids: of the accounts and keys that a page shows.

use std::collections::{BTreeSet, HashMap};

use purser_model::{AccountId, Address, Counterparty, KeyId, Operator, Recipient};
use purser_service::{ServiceError, Services, accounts, keys};

/// What a page shows, and would like to name.
#[derive(Default)]
pub struct Shown {
    accounts: BTreeSet<AccountId>,
    addresses: BTreeSet<Address>,
    keys: BTreeSet<KeyId>,
}

/// The names of an operator's own accounts and keys; a key without one is known by its beginning and end. What is somebody else's
/// has none.
#[derive(Default)]
pub struct Names {
    accounts: HashMap<AccountId, String>,
    paid_at: HashMap<Address, AccountId>,
    keys: HashMap<KeyId, String>,
}

/// An account of the operator.
pub struct Own<'a> {
    pub id: AccountId,
    pub name: &'a str,
}

impl Shown {
    pub fn account(&mut self, id: AccountId) {
        self.accounts.insert(id);
    }

    pub fn key(&mut self, id: KeyId) {
        self.keys.insert(id);
    }

    pub fn recipient(&mut self, to: &Recipient) {
        match to {
            Recipient::Agent(id) => self.account(*id),
            Recipient::TokenAccount(token_account) | Recipient::Wallet { token_account, .. } => {
                _ = self.addresses.insert(*token_account);
            }
            Recipient::Unreadable(_) => {}
        }
    }

    pub fn counterparty(&mut self, party: &Counterparty) {
        match party {
            Counterparty::Account(id) => self.account(*id),
            Counterparty::TokenAccount(address) => _ = self.addresses.insert(*address),
        }
    }

    /// Their names, in three reads by index at most.
    pub async fn named(self, services: &Services, operator: &Operator) -> Result<Names, ServiceError> {
        let Self { accounts, addresses, keys } = self;
        let (accounts, addresses): (Vec<_>, Vec<_>) =
            (accounts.into_iter().collect(), addresses.into_iter().collect());
        let keys: Vec<_> = keys.into_iter().collect();
        let (accounts, keys) = tokio::try_join!(
            accounts::named(&services.inside, operator, &accounts, &addresses),
            keys::named(&services.inside, operator, &keys)
        )?;
        Ok(Names {
            paid_at: accounts.iter().map(|account| (account.token_account, account.id)).collect(),
            accounts: accounts.into_iter().map(|one| (one.id, one.name.as_str().to_owned())).collect(),
            keys: keys
                .into_iter()
                .map(|key| (key.id, key.name.unwrap_or_else(|| key.hint.as_str().to_owned())))
                .collect(),
        })
    }
}

impl Names {
    pub fn of_account(&self, id: &AccountId) -> Option<Own<'_>> {
        self.accounts.get(id).map(|name| Own { id: *id, name })
    }

    /// By its text, which may be any other id as well.
    pub fn of_text(&self, id: &str) -> Option<&str> {
        let account = id.parse().ok().and_then(|id: AccountId| self.accounts.get(&id));
        account.or_else(|| self.keys.get(&id.parse().ok()?)).map(String::as_str)
    }

    pub fn of_key(&self, id: &KeyId) -> Option<&str> {
        self.keys.get(id).map(String::as_str)
    }

    pub fn of_recipient(&self, to: &Recipient) -> Option<Own<'_>> {
        match to {
            Recipient::Agent(id) => self.of_account(id),
            Recipient::TokenAccount(token_account) | Recipient::Wallet { token_account, .. } => {
                self.paid_at(token_account)
            }
            Recipient::Unreadable(_) => None,
        }
    }

    pub fn of_counterparty(&self, party: &Counterparty) -> Option<Own<'_>> {
        match party {
            Counterparty::Account(id) => self.of_account(id),
            Counterparty::TokenAccount(address) => self.paid_at(address),
        }
    }

    fn paid_at(&self, address: &Address) -> Option<Own<'_>> {
        self.of_account(self.paid_at.get(address)?)
    }
}
