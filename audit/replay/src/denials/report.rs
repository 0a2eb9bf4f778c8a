//! The result of an audit of denials, as data and as text.

use std::fmt::{Result as Written, Write};

use anchor_lang::prelude::Pubkey;
use serde::Serialize;

use super::heads::{Head, HeadsOnChain};
use super::{Contents, DenialFinding, Kind};

#[derive(Debug, Clone, Serialize)]
pub struct DenialsReport {
    pub holds: bool,
    /// False: a node was asked, and has no head.
    pub complete: bool,
    pub verdict: String,
    pub operator: Option<String>,
    pub network: Option<String>,
    pub lines: u64,
    pub last_number: u64,
    pub keys: Vec<String>,
    /// Whether the caller gave the keys, rather than the file.
    pub keys_are_stated: bool,
    pub findings: Vec<DenialFinding>,
    /// `None`: no node was asked.
    pub heads: Option<Vec<Head>>,
    /// Denials after the last head.
    pub after_last_head: Option<u64>,
    pub remarks: Vec<String>,
}

pub(super) fn build(
    contents: &Contents,
    findings: Vec<DenialFinding>,
    found: Option<HeadsOnChain>,
) -> DenialsReport {
    let last_number = contents.good.iter().map(|one| one.signed.number).max().unwrap_or(0);
    let keys: Vec<String> = contents.keys.keys.iter().map(Pubkey::to_string).collect();
    let mut remarks = Vec::new();
    if !contents.keys.are_stated {
        remarks.push(match keys.first() {
            Some(key) => format!(
                "No key was stated, so that of the first good line was taken: {key}. Whoever signed all lines anew is not \
                 found by that. Ask for the key elsewhere, and state it with --denials-key"
            ),
            None => "No key was stated, and no line is good by the key that it names".to_owned(),
        });
    }
    let (complete, after_last_head) = match &found {
        None => {
            remarks.push(
                "No node was asked: a file whose end was cut off, and a chain that the holder of its key signed anew, look \
                 well. --url compares with Solana"
                    .to_owned(),
            );
            (true, None)
        }
        Some(found) => {
            let last = found.heads.iter().map(|head| head.number).max();
            let after = last.map_or(last_number, |last| last_number.saturating_sub(last));
            remarks.push(match last {
                Some(last) => format!(
                    "{} heads of {} on {}, the last of denial {last}. {after} denials are behind it: of those, a cut end or a \
                     new signing shows only once the next head is there",
                    found.heads.len(),
                    found.signers(),
                    found.host
                ),
                None => format!("{} has signed no head of this chain on {}", found.signers(), found.host),
            });
            (last.is_some() || last_number == 0, Some(after))
        }
    };
    let holds = findings.is_empty();
    let verdict = match (holds, complete) {
        (false, _) => format!("DOES NOT HOLD: {}", counts(&findings)),
        (true, false) => "What could be checked holds. Solana has nothing to compare with.".to_owned(),
        (true, true) => format!("Everything that was checked holds. {} denials.", contents.good.len()),
    };
    DenialsReport {
        holds,
        complete,
        verdict,
        operator: contents.owner.operator().map(|operator| operator.to_string()),
        network: contents.owner.network().map(str::to_owned),
        lines: contents.lines,
        last_number,
        keys,
        keys_are_stated: contents.keys.are_stated,
        findings,
        heads: found.map(|found| found.heads),
        after_last_head,
        remarks,
    }
}

fn counts(findings: &[DenialFinding]) -> String {
    const ALL: [Kind; 8] = [
        Kind::Deleted,
        Kind::Moved,
        Kind::Edited,
        Kind::Added,
        Kind::SignedTwice,
        Kind::DoesNotFollow,
        Kind::Rewritten,
        Kind::Untrue,
    ];
    let of = |kind: Kind| {
        let each = findings.iter().filter(|finding| finding.kind == kind);
        let count: u64 = each.map(DenialFinding::count).sum();
        (count > 0).then(|| format!("{count} {}", kind.words()))
    };
    ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Moved => "moved",
            Self::Edited => "edited",
            Self::Added => "added",
            Self::SignedTwice => "signed twice",
            Self::DoesNotFollow => "not following",
            Self::Rewritten => "rewritten",
            Self::Untrue => "untrue",
        }
    }
}

impl DenialFinding {
    fn count(&self) -> u64 {
        match (self.number, self.through) {
            (Some(first), Some(last)) => last.saturating_sub(first).saturating_add(1),
            (None | Some(_), None) | (None, Some(_)) => 1,
        }
    }
}

/// The report for a terminal.
pub fn denials_text(report: &DenialsReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &DenialsReport) -> Written {
    writeln!(out, "{}\n", report.verdict)?;
    let none = || "unknown".to_owned();
    writeln!(out, "operator       {}", report.operator.clone().unwrap_or_else(none))?;
    writeln!(out, "lines          {}, up to denial {}", report.lines, report.last_number)?;
    writeln!(out, "signed by      {}", report.keys.join(", "))?;
    if !report.findings.is_empty() {
        writeln!(out)?;
    }
    for finding in &report.findings {
        let number = match (finding.number, finding.through) {
            (Some(first), Some(last)) => format!("denials {first} to {last}"),
            (Some(number), None) => format!("denial {number}"),
            (None, _) => "no denial".to_owned(),
        };
        let line = finding.line.map_or(String::new(), |line| format!(", line {line}"));
        let transfer = finding.transfer_id.as_ref().map_or(String::new(), |id| format!(", {id}"));
        writeln!(out, "  ! {}: {number}{transfer}{line}: {}", finding.kind.words(), finding.text)?;
    }
    writeln!(out)?;
    for remark in &report.remarks {
        writeln!(out, "  - {remark}")?;
    }
    Ok(())
}
