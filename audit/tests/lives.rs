//! One life of an account or a budget after another, at one address: what the first was bound by, the next one is held against.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser::Bounds;
use purser_audit::check::Check;
use purser_audit::follow::{AlertKind, alerts};
use purser_audit::report::{Report, text};
use purser_client::OnChainPolicy;
use purser_policy::DAY_SECONDS;
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use support::{MICROS, PAYEE, Paying, TestChain, broken, strict};

const STRANGER: Pubkey = Pubkey::new_from_array([99; 32]);

/// An account with 200 USDC whose newest payment is long ago.
fn idle() -> TestChain {
    let mut chain = TestChain::new(&strict(), 3_600);
    chain.pays(&Paying::usdc(9));
    chain.now += 2 * DAY_SECONDS;
    chain
}

/// Starting again breaks no rule, and every auditor reports it.
fn holds(chain: &TestChain) -> Report {
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    if let Some((status, said)) = support::auditor::status(chain.folder.path()) {
        assert_eq!(status, 0, "{said}");
        assert_eq!(
            said.matches(" was closed and created anew").count() as u64,
            report.created_anew,
            "{said}"
        );
        let raised = usize::from(report.verdict.contains("A budget was raised"));
        assert_eq!(said.matches(" made anew with a higher cap").count(), raised, "{said}");
    }
    report
}

#[test]
fn account_that_was_closed_and_created_anew_without_limits_for_a_day_is_in_the_first_line() {
    let mut chain = idle();
    let admin = chain.admin.insecure_clone();
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&OnChainPolicy::default(), &admin);
    chain.deposits(1_000 * MICROS);
    chain.pays(&Paying { to: STRANGER, ..Paying::usdc(900) });
    chain.now += DAY_SECONDS;
    chain.sets_policy(&strict(), &admin);
    let report = holds(&chain);
    for said in [
        "1 policy was loosened, and 900.000000 USDC left meanwhile",
        "An account was closed and created anew.",
    ] {
        assert!(report.verdict.contains(said), "{}", report.verdict);
    }
    let [loosening] = &report.loosenings[..] else { panic!("{}", text(&report)) };
    assert_eq!((loosening.paid_usdc.as_str(), loosening.until.is_some()), ("900.000000", true));
    assert_eq!(report.created_anew, 1);
    let kinds: Vec<AlertKind> = alerts(&report).iter().map(|alert| alert.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == AlertKind::AccountClosed).count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == AlertKind::AccountCreated).count(), 2, "{kinds:?}");
}

#[test]
fn account_that_begins_again_as_it_ended_loosens_nothing_and_is_said_too() {
    let mut chain = idle();
    let admin = chain.admin.insecure_clone();
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&strict(), &admin);
    let report = holds(&chain);
    assert_eq!(report.loosenings.len(), 0, "{}", text(&report));
    assert!(report.verdict.ends_with(" An account was closed and created anew."), "{}", report.verdict);
}

#[test]
fn account_created_over_one_that_was_not_closed_is_found_by_every_auditor() {
    for is_admin in [true, false] {
        let mut chain = TestChain::new(&strict(), 0);
        chain.pays(&Paying::usdc(9));
        let key = if is_admin { chain.admin.insecure_clone() } else { chain.policy_key.insecure_clone() };
        chain.creates_agent(&strict(), &key);
        chain.pays(&Paying::usdc(9));
        let report = chain.audited();
        assert_eq!(broken(&report), [Check::PolicyChanges], "{}", text(&report));
        if let Some((status, said)) = support::auditor::status(chain.folder.path()) {
            assert_eq!(status, 1, "{said}");
        }
    }
}

#[test]
fn cap_for_30_days_that_was_paid_twice_in_two_days_is_in_the_first_line() {
    let capped = Bounds { max_30_day_spend: Some(50 * MICROS), ..Bounds::default() };
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let admin = chain.admin.insecure_clone();
    chain.sets_bounds(capped, &admin);
    chain.pays(&Paying::usdc(50));
    chain.now += DAY_SECONDS + 3_600;
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&OnChainPolicy::default(), &admin);
    chain.deposits(100 * MICROS);
    chain.sets_bounds(capped, &admin);
    chain.pays(&Paying::usdc(50));
    let report = holds(&chain);
    let said = "An account was closed and created anew: 50.000000 USDC that counted against caps for 30 days count no longer.";
    assert!(report.verdict.ends_with(said), "{}", report.verdict);
    let told: Vec<&str> = report.timeline.iter().map(|it| it.text.as_str()).collect();
    assert!(
        told.iter().any(|it| it.starts_with("Created anew by ") && it.contains("50.000000 USDC")),
        "{told:?}"
    );
    let what: Vec<_> = report.loosenings.iter().flat_map(|it| it.what.clone()).collect();
    assert_eq!(what, ["the cap for 30 days from 50.000000 USDC to none"]);
    // Each life's own limits, from when to when.
    assert_eq!(report.limits.iter().map(|it| it.until.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn budget_that_was_closed_and_made_anew_at_its_address_with_a_higher_cap_was_raised() {
    for (cap, expected) in [(900, " A budget was raised."), (10, ""), (5, "")] {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        let budget = chain.sets_budget(10 * MICROS, &admin);
        chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &admin);
        chain.pays(&Paying::usdc(9));
        chain.now += 40 * DAY_SECONDS;
        chain.closes_budget();
        chain.sets_budget(cap * MICROS, &admin);
        let report = holds(&chain);
        assert_eq!(report.verdict, format!("Everything that was checked holds.{expected}"));
        let raised = alerts(&report).iter().filter(|it| it.kind == AlertKind::PolicyLoosened).count();
        assert_eq!(raised, usize::from(!expected.is_empty()), "{}", text(&report));
        let caps: Vec<&str> = report.budgets.iter().map(|it| it.max_daily_usdc.as_str()).collect();
        assert_eq!(caps, ["10.000000".to_owned(), format!("{cap}.000000")]);
    }
}

#[test]
fn account_that_was_closed_and_created_anew_in_one_transaction_stands_and_pays() {
    let mut chain = idle();
    chain.recreates_agent(&OnChainPolicy::default(), &PAYEE);
    chain.deposits(100 * MICROS);
    chain.pays(&Paying { to: STRANGER, ..Paying::usdc(100) });
    let report = holds(&chain);
    assert!(report.accounts[0].closed.is_none(), "{}", text(&report));
    assert!(report.verdict.contains("100.000000 USDC left meanwhile"), "{}", report.verdict);
    assert_eq!(report.created_anew, 1);
}

#[test]
fn recipient_of_a_rest_whose_balance_the_node_leaves_out_is_unknown_and_accuses_nobody() {
    let left_out = |sides: &[&str], gained: Option<&str>| {
        let mut chain = idle();
        let closing = chain.closes_agent(&PAYEE);
        chain.saves();
        chain.spoils(&format!("transactions/{closing}"), |transaction| {
            for side in sides {
                transaction["meta"][side].as_array_mut().expect("a list").pop();
            }
            if let Some(amount) = gained {
                transaction["meta"]["postTokenBalances"][1]["uiTokenAmount"]["amount"] = json!(amount);
            }
        });
        support::audited(chain.folder.path())
    };
    for (sides, says) in [
        (&["preTokenBalances", "postTokenBalances"][..], "the node shows no balance of it"),
        (&["preTokenBalances"], "the node leaves out what"),
        (
            &["preTokenBalances", "postTokenBalances", "preTokenBalances", "postTokenBalances"],
            "money left by",
        ),
    ] {
        let report = left_out(sides, None);
        assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
        assert!(text(&report).contains(says), "{}", text(&report));
    }
    // One that gained less than it was to get is no question of what it held.
    let report = left_out(&["preTokenBalances"], Some("7"));
    assert_eq!(broken(&report), [Check::Recipients], "{}", text(&report));
}
