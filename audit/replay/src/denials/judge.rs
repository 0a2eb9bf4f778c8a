//! What is wrong with a file of denials: which lines were deleted, moved, edited or added, where its chain breaks, and which
//! head on Solana contradicts it. Reads no file and no node.

use std::collections::BTreeSet;

use serde::Serialize;
use ulid::Ulid;

use super::heads::Head;
use super::line::{Claims, SignedLine};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Missing denials.
    Deleted,
    /// A denial in another place than its number says.
    Moved,
    /// A line that differs from what was signed.
    Edited,
    /// A line that stands for no denial: a copy, or something that was never signed.
    Added,
    /// The key signed two denials with one number.
    SignedTwice,
    /// The key signed a denial that does not name the one before it in this file.
    DoesNotFollow,
    /// Solana has another denial with this number.
    Rewritten,
    /// The chain shows that it is not so.
    Untrue,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DenialFinding {
    pub kind: Kind,
    pub number: Option<u64>,
    /// The last of several in a row.
    pub through: Option<u64>,
    /// If it is known; for several, that of the last.
    pub transfer_id: Option<String>,
    /// Counted from 1.
    pub line: Option<u64>,
    pub text: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Good {
    pub line: u64,
    pub signed: SignedLine,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Spoiled {
    pub line: u64,
    pub claims: Claims,
}

/// Judges good and spoiled lines, in the order of the file. Findings are sorted by number, then by line.
pub(super) fn judge(good: &[Good], spoiled: &[Spoiled], heads: &[Head]) -> Vec<DenialFinding> {
    let kept = in_order(good);
    let mut findings = Vec::new();
    let chain = chain_of(good, &kept, &mut findings);
    let in_place: Vec<&Good> =
        good.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(one, _)| one).collect();
    let last_on_chain = heads.iter().map(|head| head.number).max().unwrap_or(0);
    let stood_for = places_of(spoiled, &chain, &in_place, (good.len() + spoiled.len(), last_on_chain));
    for (one, number) in spoiled.iter().zip(&stood_for) {
        findings.push(of_spoiled(one, *number));
    }
    let numbers = stood_for.into_iter().flatten().collect();
    findings.extend(gaps(&chain, numbers, last_on_chain));
    for head in heads {
        let there = chain.binary_search_by_key(&head.number, |one| one.signed.number);
        if let Some(one) = there.ok().map(|at| chain[at]).filter(|one| one.signed.hash != head.hash) {
            let mut text = format!(
                "Solana has another denial {} since slot {}, with SHA-256 {} ({})",
                head.number, head.slot, head.sha256, head.signature
            );
            if let Some(own) =
                heads.iter().find(|own| own.number == head.number && own.hash == one.signed.hash)
            {
                text += &format!(
                    "; the head of slot {} is this one ({}): whoever signs heads has written both",
                    own.slot, own.signature
                );
            }
            findings.push(at_line(Kind::Rewritten, one, text));
        }
    }
    findings.sort_by_key(|finding| (finding.number, finding.line, finding.kind));
    findings
}

/// Keeps the longest run of lines whose numbers rise; every other line was moved.
fn in_order(good: &[Good]) -> Vec<bool> {
    // For each length, the line with the lowest number that ends a rising run of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(good.len());
    for (at, one) in good.iter().enumerate() {
        let length = ends.partition_point(|end| good[*end].signed.number < one.signed.number);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut kept = vec![false; good.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        kept[at] = true;
        next = before[at];
    }
    kept
}

/// One line per number, sorted by number. Adds findings for moved and added lines, and where the chain breaks.
fn chain_of<'a>(good: &'a [Good], kept: &[bool], findings: &mut Vec<DenialFinding>) -> Vec<&'a Good> {
    let mut all: Vec<(&Good, bool)> = good.iter().zip(kept.iter().copied()).collect();
    all.sort_by_key(|(one, kept)| (one.signed.number, !kept, one.line));
    let mut chain: Vec<&Good> = Vec::with_capacity(all.len());
    for (one, kept) in all {
        let number = one.signed.number;
        match chain.last() {
            Some(last) if last.signed.number == number && last.signed.hash == one.signed.hash => {
                findings.push(at_line(Kind::Added, one, format!("it is a copy of line {}", last.line)));
            }
            Some(last) if last.signed.number == number => {
                let text = format!("the key signed another denial {number} too, on line {}", last.line);
                findings.push(at_line(Kind::SignedTwice, one, text));
            }
            Some(_) | None => {
                if !kept {
                    let text = "it is not at the place that its number says".to_owned();
                    findings.push(at_line(Kind::Moved, one, text));
                }
                let before = chain.last().map_or((0, [0; 32]), |last| (last.signed.number, last.signed.hash));
                if before.0.checked_add(1) == Some(number) && one.signed.previous != before.1 {
                    let text = "its hash of the previous denial does not match, and the key signed both";
                    findings.push(at_line(Kind::DoesNotFollow, one, text.to_owned()));
                }
                chain.push(one);
            }
        }
    }
    chain
}

/// The number that each spoiled line had before it was edited: the number that it claims, if that one is missing there;
/// otherwise one that its neighbours leave free; behind the last good line, one that Solana has. `None`: it stands for no
/// denial.
fn places_of(
    spoiled: &[Spoiled],
    chain: &[&Good],
    in_place: &[&Good],
    (lines, last_on_chain): (usize, u64),
) -> Vec<Option<u64>> {
    let is_there = |number: u64| chain.binary_search_by_key(&number, |one| one.signed.number).is_ok();
    let last = chain.last().map_or(0, |one| one.signed.number);
    // The numbers of the good lines around a line.
    let between = |line: u64| {
        let at = in_place.partition_point(|one| one.line < line);
        let number = |one: &&Good| one.signed.number;
        (at.checked_sub(1).and_then(|at| in_place.get(at)).map_or(0, number), in_place.get(at).map(number))
    };
    let mut taken: BTreeSet<u64> = BTreeSet::new();
    let mut places = vec![None; spoiled.len()];
    for pass in 0..4 {
        // Where the search for a free number began, and where it continues.
        let (mut began, mut goes_on) = (0, 1);
        let open =
            spoiled.iter().zip(&mut places).filter(|(one, place)| place.is_none() && !one.claims.is_foreign);
        for (one, place) in open {
            let (low, high) = between(one.line);
            if low != began {
                (began, goes_on) = (low, low.saturating_add(1));
            }
            let is_free = |number: &u64| *number > 0 && !is_there(*number) && !taken.contains(number);
            let within = |number: &u64| match high {
                Some(high) => low < *number && *number < high,
                // Behind the last good line, a claimed number is plausible if the file has room for it.
                None => low < *number && number.saturating_sub(low) <= lines as u64,
            };
            // There cannot be more taken numbers than lines.
            let first_free = |high: u64| (goes_on..high).take(lines + 1).find(is_free);
            *place = match pass {
                0 => one.claims.number.filter(|number| within(number) && is_free(number)),
                1 => high.and_then(first_free),
                2 => one.claims.number.filter(|number| *number < last && is_free(number)),
                _ => high.is_none().then(|| first_free(last_on_chain.saturating_add(1))).flatten(),
            };
            if let (1 | 3, Some(number)) = (pass, *place) {
                goes_on = number.saturating_add(1);
            }
            taken.extend(*place);
        }
    }
    places
}

fn of_spoiled(one: &Spoiled, number: Option<u64>) -> DenialFinding {
    let kind = if number.is_some() { Kind::Edited } else { Kind::Added };
    DenialFinding {
        kind,
        number,
        through: None,
        transfer_id: one.claims.transfer.map(transfer_id),
        line: Some(one.line),
        text: one.claims.why.to_owned(),
    }
}

/// The missing numbers, up to the last one in the file or on Solana.
fn gaps(chain: &[&Good], stood_for: BTreeSet<u64>, last_on_chain: u64) -> Vec<DenialFinding> {
    let mut numbers: Vec<u64> = chain.iter().map(|one| one.signed.number).chain(stood_for).collect();
    numbers.sort_unstable();
    let last = numbers.last().copied().unwrap_or(0);
    numbers.extend((last_on_chain > last).then(|| last_on_chain.saturating_add(1)));
    let mut expected = 1;
    let mut findings = Vec::new();
    for number in numbers {
        if number > expected {
            let next =
                chain.binary_search_by_key(&number, |one| one.signed.number).ok().map(|at| &chain[at].signed);
            findings.push(deleted(expected, number - 1, next, number > last));
        }
        expected = number.saturating_add(1);
    }
    findings
}

fn deleted(first: u64, last: u64, next: Option<&SignedLine>, is_cut_off: bool) -> DenialFinding {
    let mut text = match (is_cut_off, first == last) {
        (true, _) => "the end of the file is missing: Solana has the head of it".to_owned(),
        (false, true) => "it is missing".to_owned(),
        (false, false) => format!("{} in a row are missing", (last - first).saturating_add(1)),
    };
    if let Some(next) = next {
        let which = if first == last { "it" } else { "the last" };
        text += &format!("; {which} has SHA-256 {}, as the one after names it", hex::encode(next.previous));
    }
    DenialFinding {
        kind: Kind::Deleted,
        number: Some(first),
        through: (last > first).then_some(last),
        transfer_id: next.and_then(|next| next.previous_transfer).map(transfer_id),
        line: None,
        text,
    }
}

pub(super) fn at_line(kind: Kind, one: &Good, text: String) -> DenialFinding {
    let Good { line, signed } = one;
    DenialFinding {
        kind,
        number: Some(signed.number),
        through: None,
        transfer_id: signed.transfer.map(transfer_id),
        line: Some(*line),
        text,
    }
}

fn transfer_id(ulid: Ulid) -> String {
    format!("txn_{ulid}")
}
