//! Payments are numbered: a missing number is a payment that somebody was not shown.

use anchor_lang::{AnchorDeserialize, Discriminator};
use purser::error::PurserError;
use purser::events::TransferExecuted;
use purser::state::Agent;
use purser::{PolicyArgs, Rules};
use purser_policy::TAG_SECONDS;

use crate::support::{
    open_policy, Call, Payment, Place, Random, Who, World, AGENT_ID, BALANCE, DAY, NOON, PAYEE,
};

/// A payment of the agent, or anything that may come between two of them.
fn step(world: &World, place: Place, random: &mut Random, tag: u64) -> Call {
    let payment = Payment { tag, amount: 1 + random.below(90), ..Payment::default() };
    match random.below(16) {
        0 => place.transfer(Payment { tag: tag.saturating_sub(1 + random.below(3)), ..payment }),
        1 => place.transfer(Payment { amount: 1 + random.below(2 * BALANCE), ..payment }),
        2 => place.transfer(Payment { amount: 0, ..payment }),
        3 => place.transfer(payment).signed_by(Who::Stranger),
        4 => place.transfer(Payment { memo: "m", ..payment }),
        5 => place.transfer(Payment { to: world.cast.get("other_mint_account"), ..payment }),
        6 => place.set_paused(random.below(4) == 0),
        7 => match random.below(4) {
            0 => place.halt(),
            _ => place.resume(),
        },
        8 => place.withdraw(1, PAYEE),
        9 => {
            let limit = [None, Some(80)][random.below(2) as usize];
            place.set_policy(
                1 + random.below(9) as u32,
                PolicyArgs { rules: Rules { max_single_transfer: limit, ..Rules::OPEN }, ..open_policy() },
            )
        }
        _ => place.transfer(payment),
    }
}

fn numbers(events: &[Vec<u8>]) -> Vec<TransferExecuted> {
    let payments = events.iter().filter_map(|event| event.strip_prefix(TransferExecuted::DISCRIMINATOR));
    payments.map(|fields| TransferExecuted::try_from_slice(fields).expect("a transfer")).collect()
}

#[test]
fn each_agents_payments_are_numbered_from_one_without_a_gap() {
    for seed in 1..=4 {
        let mut random = Random(seed);
        let mut world = World::new();
        let places = [world.main, world.sibling, world.twin];
        for place in places {
            world.accept(&place.set_tag_buckets(32));
        }
        let mut paid = [0; 3];
        let mut refused = 0;
        for tag in 1..=300 {
            let which = random.below(3) as usize;
            let call = step(&world, places[which], &mut random, tag);
            // Several in one transaction are numbered in order; if one is refused, none counts.
            let mut instructions = vec![call.instruction()];
            if random.below(8) == 0 {
                let more = Payment { tag: 10_000 + tag, amount: 1, ..Payment::default() };
                instructions.push(places[which].transfer(more).instruction());
            }
            world.set_clock(NOON + random.below(3 * DAY as u64) as i64);
            match world.send(&instructions, Who::FeePayer) {
                Err(_) => refused += 1,
                Ok(outcome) => {
                    for payment in numbers(&outcome.events) {
                        paid[which] += 1;
                        assert_eq!((payment.agent, payment.number), (places[which].agent, paid[which]));
                    }
                }
            }
        }
        assert!(
            refused > 50 && paid.iter().all(|count| *count > 4),
            "seed {seed}: {paid:?}, {refused} refused"
        );
    }
}

#[test]
fn agent_created_anew_counts_from_one_and_the_old_count_was_logged() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment { amount: BALANCE, ..Payment::default() }));
    world.set_clock(NOON + TAG_SECONDS);
    world.accept(&main.close_agent());
    world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
    world.fund(main.source, BALANCE);
    let outcome = world.accept(&main.transfer(Payment::default()));
    assert_eq!(numbers(&outcome.events)[0].number, 1);
}

#[test]
fn an_account_that_has_counted_to_the_end_pays_no_more_and_its_number_does_not_begin_again() {
    let at = Agent::BYTES - 8;
    for (payments, expected) in [(u64::MAX - 1, Ok(u64::MAX)), (u64::MAX, Err(PurserError::UnknownLayout))] {
        let mut world = World::new();
        let main = world.main;
        world.edit(main.agent, |account| account.data[at..at + 8].copy_from_slice(&payments.to_le_bytes()));
        assert_eq!(world.agent().payments, payments);
        let calls = [
            main.transfer(Payment::default()),
            main.transfer(Payment::default()).checked(),
            main.transfer_extended(Payment::default(), None),
        ];
        for call in calls {
            let mut world = world.clone();
            match expected {
                Ok(number) => {
                    world.accept(&call);
                    assert_eq!(world.agent().payments, number);
                }
                Err(error) => {
                    world.refuse(&call, error);
                }
            }
        }
    }
}
