use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::{AllowlistRecord, PolicySet};
use purser::state::Agent;
use purser::{AllowlistArg, PolicyArgs};
use purser_policy::{Allowlist, Limit, Policy, UsdcAmount};

use crate::support::{
    agent, attack, draft, operator, program, signer, Call, Payment, Who, World, DAY, NOON, PAYEE, PAYEE_OWNER,
};

fn keys(count: u8) -> Vec<Pubkey> {
    (1..=count).map(|first| Pubkey::new_from_array([first; 32])).collect()
}

fn limit(micros: Option<u64>) -> Limit {
    micros.map_or(Limit::Unlimited, |micros| Limit::AtMost(UsdcAmount::from_micros(micros)))
}

fn full() -> PolicyArgs {
    PolicyArgs {
        max_single_transfer: Some(7),
        max_daily_spend: Some(8),
        require_memo: true,
        paused: true,
        allowlist: AllowlistArg::Only(keys(3)),
    }
}

/// Sets `args` and checks the account and the event.
#[track_caller]
fn set(world: &mut World, args: &PolicyArgs, who: Who) {
    let main = world.main;
    let before = world.agent();
    let outcome = world.accept(&main.set_policy(args.clone(), None).signed_by(who));
    let view = world.agent_view();
    let (entries, record) = match &args.allowlist {
        AllowlistArg::Only(keys) => (keys.clone(), AllowlistRecord::Only(keys.clone())),
        AllowlistArg::Anyone | AllowlistArg::Draft => (vec![], AllowlistRecord::Anyone),
    };
    let addresses: Vec<_> = entries.iter().map(Pubkey::to_bytes).collect();
    let expected = Policy {
        max_single_transfer: limit(args.max_single_transfer),
        max_daily_spend: limit(args.max_daily_spend),
        require_memo: args.require_memo,
        paused: args.paused,
        allowlist: match args.allowlist {
            AllowlistArg::Anyone => Allowlist::Anyone,
            AllowlistArg::Only(_) | AllowlistArg::Draft => Allowlist::Only(&addresses),
        },
    };
    assert_eq!(view.policy(), expected);
    // Whatever is not policy stays.
    let rest = Agent {
        flags: view.agent.flags,
        max_single_transfer: args.max_single_transfer.unwrap_or(0),
        max_daily_spend: args.max_daily_spend.unwrap_or(0),
        policy_version: before.policy_version + 1,
        policy_updated_at: NOON,
        ..before
    };
    assert_eq!(view.agent, rest);
    let account = world.account(&main.agent);
    assert_eq!(account.data.len(), Agent::BYTES + 32 * entries.len());
    assert_eq!(account.lamports, world.rent(account.data.len()));
    outcome.emitted(PolicySet {
        operator: main.operator,
        agent: main.agent,
        policy_version: rest.policy_version,
        max_single_transfer: args.max_single_transfer,
        max_daily_spend: args.max_daily_spend,
        require_memo: args.require_memo,
        paused: args.paused,
        allowlist: record,
        signer: who.key(),
    });
}

#[test]
fn each_policy_replaces_the_one_before_as_a_whole() {
    let mut world = World::new();
    let open = World::open_policy();
    for args in [
        full(),
        open.clone(),
        PolicyArgs { max_single_transfer: Some(0), ..open.clone() },
        PolicyArgs { max_single_transfer: Some(u64::MAX), max_daily_spend: Some(0), ..open.clone() },
        PolicyArgs { max_daily_spend: Some(u64::MAX), ..open.clone() },
        PolicyArgs { max_single_transfer: Some(9), max_daily_spend: Some(1), ..open.clone() },
        PolicyArgs { require_memo: true, ..open.clone() },
        PolicyArgs { paused: true, ..open.clone() },
        PolicyArgs { allowlist: AllowlistArg::Only(vec![]), ..open.clone() },
        PolicyArgs { allowlist: AllowlistArg::Only(keys(20)), ..open.clone() },
        PolicyArgs { allowlist: AllowlistArg::Only(keys(1)), ..open.clone() },
        PolicyArgs { allowlist: AllowlistArg::Only(vec![Pubkey::default()]), ..open.clone() },
        open,
    ] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            set(&mut world, &args, who);
        }
    }
}

#[test]
fn a_policy_leaves_what_was_spent_and_the_tags_as_they_are() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment { amount: 60, tag: 5, ..Payment::default() }));
    set(&mut world, &PolicyArgs { max_daily_spend: Some(100), ..World::open_policy() }, Who::PolicyAuthority);
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
    for who in Who::ALL.into_iter().filter(|who| ![Who::PolicyAuthority, Who::Admin].contains(who)) {
        let call = world.main.set_policy(full(), None).signed_by(who);
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
        let args = PolicyArgs { allowlist: AllowlistArg::Only(list), ..World::open_policy() };
        let call = world.main.set_policy(args, None);
        world.refuse(&call, PurserError::AllowlistNotSorted);
    }
    let ordered = vec![last_byte(1), last_byte(2), Pubkey::new_from_array([0x80; 32])];
    set(&mut world, &PolicyArgs { allowlist: AllowlistArg::Only(ordered), ..full() }, Who::PolicyAuthority);
}

#[test]
fn growing_costs_the_signer_the_rent_and_shrinking_pays_it_back() {
    let mut world = World::new();
    let main = world.main;
    let of = |count| PolicyArgs { allowlist: AllowlistArg::Only(keys(count)), ..World::open_policy() };
    let entry = world.rent(32) - world.rent(0);
    for (from, to) in [(0u8, 5u8), (5, 20), (20, 20), (20, 1), (1, 0)] {
        let before = world.lamports(&Who::PolicyAuthority.key());
        world.accept(&main.set_policy(of(to), None));
        let after = world.lamports(&Who::PolicyAuthority.key());
        let moved = i128::from(before) - i128::from(after);
        assert_eq!(moved, (i128::from(to) - i128::from(from)) * i128::from(entry), "{from} to {to}");
    }
}

#[test]
fn a_signer_without_lamports_cannot_grow_an_allowlist_and_nothing_changes() {
    let mut world = World::new();
    let min = world.rent(0);
    world.edit(Who::PolicyAuthority.key(), |account| account.lamports = min);
    let args = PolicyArgs { allowlist: AllowlistArg::Only(keys(10)), ..full() };
    let call = world.main.set_policy(args, None);
    world.refuse(&call, crate::support::Expected::TOO_FEW_LAMPORTS);
}

#[test]
fn lamports_given_to_an_agent_pay_for_its_growth_and_stay_while_it_does_not_shrink() {
    let mut world = World::new();
    let main = world.main;
    let gift = 50_000_000;
    world.edit(main.agent, |account| account.lamports += gift);
    let before = world.lamports(&Who::PolicyAuthority.key());
    let had = world.lamports(&main.agent);
    world.accept(&main.set_policy(full(), None));
    world.accept(&main.set_policy(full(), None));
    assert_eq!(world.lamports(&main.agent), had);
    assert_eq!(world.lamports(&Who::PolicyAuthority.key()), before);
}

#[test]
fn the_time_of_the_policy_is_the_clock_s() {
    for now in [i64::MIN, -1, 0, i64::MAX] {
        let mut world = World::new();
        world.set_clock(now);
        world.policy(|policy| policy.require_memo = true);
        assert_eq!(world.agent().policy_updated_at, now);
    }
}

#[test]
fn a_policy_applies_to_the_next_transfer() {
    let mut world = World::new();
    let main = world.main;
    let pay = |tag| main.transfer(Payment { tag, ..Payment::default() });
    world.accept(&pay(1));
    world.policy(|policy| policy.allowlist = AllowlistArg::Only(vec![]));
    world.refuse(&pay(2), PurserError::RecipientNotAllowed);
    for entry in [PAYEE, PAYEE_OWNER] {
        world.policy(|policy| policy.allowlist = AllowlistArg::Only(vec![entry]));
        world.set_clock(NOON + DAY);
        world.clone().accept(&pay(2));
    }
}

#[test]
fn a_draft_that_is_not_there_cannot_be_named_and_one_that_is_cannot_be_ignored() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.open_draft(0));
    let of = |allowlist| PolicyArgs { allowlist, ..World::open_policy() };
    world.refuse(&main.set_policy(of(AllowlistArg::Draft), None), PurserError::DraftMismatch);
    for allowlist in [AllowlistArg::Anyone, AllowlistArg::Only(vec![])] {
        world.refuse(&main.set_policy(of(allowlist), Some(main.draft)), PurserError::DraftMismatch);
    }
}

#[test]
fn short_or_unknown_instruction_data_is_refused_and_trailing_bytes_do_nothing() {
    let mut world = World::new();
    let call = world.main.set_policy(full(), None);
    for bytes in 8..call.data.len() {
        let short = Call { data: call.data[..bytes].to_vec(), ..call.clone() };
        world.refuse_as(&format!("{bytes} bytes"), &short, ErrorCode::InstructionDidNotDeserialize);
    }
    let mut unknown = world.main.set_policy(World::open_policy(), None);
    *unknown.data.last_mut().expect("the kind of allowlist") = 3;
    world.refuse(&unknown, ErrorCode::InstructionDidNotDeserialize);
    let mut long = call;
    long.data.extend([0xff; 32]);
    world.accept(&long);
    let allowed: Vec<_> = keys(3).iter().map(Pubkey::to_bytes).collect();
    assert_eq!(world.agent_view().policy().allowlist, Allowlist::Only(&allowed));
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.set_policy(full(), None),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).accepts(&["sibling_agent"]),
            // No draft was named, so even a good one is one too many; whether it may be written is asked first.
            draft(ErrorCode::ConstraintMut),
            program("system_program"),
        ],
    );
}
