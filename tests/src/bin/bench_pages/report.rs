//! Rows, percentiles, the table.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

/// The measurements on one database.
#[derive(Debug, Serialize)]
pub struct Report {
    pub database: &'static str,
    pub rows: u64,
    pub accounts: u64,
    /// From the start of the process until it listens, and until `/readyz` answers 200.
    pub listening_ms: f64,
    pub ready_ms: f64,
    /// The relayer's memory once it had settled, and after all pages.
    pub settled_rss_mb: Option<f64>,
    pub rss_mb: Option<f64>,
    pub pages: Vec<Row>,
}

/// One page's times over all its requests, which run one at a time.
#[derive(Debug, Serialize)]
pub struct Row {
    pub page: &'static str,
    pub asks: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Row {
    /// A row from the times of all requests.
    pub fn of(page: &'static str, mut times: Vec<Duration>) -> Row {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            ms(times[rank - 1])
        };
        Row {
            page,
            asks: times.len(),
            p50_ms: percentile(50),
            p99_ms: percentile(99),
            max_ms: percentile(100),
        }
    }
}

/// Milliseconds with one decimal.
pub fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

/// The table for people.
pub fn table(report: &Report) -> String {
    let mb = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let mut text = format!(
        "{}, {} rows, {} accounts: listening after {} ms, ready after {} ms; {} MB when settled, {} MB at the end\n",
        report.database,
        report.rows,
        report.accounts,
        report.listening_ms,
        report.ready_ms,
        mb(report.settled_rss_mb),
        mb(report.rss_mb)
    );
    let line = |text: &mut String, page: &str, cells: [String; 4]| {
        let [asks, p50, p99, max] = cells;
        writeln!(text, "{page:<36} {asks:>5} {p50:>8} {p99:>8} {max:>8}")
            .expect("writing to a string succeeds");
    };
    line(&mut text, "page", ["asks", "p50 ms", "p99 ms", "max ms"].map(str::to_owned));
    for row in &report.pages {
        let times = [row.p50_ms, row.p99_ms, row.max_ms].map(|ms| format!("{ms:.1}"));
        let [p50, p99, max] = times;
        line(&mut text, row.page, [row.asks.to_string(), p50, p99, max]);
    }
    text
}
