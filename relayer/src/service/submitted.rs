use std::collections::HashSet;

use crate::chain::{AllowedRecipients, Chain, OnChainPolicy};
use crate::domain::{Address, AllowlistEntry, Counterparties, Operator, SpendingPolicy};

/// The chain's policy in the words of the operator: every allowlist entry as submitted where `submitted` knows it, in
/// the order submitted; entries that were written by another way follow as addresses.
pub(super) fn as_submitted(
    chain: &dyn Chain,
    operator: &Operator,
    policy: &OnChainPolicy,
    submitted: &Counterparties,
) -> SpendingPolicy {
    let allowed_counterparties = match &policy.allowlist {
        AllowedRecipients::Anyone => Counterparties::Anyone,
        AllowedRecipients::Only(on_chain) => {
            let mut left: HashSet<_> = on_chain.iter().copied().collect();
            let mut entries = Vec::with_capacity(on_chain.len());
            let known = match submitted {
                Counterparties::Anyone => [].as_slice(),
                Counterparties::Only(entries) => entries,
            };
            for entry in known {
                let address = match entry {
                    AllowlistEntry::Address(address) => *address,
                    AllowlistEntry::Account(id) => chain.addresses_of(&operator.address, id.bytes()).agent,
                };
                if left.remove(&address.bytes()) {
                    entries.push(*entry);
                }
            }
            let unknown = on_chain.iter().filter(|address| left.contains(*address));
            entries.extend(unknown.map(|bytes| AllowlistEntry::Address(Address::from_bytes(*bytes))));
            Counterparties::Only(entries)
        }
    };
    SpendingPolicy {
        max_single_transfer: policy.max_single_transfer,
        max_daily_spend: policy.max_daily_spend,
        allowed_counterparties,
        require_memo: policy.require_memo,
        paused: policy.paused,
    }
}
