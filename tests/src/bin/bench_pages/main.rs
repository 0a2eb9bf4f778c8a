//! `cargo xtask bench pages`: how long lists, dashboard pages and a start of the relayer take with a million rows.
//!
//! | Room | What it is for |
//! |---|---|
//! | `bench` | the network, the relayer, its operators and accounts; the requests |
//! | `fill` | millions of rows, which the database generates itself |
//! | `pages` | every list of the interface and every page of the dashboard |
//! | `report` | rows, percentiles, the table |

mod bench;
mod fill;
mod pages;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use purser_tests::Node;
use purser_tests::bench::ends;

use self::bench::{Options, measures};

/// Fills a database with transfers, entries of the history, events, deliveries, attempts and policy versions, so many of each, spread over
/// several operators of which the first has half; starts the relayer on it; asks for each list and each page, one request at a time
#[derive(Parser)]
#[command(name = "bench_pages")]
struct Arguments {
    /// How many transfers, entries, deliveries, attempts and policy versions there are, and twice as many events
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    rows: u64,
    /// How many accounts there are, all of them on the chain; the first has a tenth of all rows
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=20_000))]
    accounts: u64,
    /// How many operators there are; with one, it has all accounts and rows
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=16))]
    operators: u64,
    /// How often each page is asked for; of a list so many pages one after the other, by their cursors
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    asks: u32,
    /// How long the relayer is left alone after its start, until its subscriptions stand
    #[arg(long, default_value_t = 180)]
    calm_seconds: u64,
    /// A Postgres, where a database is made and dropped; without it a SQLite file
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Print one line of JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        rows: arguments.rows,
        accounts: arguments.accounts,
        operators: usize::try_from(arguments.operators).expect("few"),
        asks: arguments.asks,
        calm: Duration::from_secs(arguments.calm_seconds),
        database: arguments.database,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be started");
    let extension = |rpc_url: &str, ws_url: &str| Node::before(rpc_url, ws_url, runtime.handle());
    let measured = runtime.block_on(measures(&options, extension));
    let code = ends(measured, arguments.json, |measured| print!("{}", report::table(measured)));
    runtime.shutdown_background();
    code
}
