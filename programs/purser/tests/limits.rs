//! The maximum of accounts and transactions: compute units, the log, and how far an account grows at once.
//! Run with `--nocapture` for the figures.

use anchor_lang::prelude::Pubkey;
use anchor_lang::{AnchorDeserialize, Discriminator};
use purser::events::{DraftWritten, PolicySet};
use purser::state::Agent;
use purser::{AllowlistArg, PolicyArgs, Rules};
use solana_compute_budget_interface::ComputeBudgetInstruction;

use crate::support::{
    assert_policy, many_keys, only, open_policy, Outcome, Payment, Proposal, Who, World, PAYEE,
};

/// The compute units of an instruction in a transaction that asks for none.
const COMPUTE_UNITS: u64 = 200_000;
const LOG_BYTES_MAX: usize = 10_000;

/// 256 entries that differ only in their last byte, which makes comparisons most expensive.
fn near() -> Vec<Pubkey> {
    (0..=255)
        .map(|last| Pubkey::new_from_array(core::array::from_fn(|at| if at < 31 { 7 } else { last })))
        .collect()
}

const SEVEN_A_DAY: Rules = Rules { max_daily_spend: Some(7), ..Rules::OPEN };

fn of(allowlist: AllowlistArg) -> PolicyArgs {
    PolicyArgs { allowlist, ..open_policy() }
}

#[track_caller]
fn within(what: &str, outcome: &Outcome) {
    println!("{what}: {} CU", outcome.compute_units);
    assert!(outcome.compute_units < COMPUTE_UNITS, "{what}: {} CU", outcome.compute_units);
    let log: usize = outcome.events.iter().map(|event| event.len() * 4 / 3 + 20).sum();
    assert!(log < LOG_BYTES_MAX, "{what}: {log} bytes of log");
}

/// Sends every step of `proposal`, and returns the events.
fn through(world: &mut World, what: &str, proposal: &Proposal) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    let mut calls = vec![proposal.open()];
    calls.extend(proposal.writes());
    calls.push(proposal.apply());
    let last = calls.len() - 1;
    for (index, call) in calls.iter().enumerate() {
        let outcome = world.accept(call);
        if index == 0 || index + 2 >= calls.len() {
            let step = if index == 0 {
                "open"
            } else if index == last {
                "apply"
            } else {
                "seal"
            };
            within(&format!("{what}, {step}"), &outcome);
        }
        assert!(outcome.transaction_bytes <= 1_232, "{} bytes", outcome.transaction_bytes);
        events.extend(outcome.events);
    }
    events
}

#[test]
fn a_policy_of_256_entries_goes_through_in_steps_of_ordinary_size() {
    let random = many_keys(256);
    for (what, list) in [("256 random", random), ("256 neighbours", near())] {
        for (wallets, token_accounts) in [(256, 0), (128, 128), (0, 256)] {
            let mut world = World::new();
            world.delay(1);
            let allowlist = only(&list[..wallets], &list[..token_accounts]);
            // The last change costs most: each of 256 entries must be found among 256.
            let same = PolicyArgs { rules: SEVEN_A_DAY, ..of(allowlist.clone()) };
            let what = format!("{what}, {wallets} wallets");
            let first = world.propose(of(allowlist));
            through(&mut world, &format!("{what}, over anyone"), &first);
            let again = world.propose(same);
            through(&mut world, &format!("{what}, over the same"), &again);
            assert_policy(world.agent_view().policy(), &again.policy);
            let pay = world.main.transfer(Payment::default());
            let outcome = world.send(&[pay.instruction()], Who::FeePayer);
            if let Ok(outcome) = outcome {
                println!("{what}, transfer: {} CU", outcome.compute_units);
            }
        }
    }
}

#[test]
fn events_of_a_draft_hold_the_whole_policy_of_256_entries() {
    let list = many_keys(200);
    let mut world = World::new();
    let policy = PolicyArgs { rules: SEVEN_A_DAY, ..of(only(&list, &list[..56])) };
    let proposal = world.propose(policy);
    let events = through(&mut world, "256 mixed", &proposal);
    let mut appended: Vec<Pubkey> = Vec::new();
    for event in events.iter().filter_map(|event| event.strip_prefix(DraftWritten::DISCRIMINATOR)) {
        let part = DraftWritten::try_from_slice(event).expect("a part");
        assert_eq!((part.hash, usize::from(part.start)), (proposal.args.hash, appended.len()));
        appended.extend(part.entries);
    }
    assert_eq!(appended, proposal.entries);
    let last =
        events.last().and_then(|event| event.strip_prefix(PolicySet::DISCRIMINATOR)).expect("the last event");
    let set = PolicySet::try_from_slice(last).expect("a policy");
    assert_eq!((set.policy, set.policy_version), (proposal.record(), 2));
}

#[test]
fn an_account_grows_and_shrinks_by_256_entries_again_and_again_in_one_transaction() {
    // In one transaction: grown by a draft, cut inline, grown inline. Growth never exceeds 10,240 bytes at once.
    let mut world = World::new();
    let main = world.main;
    let proposal = world.sealed(of(only(&many_keys(256), &[])));
    let few = of(only(&[], &[PAYEE]));
    let instructions = [
        ComputeBudgetInstruction::set_compute_unit_limit(1_400_000),
        proposal.apply().instruction(),
        main.set_policy(2, few.clone()).instruction(),
        main.set_policy(3, of(only(&many_keys(3), &[]))).instruction(),
        main.set_policy(4, few).instruction(),
        main.transfer(Payment::default()).instruction(),
    ];
    world.accept_all(&instructions, Who::FeePayer);
    assert_eq!(world.account(&main.agent).data.len(), Agent::BYTES + 192 + 32);
    assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES + 192 + 32));
}

#[test]
fn policy_that_fits_a_transaction_is_set_inline_and_at_creation() {
    let mut world = World::new();
    let mut most = [0; 2];
    for count in 1..22 {
        let policy = of(only(&many_keys(count), &[]));
        let place = crate::support::Place::new(Who::Admin, 0, [count as u8; 16]);
        let calls = [
            world.main.set_policy(world.version(), policy.clone()),
            place.create_agent_with([count as u8; 16], policy),
        ];
        for (index, call) in calls.into_iter().enumerate() {
            let outcome = world.accept(&call);
            if outcome.transaction_bytes <= 1_232 {
                most[index] = count;
                within(&format!("{count} inline, {index}"), &outcome);
            }
        }
    }
    println!("entries that fit: {} in set_policy, {} in create_agent", most[0], most[1]);
    assert!(most[0] >= 17 && most[1] >= 12, "{most:?}");
}
