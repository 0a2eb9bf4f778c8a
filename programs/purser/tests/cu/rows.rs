//! The measurements, a row for each instruction.

use serde::Serialize;

use crate::bench::{Bench, Sample};
use crate::keys::Keys;
use crate::scenario;
use crate::Result;

/// What an account costs in bytes besides its data.
const ACCOUNT_OVERHEAD_BYTES: u64 = 128;
const LAMPORTS_PER_BYTE: u64 = 5_080;

/// One instruction, or one case of it.
#[derive(Serialize)]
pub struct Row {
    pub name: &'static str,
    pub cu_min: u64,
    pub cu_median: u64,
    pub cu_max: u64,
    /// The whole transaction: signature, budget and price, the instruction.
    pub tx_bytes: usize,
    /// What its block reserves for it, by the cost model: signature, write locks, data, the units asked for, the accounts
    /// that it may load. Where the client asks for a budget of its own: transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_cu: Option<u64>,
    /// Bytes of data added to accounts.
    pub account_bytes: u64,
    /// Rent of the added bytes, at 5,080 lamports a byte, plus 128 bytes for each new account.
    pub lamports: u64,
}

/// Measures the build in `elf` over `sets` sets of random keys.
pub fn measure(elf: &[u8], seed: u64, sets: u64) -> Result<Vec<Row>> {
    let mut bench = Bench::new(elf)?;
    for set in 0..sets {
        let done = scenario::run(&mut bench, &Keys::new(seed, set));
        done.map_err(|error| format!("key set {set}: {error}"))?;
    }
    Ok(rows(&bench.samples))
}

/// Rows in the order in which the instructions were first measured.
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
        // The median of an even number of samples is the upper of the middle two.
        cu_median: at(units.len() / 2),
        cu_max: at(units.len().saturating_sub(1)),
        tx_bytes: samples.clone().map(|sample| sample.tx_bytes).max().unwrap_or_default(),
        reserved_cu: samples.filter_map(|sample| sample.reserved_cu).max(),
        account_bytes,
        lamports: (account_bytes + accounts_created * ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE,
    }
}
