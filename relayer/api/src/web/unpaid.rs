//! An unpaid transfer, as errors describe it, and examples.

use std::time::Duration;

use ulid::Ulid;

use purser_model::{
    Approval, CheckedRule, Checks, Failure, FailureCode, Limit, Rejection, RejectionReason, RuleCheck,
    Timestamp, Transfer, TransferId, TransferState, TransferStatus, UsdcAmount,
};

/// An unpaid transfer, as far as its error describes it.
#[derive(Debug, Clone)]
pub struct Unpaid {
    pub id: TransferId,
    pub state: TransferState,
    /// The seller's reason for not taking its bytes.
    pub refusal: Option<String>,
    pub approval: Approval,
    /// The result of every rule, if it was decided for this request.
    pub checks: Option<Checks>,
}

impl From<Transfer> for Unpaid {
    fn from(transfer: Transfer) -> Self {
        let Transfer { id, state, refusal, approval, .. } = transfer;
        Self { id, state, refusal, approval, checks: None }
    }
}

/// The message for a transfer whose bytes a seller refused and that can still be paid.
pub fn refused_and_open(refusal: Option<&String>, state: &TransferState) -> Option<String> {
    let refusal = refusal.filter(|_| state.status() == TransferStatus::Submitted)?;
    Some(format!(
        "{refusal} It may still be paid until it expires, about a minute after it was signed: ask for the transfer."
    ))
}

/// When the examples end: 2026-01-31T12:00:00Z.
pub const EXAMPLE_AT: i64 = 1_769_860_800;

/// A ULID of [`EXAMPLE_AT`], fixed for each number.
pub fn example_ulid(number: u128) -> Ulid {
    Ulid::from_parts(EXAMPLE_AT.unsigned_abs() * 1_000, number * 0x9e37_79b9_7f4a_7c15_f39c)
}

/// The transfer of the examples.
pub fn example_transfer() -> TransferId {
    TransferId::from_bytes(example_ulid(4).to_bytes())
}

/// An example of a transfer that policy refuses.
pub fn rejected(
    reason: RejectionReason,
    message: &str,
    broken: CheckedRule,
    retry_at: Option<Timestamp>,
) -> Unpaid {
    let rejection = Rejection {
        reason,
        message: message.to_owned(),
        checks: checks(broken),
        policy_version: Some(1),
        retry_at,
        rejected_at: Timestamp::from_unix_seconds(EXAMPLE_AT),
    };
    ended(TransferState::Rejected(rejection), None)
}

/// An example of a transfer that fails.
pub fn failed(code: FailureCode, message: &str) -> Unpaid {
    let failed_at = Timestamp::from_unix_seconds(EXAMPLE_AT);
    let retry_at = (code == FailureCode::AccountFull).then(|| failed_at.after(Duration::from_secs(3_600)));
    let failure = Failure { code, message: message.to_owned(), failed_at, retry_at };
    ended(TransferState::Failed(failure), Some(checks(CheckedRule::Balance)))
}

/// Limits of the examples, and how much of each is used, in USDC.
const LIMITED: [(CheckedRule, u64, u64); 5] = [
    (CheckedRule::MaxSingleTransfer, 25, 0),
    (CheckedRule::MaxDailySpend, 50, 44),
    (CheckedRule::Max30DaySpend, 500, 130),
    (CheckedRule::Budget, 1_000, 310),
    (CheckedRule::Balance, 1, 0),
];

fn checks(broken: CheckedRule) -> Checks {
    let check = |rule: CheckedRule| {
        let usdc = |amount: u64| UsdcAmount::from_micros(amount * 1_000_000);
        let limited = LIMITED.into_iter().find(|(limited, ..)| *limited == rule);
        let (limit, used) = limited
            .map_or((Limit::Unlimited, usdc(0)), |(_, limit, used)| (Limit::AtMost(usdc(limit)), usdc(used)));
        RuleCheck { rule, ok: rule != broken, limit, used }
    };
    Checks(CheckedRule::ALL.map(check).to_vec())
}

fn ended(state: TransferState, checks: Option<Checks>) -> Unpaid {
    Unpaid { id: example_transfer(), state, refusal: None, approval: Approval::Never, checks }
}
