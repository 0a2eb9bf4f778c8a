use anchor_lang::error::ErrorCode;
use anchor_lang::Event;
use purser::error::PurserError;
use purser::events::{AgentClosed, DraftClosed};
use purser::state::{Agent, ClosedAgent};
use purser::{PolicyArgs, Rules};
use purser_policy::{PaidTags, SpendWindow, TagBucket};

use crate::support::{
    address, assert_policy, attack, keys, only, open_policy, operator, program, signer, Expected, Payment,
    TokenAccountState, Who, World, AGENT_ID, BALANCE, DAY, MINT, NOON, PAYEE,
};

/// How long tags are kept.
const KEPT: i64 = purser_policy::TAG_SECONDS;
const MINT_SLOT: usize = 4;
const DESTINATION: usize = 5;
const DRAFT_RENT_REFUND: usize = 8;

fn emptied() -> World {
    let mut world = World::new();
    let call = world.main.withdraw(BALANCE, PAYEE);
    world.accept(&call);
    world
}

/// The agent paid its whole balance at noon.
fn spent() -> World {
    let mut world = World::new();
    let call = world.main.transfer(Payment { amount: BALANCE, tag: 77, ..Payment::default() });
    world.accept(&call);
    world
}

/// Nothing is left but the mark at the agent's address.
#[track_caller]
fn assert_closed(world: &World) {
    let main = world.main;
    assert_eq!(world.accounts(&[main.source, main.draft]), [None, None]);
    let left = world.account(&main.agent);
    assert_eq!((left.owner, left.data.len()), (purser::ID, ClosedAgent::BYTES));
    let closed = ClosedAgent::read(&left.data).expect("a closed agent");
    let (second, rent_refund) = (world.now() as u32, Who::Admin.key());
    assert_eq!(closed, ClosedAgent { version: 4, reserved: [0; 3], second, rent_refund });
}

/// `swept`: the rest, which went to [`PAYEE`].
fn closed(world: &World, payments: u64, swept: u64) -> AgentClosed {
    AgentClosed {
        operator: world.main.operator,
        agent: world.main.agent,
        agent_id: AGENT_ID,
        payments,
        swept,
        recipient: PAYEE,
        admin: Who::Admin.key(),
    }
}

#[test]
fn closing_an_empty_agent_gives_all_rent_to_whoever_paid_it_and_the_admin_pays_for_the_mark() {
    let mut world = emptied();
    let main = world.main;
    world.policy(|policy| policy.allowlist = only(&[], &[PAYEE]));
    let rent = world.lamports(&main.agent) + world.lamports(&main.source);
    assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES + 192 + 32));
    let (own, before) = (world.lamports(&Who::Admin.key()), world.lamports(&Who::Payer.key()));
    let outcome = world.accept(&main.close_agent());
    assert_closed(&world);
    assert_eq!(world.lamports(&main.agent), world.rent(ClosedAgent::BYTES));
    assert_eq!(world.lamports(&Who::Payer.key()), before + rent);
    assert_eq!(world.lamports(&Who::Admin.key()), own - world.rent(ClosedAgent::BYTES));
    outcome.emitted(closed(&world, 0, 0));
}

#[test]
fn nobody_but_the_admin_closes_an_agent() {
    let mut world = emptied();
    for who in Who::but(&[Who::Admin]) {
        let call = world.main.close_agent().signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn remaining_money_goes_to_the_destination_and_the_event_says_so() {
    for left in [1, BALANCE, u64::MAX] {
        let mut world = World::new();
        let main = world.main;
        world.fund(main.source, left);
        let outcome = world.accept(&main.close_agent());
        assert_eq!(world.balance(&PAYEE), left);
        assert_closed(&world);
        outcome.emitted(closed(&world, 0, left));
    }
}

#[test]
fn remaining_money_goes_to_no_account_that_cannot_take_it() {
    let mut world = World::new();
    let main = world.main;
    for (name, answer) in [
        ("source", PurserError::RecipientIsSource),
        // Nobody could get it there until the agent is created again.
        ("second_source", PurserError::RecipientIsSource),
        ("other_mint_account", PurserError::RecipientWrongMint),
        ("frozen", PurserError::RecipientFrozen),
        ("admin", PurserError::RecipientNotTokenAccount),
        ("nobody", PurserError::RecipientNotTokenAccount),
        ("token_2022_account", PurserError::RecipientNotTokenAccount),
    ] {
        let call = main.close_agent().with(DESTINATION, world.cast.get(name));
        world.refuse_as(name, &call, answer);
    }
}

#[test]
fn the_draft_goes_too_sealed_or_not_and_its_rent_to_whoever_paid_it() {
    for sealed in [false, true] {
        let mut world = emptied();
        let main = world.main;
        let proposal = world.propose(PolicyArgs { allowlist: only(&keys(3), &[]), ..open_policy() });
        world.accept(&proposal.open());
        world.accept(&proposal.write(0, if sealed { 3 } else { 2 }));
        let [agent, source, draft] = [main.agent, main.source, main.draft].map(|key| world.lamports(&key));
        let before = [Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key()));
        let wrong = main.close_agent().with(DRAFT_RENT_REFUND, Who::Payer.key());
        world.refuse(&wrong, PurserError::WrongRentRefund);
        let outcome = world.accept(&main.close_agent());
        assert_closed(&world);
        let after = [Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key()));
        assert_eq!(after, [before[0] + agent + source, before[1] + draft]);
        let dropped = DraftClosed {
            operator: main.operator,
            agent: main.agent,
            hash: proposal.args.hash,
            signer: Who::Admin.key(),
        };
        outcome.emitted_all(&[dropped.data(), closed(&world, 0, 0).data()]);
        // The next agent at this address has no draft, and the old draft's parts and hash are useless.
        world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
        for call in [proposal.apply(), proposal.close(), proposal.write(2, 3)] {
            world.refuse(&call, ErrorCode::AccountOwnedByWrongProgram);
        }
        world.accept(&proposal.open());
    }
}

#[test]
fn event_has_the_number_of_payments() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_tag_buckets(3));
    for tag in 1..=20 {
        world.accept(&main.transfer(Payment { tag, amount: 1, ..Payment::default() }));
    }
    world.accept(&main.withdraw(BALANCE - 20, PAYEE));
    world.set_clock(NOON + KEPT);
    let outcome = world.accept(&main.close_agent());
    outcome.emitted(closed(&world, 20, 0));
}

#[test]
fn closing_and_creating_anew_cannot_reset_the_window() {
    let mut world = spent();
    let main = world.main;
    for now in [NOON, NOON + 1, NOON + DAY, NOON + KEPT - 1, NOON - 1, 0, i64::MIN] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &main.close_agent(), PurserError::SpendWindowNotEmpty);
    }
    world.set_clock(NOON + KEPT);
    world.accept(&main.close_agent());
    world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
    let agent = world.agent();
    assert_eq!((*agent.window(), agent.payments), (SpendWindow::beginning(NOON + KEPT), 0));
    assert_eq!(world.agent_view().tags(), Some(PaidTags(&[TagBucket::EMPTY])));
    assert_eq!(agent.policy_version, 1);
    assert_policy(world.agent_view().policy(), &open_policy());
    // By then the tag would be free again anyway.
    world.fund(main.source, BALANCE);
    world.accept(&main.transfer(Payment { tag: 77, ..Payment::default() }));
}

#[test]
fn a_closed_agent_answers_nothing_and_pays_nobody() {
    let mut world = emptied();
    let main = world.main;
    world.accept(&main.close_agent());
    let gone = ErrorCode::AccountDiscriminatorMismatch;
    world.refuse(&main.close_agent(), gone);
    world.refuse(&main.set_paused(true), gone);
    world.refuse(&main.withdraw(1, PAYEE), gone);
    world.refuse(&main.set_policy(1, open_policy()), gone);
    world.refuse(&main.halt(), gone);
    world.refuse(&main.resume(), gone);

    world.refuse(&main.transfer(Payment::default()), PurserError::UnknownLayout);
}

#[test]
fn closing_and_creating_anew_in_one_transaction_cannot_reset_the_window_either() {
    let mut world = spent();
    let main = world.main;
    let anew = main.create_agent(AGENT_ID).signed_by(Who::Admin);
    let calls = [main.close_agent(), anew].map(|call| call.instruction());
    assert!(world.send(&calls, Who::FeePayer).is_err());
    world.set_clock(NOON + KEPT);
    world.accept_all(&calls, Who::FeePayer);
    assert_eq!(*world.agent().window(), SpendWindow::beginning(NOON + KEPT));
}

#[test]
fn lamports_sent_in_the_closing_transaction_do_not_keep_an_agent_alive() {
    let mut world = emptied();
    let main = world.main;
    let gift = anchor_lang::solana_program::system_instruction::transfer(
        &Who::Stranger.key(),
        &main.agent,
        1_000_000_000,
    );
    world.accept_all(&[main.close_agent().instruction(), gift], Who::FeePayer);
    assert_closed(&world);
    world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
    assert_eq!(world.agent().policy_version, 1);
}

#[test]
fn a_frozen_token_account_is_closed_while_it_is_empty_and_not_with_usdc_in_it() {
    let mut world = emptied();
    let source = world.main.source;
    world.edit_token(source, |state| state.state = TokenAccountState::Frozen);
    let call = world.main.close_agent();
    world.fund(source, 1);
    world.refuse(&call, Expected::FROZEN);
    world.fund(source, 0);
    // The token program allows closing an empty frozen account: nothing is lost.
    world.accept(&call);
    assert_eq!(world.svm.get_account(&source), None);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let mut world = emptied();
    let sibling = world.sibling.source;
    world.fund(sibling, 0);
    let proposal = world.sealed(PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() });
    assert_eq!(proposal.entries.len(), 0);
    let nothing_to_move: Vec<&str> = world.cast.iter().map(|(name, _)| name).collect();
    let writable = |name: &&str| !["system_program", "purser_program", "clock", "payee"].contains(name);
    let destinations: Vec<&str> = nothing_to_move.iter().copied().filter(writable).collect();
    let mints: Vec<&str> = nothing_to_move.iter().copied().filter(|name| *name != "mint").collect();
    attack(
        &world,
        &world.main.close_agent(),
        &[
            signer("admin", PurserError::Unauthorized),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            address("agent", ErrorCode::ConstraintSeeds),
            address("token_account", PurserError::WrongSource),
            address("usdc_mint", PurserError::WrongMint).accepts(&mints).accepts_own(),
            address("destination", PurserError::RecipientNotTokenAccount)
                .accepts(&destinations)
                .accepts_own(),
            address("rent_refund", PurserError::WrongRentRefund),
            address("draft", ErrorCode::ConstraintSeeds)
                .but(&["system_program", "purser_program", "clock"], ErrorCode::ConstraintSeeds),
            address("draft_rent_refund", PurserError::WrongRentRefund),
            program("token_program"),
            program("system_program"),
        ],
    );
}

#[test]
fn every_wrong_mint_and_destination_is_refused_where_something_is_left() {
    let world = World::new();
    let mut target = world.clone();
    for (name, key) in world.cast.iter() {
        let call = target.main.close_agent().with(MINT_SLOT, key);
        if key != MINT {
            assert!(target.send(&[call.instruction()], Who::FeePayer).is_err(), "{name} as the mint");
        }
        let call = target.main.close_agent().with(DESTINATION, key);
        let good = ["payee", "sibling_source", "twin_source", "foreign_source"].contains(&name);
        let done = target.clone().send(&[call.instruction()], Who::FeePayer).is_ok();
        assert_eq!(done, good, "{name} as the destination");
    }
}

#[test]
fn a_refund_address_that_became_a_program_keeps_no_agent_from_being_closed() {
    for with_draft in [false, true] {
        let mut world = emptied();
        let main = world.main;
        if with_draft {
            let proposal = world.propose(PolicyArgs { allowlist: only(&keys(3), &[]), ..open_policy() });
            world.accept(&proposal.open());
        }
        // Whoever holds a refund address can deploy a program there.
        for who in [Who::Payer, Who::DraftPayer] {
            let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../idl/purser.so");
            world.svm.add_program_from_file(who.key(), program).expect("a program");
            assert!(world.account(&who.key()).executable);
        }
        let before = world.lamports(&Who::Payer.key());
        let held = world.lamports(&main.agent) + world.lamports(&main.source);
        world.accept(&main.close_agent());
        assert_closed(&world);
        let mark = world.lamports(&main.agent) - world.rent(ClosedAgent::BYTES);
        assert_eq!(world.lamports(&Who::Payer.key()) - before + mark, held);
    }
}
