//! The cost of every instruction with mainnet's features and token program, over random keys.

#[path = "../support/account_bytes.rs"]
mod account_bytes;
mod bench;
mod keys;
mod rows;
mod scenario;
mod transfers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use rows::Row;

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

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let path = &args.program_so;
    let elf = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let rows = rows::measure(&elf, args.seed, args.keys)?;
    if args.json {
        println!("{}", serde_json::to_string(&rows).map_err(|error| error.to_string())?);
    } else {
        print_table(&rows);
    }
    Ok(())
}

fn print_table(rows: &[Row]) {
    let columns =
        ["instruction", "CU min", "median", "max", "tx bytes", "reserved", "account bytes", "lamports"];
    let [name, min, median, max, tx, reserved, account, lamports] = columns;
    println!("{name:<36}{min:>8}{median:>8}{max:>8}{tx:>10}{reserved:>10}{account:>15}{lamports:>12}");
    for row in rows {
        let Row { name, cu_min, cu_median, cu_max, tx_bytes, account_bytes, lamports, .. } = row;
        let reserved = row.reserved_cu.map_or_else(|| "-".to_owned(), |units| units.to_string());
        print!("{name:<36}{cu_min:>8}{cu_median:>8}{cu_max:>8}{tx_bytes:>10}{reserved:>10}");
        println!("{account_bytes:>15}{lamports:>12}");
    }
}
