//! Resolves allowlists as submitted to what they mean on the chain.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use purser_policy::ALLOWLIST_ENTRIES_MAX;

use super::Inside;
use super::error::ServiceError;
use super::reads::{CREATED_SECONDS_MIN, addresses};
use purser_chain::AddressKind;
use purser_model::{
    Account, AccountId, Address, AllowedRecipients, AllowlistEntry, Counterparties, CounterpartyKind,
    Invalid, Operator, Timestamp, of_entries,
};

/// What a list of a request means on the chain. An account id is the wallet at its PDA. A plain address keeps the kind it has in
/// the list in force; otherwise it is a token account if one exists there, or a wallet if it can be one. Duplicates collapse.
///
/// Invalid, with the entry's place: it is not an account of the operator, or its kind must be stated; also too many entries.
pub(super) async fn resolve(
    inside: &Inside,
    operator: &Operator,
    asked: &Counterparties,
    in_force: &AllowedRecipients,
) -> Result<AllowedRecipients, ServiceError> {
    let Counterparties::Only(entries) = asked else { return Ok(AllowedRecipients::Anyone) };
    let accounts = find_accounts(inside, operator, entries).await?;
    let (kinds, own) = find_kinds(inside, operator, entries, in_force).await?;
    let closed = find_closed(inside, operator, accounts.values().chain(&own), in_force).await?;
    let mut resolved = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        resolved.push(match entry {
            AllowlistEntry::Account(id) => {
                let unknown = || {
                    let message = format!("names {id}, which is not an account of yours");
                    Counterparties::invalid_entry(index, message)
                };
                let account = accounts.get(id).ok_or_else(unknown)?;
                if closed.contains(&account.address) {
                    return Err(is_closed(index, id).into());
                }
                (CounterpartyKind::Wallet, account.address)
            }
            AllowlistEntry::Wallet(address) => (CounterpartyKind::Wallet, *address),
            AllowlistEntry::TokenAccount(address) => (CounterpartyKind::TokenAccount, *address),
            AllowlistEntry::Address(address) => {
                if closed.contains(address) {
                    return Err(is_closed(index, address).into());
                }
                let unclear = || Counterparties::invalid_entry(index, unclear(address));
                (kinds.get(address).copied().flatten().ok_or_else(unclear)?, *address)
            }
        });
    }
    let allowed = of_entries(resolved);
    if allowed.len() > ALLOWLIST_ENTRIES_MAX {
        return Err(too_many().into());
    }
    Ok(allowed)
}

fn is_closed(index: usize, named: impl Display) -> Invalid {
    let message = format!(
        "names {named}, which was closed on the chain: what is paid there lies until the operator's admin creates it anew"
    );
    Counterparties::invalid_entry(index, message)
}

fn too_many() -> Invalid {
    Counterparties::invalid(format!("must have at most {ALLOWLIST_ENTRIES_MAX} entries"))
}

fn unclear(address: &Address) -> String {
    format!(
        "does not show what it is: no token account stands at {address}, and it cannot be a key. Say it outright: \
         {{\"wallet\": \"{address}\"}} or {{\"token_account\": \"{address}\"}}"
    )
}

/// Those of the accounts that are closed on the chain, except for what the list in force has already.
async fn find_closed(
    inside: &Inside,
    operator: &Operator,
    accounts: impl Iterator<Item = &Account>,
    in_force: &AllowedRecipients,
) -> Result<HashSet<Address>, ServiceError> {
    let asked: Vec<&Account> =
        accounts.filter(|account| kind_in(in_force, &account.address).is_none()).collect();
    if asked.is_empty() {
        return Ok(HashSet::new());
    }
    let chain = inside.chain(operator.network)?;
    let places: Vec<_> = asked.iter().map(|account| addresses(account)).collect();
    let read = chain.read_agents(&places).await?;
    // A node may not show a new account yet.
    let shown_from = Timestamp::from_unix_seconds(inside.clock.now().unix_seconds() - CREATED_SECONDS_MIN);
    let is_closed = asked
        .into_iter()
        .zip(read)
        .filter(|(account, agent)| agent.is_none() && account.created_at < shown_from);
    Ok(is_closed.map(|(account, _)| account.address).collect())
}

/// The entries of a list that are closed accounts of the operator, by their own addresses and their token accounts. Empty if the list
/// has anybody else, who may be payable: then the chain is not asked.
pub(super) async fn closed_entries(
    inside: &Inside,
    operator: &Operator,
    allowed: &AllowedRecipients,
) -> Result<Vec<purser_policy::Address>, ServiceError> {
    let Some((wallets, token_accounts)) = allowed.lists() else { return Ok(Vec::new()) };
    let chain = inside.chain(operator.network)?;
    let id_of = |wallet: &purser_policy::Address| chain.account_id_of(&Address::from_bytes(*wallet)).ok();
    let ids: Vec<AccountId> = wallets.iter().filter_map(id_of).collect();
    let paid_at: Vec<Address> = token_accounts.iter().map(|bytes| Address::from_bytes(*bytes)).collect();
    let mut own = inside.store.accounts.find_accounts(operator.id, &ids).await?;
    own.extend(inside.store.accounts.find_accounts_paid_at(operator.id, &paid_at).await?);
    let has = |place: fn(&Account) -> Address, entry: &purser_policy::Address| {
        own.iter().any(|account| place(account).as_bytes() == entry)
    };
    let are_own = wallets.iter().all(|entry| has(|account| account.address, entry))
        && token_accounts.iter().all(|entry| has(|account| account.token_account, entry));
    if !are_own {
        return Ok(Vec::new());
    }
    let closed = find_closed(inside, operator, own.iter(), &AllowedRecipients::Anyone).await?;
    let closed = own.iter().filter(|account| closed.contains(&account.address));
    Ok(closed.flat_map(|account| [account.address.bytes(), account.token_account.bytes()]).collect())
}

/// The entries that are accounts of the operator.
async fn find_accounts(
    inside: &Inside,
    operator: &Operator,
    entries: &[AllowlistEntry],
) -> Result<HashMap<AccountId, Account>, ServiceError> {
    let ids: HashSet<AccountId> = entries.iter().filter_map(account_id).collect();
    let ids: Vec<AccountId> = ids.into_iter().collect();
    let mut accounts = HashMap::new();
    for ids in ids.chunks(ALLOWLIST_ENTRIES_MAX) {
        let found = inside.store.accounts.find_accounts(operator.id, ids).await?;
        accounts.extend(found.into_iter().map(|account| (account.id, account)));
    }
    Ok(accounts)
}

fn account_id(entry: &AllowlistEntry) -> Option<AccountId> {
    match entry {
        AllowlistEntry::Account(id) => Some(*id),
        AllowlistEntry::Wallet(_) | AllowlistEntry::TokenAccount(_) | AllowlistEntry::Address(_) => None,
    }
}

/// The kinds of the plain addresses among the entries, `None` where the caller must state the kind; and those that are accounts
/// of the operator and not in force.
async fn find_kinds(
    inside: &Inside,
    operator: &Operator,
    entries: &[AllowlistEntry],
    in_force: &AllowedRecipients,
) -> Result<(HashMap<Address, Option<CounterpartyKind>>, Vec<Account>), ServiceError> {
    let plain: HashSet<Address> = entries.iter().filter_map(plain_address).collect();
    let (listed, unlisted): (Vec<_>, Vec<_>) = plain
        .into_iter()
        .map(|address| (address, kind_in(in_force, &address)))
        .partition(|(_, kind)| kind.is_some());
    let mut kinds: HashMap<_, _> = listed.into_iter().collect();
    // Too many distinct addresses are refused before their kinds are looked up.
    if kinds.len() + unlisted.len() > ALLOWLIST_ENTRIES_MAX {
        return Err(too_many().into());
    }
    let unlisted: Vec<Address> = unlisted.into_iter().map(|(address, _)| address).collect();
    if unlisted.is_empty() {
        return Ok((kinds, Vec::new()));
    }
    let chain = inside.chain(operator.network)?;
    let read = chain.read_kinds(&unlisted).await?;
    // Lists are answered by address, and an account of one's own is no key.
    let unclear = unlisted.iter().zip(&read).filter(|(_, kind)| **kind == AddressKind::Unclear);
    let ids: Vec<AccountId> = unclear.filter_map(|(address, _)| chain.account_id_of(address).ok()).collect();
    let own = inside.store.accounts.find_accounts(operator.id, &ids).await?;
    kinds.extend(unlisted.into_iter().zip(read).map(|(address, kind)| {
        let kind = match kind {
            AddressKind::TokenAccount => Some(CounterpartyKind::TokenAccount),
            AddressKind::Wallet => Some(CounterpartyKind::Wallet),
            AddressKind::Unclear => {
                own.iter().any(|account| account.address == address).then_some(CounterpartyKind::Wallet)
            }
        };
        (address, kind)
    }));
    Ok((kinds, own))
}

fn plain_address(entry: &AllowlistEntry) -> Option<Address> {
    match entry {
        AllowlistEntry::Address(address) => Some(*address),
        AllowlistEntry::Account(_) | AllowlistEntry::Wallet(_) | AllowlistEntry::TokenAccount(_) => None,
    }
}

/// The address's kind in a list, if it stands there as exactly one kind.
fn kind_in(allowed: &AllowedRecipients, address: &Address) -> Option<CounterpartyKind> {
    let (wallets, token_accounts) = allowed.lists()?;
    let lists = |entries: &[purser_policy::Address]| entries.binary_search(address.as_bytes()).is_ok();
    match (lists(wallets), lists(token_accounts)) {
        (true, false) => Some(CounterpartyKind::Wallet),
        (false, true) => Some(CounterpartyKind::TokenAccount),
        (true, true) | (false, false) => None,
    }
}
