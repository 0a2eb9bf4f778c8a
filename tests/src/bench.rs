//! How the loads of `cargo xtask bench` end.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

/// Prints what was measured: as one line of JSON, or as `table` prints it.
pub fn ends<T: Serialize>(measured: Result<T>, as_json: bool, table: impl FnOnce(&T)) -> ExitCode {
    match measured {
        Ok(rows) if as_json => println!("{}", serde_json::to_string(&rows).expect("rows are JSON")),
        Ok(rows) => table(&rows),
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
