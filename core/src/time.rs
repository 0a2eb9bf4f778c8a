use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::time::format_description::well_known::Rfc3339;
use ::time::{OffsetDateTime, UtcOffset};

use super::ParseError;

/// A moment in UTC, in whole microseconds, between the years 0000 and 9999. Its text has a fixed width, so texts sort by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const MICROS: i64 = 1_000_000;
const SECONDS_MIN: i64 = -62_167_219_200;
const SECONDS_MAX: i64 = 253_402_300_799;

impl Timestamp {
    /// From seconds since 1970, clamped to the years 0000 to 9999.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self(seconds.clamp(SECONDS_MIN, SECONDS_MAX) * MICROS)
    }

    /// From microseconds since 1970, clamped to the years 0000 to 9999.
    pub fn from_unix_micros(micros: i64) -> Self {
        Self(micros.clamp(SECONDS_MIN * MICROS, SECONDS_MAX * MICROS + (MICROS - 1)))
    }

    /// Microseconds since 1970.
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// Whole milliseconds since 1970, rounded down.
    pub const fn unix_milliseconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// The moment `duration` later, clamped to the end of the year 9999.
    pub fn after(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(SECONDS_MAX * MICROS + (MICROS - 1)))
    }

    /// The moment `duration` earlier, clamped to the beginning of the year 0.
    pub fn before(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros).max(SECONDS_MIN * MICROS))
    }

    /// The time until `later`; zero if that is past.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_micros(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    fn date_time(self) -> OffsetDateTime {
        // Always in range: every constructor clamps or takes an OffsetDateTime of these years.
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(at: SystemTime) -> Self {
        let since_1970 = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_unix_seconds(0).after(since_1970)
    }
}

/// From RFC 3339 (ISO 8601), with an offset.
impl FromStr for Timestamp {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok();
        let at = at.and_then(|at| at.checked_to_offset(UtcOffset::UTC));
        let at = at.filter(|at| (0..=9999).contains(&at.year()));
        let micros = at.and_then(|at| i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).ok());
        micros.map(Self).ok_or_else(|| "must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z".into())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.date_time();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.microsecond()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timestamp_text_comes_back(seconds in SECONDS_MIN..SECONDS_MAX, micros in 0u64..1_000_000) {
            let at = Timestamp::from_unix_seconds(seconds).after(Duration::from_micros(micros));
            prop_assert_eq!(at.to_string().parse::<Timestamp>(), Ok(at));
        }

        #[test]
        fn order_of_texts_is_the_order_of_time(a in SECONDS_MIN..SECONDS_MAX, b in SECONDS_MIN..SECONDS_MAX) {
            let (a, b) = (Timestamp::from_unix_seconds(a), Timestamp::from_unix_seconds(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn any_second_the_chain_may_report_has_a_text(seconds: i64) {
            prop_assert_eq!(Timestamp::from_unix_seconds(seconds).to_string().len(), 27);
        }
    }

    #[test]
    fn timestamps_with_an_offset_are_read_and_others_refused() {
        let noon: Timestamp = "2026-01-31T12:00:00Z".parse().expect("valid");
        assert_eq!("2026-01-31T13:00:00.000+01:00".parse(), Ok(noon));
        assert_eq!(noon.to_string(), "2026-01-31T12:00:00.000000Z");
        for text in
            ["", "2026-01-31", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z", "0000-01-01T00:00:00+23:00"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
        }
    }
}
