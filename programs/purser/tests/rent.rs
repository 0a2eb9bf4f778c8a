//! Who gets rent back: whom the payer named with its signature, and whoever that one names.

use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::RentRefundSet;
use purser::state::{Agent, ClosedAgent, PolicyDraft};
use purser::{PolicyArgs, Rules};
use solana_rent::Rent;

use crate::support::{
    address, agent, attack, keys, only, open_policy, operator, signer, Call, Expected, Place, Who, World,
    BALANCE, PAYEE, WALLETS,
};

const ID: [u8; 16] = *b"a fresh account!";
const REFUND_OF_AGENT: usize = 6;
const REFUND_OF_DRAFT: usize = 5;
/// A wallet that nobody uses on a server.
const COLD: Pubkey = Pubkey::new_from_array([77; 32]);

#[test]
fn rent_goes_back_to_whom_the_payer_named_and_not_to_the_payer() {
    let mut world = World::new();
    let place = Place::new(Who::Admin, 0, ID);
    let policy = PolicyArgs { allowlist: only(&keys(5), &[]), ..open_policy() };
    world.accept(&place.create_agent_with(ID, policy).with(REFUND_OF_AGENT, COLD));
    let [hot, held] = [Who::Payer.key(), place.agent].map(|key| world.lamports(&key));
    // A shorter list.
    let mut shorter = place.set_policy(1, open_policy());
    world.refuse(&shorter, PurserError::WrongRentRefund);
    shorter.accounts[4].pubkey = COLD;
    world.accept(&shorter);
    let five_entries = world.rent(160) - world.rent(0);
    assert_eq!(world.lamports(&COLD), five_entries);
    // Closing.
    world.refuse(&place.close_agent(), PurserError::WrongRentRefund);
    let token_account = world.lamports(&place.source);
    world.accept(&place.close_agent().with(6, COLD));
    assert_eq!(world.lamports(&COLD), held + token_account);
    assert_eq!(world.lamports(&Who::Payer.key()), hot);
}

#[test]
fn a_drafts_rent_goes_back_to_whom_its_payer_named() {
    let world = World::new();
    let proposal =
        world.propose(PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() });
    for end in [
        proposal.close().with(4, COLD),
        proposal.apply().with(6, COLD),
        world.main.close_agent().with(8, COLD),
    ] {
        let mut world = world.clone();
        world.accept(&proposal.open().with(REFUND_OF_DRAFT, COLD));
        let (hot, held) = (world.lamports(&Who::DraftPayer.key()), world.lamports(&world.main.draft));
        world.accept(&end);
        assert_eq!((world.lamports(&COLD), world.lamports(&Who::DraftPayer.key())), (held, hot));
    }
}

#[test]
fn a_refund_address_is_a_wallet_and_never_the_account_itself() {
    let mut world = World::new();
    let place = Place::new(Who::Admin, 0, ID);
    // A payer that could name these would keep an account from being closed for ever.
    for own in [place.agent, place.source] {
        world.refuse(&place.create_agent(ID).with(REFUND_OF_AGENT, own), PurserError::WrongRentRefund);
    }
    let proposal = world.propose(open_policy());
    let own = world.main.draft;
    world.refuse(&proposal.open().with(REFUND_OF_DRAFT, own), PurserError::WrongRentRefund);
    // Accounts that no transaction can write to.
    for fixed in ["clock", "system_program", "purser_program"] {
        let key = world.cast.get(fixed);
        world.refuse(&place.create_agent(ID).with(REFUND_OF_AGENT, key), ErrorCode::ConstraintMut);
        world.refuse(&proposal.open().with(REFUND_OF_DRAFT, key), ErrorCode::ConstraintMut);
    }
}

#[test]
fn a_refund_address_is_changed_by_itself_and_nobody_else() {
    let mut world = World::new();
    let main = world.main;
    let before = world.agent();
    let change = main.set_rent_refund(COLD);
    for who in Who::everyone().filter(|who| *who != Who::Payer) {
        world.refuse_as(&format!("{who:?}"), &change.clone().signed_by(who), PurserError::WrongRentRefund);
    }
    let outcome = world.accept(&change);
    outcome.emitted(RentRefundSet { operator: main.operator, agent: main.agent, rent_refund: COLD });
    assert_eq!(world.agent(), Agent { rent_refund: COLD, ..before });
    // The one before has no say any more.
    world.refuse(&change, PurserError::WrongRentRefund);
    world.accept(&main.withdraw(BALANCE, PAYEE));
    world.refuse(&main.close_agent(), PurserError::WrongRentRefund);
    world.accept(&main.close_agent().with(6, COLD));
}

#[test]
fn every_wrong_account_of_a_change_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.set_rent_refund(Who::Stranger.key()),
        &[
            signer("rent_refund", PurserError::WrongRentRefund),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).accepts(&["sibling_agent"]),
            address("new_rent_refund", PurserError::WrongRentRefund).accepts(&WALLETS).accepts(&["draft"]),
        ],
    );
}

/// An agent, its draft and a closed agent, with the refund address of each.
fn accounts(world: &mut World) -> [(Pubkey, Pubkey); 3] {
    let main = world.main;
    let proposal = world.sealed(PolicyArgs { allowlist: only(&keys(3), &[]), ..open_policy() });
    assert_eq!(proposal.entries.len(), 3);
    let closed = world.cast.get("closed_agent");
    [(main.agent, Who::Payer.key()), (main.draft, Who::DraftPayer.key()), (closed, Who::Admin.key())]
}

fn reclaim(world: &World, account: Pubkey, to: Pubkey) -> Call {
    world.main.reclaim_rent(account, to)
}

#[test]
fn rent_that_fell_goes_home_by_anyones_hand_and_what_is_needed_stays() {
    let mut world = World::new();
    let all = accounts(&mut world);
    let before = world.svm.get_sysvar::<Rent>();
    let cheaper = Rent { lamports_per_byte: before.lamports_per_byte / 5, ..before };
    world.svm.set_sysvar(&cheaper);
    for (account, refund) in all {
        let data = world.account(&account).data;
        let needed = cheaper.minimum_balance(data.len());
        let (held, had) = (world.lamports(&account), world.lamports(&refund));
        assert!(held > needed);
        for _ in 0..2 {
            world.accept(&reclaim(&world, account, refund));
            assert_eq!((world.lamports(&account), world.lamports(&refund)), (needed, had + held - needed));
            assert_eq!(world.account(&account).data, data);
        }
    }
}

#[test]
fn nothing_goes_to_another_address_nor_out_of_another_account() {
    let mut world = World::new();
    let all = accounts(&mut world);
    for (account, refund) in all {
        world.edit(account, |account| account.lamports += 1_000_000);
        for other in Who::everyone().filter(|who| who.key() != refund) {
            world.refuse(&reclaim(&world, account, other.key()), PurserError::WrongRentRefund);
        }
        for version in [0, 1, 2, 255] {
            let mut world = world.clone();
            world.edit(account, |account| account.data[8] = version);
            world.refuse(&reclaim(&world, account, refund), PurserError::UnknownLayout);
        }
        for length in [0, 7, 8, 9, 15, 47] {
            let mut world = world.clone();
            world.edit(account, |account| account.data.truncate(length));
            world.refuse(&reclaim(&world, account, refund), PurserError::UnknownLayout);
        }
    }
    let Place { operator, source, .. } = world.main;
    let names = [
        "payee",
        "mint",
        "stranger",
        "forged_agent",
        "forged_draft",
        "zeroed",
        "stub",
        "agent_under_system_program",
    ];
    let others = names.map(|name| world.cast.get(name)).into_iter().chain([operator, source]);
    for account in others.collect::<Vec<_>>() {
        world.edit(account, |account| account.lamports += 1_000_000);
        world.refuse(&reclaim(&world, account, Who::Payer.key()), PurserError::UnknownLayout);
    }
    let mut read_only = reclaim(&world, world.main.agent, Who::Payer.key());
    read_only.accounts[0].is_writable = false;
    world.refuse(&read_only, Expected::from(ErrorCode::ConstraintMut));
}

#[test]
fn too_few_lamports_for_a_wallet_that_is_not_there_yet_wait() {
    let mut world = World::new();
    let place = Place::new(Who::Admin, 0, ID);
    world.accept(&place.create_agent(ID).with(REFUND_OF_AGENT, COLD));
    let rent = world.rent(0);
    for (more, gets) in [(1, 0), (rent - 1, 0), (rent, rent), (1, rent + 1)] {
        let needed = world.rent(Agent::BYTES + 192);
        world.edit(place.agent, |account| account.lamports = needed + more);
        world.accept(&world.main.reclaim_rent(place.agent, COLD));
        assert_eq!(world.lamports(&COLD), gets);
    }
    const { assert!(PolicyDraft::BYTES > ClosedAgent::BYTES) };
}
