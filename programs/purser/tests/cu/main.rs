//! What every instruction costs on mainnet's features and token program, over random keys.

mod bench;
mod keys;
mod scenario;
mod transfers;

use std::path::PathBuf;
use std::process::ExitCode;

use bench::{Bench, Sample};
use clap::Parser;
use keys::Keys;
use serde::Serialize;

/// What an account costs in bytes beside its data.
const ACCOUNT_OVERHEAD_BYTES: u64 = 128;
const LAMPORTS_PER_BYTE: u64 = 5_080;

pub type Result<T> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(name = "cu", about = "Measure the compute units, bytes and rent of every instruction")]
struct Args {
    /// The build to measure
    #[arg(long, value_name = "FILE")]
    program_so: PathBuf,
    /// Random key sets
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    keys: u64,
    /// Where the random keys come from; the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Answer with one JSON array of rows
    #[arg(long)]
    json: bool,
}

/// One instruction, or one case of it.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    cu_min: u64,
    cu_median: u64,
    cu_max: u64,
    /// The whole transaction: signature, budget and price, the instruction.
    tx_bytes: usize,
    /// What its block reserves for it, by the cost model: signature, write locks, data, the units asked for, the accounts
    /// that it may load. Where the client asks for a budget of its own: transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved_cu: Option<u64>,
    /// Bytes of data added to accounts.
    account_bytes: u64,
    /// Rent of what was added, at 5,080 lamports a byte, 128 bytes more for each new account.
    lamports: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match measure(&args) {
        Ok(rows) if args.json => match serde_json::to_string(&rows) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(&error.to_string()),
        },
        Ok(rows) => print_table(&rows),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn measure(args: &Args) -> Result<Vec<Row>> {
    let path = &args.program_so;
    let elf = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut bench = Bench::new(&elf)?;
    for set in 0..args.keys {
        scenario::run(&mut bench, &Keys::new(args.seed, set)).map_err(|error| format!("key set {set}: {error}"))?;
    }
    Ok(rows(&bench.samples))
}

/// In the order in which the instructions were first measured.
fn rows(samples: &[Sample]) -> Vec<Row> {
    let mut names: Vec<&'static str> = Vec::new();
    for sample in samples {
        if !names.contains(&sample.name) {
            names.push(sample.name);
        }
    }
    names.into_iter().map(|name| row(name, samples.iter().filter(|sample| sample.name == name))).collect()
}

fn row<'a>(name: &'static str, samples: impl Iterator<Item = &'a Sample> + Clone) -> Row {
    let mut units: Vec<u64> = samples.clone().map(|sample| sample.units).collect();
    units.sort_unstable();
    let at = |index: usize| units.get(index).copied().unwrap_or_default();
    let account_bytes = samples.clone().map(|sample| sample.account_bytes).max().unwrap_or_default();
    let accounts_created = samples.clone().map(|sample| sample.accounts_created).max().unwrap_or_default();
    Row {
        name,
        cu_min: at(0),
        // The median of an even number is the upper of the two in the middle.
        cu_median: at(units.len() / 2),
        cu_max: at(units.len().saturating_sub(1)),
        tx_bytes: samples.clone().map(|sample| sample.tx_bytes).max().unwrap_or_default(),
        reserved_cu: samples.filter_map(|sample| sample.reserved_cu).max(),
        account_bytes,
        lamports: (account_bytes + accounts_created * ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE,
    }
}

fn print_table(rows: &[Row]) {
    let columns = ["instruction", "CU min", "median", "max", "tx bytes", "reserved", "account bytes", "lamports"];
    let [name, min, median, max, tx, reserved, account, lamports] = columns;
    println!("{name:<36}{min:>8}{median:>8}{max:>8}{tx:>10}{reserved:>10}{account:>15}{lamports:>12}");
    for row in rows {
        let Row { name, cu_min, cu_median, cu_max, tx_bytes, account_bytes, lamports, .. } = row;
        let reserved = row.reserved_cu.map_or_else(|| "-".to_owned(), |units| units.to_string());
        println!(
            "{name:<36}{cu_min:>8}{cu_median:>8}{cu_max:>8}{tx_bytes:>10}{reserved:>10}{account_bytes:>15}{lamports:>12}"
        );
    }
}
