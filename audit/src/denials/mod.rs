//! A file of signed refusals, checked against its signatures, its chain, the heads that the operator wrote on Solana, and the
//! replay of the operator's past, in which each refusal is decided again. It is read line by line; only the number and the
//! hashes of each line are kept.

mod decide;
mod heads;
mod judge;
mod line;
mod report;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use anchor_lang::prelude::Pubkey;
use reqwest::Url;
use serde::Deserialize;

pub use self::heads::Head;
pub use self::judge::{DenialFinding, Kind};
pub use self::report::{DenialsReport, denials_text};

use self::decide::{Past, Refusal};
use self::judge::{Good, Spoiled, judge};
use self::line::{Keys, Read, Whose};
use crate::AuditError;
use crate::audit::{Keep, gathered, replayed};
use crate::gather::Subject;
use crate::node::Node;
use crate::replay::{KeyRole, Span};

/// A longer line cannot be one of ours.
const LINE_BYTES_MAX: usize = 64 * 1024;

pub struct DenialsRequest {
    pub file: PathBuf,
    /// The keys whose signatures count. Empty: the key that the first good line names.
    pub keys: Vec<Pubkey>,
    /// The operator that the denials must belong to. `None`: the one that the first good line names.
    pub operator: Option<Pubkey>,
    /// Nodes with the operator's past, and the heads. Empty: the file alone is checked.
    pub nodes: Vec<Url>,
    /// Saves what was read of that past here, and goes on from it.
    pub save: Option<PathBuf>,
    /// The program that the operator belongs to.
    pub program: Pubkey,
}

/// The contents of a file.
struct Contents {
    lines: u64,
    good: Vec<Good>,
    spoiled: Vec<Spoiled>,
    keys: Keys,
    whose: Whose,
}

/// Reads the file, asks nodes for the past if there are any, and reports.
pub async fn audit_denials(
    request: DenialsRequest,
    tell: &(dyn Fn(String) + Sync),
) -> Result<DenialsReport, AuditError> {
    let DenialsRequest { file, keys, operator, nodes, save, program } = request;
    let contents = read(&file, Keys::new(keys), Whose::new(operator))?;
    if nodes.is_empty() {
        let findings = judge(&contents.good, &contents.spoiled, &[]);
        return Ok(report::build(&contents, findings, None));
    }
    let operator = contents.whose.operator().ok_or_else(|| {
        let none = "no line of the file names an operator: name it with --operator";
        AuditError::Refused(none.into())
    })?;
    let nodes = nodes.into_iter().map(Node::at).collect::<Result<Vec<_>, _>>()?;
    let (archive, _unsaved) = gathered(&nodes, program, Subject::Operator(operator), save, tell).await?;
    let (scope, outcome) = replayed(&archive, Keep::Policies, tell)?;
    let authorities = outcome.roles.iter().filter(|span| span.what.0 == KeyRole::PolicyAuthority);
    let authorities: Vec<Span<Pubkey>> = authorities
        .map(|span| Span { what: span.what.1, from: span.from.clone(), until: span.until.clone() })
        .collect();
    let found = heads::find(&nodes, &authorities, &operator).await?;
    let mut findings = judge(&contents.good, &contents.spoiled, &found.heads);
    let past = Past::new(scope.at, scope.account_ids, scope.manifest.until_time, outcome);
    findings.extend(decided_again(&file, &contents.good, &past)?);
    findings.sort_by_key(|finding| (finding.number, finding.line, finding.kind));
    Ok(report::build(&contents, findings, Some(found)))
}

/// What the chain contradicts of the good lines, which are read once more.
fn decided_again(path: &PathBuf, good: &[Good], past: &Past) -> Result<Vec<DenialFinding>, AuditError> {
    let failed = |cause| AuditError::File { path: path.clone(), cause };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let (mut line, mut bytes, mut findings) = (0, Vec::new(), Vec::new());
    while next_line(&mut reader, &mut bytes).map_err(failed)? {
        line += 1;
        let Ok(at) = good.binary_search_by_key(&line, |one| one.line) else { continue };
        let text = match serde_json::from_slice::<RefusalLine>(&bytes) {
            Ok(RefusalLine { denial }) => past.contradicts(&denial),
            Err(_) => Some("it lacks what a refusal says".to_owned()),
        };
        findings.extend(text.map(|text| judge::at_line(Kind::Untrue, &good[at], text)));
    }
    Ok(findings)
}

#[derive(Deserialize)]
struct RefusalLine {
    denial: Refusal,
}

fn read(path: &PathBuf, mut keys: Keys, mut whose: Whose) -> Result<Contents, AuditError> {
    let failed = |cause| AuditError::File { path: path.clone(), cause };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let (mut lines, mut good, mut spoiled) = (0, Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    while next_line(&mut reader, &mut bytes).map_err(failed)? {
        lines += 1;
        match line::read(&bytes, &mut keys, &mut whose) {
            Read::Good(signed) => good.push(Good { line: lines, signed }),
            Read::Spoiled(claims) => spoiled.push(Spoiled { line: lines, claims }),
            Read::Newer => {
                let why = format!("line {lines} is of a version that this build does not know");
                return Err(AuditError::Unreadable { path: path.clone(), why });
            }
        }
    }
    Ok(Contents { lines, good, spoiled, keys, whose })
}

/// Reads a line without its end. Of a line that is too long, it reads just enough to show that. False: there is none.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut is_there = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        let room = (LINE_BYTES_MAX + 1).saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests;
