//! The measurement as its readers meet it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const NAMES: [&str; 18] = [
    "create_operator",
    "update_operator",
    "accept_admin",
    "set_operator_paused",
    "create_agent",
    "transfer",
    "transfer_memo_800_bytes",
    "set_paused",
    "set_policy",
    "set_policy_20_entries",
    "open_draft",
    "close_draft",
    "write_draft",
    "set_policy_256_entries",
    "transfer_all_rules",
    "transfer_all_rules_listed_account",
    "withdraw",
    "close_agent",
];

fn rows(seed: &str) -> Vec<Value> {
    let so = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/purser/idl/purser.so");
    let output = Command::new(env!("CARGO_BIN_EXE_purser-localnet"))
        .args(["cu", "--json", "--program-id", "PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx", "--seed", seed])
        .arg("--program-so")
        .arg(so)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON array")
}

#[test]
fn every_instruction_is_measured_within_what_a_transaction_holds() {
    let rows = rows("1");
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    for row in &rows {
        let number = |field: &str| row[field].as_u64().unwrap_or_else(|| panic!("{field} in {row}"));
        assert!(number("cu_min") > 0 && number("cu_min") <= number("cu_median"), "{row}");
        assert!(number("cu_median") <= number("cu_max") && number("cu_max") < 200_000, "{row}");
        assert!(number("tx_bytes") <= 1_232, "{row}");
    }
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert!(row("create_agent")["lamports"].as_u64().unwrap() <= 6_500_000, "{}", row("create_agent"));
    let transfer = row("transfer_all_rules");
    let cu = |field: &str| transfer[field].as_u64().unwrap();
    assert!((cu("cu_max") - cu("cu_min")) * 20 <= cu("cu_median"), "more than 5 % spread: {transfer}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    assert_eq!(rows("7"), rows("7"));
}
