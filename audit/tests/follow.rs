//! What a follower tells of an audit, and of the next one.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser_audit::follow::{Alert, AlertKind, AlertLog, alerts};
use purser_audit::report::{Reference, Report, Upgrade};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use serde_json::json;
use solana_sdk::signature::Keypair;
use support::{PAYEE, Paying, TestChain, audited};

fn kinds(alerts: &[Alert]) -> Vec<AlertKind> {
    alerts.iter().map(|alert| alert.kind).collect()
}

fn tight() -> OnChainPolicy {
    let limit = Limit::AtMost(UsdcAmount::from_micros(10_000_000));
    OnChainPolicy { max_single_transfer: limit, ..OnChainPolicy::default() }
}

fn upgraded(mut report: Report) -> Report {
    let at = Reference { signature: "5igned".into(), slot: 7, time: "then".into(), explorer: None };
    let authority = Some(PAYEE.to_string());
    report.program.upgrades.push(Upgrade { what: "upgraded", authority, at });
    report
}

#[test]
fn what_lies_behind_the_first_audit_is_known_and_what_comes_is_told_once() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut chain = TestChain::new(&tight(), 0);
    let key = chain.policy_key.insecure_clone();
    chain.sets_policy(&OnChainPolicy::default(), &key);
    let first = chain.audited();
    let expected = [AlertKind::PolicyLoosened, AlertKind::AccountCreated, AlertKind::AdminChanged];
    assert_eq!(kinds(&alerts(&first)), expected);
    let mut told = AlertLog::read(folder.path()).expect("the folder is readable");
    assert_eq!(told.new_in(&first).expect("the folder is writable"), []);

    chain.now += 60;
    chain.sets_policy(&tight(), &key);
    chain.now += 60;
    chain.sets_policy(&OnChainPolicy::default(), &key);
    let second = upgraded(chain.audited());
    let new = told.new_in(&second).expect("the folder is writable");
    assert_eq!(kinds(&new), [AlertKind::PolicyLoosened, AlertKind::ProgramChanged]);
    assert_eq!(new[1].text, format!("The program was changed (upgraded) by {PAYEE}."));
    told.was_told(&new[0]).expect("the folder is writable");
    // After a stop, what was not told is told, under the same id.
    let mut told = AlertLog::read(folder.path()).expect("the folder is readable");
    assert_eq!(told.new_in(&second).expect("the folder is writable"), new[1..]);
    told.was_told(&new[1]).expect("the folder is writable");
    assert_eq!(told.new_in(&second).expect("the folder is writable"), []);
}

#[test]
fn right_that_was_given_and_what_does_not_hold_are_told_however_old_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let payment = chain.pays(&Paying::usdc(9));
    chain.saves();
    chain.spoils(&format!("transactions/{payment}"), |transaction| {
        let calls =
            transaction["meta"]["innerInstructions"][0]["instructions"].as_array_mut().expect("a list");
        let mut approves = calls[0].clone();
        let data = [&[4][..], &1_000_000_000_u64.to_le_bytes()].concat();
        approves["data"] = json!(bs58::encode(data).into_string());
        calls.push(approves);
    });
    let report = audited(chain.folder.path());
    let mut told = AlertLog::read(folder.path()).expect("the folder is readable");
    let new = told.new_in(&report).expect("the folder is writable");
    assert_eq!(kinds(&new), [AlertKind::RightGiven, AlertKind::Finding], "{new:?}");
    let at = new[0].at.as_ref().map(|at| at.signature.as_str());
    assert_eq!(at, Some(payment.as_str()));
    let value = serde_json::to_value(&new[0]).expect("JSON");
    assert_eq!(
        (&value["type"], &value["account"]),
        (&json!("audit.right_given"), &json!(chain.agent.to_string()))
    );
}

#[test]
fn offer_of_the_admins_place_and_another_program_are_worth_an_alert() {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let before = alerts(&chain.audited());
    chain.now += 60;
    chain.offers_the_admins_place(&Keypair::new_from_array([7; 32]));
    chain.saves();
    let new: Vec<Alert> =
        alerts(&chain.audited()).into_iter().filter(|alert| !before.contains(alert)).collect();
    assert_eq!(kinds(&new), [AlertKind::AdminChanged]);
    assert!(new[0].text.starts_with("The admin's place is offered to "), "{new:?}");
    chain.spoils_program(|data| data[1_000] ^= 1);
    let new = alerts(&audited(chain.folder.path()));
    assert_eq!(kinds(&new).pop(), Some(AlertKind::Finding), "{new:?}");
}
