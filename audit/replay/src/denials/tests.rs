use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use ulid::Ulid;

use super::*;
use crate::archive::Memory;

const OPERATOR: Pubkey = Pubkey::new_from_array([5; 32]);

fn transfer_of(number: u64) -> String {
    format!("txn_{}", Ulid::from_parts(1_800_000_000_000 + number, u128::from(number)))
}

/// The document of a denial that follows the one with this hash, as a relayer writes it.
fn document(key: &Keypair, number: u64, previous: [u8; 32]) -> Value {
    json!({
        "account": Pubkey::new_from_array([4; 32]).to_string(), "account_id": "acct_0000000000000000000000000A",
        "amount_micro_usdc": (number * 7).to_string(), "key": key.pubkey().to_string(), "network": "test",
        "message": "12.5 is above \"max_single_transfer\"", "number": number, "operator": OPERATOR.to_string(),
        "operator_id": "op_00000000000000000000000001", "previous_sha256": hex::encode(previous),
        "previous_transfer_id": (number > 1).then(|| transfer_of(number - 1)), "reason": "single_limit_exceeded",
        "checks": [{ "limit_micro_usdc": "5000000", "ok": false, "rule": "max_single_transfer", "used_micro_usdc": "0" }],
        "rejected_at": "2027-01-15T08:00:00.000000Z", "requested_at": "2027-01-15T08:00:00.000000Z",
        "to": Pubkey::new_from_array([9; 32]).to_string(), "transfer_id": transfer_of(number), "version": 1,
    })
}

fn signed(key: &Keypair, document: &Value) -> String {
    let signature = key.sign_message(document.to_string().as_bytes());
    json!({ "denial": document, "signature": signature.to_string() }).to_string()
}

fn hash_of(document: &Value) -> [u8; 32] {
    Sha256::digest(document.to_string().as_bytes()).into()
}

/// The lines of a chain, and the hash of its last document.
fn chain(
    key: &Keypair,
    numbers: impl Iterator<Item = u64>,
    mut previous: [u8; 32],
) -> (Vec<String>, [u8; 32]) {
    let mut lines = Vec::new();
    for number in numbers {
        let document = document(key, number, previous);
        previous = hash_of(&document);
        lines.push(signed(key, &document));
    }
    (lines, previous)
}

async fn audited(lines: &[String], keys: &[&Keypair]) -> DenialsReport {
    audited_as(lines, keys, None).await.expect("a report")
}

async fn audited_as(
    lines: &[String],
    keys: &[&Keypair],
    operator: Option<Pubkey>,
) -> Result<DenialsReport, AuditError> {
    let file: Vec<u8> = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    let keys = keys.iter().map(|key| key.pubkey()).collect();
    let archive = Archive::over(Memory::default());
    let inputs = DenialsInputs {
        file: &file,
        keys,
        operator,
        nodes: Vec::new(),
        archive: &archive,
        program: purser::ID,
    };
    audit_denials(inputs, &|_| {}).await
}

/// Kind, number and last number of each finding.
fn findings(report: &DenialsReport) -> Vec<(Kind, Option<u64>, Option<u64>)> {
    report.findings.iter().map(|one| (one.kind, one.number, one.through)).collect()
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("below a usize")
    }
}

/// The line with an edit: any byte, or a field in valid form.
fn edited(line: &str, number: u64, chance: &mut Chance) -> String {
    let swap = |from: String, to: String| {
        assert!(line.contains(&from), "{from}");
        line.replacen(&from, &to, 1)
    };
    match chance.below(8) {
        0 => swap(format!("\"amount_micro_usdc\":\"{}\"", number * 7), "\"amount_micro_usdc\":\"1\"".into()),
        1 => swap(format!("\"number\":{number},"), format!("\"number\":{},", number + 1)),
        2 => swap(",\"version\":1".into(), ", \"version\":1".into()),
        3 => swap("\"denial\":{".into(), "\"denial\":{\"version\":1,".into()),
        4 => swap("\"ok\":false".into(), "\"ok\":true".into()),
        5 => line[..chance.below(line.len())].to_owned(),
        _ => {
            let at = chance.below(line.len());
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
            String::from_utf8(bytes).expect("ASCII")
        }
    }
}

/// Of 10,000 denials, hundreds are deleted, moved and edited: each is reported as what it is, and nothing else is.
#[tokio::test]
async fn of_ten_thousand_each_that_is_deleted_moved_or_edited_is_named_and_nothing_else() {
    const LINES: usize = 10_000;
    const SPOT: usize = 20;
    let key = Keypair::new();
    let (lines, _) = chain(&key, 1..=LINES as u64, [0; 32]);
    let honest = audited(&lines, &[&key]).await;
    assert!(honest.holds && honest.complete && honest.findings.is_empty(), "{:?}", honest.findings);
    assert_eq!((honest.lines, honest.last_number), (LINES as u64, LINES as u64));
    for seed in 1..=4 {
        let mut chance = Chance(seed);
        let mut expected: BTreeSet<(Kind, Option<u64>, Option<u64>)> = BTreeSet::new();
        // The lines at each place of the file afterwards.
        let mut places: Vec<Vec<String>> = lines.iter().map(|line| vec![line.clone()]).collect();
        // At most one change per spot, so that the findings can be predicted.
        let spots = LINES / SPOT;
        let mut is_used = vec![false; spots];
        for spot in 1..spots - 1 {
            if is_used[spot] || chance.below(10) < 2 {
                continue;
            }
            is_used[spot] = true;
            let at = spot * SPOT + 5 + chance.below(5);
            let number = at as u64 + 1;
            match chance.below(3) {
                0 => {
                    let count = 1 + chance.below(4);
                    places[at..at + count].iter_mut().for_each(Vec::clear);
                    let last = number + count as u64 - 1;
                    expected.insert((Kind::Deleted, Some(number), (count > 1).then_some(last)));
                }
                1 => {
                    places[at] = vec![edited(&lines[at], number, &mut chance)];
                    expected.insert((Kind::Edited, Some(number), None));
                }
                _ => {
                    let to = 1 + chance.below(spots - 2);
                    if is_used[to] {
                        continue;
                    }
                    is_used[to] = true;
                    places[at].clear();
                    places[to * SPOT + 10].push(lines[at].clone());
                    expected.insert((Kind::Moved, Some(number), None));
                }
            }
        }
        let spoiled: Vec<String> = places.into_iter().flatten().collect();
        let report = audited(&spoiled, &[&key]).await;
        assert!(!report.holds);
        let found: BTreeSet<_> = findings(&report).into_iter().collect();
        let missed: Vec<_> = expected.difference(&found).collect();
        let more: Vec<_> = found.difference(&expected).collect();
        assert!(missed.is_empty() && more.is_empty(), "seed {seed}: missed {missed:?}, made up {more:?}");
        assert_eq!(report.findings.len(), expected.len(), "each once");
        assert!(expected.len() > 300, "{}", expected.len());
        for finding in &report.findings {
            let last = finding.through.or(finding.number).expect("a number");
            if finding.kind != Kind::Edited {
                assert_eq!(finding.transfer_id, Some(transfer_of(last)), "{finding:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cut_beginning_is_missing_and_a_cut_end_cannot_be_seen_without_a_node() {
    let key = Keypair::new();
    let (lines, _) = chain(&key, 1..=9, [0; 32]);
    assert_eq!(findings(&audited(&lines[3..], &[&key]).await), [(Kind::Deleted, Some(1), Some(3))]);
    let cut = audited(&lines[..6], &[&key]).await;
    assert!(cut.holds, "{:?}", cut.findings);
    assert!(cut.remarks.iter().any(|remark| remark.contains("end was cut off")), "{:?}", cut.remarks);
    let head = |number: u64, hash: [u8; 32]| Head {
        number,
        sha256: hex::encode(hash),
        slot: 7,
        block_time: None,
        signature: "signature".into(),
        hash,
    };
    let good = |lines: &[String]| {
        let (mut keys, mut owner) = (Keys::new(vec![key.pubkey()]), FileOwner::new(None));
        let read = |(at, line): (usize, &String)| match line::read(line.as_bytes(), &mut keys, &mut owner) {
            Read::Good(signed) => Good { line: at as u64 + 1, signed },
            Read::Spoiled(_) | Read::Newer => panic!("{line}"),
        };
        lines.iter().enumerate().map(read).collect::<Vec<_>>()
    };
    let all = good(&lines);
    let heads = [head(9, all[8].signed.hash), head(4, all[3].signed.hash)];
    assert!(judge(&all, &[], &heads).is_empty());
    let found = judge(&all[..6], &[], &heads);
    assert_eq!((found[0].kind, found[0].number, found[0].through), (Kind::Deleted, Some(7), Some(9)));
    // The holder of the key re-signs the chain from the fifth on: signatures cannot show that, but the head does.
    let anew: Vec<String> = {
        let mut previous = all[3].signed.hash;
        let mut lines = lines[..4].to_vec();
        for number in 5..=9 {
            let mut document = document(&key, number, previous);
            document["amount_micro_usdc"] = "1".into();
            previous = hash_of(&document);
            lines.push(signed(&key, &document));
        }
        lines
    };
    assert!(audited(&anew, &[&key]).await.holds);
    let found = judge(&good(&anew), &[], &heads);
    assert_eq!(
        found.iter().map(|one| (one.kind, one.number)).collect::<Vec<_>>(),
        [(Kind::Rewritten, Some(9))]
    );
}

#[tokio::test]
async fn who_lacks_the_key_signs_nothing_anew() {
    let (key, thief) = (Keypair::new(), Keypair::new());
    let (lines, _) = chain(&key, 1..=5, [0; 32]);
    let (all_anew, _) = chain(&thief, 1..=5, [0; 32]);
    let edited: Vec<_> = (1..=5).map(|number| (Kind::Edited, Some(number), None)).collect();
    assert_eq!(findings(&audited(&all_anew, &[&key]).await), edited);
    // Without a given key that goes unnoticed, and the report says so.
    let unstated = audited(&all_anew, &[]).await;
    assert!(unstated.holds && !unstated.keys_are_stated);
    assert!(unstated.remarks.iter().any(|remark| remark.contains("--denials-key")), "{:?}", unstated.remarks);
    let mut one_anew = lines.clone();
    one_anew[2] = all_anew[2].clone();
    for keys in [&[&key][..], &[]] {
        assert_eq!(findings(&audited(&one_anew, keys).await), [(Kind::Edited, Some(3), None)]);
    }
    // A key that was replaced: both are given.
    let (first, hash) = chain(&key, 1..=3, [0; 32]);
    let (second, _) = chain(&thief, 4..=6, hash);
    let both = [first, second].concat();
    assert!(audited(&both, &[&key, &thief]).await.holds);
    assert_eq!(findings(&audited(&both, &[&key]).await).len(), 3);
}

#[tokio::test]
async fn what_the_holder_of_the_key_signed_twice_or_out_of_the_chain_is_named() {
    let key = Keypair::new();
    let (lines, _) = chain(&key, 1..=6, [0; 32]);
    let other = signed(&key, &document(&key, 4, [1; 32]));
    let mut twice = lines.clone();
    twice.push(other.clone());
    assert_eq!(findings(&audited(&twice, &[&key]).await), [(Kind::SignedTwice, Some(4), None)]);
    let mut instead = lines.clone();
    instead[3] = other;
    let neighbours = [(Kind::DoesNotFollow, Some(4), None), (Kind::DoesNotFollow, Some(5), None)];
    assert_eq!(findings(&audited(&instead, &[&key]).await), neighbours);
    let mut copied = lines.clone();
    copied.insert(5, lines[1].clone());
    assert_eq!(findings(&audited(&copied, &[&key]).await), [(Kind::Added, Some(2), None)]);
    let mut first = lines;
    first[0] = signed(&key, &document(&key, 1, [1; 32]));
    let unrooted = audited(&first[..1], &[&key]).await;
    assert_eq!(findings(&unrooted), [(Kind::DoesNotFollow, Some(1), None)]);
}

#[tokio::test]
async fn lines_of_others_and_no_lines_at_all_stand_for_nothing() {
    let key = Keypair::new();
    let (lines, _) = chain(&key, 1..=4, [0; 32]);
    let mut theirs = document(&key, 2, [0; 32]);
    theirs["operator"] = Pubkey::new_from_array([6; 32]).to_string().into();
    let theirs = signed(&key, &theirs);
    for strange in
        [theirs.as_str(), "", "{}", "null", "[]", "\u{0}", &"x".repeat(200_000), &"[".repeat(50_000)]
    {
        let mut added = lines.clone();
        added.insert(2, strange.to_owned());
        assert_eq!(findings(&audited(&added, &[&key]).await), [(Kind::Added, None, None)], "{strange:.40}");
    }
    assert!(audited(&[], &[&key]).await.holds);
    let whose = audited_as(&lines, &[&key], Some(Pubkey::new_from_array([6; 32]))).await.expect("a report");
    assert_eq!(findings(&whose), [(Kind::Added, None, None); 4]);
    let mut newer = document(&key, 1, [0; 32]);
    newer["version"] = 2.into();
    let newer = audited_as(&[signed(&key, &newer)], &[&key], None).await;
    assert!(newer.expect_err("unknown").to_string().contains("version"));
}

/// Text can contain terminal escapes: a transfer is shown only if it is an id.
#[tokio::test]
async fn nothing_of_a_spoiled_line_reaches_the_terminal_but_numbers_and_ids() {
    let key = Keypair::new();
    let (mut lines, _) = chain(&key, 1..=3, [0; 32]);
    lines[1] = lines[1].replace(&transfer_of(2), "\\u001b[2J");
    let text = denials_text(&audited(&lines, &[&key]).await);
    assert!(text.contains("edited: denial 2, line 2"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("[2J"), "{text}");
}
