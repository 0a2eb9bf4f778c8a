//! What is printed of policies: the one in force, and the one that waits in the agent's draft.

use anchor_lang::prelude::Pubkey;
use purser::state::{AgentView, DraftView, Operator};
use purser_policy::{Address, Allowlist, Policy, Rule, RuleValue, UsdcAmount};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The rules of a policy by name.
pub fn rules(policy: &Policy) -> [(&'static str, Value); Rule::ALL.len()] {
    Rule::AS_SET.map(|rule| {
        let value = match policy.value(rule) {
            RuleValue::Flag(is_on) => json!(is_on),
            RuleValue::Limit(limit) => json!(in_usdc(limit.micros())),
            RuleValue::Payees(allowlist) => counterparties(allowlist),
        };
        (rule.name_with_unit(), value)
    })
}

/// Micro-USDC in words.
pub fn in_usdc(micros: Option<u64>) -> Option<String> {
    micros.map(|micros| UsdcAmount::from_micros(micros).to_string())
}

fn counterparties(allowlist: &Allowlist) -> Value {
    let (wallets, token_accounts) = allowlist.entries();
    match allowlist {
        Allowlist::Anyone => json!("anyone"),
        Allowlist::Only(_) => json!({ "wallets": texts(wallets), "token_accounts": texts(token_accounts) }),
    }
}

fn texts(entries: &[Address]) -> Vec<String> {
    entries.iter().map(|entry| Pubkey::new_from_array(*entry).to_string()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not all of its recipients are written.
    Incomplete,
    /// The policy has changed since; the draft can only be dropped.
    Outdated,
    /// Until this second only the admin can apply it.
    Waiting(i64),
    /// In a halt only the admin can apply it; after that, from this second on, if there is one, the policy authority too.
    Halted(Option<i64>),
    /// It was sealed while nothing had to wait, so now only the admin can apply it.
    AdminOnly,
    Ready,
}

/// `now`: the chain's Unix second.
pub fn state(found: &DraftView, view: &AgentView, operator: &Operator, now: i64) -> State {
    let (draft, agent) = (&found.draft, &view.agent);
    if !draft.is_sealed() {
        return State::Incomplete;
    }
    if draft.expected_version != agent.policy_version {
        return State::Outdated;
    }
    if draft.waits_seconds(operator) == Some(0) || !found.policy().loosens(&view.policy()) {
        return State::Ready;
    }
    match draft.loosens_at(operator) {
        at if agent.halted_by | operator.halted_by != 0 => State::Halted(at),
        None => State::AdminOnly,
        Some(at) if now < at => State::Waiting(at),
        Some(_) => State::Ready,
    }
}

/// A word for its state, and when it can take effect.
fn standing(
    found: &DraftView,
    view: &AgentView,
    operator: &Operator,
    now: i64,
) -> (&'static str, Option<String>) {
    match state(found, view, operator, now) {
        State::Incomplete => ("incomplete", None),
        State::Outdated => ("outdated", None),
        State::Waiting(at) => ("waiting", Some(timestamp(at))),
        State::Halted(at) => ("halted", at.map(|at| timestamp(at.max(now)))),
        State::AdminOnly => ("admin_only", None),
        State::Ready => ("ready", Some(timestamp(now))),
    }
}

/// What is printed about it.
pub fn describe(found: &DraftView, view: &AgentView, operator: &Operator, now: i64) -> Map<String, Value> {
    let draft = &found.draft;
    let (word, effective_at) = standing(found, view, operator, now);
    let mut facts: Map<String, Value> = Map::new();
    let mut put = |name: &str, value: Value| facts.insert(name.to_string(), value);
    put("state", json!(word));
    put("hash", json!(hex(&draft.hash)));
    put("over_policy_version", json!(draft.expected_version));
    put("sealed_at", json!(draft.is_sealed().then(|| timestamp(draft.sealed_at))));
    put("effective_at", json!(effective_at));
    if draft.is_sealed() {
        for (name, value) in rules(&found.policy()) {
            put(name, value);
        }
    }
    facts
}

/// RFC 3339, or the Unix second if it is beyond any calendar.
pub fn timestamp(unix_seconds: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(unix_seconds).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| unix_seconds.to_string())
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
