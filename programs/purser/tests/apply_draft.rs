//! Allowlists that do not fit a transaction: staged in a draft, then taken over at once.

use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::{AllowlistRecord, PolicySet};
use purser::state::{Agent, AllowlistDraft};
use purser::{AllowlistArg, PolicyArgs};
use purser_policy::Allowlist;

use crate::support::{
    agent, attack, draft, operator, program, signer, Payment, Random, Who, World, PAYEE, PAYEE_OWNER,
};

const PART: usize = 25;

fn from_draft() -> PolicyArgs {
    PolicyArgs { allowlist: AllowlistArg::Draft, max_daily_spend: Some(9_000_000), ..World::open_policy() }
}

/// `count` sorted keys, the payee's wallet among them.
fn keys(count: usize) -> Vec<Pubkey> {
    let mut random = Random(7);
    let mut keys: Vec<Pubkey> =
        (1..count).map(|_| Pubkey::new_from_array(core::array::from_fn(|_| random.next() as u8))).collect();
    keys.push(PAYEE_OWNER);
    keys.sort_unstable();
    keys
}

fn stage(world: &mut World, entry_count: u16, entries: &[Pubkey]) {
    let main = world.main;
    world.accept(&main.open_draft(entry_count));
    for (index, part) in entries.chunks(PART).enumerate() {
        world.accept(&main.write_draft((index * PART) as u16, part));
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    solana_sha256_hasher::hash(bytes).to_bytes()
}

#[test]
fn an_allowlist_of_256_entries_is_taken_over_at_once_and_its_draft_is_closed() {
    for who in [Who::PolicyAuthority, Who::Admin] {
        let mut world = World::new();
        let main = world.main;
        let keys = keys(256);
        stage(&mut world, 256, &keys);
        let before = world.agent();
        let had = world.lamports(&who.key());
        let outcome = world.accept(&main.set_policy(from_draft(), Some(main.draft)).signed_by(who));
        let addresses: Vec<_> = keys.iter().map(Pubkey::to_bytes).collect();
        let view = world.agent_view();
        assert_eq!(view.policy().allowlist, Allowlist::Only(&addresses));
        assert_eq!(view.agent.policy_version, before.policy_version + 1);
        let data = world.account(&main.agent).data;
        assert_eq!(data.len(), Agent::BYTES + 256 * 32);
        assert_eq!(data[Agent::BYTES..], addresses.concat());
        assert_eq!(world.svm.get_account(&main.draft), None);
        let growth = world.rent(256 * 32) - world.rent(0);
        assert_eq!(world.lamports(&who.key()), had - growth + world.rent(AllowlistDraft::bytes(256)));
        assert_eq!(world.lamports(&main.agent), world.rent(data.len()));
        outcome.emitted(PolicySet {
            operator: main.operator,
            agent: main.agent,
            policy_version: view.agent.policy_version,
            max_single_transfer: None,
            max_daily_spend: Some(9_000_000),
            require_memo: false,
            paused: false,
            allowlist: AllowlistRecord::Draft { entry_count: 256, entries_hash: sha256(&addresses.concat()) },
            signer: who.key(),
        });
    }
}

#[test]
fn an_agent_with_256_entries_pays_those_and_nobody_else_and_can_shrink_again() {
    let mut world = World::new();
    let main = world.main;
    let start = world.lamports(&Who::PolicyAuthority.key());
    stage(&mut world, 256, &keys(256));
    world.accept(&main.set_policy(from_draft(), Some(main.draft)));
    world.accept(&main.transfer(Payment::default()));
    let to_sibling = Payment { tag: 2, to: world.sibling.source, ..Payment::default() };
    world.refuse(&main.transfer(to_sibling), PurserError::RecipientNotAllowed);
    world.accept(&main.set_policy(World::open_policy(), None));
    assert_eq!(world.account(&main.agent).data.len(), Agent::BYTES);
    assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES));
    assert_eq!(world.lamports(&Who::PolicyAuthority.key()), start);
    world.accept(&main.transfer(to_sibling));
}

#[test]
fn a_short_or_empty_draft_is_as_good() {
    for count in [0, 1, 2] {
        let mut world = World::new();
        let main = world.main;
        let keys = &keys(2)[..count];
        stage(&mut world, count as u16, keys);
        world.accept(&main.set_policy(from_draft(), Some(main.draft)));
        let addresses: Vec<_> = keys.iter().map(Pubkey::to_bytes).collect();
        assert_eq!(world.agent_view().policy().allowlist, Allowlist::Only(&addresses));
    }
}

#[test]
fn an_incomplete_draft_is_refused() {
    let mut world = World::new();
    let main = world.main;
    let keys = keys(50);
    stage(&mut world, 51, &keys);
    let call = main.set_policy(from_draft(), Some(main.draft));
    world.refuse(&call, PurserError::DraftIncomplete);
    world.accept(&main.write_draft(50, &[Pubkey::new_from_array([0xff; 32])]));
    world.accept(&call);
}

#[test]
fn a_draft_that_is_not_in_strictly_ascending_order_is_refused_across_its_parts_too() {
    for (left, right) in [(24, 25), (0, 1), (48, 49)] {
        for equal in [false, true] {
            let mut world = World::new();
            let main = world.main;
            let mut keys = keys(50);
            if equal {
                keys[left] = keys[right];
            } else {
                keys.swap(left, right);
            }
            stage(&mut world, 50, &keys);
            let call = main.set_policy(from_draft(), Some(main.draft));
            world.refuse_as(&format!("{left} {right} {equal}"), &call, PurserError::AllowlistNotSorted);
        }
    }
}

#[test]
fn a_draft_is_used_once() {
    let mut world = World::new();
    let main = world.main;
    stage(&mut world, 2, &keys(2));
    let call = main.set_policy(from_draft(), Some(main.draft));
    world.accept(&call);
    world.refuse(&call, anchor_lang::error::ErrorCode::AccountOwnedByWrongProgram);
}

#[test]
fn the_draft_of_another_agent_is_refused() {
    let mut world = World::new();
    let main = world.main;
    for draft in [world.sibling.draft, world.twin.draft, world.foreign.draft] {
        world.refuse(&main.set_policy(from_draft(), Some(draft)), PurserError::DraftMismatch);
    }
}

#[test]
fn a_longer_list_replaces_a_shorter_and_the_other_way_round() {
    let mut world = World::new();
    let main = world.main;
    for count in [1, 200, 3, 256, 30, 256, 1] {
        let keys = keys(count);
        stage(&mut world, count as u16, &keys);
        world.accept(&main.set_policy(from_draft(), Some(main.draft)));
        let addresses: Vec<_> = keys.iter().map(Pubkey::to_bytes).collect();
        assert_eq!(world.agent_view().policy().allowlist, Allowlist::Only(&addresses));
        assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES + 32 * count));
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let mut world = World::new();
    let main = world.main;
    stage(&mut world, 1, &[PAYEE]);
    attack(
        &world,
        &main.set_policy(from_draft(), Some(main.draft)),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
            // The program's own address stands for no draft.
            draft(PurserError::DraftMismatch).but(&["purser_program"], PurserError::DraftMismatch),
            program("system_program"),
        ],
    );
}
