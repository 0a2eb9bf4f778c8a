//! `purser audit` on a network whose rounds are over. Whatever happened to the relayers, the chain's past is honest, so an
//! audit from the chain alone accuses nobody.

use std::path::PathBuf;

use serde_json::Value;
use tokio::process::Command;

use super::Report;
use crate::binaries;

/// Audits the operator, and counts anything but "everything holds" as a mismatch.
pub(super) async fn audits(rpc_url: &str, operator: &str, rounds: &[u64]) -> Report {
    let mut audit = Command::new(binaries::relayer());
    // In another folder than any configuration.
    audit.current_dir(std::env::temp_dir()).env_remove("PURSER_CONFIG").kill_on_drop(true);
    audit.args(["audit", "--url", rpc_url, "--operator", operator, "--json"]);
    let output = audit.output().await.expect("the relayer's binary starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let verdict = serde_json::from_str::<Value>(printed.trim()).unwrap_or_default();
    let mut report = Report::default();
    report.met.insert("audit of a network".to_owned(), 1);
    let payments = verdict["totals"]["payments"].as_u64().unwrap_or_default();
    report.met.insert("payment audited".to_owned(), payments);
    if !output.status.success() {
        report.mismatches = 1;
        let kept = keeps(&output.stdout, rounds);
        let complaint = String::from_utf8_lossy(&output.stderr);
        report.failures.push(format!(
            "the audit after rounds {rounds:?} ends with {}: {complaint}its report: {}",
            output.status,
            kept.display()
        ));
    }
    report
}

/// Keeps the report of an audit that accuses, and says where.
fn keeps(report: &[u8], rounds: &[u64]) -> PathBuf {
    let first = rounds.first().copied().unwrap_or_default();
    let kept = std::env::temp_dir().join(format!("purser-crash-audit-{}-{first}.json", std::process::id()));
    let _ = std::fs::write(&kept, report);
    kept
}
