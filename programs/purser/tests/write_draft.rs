use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::error::PurserError;
use purser::events::{DraftSealed, DraftWritten};
use purser::state::PolicyDraft;
use purser::{PolicyArgs, Rules};

use crate::support::{
    agent, attack, draft, keys, many_keys, only, open_policy, operator, signer, Proposal, Who, World, NOON,
};

fn opened(wallets: &[Pubkey], token_accounts: &[Pubkey]) -> (World, Proposal) {
    let mut world = World::new();
    let allowlist = only(wallets, token_accounts);
    let proposal =
        world.propose(PolicyArgs { allowlist, rules: Rules { max_daily_spend: Some(9), ..Rules::OPEN } });
    world.accept(&proposal.open());
    (world, proposal)
}

/// The bytes written, their count, and whether the draft is sealed.
fn written(world: &World) -> (Vec<u8>, u16, bool) {
    let data = world.account(&world.main.draft).data;
    let draft = PolicyDraft::read(&data).expect("a draft").draft;
    (data[PolicyDraft::BYTES..].to_vec(), draft.written, draft.is_sealed())
}

fn bytes(keys: &[Pubkey], entry_count: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_bytes()).collect();
    bytes.resize(entry_count * 32, 0);
    bytes
}

fn part(world: &World, proposal: &Proposal, start: usize, end: usize) -> DraftWritten {
    let entries = proposal.entries[start..end].to_vec();
    DraftWritten { agent: world.main.agent, hash: proposal.args.hash, start: start as u16, entries }
}

fn sealed(world: &World, proposal: &Proposal, signer: Who, now: i64, loosens_at: i64) -> DraftSealed {
    DraftSealed {
        operator: world.main.operator,
        agent: world.main.agent,
        hash: proposal.args.hash,
        expected_version: proposal.args.expected_version,
        policy: proposal.record(),
        sealed_at: now,
        loosens_at,
        signer: signer.key(),
    }
}

#[test]
fn parts_in_order_fill_a_draft_and_the_last_one_seals_it() {
    let (mut world, proposal) = opened(&keys(3), &keys(2));
    for (start, end, who) in
        [(0, 2, Who::PolicyAuthority), (2, 3, Who::Admin), (3, 3, Who::Admin), (3, 5, Who::PolicyAuthority)]
    {
        let outcome = world.accept(&proposal.write(start, end).signed_by(who));
        assert_eq!(written(&world), (bytes(&proposal.entries[..end], 5), end as u16, end == 5));
        let mut events = vec![part(&world, &proposal, start, end).data()];
        if end == 5 {
            events.push(sealed(&world, &proposal, who, NOON, NOON).data());
        }
        outcome.emitted_all(&events);
    }
}

#[test]
fn a_sealed_draft_says_when_it_was_sealed_and_when_it_may_loosen() {
    let (mut world, proposal) = opened(&keys(1), &[]);
    world.delay(3600);
    world.set_clock(NOON + 9);
    let outcome = world.accept(&proposal.write(0, 1));
    let draft = PolicyDraft::read(&world.account(&world.main.draft).data).expect("a draft").draft;
    assert_eq!(draft.sealed_at, NOON + 9);
    outcome.emitted_all(&[
        part(&world, &proposal, 0, 1).data(),
        sealed(&world, &proposal, Who::PolicyAuthority, NOON + 9, NOON + 3609).data(),
    ]);
}

#[test]
fn a_sealed_draft_takes_nothing_more() {
    let (mut world, proposal) = opened(&keys(2), &[]);
    world.accept(&proposal.write(0, 2));
    for start in 0..=3 {
        for count in 0..=2 {
            let call = world.main.write_draft(proposal.args.hash, start, &keys(count));
            world.refuse_as(&format!("{count} at {start}"), &call, PurserError::DraftOutOfOrder);
        }
    }
}

#[test]
fn a_part_out_of_order_is_refused() {
    let (mut world, proposal) = opened(&keys(5), &[]);
    let main = world.main;
    let refused = |world: &mut World, starts: &[u16]| {
        for start in starts {
            let call = main.write_draft(proposal.args.hash, *start, &keys(1));
            world.refuse_as(&format!("at {start}"), &call, PurserError::DraftOutOfOrder);
        }
    };
    refused(&mut world, &[1, 4, 5, 6, u16::MAX]);
    world.accept(&proposal.write(0, 2));
    refused(&mut world, &[0, 1, 3]);
}

#[test]
fn a_part_sent_twice_is_refused_the_second_time() {
    let (mut world, proposal) = opened(&keys(4), &[]);
    world.accept(&proposal.write(0, 2));
    world.refuse(&proposal.write(0, 2), PurserError::DraftOutOfOrder);
}

#[test]
fn more_entries_than_a_draft_was_opened_for_are_refused() {
    for count in [1, 3] {
        let (mut world, proposal) = opened(&keys(count), &[]);
        let call = world.main.write_draft(proposal.args.hash, 0, &keys(count + 1));
        world.refuse(&call, PurserError::DraftOutOfOrder);
        world.accept(&proposal.write(0, usize::from(count)));
    }
}

#[test]
fn content_that_the_draft_was_not_opened_for_is_not_sealed() {
    let right = many_keys(50);
    for index in [0, 24, 25, 49] {
        let (mut world, proposal) = opened(&right, &[]);
        let mut wrong = proposal.clone();
        wrong.entries[index] = {
            // Another key that keeps the order.
            let mut bytes = wrong.entries[index].to_bytes();
            bytes[31] ^= 1;
            Pubkey::new_from_array(bytes)
        };
        world.accept(&wrong.write(0, 25));
        match index < 25 {
            true => world.refuse(&proposal.write(25, 50), PurserError::DraftMismatch),
            false => world.refuse(&wrong.write(25, 50), PurserError::DraftMismatch),
        }
        assert!(!written(&world).2);
    }
}

#[test]
fn draft_opened_under_another_hash_is_never_sealed() {
    let world = World::new();
    let proposal = world.propose(PolicyArgs { allowlist: only(&keys(2), &[]), ..open_policy() });
    let mut others: Vec<Proposal> = Vec::new();
    let mut other = |change: &dyn Fn(&mut Proposal)| {
        let mut changed = proposal.clone();
        change(&mut changed);
        others.push(changed);
    };
    other(&|it| it.args.rules.max_daily_spend = Some(0));
    other(&|it| it.args.rules.max_single_transfer = Some(u64::MAX));
    other(&|it| it.args.rules.require_memo = true);
    other(&|it| it.args.rules.paused = true);
    other(&|it| it.args.entries.as_mut().expect("a list").wallets = 1);
    other(&|it| {
        let counts = it.args.entries.as_mut().expect("a list");
        (counts.wallets, counts.token_accounts) = (1, 1);
    });
    for other in others {
        let mut world = world.clone();
        world.accept(&other.open());
        let count = other.args.entries.map_or(0, |counts| counts.wallets + counts.token_accounts);
        world.refuse(&other.write(0, usize::from(count)), PurserError::DraftMismatch);
    }
}

#[test]
fn a_list_out_of_order_or_with_an_entry_twice_is_not_sealed_across_its_parts_too() {
    for (left, right) in [(24, 25), (0, 1), (48, 49)] {
        for equal in [false, true] {
            let mut list = many_keys(50);
            match equal {
                true => list[left] = list[right],
                false => list.swap(left, right),
            }
            for kinds in [(list.clone(), vec![]), (vec![], list.clone())] {
                let (mut world, proposal) = opened(&kinds.0, &kinds.1);
                world.accept(&proposal.write(0, 25));
                let what = format!("{left} {right} {equal}");
                world.refuse_as(&what, &proposal.write(25, 50), PurserError::AllowlistNotSorted);
            }
        }
    }
}

#[test]
fn a_count_of_entries_that_the_data_does_not_hold_is_refused() {
    let (mut world, proposal) = opened(&keys(5), &[]);
    for count in [3, 1_000, u32::MAX] {
        let mut call = proposal.write(0, 2);
        // After the discriminator, the hash and `start`.
        call.data[42..46].copy_from_slice(&count.to_le_bytes());
        world.refuse_as(&format!("{count}"), &call, ErrorCode::InstructionDidNotDeserialize);
    }
}

#[test]
fn nobody_else_writes_a_draft() {
    let (mut world, proposal) = opened(&keys(2), &[]);
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        let call = proposal.write(0, 1).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let (world, proposal) = opened(&keys(2), &[]);
    for call in [proposal.write(0, 1), proposal.write(0, 2)] {
        attack(
            &world,
            &call,
            &[
                signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
                operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
                agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
                draft(PurserError::DraftMismatch),
            ],
        );
    }
}
