//! Asking a person: a payment that policy refuses may wait for a grant, which only a wallet off the server can open.

use std::time::Duration;

use super::{FailureCode, IDEMPOTENCY_SECONDS, REQUEST_AHEAD_SECONDS, Rejection, RejectionReason, Timestamp};

/// How long a person has: an approved payment is signed before this is over, and lands before its key can pay again.
const APPROVED_WITHIN: Duration =
    Duration::from_secs((IDEMPOTENCY_SECONDS - REQUEST_AHEAD_SECONDS).unsigned_abs());

/// Whether a person is asked where policy refuses a transfer by a rule that a grant may waive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    /// The refusal is final.
    #[default]
    Never,
    /// The same, also for who would ask: the account asks nobody.
    Off,
    /// A person is asked.
    Request,
    /// A person was asked.
    Requested(ApprovalRequested),
}

/// What a person was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalRequested {
    /// Why policy refused it.
    pub reason: RejectionReason,
    pub expires_at: Timestamp,
}

/// How the wait for a person ends before anybody answers with a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalEnd {
    /// A person says no.
    Rejected,
    /// The key that asked takes the question back.
    Withdrawn,
}

impl ApprovalEnd {
    pub(crate) const fn code(self) -> FailureCode {
        match self {
            Self::Rejected => FailureCode::ApprovalRejected,
            Self::Withdrawn => FailureCode::ApprovalWithdrawn,
        }
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Rejected => "The operator rejected it; nothing was paid.",
            Self::Withdrawn => "It was withdrawn; nothing was paid.",
        }
    }
}

/// A refusal that a person may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalWanted {
    pub rejection: Rejection,
    /// Nobody can approve it from then on.
    pub expires_at: Timestamp,
}

impl Approval {
    /// Whether a person is still to be asked about a refusal.
    pub fn is_wanted(self, rejection: &Rejection) -> bool {
        matches!(self, Self::Request) && rejection.is_approvable()
    }

    /// Whether asking would help where this refused it.
    pub fn would_help(self, rejection: &Rejection) -> bool {
        !matches!(self, Self::Off) && rejection.is_approvable()
    }

    /// What a person was asked, if one was.
    pub const fn requested(self) -> Option<ApprovalRequested> {
        match self {
            Self::Requested(requested) => Some(requested),
            Self::Never | Self::Off | Self::Request => None,
        }
    }
}

impl ApprovalWanted {
    /// The question about a refusal of what was asked for at this time.
    pub fn new(rejection: Rejection, asked_at: Timestamp) -> Self {
        Self { rejection, expires_at: asked_at.after(APPROVED_WITHIN) }
    }

    /// The second of the chain's clock at which a grant for it has to end: as long after the claim's second as the person has, and five
    /// minutes in which the payment lands, however wrong either clock was at the claim.
    pub fn grant_ends_at(&self, created_at: Timestamp, asked_at: Option<i64>) -> i64 {
        // Less than nothing where it was asked in the last five minutes of its key.
        let micros = self.expires_at.unix_micros().saturating_sub(created_at.unix_micros());
        let approved_before = asked_at.map_or(self.expires_at.unix_seconds(), |asked_at| {
            asked_at.saturating_add(micros.div_euclid(1_000_000))
        });
        approved_before.saturating_add(REQUEST_AHEAD_SECONDS)
    }

    /// True once its time is over by the agreed clock. While clocks disagree, nothing expires.
    pub fn is_over_at(&self, grant_ends_at: i64, agreed: Option<i64>) -> bool {
        agreed.is_some_and(|now| now >= self.expires_at.unix_seconds().min(grant_ends_at))
    }

    /// Whether the account is still as it was when the person was asked.
    pub fn holds(&self, is_halted: bool, is_paused: bool, policy_version: u64) -> bool {
        !is_halted && !is_paused && self.rejection.policy_version == Some(policy_version)
    }

    /// The refusal where too many transfers of the account or the operator wait for a person.
    pub fn refused(&self) -> Rejection {
        let message = format!(
            "{} Too many payments of this account or its operator wait for approval already.",
            self.rejection.message
        );
        Rejection { message, ..self.rejection.clone() }
    }

    /// As it stays with the transfer.
    pub const fn requested(&self) -> Approval {
        Approval::Requested(ApprovalRequested { reason: self.rejection.reason, expires_at: self.expires_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checks, RejectionReason};

    #[test]
    fn approval_ends_when_its_grant_would_whichever_clock_was_wrong_at_the_claim() {
        const DAY: i64 = 86_400;
        let at = Timestamp::from_unix_seconds;
        let rejection = Rejection {
            reason: RejectionReason::SingleLimitExceeded,
            message: String::new(),
            checks: Checks::default(),
            policy_version: None,
            retry_at: None,
            rejected_at: at(10 * DAY),
        };
        // The host's clock is right. The chain's was, or was 30 hours behind or ahead.
        let wanted = ApprovalWanted::new(rejection, at(10 * DAY));
        for (asked_at, ends_at) in [
            (Some(10 * DAY), 11 * DAY - 300),
            (Some(10 * DAY - 108_000), 11 * DAY - 108_000),
            (Some(10 * DAY + 108_000), 11 * DAY - 300),
            (None, 11 * DAY - 300),
        ] {
            let grant_ends_at = wanted.grant_ends_at(at(10 * DAY), asked_at);
            assert!(wanted.is_over_at(grant_ends_at, Some(ends_at)), "{asked_at:?}");
            assert!(!wanted.is_over_at(grant_ends_at, Some(ends_at - 1)), "{asked_at:?}");
            assert!(!wanted.is_over_at(grant_ends_at, None), "nothing expires while clocks disagree");
        }
        // Asked when its key had 400 seconds left, or 100.
        for left in [400, 100] {
            let wanted = ApprovalWanted { expires_at: at(10 * DAY + left - 300), ..wanted.clone() };
            let created_at = Timestamp::from_unix_micros(864_000_000_001);
            assert_eq!(
                wanted.grant_ends_at(created_at, Some(10 * DAY)),
                10 * DAY + left - 1,
                "no later than the key"
            );
        }
    }
}
