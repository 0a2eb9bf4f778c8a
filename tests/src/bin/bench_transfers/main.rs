//! `cargo xtask bench transfers`: what the relayer adds to a transfer's time, and how many transfers it carries.
//!
//! | Room | What it is for |
//! |---|---|
//! | `bench` | what is measured: the network, relayers, paying agents |
//! | `clients` | the three ways to make a transfer |
//! | `connections` | connections to a relayer that cost little |
//! | `load` | runs a number of transfers, some at a time, and times each |
//! | `report` | rows, percentiles, the table |

mod bench;
mod clients;
mod connections;
mod load;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use purser_tests::Node;
use purser_tests::bench::ends;

use self::bench::{CLIENTS, Options, measures_all};
use self::load::LOAD_THREADS;

/// Measures transfers on one network, at 1, 8 and 64 in flight: a tight loop that sends and waits on the websocket, the
/// stock client, the relayer, the relayer on a scripted network that confirms at once, and the relayer refusing requests
/// while the network confirms nothing
#[derive(Parser)]
#[command(name = "bench_transfers")]
struct Arguments {
    /// How many transfers each row measures, at most
    #[arg(long, default_value_t = 192)]
    transfers: usize,
    /// How many transfers the rows of the scripted network measure, at most
    #[arg(long, default_value_t = 3_000)]
    ceiling_transfers: usize,
    /// How long each row is measured, at most; below the life of a blockhash, which is 30 s here
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=20))]
    seconds: u64,
    /// Which clients, in the order of the table
    #[arg(long, value_delimiter = ',', default_values = CLIENTS, value_parser = CLIENTS)]
    clients: Vec<String>,
    /// How many transfers are in flight, row by row
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    in_flight: Vec<usize>,
    /// How many accounts pay; more than one, so that not every transfer writes the same account
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    accounts: u16,
    /// How many buckets of tags the accounts are given first, for 16 payments a day each; 0 leaves them to grow under the load
    #[arg(long, default_value_t = 53, value_parser = clap::value_parser!(u16).range(..=290))]
    buckets: u16,
    /// How many relayers share the database and the requests, row by row; more than one need --database
    #[arg(long, value_delimiter = ',', default_values_t = [1], value_parser = clap::value_parser!(u16).range(1..=16))]
    relayers: Vec<u16>,
    /// A Postgres, where each row gets a database of its own; without it each relayer has a SQLite file
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// When a transfer counts as settled, for every client
    #[arg(long, default_value = "confirmed", value_parser = ["confirmed", "finalized"])]
    commitment: String,
    /// Print one line of JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        transfers: arguments.transfers.max(1),
        ceiling_transfers: arguments.ceiling_transfers.max(1),
        within: Duration::from_secs(arguments.seconds),
        clients: arguments.clients,
        in_flight: arguments.in_flight,
        accounts: arguments.accounts.into(),
        buckets: arguments.buckets,
        relayers: arguments.relayers.into_iter().map(usize::from).collect(),
        database: arguments.database,
        commitment: if arguments.commitment == "finalized" { "finalized" } else { "confirmed" },
    };
    // Two runtimes, so that the clients' CPU time is separate from that of the counting proxy. One thread each: a second one would
    // be woken and sent to sleep all the time, on cores that the relayer needs.
    let runtime = |name: &str| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name(name).enable_all().build().expect("threads can be started")
    };
    let (extensions, load) = (runtime("extension"), runtime(LOAD_THREADS));
    let measured = load.block_on(measures_all(&options, |rpc_url, ws_url| {
        Node::before(rpc_url, ws_url, extensions.handle())
    }));
    let code = ends(measured, arguments.json, |rows| print!("{}", report::table(rows)));
    extensions.shutdown_background();
    load.shutdown_background();
    code
}
