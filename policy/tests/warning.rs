//! Which rules are warned of.

use purser_policy::{
    budget_warnings, AccountRules, Address, Allowlist, Limit, Policy, UsdcAmount, Warning, Warning::*,
};

const ACCOUNT: Address = [1; 32];
const TOKEN_ACCOUNT: Address = [2; 32];
const CLOSED: Address = [3; 32];
const SHOP: Address = [4; 32];

fn usdc(amount: u64) -> Limit {
    Limit::AtMost(UsdcAmount::from_micros(amount * 1_000_000))
}

/// An account with this policy and nothing beside it.
fn rules(policy: Policy<'_>) -> AccountRules<'_> {
    AccountRules {
        policy,
        own: [ACCOUNT, TOKEN_ACCOUNT],
        closed: &[CLOSED],
        by_grant_only: false,
        max_30_day_spend: Limit::Unlimited,
        budget: [Limit::Unlimited; 2],
    }
}

fn warnings(rules: AccountRules) -> Vec<Warning> {
    rules.warnings().collect()
}

#[test]
fn allowlist_of_nobody_who_can_be_paid_is_warned_of() {
    for (wallets, token_accounts, expected) in [
        (&[][..], &[][..], &[][..]),
        (&[ACCOUNT], &[], &[AllowlistPaysNobody]),
        (&[], &[TOKEN_ACCOUNT], &[AllowlistPaysNobody]),
        (&[CLOSED], &[], &[AllowlistPaysNobody]),
        (&[ACCOUNT, CLOSED], &[TOKEN_ACCOUNT], &[AllowlistPaysNobody]),
        (&[ACCOUNT, CLOSED, SHOP], &[], &[]),
        (&[ACCOUNT], &[SHOP], &[]),
    ] {
        let allowlist = Allowlist::only(wallets, token_accounts).expect("a list");
        let policy = Policy { allowlist, ..Policy::OPEN };
        assert_eq!(warnings(rules(policy)), expected, "{wallets:?} {token_accounts:?}");
    }
    assert_eq!(warnings(rules(Policy::OPEN)), []);
}

#[test]
fn limit_above_a_lower_cap_is_warned_of() {
    let none = Limit::Unlimited;
    // Single transfer, 24 hours, 30 days, budget for 24 hours and for 30 days.
    for (limits, expected) in [
        ([usdc(10), usdc(10), usdc(10), usdc(10), usdc(10)], &[][..]),
        ([usdc(11), usdc(10), none, none, none], &[SingleLimitAboveDaily]),
        ([none, usdc(10), none, none, none], &[]),
        ([usdc(11), none, usdc(10), none, none], &[SingleLimitAbove30Day]),
        ([usdc(11), none, none, usdc(10), none], &[SingleLimitAboveBudget]),
        ([usdc(11), none, none, usdc(20), usdc(10)], &[SingleLimitAboveBudget]),
        ([none, usdc(11), usdc(10), none, none], &[DailyLimitAbove30Day]),
        // A budget is shared: that it has less than an account's daily limit is what it is for.
        ([none, usdc(11), none, usdc(10), usdc(10)], &[]),
        ([usdc(0), usdc(10), none, none, none], &[ZeroLimitWithoutPause]),
        ([usdc(10), usdc(0), none, none, none], &[ZeroLimitWithoutPause]),
        ([none, none, usdc(0), none, none], &[ZeroLimitWithoutPause]),
        ([none, none, none, usdc(0), none], &[ZeroLimitWithoutPause]),
        (
            [usdc(30), usdc(20), usdc(10), none, none],
            &[SingleLimitAboveDaily, SingleLimitAbove30Day, DailyLimitAbove30Day],
        ),
    ] {
        let [max_single_transfer, max_daily_spend, max_30_day_spend, day, month] = limits;
        let policy = Policy { max_single_transfer, max_daily_spend, ..Policy::OPEN };
        let rules = AccountRules { max_30_day_spend, budget: [day, month], ..rules(policy) };
        assert_eq!(warnings(rules), expected, "{limits:?}");
    }
}

#[test]
fn limit_of_zero_in_a_paused_account_is_not_warned_of() {
    let policy = Policy { max_daily_spend: usdc(0), paused: true, ..Policy::OPEN };
    assert_eq!(warnings(rules(policy)), []);
}

#[test]
fn allowlist_beside_payments_by_grants_alone_is_warned_of() {
    let shop = Allowlist::only(&[SHOP], &[]).expect("a list");
    for (by_grant_only, allowlist, expected) in
        [(true, shop, &[AllowlistBesideGrants][..]), (true, Allowlist::Anyone, &[]), (false, shop, &[])]
    {
        let rules = AccountRules { by_grant_only, ..rules(Policy { allowlist, ..Policy::OPEN }) };
        assert_eq!(warnings(rules), expected);
    }
}

#[test]
fn budget_below_every_single_limit_is_warned_of() {
    let none = Limit::Unlimited;
    for (caps, limits, expected) in [
        ([usdc(10), none], &[usdc(11), usdc(12)][..], &[BudgetBelowSingleLimits][..]),
        ([usdc(20), usdc(10)], &[usdc(11)], &[BudgetBelowSingleLimits]),
        ([usdc(10), none], &[usdc(11), none], &[BudgetBelowSingleLimits]),
        ([usdc(10), none], &[usdc(11), usdc(10)], &[]),
        ([usdc(10), none], &[none], &[]),
        ([usdc(10), none], &[], &[]),
        ([usdc(0), none], &[usdc(11)], &[ZeroLimitWithoutPause]),
        ([usdc(10), usdc(0)], &[], &[ZeroLimitWithoutPause]),
    ] {
        assert_eq!(budget_warnings(caps, limits).collect::<Vec<_>>(), expected, "{caps:?} {limits:?}");
    }
}

#[test]
fn every_warning_has_a_code_and_one_sentence_of_its_own() {
    for (index, warning) in Warning::ALL.into_iter().enumerate() {
        assert_eq!(warning as usize, index, "in the order of their declaration");
        assert!(warning.code().bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')));
        assert!(warning.sentence().ends_with('.'));
        let others = Warning::ALL.into_iter().filter(|other| *other != warning);
        assert!(others
            .into_iter()
            .all(|other| { other.code() != warning.code() && other.sentence() != warning.sentence() }));
    }
}
