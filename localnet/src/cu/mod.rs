//! `cu`: what every instruction costs, on mainnet's features and token program, over random keys.

mod bench;
mod instructions;
mod scenario;

use clap::Args;
use serde::Serialize;

use crate::ProgramArgs;
use crate::error::{Context, Error, Result};
use bench::{Bench, Sample};
use scenario::Random;

/// What an account costs in bytes beside its data.
const ACCOUNT_OVERHEAD_BYTES: u64 = 128;
const LAMPORTS_PER_BYTE: u64 = 5_080;

#[derive(Args)]
pub struct CuArgs {
    #[command(flatten)]
    program: ProgramArgs,
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
    /// The whole transaction: signature, compute limit and price, the instruction.
    tx_bytes: usize,
    /// Bytes of data added to accounts.
    account_bytes: u64,
    /// Rent of what was added, at 5,080 lamports a byte, 128 bytes more for each new account.
    lamports: u64,
}

pub fn run(args: CuArgs) -> Result<()> {
    let (program, elf) = args.program.read()?;
    let mut bench = Bench::new(program, &elf)?;
    for set in 0..args.keys {
        scenario::run(&mut bench, &Random::new(args.seed, set))
            .map_err(|error| Error::new(format!("key set {set}: {error}")))?;
    }
    let rows = rows(&bench.samples);
    if args.json {
        println!("{}", serde_json::to_string(&rows).context("cannot write the rows")?);
    } else {
        print_table(&rows);
    }
    Ok(())
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

fn row<'a>(name: &'static str, samples: impl Iterator<Item = &'a Sample>) -> Row {
    let mut units = Vec::new();
    let (mut tx_bytes, mut account_bytes, mut accounts_created) = (0, 0, 0);
    for sample in samples {
        units.push(sample.units);
        tx_bytes = tx_bytes.max(sample.tx_bytes);
        account_bytes = account_bytes.max(sample.account_bytes);
        accounts_created = accounts_created.max(sample.accounts_created);
    }
    units.sort_unstable();
    let at = |index: usize| units.get(index).copied().unwrap_or_default();
    let lamports = (account_bytes + accounts_created * ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE;
    // The median of an even number is the upper of the two in the middle.
    let (cu_min, cu_median, cu_max) = (at(0), at(units.len() / 2), at(units.len().saturating_sub(1)));
    Row { name, cu_min, cu_median, cu_max, tx_bytes, account_bytes, lamports }
}

fn print_table(rows: &[Row]) {
    let columns = ["instruction", "CU min", "CU median", "CU max", "tx bytes", "account bytes", "lamports"];
    let [name, min, median, max, tx, account, lamports] = columns;
    println!("{name:<34}{min:>8}{median:>11}{max:>8}{tx:>10}{account:>15}{lamports:>12}");
    for row in rows {
        let Row { name, cu_min, cu_median, cu_max, tx_bytes, account_bytes, lamports } = row;
        println!(
            "{name:<34}{cu_min:>8}{cu_median:>11}{cu_max:>8}{tx_bytes:>10}{account_bytes:>15}{lamports:>12}"
        );
    }
}
