//! How long expired rows are kept.

use std::time::Duration;

use super::Timestamp;

const DAY: Duration = Duration::from_secs(86_400);
/// How long a request's name and answer are kept.
pub const REQUESTS_KEPT: Duration = DAY;

/// How long each kind is kept; `None` for ever. The history keeps what moved money regardless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    pub attempts: Option<Duration>,
    pub events: Option<Duration>,
    pub transfers: Option<Duration>,
    /// Refused transfers are kept until their denials are signed.
    pub refusals_are_signed: bool,
}

/// The times before which rows are too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld {
    pub attempts_before: Option<Timestamp>,
    pub events_before: Option<Timestamp>,
    pub transfers_before: Option<Timestamp>,
    /// Independent of the settings: answers of named requests are repeated for 24 hours.
    pub requests_before: Timestamp,
    /// Refused transfers are kept until their denials are signed.
    pub refusals_are_signed: bool,
    /// The current time, as assumed for expiry.
    pub now: Timestamp,
}

impl Retention {
    /// From numbers of days; 0 means for ever.
    pub fn of_days(attempts: u32, events: u32, transfers: u32) -> Self {
        let kept = |days: u32| (days > 0).then(|| DAY * days);
        Self {
            attempts: kept(attempts),
            events: kept(events),
            transfers: kept(transfers),
            refusals_are_signed: false,
        }
    }

    /// What counts as too old at `now`.
    pub fn too_old(self, now: Timestamp) -> TooOld {
        let before = |kept: Option<Duration>| kept.map(|kept| now.before(kept));
        TooOld {
            attempts_before: before(self.attempts),
            events_before: before(self.events),
            transfers_before: before(self.transfers),
            requests_before: now.before(REQUESTS_KEPT),
            refusals_are_signed: self.refusals_are_signed,
            now,
        }
    }
}
