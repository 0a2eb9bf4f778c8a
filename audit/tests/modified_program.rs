//! What a program leaves on the chain that lets everything pass: each broken rule is found, by its name, and nothing else is.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser_audit::check::Check;
use purser_audit::report::{html, text};
use purser_client::OnChainPolicy;
use purser_policy::DAY_SECONDS;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use support::{Paying, TestChain, audited, broken, found, strict};

#[test]
fn payments_within_the_policy_hold() {
    let mut chain = TestChain::new(&strict(), 0);
    for _ in 0..50 {
        chain.now += DAY_SECONDS / 3 + 1;
        chain.pays(&Paying::usdc(10));
    }
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    assert!(report.complete);
    let account = &report.accounts[0];
    assert_eq!((account.payments, account.paid_usdc.as_str()), (50, "500.000000"));
    assert_eq!(account.last_balance_usdc.as_deref(), Some("999500.000000"));
}

#[test]
fn payment_above_the_single_limit() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(10));
    let signature = chain.pays(&Paying::usdc(11));
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::SingleLimit], "{}", text(&report));
    let expected = "Payment 2 of 11.000000 USDC was made although policy version 1 refuses it: at most 10.000000 USDC at once.";
    assert_eq!(found(&report, Check::SingleLimit), expected);
    assert!(html(&report).contains(&signature) && text(&report).contains(&signature));
}

#[test]
fn payments_above_the_daily_limit_by_both_ways_of_counting() {
    let mut chain = TestChain::new(&strict(), 0);
    for _ in 0..4 {
        chain.now += 60;
        chain.pays(&Paying::usdc(10));
    }
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::DailyLimit, Check::RollingDay], "{}", text(&report));
    let expected = "40.000000 USDC left in the 24 hours up to payment 4; the limit was 30.000000.";
    assert_eq!(found(&report, Check::RollingDay), expected);
}

#[test]
fn payment_of_age_24_hours_counts_for_the_program_and_not_for_the_true_day() {
    let mut chain = TestChain::new(&strict(), 0);
    for _ in 0..3 {
        chain.pays(&Paying::usdc(10));
    }
    // The program refuses at this second, and at the one before: so no clock that is a second behind excuses it.
    chain.now += DAY_SECONDS;
    chain.pays(&Paying::usdc(10));
    assert_eq!(broken(&chain.audited()), [Check::DailyLimit]);
    let mut later = TestChain::new(&strict(), 0);
    for _ in 0..3 {
        later.pays(&Paying::usdc(10));
    }
    later.now += DAY_SECONDS + 1;
    later.pays(&Paying::usdc(10));
    assert_eq!(broken(&later.audited()), []);
}

#[test]
fn payment_to_somebody_who_is_not_on_the_list() {
    let mut chain = TestChain::new(&strict(), 0);
    let stranger = Pubkey::new_from_array([99; 32]);
    chain.pays(&Paying { to: stranger, ..Paying::usdc(1) });
    assert_eq!(broken(&chain.audited()), [Check::Allowlist]);
}

#[test]
fn payment_without_the_memo_that_is_required() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying { memo: "", ..Paying::usdc(1) });
    assert_eq!(broken(&chain.audited()), [Check::Memo]);
}

#[test]
fn payments_while_halted_and_while_paused() {
    let mut halted = TestChain::new(&strict(), 0);
    halted.halts();
    halted.pays(&Paying::usdc(1));
    let report = halted.audited();
    assert_eq!(broken(&report), [Check::Halted], "{}", text(&report));
    assert!(found(&report, Check::Halted).contains("the operator or the account was halted"));
    let mut paused = TestChain::new(&strict(), 0);
    let key = paused.policy_key.insecure_clone();
    paused.sets_policy(&OnChainPolicy { paused: true, ..strict() }, &key);
    paused.pays(&Paying::usdc(1));
    let report = paused.audited();
    assert_eq!(broken(&report), [Check::Halted], "{}", text(&report));
    assert!(found(&report, Check::Halted).contains("the account was paused"));
}

#[test]
fn tag_that_is_paid_twice() {
    let mut chain = TestChain::new(&strict(), 0);
    for _ in 0..2 {
        chain.pays(&Paying { tag: Some(7), ..Paying::usdc(1) });
        chain.now += 60;
    }
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::PaidOnce], "{}", text(&report));
}

#[test]
fn payment_by_a_key_that_is_no_transfer_authority() {
    let mut chain = TestChain::new(&strict(), 0);
    let thief = Keypair::new_from_array([66; 32]);
    chain.pays_by(&Paying::usdc(1), &thief);
    assert_eq!(broken(&chain.audited()), [Check::Signer]);
}

#[test]
fn policy_that_was_loosened_at_once_where_that_waits() {
    let mut chain = TestChain::new(&strict(), 3_600);
    let key = chain.policy_key.insecure_clone();
    let tighter = OnChainPolicy { paused: true, ..strict() };
    chain.sets_policy(&tighter, &key);
    assert_eq!(broken(&chain.audited()), [], "tighter is at once");
    chain.sets_policy(&strict(), &key);
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::PolicyChanges], "{}", text(&report));
    assert!(found(&report, Check::PolicyChanges).contains("lets that wait for 3600 seconds"));
    let mut by_admin = TestChain::new(&tighter, 3_600);
    let admin = by_admin.admin.insecure_clone();
    by_admin.sets_policy(&OnChainPolicy::default(), &admin);
    assert_eq!(broken(&by_admin.audited()), [], "the admin need not wait");
}

#[test]
fn policy_by_a_key_that_may_only_pay() {
    let mut chain = TestChain::new(&strict(), 0);
    let key = chain.transfer_key.insecure_clone();
    chain.sets_policy(&OnChainPolicy::default(), &key);
    assert_eq!(broken(&chain.audited()), [Check::Signer]);
}

#[test]
fn payment_that_the_node_hides() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(1));
    let hidden = chain.pays(&Paying::usdc(2));
    chain.pays(&Paying::usdc(3));
    chain.hides(&hidden);
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::Numbering, Check::Balances], "{}", text(&report));
    assert_eq!(found(&report, Check::Numbering), "Payment 2 is missing: the log of this one says number 3.");
    // Where the log of the next one is cut off, the one after it tells.
    let mut cut = TestChain::new(&strict(), 0);
    let hidden = cut.pays(&Paying::usdc(2));
    cut.pays(&Paying { is_logged: false, ..Paying::usdc(1) });
    cut.pays(&Paying::usdc(1));
    cut.hides(&hidden);
    let report = cut.audited();
    assert_eq!(broken(&report), [Check::Numbering, Check::Balances], "{}", text(&report));
    assert_eq!(found(&report, Check::Numbering), "Payment 2 is missing: the log of this one says number 3.");
    // The last one shows in nothing that comes after it, but in the accounts.
    let mut last = TestChain::new(&strict(), 0);
    let hidden = last.pays(&Paying::usdc(2));
    last.hides(&hidden);
    assert_eq!(broken(&last.audited()), [Check::Balances, Check::State]);
}

#[test]
fn event_that_a_full_log_cut_off_is_recomputed_and_remarked() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(1));
    let cut = chain.pays(&Paying { is_logged: false, ..Paying::usdc(2) });
    chain.pays(&Paying::usdc(3));
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    let remark =
        report.remarks.iter().find(|remark| remark.text.contains("cut off by full logs")).expect("told");
    assert_eq!(remark.at[0].signature, cut);
    assert_eq!((report.accounts[0].payments, report.accounts[0].paid_usdc.as_str()), (3, "6.000000"));
    // What the log does not show is decided all the same.
    let mut above = TestChain::new(&strict(), 0);
    above.pays(&Paying { is_logged: false, ..Paying::usdc(11) });
    assert_eq!(broken(&above.audited()), [Check::SingleLimit]);
}

#[test]
fn directory_that_names_no_program_is_about_none() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(1));
    chain.saves();
    chain.spoils("audit", |manifest| drop(manifest.as_object_mut().and_then(|it| it.remove("program"))));
    let error = support::tried(chain.folder.path()).expect_err("it is refused").to_string();
    assert!(error.contains("missing field `program`"), "{error}");
}

/// `PURSER_TEST_LONG=10000 cargo test -p purser-audit a_long_history -- --nocapture` says how long so many take, and where they stay
/// for `purser audit --from`.
#[test]
fn a_long_history_of_payments_holds() {
    let asked = std::env::var("PURSER_TEST_LONG").ok().and_then(|count| count.parse().ok());
    let payments: u32 = asked.unwrap_or(300);
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    for _ in 0..payments {
        chain.now += 6_000; // The account remembers 16 payments of 25 hours.
        chain.pays(&Paying::usdc(1));
    }
    assert_eq!(broken(&chain.audited()), []);
    let begun = std::time::Instant::now();
    audited(chain.folder.path());
    let took = begun.elapsed();
    if asked.is_some() {
        println!("{payments} payments: {took:?}, in {}", chain.folder.keep().display());
    }
}
