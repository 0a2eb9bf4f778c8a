use std::time::Duration;

use purser_core::words;

use super::{EventId, EventType, Timestamp, WebhookId};

/// The delays before retries 1, 2, 3 and 4, each after the previous failure. Then the delivery is undelivered.
pub const RETRY_DELAYS: [Duration; 4] = [
    Duration::from_secs(30),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 60 * 60),
];

words! {
    /// Why a webhook gets no deliveries at all.
    pub enum BlockedBy = "Hindrance": "Why nothing is delivered to a webhook." {
        /// The service has no key to seal webhook secrets with.
        NoSealingKey = "sealing_key_missing",
        /// This webhook's secret was sealed with another key.
        OtherSealingKey = "secret_sealed_with_another_key",
    }
}

words! {
    /// Which events of a span are delivered again.
    pub enum ReplayScope = "ReplayScope": "Which events of a period are delivered again." {
        /// Those that were given up, and those whose last attempt failed and which wait for the next.
        NotDelivered = "not_delivered",
        /// Those alone that were given up.
        Undelivered = "undelivered",
        /// Every event that matches the webhook's present subscription, including delivered ones and those before its registration.
        All = "all",
    }
}

/// The progress of one event's delivery to one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The next attempt is due at `next_attempt_at`, after this many failures in the current round.
    Pending { failures: u32, next_attempt_at: Timestamp },
    /// Acknowledged with a 2xx.
    Delivered { delivered_at: Timestamp },
    /// Given up; a replay starts a new round.
    Undelivered { since: Timestamp },
}

impl DeliveryState {
    /// Starts a new round: the first attempt is due at once.
    pub const fn due(now: Timestamp) -> Self {
        Self::Pending { failures: 0, next_attempt_at: now }
    }

    /// As stored and as clients see it.
    pub const fn as_str(&self) -> &'static str {
        self.status().as_str()
    }

    /// Without its facts.
    pub const fn status(&self) -> DeliveryStatus {
        match self {
            Self::Pending { .. } => DeliveryStatus::Pending,
            Self::Delivered { .. } => DeliveryStatus::Delivered,
            Self::Undelivered { .. } => DeliveryStatus::Undelivered,
        }
    }

    /// The state after failed attempt number `failures + 1` of the round, which ended at `failed_at`.
    pub fn after_failure(failures: u32, failed_at: Timestamp) -> Self {
        match RETRY_DELAYS.get(failures as usize) {
            Some(delay) => Self::Pending { failures: failures + 1, next_attempt_at: failed_at.after(*delay) },
            None => Self::Undelivered { since: failed_at },
        }
    }
}

words! {
    /// Which deliveries a list shows.
    pub enum DeliveryStatus = "DeliveryStatus": "The state of a delivery." {
        Pending = "pending",
        Delivered = "delivered",
        Undelivered = "undelivered",
    }
}

/// The delivery of one event to one webhook, with every attempt.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub webhook_id: WebhookId,
    pub event_id: EventId,
    pub event_type: EventType,
    pub state: DeliveryState,
    pub created_at: Timestamp,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

/// One POST of an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub outcome: AttemptOutcome,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered with this HTTP status and a body that begins like this.
    Answered { status: u16, body: String },
    /// There was no answer.
    Unanswered(Unanswered),
}

impl AttemptOutcome {
    /// Whether the receiver acknowledged.
    pub const fn is_success(&self) -> bool {
        match self {
            Self::Answered { status, .. } => *status >= 200 && *status < 300,
            Self::Unanswered(_) => false,
        }
    }
}

words! {
    /// Why an attempt got no answer.
    pub enum Unanswered = "Unanswered": "Why a receiver gave no answer." {
        /// No answer within 10 seconds.
        TimedOut = "timeout",
        /// The address may not be reached.
        Refused = "address_refused",
        /// The name did not resolve to an address.
        NotResolved = "name_not_resolved",
        /// The connection failed.
        NotConnected = "connection_failed",
        /// The connection broke, or the answer was not HTTP.
        Broken = "connection_broken",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_attempts_are_made_at_the_times_of_the_interface() {
        let start = Timestamp::from_unix_seconds(1_800_000_000);
        let mut state = DeliveryState::due(start);
        let mut attempts = Vec::new();
        while let DeliveryState::Pending { failures, next_attempt_at } = state {
            attempts.push(next_attempt_at.unix_seconds() - start.unix_seconds());
            state = DeliveryState::after_failure(failures, next_attempt_at);
        }
        assert_eq!(attempts, [0, 30, 330, 2_130, 9_330]);
        assert_eq!(state, DeliveryState::Undelivered { since: Timestamp::from_unix_seconds(1_800_009_330) });
    }

    #[test]
    fn only_2xx_acknowledges() {
        let answered = |status| AttemptOutcome::Answered { status, body: String::new() };
        assert!(answered(200).is_success() && answered(204).is_success() && answered(299).is_success());
        for status in [100, 199, 300, 301, 304, 400, 404, 410, 429, 500, 503] {
            assert!(!answered(status).is_success(), "{status}");
        }
        assert!(!AttemptOutcome::Unanswered(Unanswered::TimedOut).is_success());
    }

    #[test]
    fn every_reason_keeps_its_name() {
        for reason in Unanswered::ALL {
            assert_eq!(Unanswered::from_stored(reason.as_str()), Some(reason));
        }
    }
}
