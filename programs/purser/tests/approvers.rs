//! Approvers: a person's key that lets single payments pass, what it has to sign for that, and when it no longer counts.

use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::{ApproverRemoved, ApproverSet, GrantOpened};
use purser::state::Approver;
use purser::{GrantPayee, GrantTerms, OpenedBy, OperatorUpdate, PolicyArgs, Rules};
use solana_instruction::Instruction;
use solana_sdk_ids::sysvar;
use solana_transaction_error::TransactionError;

use crate::support::{
    keys, memo, only, open_policy, terms, Expected, Payment, Who, World, DAY, NOON, PAYEE, PAYEE_OWNER,
};

const ID: u64 = 7;
const TAG: u64 = 50;
/// The approver.
const PERSON: Who = Who::Stranger;

/// For one payment, past list and single limit, under the first policy that is tight.
fn one() -> GrantTerms {
    GrantTerms {
        beyond_daily_limit: false,
        tag: Some(TAG),
        memo_hash: Some(solana_sha256_hasher::hash(b"m").to_bytes()),
        policy_version: Some(2),
        ..terms()
    }
}

fn payment<'a>(amount: u64) -> Payment<'a> {
    Payment { tag: TAG, amount, memo: "m", ..Payment::default() }
}

/// Nobody is listed and at most 5 pass at once; a delay; an approver of 100 at once and 150 in 24 hours.
fn world() -> World {
    let mut world = World::new();
    let tight = PolicyArgs {
        rules: Rules { max_single_transfer: Some(5), ..Rules::OPEN },
        allowlist: only(&keys(1), &[]),
    };
    world.policy(|policy| *policy = tight);
    world.delay(3_600);
    world.accept(&world.main.set_approver(PERSON, 100, 150));
    world
}

/// What has to be sent to approve `terms`.
fn approval(world: &World, id: u64, terms: GrantTerms) -> [Instruction; 2] {
    let main = world.main;
    [memo(&terms.approval(&main.agent)), main.approve(PERSON, id, terms).instruction()]
}

fn approve(world: &mut World, id: u64, terms: GrantTerms) {
    let instructions = approval(world, id, terms);
    world.accept_all(&instructions, Who::FeePayer);
}

/// Sends these, of which the one at `at` has to fail with `expected`.
#[track_caller]
fn refuse(world: &mut World, instructions: &[Instruction], at: u8, expected: impl Into<Expected>) {
    match world.send(instructions, Who::FeePayer) {
        Ok(outcome) => panic!("accepted: {outcome:?}"),
        Err((TransactionError::InstructionError(failed, error), logs)) => {
            assert_eq!((failed, Expected(error)), (at, expected.into()), "{}", logs.join("\n"));
        }
        Err((error, _)) => panic!("{error:?}"),
    }
}

fn agent(world: &World) -> Approver {
    Approver::read(&world.account(&world.main.approver(PERSON)).data).expect("an approver")
}

#[test]
fn an_approver_lets_one_payment_pass_at_once_and_no_other() {
    let mut world = world();
    let main = world.main;
    world.refuse(&main.transfer(payment(100)), PurserError::RecipientNotAllowed);
    let instructions = approval(&world, ID, one());
    world.accept_all(&instructions, Who::FeePayer).emitted(GrantOpened {
        operator: main.operator,
        agent: main.agent,
        grant: main.grant(ID),
        id: ID,
        terms: one(),
        opened_by: OpenedBy::Approver,
        signer: PERSON.key(),
    });
    for wrong in [
        payment(99),
        payment(101),
        Payment { memo: "n", ..payment(100) },
        Payment { tag: TAG + 1, ..payment(100) },
        Payment { to: world.sibling.source, ..payment(100) },
    ] {
        world.refuse(&main.transfer_granted(wrong, ID), PurserError::GrantMismatch);
    }
    world.accept(&main.transfer_granted(payment(100), ID));
    // Nor once the tag is forgotten and the key is used again.
    world.set_clock(NOON + DAY - 1);
    world.refuse(&main.transfer_granted(payment(100), ID), PurserError::DuplicateTransfer);
    world.set_clock(NOON + 2 * DAY);
    world.refuse(&main.transfer_granted(payment(100), ID), PurserError::GrantMismatch);
}

#[test]
fn an_approver_says_in_a_memo_what_it_approves_word_by_word() {
    let world = world();
    let main = world.main;
    let account = GrantTerms { payee: GrantPayee::TokenAccount(PAYEE), ..one() };
    let agent = main.agent;
    assert_eq!(
        one().approval(&agent),
        format!(
            "Purser: let {agent} pay 0.000100 USDC to the wallet {PAYEE_OWNER} until 2027-01-16 08:00:00 UTC"
        )
    );
    assert_eq!(
        account.approval(&agent),
        format!("Purser: let {agent} pay 0.000100 USDC to the token account {PAYEE} until 2027-01-16 08:00:00 UTC")
    );
    let [_, open] = approval(&world, ID, one());
    let others = [
        GrantTerms { amount: 99, ..one() },
        GrantTerms { amount: 1_000_000_100, ..one() },
        GrantTerms { payee: GrantPayee::Wallet(PAYEE), ..one() },
        GrantTerms { payee: GrantPayee::TokenAccount(PAYEE_OWNER), ..one() },
        GrantTerms { expires_at: NOON + DAY + 1, ..one() },
    ];
    let mut texts: Vec<String> = others.iter().map(|terms| terms.approval(&agent)).collect();
    texts.push(one().approval(&world.sibling.agent));
    let right = one().approval(&agent);
    texts.extend([right[1..].to_owned(), format!("{right} "), right.to_lowercase(), String::new()]);
    for text in texts {
        let mut world = world.clone();
        refuse(&mut world, &[memo(&text), open.clone()], 1, PurserError::ApprovalMemoMismatch);
    }
    let mut world = world;
    // No memo, a memo behind it or not right before it, another program's, and one for two grants.
    let mismatch = PurserError::ApprovalMemoMismatch;
    refuse(&mut world, std::slice::from_ref(&open), 0, mismatch);
    refuse(&mut world, &[open.clone(), memo(&right)], 0, mismatch);
    refuse(&mut world, &[memo(&right), memo("x"), open.clone()], 2, mismatch);
    let second = main.approve(PERSON, ID + 1, one()).instruction();
    refuse(&mut world, &[memo(&right), open.clone(), second.clone()], 2, mismatch);
    let [first_memo, second_memo] = [memo(&right), memo(&right)];
    let small = GrantTerms { amount: 50, ..one() };
    let [small_memo, small_open] = approval(&world, ID + 1, small);
    refuse(&mut world, &[first_memo, second_memo, small_open.clone()], 2, mismatch);
    // Another sysvar, or an account with the same bytes.
    for wrong in [sysvar::clock::ID, Who::Payer.key(), purser::ID] {
        let call = main.approve(PERSON, ID, one()).with(7, wrong).instruction();
        refuse(&mut world, &[memo(&right), call], 1, mismatch);
    }
    world.accept_all(&[memo(&right), open, small_memo, small_open], Who::FeePayer);
}

#[test]
fn an_approvers_grant_is_for_one_payment_under_the_policy_in_force_and_never_past_the_daily_limit() {
    let mut world = world();
    for loose in [
        GrantTerms { tag: None, ..one() },
        GrantTerms { memo_hash: None, ..one() },
        GrantTerms { policy_version: None, ..one() },
        GrantTerms { policy_version: Some(1), ..one() },
        GrantTerms { policy_version: Some(3), ..one() },
    ] {
        let instructions = approval(&world, ID, loose);
        refuse(&mut world, &instructions, 1, PurserError::GrantTermsInvalid);
    }
    let instructions = approval(&world, ID, GrantTerms { beyond_daily_limit: true, ..one() });
    refuse(&mut world, &instructions, 1, PurserError::Unauthorized);
    // Opened under one policy, it ends with it.
    approve(&mut world, ID, one());
    let main = world.main;
    world.accept(&main.set_paused(true));
    world.accept(&main.set_paused(false).signed_by(Who::Admin));
    world.refuse(&main.transfer_granted(payment(100), ID), PurserError::GrantMismatch);
}

#[test]
fn an_approver_keeps_to_its_limits_whatever_becomes_of_its_grants() {
    let mut world = world();
    let main = world.main;
    let of = |amount, tag| GrantTerms { amount, tag: Some(tag), expires_at: NOON + 20 * DAY, ..one() };
    let exceeded = PurserError::ApproverLimitExceeded;
    let instructions = approval(&world, ID, of(101, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    let instructions = approval(&world, ID, of(u64::MAX, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    approve(&mut world, ID, of(100, TAG));
    // Taken back unpaid, it still counts.
    world.accept(&main.close_grant(ID));
    let instructions = approval(&world, ID + 1, of(51, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    approve(&mut world, ID + 1, of(50, TAG));
    let instructions = approval(&world, ID + 2, of(1, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    // Other limits do not forget what was granted.
    world.accept(&main.set_approver(PERSON, 100, 151));
    approve(&mut world, ID + 2, of(1, TAG));
    let instructions = approval(&world, ID + 3, of(1, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    world.set_clock(NOON + DAY);
    let instructions = approval(&world, ID + 3, of(1, TAG));
    refuse(&mut world, &instructions, 1, exceeded);
    world.set_clock(NOON + DAY + 1);
    approve(&mut world, ID + 3, of(100, TAG));
    assert_eq!(agent(&world).window().spent(NOON + DAY + 1).micros(), 100);
}

#[test]
fn an_approver_pays_within_the_daily_limit_and_past_no_pause_halt_or_tag() {
    let mut world = world();
    let main = world.main;
    world.accept(
        &main
            .set_policy(
                2,
                PolicyArgs { rules: Rules { max_daily_spend: Some(99), ..Rules::OPEN }, ..open_policy() },
            )
            .signed_by(Who::Admin),
    );
    approve(&mut world, ID, GrantTerms { policy_version: Some(3), ..one() });
    world.refuse(&main.transfer_granted(payment(100), ID), PurserError::DailyLimitExceeded);
}

#[test]
fn an_approver_opens_nothing_in_a_halt_and_nothing_of_another_operator() {
    for halt in [World::new().main.halt(), World::new().main.halt_operator()] {
        let mut world = world();
        world.accept(&halt);
        let instructions = approval(&world, ID, one());
        refuse(&mut world, &instructions, 1, PurserError::Halted);
    }
    let mut world = world();
    let (main, twin) = (world.main, world.twin);
    let [text, _] = approval(&world, ID, one());
    let call = main.approve(PERSON, ID, one());
    // Of the twin operator, with the approver of this one.
    let foreign = twin.open_grant(ID, one()).signed_by(PERSON).with(6, main.approver(PERSON));
    let mut foreign = foreign.with(7, sysvar::instructions::ID).instruction();
    foreign.accounts[6].is_writable = true;
    refuse(&mut world, &[text.clone(), foreign], 1, PurserError::WrongOperator);
    // Somebody else signs with its account.
    for who in [Who::Payer, Who::TransferAuthority, Who::PolicyAuthority, Who::Guardian, Who::Admin] {
        let call = call.clone().signed_by(who).instruction();
        refuse(&mut world, &[text.clone(), call], 1, PurserError::Unauthorized);
    }
}

#[test]
fn an_approver_whose_key_the_server_holds_approves_nothing() {
    for update in [
        OperatorUpdate { policy_authority: Some(PERSON.key()), ..OperatorUpdate::default() },
        OperatorUpdate { transfer_authorities: Some(vec![PERSON.key()]), ..OperatorUpdate::default() },
    ] {
        let mut world = world();
        world.update(update);
        let instructions = approval(&world, ID, one());
        refuse(&mut world, &instructions, 1, PurserError::Unauthorized);
    }
    let mut world = World::new();
    for who in [Who::Admin, Who::PolicyAuthority, Who::TransferAuthority] {
        world.refuse(&world.main.set_approver(who, 1, 1), PurserError::KeysNotDistinct);
    }
}

#[test]
fn the_admin_alone_makes_changes_and_removes_approvers() {
    let mut world = World::new();
    let main = world.main;
    for who in Who::everyone().filter(|who| *who != Who::Admin) {
        let call = main.set_approver(PERSON, 1, 2).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
    let (operator, key, admin) = (main.operator, PERSON.key(), Who::Admin.key());
    world.accept(&main.set_approver(PERSON, 1, 2)).emitted(ApproverSet {
        operator,
        key,
        max_grant: 1,
        max_daily: 2,
        admin,
    });
    world.accept(&main.set_approver(PERSON, 3, 4));
    assert_eq!((agent(&world).max_grant, agent(&world).max_daily), (3, 4));
    for who in Who::everyone().filter(|who| *who != Who::Admin) {
        let call = main.remove_approver(PERSON).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
    world.refuse(&main.remove_approver(PERSON).with(1, world.twin.operator), PurserError::WrongOperator);
    let had = world.lamports(&admin);
    world.accept(&main.remove_approver(PERSON)).emitted(ApproverRemoved {
        operator,
        key,
        voided_at: NOON,
        admin,
    });
    assert_eq!(world.lamports(&admin), had);
    assert!(agent(&world).is_removed());
    world.refuse(&main.remove_approver(PERSON), PurserError::Unauthorized);
}

#[test]
fn an_approver_removed_and_made_again_has_granted_what_it_granted() {
    let terms = |tag, amount| GrantTerms { tag: Some(tag), amount, expires_at: NOON + 3 * DAY, ..one() };
    for removals in 1..=3 {
        let mut world = world();
        let main = world.main;
        approve(&mut world, ID, terms(1, 100));
        for second in 1..=removals {
            world.set_clock(NOON + second);
            world.accept(&main.remove_approver(PERSON));
            world.accept(&main.set_approver(PERSON, 100, 150));
        }
        world.set_clock(NOON + 60);
        let instructions = approval(&world, ID + 1, terms(2, 51));
        refuse(&mut world, &instructions, 1, PurserError::ApproverLimitExceeded);
        approve(&mut world, ID + 1, terms(2, 50));
        world.set_clock(NOON + DAY);
        let instructions = approval(&world, ID + 2, terms(3, 1));
        refuse(&mut world, &instructions, 1, PurserError::ApproverLimitExceeded);
        world.set_clock(NOON + DAY + 1);
        approve(&mut world, ID + 2, terms(3, 100));
    }
}

#[test]
fn lowering_an_approvers_limits_voids_nothing_that_it_granted() {
    let mut world = world();
    let main = world.main;
    approve(&mut world, ID, one());
    world.accept(&main.set_approver(PERSON, 1, 1));
    world.accept(&main.transfer_granted(payment(100), ID));
}

#[test]
fn removing_an_approver_voids_what_approvers_opened_and_nothing_of_the_admin() {
    let mut world = world();
    let main = world.main;
    approve(&mut world, ID, one());
    world.accept(&main.open_grant(ID + 1, terms()));
    world.accept(&main.set_approver(PERSON, 100, 1_000));
    world.accept(&main.set_approver(Who::Payer, 1, 2));
    world.accept(&main.remove_approver(Who::Payer));
    // Of any approver: which one opened it is not asked.
    world.refuse(&main.transfer_granted(payment(100), ID), PurserError::GrantMismatch);
    let instructions = approval(&world, ID + 2, one());
    refuse(&mut world, &instructions, 1, PurserError::GrantTooEarly);
    world.set_clock(NOON + 1);
    approve(&mut world, ID + 2, GrantTerms { amount: 50, ..one() });
    world.accept(&main.transfer_granted(payment(50), ID + 2));
    world.accept(&main.transfer_granted(Payment { tag: TAG + 1, ..payment(60) }, ID + 1));
    // Removed, it opens nothing; made anew, its old grants stay void.
    approve(&mut world, ID + 3, GrantTerms { amount: 1, tag: Some(TAG + 2), ..one() });
    world.accept(&main.remove_approver(PERSON));
    let instructions = approval(&world, ID + 4, one());
    refuse(&mut world, &instructions, 1, PurserError::Unauthorized);
    world.accept(&main.set_approver(PERSON, 100, 150));
    let call = main.transfer_granted(Payment { tag: TAG + 2, ..payment(1) }, ID + 3);
    world.refuse(&call, PurserError::GrantMismatch);
}

#[test]
fn lamports_sent_ahead_do_not_keep_an_approver_or_a_grant_from_being_made() {
    let mut world = world();
    let main = world.main;
    let empty = |lamports| solana_account::Account { lamports, ..solana_account::Account::default() };
    world.put(main.grant(ID), empty(1_000_000));
    world.put(main.approver(Who::Payer), empty(100_000_000));
    approve(&mut world, ID, one());
    world.accept(&main.set_approver(Who::Payer, 1, 1));
    let address: Pubkey = main.grant(ID);
    assert_eq!(world.lamports(&address), world.rent(purser::state::Grant::BYTES));
}
