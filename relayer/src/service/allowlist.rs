//! Resolves allowlists as submitted to what they mean on the chain.

use std::collections::{HashMap, HashSet};

use purser_policy::ALLOWLIST_ENTRIES_MAX;

use super::error::{ServiceError, from_chain};
use super::reads::{CREATED_SECONDS_MIN, addresses};
use super::{Ambient, Chains, Parts};
use crate::chain::{AddressKind, AllowedRecipients, OnChainPolicy};
use crate::domain::{
    Account, AccountId, Address, AllowlistEntry, Counterparties, CounterpartyKind, Operator, SpendingPolicy,
    Timestamp,
};
use crate::store;

/// A policy whose every entry has a known kind.
pub(super) struct ResolvedPolicy {
    pub on_chain: OnChainPolicy,
    /// The submitted policy: each entry with its kind, no duplicates.
    pub policy: SpendingPolicy,
}

/// What allowlists are resolved by.
#[derive(Clone)]
pub(super) struct Allowlists {
    accounts: store::Accounts,
    chains: Chains,
    ambient: Ambient,
}

impl Allowlists {
    pub fn new(parts: &Parts) -> Self {
        let Parts { store, chains, ambient, .. } = parts;
        Self { accounts: store.accounts.clone(), chains: chains.clone(), ambient: ambient.clone() }
    }
}

/// Resolves every entry. An account id is the wallet at its PDA. A plain address keeps the kind it has in the policy in
/// force; otherwise it is a token account if one exists there, or a wallet if it can be one. Duplicates collapse.
///
/// Invalid, with the entry's place: it is not an account of the operator, or its kind must be stated; also too many entries.
pub(super) async fn resolve(
    by: &Allowlists,
    operator: &Operator,
    policy: &SpendingPolicy,
    in_force: &OnChainPolicy,
) -> Result<ResolvedPolicy, ServiceError> {
    let (allowlist, submitted) = match &policy.allowlist {
        Counterparties::Anyone => (AllowedRecipients::Anyone, Counterparties::Anyone),
        Counterparties::Only(entries) => {
            let (on_chain, entries) = resolve_entries(by, operator, entries, in_force).await?;
            (on_chain, Counterparties::Only(entries))
        }
    };
    Ok(ResolvedPolicy { on_chain: policy.over(allowlist), policy: policy.over(submitted) })
}

async fn resolve_entries(
    by: &Allowlists,
    operator: &Operator,
    entries: &[AllowlistEntry],
    in_force: &OnChainPolicy,
) -> Result<(AllowedRecipients, Vec<AllowlistEntry>), ServiceError> {
    let accounts = find_accounts(by, operator, entries).await?;
    let closed = find_closed(by, operator, accounts.values(), in_force).await?;
    let kinds = find_kinds(by, operator, entries, in_force).await?;
    let mut seen = HashSet::new();
    let mut resolved = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let (kind, address, entry) = match entry {
            AllowlistEntry::Account(id) => {
                let unknown = || {
                    let message = format!("names {id}, which is not an account of yours");
                    Counterparties::invalid_entry(index, message)
                };
                let account = accounts.get(id).ok_or_else(unknown)?;
                if closed.contains(id) {
                    let message = format!(
                        "names {id}, which was closed on the chain: what is paid there lies until the operator's admin \
                         creates it anew"
                    );
                    return Err(Counterparties::invalid_entry(index, message).into());
                }
                (CounterpartyKind::Wallet, account.address, *entry)
            }
            AllowlistEntry::Wallet(address) => (CounterpartyKind::Wallet, *address, *entry),
            AllowlistEntry::TokenAccount(address) => (CounterpartyKind::TokenAccount, *address, *entry),
            AllowlistEntry::Address(address) => {
                let unclear = || Counterparties::invalid_entry(index, unclear(address));
                let kind = kinds.get(address).copied().flatten().ok_or_else(unclear)?;
                (kind, *address, kind.entry(*address))
            }
        };
        if seen.insert((kind, address.bytes())) {
            resolved.push(entry);
        }
    }
    if seen.len() > ALLOWLIST_ENTRIES_MAX {
        let message = format!("must have at most {ALLOWLIST_ENTRIES_MAX} entries");
        return Err(Counterparties::invalid(message).into());
    }
    let of_kind =
        |wanted| seen.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, bytes)| *bytes).collect();
    let on_chain =
        AllowedRecipients::only(of_kind(CounterpartyKind::Wallet), of_kind(CounterpartyKind::TokenAccount));
    Ok((on_chain, resolved))
}

fn unclear(address: &Address) -> String {
    format!(
        "does not show what it is: no token account stands at {address}, and it cannot be a key. Say it outright: \
         {{\"wallet\": \"{address}\"}} or {{\"token_account\": \"{address}\"}}"
    )
}

/// Those of the accounts that are closed on the chain, except for what the policy in force lists already.
async fn find_closed(
    by: &Allowlists,
    operator: &Operator,
    accounts: impl Iterator<Item = &Account>,
    in_force: &OnChainPolicy,
) -> Result<HashSet<AccountId>, ServiceError> {
    let asked: Vec<&Account> =
        accounts.filter(|account| kind_in(in_force, &account.address).is_none()).collect();
    if asked.is_empty() {
        return Ok(HashSet::new());
    }
    let chain = &by.chains.get(operator.network)?.chain;
    let places: Vec<_> = asked.iter().map(|account| addresses(account)).collect();
    let read = chain.read_agents(&places).await;
    let read = read.map_err(|error| from_chain(operator.network, &error, true))?;
    // A node may not show a new account yet.
    let shown_from = Timestamp::from_unix_seconds(by.ambient.now().unix_seconds() - CREATED_SECONDS_MIN);
    let is_closed = asked
        .into_iter()
        .zip(read)
        .filter(|(account, agent)| agent.is_none() && account.created_at < shown_from);
    Ok(is_closed.map(|(account, _)| account.id).collect())
}

/// The entries that are accounts of the operator.
async fn find_accounts(
    by: &Allowlists,
    operator: &Operator,
    entries: &[AllowlistEntry],
) -> Result<HashMap<AccountId, Account>, ServiceError> {
    let ids: HashSet<AccountId> = entries.iter().filter_map(account_id).collect();
    let ids: Vec<AccountId> = ids.into_iter().collect();
    let mut accounts = HashMap::new();
    for ids in ids.chunks(ALLOWLIST_ENTRIES_MAX) {
        let found = by.accounts.find_accounts(operator.id, ids).await?;
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

/// The kinds of the plain addresses among the entries; `None` where the caller must state the kind.
async fn find_kinds(
    by: &Allowlists,
    operator: &Operator,
    entries: &[AllowlistEntry],
    in_force: &OnChainPolicy,
) -> Result<HashMap<Address, Option<CounterpartyKind>>, ServiceError> {
    let plain: HashSet<Address> = entries.iter().filter_map(plain_address).collect();
    let (listed, unlisted): (Vec<_>, Vec<_>) = plain
        .into_iter()
        .map(|address| (address, kind_in(in_force, &address)))
        .partition(|(_, kind)| kind.is_some());
    let mut kinds: HashMap<_, _> = listed.into_iter().collect();
    // Too many distinct addresses are refused before their kinds are looked up.
    if kinds.len() + unlisted.len() > ALLOWLIST_ENTRIES_MAX {
        let message = format!("must have at most {ALLOWLIST_ENTRIES_MAX} entries");
        return Err(Counterparties::invalid(message).into());
    }
    let unlisted: Vec<Address> = unlisted.into_iter().map(|(address, _)| address).collect();
    if unlisted.is_empty() {
        return Ok(kinds);
    }
    let chain = &by.chains.get(operator.network)?.chain;
    let read = chain.read_kinds(&unlisted).await;
    let read = read.map_err(|error| from_chain(operator.network, &error, true))?;
    kinds.extend(unlisted.into_iter().zip(read).map(|(address, kind)| {
        let kind = match kind {
            AddressKind::TokenAccount => Some(CounterpartyKind::TokenAccount),
            AddressKind::Wallet => Some(CounterpartyKind::Wallet),
            AddressKind::Unclear => None,
        };
        (address, kind)
    }));
    Ok(kinds)
}

fn plain_address(entry: &AllowlistEntry) -> Option<Address> {
    match entry {
        AllowlistEntry::Address(address) => Some(*address),
        AllowlistEntry::Account(_) | AllowlistEntry::Wallet(_) | AllowlistEntry::TokenAccount(_) => None,
    }
}

/// The address's kind in a policy, if it is listed there as exactly one kind.
fn kind_in(policy: &OnChainPolicy, address: &Address) -> Option<CounterpartyKind> {
    let AllowedRecipients::Only { wallets, token_accounts } = &policy.allowlist else { return None };
    let lists = |entries: &[purser_policy::Address]| entries.binary_search(address.as_bytes()).is_ok();
    match (lists(wallets), lists(token_accounts)) {
        (true, false) => Some(CounterpartyKind::Wallet),
        (false, true) => Some(CounterpartyKind::TokenAccount),
        (true, true) | (false, false) => None,
    }
}
