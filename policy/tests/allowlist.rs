//! Whom a list allows, against the plainest way to say it.

use proptest::prelude::*;
use purser_policy::{Address, Allowlist, ALLOWLIST_ENTRIES_MAX};

/// Few distinct bytes, so that neighbours differ late or not at all.
fn address() -> impl Strategy<Value = Address> {
    prop::array::uniform32(0u8..2)
        .prop_map(|bits| core::array::from_fn(|at| if at < 24 { 7 } else { bits[at] }))
}

fn list() -> impl Strategy<Value = Vec<Address>> {
    prop::collection::vec(address(), 0..40).prop_map(|mut list| {
        list.sort();
        list.dedup();
        list
    })
}

proptest! {
    #[test]
    fn a_list_allows_its_entries_as_what_they_are_and_nobody_else(
        wallets in list(),
        token_accounts in list(),
        recipient in address(),
        owner in address(),
    ) {
        let allowlist = Allowlist::only(&wallets, &token_accounts).expect("sorted");
        let expected = token_accounts.contains(&recipient) || wallets.contains(&owner);
        prop_assert_eq!(allowlist.allows(&recipient, &owner), expected);
        let other = [9; 32];
        for wallet in &wallets {
            prop_assert!(allowlist.allows(&other, wallet));
            // The address of a wallet is no token account.
            prop_assert!(!allowlist.allows(wallet, &other) || token_accounts.contains(wallet));
        }
        for token_account in &token_accounts {
            prop_assert!(allowlist.allows(token_account, &other));
            // Anyone can name a token account as the owner of another.
            prop_assert!(!allowlist.allows(&other, token_account) || wallets.contains(token_account));
        }
        prop_assert_eq!(allowlist.entries(), (&wallets[..], &token_accounts[..]));
    }

    #[test]
    fn only_lists_in_strictly_ascending_order_are_taken(
        wallets in prop::collection::vec(prop::array::uniform32(0u8..2), 0..4),
        token_accounts in prop::collection::vec(prop::array::uniform32(0u8..2), 0..4),
    ) {
        let ascending = |list: &[Address]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let expected = ascending(&wallets) && ascending(&token_accounts);
        prop_assert_eq!(Allowlist::only(&wallets, &token_accounts).is_some(), expected);
    }

    #[test]
    fn a_list_adds_to_another_exactly_if_it_has_an_entry_that_the_other_lacks(
        new in (list(), list()),
        old in (list(), list()),
        shared in any::<bool>(),
    ) {
        // Subsets come about by chance too seldom.
        let new = if shared { (intersection(&new.0, &old.0), intersection(&new.1, &old.1)) } else { new };
        let added = new.0.iter().any(|entry| !old.0.contains(entry))
            || new.1.iter().any(|entry| !old.1.contains(entry));
        let (new, old) = (Allowlist::stored(&new.0, &new.1), Allowlist::stored(&old.0, &old.1));
        prop_assert_eq!(new.adds_to(&old), added);
        prop_assert!(!new.adds_to(&new) && !new.adds_to(&Allowlist::Anyone));
        prop_assert!(Allowlist::Anyone.adds_to(&old));
    }

    /// What a policy that adds nothing allows, the one before allowed.
    #[test]
    fn list_that_adds_nothing_allows_only_who_was_allowed_before(
        new in (list(), list()),
        old in (list(), list()),
        recipient in address(),
        owner in address(),
    ) {
        let new = (intersection(&new.0, &old.0), intersection(&new.1, &old.1));
        let (new, old) = (Allowlist::stored(&new.0, &new.1), Allowlist::stored(&old.0, &old.1));
        prop_assert!(!new.adds_to(&old));
        prop_assert!(old.allows(&recipient, &owner) || !new.allows(&recipient, &owner));
    }
}

fn intersection(one: &[Address], other: &[Address]) -> Vec<Address> {
    one.iter().copied().filter(|entry| other.contains(entry)).collect()
}

#[test]
fn a_list_has_up_to_256_entries_of_both_kinds_together() {
    let list: Vec<Address> =
        (0..=256u16).map(|n| core::array::from_fn(|at| n.to_be_bytes()[at.min(1)])).collect();
    let of =
        |wallets: usize, token_accounts: usize| Allowlist::only(&list[..wallets], &list[..token_accounts]);
    for (wallets, token_accounts) in [(256, 0), (0, 256), (128, 128), (1, 255)] {
        assert!(of(wallets, token_accounts).is_some());
    }
    for (wallets, token_accounts) in [(257, 0), (0, 257), (256, 1), (128, 129), (257, 257)] {
        assert!(of(wallets, token_accounts).is_none());
    }
    assert_eq!(ALLOWLIST_ENTRIES_MAX, 256);
}

#[test]
fn without_entries_a_list_allows_nobody_and_without_a_list_anyone_is() {
    assert!(!Allowlist::stored(&[], &[]).allows(&[0; 32], &[0; 32]));
    assert!(Allowlist::Anyone.allows(&[0; 32], &[0; 32]));
    assert_eq!(Allowlist::Anyone.entries(), (&[][..], &[][..]));
}

#[test]
fn one_address_may_stand_in_both_lists() {
    let both = [[5; 32]];
    let allowlist = Allowlist::only(&both, &both).expect("sorted each by itself");
    assert!(allowlist.allows(&[5; 32], &[6; 32]) && allowlist.allows(&[6; 32], &[5; 32]));
}

#[test]
fn an_entry_that_changes_its_kind_is_added() {
    let entry = [[5; 32]];
    let (wallet, token_account) = (Allowlist::stored(&entry, &[]), Allowlist::stored(&[], &entry));
    assert!(wallet.adds_to(&token_account) && token_account.adds_to(&wallet));
}
