//! The table of rules.

mod table;

use std::collections::BTreeSet;

use purser_policy::{Limit, Policy, Rule, RuleValue, UsdcAmount, Violation};
use table::ROWS;

#[test]
fn rules_are_listed_once_in_the_order_in_which_their_violations_win() {
    assert!(Rule::ALL.is_sorted());
    let mut broken: Vec<Violation> = ROWS.iter().filter_map(|row| Some(row.refusal?.violation)).collect();
    broken.sort_unstable();
    let mut won: Vec<Rule> = broken.iter().filter_map(Violation::rule).collect();
    won.dedup();
    assert_eq!(won, Rule::ALL);
    let set: BTreeSet<Rule> = Rule::AS_SET.into();
    assert_eq!(set.len(), Rule::ALL.len());
    assert_eq!(
        Rule::ALL.map(Rule::name),
        ["paused", "require_memo", "allowed_counterparties", "max_single_transfer", "max_daily_spend"]
    );
}

#[test]
fn rules_that_a_grant_waives_come_last_and_have_a_bit_each() {
    let first = Rule::ALL.iter().position(|rule| rule.is_waivable()).expect("some are");
    let (kept, waived) = Rule::ALL.split_at(first);
    assert!(
        kept.iter().all(|rule| rule.waiver().bits() == 0),
        "the first refusal says whether to ask a person"
    );
    let bits: Vec<u8> = waived.iter().map(|rule| rule.waiver().bits()).collect();
    assert!(bits.iter().all(|bits| bits.is_power_of_two()), "{bits:?}");
    assert_eq!(bits.iter().collect::<BTreeSet<_>>().len(), bits.len());
}

#[test]
fn policy_says_its_own_value_by_each_rule() {
    let open = Rule::ALL.map(|rule| Policy::OPEN.value(rule));
    let is_open = |value: &RuleValue<_>| match value {
        RuleValue::Flag(is_on) => !is_on,
        RuleValue::Limit(limit) => *limit == Limit::Unlimited,
        RuleValue::Payees(allowlist) => **allowlist == Policy::OPEN.allowlist,
    };
    assert!(open.iter().all(is_open));
    let limit = |micros| Limit::AtMost(UsdcAmount::from_micros(micros));
    let policy = Policy { max_single_transfer: limit(1), max_daily_spend: limit(2), ..Policy::OPEN };
    assert_eq!(policy.value(Rule::MaxSingleTransfer), RuleValue::Limit(limit(1)));
    assert_eq!(policy.value(Rule::MaxDailySpend), RuleValue::Limit(limit(2)));
    let policy = Policy { require_memo: true, ..Policy::OPEN };
    assert_eq!(policy.value(Rule::RequireMemo), RuleValue::Flag(true));
    assert_eq!(policy.value(Rule::Paused), RuleValue::Flag(false));
}
