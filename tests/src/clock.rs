//! Converts between Unix seconds and the API's timestamps.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Unix seconds of an ISO 8601 UTC timestamp, rounded down. Panics on other text: the service must not send any.
pub fn unix_of(text: &str) -> i64 {
    assert!(text.ends_with('Z'), "timestamps are in UTC: {text}");
    let moment = OffsetDateTime::parse(text, &Rfc3339);
    moment.unwrap_or_else(|error| panic!("not a timestamp: {text}: {error}")).unix_timestamp()
}

/// Unix microseconds of an ISO 8601 UTC timestamp after 1970. Panics on other text.
pub fn unix_micros_of(text: &str) -> u64 {
    let moment = OffsetDateTime::parse(text, &Rfc3339);
    let moment = moment.unwrap_or_else(|error| panic!("not a timestamp: {text}: {error}"));
    u64::try_from(moment.unix_timestamp_nanos() / 1_000).expect("tests stay after 1970")
}

/// The ISO 8601 UTC timestamp of a unix second.
pub fn iso_of(unix_seconds: i64) -> String {
    let moment =
        OffsetDateTime::from_unix_timestamp(unix_seconds).expect("tests stay within the years 0 to 9999");
    moment.format(&Rfc3339).expect("every moment has a text")
}

/// The clock of a relayer's host. A test moves it along with the chain's: both must agree before anything expires.
#[derive(Debug, Clone)]
pub struct HostClock(Arc<TempDir>);

impl HostClock {
    /// A clock that shows the real time.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> HostClock {
        HostClock(Arc::new(tempfile::tempdir().expect("a temporary folder can be made")))
    }

    /// Shifts the clock forward so that it now shows this Unix second.
    pub fn stands_at(&self, unix_seconds: i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        self.is_ahead((unix_seconds - now.cast_signed()).max(0));
    }

    /// Shifts the clock forward by this much; backward if it is negative.
    pub fn is_ahead(&self, seconds: i64) {
        fs::write(self.file(), seconds.to_string()).expect("the folder is writable");
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("ahead")
    }
}
