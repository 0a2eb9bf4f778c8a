//! Refusals leave no trace on the chain. Where the relayer signs them, its history has to name the same ones.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use purser_policy::UsdcAmount;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::api::{WireDenial, WireEntry};
use crate::check::Check;
use crate::replay::{Mismatch, Outcome};

/// A refusal is signed within seconds, and both lists are read one after the other.
const SIGNED_WITHIN_SECONDS: i64 = 20;

/// Amount, message and time of a refusal, in words.
type Words = (String, Option<String>, String);

/// `listed`: one account's history.
pub(super) fn compare(
    agent: Pubkey,
    id: &str,
    listed: &[WireEntry],
    denials: &[WireDenial],
    outcome: &mut Outcome,
) {
    let mut shown: BTreeMap<&str, Words> = BTreeMap::new();
    for entry in listed.iter().filter(|entry| entry.status == "rejected") {
        let words = (entry.amount_usdc.clone(), entry.message.clone(), entry.created_at.clone());
        shown.insert(entry.transfer_id.as_deref().unwrap_or_default(), words);
    }
    let mut signed: BTreeMap<&str, Words> = BTreeMap::new();
    for WireDenial { denial } in denials.iter().filter(|it| it.denial.account_id == id) {
        let micros = denial.amount_micro_usdc.parse().unwrap_or_default();
        let amount = UsdcAmount::from_micros(micros).to_string();
        signed
            .insert(&denial.transfer_id, (amount, Some(denial.message.clone()), denial.rejected_at.clone()));
    }
    let latest = listed.iter().map(|entry| entry.created_at.as_str());
    let latest =
        latest.chain(denials.iter().map(|it| it.denial.rejected_at.as_str())).filter_map(seconds).max();
    let is_fresh = |(_, _, at): &Words| {
        seconds(at).zip(latest).is_some_and(|(at, latest)| at > latest - SIGNED_WITHIN_SECONDS)
    };
    let mut texts = Vec::new();
    for (transfer, words) in &shown {
        match signed.get(transfer) {
            None if !is_fresh(words) => texts
                .push(format!("The relayer's history has the refusal {transfer}, which it never signed.")),
            None => {}
            Some(said) if said != words => texts.push(format!(
                "The relayer's history says of the refusal {transfer}: {}; it signed: {}.",
                shown_as(words),
                shown_as(said)
            )),
            Some(_) => {}
        }
    }
    for (transfer, words) in signed.iter().filter(|(transfer, _)| !shown.contains_key(*transfer)) {
        if !is_fresh(words) {
            texts.push(format!("The relayer's history lacks the refusal {transfer}, which it signed."));
        }
    }
    *outcome.examined.entry(Check::History).or_default() += (shown.len() + signed.len()) as u64;
    outcome.mismatches.extend(texts.into_iter().map(|text| Mismatch {
        check: Check::History,
        account: Some(agent),
        place: None,
        text,
    }));
}

fn shown_as((amount, message, at): &Words) -> String {
    format!("{amount} USDC, {:?}, at {at}", message.as_deref().unwrap_or_default())
}

fn seconds(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "acct_1";

    fn listed(transfer: &str, amount: &str, second: u32) -> Value {
        let at = format!("2026-01-01T00:00:{second:02}.5Z");
        json!({ "type": "transfer", "status": "rejected", "amount_usdc": amount, "transfer_id": transfer,
            "message": "no", "created_at": at, "visible_at": at })
    }

    fn signed(transfer: &str, micros: &str, second: u32) -> Value {
        json!({ "denial": { "account_id": ID, "amount_micro_usdc": micros, "message": "no", "transfer_id": transfer,
            "rejected_at": format!("2026-01-01T00:00:{second:02}.5Z") } })
    }

    fn found(history: Value, denials: Value) -> String {
        let mut outcome = Outcome::default();
        let history: Vec<WireEntry> = serde_json::from_value(history).expect("a history");
        let denials: Vec<WireDenial> = serde_json::from_value(denials).expect("denials");
        compare(Pubkey::default(), ID, &history, &denials, &mut outcome);
        outcome.mismatches.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn refusals_that_were_dropped_invented_or_changed_are_named_and_fresh_ones_are_not() {
        let two = [listed("txn_1", "1.000000", 1), listed("txn_2", "2.000000", 2)];
        let both = [signed("txn_1", "1000000", 1), signed("txn_2", "2000000", 2)];
        assert_eq!(found(json!(two), json!(both)), "");
        let later = |list: &[Value], one: Value| json!([list, &[one]].concat());
        let dropped = found(
            later(&two[1..], listed("txn_9", "1.000000", 40)),
            later(&both, signed("txn_9", "1000000", 40)),
        );
        assert_eq!(dropped, "The relayer's history lacks the refusal txn_1, which it signed.");
        let invented = found(
            later(&two, listed("txn_9", "1.000000", 40)),
            later(&both[1..], signed("txn_9", "1000000", 40)),
        );
        assert_eq!(invented, "The relayer's history has the refusal txn_1, which it never signed.");
        let changed = found(json!([listed("txn_1", "1.500000", 1)]), json!([signed("txn_1", "1000000", 1)]));
        assert!(changed.contains("says of the refusal txn_1: 1.500000 USDC"), "{changed}");
        // Signed a moment later.
        assert_eq!(found(json!(two), json!(both[..1])), "");
    }
}
