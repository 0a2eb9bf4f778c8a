//! The decision: may this transfer be made now?

use crate::tags::{record, TagPlace};
use crate::{
    Address, Limit, PaidTags, Policy, Rule, RuleValue, SpendWindow, TagBucket, UsdcAmount, Violation, Waived,
    MEMO_BYTES_MAX,
};

/// The state that the decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct AccountState<'a> {
    /// The operator or the agent account is halted.
    pub halted: bool,
    pub policy: Policy<'a>,
    pub window: &'a SpendWindow,
    pub tags: PaidTags<'a>,
}

/// The requested transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferRequest<'a> {
    /// Identifies the payment; the same for every retry. Not zero.
    pub tag: u64,
    /// The Unix second at which the payment was asked for, the same for every retry. The caller checks
    /// [`is_timely`](crate::is_timely).
    pub asked_at: i64,
    /// More than zero; the caller ensures that.
    pub amount: UsdcAmount,
    /// UTF-8, though the program does not check; empty means none.
    pub memo: &'a [u8],
    /// The token account to be paid.
    pub recipient: &'a Address,
    /// The wallet that owns it right now.
    pub recipient_owner: &'a Address,
}

/// A transfer that every rule allows, to be recorded together with the payment itself.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a transfer that is not recorded does not count against the limits"]
pub struct Cleared {
    tag: u64,
    place: TagPlace,
    amount: UsdcAmount,
    now: i64,
    spent_after: UsdcAmount,
}

impl Cleared {
    /// What will have left in the last 24 hours, including this transfer.
    pub fn spent_after(&self) -> UsdcAmount {
        self.spent_after
    }

    /// Records the transfer in the account's window and tags.
    #[inline]
    pub fn record(self, window: &mut SpendWindow, tags: &mut [TagBucket]) {
        window.record(self.now, self.amount);
        record(tags, self.place, self.tag, self.now);
    }
}

/// Decides whether `request` may be made at Unix second `now`. The answer is the first broken rule, in the order
/// in which [`Violation`] declares them.
#[inline]
pub fn check(state: &AccountState, request: &TransferRequest, now: i64) -> Result<Cleared, Violation> {
    check_granted(state, request, now, |_| Ok(Waived::NOTHING))
}

/// The same, past the rules that a grant waives. `waived` says which, or why the grant does not cover the payment, at the
/// second that the window goes by. It is asked once no payment with this tag is known: whatever a payment changed about its
/// grant, a retry hears that it was made.
#[inline]
pub fn check_granted<E: From<Violation>>(
    state: &AccountState,
    request: &TransferRequest,
    now: i64,
    waived: impl FnOnce(i64) -> Result<Waived, E>,
) -> Result<Cleared, E> {
    let AccountState { halted, policy, window, tags } = state;
    let now = window.effective(now);
    // By the earlier of both: a request from ahead of the clock must not pass a tag that is not a day old.
    let place =
        tags.find(request.tag, now.min(request.asked_at), now).map_err(|_| Violation::DuplicateTransfer)?;
    let waived = waived(now)?;
    not_halted(*halted)?;
    not_paused(policy)?;
    memo_given(policy, request)?;
    memo_fits(request)?;
    if !waived.has(Waived::ALLOWLIST) {
        recipient_allowed(policy, request)?;
    }
    if !waived.has(Waived::SINGLE_LIMIT) {
        within_single_limit(policy, request)?;
    }
    let used = window.spent(now);
    if !waived.has(Waived::DAILY_LIMIT) {
        within_daily_limit(policy, request, used)?;
    }
    let spent_after = used.saturating_add(request.amount);
    let TransferRequest { tag, amount, .. } = *request;
    let place = place.ok_or(Violation::PaidTagsFull)?;
    Ok(Cleared { tag, place, amount, now, spent_after })
}

/// How one rule judges a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    pub rule: Rule,
    pub violation: Option<Violation>,
    pub limit: Limit,
    /// What already counts against the limit.
    pub used: UsdcAmount,
}

impl RuleOutcome {
    pub fn is_ok(&self) -> bool {
        self.violation.is_none()
    }

    /// What the limit leaves, before this transfer. `None` without a limit.
    pub fn remaining(&self) -> Option<UsdcAmount> {
        match self.limit {
            Limit::Unlimited => None,
            Limit::AtMost(limit) => Some(limit.saturating_sub(self.used)),
        }
    }
}

/// How every rule judges `request` at Unix second `now`, in order of precedence.
pub fn explain(state: &AccountState, request: &TransferRequest, now: i64) -> [RuleOutcome; Rule::ALL.len()] {
    let AccountState { halted, policy, window, .. } = state;
    let spent = window.spent(now);
    Rule::ALL.map(|rule| {
        let verdict = match rule {
            Rule::Paused => not_halted(*halted).and_then(|()| not_paused(policy)),
            Rule::RequireMemo => memo_given(policy, request).and_then(|()| memo_fits(request)),
            Rule::AllowedCounterparties => recipient_allowed(policy, request),
            Rule::MaxSingleTransfer => within_single_limit(policy, request),
            Rule::MaxDailySpend => within_daily_limit(policy, request, spent),
        };
        let limit = match policy.value(rule) {
            RuleValue::Limit(limit) => limit,
            RuleValue::Flag(_) | RuleValue::Payees(_) => Limit::Unlimited,
        };
        let used = if rule == Rule::MaxDailySpend { spent } else { UsdcAmount::ZERO };
        RuleOutcome { rule, violation: verdict.err(), limit, used }
    })
}

#[inline(always)]
fn not_halted(halted: bool) -> Result<(), Violation> {
    refuse_if(halted, Violation::Halted)
}

#[inline(always)]
fn not_paused(policy: &Policy) -> Result<(), Violation> {
    refuse_if(policy.paused, Violation::Paused)
}

#[inline(always)]
fn memo_given(policy: &Policy, request: &TransferRequest) -> Result<(), Violation> {
    refuse_if(policy.require_memo && request.memo.is_empty(), Violation::MemoRequired)
}

#[inline(always)]
fn memo_fits(request: &TransferRequest) -> Result<(), Violation> {
    refuse_if(request.memo.len() > MEMO_BYTES_MAX, Violation::MemoTooLong)
}

#[inline(always)]
fn recipient_allowed(policy: &Policy, request: &TransferRequest) -> Result<(), Violation> {
    let allowed = policy.allowlist.allows(request.recipient, request.recipient_owner);
    refuse_if(!allowed, Violation::RecipientNotAllowed)
}

#[inline(always)]
fn within_single_limit(policy: &Policy, request: &TransferRequest) -> Result<(), Violation> {
    let amount = request.amount;
    match policy.max_single_transfer {
        Limit::AtMost(limit) if amount > limit => Err(Violation::SingleLimitExceeded { limit, amount }),
        Limit::AtMost(_) | Limit::Unlimited => Ok(()),
    }
}

#[inline(always)]
fn within_daily_limit(policy: &Policy, request: &TransferRequest, used: UsdcAmount) -> Result<(), Violation> {
    let amount = request.amount;
    match policy.max_daily_spend {
        Limit::AtMost(limit) if used.checked_add(amount).is_none_or(|sum| sum > limit) => {
            Err(Violation::DailyLimitExceeded { limit, used, amount })
        }
        Limit::AtMost(_) | Limit::Unlimited => Ok(()),
    }
}

#[inline(always)]
fn refuse_if(broken: bool, violation: Violation) -> Result<(), Violation> {
    if broken {
        Err(violation)
    } else {
        Ok(())
    }
}
