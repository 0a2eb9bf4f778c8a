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
    /// Transfers that were rejected or failed, if those are kept for a shorter time.
    pub refusals: Option<Duration>,
    /// Who changed what.
    pub actions: Option<Duration>,
    /// Actions that are sign-ins and sign-outs, if those are kept for a shorter time.
    pub sign_ins: Option<Duration>,
    /// Refused transfers are kept until their denials are signed.
    pub refusals_are_signed: bool,
}

/// The times before which rows are too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld {
    pub attempts_before: Option<Timestamp>,
    pub events_before: Option<Timestamp>,
    pub transfers_before: Option<Timestamp>,
    /// For transfers that were rejected or failed.
    pub refusals_before: Option<Timestamp>,
    pub actions_before: Option<Timestamp>,
    pub sign_ins_before: Option<Timestamp>,
    /// Independent of the settings: answers of named requests are repeated for 24 hours.
    pub requests_before: Option<Timestamp>,
    /// Refused transfers are kept until their denials are signed.
    pub refusals_are_signed: bool,
    /// The current time, as assumed for expiry.
    pub now: Timestamp,
}

impl TooOld {
    /// While it is not known what time it is.
    pub const fn nothing(now: Timestamp) -> Self {
        Self {
            attempts_before: None,
            events_before: None,
            transfers_before: None,
            refusals_before: None,
            actions_before: None,
            sign_ins_before: None,
            requests_before: None,
            refusals_are_signed: false,
            now,
        }
    }
}

impl Retention {
    /// From numbers of days; 0 means for ever.
    pub fn of_days(attempts: u32, events: u32, transfers: u32) -> Self {
        let kept = |days: u32| (days > 0).then(|| DAY * days);
        Self {
            attempts: kept(attempts),
            events: kept(events),
            transfers: kept(transfers),
            refusals: None,
            actions: None,
            sign_ins: None,
            refusals_are_signed: false,
        }
    }

    /// With a number of days for transfers that were rejected or failed; 0 means as long as all others.
    pub fn with_refusals_of_days(self, days: u32) -> Self {
        Self { refusals: (days > 0).then(|| DAY * days), ..self }
    }

    /// With a number of days for actions; 0 means for ever.
    pub fn with_actions_of_days(self, days: u32) -> Self {
        Self { actions: (days > 0).then(|| DAY * days), ..self }
    }

    /// With a number of days for sign-ins and sign-outs; 0 means as long as all other actions.
    pub fn with_sign_ins_of_days(self, days: u32) -> Self {
        Self { sign_ins: (days > 0).then(|| DAY * days), ..self }
    }

    /// What counts as too old at `now`.
    pub fn too_old(self, now: Timestamp) -> TooOld {
        let before = |kept: Option<Duration>| kept.map(|kept| now.before(kept));
        TooOld {
            attempts_before: before(self.attempts),
            events_before: before(self.events),
            transfers_before: before(self.transfers),
            refusals_before: before(self.transfers).max(before(self.refusals)),
            actions_before: before(self.actions),
            sign_ins_before: before(self.actions).max(before(self.sign_ins)),
            requests_before: Some(now.before(REQUESTS_KEPT)),
            refusals_are_signed: self.refusals_are_signed,
            now,
        }
    }
}
