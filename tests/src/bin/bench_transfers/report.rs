//! Rows, percentiles, the table.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use crate::load::Times;

/// One client with one number of transfers in flight.
#[derive(Debug, Serialize)]
pub struct Row {
    pub client: &'static str,
    pub relayers: usize,
    pub in_flight: usize,
    pub transfers: usize,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub per_second: f64,
    pub rpc_calls_per_transfer: f64,
    /// All relayers; in the rows without one, the client. `null` if it cannot be read.
    pub cpu_seconds_per_1000: Option<f64>,
    /// Every Postgres on this machine.
    pub database_cpu_seconds_per_1000: Option<f64>,
    /// All relayers, when the warm-up was over.
    pub rss_before_mb: Option<f64>,
    /// All relayers, at the end.
    pub rss_mb: Option<f64>,
}

/// The resources that a load used.
pub struct Used {
    pub rpc_calls: u64,
    pub cpu: Option<Duration>,
    pub database_cpu: Option<Duration>,
    pub rss_before_mb: Option<f64>,
    pub rss_mb: Option<f64>,
}

impl Row {
    /// A row of measurements.
    pub fn of(client: &'static str, relayers: usize, in_flight: usize, times: &Times, used: &Used) -> Row {
        let per_1000 = |cpu: Option<Duration>| {
            cpu.map(|cpu| rounded(cpu.as_secs_f64() * 1_000.0 / times.each.len() as f64))
        };
        let transfers = times.each.len();
        let count = transfers as f64;
        Row {
            client,
            relayers,
            in_flight,
            transfers,
            p50_ms: percentile_ms(&times.each, 50),
            p95_ms: percentile_ms(&times.each, 95),
            p99_ms: percentile_ms(&times.each, 99),
            per_second: rounded(count / times.all.as_secs_f64()),
            rpc_calls_per_transfer: rounded(used.rpc_calls as f64 / count),
            cpu_seconds_per_1000: per_1000(used.cpu),
            database_cpu_seconds_per_1000: per_1000(used.database_cpu),
            rss_before_mb: used.rss_before_mb.map(rounded),
            rss_mb: used.rss_mb.map(rounded),
        }
    }
}

/// The smallest time that `percent` of the times do not exceed.
fn percentile_ms(ascending: &[Duration], percent: usize) -> f64 {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    rounded(ascending[rank - 1].as_secs_f64() * 1_000.0)
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The table for people.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<15} {:>8} {:>9} {:>9} {:>8} {:>8} {:>8} {:>11} {:>18} {:>15} {:>13} {:>7} {:>6}\n",
        "client",
        "relayers",
        "in flight",
        "transfers",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "transfers/s",
        "RPC calls/transfer",
        "CPU s per 1,000",
        "database's",
        "RSS MB",
        "before"
    );
    for row in rows {
        let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        let cpu = optional(row.cpu_seconds_per_1000);
        let (rss, before) = (optional(row.rss_mb), optional(row.rss_before_mb));
        let database = optional(row.database_cpu_seconds_per_1000);
        writeln!(
            text,
            "{:<15} {:>8} {:>9} {:>9} {:>8.1} {:>8.1} {:>8.1} {:>11.1} {:>18.2} {cpu:>15} {database:>13} {rss:>7} {before:>6}",
            row.client,
            row.relayers,
            row.in_flight,
            row.transfers,
            row.p50_ms,
            row.p95_ms,
            row.p99_ms,
            row.per_second,
            row.rpc_calls_per_transfer
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
        let ms: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!([50, 95, 99].map(|percent| percentile_ms(&ms, percent)), [100.0, 190.0, 198.0]);
        assert_eq!(percentile_ms(&ms[..1], 50), 1.0);
    }
}
