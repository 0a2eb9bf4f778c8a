use std::collections::{BTreeMap, BTreeSet};

use crate::chain::{AllowedRecipients, Chain, OnChainPolicy};
use crate::domain::{Address, AllowlistEntry, Counterparties, CounterpartyKind, SpendingPolicy};

/// The possible kinds of an address whose kind is unknown. An address that is listed under both is both.
const EITHER: [CounterpartyKind; 2] = [CounterpartyKind::Wallet, CounterpartyKind::TokenAccount];

/// The chain's policy as the operator wrote it: each allowlist entry as in `submitted` where that knows it, in the
/// order submitted. Entries written in another way follow as addresses. Every entry states its kind.
pub(super) fn as_submitted(
    chain: &dyn Chain,
    policy: &OnChainPolicy,
    submitted: &Counterparties,
) -> SpendingPolicy {
    policy.over(match &policy.allowlist {
        AllowedRecipients::Anyone => Counterparties::Anyone,
        AllowedRecipients::Only { wallets, token_accounts } => {
            let of_kind = |kind| move |bytes: &[u8; 32]| (kind, Address::from_bytes(*bytes));
            // An id is a hash of its account's address, so addresses are found by the ids that they would have.
            let address_and_id = |bytes: &[u8; 32]| {
                let address = Address::from_bytes(*bytes);
                Some((chain.account_id_of(&address).ok()?, address))
            };
            let accounts: BTreeMap<_, _> = wallets.iter().filter_map(address_and_id).collect();
            let wallets = wallets.iter().map(of_kind(CounterpartyKind::Wallet));
            let token_accounts = token_accounts.iter().map(of_kind(CounterpartyKind::TokenAccount));
            let mut left: BTreeSet<_> = wallets.chain(token_accounts).collect();
            let mut entries = Vec::with_capacity(left.len());
            for entry in submitted.entries() {
                let (address, kinds) = match entry {
                    AllowlistEntry::Account(id) => {
                        let Some(pda) = accounts.get(id) else { continue };
                        (*pda, &[CounterpartyKind::Wallet][..])
                    }
                    AllowlistEntry::Wallet(address) => (*address, &[CounterpartyKind::Wallet][..]),
                    AllowlistEntry::TokenAccount(address) => {
                        (*address, &[CounterpartyKind::TokenAccount][..])
                    }
                    AllowlistEntry::Address(address) => (*address, &EITHER[..]),
                };
                let listed = kinds.iter().find(|kind| left.remove(&(**kind, address)));
                entries.extend(listed.map(|kind| match entry {
                    AllowlistEntry::Account(_) => *entry,
                    AllowlistEntry::Wallet(_)
                    | AllowlistEntry::TokenAccount(_)
                    | AllowlistEntry::Address(_) => kind.entry(address),
                }));
            }
            entries.extend(left.into_iter().map(|(kind, address)| kind.entry(address)));
            Counterparties::Only(entries)
        }
    })
}
