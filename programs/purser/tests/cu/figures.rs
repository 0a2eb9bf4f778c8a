//! Cost limits for instructions, checked on every build: docs/trust/benchmarks.md has the figures.

#[path = "../support/account_bytes.rs"]
mod account_bytes;
mod bench;
mod keys;
mod rows;
mod scenario;
mod transfers;

use std::sync::OnceLock;

use rows::Row;

pub type Result<T> = std::result::Result<T, String>;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../idl/purser.so");

fn elf() -> Vec<u8> {
    let path = std::env::var("PURSER_PROGRAM_SO").unwrap_or_else(|_| PROGRAM.to_owned());
    std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

fn row(name: &str) -> &'static Row {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    let rows = ROWS.get_or_init(|| rows::measure(&elf(), 7, 12).expect("measured"));
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn a_transfer_with_all_rules_on_costs_at_most_3200_units() {
    let row = row("transfer_all_rules");
    assert!(row.cu_median <= 3_200, "{}", row.cu_median);
}

#[test]
fn a_grant_costs_at_most_700_units_more_than_what_it_waives() {
    let (plain, granted) = (row("transfer_all_rules"), row("transfer_all_rules_granted"));
    assert!(granted.cu_median <= plain.cu_median + 700, "{}", granted.cu_median);
}

#[test]
fn a_transfer_by_all_that_there_is_stays_within_what_clients_ask_for() {
    for name in ["transfer_all_rules_granted", "transfer_all_rules_month", "transfer_all_rules_budget"] {
        let most = purser_client::extended_transfer_units(20).into();
        assert!(row(name).cu_max <= most, "{name}: {}", row(name).cu_max);
    }
}

#[test]
fn a_transfers_cost_hardly_depends_on_its_keys() {
    let row = row("transfer_all_rules");
    assert!((row.cu_max - row.cu_min) * 20 <= row.cu_median, "{} to {}", row.cu_min, row.cu_max);
}

#[test]
fn a_byte_of_memo_costs_at_most_2_units_whatever_the_script() {
    let none = row("transfer").cu_median;
    for (name, bytes) in [
        ("transfer_memo_20_ascii", 20),
        ("transfer_memo_200_ascii", 200),
        ("transfer_memo_400_bytes_cyrillic", 400),
        ("transfer_memo_600_bytes_cjk", 600),
        ("transfer_memo_800_bytes_emoji", 800),
        ("transfer_memo_500_bytes_mixed", 500),
    ] {
        let cost = row(name).cu_max - none;
        // Any memo costs some units at first.
        assert!(cost <= 40 + 2 * bytes, "{name}: {cost} units more than without a memo, for {bytes} bytes");
    }
}

#[test]
fn an_account_costs_at_most_0_0065_sol() {
    let row = row("create_agent");
    assert!(row.lamports <= 6_500_000, "{}", row.lamports);
}

#[test]
fn the_longest_memo_fits_a_transaction() {
    let row = row("transfer_memo_800_bytes_emoji");
    assert!(row.tx_bytes <= 1_232, "{}", row.tx_bytes);
}

#[test]
fn the_program_is_at_most_302_kilobytes() {
    let bytes = elf().len();
    assert!(bytes <= 302_000, "{bytes}");
}
