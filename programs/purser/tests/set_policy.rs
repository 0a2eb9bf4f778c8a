use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::PolicySet;
use purser::state::Agent;
use purser::{PolicyArgs, Rules};

use crate::support::{
    address, agent, all_rules, any_signer, assert_policy, attack, entries, keys, only, open_policy, operator,
    program, record, signer, Call, Expected, Payment, Who, World, DAY, NOON, PAYEE, PAYEE_OWNER,
};

const PAYER: usize = 1;

fn full() -> PolicyArgs {
    PolicyArgs { rules: Rules { paused: true, ..all_rules() }, allowlist: only(&keys(3), &keys(2)) }
}

/// Sets `args` and checks the account and the event.
#[track_caller]
fn set(world: &mut World, args: &PolicyArgs, who: Who) {
    let main = world.main;
    let before = world.agent();
    let outcome = world.accept(&main.set_policy(before.policy_version, args.clone()).signed_by(who));
    let view = world.agent_view();
    assert_policy(view.policy(), args);
    // Everything else stays the same.
    let rest = Agent {
        policy: view.agent.policy,
        policy_version: before.policy_version + 1,
        policy_updated_at: NOON as u32,
        ..before
    };
    assert_eq!(view.agent, rest);
    let account = world.account(&main.agent);
    let (wallets, token_accounts) = entries(&args.allowlist);
    assert_eq!(account.data.len(), Agent::BYTES + 192 + 32 * (wallets.len() + token_accounts.len()));
    assert_eq!(account.lamports, world.rent(account.data.len()));
    outcome.emitted(PolicySet {
        operator: main.operator,
        agent: main.agent,
        policy_version: rest.policy_version,
        policy: record(args),
        signer: who.key(),
    });
}

#[test]
fn every_field_is_set_by_its_name_and_the_whole_policy_is_replaced() {
    let mut world = World::new();
    let open = open_policy();
    let list = |allowlist| PolicyArgs { allowlist, ..open_policy() };
    for args in [
        full(),
        open.clone(),
        PolicyArgs { rules: Rules { max_single_transfer: Some(0), ..Rules::OPEN }, ..open.clone() },
        PolicyArgs {
            rules: Rules { max_single_transfer: Some(u64::MAX), max_daily_spend: Some(0), ..Rules::OPEN },
            ..open.clone()
        },
        PolicyArgs { rules: Rules { max_daily_spend: Some(u64::MAX), ..Rules::OPEN }, ..open.clone() },
        PolicyArgs {
            rules: Rules { max_single_transfer: Some(9), max_daily_spend: Some(1), ..Rules::OPEN },
            ..open.clone()
        },
        PolicyArgs { rules: Rules { require_memo: true, ..Rules::OPEN }, ..open.clone() },
        PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open.clone() },
        list(only(&[], &[])),
        list(only(&keys(17), &[])),
        list(only(&[], &keys(17))),
        list(only(&keys(8), &keys(9))),
        list(only(&keys(1), &[])),
        list(only(&[Pubkey::default()], &[Pubkey::default()])),
        open,
    ] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            set(&mut world, &args, who);
        }
    }
}

#[test]
fn a_policy_written_against_another_version_is_refused() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_policy(1, full()));
    assert_eq!(world.version(), 2);
    for version in [0, 1, 3, u32::MAX] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let call = main.set_policy(version, open_policy()).signed_by(who);
            world.refuse_as(&format!("{version}"), &call, PurserError::PolicyChanged);
        }
    }
    // Of two changes that were written against the same version, the second is refused.
    world.accept(&main.set_policy(2, open_policy()));
    world.refuse(&main.set_policy(2, full()), PurserError::PolicyChanged);
    // A pause counts as a change.
    world.accept(&main.set_paused(true));
    world.refuse(&main.set_policy(3, full()), PurserError::PolicyChanged);
    world.accept(&main.set_policy(4, full()));
}

#[test]
fn a_policy_leaves_what_was_spent_and_the_tags_as_they_are() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment { amount: 60, tag: 5, ..Payment::default() }));
    set(
        &mut world,
        &PolicyArgs { rules: Rules { max_daily_spend: Some(100), ..Rules::OPEN }, ..open_policy() },
        Who::PolicyAuthority,
    );
    world.refuse(
        &main.transfer(Payment { amount: 40, tag: 5, ..Payment::default() }),
        PurserError::DuplicateTransfer,
    );
    world.refuse(
        &main.transfer(Payment { amount: 41, tag: 6, ..Payment::default() }),
        PurserError::DailyLimitExceeded,
    );
    world.accept(&main.transfer(Payment { amount: 40, tag: 6, ..Payment::default() }));
}

#[test]
fn nobody_else_sets_a_policy() {
    let mut world = World::new();
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        let call = world.main.set_policy(1, full()).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn an_allowlist_out_of_order_or_with_an_entry_twice_changes_nothing() {
    let mut world = World::new();
    set(&mut world, &full(), Who::PolicyAuthority);
    let last_byte = |last: u8| {
        let mut bytes = [3; 32];
        bytes[31] = last;
        Pubkey::new_from_array(bytes)
    };
    let [one, two] = [Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32])];
    for list in [
        vec![two, one],
        vec![one, one],
        vec![one, two, two],
        vec![one, two, one],
        vec![last_byte(2), last_byte(1)],
        vec![Pubkey::new_from_array([0x80; 32]), Pubkey::new_from_array([0x7f; 32])],
    ] {
        for allowlist in [only(&list, &[]), only(&[], &list), only(&[one], &list), only(&list, &[two])] {
            let call = world.main.set_policy(2, PolicyArgs { allowlist, ..open_policy() });
            world.refuse(&call, PurserError::AllowlistNotSorted);
        }
    }
    let ordered = [last_byte(1), last_byte(2), Pubkey::new_from_array([0x80; 32])];
    // An address may be in both lists, and each list is sorted on its own.
    let allowlist = only(&ordered, &ordered[..2]);
    set(&mut world, &PolicyArgs { allowlist, ..full() }, Who::PolicyAuthority);
}

#[test]
fn growing_costs_the_payer_and_shrinking_pays_back_whoever_paid_for_the_agent() {
    let mut world = World::new();
    let main = world.main;
    let of = |count| PolicyArgs { allowlist: only(&keys(count), &[]), ..open_policy() };
    let entry = world.rent(32) - world.rent(0);
    // The payer of the growth is not the one that paid for the agent.
    let payer = Who::Stranger;
    for (from, to) in [(0u8, 5u8), (5, 17), (17, 17), (17, 1), (1, 0)] {
        let before = [Who::PolicyAuthority, payer, Who::Payer].map(|who| world.lamports(&who.key()));
        let call = main.set_policy(world.version(), of(to)).with(PAYER, payer.key());
        world.accept(&call);
        let after = [Who::PolicyAuthority, payer, Who::Payer].map(|who| world.lamports(&who.key()));
        let grown = u64::from(to.saturating_sub(from)) * entry;
        let shrunk = u64::from(from.saturating_sub(to)) * entry;
        assert_eq!(after, [before[0], before[1] - grown, before[2] + shrunk], "{from} to {to}");
    }
}

#[test]
fn a_payer_without_lamports_cannot_grow_an_allowlist_and_nothing_changes() {
    let mut world = World::new();
    let min = world.rent(0);
    world.edit(Who::Payer.key(), |account| account.lamports = min);
    let args = PolicyArgs { allowlist: only(&keys(10), &[]), ..full() };
    let call = world.main.set_policy(1, args);
    world.refuse(&call, Expected::TOO_FEW_LAMPORTS);
}

#[test]
fn a_list_can_be_cut_although_whoever_paid_for_the_agent_has_nothing_left() {
    let mut world = World::new();
    let main = world.main;
    let of = |count| PolicyArgs { allowlist: only(&keys(count), &[]), ..open_policy() };
    world.accept(&main.set_policy(1, of(2)));
    // With no more lamports than one entry returns, the payer's account would not be rent-exempt.
    world.edit(Who::Payer.key(), |account| account.lamports = 0);
    let had = world.lamports(&main.agent);
    world.accept(&main.set_policy(2, of(1)).with(PAYER, Who::Stranger.key()));
    assert_policy(world.agent_view().policy(), &of(1));
    // The lamports are not lost: they pay for the next growth, or return when the agent is closed.
    assert_eq!((world.lamports(&main.agent), world.lamports(&Who::Payer.key())), (had, 0));
    world.accept(&main.close_agent());
    assert!(world.lamports(&Who::Payer.key()) > had);
}

#[test]
fn lamports_given_to_an_agent_pay_for_its_growth_and_stay_while_it_does_not_shrink() {
    let mut world = World::new();
    let main = world.main;
    let gift = 50_000_000;
    world.edit(main.agent, |account| account.lamports += gift);
    let before = world.lamports(&Who::Payer.key());
    let had = world.lamports(&main.agent);
    world.accept(&main.set_policy(1, full()));
    world.accept(&main.set_policy(2, full()));
    assert_eq!(world.lamports(&main.agent), had);
    assert_eq!(world.lamports(&Who::Payer.key()), before);
}

#[test]
fn the_time_of_the_policy_is_the_clock_s() {
    // In the 32 bits in which all seconds are kept.
    for (now, kept) in [(i64::MIN, 0), (-1, 0), (0, 0), (NOON, NOON as u32), (i64::MAX, u32::MAX)] {
        let mut world = World::new();
        world.set_clock(now);
        world.policy(|policy| policy.rules.require_memo = true);
        assert_eq!(world.agent().policy_updated_at, kept);
    }
}

#[test]
fn a_policy_applies_to_the_next_transfer() {
    let mut world = World::new();
    let main = world.main;
    let pay = |tag| main.transfer(Payment { tag, ..Payment::default() });
    world.accept(&pay(1));
    world.policy(|policy| policy.allowlist = only(&[], &[]));
    world.refuse(&pay(2), PurserError::RecipientNotAllowed);
    for allowlist in [only(&[], &[PAYEE]), only(&[PAYEE_OWNER], &[])] {
        world.policy(|policy| policy.allowlist = allowlist);
        world.set_clock(NOON + DAY);
        world.clone().accept(&pay(2));
    }
}

#[test]
fn short_or_unknown_instruction_data_is_refused_and_trailing_bytes_do_nothing() {
    let mut world = World::new();
    let call = world.main.set_policy(1, full());
    for bytes in 8..call.data.len() {
        let short = Call { data: call.data[..bytes].to_vec(), ..call.clone() };
        world.refuse_as(&format!("{bytes} bytes"), &short, ErrorCode::InstructionDidNotDeserialize);
    }
    let mut unknown = world.main.set_policy(1, open_policy());
    for kind in [2, 3, 0xff] {
        *unknown.data.last_mut().expect("the kind of allowlist") = kind;
        world.refuse(&unknown, ErrorCode::InstructionDidNotDeserialize);
    }
    let mut long = call;
    long.data.extend([0xff; 32]);
    world.accept(&long);
    assert_policy(world.agent_view().policy(), &full());
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.set_policy(1, full()).with(PAYER, Who::Stranger.key()),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            any_signer("payer"),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(PurserError::WrongOperator).accepts(&["sibling_agent"]),
            address("rent_refund", PurserError::WrongRentRefund),
            program("system_program"),
        ],
    );
}
