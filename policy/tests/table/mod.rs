//! Decisions about payments: one table for the tests of the rule, the program, the router and the running service.
#![allow(dead_code, reason = "each of them reads what it can see")]

use purser_policy::{Limit, Policy, PolicyOver, Rule, RuleValue, UsdcAmount, Violation};

/// Whom the allowlist names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Anyone,
    Nobody,
    /// The wallet that owns the paid token account.
    Owner,
    /// The paid token account.
    TokenAccount,
}

/// A payment of `amount` after `spent` left within the day. Amounts in micro-USDC.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    pub policy: PolicyOver<Listed>,
    pub halted: bool,
    pub spent: u64,
    pub amount: u64,
    pub memo: &'static str,
    /// `None`: it is paid.
    pub refusal: Option<Refusal>,
}

impl Row {
    /// Returns the policy as REST takes it; `owner` owns the paid token account.
    pub fn policy_json(&self, owner: &str, token_account: &str) -> String {
        let value = |rule| match self.policy.value(rule) {
            RuleValue::Flag(is_on) => is_on.to_string(),
            RuleValue::Limit(Limit::Unlimited) | RuleValue::Payees(Listed::Anyone) => "null".to_owned(),
            RuleValue::Limit(Limit::AtMost(amount)) => format!("\"{amount}\""),
            RuleValue::Payees(Listed::Nobody) => "[]".to_owned(),
            RuleValue::Payees(Listed::Owner) => format!("[{{\"wallet\": \"{owner}\"}}]"),
            RuleValue::Payees(Listed::TokenAccount) => {
                format!("[{{\"token_account\": \"{token_account}\"}}]")
            }
        };
        let fields = Rule::ALL.map(|rule| format!("\"{}\": {}", rule.name(), value(rule)));
        format!("{{{}}}", fields.join(", "))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    pub violation: Violation,
    /// The error of the API, with status 402, and the first of its checks that is not `ok`.
    pub code: &'static str,
    pub rule: &'static str,
    /// Part of the API's message.
    pub words: &'static str,
}

const OPEN: PolicyOver<Listed> = Policy::OPEN.over(Listed::Anyone);

const PAID: Row =
    Row { name: "", policy: OPEN, halted: false, spent: 0, amount: 1_000_000, memo: "", refusal: None };

const PAUSED: Refusal = Refusal {
    violation: Violation::Paused,
    code: "account_paused",
    rule: "paused",
    words: "The account is paused.",
};
const HALTED: Refusal = Refusal { violation: Violation::Halted, words: "halted", ..PAUSED };
const MEMO_REQUIRED: Refusal = Refusal {
    violation: Violation::MemoRequired,
    code: "policy_violation",
    rule: "require_memo",
    words: "The account's policy requires a memo.",
};
const NOT_ALLOWED: Refusal = Refusal {
    violation: Violation::RecipientNotAllowed,
    code: "policy_violation",
    rule: "allowed_counterparties",
    words: "The payee is not on the account's list of allowed payees.",
};

const fn above_single(limit: u64, amount: u64, words: &'static str) -> Option<Refusal> {
    let (limit, amount) = (UsdcAmount::from_micros(limit), UsdcAmount::from_micros(amount));
    let violation = Violation::SingleLimitExceeded { limit, amount };
    Some(Refusal { violation, code: "policy_violation", rule: "max_single_transfer", words })
}

const fn above_daily(limit: u64, used: u64, amount: u64, words: &'static str) -> Option<Refusal> {
    let (limit, used) = (UsdcAmount::from_micros(limit), UsdcAmount::from_micros(used));
    let violation = Violation::DailyLimitExceeded { limit, used, amount: UsdcAmount::from_micros(amount) };
    Some(Refusal { violation, code: "policy_violation", rule: "max_daily_spend", words })
}

const fn at_once(micros: u64) -> PolicyOver<Listed> {
    PolicyOver { max_single_transfer: Limit::of_micros(Some(micros)), ..OPEN }
}

const fn a_day(micros: u64) -> PolicyOver<Listed> {
    PolicyOver { max_daily_spend: Limit::of_micros(Some(micros)), ..OPEN }
}

const fn only(allowlist: Listed) -> PolicyOver<Listed> {
    PolicyOver { allowlist, ..OPEN }
}

const MEMO: PolicyOver<Listed> = PolicyOver { require_memo: true, ..OPEN };

pub const ROWS: [Row; 20] = [
    Row { name: "no rule", ..PAID },
    Row { name: "paused", policy: PolicyOver { paused: true, ..OPEN }, refusal: Some(PAUSED), ..PAID },
    Row { name: "halted", halted: true, refusal: Some(HALTED), ..PAID },
    Row { name: "no memo", policy: MEMO, refusal: Some(MEMO_REQUIRED), ..PAID },
    Row { name: "a memo", policy: MEMO, memo: "x", ..PAID },
    Row { name: "nobody listed", policy: only(Listed::Nobody), refusal: Some(NOT_ALLOWED), ..PAID },
    Row { name: "owner listed", policy: only(Listed::Owner), ..PAID },
    Row { name: "token account listed", policy: only(Listed::TokenAccount), ..PAID },
    Row { name: "at the single limit", policy: at_once(2_500_000), amount: 2_500_000, ..PAID },
    Row {
        name: "above the single limit",
        policy: at_once(2_500_000),
        amount: 2_500_001,
        refusal: above_single(2_500_000, 2_500_001, "limit of 2.50 USDC per payment"),
        ..PAID
    },
    Row {
        name: "single limit of nothing",
        policy: at_once(0),
        amount: 1,
        refusal: above_single(0, 1, "limit of 0.00 USDC per payment"),
        ..PAID
    },
    Row {
        name: "at the daily limit",
        policy: a_day(10_000_000),
        spent: 7_000_000,
        amount: 3_000_000,
        ..PAID
    },
    Row {
        name: "above the daily limit",
        policy: a_day(10_000_000),
        spent: 7_000_000,
        amount: 3_000_001,
        refusal: above_daily(10_000_000, 7_000_000, 3_000_001, "7.00 of 10.00 USDC"),
        ..PAID
    },
    Row {
        name: "daily limit below what was spent",
        policy: a_day(2_000_000),
        spent: 7_000_000,
        amount: 1,
        refusal: above_daily(2_000_000, 7_000_000, 1, "7.00 of 2.00 USDC"),
        ..PAID
    },
    Row {
        name: "daily limit of nothing",
        policy: a_day(0),
        amount: 1,
        refusal: above_daily(0, 0, 1, "0.00 of 0.00 USDC"),
        ..PAID
    },
    Row {
        name: "a halt before a pause",
        policy: PolicyOver { paused: true, ..OPEN },
        halted: true,
        refusal: Some(HALTED),
        ..PAID
    },
    Row {
        name: "a pause before a memo",
        policy: PolicyOver { paused: true, ..MEMO },
        refusal: Some(PAUSED),
        ..PAID
    },
    Row {
        name: "a memo before the list",
        policy: PolicyOver { allowlist: Listed::Nobody, ..MEMO },
        refusal: Some(MEMO_REQUIRED),
        ..PAID
    },
    Row {
        name: "the list before the single limit",
        policy: PolicyOver { allowlist: Listed::Nobody, ..at_once(0) },
        refusal: Some(NOT_ALLOWED),
        ..PAID
    },
    Row {
        name: "the single before the daily limit",
        policy: PolicyOver { max_single_transfer: Limit::of_micros(Some(2_000_000)), ..a_day(1_000_000) },
        amount: 3_000_000,
        refusal: above_single(2_000_000, 3_000_000, "limit of 2.00 USDC per payment"),
        ..PAID
    },
];
