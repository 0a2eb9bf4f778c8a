//! What was in force when, in words; each policy, and what left under it; and what left while a policy allowed more than the one
//! before it.

use anchor_lang::prelude::Pubkey;
use purser::Bounds;
use purser::state::Operator;
use purser_client::owned;
use purser_policy::{Allowlist, Limit, Policy, Rule, RuleValue, UsdcAmount};

use crate::check::words;

use super::found::{BoundsChange, PolicyChange};
use super::outcome::Before;
use super::step::Step;
use super::{AgentBook, Loosening, MomentKind, Place, Replay, Term};

/// Older ones stay open, so an account that is loosened step by step costs no more than this.
const OPEN_MAX: usize = 64;

impl Step<'_> {
    pub(super) fn tells(&mut self, kind: MomentKind, account: Option<Pubkey>, text: String) {
        self.found.told.push((kind, account, text));
    }

    /// Notes a policy that comes into force over the one that still stands in the world.
    pub(super) fn comes_into_force(&mut self, agent: Pubkey, book: &AgentBook, signer: Pubkey) {
        let before = self.world.agents.get(&agent).map(|book| owned(&book.policy()));
        let paid = self.found.paid_by(&agent);
        let (version, after) = (book.agent.policy_version, owned(&book.policy()));
        self.tells(
            MomentKind::PolicySet,
            Some(agent),
            format!("Policy version {version} by {signer}: {}.", terms(&after.as_policy())),
        );
        self.found.policies.push(PolicyChange { agent, version, signer, before, after, paid });
    }
}

impl Replay {
    /// Ends what this policy takes back, and begins what it allows more.
    pub(super) fn follow_policy(&mut self, place: &Place, change: &PolicyChange) {
        let PolicyChange { agent, version, signer, before, after, paid } = change;
        let Some(life) = self.outcome.lives.get_mut(agent) else { return };
        let so_far = (life.payments + paid.0, life.paid + paid.1);
        if self.keeps_policies {
            self.outcome.policies.entry(*agent).or_default().push((*version, place.time, after.clone()));
        }
        let after = after.as_policy();
        if let Some(term) = life.policies.last_mut().filter(|term| term.until.is_none()) {
            term.end(Some(place), so_far);
        }
        life.policies.push(Term {
            version: *version,
            signer: *signer,
            words: terms(&after),
            from: place.clone(),
            until: None,
            // Until it ends: what had been paid before it.
            payments: so_far.0,
            paid: so_far.1,
        });
        let open = self.outcome.loosenings.iter_mut().rev().take(OPEN_MAX);
        for loosening in open.filter(|it| it.agent == *agent && it.until.is_none()) {
            if matches!(&loosening.before, Before::Policy(before) if !after.loosens(&before.as_policy())) {
                loosening.end(Some(place), so_far);
            }
        }
        let Some(before) = before.as_ref().filter(|before| after.loosens(&before.as_policy())) else {
            return;
        };
        self.outcome.loosenings.push(Loosening {
            agent: *agent,
            version: *version,
            signer: *signer,
            what: loosened(&before.as_policy(), &after),
            from: place.clone(),
            until: None,
            // Until it ends: what had been paid before it.
            payments: so_far.0,
            paid: so_far.1,
            before: Before::Policy(before.clone()),
        });
    }

    /// The same of what binds an account beside its policy.
    pub(super) fn follow_bounds(&mut self, place: &Place, change: &BoundsChange) {
        let BoundsChange { agent, version, signer, before, after, paid } = change;
        let Some(life) = self.outcome.lives.get(agent) else { return };
        let so_far = (life.payments + paid.0, life.paid + paid.1);
        let open = self.outcome.loosenings.iter_mut().rev().take(OPEN_MAX);
        for loosening in open.filter(|it| it.agent == *agent && it.until.is_none()) {
            if matches!(&loosening.before, Before::Bounds(before) if !after.loosens(before)) {
                loosening.end(Some(place), so_far);
            }
        }
        if after.loosens(before) {
            self.outcome.loosenings.push(Loosening {
                agent: *agent,
                version: *version,
                signer: *signer,
                what: unbound(before, after),
                from: place.clone(),
                until: None,
                payments: so_far.0,
                paid: so_far.1,
                before: Before::Bounds(*before),
            });
        }
    }

    /// Ends the policy of an account that was closed, and had paid this in the same transaction.
    pub(super) fn end_policy(&mut self, place: &Place, agent: &Pubkey, paid: (u64, u128)) {
        let Some(life) = self.outcome.lives.get_mut(agent) else { return };
        let so_far = (life.payments + paid.0, life.paid + paid.1);
        if let Some(term) = life.policies.last_mut().filter(|term| term.until.is_none()) {
            term.end(Some(place), so_far);
        }
    }

    /// Counts what was paid in those that are still open.
    pub(super) fn end_loosenings(&mut self) {
        for life in self.outcome.lives.values_mut() {
            let so_far = (life.payments, life.paid);
            if let Some(term) = life.policies.last_mut().filter(|term| term.until.is_none()) {
                term.end(None, so_far);
            }
        }
        for loosening in self.outcome.loosenings.iter_mut().filter(|it| it.until.is_none()) {
            if let Some(life) = self.outcome.lives.get(&loosening.agent) {
                loosening.end(None, (life.payments, life.paid));
            }
        }
    }
}

/// A policy in words.
pub(crate) fn terms(policy: &Policy) -> String {
    let in_words = |rule| {
        let (has, _) = words(rule);
        match policy.value(rule) {
            RuleValue::Flag(is_on) => is_on.then(|| has.to_owned()),
            RuleValue::Limit(Limit::Unlimited) => Some(format!("no limit {has}")),
            RuleValue::Limit(Limit::AtMost(amount)) => Some(format!("at most {amount} USDC {has}")),
            RuleValue::Payees(Allowlist::Anyone) => Some(has.to_owned()),
            RuleValue::Payees(payees) => {
                let (wallets, token_accounts) = payees.entries();
                Some(format!("to {} payees", wallets.len() + token_accounts.len()))
            }
        }
    };
    Rule::AS_SET.into_iter().filter_map(in_words).collect::<Vec<_>>().join(", ")
}

/// What binds an account beside its policy, in words.
pub(crate) fn bound(bounds: &Bounds) -> Vec<String> {
    let cap = |micros| format!("at most {} USDC in 30 days", UsdcAmount::from_micros(micros));
    let words = [
        bounds.by_grant_only.then(|| "by grants alone".to_owned()),
        bounds.max_30_day_spend.map(cap),
        bounds.budget.map(|budget| format!("through the budget {budget}")),
    ];
    words.into_iter().flatten().collect()
}

/// What `after` allows that `before` refused, in words.
fn loosened(before: &Policy, after: &Policy) -> Vec<String> {
    let limit = |limit| match limit {
        Limit::Unlimited => "none".to_owned(),
        Limit::AtMost(amount) => format!("{amount} USDC"),
    };
    let in_words = |rule| {
        let (_, lost) = words(rule);
        match (before.value(rule), after.value(rule)) {
            (RuleValue::Flag(true), RuleValue::Flag(false)) => Some(lost.to_owned()),
            (RuleValue::Limit(old), RuleValue::Limit(new)) if new.is_above(old) => {
                Some(format!("{lost} from {} to {}", limit(old), limit(new)))
            }
            (RuleValue::Payees(old), RuleValue::Payees(new)) if new.adds_to(old) => Some(match new {
                Allowlist::Anyone => lost.to_owned(),
                Allowlist::Only(_) => format!("{} more payee(s)", added(old, new)),
            }),
            (RuleValue::Flag(_) | RuleValue::Limit(_) | RuleValue::Payees(_), _) => None,
        }
    };
    Rule::AS_SET.into_iter().filter_map(in_words).collect()
}

/// How many entries the newer list has that the older one has not.
fn added(old: &Allowlist, new: &Allowlist) -> usize {
    let (old, new) = (old.entries(), new.entries());
    let wallets = new.0.iter().filter(|it| !old.0.contains(it)).count();
    wallets + new.1.iter().filter(|it| !old.1.contains(it)).count()
}

/// The same of bounds.
fn unbound(before: &Bounds, after: &Bounds) -> Vec<String> {
    let cap = |micros| UsdcAmount::from_micros(micros).to_string() + " USDC";
    let raised = before.max_30_day_spend.filter(|old| after.max_30_day_spend.is_none_or(|new| new > *old));
    let all = [
        (before.by_grant_only && !after.by_grant_only).then(|| "a grant is not needed".to_owned()),
        raised.map(|old| {
            let new = after.max_30_day_spend.map_or("none".to_owned(), cap);
            format!("the cap for 30 days from {} to {new}", cap(old))
        }),
        (before.budget.is_some() && before.budget != after.budget)
            .then(|| "another budget, or none".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// An operator's keys and delay, in words.
pub(super) fn keys_of(operator: &Operator) -> String {
    let none = Pubkey::default();
    let key = |key: &Pubkey| if *key == none { "none".to_owned() } else { key.to_string() };
    let authorities: Vec<String> = operator.transfer_authorities().iter().map(Pubkey::to_string).collect();
    let mut all = vec![
        format!("admin {}", operator.admin),
        format!("policy authority {}", operator.policy_authority),
        format!("guardian {}", key(&operator.guardian)),
        format!("transfer authorities {}", authorities.join(" ")),
        format!("loosened policies wait {} seconds", operator.loosening_delay_seconds),
    ];
    if operator.pending_admin != none {
        all.push(format!("the admin's place is offered to {}", operator.pending_admin));
    }
    all.join(", ")
}
