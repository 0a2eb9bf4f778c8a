//! A refusal in words that an agent can act on: what is possible instead, and which key to retry under.

use std::time::Duration;

use super::tools::AgentTool;
use crate::domain::{FailureCode, Rejection, RejectionReason, Timestamp, TransferState, UsdcAmount};
use crate::http::error::ApiError;
use crate::http::request_id::RequestId;
use crate::service::ServiceError;

const SAME_KEY: &str = "Call again with the same idempotency_key";
const NEW_KEY: &str =
    "Nothing was paid. This idempotency_key stays refused: use a new one for what you ask instead.";

/// The error's message, and what to do about it.
pub(super) fn sentence(tool: AgentTool, error: &ApiError, id: RequestId) -> String {
    let (body, retry_after) = error.clone().into_body(id);
    let wait = retry_after.map_or(String::new(), |seconds| format!(" in {seconds} s"));
    let advice = match (error, tool) {
        (ApiError::Transfer(transfer, _), _) => match &transfer.state {
            TransferState::Rejected(rejection) => rejected(rejection),
            TransferState::Failed(failure) => failed(failure.code, &wait),
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. } => {
                format!(
                    "Ask get_transfer for {} how it ended, and pay it under no new idempotency_key before.",
                    transfer.id
                )
            }
            TransferState::Settled(_) => String::new(),
        },
        (ApiError::RateLimited { .. }, AgentTool::SendTransfer | AgentTool::PayHttp) => {
            format!("This call did nothing. {SAME_KEY}{wait}.")
        }
        (error, AgentTool::SendTransfer | AgentTool::PayHttp) if has_no_verdict(error) => {
            format!("It may have been paid. {SAME_KEY}{wait}, never with a new one.")
        }
        (_, AgentTool::SendTransfer) if retry_after.is_some() => {
            format!("Nothing was paid. {SAME_KEY}{wait}.")
        }
        (_, AgentTool::SendTransfer) => "Nothing was paid.".to_owned(),
        (_, _) if retry_after.is_some() => format!("Ask again{wait}."),
        (_, _) => String::new(),
    };
    with_advice(&body.message, &advice)
}

/// A message, and sentences after it.
pub(super) fn with_advice(message: &str, advice: &str) -> String {
    let stop = if message.ends_with(['.', '!', '?']) || advice.is_empty() { "" } else { "." };
    format!("{message}{stop} {}", advice.trim_start()).trim_end().to_owned()
}

/// Whether the payment may have been made despite the error.
fn has_no_verdict(error: &ApiError) -> bool {
    matches!(
        error,
        ApiError::Timeout
            | ApiError::Panic
            | ApiError::Service(
                ServiceError::Internal
                    | ServiceError::StoreUnavailable
                    | ServiceError::ChainUnavailable { retryable: false }
            )
    )
}

fn rejected(rejection: &Rejection) -> String {
    let possible = match rejection.reason {
        RejectionReason::Halted | RejectionReason::Paused => "Your operator has to end that.".to_owned(),
        RejectionReason::MemoRequired => "Give a memo.".to_owned(),
        RejectionReason::MemoTooLong => "Give a shorter memo.".to_owned(),
        RejectionReason::RecipientNotAllowed => {
            "Your operator decides who is allowed; pay somebody who is.".to_owned()
        }
        RejectionReason::SingleLimitExceeded | RejectionReason::DailyLimitExceeded => at_most(rejection),
    };
    format!("{possible} {NEW_KEY}").trim_start().to_owned()
}

/// `At most 3.20 USDC until 14:05 UTC on 2026-01-31.`
fn at_most(rejection: &Rejection) -> String {
    let Some(most) = rejection.checks.0.iter().filter_map(|check| check.remaining()).min() else {
        return String::new();
    };
    let most = short(most);
    match rejection.retry_at.and_then(minute) {
        Some((time, date)) => format!(
            "At most {most} USDC until {time} UTC on {date}, when this amount fits if nothing else is paid before."
        ),
        None => format!("At most {most} USDC."),
    }
}

/// With two decimals, or more if they are not zero.
fn short(amount: UsdcAmount) -> String {
    let text = amount.to_string();
    let kept = text.trim_end_matches('0');
    let digits = kept.rsplit_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{kept}{}", "0".repeat(2_usize.saturating_sub(digits)))
}

/// The next full minute, and its date.
fn minute(at: Timestamp) -> Option<(String, String)> {
    let text = at.after(Duration::from_secs(59)).to_string();
    let (date, time) = text.split_once('T')?;
    Some((time.get(..5)?.to_owned(), date.to_owned()))
}

fn failed(code: FailureCode, wait: &str) -> String {
    match code {
        FailureCode::InsufficientBalance => {
            format!(
                "Nothing was paid. {SAME_KEY} once the account is funded, or ask for less with a new one."
            )
        }
        FailureCode::AccountFrozen => {
            format!(
                "Nothing was paid: the issuer of USDC has frozen the account. {SAME_KEY} once it is thawed."
            )
        }
        FailureCode::InvalidRecipient => {
            "Nothing was paid. Correct `to` and use a new idempotency_key.".to_owned()
        }
        FailureCode::PaymentRefused => {
            "This idempotency_key stays refused. Buy elsewhere: under a new one this seller would refuse again.".to_owned()
        }
        FailureCode::TransferFailed => format!("Nothing was paid. {SAME_KEY} to try once more."),
        FailureCode::SolanaUnavailable
        | FailureCode::TransferExpired
        | FailureCode::Interrupted
        | FailureCode::AuthorityRotated
        | FailureCode::FeePayerEmpty
        | FailureCode::SignerUnavailable => format!("Nothing was paid. {SAME_KEY}{wait}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckedRule, Checks, RuleCheck};
    use purser_policy::Limit;

    fn micros(micros: u64) -> UsdcAmount {
        UsdcAmount::from_micros(micros)
    }

    #[test]
    fn refusal_by_the_day_says_how_much_until_when() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        let check = |rule, limit, used| RuleCheck { rule, ok: false, limit: Limit::AtMost(limit), used };
        let checks = vec![
            check(CheckedRule::MaxSingleTransfer, micros(10_000_000), micros(0)),
            check(CheckedRule::MaxDailySpend, micros(50_000_000), micros(46_800_000)),
        ];
        let rejection = Rejection {
            reason: RejectionReason::DailyLimitExceeded,
            message: String::new(),
            checks: Checks(checks),
            policy_version: Some(1),
            retry_at: Some(at("2026-01-31T14:04:01Z")),
            rejected_at: at("2026-01-31T12:00:00Z"),
        };
        let text = rejected(&rejection);
        assert!(text.starts_with("At most 3.20 USDC until 14:05 UTC on 2026-01-31,"), "{text}");
        let never = Rejection { retry_at: None, ..rejection };
        assert!(rejected(&never).starts_with("At most 3.20 USDC. "));
    }

    #[test]
    fn amounts_have_two_digits_or_as_many_as_count() {
        let texts = [0, 1, 3_200_000, 3_205_000, 10_000_000].map(|amount| short(micros(amount)));
        assert_eq!(texts, ["0.00", "0.000001", "3.20", "3.205", "10.00"]);
    }
}
