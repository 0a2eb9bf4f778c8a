//! `cargo xtask bench deposits`: the time from when an outside deposit counts until the relayer shows it, with many accounts.
//!
//! | Room | What it is for |
//! |---|---|
//! | `bench` | the network, the relayer, its accounts; the phases |
//! | `shown` | when a deposit counts, and when it is shown |
//! | `report` | rows, percentiles, the table |

mod bench;
mod report;
mod shown;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use purser_tests::Node;
use purser_tests::bench::ends;

use self::bench::{Options, PHASES, measures_all};

/// Sends deposits to accounts chosen at random, and measures from the moment each stands on the chain until
/// GET /v1/accounts/:id/transactions shows it
#[derive(Parser)]
#[command(name = "bench_deposits")]
struct Arguments {
    /// How many accounts there are
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    accounts: u64,
    /// How many deposits are sent a second, where a phase does not say
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    per_second: u32,
    /// How long each phase sends them
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// In the order of the table: nothing happens; deposits at a steady rate; 200 in one second; to accounts created a moment
    /// ago; while all websockets are cut every five seconds; while a node leaves out every tenth notice; from the moment on at
    /// which the relayer was started anew; nothing and a steady rate without subscriptions
    #[arg(long, value_delimiter = ',', default_values = PHASES, value_parser = PHASES)]
    phases: Vec<String>,
    /// How long the node takes for each answer, beyond what the network on this machine needs
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    answers_after_ms: u64,
    /// When a deposit counts
    #[arg(long, default_value = "finalized", value_parser = ["confirmed", "finalized"])]
    commitment: String,
    /// Print one line of JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        accounts: arguments.accounts,
        per_second: arguments.per_second,
        seconds: arguments.seconds,
        phases: arguments.phases,
        answers_after: Duration::from_millis(arguments.answers_after_ms),
        commitment: if arguments.commitment == "finalized" { "finalized" } else { "confirmed" },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be started");
    let extension = |rpc_url: &str, ws_url: &str| Node::before(rpc_url, ws_url, runtime.handle());
    let measured = runtime.block_on(measures_all(&options, extension));
    let code = ends(measured, arguments.json, |rows| print!("{}", report::table(rows)));
    runtime.shutdown_background();
    code
}
