//! A file of signed refusals, checked against its signatures, its chain, the heads that the operator wrote on Solana, and the
//! replay of the operator's past, in which each refusal is decided again. It is read line by line; only the number and the
//! hashes of each line are kept.

mod decide;
mod heads;
mod judge;
mod line;
mod report;

use std::io::BufRead;
use std::path::PathBuf;

use anchor_lang::prelude::Pubkey;
use serde::Deserialize;

pub use self::heads::Head;
pub use self::judge::{DenialFinding, Kind};
pub use self::report::{DenialsReport, denials_text};

use self::decide::{Past, Refusal};
use self::judge::{Good, Spoiled, judge};
use self::line::{FileOwner, Keys, Read};
use crate::AuditError;
use crate::archive::Archive;
use crate::audit::{Keep, replayed};
use crate::gather::{Subject, gather};
use crate::node::Node;
use crate::replay::{KeyRole, Span};

/// A longer line cannot be one of ours.
const LINE_BYTES_MAX: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file of signed refusals, which is read twice.
pub trait Lines: Sync {
    fn open(&self) -> std::io::Result<Box<dyn BufRead + '_>>;

    /// The name of the file for people.
    fn path(&self) -> PathBuf;
}

impl Lines for Vec<u8> {
    fn open(&self) -> std::io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(self.as_slice()))
    }

    fn path(&self) -> PathBuf {
        "the file".into()
    }
}

/// What an audit of denials is given.
pub struct DenialsInputs<'a> {
    pub file: &'a dyn Lines,
    /// The keys whose signatures count. Empty: the key that the first good line names.
    pub keys: Vec<Pubkey>,
    /// The operator that the denials must belong to. `None`: the one that the first good line names.
    pub operator: Option<Pubkey>,
    /// Nodes with the operator's past, and the heads. Empty: the file alone is checked.
    pub nodes: Vec<Node>,
    /// What was read of that past already, and where more is kept.
    pub archive: &'a Archive,
    /// The program that the operator belongs to.
    pub program: Pubkey,
}

/// The contents of a file.
struct Contents {
    lines: u64,
    good: Vec<Good>,
    spoiled: Vec<Spoiled>,
    keys: Keys,
    owner: FileOwner,
}

/// Reads the file, asks nodes for the past if there are any, and reports.
pub async fn audit_denials(
    inputs: DenialsInputs<'_>,
    tell: &(dyn Fn(String) + Sync),
) -> Result<DenialsReport, AuditError> {
    let DenialsInputs { file, keys, operator, nodes, archive, program } = inputs;
    let contents = read(file, Keys::new(keys), FileOwner::new(operator))?;
    if nodes.is_empty() {
        let findings = judge(&contents.good, &contents.spoiled, &[]);
        return Ok(report::build(&contents, findings, None));
    }
    let operator = contents.owner.operator().ok_or_else(|| {
        let none = "no line of the file names an operator: name it with --operator";
        AuditError::Refused(none.into())
    })?;
    gather(&nodes, archive, program, Subject::Operator(operator), tell).await?;
    let (scope, outcome) = replayed(archive, Keep::Policies, tell).await?;
    let authorities = outcome.roles.iter().filter(|span| span.what.0 == KeyRole::PolicyAuthority);
    let authorities: Vec<Span<Pubkey>> = authorities
        .map(|span| Span { what: span.what.1, from: span.from.clone(), until: span.until.clone() })
        .collect();
    let found = heads::find(&nodes, &authorities, &operator).await?;
    let mut findings = judge(&contents.good, &contents.spoiled, &found.heads);
    let past = Past::new(scope.at, scope.account_ids, scope.manifest.until_time, outcome);
    findings.extend(decided_again(file, &contents.good, &past)?);
    findings.sort_by_key(|finding| (finding.number, finding.line, finding.kind));
    Ok(report::build(&contents, findings, Some(found)))
}

/// What the chain contradicts of the good lines, which are read once more.
fn decided_again(file: &dyn Lines, good: &[Good], past: &Past) -> Result<Vec<DenialFinding>, AuditError> {
    let failed = |cause| AuditError::File { path: file.path(), cause };
    let mut reader = opened(file).map_err(failed)?;
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

fn read(file: &dyn Lines, mut keys: Keys, mut owner: FileOwner) -> Result<Contents, AuditError> {
    let failed = |cause| AuditError::File { path: file.path(), cause };
    let mut reader = opened(file).map_err(failed)?;
    let (mut lines, mut good, mut spoiled) = (0, Vec::new(), Vec::new());
    // Lines with nothing in them at the end of the file: none of it.
    let (mut bytes, mut empty) = (Vec::new(), 0);
    while next_line(&mut reader, &mut bytes).map_err(failed)? {
        lines += 1;
        empty = if bytes.is_empty() { empty + 1 } else { 0 };
        match line::read(&bytes, &mut keys, &mut owner) {
            Read::Good(signed) => good.push(Good { line: lines, signed }),
            Read::Spoiled(claims) => spoiled.push(Spoiled { line: lines, claims }),
            Read::Newer => {
                let why = format!("line {lines} is of a version that this build does not know");
                return Err(AuditError::Unreadable { path: file.path(), why });
            }
        }
    }
    spoiled.truncate(spoiled.len().saturating_sub(empty));
    lines -= empty as u64;
    Ok(Contents { lines, good, spoiled, keys, owner })
}

/// A file without the mark that some editors put before its first line.
fn opened(file: &dyn Lines) -> std::io::Result<Box<dyn BufRead + '_>> {
    let mut reader = file.open()?;
    if reader.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    Ok(reader)
}

/// Reads a line without its end, of any system. Of a line that is too long, it reads just enough to show that. False: there is none.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut is_there = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            line.pop_if(|last| *last == b'\r');
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
            line.pop_if(|last| *last == b'\r');
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests;
