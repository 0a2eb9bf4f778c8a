//! A payment happens once: the program remembers the tags of the last transfers.

use purser::error::PurserError;
use purser::state::Agent;
use purser_policy::RecentTags;

use crate::support::{Call, Payment, World, DAY, NOON, PAYEE};

const REMEMBERED: u64 = 16;

fn pay(world: &World, tag: u64) -> Call {
    world.main.transfer(Payment { tag, amount: 1, ..Payment::default() })
}

#[test]
fn a_tag_is_refused_for_24_hours_and_allowed_after() {
    let mut world = World::new();
    world.accept(&pay(&world, 9));
    for now in [NOON, NOON + 1, NOON + DAY - 1] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &pay(&world, 9), PurserError::DuplicateTransfer);
    }
    world.set_clock(NOON + DAY);
    world.accept(&pay(&world, 9));
    world.refuse(&pay(&world, 9), PurserError::DuplicateTransfer);
}

#[test]
fn each_tag_is_forgotten_at_its_own_second() {
    let mut world = World::new();
    world.accept(&pay(&world, 9));
    world.set_clock(NOON + 5);
    world.accept(&pay(&world, 10));
    world.set_clock(NOON + DAY - 1);
    world.refuse(&pay(&world, 9), PurserError::DuplicateTransfer);
    world.set_clock(NOON + DAY);
    world.accept(&pay(&world, 9));
    world.refuse(&pay(&world, 10), PurserError::DuplicateTransfer);
    world.set_clock(NOON + DAY + 5);
    world.accept(&pay(&world, 10));
}

#[test]
fn the_same_tag_is_refused_whatever_else_differs() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&pay(&world, 9));
    let first = Payment { tag: 9, amount: 1, ..Payment::default() };
    for other in [
        Payment { amount: 2, ..first },
        Payment { memo: "again", ..first },
        Payment { id_start: [8; 8], ..first },
        Payment { to: world.sibling.source, ..first },
    ] {
        world.refuse(&main.transfer(other), PurserError::DuplicateTransfer);
    }
}

#[test]
fn a_clock_that_goes_back_does_not_free_a_tag() {
    let mut world = World::new();
    world.accept(&pay(&world, 9));
    for now in [NOON - 1, NOON - DAY, NOON - 10 * DAY, 0, -1, i64::MIN] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &pay(&world, 9), PurserError::DuplicateTransfer);
    }
    // A transfer counts as made at the newest second, even if the clock went back.
    world.accept(&pay(&world, 10));
    world.set_clock(NOON + DAY - 1);
    world.refuse(&pay(&world, 10), PurserError::DuplicateTransfer);
    world.set_clock(NOON + DAY);
    world.accept(&pay(&world, 10));
}

#[test]
fn the_seventeenth_transfer_forgets_the_first_tag_and_no_other() {
    let mut world = World::new();
    for tag in 1..=REMEMBERED {
        world.set_clock(NOON + tag as i64);
        world.accept(&pay(&world, tag));
    }
    for tag in 1..=REMEMBERED {
        world.refuse_as(&format!("tag {tag}"), &pay(&world, tag), PurserError::DuplicateTransfer);
    }
    world.accept(&pay(&world, REMEMBERED + 1));
    for tag in 2..=REMEMBERED + 1 {
        world.refuse_as(&format!("tag {tag}"), &pay(&world, tag), PurserError::DuplicateTransfer);
    }
    world.accept(&pay(&world, 1));
    world.accept(&pay(&world, 2));
    world.refuse(&pay(&world, 4), PurserError::DuplicateTransfer);
    world.accept(&pay(&world, 3));
}

#[test]
fn a_transfer_is_refused_once_a_first_one_under_its_tag_could_be_forgotten() {
    let mut world = World::new();
    let signed_at = |world: &World, sequence: u32| {
        world.main.transfer(Payment { tag: 99, amount: 1, sequence, ..Payment::default() })
    };
    let sequence = world.agent().tags().sequence();
    for tag in 1..REMEMBERED {
        world.accept(&pay(&world, tag));
    }
    let one_less = world.clone().accept(&signed_at(&world, sequence));
    assert_eq!(one_less.events.len(), 1, "15 came in between");
    world.accept(&pay(&world, REMEMBERED));
    world.refuse(&signed_at(&world, sequence), PurserError::StaleSequence);
    // The answer is the same under any policy: the payment may have been made.
    world.policy(|policy| policy.paused = true);
    world.refuse(&signed_at(&world, sequence), PurserError::StaleSequence);
    world.policy(|_| {});
    // A sequence that the chain has not reached is refused, too.
    world.refuse(&signed_at(&world, sequence + REMEMBERED as u32 + 1), PurserError::StaleSequence);
    world.refuse(&signed_at(&world, sequence.wrapping_sub(1)), PurserError::StaleSequence);
    world.accept(&signed_at(&world, sequence + REMEMBERED as u32));
}

#[test]
fn no_late_copy_of_a_transfer_lands_however_many_came_in_between() {
    for between in 0..40 {
        let mut world = World::new();
        let copy = |world: &World, sequence: u32| {
            world.main.transfer(Payment { tag: 99, amount: 1, sequence, ..Payment::default() })
        };
        let late = copy(&world, world.agent().tags().sequence());
        world.accept(&copy(&world, world.agent().tags().sequence()));
        for tag in 1..=between {
            world.accept(&pay(&world, tag));
        }
        let expected = if between < 15 { PurserError::DuplicateTransfer } else { PurserError::StaleSequence };
        world.refuse_as(&format!("{between} in between"), &late, expected);
    }
}

#[test]
fn the_sequence_goes_on_from_zero_after_the_largest() {
    let mut world = World::new();
    let agent = world.main.agent;
    world.edit(agent, |account| {
        let recorded_at = Agent::BYTES - size_of::<RecentTags>();
        account.data[recorded_at..recorded_at + 8].copy_from_slice(&u64::from(u32::MAX - 1).to_le_bytes());
    });
    let sequence = u32::MAX - 1;
    assert_eq!(world.agent().tags().sequence(), sequence);
    for tag in 1..=15 {
        world.accept(&world.main.transfer(Payment { tag, amount: 1, sequence, ..Payment::default() }));
    }
    assert_eq!(world.agent().tags().sequence(), 13);
    world.accept(&world.main.transfer(Payment { tag: 16, amount: 1, sequence, ..Payment::default() }));
    let late = Payment { tag: 17, amount: 1, sequence, ..Payment::default() };
    world.refuse(&world.main.transfer(late), PurserError::StaleSequence);
}

#[test]
fn a_transfer_that_failed_leaves_no_tag() {
    let mut world = World::new();
    let main = world.main;
    world.fund(main.source, 0);
    world.refuse(&pay(&world, 9), PurserError::InsufficientBalance);
    world.fund(main.source, 1);
    world.accept(&pay(&world, 9));
}

#[test]
fn a_tag_belongs_to_one_agent() {
    let mut world = World::new();
    let sibling = world.sibling;
    world.accept(&pay(&world, 9));
    world.accept(&sibling.transfer(Payment { tag: 9, ..Payment::default() }));
    assert_eq!(world.balance(&PAYEE), 1 + 1_000_000);
}

#[test]
fn the_largest_tag_is_one_like_others_and_zero_is_none() {
    let mut world = World::new();
    for tag in [1, u64::MAX] {
        world.accept(&pay(&world, tag));
        world.refuse(&pay(&world, tag), PurserError::DuplicateTransfer);
    }
    world.refuse(&pay(&world, 0), PurserError::TagZero);
}

#[test]
fn a_tag_at_the_ends_of_time_is_remembered() {
    let mut world = World::new();
    for (now, tag) in [(i64::MIN, 1), (-1, 2), (0, 3), (i64::MAX, 4)] {
        world.set_clock(now);
        world.accept(&pay(&world, tag));
        world.refuse(&pay(&world, tag), PurserError::DuplicateTransfer);
    }
    world.set_clock(i64::MIN);
    world.refuse(&pay(&world, 4), PurserError::DuplicateTransfer);
    // The others are so old that a 32-bit second cannot represent it; a new one is paid.
    world.accept(&pay(&world, 5));
}
