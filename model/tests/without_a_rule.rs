//! Each rule is needed: without it there is a way to where it goes wrong. And two are not needed for the money.

mod support;

use purser_model::world::Action;
use purser_model::{Rules, Setting};
use support::{PAID_ONCE, SETTLED_IS_TRUE, UNPAID_IS_TRUE, breaks, pays_once, setting};

#[test]
fn without_the_programs_sequence_check_late_bytes_pay_again() {
    let rules = Rules { sequence: false, ..Rules::ALL };
    let way = breaks(PAID_ONCE, Setting { rules, database_of: vec![0, 1], ..setting() });
    // 16 others made the account forget the first one.
    assert_eq!(count(&way, |action| matches!(action, Action::OthersPay { .. })), 2);
}

#[test]
fn without_the_claim_a_key_stands_for_two_requests() {
    let rules = Rules { claim: false, ..Rules::ALL };
    let way = breaks(SETTLED_IS_TRUE, Setting { rules, two_requests: true, ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::Execute { .. })), 1);
}

#[test]
fn without_stored_bytes_a_landing_transfer_is_answered_as_refused() {
    let rules = Rules { stored_bytes: false, ..Rules::ALL };
    let way = breaks(UNPAID_IS_TRUE, Setting { rules, database_of: vec![0], ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::Crash { .. })), 1);
}

#[test]
fn without_complete_knowledge_a_forgotten_payment_is_made_again() {
    let rules = Rules { complete: false, ..Rules::ALL };
    let way = breaks(PAID_ONCE, Setting { rules, database_of: vec![0, 1], crashes: 0, ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::OthersPay { .. })), 2);
    breaks(PAID_ONCE, Setting { rules, database_of: vec![0], wipes: 1, ..setting() });
    breaks(PAID_ONCE, Setting { rules, database_of: vec![0], restores: 1, ..setting() });
}

#[test]
fn an_old_view_does_not_tell_whether_expired_bytes_have_landed() {
    let rules = Rules { newer_view: false, ..Rules::ALL };
    let way = breaks(UNPAID_IS_TRUE, Setting { rules, database_of: vec![0], ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::Expire { .. })), 1);
}

#[test]
fn one_nodes_clock_frees_the_key_of_a_payment() {
    let rules = Rules { agreed_clock: false, ..Rules::ALL };
    let way = breaks(PAID_ONCE, Setting { rules, database_of: vec![0, 1], crashes: 0, ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::ReadWithWrongClock { .. })), 1);
}

#[test]
fn a_count_that_a_process_remembers_does_not_outlive_the_rows_that_it_counts() {
    let rules = Rules { reads_database: false, ..Rules::ALL };
    let way = breaks(PAID_ONCE, Setting { rules, wipes: 1, crashes: 0, ..setting() });
    assert_eq!(count(&way, |action| matches!(action, Action::Wipe { .. })), 1);
}

/// The sequence and the counting alone keep a key paid once. Claims and stored bytes keep the answers true.
#[test]
fn without_claim_and_stored_bytes_the_key_is_still_paid_once() {
    let rules = Rules { claim: false, stored_bytes: false, ..Rules::ALL };
    pays_once("nothing claimed or stored", Setting { rules, crashes: 0, ..setting() });
}

fn count(way: &[Action], is_meant: impl Fn(&Action) -> bool) -> usize {
    way.iter().filter(|action| is_meant(action)).count()
}
