//! Leave to pay beyond the policy: what it passes and what it never passes, who opens it and who takes it back.

use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use anchor_spl::token;
use purser::error::PurserError;
use purser::events::{GrantClosed, GrantOpened, GrantUsed, GrantsVoided};
use purser::state::{ClosedAgent, Grant};
use purser::{GrantPayee, GrantTerms, OpenedBy, PolicyArgs, Rules};
use solana_instruction_error::InstructionError;

use crate::support::{
    address, agent, any_signer, approver, attack, ignored, keys, only, open_policy, operator, program, raw,
    signer, terms, token_account, Expected, Payment, TokenAccountState, Who, World, AGENT_ID, BALANCE, DAY,
    MINT, NOON, PAYEE, PAYEE_OWNER, WALLETS,
};

const ID: u64 = 7;
/// The tag of the payments here.
const TAG: u64 = 50;

/// Nobody is listed, at most 5 at once, and at most 10 a day.
fn tight() -> PolicyArgs {
    PolicyArgs {
        rules: Rules { max_single_transfer: Some(5), max_daily_spend: Some(10), ..Rules::OPEN },
        allowlist: only(&keys(1), &[]),
    }
}

fn payment<'a>(tag: u64, amount: u64) -> Payment<'a> {
    Payment { tag, amount, ..Payment::default() }
}

/// A tight policy, and a grant with these terms.
fn granted(terms: GrantTerms) -> World {
    let mut world = World::new();
    world.policy(|policy| *policy = tight());
    world.accept(&world.main.open_grant(ID, terms));
    world
}

#[track_caller]
fn grant(world: &World) -> Grant {
    Grant::read(&world.account(&world.main.grant(ID)).data).expect("a grant")
}

#[test]
fn a_grant_pays_its_payee_beyond_list_and_limits_until_it_is_spent() {
    let mut world = granted(terms());
    let main = world.main;
    world.refuse(&main.transfer(payment(TAG, 1)), PurserError::RecipientNotAllowed);
    for (tag, amount, left) in [(TAG, 60, 40), (TAG + 1, 40, 0)] {
        let outcome = world.accept(&main.transfer_granted(payment(tag, amount), ID));
        let number = world.agent().payments;
        let used = GrantUsed { agent: main.agent, number, grant: main.grant(ID), left };
        assert_eq!(outcome.events.len(), 2);
        assert_eq!(outcome.events[1], used.data());
        assert_eq!((grant(&world).left, world.balance(&PAYEE)), (left, 100 - left));
    }
    assert_eq!(world.agent().window().spent(NOON).micros(), 100);
    world.refuse(&main.transfer_granted(payment(TAG + 2, 1), ID), PurserError::GrantExceeded);
    // What a grant let through counts: nothing is left of the day for anybody else.
    world.policy(|policy| *policy = PolicyArgs { allowlist: only(&[PAYEE_OWNER], &[]), ..tight() });
    world.refuse(&main.transfer(payment(TAG + 3, 1)), PurserError::DailyLimitExceeded);
}

#[test]
fn each_rule_is_waived_by_its_own_flag_alone() {
    let flags = |bits: u8| GrantTerms {
        beyond_allowlist: bits & 1 != 0,
        beyond_single_limit: bits & 2 != 0,
        beyond_daily_limit: bits & 4 != 0,
        ..terms()
    };
    for bits in 0..8 {
        let mut world = granted(flags(bits));
        let call = world.main.transfer_granted(payment(TAG, 11), ID);
        let refusals = [
            PurserError::RecipientNotAllowed,
            PurserError::SingleLimitExceeded,
            PurserError::DailyLimitExceeded,
        ];
        match (0..3).find(|bit| bits & (1 << bit) == 0) {
            Some(first) => world.refuse_as(&format!("{bits:03b}"), &call, refusals[first]),
            None => drop(world.accept(&call)),
        }
    }
}

#[test]
fn no_grant_passes_a_pause_a_halt_a_missing_memo_or_a_repeated_tag() {
    let world = granted(terms());
    let main = world.main;
    let call = main.transfer_granted(payment(TAG, 1), ID);
    let mut halted = world.clone();
    halted.accept(&main.halt());
    halted.refuse(&call, PurserError::Halted);
    let mut halted = world.clone();
    halted.accept(&main.halt_operator());
    halted.refuse(&call, PurserError::Halted);
    let mut paused = world.clone();
    paused.accept(&main.set_paused(true));
    paused.refuse(&call, PurserError::Paused);
    let mut strict = world.clone();
    strict.policy(|policy| {
        *policy = PolicyArgs { rules: Rules { require_memo: true, ..tight().rules }, ..tight() }
    });
    strict.refuse(&call, PurserError::MemoRequired);
    strict.accept(&main.transfer_granted(Payment { memo: "m", ..payment(TAG, 1) }, ID));
    let mut again = world.clone();
    again.accept(&call);
    again.refuse(&call, PurserError::DuplicateTransfer);
    again.refuse(&main.transfer(payment(TAG, 1)), PurserError::DuplicateTransfer);
}

#[test]
fn a_grant_is_for_its_payee_in_its_kind() {
    let other = Pubkey::new_from_array([9; 32]);
    let account = token_account(token::ID, MINT, PAYEE_OWNER, 0, TokenAccountState::Initialized);
    let to_other = Payment { to: other, ..payment(TAG, 1) };
    let kinds = [GrantPayee::Wallet(PAYEE_OWNER), GrantPayee::TokenAccount(PAYEE)];
    for (payee, takes_other) in kinds.into_iter().zip([true, false]) {
        let mut world = granted(GrantTerms { payee, ..terms() });
        world.put(other, account.clone());
        world.accept(&world.main.transfer_granted(payment(TAG + 1, 1), ID));
        let call = world.main.transfer_granted(to_other, ID);
        match takes_other {
            true => drop(world.accept(&call)),
            false => world.refuse(&call, PurserError::GrantMismatch),
        }
    }
    // A key in the wrong kind is nobody.
    for payee in [GrantPayee::Wallet(PAYEE), GrantPayee::TokenAccount(PAYEE_OWNER)] {
        let mut world = granted(GrantTerms { payee, ..terms() });
        world.refuse(&world.main.transfer_granted(payment(TAG, 1), ID), PurserError::GrantMismatch);
    }
    // Somebody else's token account, even a listed one's.
    let mut world = granted(terms());
    let to = Payment { to: world.sibling.source, ..payment(TAG, 1) };
    world.refuse(&world.main.transfer_granted(to, ID), PurserError::GrantMismatch);
}

#[test]
fn a_grant_for_one_payment_pays_that_one_whole_and_once() {
    let mut world = granted(GrantTerms { tag: Some(TAG), ..terms() });
    let main = world.main;
    for wrong in [payment(TAG + 1, 100), payment(TAG, 99), payment(TAG, 101)] {
        world.refuse(&main.transfer_granted(wrong, ID), PurserError::GrantMismatch);
    }
    world.accept(&main.transfer_granted(payment(TAG, 100), ID));
    assert_eq!(grant(&world).left, 0);
    // Nor when the tag is forgotten.
    world.set_clock(NOON + DAY - 1);
    world.refuse(&main.transfer_granted(payment(TAG, 100), ID), PurserError::DuplicateTransfer);
    world.set_clock(NOON + 2 * DAY);
    world.refuse(&main.transfer_granted(payment(TAG, 100), ID), PurserError::GrantMismatch);
}

#[test]
fn a_grant_ends_at_its_second_and_no_clock_that_is_behind_opens_it_again() {
    let mut world = granted(GrantTerms { expires_at: NOON + 100, ..terms() });
    let main = world.main;
    world.set_clock(NOON + 99);
    world.accept(&main.transfer_granted(payment(TAG, 1), ID));
    world.set_clock(NOON + 100);
    world.refuse(&main.transfer_granted(payment(TAG + 1, 1), ID), PurserError::GrantExpired);
    world.policy(|policy| *policy = open_policy());
    world.accept(&main.transfer(payment(TAG + 2, 1)));
    world.set_clock(NOON + 50);
    world.refuse(&main.transfer_granted(payment(TAG + 1, 1), ID), PurserError::GrantExpired);
}

#[test]
fn a_grant_for_a_version_of_the_policy_ends_with_it() {
    let mut world = World::new();
    world.policy(|policy| *policy = tight());
    let main = world.main;
    let version = world.version();
    world.accept(&main.open_grant(ID, GrantTerms { policy_version: Some(version), ..terms() }));
    world.accept(&main.transfer_granted(payment(TAG, 1), ID));
    world.accept(&main.set_paused(true));
    world.accept(&main.set_paused(false).signed_by(Who::Admin));
    world.refuse(&main.transfer_granted(payment(TAG + 1, 1), ID), PurserError::GrantMismatch);
}

#[test]
fn the_admin_opens_any_grant_at_once_and_the_policy_authority_none_past_the_daily_limit() {
    let mut world = World::new();
    world.delay(3600);
    let main = world.main;
    let within = GrantTerms { beyond_daily_limit: false, ..terms() };
    for who in Who::everyone().filter(|who| *who != Who::Admin) {
        let call = main.open_grant(ID, terms()).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
        if who != Who::PolicyAuthority {
            let call = main.open_grant(ID, within).signed_by(who);
            world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
        }
    }
    let by =
        [(Who::Admin, OpenedBy::Admin, terms()), (Who::PolicyAuthority, OpenedBy::PolicyAuthority, within)];
    for (id, (who, opened_by, terms)) in (ID..).zip(by) {
        let outcome = world.accept(&main.open_grant(id, terms).signed_by(who));
        outcome.emitted(GrantOpened {
            operator: main.operator,
            agent: main.agent,
            grant: main.grant(id),
            id,
            terms,
            opened_by,
            signer: who.key(),
        });
    }
    world.refuse(&main.open_grant(ID, terms()), Expected::ALREADY_IN_USE);
}

/// A tight policy, a delay of an hour, and a grant of the policy authority with these terms.
fn waiting(terms: GrantTerms) -> World {
    let mut world = World::new();
    world.policy(|policy| *policy = tight());
    world.delay(3600);
    world.accept(&world.main.open_grant(ID, terms).signed_by(Who::PolicyAuthority));
    world
}

/// Past list and single limit.
fn two() -> GrantTerms {
    GrantTerms { beyond_daily_limit: false, ..terms() }
}

#[test]
fn a_grant_of_the_policy_authority_waits_for_the_longer_delay_of_then_and_now() {
    let main = World::new().main;
    let call = main.transfer_granted(payment(TAG, 6), ID);
    for (now, waits) in [(3600, 3600), (60, 3600), (0, 3600), (7200, 7200)] {
        let mut world = waiting(two());
        world.delay(now);
        world.set_clock(NOON + waits - 1);
        world.refuse_as(&format!("{now}"), &call, PurserError::LooseningMustWait);
        world.set_clock(NOON + waits);
        world.accept(&call);
    }
    // Opened while nothing had to wait: at once, and never any more once something has to.
    let mut world = World::new();
    world.policy(|policy| *policy = tight());
    world.accept(&main.open_grant(ID, two()).signed_by(Who::PolicyAuthority));
    world.accept(&call);
    world.delay(1);
    world.set_clock(NOON + DAY - 1);
    world.refuse(&main.transfer_granted(payment(TAG + 1, 6), ID), PurserError::LooseningMustWait);
}

#[test]
fn a_grant_of_the_policy_authority_that_waives_nothing_waits_only_where_grants_alone_pay() {
    let cap = GrantTerms { beyond_allowlist: false, beyond_single_limit: false, ..two() };
    let mut world = World::new();
    world.delay(3600);
    let main = world.main;
    world.accept(&main.open_grant(ID, cap).signed_by(Who::PolicyAuthority));
    world.accept(&main.transfer_granted(payment(TAG, 1), ID));
    // Opened ahead of the mark it gains nothing.
    world.accept(&main.set_bounds(true));
    world.refuse(&main.transfer_granted(payment(TAG + 1, 1), ID), PurserError::LooseningMustWait);
    world.accept(&main.open_grant(ID + 1, cap));
    world.accept(&main.transfer_granted(payment(TAG + 1, 1), ID + 1));
    world.set_clock(NOON + 3600);
    world.accept(&main.transfer_granted(payment(TAG + 2, 1), ID));
}

#[test]
fn in_a_halt_the_admin_alone_opens_grants() {
    for halts in [|world: &World| world.main.halt(), |world: &World| world.main.halt_operator()] {
        let mut world = World::new();
        let main = world.main;
        world.accept(&halts(&world));
        world.refuse(&main.open_grant(ID, two()).signed_by(Who::PolicyAuthority), PurserError::Halted);
        world.accept(&main.open_grant(ID, two()));
        world.refuse(&main.transfer_granted(payment(TAG, 1), ID), PurserError::Halted);
    }
    // What waits through a halt can be taken back in it.
    let mut world = waiting(two());
    let main = world.main;
    world.accept(&main.halt());
    world.set_clock(NOON + 3600);
    world.accept(&main.close_grant(ID));
    world.accept(&main.resume());
    world.refuse(&main.transfer_granted(payment(TAG, 1), ID), PurserError::UnknownLayout);
}

#[test]
fn a_grant_for_a_memo_pays_with_that_memo_alone() {
    let memo_hash = Some(solana_sha256_hasher::hash(b"invoice 7").to_bytes());
    let mut world = granted(GrantTerms { memo_hash, ..terms() });
    let main = world.main;
    for memo in ["", "invoice 8", "invoice 7 "] {
        let call = main.transfer_granted(Payment { memo, ..payment(TAG, 1) }, ID);
        world.refuse_as(memo, &call, PurserError::GrantMismatch);
    }
    world.accept(&main.transfer_granted(Payment { memo: "invoice 7", ..payment(TAG, 1) }, ID));
    // The hash of no memo stands for no memo.
    let memo_hash = Some(solana_sha256_hasher::hash(b"").to_bytes());
    let mut world = granted(GrantTerms { memo_hash, ..terms() });
    world.refuse(
        &main.transfer_granted(Payment { memo: "m", ..payment(TAG, 1) }, ID),
        PurserError::GrantMismatch,
    );
    world.accept(&main.transfer_granted(payment(TAG, 1), ID));
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    let mut world = World::new();
    let month = 30 * DAY;
    let wrong = [
        GrantTerms { amount: 0, ..terms() },
        GrantTerms { expires_at: NOON, ..terms() },
        GrantTerms { expires_at: i64::MIN, ..terms() },
        GrantTerms { expires_at: NOON + month + 1, ..terms() },
        GrantTerms { expires_at: i64::MAX, ..terms() },
        // Stored, they would stand for any payment and any version.
        GrantTerms { tag: Some(0), ..terms() },
        GrantTerms { policy_version: Some(0), ..terms() },
        GrantTerms { memo_hash: Some([0; 32]), ..terms() },
    ];
    for terms in wrong {
        world.refuse_as(
            &format!("{terms:?}"),
            &world.main.open_grant(ID, terms),
            PurserError::GrantTermsInvalid,
        );
    }
    world.accept(&world.main.open_grant(ID, GrantTerms { expires_at: NOON + month, ..terms() }));
}

#[test]
fn whoever_may_halt_takes_a_grant_back_and_anyone_closes_one_that_is_over() {
    let world = granted(terms());
    let main = world.main;
    for who in Who::everyone() {
        let mut world = world.clone();
        let call = main.close_grant(ID).signed_by(who);
        if [Who::Admin, Who::PolicyAuthority, Who::Guardian].contains(&who) {
            let (held, had) = (world.lamports(&main.grant(ID)), world.lamports(&Who::DraftPayer.key()));
            let outcome = world.accept(&call);
            outcome.emitted(GrantClosed {
                operator: main.operator,
                agent: main.agent,
                grant: main.grant(ID),
                left: 100,
                signer: who.key(),
            });
            assert_eq!(world.lamports(&Who::DraftPayer.key()), had + held);
            let late = main.transfer_granted(payment(TAG, 1), ID);
            world.refuse(&late, PurserError::UnknownLayout);
        } else {
            world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
        }
    }
    let by_anyone = main.close_grant(ID).signed_by(Who::Stranger);
    let mut spent = world.clone();
    spent.accept(&main.transfer_granted(payment(TAG, 100), ID));
    spent.accept(&by_anyone);
    let mut expired = world.clone();
    expired.set_clock(NOON + DAY - 1);
    expired.refuse(&by_anyone, PurserError::Unauthorized);
    expired.set_clock(NOON + DAY);
    expired.accept(&by_anyone);
    // A closed account keeps nobody's rent.
    let mut closed = world;
    closed.accept(&main.close_agent());
    closed.accept(&main.close_grant(ID));
}

#[test]
fn one_signature_voids_all_open_grants_and_later_ones_pay() {
    let world = granted(terms());
    let main = world.main;
    for who in Who::everyone() {
        let mut world = world.clone();
        world.accept(&main.open_grant(ID + 1, terms()));
        let call = main.void_grants().signed_by(who);
        if ![Who::Admin, Who::PolicyAuthority, Who::Guardian].contains(&who) {
            world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
            continue;
        }
        world.accept(&call).emitted(GrantsVoided {
            operator: main.operator,
            agent: main.agent,
            voided_at: NOON,
            signer: who.key(),
        });
        for id in [ID, ID + 1] {
            world.refuse(&main.transfer_granted(payment(TAG, 1), id), PurserError::GrantMismatch);
        }
        // Seconds tell them apart: one of the same second would never pay.
        world.refuse(&main.open_grant(ID + 2, terms()), PurserError::GrantTooEarly);
        world.set_clock(NOON + 1);
        world.accept(&main.open_grant(ID + 2, terms()));
        world.accept(&main.transfer_granted(payment(TAG, 1), ID + 2));
    }
}

#[test]
fn an_account_made_anew_has_none_of_the_grants_of_the_one_before() {
    let mut world = granted(terms());
    let main = world.main;
    world.accept(&main.void_grants());
    world.set_clock(NOON + 5);
    world.accept(&main.open_grant(ID + 1, terms()));
    // The clock may go back meanwhile.
    for (closed_at, second) in [(NOON + 5, NOON + 5), (NOON + 9, NOON + 9), (NOON, NOON + 9)] {
        world.set_clock(closed_at);
        world.accept(&main.close_agent());
        let left = ClosedAgent::read(&world.account(&main.agent).data).expect("a closed agent");
        assert_eq!(i64::from(left.second), second);
        world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
        world.fund(main.source, BALANCE);
        let agent = world.agent();
        assert_eq!((i64::from(agent.voided_at), agent.clock(0)), (second, second));
        for id in [ID, ID + 1] {
            world.refuse(&main.transfer_granted(payment(TAG, 1), id), PurserError::GrantMismatch);
        }
    }
}

#[test]
fn a_grant_of_another_agent_pays_nothing() {
    let mut world = granted(terms());
    let (main, sibling) = (world.main, world.sibling);
    world.accept(&sibling.open_grant(ID, terms()));
    let call = main.transfer_granted(payment(TAG, 1), ID).with(6, sibling.grant(ID));
    world.refuse(&call, PurserError::GrantMismatch);
    world.refuse(
        &sibling.open_grant(ID + 1, terms()).with(2, world.twin.operator),
        PurserError::WrongOperator,
    );
    world.refuse(&main.close_grant(ID).with(1, world.twin.operator), PurserError::WrongOperator);
    world.refuse(&main.close_grant(ID).with(3, Who::Stranger.key()), PurserError::WrongRentRefund);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = granted(terms());
    let main = world.main;
    attack(
        &world,
        &main.transfer_granted(payment(TAG, 1), ID),
        &[
            raw("transfer_authority", PurserError::Unauthorized),
            raw("operator", PurserError::UnknownLayout)
                .but(&["foreign_operator"], PurserError::Unauthorized)
                .but(&["twin_operator"], PurserError::WrongOperator),
            raw("agent", PurserError::UnknownLayout)
                .but(&["twin_agent", "foreign_agent"], PurserError::WrongOperator)
                .but(&["sibling_agent"], PurserError::WrongSource)
                .read_only(InstructionError::ReadonlyDataModified),
            raw("source", PurserError::WrongSource).read_only(InstructionError::PrivilegeEscalation),
            raw("destination", PurserError::RecipientNotTokenAccount)
                .but(&["source", "second_source"], PurserError::RecipientIsSource)
                .but(&["other_mint_account", "other_mint_frozen"], PurserError::RecipientWrongMint)
                .but(&["frozen"], PurserError::RecipientFrozen)
                .but(&["sibling_source", "twin_source", "foreign_source"], PurserError::GrantMismatch)
                .read_only(InstructionError::PrivilegeEscalation),
            raw("mint", Expected::MINT_MISMATCH),
            raw("grant", PurserError::UnknownLayout)
                .but(&["purser_program"], PurserError::RecipientNotAllowed)
                .read_only(InstructionError::ReadonlyDataModified),
            raw("budget", PurserError::BudgetMismatch),
            raw("token_program", InstructionError::MissingAccount),
        ],
    );
    attack(
        &world,
        // Named as the refund address too, the payer would be writable by that.
        &main.open_grant(ID + 1, terms()).with(5, Who::Stranger.key()),
        &[
            signer("authority", PurserError::Unauthorized),
            any_signer("payer"),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(ErrorCode::ConstraintSeeds).but(&["truncated_agent"], ErrorCode::ConstraintSeeds),
            address("grant", ErrorCode::ConstraintSeeds)
                .but(&["system_program", "purser_program", "clock"], ErrorCode::ConstraintSeeds),
            address("rent_refund", PurserError::WrongRentRefund).accepts(&WALLETS).accepts(&["draft"]),
            // None: the program's own address.
            approver("approver"),
            ignored("instructions"),
            program("system_program"),
        ],
    );
}

#[test]
fn what_a_grant_holds_too_much_goes_to_its_refund_address() {
    let mut world = granted(terms());
    let (grant, to) = (world.main.grant(ID), Who::DraftPayer.key());
    let had = world.lamports(&to);
    world.edit(grant, |account| account.lamports += 1_000);
    world.refuse(&world.main.reclaim_rent(grant, Who::Payer.key()), PurserError::WrongRentRefund);
    world.accept(&world.main.reclaim_rent(grant, to));
    assert_eq!((world.lamports(&to), world.lamports(&grant)), (had + 1_000, world.rent(Grant::BYTES)));
}
