//! A refusal in words that an agent can act on: what is possible instead, and which key to retry under.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const SAME_KEY: &str = "Call again with the same idempotency_key";
const NEW_KEY: &str =
    "Nothing was paid. This idempotency_key stays refused: use a new one for what you ask instead.";

/// REST's error body, and after how many seconds it says to try again.
#[derive(Debug)]
pub(crate) struct Refused {
    pub body: Value,
    pub retry_after: Option<u64>,
}

impl Refused {
    fn code(&self) -> &str {
        self.body["error"].as_str().unwrap_or_default()
    }

    /// ` in 2 s`
    fn wait(&self) -> String {
        self.retry_after.map_or(String::new(), |seconds| format!(" in {seconds} s"))
    }

    /// Whether it may have been done despite the error.
    fn has_no_verdict(&self) -> bool {
        match self.code() {
            "timeout" | "internal_error" | "service_unavailable" => true,
            "solana_unavailable" => self.body["retryable"] == false,
            _ => false,
        }
    }

    /// Its message, and advice after it.
    pub fn sentence(&self, advice: &str) -> String {
        let message = self.body["message"].as_str().unwrap_or_default();
        let stop = if message.ends_with(['.', '!', '?']) || advice.is_empty() { "" } else { "." };
        format!("{message}{stop} {}", advice.trim_start()).trim_end().to_owned()
    }
}

/// Advice where something was only to be read.
pub(crate) fn of_reading(refused: &Refused) -> String {
    if refused.retry_after.is_some() { format!("Ask again{}.", refused.wait()) } else { String::new() }
}

/// Where a transfer was to be made.
pub(crate) fn of_transfer(refused: &Refused) -> String {
    of_payment(refused).unwrap_or_else(|| match refused.retry_after {
        Some(_) => format!("Nothing was paid. {SAME_KEY}{}.", refused.wait()),
        None => "Nothing was paid.".to_owned(),
    })
}

/// Where something was to be bought: what it says of the payment stands in the message.
pub(crate) fn of_purchase(refused: &Refused) -> String {
    of_payment(refused).unwrap_or_else(|| of_reading(refused))
}

/// `None`: it was refused before there was a transfer.
fn of_payment(refused: &Refused) -> Option<String> {
    let wait = refused.wait();
    // Only the error of a transfer has a status.
    Some(match refused.body["status"].as_str() {
        Some("rejected") => rejected(refused),
        Some("failed") => failed(refused.code(), &wait),
        Some("settled") => String::new(),
        Some(_) => {
            let id = refused.body["transfer_id"].as_str().unwrap_or_default();
            format!("Ask get_transfer for {id} how it ended, and pay it under no new idempotency_key before.")
        }
        None if refused.code() == "likely_duplicate" => {
            let id = refused.body["transfer_id"].as_str().unwrap_or_default();
            format!("Ask get_transfer for {id} first. Only if both are meant, call again with duplicate_of.")
        }
        None if refused.code() == "rate_limited" => format!("This call did nothing. {SAME_KEY}{wait}."),
        None if refused.has_no_verdict() => {
            format!("It may have been paid. {SAME_KEY}{wait}, never with a new one.")
        }
        None => return None,
    })
}

fn rejected(refused: &Refused) -> String {
    if refused.body["approvable"] == true {
        let asks =
            "A person may approve it: call again with the same idempotency_key and approval `request`.";
        return format!("{} {asks}", instead(refused)).trim_start().to_owned();
    }
    format!("{} {NEW_KEY}", instead(refused)).trim_start().to_owned()
}

/// What is possible instead.
fn instead(refused: &Refused) -> String {
    let none = Vec::new();
    let checks = refused.body["checks"].as_array().unwrap_or(&none);
    let broken = checks.iter().find(|check| check["ok"] == false);
    match broken.and_then(|check| check["rule"].as_str()) {
        _ if refused.code() == "account_paused" => "Your operator has to end that.".to_owned(),
        Some("require_memo") => "Give a memo of at most 200 characters.".to_owned(),
        Some("allowed_counterparties") => {
            "Your operator decides who is allowed; pay somebody who is.".to_owned()
        }
        _ if broken.is_some_and(|check| check["remaining"].is_string()) => {
            at_most(checks, &refused.body["retry_at"])
        }
        _ => String::new(),
    }
}

/// `At most 3.20 USDC until 14:05 UTC on 2026-01-31.`
fn at_most(checks: &[Value], retry_at: &Value) -> String {
    let remaining = checks.iter().filter_map(|check| check["remaining"].as_str());
    let Some(most) = remaining.min_by_key(|text| micros(text)) else { return String::new() };
    let most = short(most);
    match retry_at.as_str().and_then(minute) {
        Some((time, date)) => format!(
            "At most {most} USDC until {time} UTC on {date}, when this amount fits if nothing else is paid before."
        ),
        None => format!("At most {most} USDC."),
    }
}

/// REST writes six fractional digits.
fn micros(amount: &str) -> Option<u64> {
    amount.replace('.', "").parse().ok()
}

/// With two decimals, or more if they are not zero.
fn short(amount: &str) -> String {
    let kept = amount.trim_end_matches('0');
    let digits = kept.rsplit_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{kept}{}", "0".repeat(2_usize.saturating_sub(digits)))
}

/// The next full minute, and its date.
fn minute(at: &str) -> Option<(String, String)> {
    let at = OffsetDateTime::parse(at, &Rfc3339).ok()?.checked_add(time::Duration::seconds(59))?;
    let text = at.format(&Rfc3339).ok()?;
    let (date, time) = text.split_once('T')?;
    Some((time.get(..5)?.to_owned(), date.to_owned()))
}

fn failed(code: &str, wait: &str) -> String {
    match code {
        "insufficient_balance" => {
            format!(
                "Nothing was paid. {SAME_KEY} once the account is funded, or ask for less with a new one."
            )
        }
        "account_frozen" => {
            format!(
                "Nothing was paid: the issuer of USDC has frozen the account. {SAME_KEY} once it is thawed."
            )
        }
        "invalid_recipient" => {
            "Nothing was paid. Correct `to`, with to_is_wallet for a wallet's address, and use a new idempotency_key.".to_owned()
        }
        "recipient_has_no_token_account" => {
            format!(
                "Nothing was paid. With create_token_account `true` the service creates it, unless the message says why not; else \
                 tell the payee to open a USDC token account. {SAME_KEY} once it has one."
            )
        }
        "payment_refused" => {
            "This idempotency_key stays refused. Buy elsewhere: under a new one this seller would refuse again.".to_owned()
        }
        "approval_rejected" => {
            "Nothing was paid, and this idempotency_key stays refused: a person said no. Do not ask again for the same.".to_owned()
        }
        "approval_expired" => format!("Nothing was paid. {SAME_KEY} and approval `request` to ask once more."),
        "transfer_failed" => format!("Nothing was paid. {SAME_KEY} to try once more."),
        _ => format!("Nothing was paid. {SAME_KEY}{wait}."),
    }
}

/// Where an operator only read.
pub(crate) fn of_operator_reading(refused: &Refused) -> String {
    over_rate(refused).unwrap_or_default().to_owned()
}

/// Where an account was to be made.
pub(crate) fn of_creation(refused: &Refused) -> String {
    let again = "Call again with the same idempotency_key.";
    over_rate(refused).unwrap_or(if may_be_done(refused) { again } else { "" }).to_owned()
}

/// Where a policy was to be changed.
pub(crate) fn of_policy_change(refused: &Refused) -> String {
    let read = match refused.code() {
        "policy_changed" => "Read the policy again, and decide again: somebody has changed it.",
        _ if may_be_done(refused) => "Read the policy to see whether it was changed.",
        _ => "",
    };
    over_rate(refused).unwrap_or(read).to_owned()
}

fn over_rate(refused: &Refused) -> Option<&'static str> {
    let advice = "This call did nothing. Call again in 1 s with the same arguments.";
    (refused.code() == "rate_limited").then_some(advice)
}

/// Whether to ask again is right, or to look first.
fn may_be_done(refused: &Refused) -> bool {
    refused.body["retryable"] == true || ["internal_error", "timeout"].contains(&refused.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refusal_by_the_day_says_how_much_until_when() {
        let body = json!({
            "error": "policy_violation", "status": "rejected", "retry_at": "2026-01-31T14:04:01.000000Z",
            "checks": [
                { "rule": "require_memo", "ok": true },
                { "rule": "max_single_transfer", "ok": true, "remaining": "10.000000" },
                { "rule": "max_daily_spend", "ok": false, "remaining": "3.200000" },
            ],
        });
        let mut refused = Refused { body, retry_after: None };
        let text = of_transfer(&refused);
        assert!(text.starts_with("At most 3.20 USDC until 14:05 UTC on 2026-01-31,"), "{text}");
        refused.body["retry_at"] = Value::Null;
        assert!(of_transfer(&refused).starts_with("At most 3.20 USDC. "));
    }

    #[test]
    fn payment_without_a_verdict_is_never_asked_for_under_a_new_key() {
        for (body, wait) in [
            (json!({ "error": "timeout" }), None),
            (json!({ "error": "internal_error" }), None),
            (json!({ "error": "service_unavailable", "retryable": false }), Some(2)),
            (json!({ "error": "solana_unavailable", "retryable": false }), Some(2)),
        ] {
            let refused = Refused { body, retry_after: wait };
            for advice in [of_transfer(&refused), of_purchase(&refused)] {
                assert!(advice.starts_with("It may have been paid."), "{advice}");
                assert!(advice.ends_with("never with a new one."), "{advice}");
            }
        }
        let body = json!({ "error": "solana_unavailable", "retryable": true });
        let unsent = of_transfer(&Refused { body, retry_after: Some(2) });
        assert_eq!(unsent, "Nothing was paid. Call again with the same idempotency_key in 2 s.");
    }

    #[test]
    fn amounts_have_two_digits_or_as_many_as_count() {
        let texts = ["0.000000", "0.000001", "3.200000", "3.205000", "10.000000"].map(short);
        assert_eq!(texts, ["0.00", "0.000001", "3.20", "3.205", "10.00"]);
    }
}
