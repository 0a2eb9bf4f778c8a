//! Decides a signed refusal again at its place in the replay: whether the account was there, the policy version in force, and
//! its reason so. Refusals come before the chain, so what an auditor cannot know, such as a memo that was too long, is believed.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use purser_client::purser::Bounds;
use purser_client::{AccountIds, Deployment, OnChainPolicy};
use purser_policy::{Allowlist, DAY_SECONDS, Limit, MONTH_DAYS, Policy, STRETCH_SECONDS_MAX, UsdcAmount};
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::replay::{Halt, Movement, Outcome, Span, date, usdc};

/// How far the relayer's clock and its view of the chain may be from the block's date.
const SLACK_SECONDS: i64 = 600;

/// The longest time in which a payment counts: against a limit for a day, and against one for 30 days.
const DAY_COUNTS_SECONDS: i64 = DAY_SECONDS + STRETCH_SECONDS_MAX;
const MONTH_COUNTS_SECONDS: i64 = (MONTH_DAYS as i64 + 1) * DAY_SECONDS;

/// What the chain says of a time: the replay of an operator.
pub(super) struct Past {
    at: Deployment,
    account_ids: AccountIds,
    until: Option<i64>,
    outcome: Outcome,
    /// Second and amount of each payment, by account.
    payments: BTreeMap<Pubkey, Vec<(i64, u64)>>,
}

/// A signed refusal, as far as it can be decided.
#[derive(Deserialize)]
pub(super) struct Refusal {
    account: String,
    account_id: String,
    amount_micro_usdc: String,
    checks: Vec<RefusalCheck>,
    policy_version: Option<u64>,
    reason: String,
    rejected_at: String,
    to: String,
}

#[derive(Deserialize)]
struct RefusalCheck {
    limit_micro_usdc: Option<String>,
    rule: String,
    used_micro_usdc: String,
}

impl Past {
    pub fn new(at: Deployment, account_ids: AccountIds, until: Option<i64>, outcome: Outcome) -> Self {
        let mut payments: BTreeMap<Pubkey, Vec<(i64, u64)>> = BTreeMap::new();
        for (place, movement) in &outcome.movements {
            if let Movement::Payment { payment, .. } = movement {
                payments.entry(payment.agent).or_default().push((place.time, payment.amount.micros()));
            }
        }
        Self { at, account_ids, until, outcome, payments }
    }

    /// Why it is not so. `None`: it is, or that cannot be told.
    pub fn contradicts(&self, refusal: &Refusal) -> Option<String> {
        let Some(at) = seconds(&refusal.rejected_at) else {
            return Some("its time cannot be read".to_owned());
        };
        let Ok(amount) = refusal.amount_micro_usdc.parse::<u64>() else {
            return Some("its amount is none".to_owned());
        };
        if let Some(until) = self.until.filter(|until| at > until.saturating_add(SLACK_SECONDS)) {
            return Some(format!("it is dated {}, and what was read ends at {}", date(at), date(until)));
        }
        if self.until.is_some_and(|until| at > until.saturating_sub(SLACK_SECONDS)) && !self.is_known(refusal)
        {
            // The account may be newer than what was read.
            return None;
        }
        let Some(policies) =
            refusal.account.parse().ok().and_then(|key| Some((key, self.outcome.policies.get(&key)?)))
        else {
            return Some(format!("{} never was an account of the operator", refusal.account));
        };
        let (agent, policies) = policies;
        if self.account_ids.of(&agent) != refusal.account_id {
            return Some(format!("{agent} has another id than {}", refusal.account_id));
        }
        // Each version with the time at which the next one came.
        let ends = policies.iter().skip(1).map(|(_, from, _)| Some(*from)).chain([None]);
        let spans = policies.iter().zip(ends).filter(|((version, ..), _)| {
            refusal.policy_version.is_none_or(|stated| stated == u64::from(*version))
        });
        let mut why = None;
        let mut is_any = false;
        for ((version, from, policy), until) in spans {
            is_any = true;
            let found = match within(*from, until, at) {
                true => self.reason((refusal, amount), agent, policy, at)?,
                false => {
                    let until = until.map_or("now".to_owned(), date);
                    format!(
                        "policy version {version} was in force from {} to {until}, and not then",
                        date(*from)
                    )
                }
            };
            why.get_or_insert(found);
        }
        if !is_any {
            let version = refusal.policy_version.unwrap_or_default();
            // A version that came after what was read.
            let newest = policies.last().map_or(0, |(version, ..)| u64::from(*version));
            let may_be_newer = version == newest + 1
                && self.until.is_some_and(|until| at > until.saturating_sub(SLACK_SECONDS));
            return (!may_be_newer).then(|| format!("policy version {version} never was in force"));
        }
        why
    }

    fn is_known(&self, refusal: &Refusal) -> bool {
        refusal.account.parse().is_ok_and(|agent: Pubkey| self.outcome.policies.contains_key(&agent))
    }

    /// Why this policy gives no such reason; `None` if it may.
    fn reason(
        &self,
        (refusal, amount): (&Refusal, u64),
        agent: Pubkey,
        policy: &OnChainPolicy,
        at: i64,
    ) -> Option<String> {
        let policy = policy.as_policy();
        match refusal.reason.as_str() {
            "halted" => (!self.was_halted(agent, at)).then(|| "nothing was halted then".to_owned()),
            "paused" => (!policy.paused).then(|| "the policy was not paused".to_owned()),
            "memo_required" => (!policy.require_memo).then(|| "the policy needed no memo".to_owned()),
            // The denial holds no memo.
            "memo_too_long" => None,
            "recipient_not_allowed" => {
                self.is_listed(&policy, &refusal.to).then(|| "the policy let it be paid".to_owned())
            }
            "single_limit_exceeded" => {
                let limit = refusal.stated("max_single_transfer");
                wrong_limit(policy.max_single_transfer, limit).or_else(|| match policy.max_single_transfer {
                    Limit::AtMost(limit) if amount > limit.micros() => None,
                    _ => Some("the amount was within the single limit".to_owned()),
                })
            }
            "daily_limit_exceeded" => {
                let stated = refusal.stated("max_daily_spend");
                wrong_limit(policy.max_daily_spend, stated)
                    .or_else(|| self.within_the_day(agent, &policy, amount, at))
            }
            "grant_required" => {
                let is_bound = self.bounds(agent, at).any(|bounds| bounds.by_grant_only);
                (!is_bound).then(|| "the account paid without grants".to_owned())
            }
            "month_limit_exceeded" => {
                let caps = self.bounds(agent, at).filter_map(|bounds| bounds.max_30_day_spend);
                let caps: Vec<(u64, i64)> = caps.map(|cap| (cap, MONTH_COUNTS_SECONDS)).collect();
                if caps.is_empty() {
                    return Some("the account had no cap for 30 days".to_owned());
                }
                self.within_caps((refusal.stated("max_30_day_spend"), amount), &caps, Some(agent), at)
            }
            "budget_exceeded" => {
                let budgets: Vec<Pubkey> =
                    self.bounds(agent, at).filter_map(|bounds| bounds.budget).collect();
                if budgets.is_empty() {
                    return Some("the account paid through no budget".to_owned());
                }
                let caps = budgets.iter().flat_map(|budget| self.caps_of(budget, at)).collect::<Vec<_>>();
                self.within_caps((refusal.stated("budget"), amount), &caps, None, at)
            }
            other => Some(format!("{other:?} is no reason")),
        }
    }

    /// Counting all that may have counted: what left in the longest day that the program counts, and a little later.
    fn within_the_day(&self, agent: Pubkey, policy: &Policy, amount: u64, at: i64) -> Option<String> {
        let Limit::AtMost(limit) = policy.max_daily_spend else {
            return Some("there was no daily limit".to_owned());
        };
        let left = self.left(Some(agent), DAY_COUNTS_SECONDS, at);
        let fits = u128::from(amount) + left <= u128::from(limit.micros());
        fits.then(|| format!("at most {} USDC had left in the day, and the limit was {limit}", usdc(left)))
    }

    /// All that may have counted: what `agent`, or without one any account, paid in so many seconds, and a little later.
    fn left(&self, agent: Option<Pubkey>, seconds: i64, at: i64) -> u128 {
        let from = at.saturating_sub(seconds).saturating_sub(SLACK_SECONDS);
        let counts = from..at.saturating_add(SLACK_SECONDS);
        let of = self.payments.iter().filter(|(payer, _)| agent.is_none_or(|agent| agent == **payer));
        let paid = of.flat_map(|(_, payments)| payments).filter(|(time, _)| counts.contains(time));
        paid.map(|(_, micros)| u128::from(*micros)).sum()
    }

    /// What may have bound an account beside its policy.
    fn bounds(&self, agent: Pubkey, at: i64) -> impl Iterator<Item = Bounds> + '_ {
        let own = self.outcome.limits.iter().filter(move |span| span.what.0 == agent && was_so(span, at));
        own.map(|span| span.what.1)
    }

    /// Every cap of a budget that may have been in force, and how long payments count against it. Through one that is closed
    /// nothing is paid.
    fn caps_of(&self, budget: &Pubkey, at: i64) -> Vec<(u64, i64)> {
        let own = self.outcome.budgets.iter().filter(|span| span.what.0 == *budget);
        let mut caps = Vec::new();
        for span in own.clone().filter(|span| was_so(span, at)) {
            let waiting = span.what.1.waiting.map(|(caps, _)| caps);
            for terms in [Some(span.what.1.caps), waiting].into_iter().flatten() {
                caps.push((terms.max_daily_spend, DAY_COUNTS_SECONDS));
                caps.extend(terms.max_30_day_spend.map(|cap| (cap, MONTH_COUNTS_SECONDS)));
            }
        }
        let is_open = |span: &Span<_>| {
            let until = span.until.as_ref().map(|until| until.time);
            span.from.time.saturating_add(SLACK_SECONDS) <= at
                && until.is_none_or(|until| at <= until.saturating_sub(SLACK_SECONDS))
        };
        if !own.into_iter().any(is_open) {
            caps.push((0, DAY_COUNTS_SECONDS));
        }
        caps
    }

    /// Why none of these caps refuses the amount: the one that the denial states, where it states any.
    fn within_caps(
        &self,
        (stated, amount): (Option<(Option<u64>, u64)>, u64),
        caps: &[(u64, i64)],
        agent: Option<Pubkey>,
        at: i64,
    ) -> Option<String> {
        let stated = stated.map(|(limit, _)| limit);
        let is_stated = |cap: &u64| stated.is_none_or(|stated| stated == Some(*cap));
        let mut why = None;
        for (cap, seconds) in caps.iter().filter(|(cap, _)| is_stated(cap)) {
            let left = self.left(agent, *seconds, at);
            if u128::from(amount) + left > u128::from(*cap) {
                return None;
            }
            let (cap, days) = (
                UsdcAmount::from_micros(*cap),
                if *seconds > DAY_COUNTS_SECONDS { "30 days" } else { "a day" },
            );
            why = Some(format!("at most {} USDC had left in {days}, and the limit was {cap}", usdc(left)));
        }
        why.or_else(|| {
            let limit =
                stated.flatten().map_or("none".to_owned(), |it| UsdcAmount::from_micros(it).to_string());
            Some(format!("it states the limit {limit}, and none such was in force"))
        })
    }

    fn was_halted(&self, agent: Pubkey, at: i64) -> bool {
        let own = |halt: &&Span<Halt>| halt.what.account.is_none_or(|halted| halted == agent);
        self.outcome.halts.iter().filter(own).any(|halt| was_so(halt, at))
    }

    /// Whether the list lets it be paid for certain: a token account by itself, an account of the operator by its address.
    fn is_listed(&self, policy: &Policy, to: &str) -> bool {
        let Allowlist::Only(_) = policy.allowlist else { return true };
        let (wallets, token_accounts) = policy.allowlist.entries();
        let agents = self.outcome.policies.keys();
        let named = |agent: &&Pubkey| {
            self.account_ids.of(agent) == to || self.at.token_account(agent).to_string() == to
        };
        let agent = agents.clone().find(named);
        let paid = agent.map(|agent| self.at.token_account(agent)).or_else(|| to.parse().ok());
        agent.is_some_and(|agent| wallets.contains(agent.as_array()))
            || paid.is_some_and(|paid| token_accounts.contains(paid.as_array()))
    }
}

impl Refusal {
    /// The limit that a rule's check states, and what counted against it.
    fn stated(&self, rule: &str) -> Option<(Option<u64>, u64)> {
        let check = self.checks.iter().find(|check| check.rule == rule)?;
        let limit = check.limit_micro_usdc.as_ref().map(|micros| micros.parse().unwrap_or_default());
        Some((limit, check.used_micro_usdc.parse().unwrap_or_default()))
    }
}

fn was_so<T>(span: &Span<T>, at: i64) -> bool {
    within(span.from.time, span.until.as_ref().map(|until| until.time), at)
}

/// Whether a time is between two others, as far as clocks tell. Those may be any that a node says.
fn within(from: i64, until: Option<i64>, at: i64) -> bool {
    from.saturating_sub(SLACK_SECONDS) <= at
        && until.is_none_or(|until| at <= until.saturating_add(SLACK_SECONDS))
}

fn wrong_limit(limit: Limit, stated: Option<(Option<u64>, u64)>) -> Option<String> {
    let limit = match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.micros()),
    };
    let words =
        |limit: Option<u64>| limit.map_or("none".to_owned(), |it| UsdcAmount::from_micros(it).to_string());
    match stated {
        Some((stated, _)) if stated != limit => {
            Some(format!("it states the limit {}, and the policy's was {}", words(stated), words(limit)))
        }
        Some(_) | None => None,
    }
}

fn seconds(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}
