//! Rows, percentiles, the table.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

/// One phase.
#[derive(Debug, Serialize)]
pub struct Row {
    pub phase: &'static str,
    pub deposits: usize,
    /// From when a deposit counts until it is shown; `null` if there were none.
    pub p50_ms: Option<u64>,
    pub p95_ms: Option<u64>,
    pub p99_ms: Option<u64>,
    pub max_ms: Option<u64>,
    /// From the beginning of the phase until the first deposit was shown.
    pub first_ms: Option<u64>,
    /// HTTP calls plus websocket messages.
    pub rpc_calls_per_minute: u64,
}

impl Row {
    /// A row from the times of all deposits.
    pub fn of(
        phase: &'static str,
        mut times: Vec<Duration>,
        first: Option<Duration>,
        calls: u64,
        all: Duration,
    ) -> Row {
        times.sort_unstable();
        let percentile = |percent| percentile_ms(&times, percent);
        Row {
            phase,
            deposits: times.len(),
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            p99_ms: percentile(99),
            max_ms: percentile(100),
            first_ms: first.map(ms),
            rpc_calls_per_minute: (calls as f64 * 60.0 / all.as_secs_f64()).round() as u64,
        }
    }
}

/// The smallest time that `percent` of the times do not exceed.
fn percentile_ms(ascending: &[Duration], percent: usize) -> Option<u64> {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).copied().map(ms)
}

fn ms(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

/// The table for people.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<22} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9} {:>16}\n",
        "phase", "deposits", "p50 ms", "p95 ms", "p99 ms", "max ms", "first ms", "RPC calls/minute"
    );
    for row in rows {
        let optional = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        writeln!(
            text,
            "{:<22} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9} {:>16}",
            row.phase,
            row.deposits,
            optional(row.p50_ms),
            optional(row.p95_ms),
            optional(row.p99_ms),
            optional(row.max_ms),
            optional(row.first_ms),
            row.rpc_calls_per_minute
        )
        .expect("writing to a string succeeds");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(
            [50, 95, 99, 100].map(|percent| percentile_ms(&times, percent)),
            [Some(100), Some(190), Some(198), Some(200)]
        );
        assert_eq!(percentile_ms(&times[..1], 50), Some(1));
        assert_eq!(percentile_ms(&[], 50), None);
    }
}
