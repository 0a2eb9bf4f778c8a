//! A payment happens once: the program keeps the tags of all transfers of 25 hours.

use purser::error::PurserError;
use purser::state::Agent;

use crate::support::{keys, only, open_policy, Call, Payment, Who, World, AGENT_ID, DAY, NOON, PAYEE};

const REMEMBERED: u64 = 16;
const KEPT: i64 = purser_policy::TAG_SECONDS;

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
fn no_number_of_payments_makes_a_tag_forgotten() {
    let mut world = World::new();
    for tag in 1..=REMEMBERED {
        world.set_clock(NOON + tag as i64);
        world.accept(&pay(&world, tag));
    }
    for now in [NOON + 16, NOON + DAY] {
        world.set_clock(now);
        for tag in 1..=REMEMBERED {
            world.refuse_as(&format!("tag {tag}"), &pay(&world, tag), PurserError::DuplicateTransfer);
        }
        world.refuse(&pay(&world, REMEMBERED + 1), PurserError::PaidTagsFull);
    }
    // After a day a tag may pay again, in its own slot; any other tag waits for a free one.
    world.set_clock(NOON + DAY + 1);
    world.accept(&pay(&world, 1));
    world.refuse(&pay(&world, 1), PurserError::DuplicateTransfer);
    world.set_clock(NOON + KEPT + 1);
    world.refuse(&pay(&world, REMEMBERED + 1), PurserError::PaidTagsFull);
    world.set_clock(NOON + KEPT + 2);
    world.accept(&pay(&world, REMEMBERED + 1));
    world.refuse(&pay(&world, REMEMBERED + 2), PurserError::PaidTagsFull);
}

/// A payment with tag 9 that was asked for at this second.
fn asked(world: &World, asked_at: i64) -> Call {
    world.main.transfer(Payment { tag: 9, asked_at: asked_at as u32, amount: 1, ..Payment::default() })
}

#[test]
fn a_payment_lands_within_an_hour_of_when_it_was_asked_for() {
    let mut world = World::new();
    for late in [3_600, 3_601, DAY, NOON - 1] {
        world.refuse_as(&format!("{late}"), &asked(&world, NOON - late), PurserError::RequestTooOld);
    }
    for early in [301, 3_600, i64::from(u32::MAX) - NOON] {
        world.refuse_as(&format!("{early}"), &asked(&world, NOON + early), PurserError::RequestTooOld);
    }
    for age in [3_599, 0, -300] {
        world.clone().accept(&asked(&world, NOON - age));
    }
    // Also in the extended form, and before any other answer.
    world.accept(&world.main.halt());
    let payment = Payment { tag: 9, asked_at: (NOON - 3_600) as u32, amount: 1, ..Payment::default() };
    world.refuse(&world.main.transfer_extended(payment, None), PurserError::RequestTooOld);
    world.refuse(&asked(&world, NOON - 3_599), PurserError::Halted);
}

#[test]
fn no_try_of_a_request_pays_twice_however_the_clock_moves() {
    // As far ahead of the clock as a request may come from.
    for ahead in [300, 0, -3_599] {
        let asked_at = NOON + ahead;
        let mut world = World::new();
        world.accept(&asked(&world, asked_at));
        for now in [
            NOON,
            NOON + DAY - 1,
            NOON + DAY,
            NOON + DAY + 299,
            NOON + DAY + 300,
            NOON + KEPT - 1,
            NOON + KEPT,
        ] {
            world.set_clock(now);
            let sent = world.clone().send(&[asked(&world, asked_at).instruction()], Who::FeePayer);
            assert!(sent.is_err(), "asked at {ahead}, again at {}", now - NOON);
        }
    }
}

#[test]
fn a_day_is_counted_from_the_second_at_which_the_next_payment_was_asked_for() {
    let mut world = World::new();
    world.accept(&pay(&world, 9));
    // A day has passed when it lands, not when it was asked for.
    world.set_clock(NOON + DAY + 5);
    world.refuse(&asked(&world, NOON + DAY - 1), PurserError::DuplicateTransfer);
    world.accept(&asked(&world, NOON + DAY));
    // And not the other way round.
    let mut world = World::new();
    world.accept(&pay(&world, 9));
    world.set_clock(NOON + DAY - 1);
    world.refuse(&asked(&world, NOON + DAY + 200), PurserError::DuplicateTransfer);
}

#[test]
fn a_clock_that_leaps_and_comes_back_lets_no_request_pay_twice() {
    let mut world = World::new();
    world.accept(&asked(&world, NOON));
    // Another payment takes the account's clock along; then the chain's goes back.
    for leap in [DAY, KEPT, 26 * 3_600, 30 * DAY] {
        let mut world = world.clone();
        world.set_clock(NOON + leap);
        world.accept(&pay(&world, 10));
        for now in [NOON + 30 * 60, NOON + 3_599, NOON + leap] {
            world.set_clock(now);
            world.refuse_as(&format!("{leap}"), &asked(&world, NOON), PurserError::RequestTooOld);
        }
    }
}

#[test]
fn an_account_closed_and_made_anew_lets_no_request_pay_twice() {
    let mut world = World::new();
    world.accept(&asked(&world, NOON));
    let main = world.main;
    world.fund(main.source, 0);
    world.set_clock(NOON + KEPT);
    world.accept(&main.close_agent());
    // The clock goes back; the account's does not.
    world.set_clock(NOON + 60);
    world.accept(&main.create_agent(AGENT_ID).signed_by(Who::Admin));
    world.fund(main.source, 9);
    world.refuse(&asked(&world, NOON), PurserError::RequestTooOld);
    world.accept(&pay(&world, 10));
}

#[test]
fn a_full_account_pays_on_once_it_has_another_bucket_and_remembers_the_rest() {
    let mut world = World::new();
    let tag = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for number in 1..=REMEMBERED {
        world.accept(&pay(&world, tag(number)));
    }
    world.refuse(&pay(&world, tag(17)), PurserError::PaidTagsFull);
    let (held, had) = (world.lamports(&world.main.agent), world.lamports(&Who::Payer.key()));
    for (buckets, payments) in [(2, 18), (3, 28), (8, 100), (61, 500)] {
        world.accept(&world.main.set_tag_buckets(buckets));
        // Again, it does nothing.
        world.accept(&world.main.set_tag_buckets(buckets));
        let paid = world.agent().payments;
        for number in paid + 1..=payments {
            world.accept(&pay(&world, tag(number)));
        }
        for number in 1..=payments {
            world.refuse_as(&number.to_string(), &pay(&world, tag(number)), PurserError::DuplicateTransfer);
        }
    }
    assert_eq!(world.agent_view().tags().expect("the whole account").len(NOON), 500);
    assert_eq!(world.account(&world.main.agent).data.len(), Agent::BYTES + 61 * 192);
    let more = world.rent(Agent::BYTES + 61 * 192) - world.rent(Agent::BYTES + 192);
    assert_eq!(world.lamports(&world.main.agent), held + more);
    assert_eq!(world.lamports(&Who::Payer.key()), had - more);
    // A longer list, a shorter one and bounds move them.
    world.policy(|policy| policy.allowlist = only(&keys(9), &[PAYEE]));
    world.policy(|policy| policy.allowlist = only(&keys(2), &[PAYEE]));
    world.accept(&world.main.set_bounds(true));
    world.accept(&world.main.set_bounds(false));
    for number in 1..=500 {
        world.refuse_as(&number.to_string(), &pay(&world, tag(number)), PurserError::DuplicateTransfer);
    }
    // What is kept stays; later, the rent goes home.
    world.refuse(&world.main.set_tag_buckets(1), PurserError::TagBucketCount);
    world.refuse(&world.main.set_tag_buckets(0), PurserError::TagBucketCount);
    world.set_clock(NOON + KEPT - 1);
    world.refuse(&world.main.set_tag_buckets(1), PurserError::TagBucketCount);
    world.set_clock(NOON + KEPT);
    world.policy(|policy| *policy = open_policy());
    world.accept(&world.main.set_tag_buckets(1));
    assert_eq!(world.account(&world.main.agent).data.len(), Agent::BYTES + 192);
    assert_eq!(world.lamports(&Who::Payer.key()), had);
    world.accept(&pay(&world, tag(1)));
}

#[test]
fn only_who_sets_policies_gives_buckets_and_at_most_53_at_once() {
    let mut world = World::new();
    let main = world.main;
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        world.refuse_as(
            &format!("{who:?}"),
            &main.set_tag_buckets(2).signed_by(who),
            PurserError::Unauthorized,
        );
    }
    world.refuse(&main.set_tag_buckets(2).with(4, Who::Stranger.key()), PurserError::WrongRentRefund);
    world.accept(&main.set_tag_buckets(54).signed_by(Who::Admin));
    world.refuse(&main.set_tag_buckets(108), PurserError::TagBucketCount);
    world.accept(&main.set_tag_buckets(107));
    // Also while nothing may be paid.
    world.accept(&main.halt());
    world.accept(&main.halt_operator());
    world.accept(&main.set_paused(true));
    world.accept(&main.set_tag_buckets(108));
    world.accept(&main.set_tag_buckets(1));
}

#[test]
fn no_late_copy_of_a_transfer_lands_however_many_came_in_between() {
    for between in [0, 1, 15, 16, 40, 200] {
        let mut world = World::new();
        world.accept(&world.main.set_tag_buckets(40));
        let late = pay(&world, 99);
        world.accept(&late);
        for tag in 1..=between {
            world.accept(&pay(&world, (tag + 1) << 32 | tag));
        }
        world.refuse_as(&format!("{between} in between"), &late, PurserError::DuplicateTransfer);
    }
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
fn nothing_is_paid_at_the_ends_of_time() {
    let mut world = World::new();
    for now in [i64::MIN, -1, i64::from(u32::MAX) + 3_600, i64::MAX] {
        world.set_clock(now);
        // An account's clock begins at 0.
        for asked_at in [301, u32::MAX] {
            let call = world.main.transfer(Payment { asked_at, ..Payment::default() });
            world.refuse_as(&format!("{now}"), &call, PurserError::RequestTooOld);
        }
    }
    world.set_clock(i64::from(u32::MAX) + 3_599);
    world.accept(&world.main.transfer(Payment { asked_at: u32::MAX, ..Payment::default() }));
}

#[test]
fn a_slice_of_an_account_without_its_tags_can_be_read_and_says_where_they_are() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| policy.allowlist = only(&keys(2), &[PAYEE]));
    world.accept(&main.set_bounds(true));
    world.accept(&main.set_tag_buckets(3));
    let data = world.account(&main.agent).data;
    let whole = Agent::read(&data).expect("an agent");
    assert_eq!(whole.agent.data_len(), data.len());
    assert_eq!(whole.tags().map(|tags| tags.0.len()), Some(3));
    let tags_at = whole.agent.bucket_at(0);
    for end in [tags_at, tags_at + 192, data.len() - 1] {
        let slice = Agent::read(&data[..end]).expect("an agent");
        assert_eq!((slice.policy(), slice.bounds()), (whole.policy(), whole.bounds()));
        assert_eq!(slice.tags(), None, "{end}");
    }
    assert!(Agent::read(&data[..tags_at - 1]).is_none());
}
