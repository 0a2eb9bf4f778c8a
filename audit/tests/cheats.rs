//! Cheats of whoever can replace the program, of a node and of a relayer, each on a past that is consistent in all else. Each is
//! found and named, and what is honest is not accused.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser_audit::check::Check;
use purser_audit::report::{Report, html, text};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use support::{MICROS, Paying, TestChain, audited, broken, found, tried};

const THIEF: Pubkey = Pubkey::new_from_array([66; 32]);

/// Why an audit of this folder cannot be done.
fn refused(chain: &TestChain) -> String {
    tried(chain.folder.path()).expect_err("it cannot be done").to_string()
}

/// What each check could not look at.
fn open(report: &Report) -> String {
    let unchecked = report.checks.iter().flat_map(|check| &check.unchecked);
    unchecked.cloned().collect::<Vec<_>>().join("\n")
}

/// A chain with one payment of 9 USDC, saved; and the payment.
fn paid() -> (TestChain, String) {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let paid = chain.pays(&Paying::usdc(9));
    assert_eq!(broken(&chain.audited()), []);
    (chain, paid)
}

fn audited_after(chain: &TestChain, transaction: &str, spoil: impl FnOnce(&mut Value)) -> Report {
    chain.spoils(&format!("transactions/{transaction}"), spoil);
    audited(chain.folder.path())
}

/// Puts the thief's account in the place of the payee's, in what the token program did.
fn moves_to_the_thief(transaction: &mut Value) {
    let message = &mut transaction["transaction"]["message"];
    let keys = message["accountKeys"].as_array().expect("keys").len();
    transaction["meta"]["loadedAddresses"] = json!({ "writable": [THIEF.to_string()], "readonly": [] });
    transaction["meta"]["innerInstructions"][0]["instructions"][0]["accounts"][1] = json!(keys);
}

#[test]
fn payment_that_a_modified_program_moved_to_somebody_else_is_named() {
    let (chain, payment) = paid();
    let report = audited_after(&chain, &payment, |transaction| {
        moves_to_the_thief(transaction);
        let keys = transaction["transaction"]["message"]["accountKeys"].as_array().expect("keys").len();
        for side in ["preTokenBalances", "postTokenBalances"] {
            let payee = transaction["meta"][side][1]["accountIndex"].clone();
            let mut thief = transaction["meta"][side][1].clone();
            // The payee keeps its five micro-USDC, the thief gains.
            transaction["meta"][side][1]["uiTokenAmount"]["amount"] = json!("5");
            thief["accountIndex"] = json!(keys);
            assert_ne!(payee, thief["accountIndex"]);
            transaction["meta"][side].as_array_mut().expect("a list").push(thief);
        }
    });
    // The node invents a lookup table to name the thief, which is found too.
    assert_eq!(broken(&report), [Check::Signatures, Check::Recipients], "{}", text(&report));
    let text = found(&report, Check::Recipients);
    assert!(text.contains(&format!("the program moved 9.000000 USDC to {THIEF}")), "{text}");
}

#[test]
fn what_the_token_program_did_and_what_the_recipient_gained_are_each_held_against_the_payment() {
    let (chain, payment) = paid();
    let report = audited_after(&chain, &payment, moves_to_the_thief);
    assert_eq!(broken(&report), [Check::Signatures, Check::Recipients]);
    assert!(
        found(&report, Check::Signatures).contains("addresses that no lookup table holds"),
        "{}",
        text(&report)
    );
    let (chain, payment) = paid();
    let report = audited_after(&chain, &payment, |transaction| {
        transaction["meta"]["postTokenBalances"][1]["uiTokenAmount"]["amount"] = json!("5");
    });
    assert_eq!(broken(&report), [Check::Recipients]);
    assert!(found(&report, Check::Recipients).contains("9.000000 came"), "{}", text(&report));
    let (chain, payment) = paid();
    let report = audited_after(&chain, &payment, |transaction| {
        transaction["meta"]["innerInstructions"] = json!([]);
    });
    assert!(found(&report, Check::Recipients).contains("the program moved nothing"), "{}", text(&report));
}

#[test]
fn right_over_the_purse_that_a_transaction_gave_away_is_named() {
    let (chain, payment) = paid();
    let report = audited_after(&chain, &payment, |transaction| {
        let calls =
            transaction["meta"]["innerInstructions"][0]["instructions"].as_array_mut().expect("a list");
        let mut approves = calls[0].clone();
        approves["data"] =
            json!(bs58::encode([&[4][..], &1_000_000_000_u64.to_le_bytes()].concat()).into_string());
        calls.push(approves);
    });
    assert_eq!(broken(&report), [Check::Recipients], "{}", text(&report));
    assert!(found(&report, Check::Recipients).contains("let somebody else move money of"));
}

#[test]
fn delegate_close_authority_and_another_owner_of_the_purse_are_named() {
    let key = THIEF.to_bytes();
    let stands = |spoil: &dyn Fn(&mut Vec<u8>)| {
        let (chain, _) = paid();
        chain.spoils_purse(spoil);
        audited(chain.folder.path())
    };
    let delegated = stands(&|data| {
        data[72] = 1;
        data[76..108].copy_from_slice(&key);
        data[121..129].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
    });
    let closable = stands(&|data| {
        data[129] = 1;
        data[133..165].copy_from_slice(&key);
    });
    let owned = stands(&|data| data[32..64].copy_from_slice(&key));
    for (report, says) in [
        (delegated, format!("{THIEF} may move 1000.000000 USDC out of the token account")),
        (closable, format!("{THIEF} may close the token account")),
        (owned, format!("owned by {THIEF}")),
    ] {
        assert_eq!(broken(&report), [Check::State], "{}", text(&report));
        assert!(found(&report, Check::State).contains(&says), "{}", text(&report));
    }
    let frozen = stands(&|data| data[108] = 2);
    assert_eq!(broken(&frozen), []);
    assert!(frozen.remarks.iter().any(|remark| remark.text.contains("has frozen the token account")));
}

#[test]
fn inner_call_that_names_a_key_which_did_not_sign_is_a_forgery() {
    let (mut chain, _) = paid();
    let stranger = Keypair::new_from_array([5; 32]);
    let strangers = chain.mentions_operator(&stranger);
    let resume = chain.resume_call();
    assert_eq!(broken(&chain.audited()), [], "a stranger may name the operator");
    let report = audited_after(&chain, &strangers, |transaction| {
        let keys: Vec<Pubkey> =
            resume.accounts.iter().map(|meta| meta.pubkey).chain([resume.program_id]).collect();
        let loaded: Vec<String> = keys.iter().map(Pubkey::to_string).collect();
        let first = transaction["transaction"]["message"]["accountKeys"].as_array().expect("keys").len();
        transaction["meta"]["loadedAddresses"] = json!({ "writable": loaded, "readonly": [] });
        let accounts: Vec<usize> = (first..first + resume.accounts.len()).collect();
        transaction["meta"]["innerInstructions"] = json!([{ "index": 0, "instructions": [{
            "programIdIndex": first + resume.accounts.len(), "accounts": accounts,
            "data": bs58::encode(&resume.data).into_string(), "stackHeight": 2 }] }]);
    });
    assert!(broken(&report).contains(&Check::Signer), "{}", text(&report));
    assert!(found(&report, Check::Signer).contains("did not sign the transaction"), "{}", text(&report));
}

#[test]
fn past_that_a_node_has_pruned_accuses_nobody_and_cannot_be_told() {
    let (mut chain, payment) = paid();
    chain.pays(&Paying::usdc(1));
    chain.prunes_before(&payment);
    chain.saves();
    let why = refused(&chain);
    assert!(why.contains("after its creation: the node has pruned that past"), "{why}");
    // Of the token account alone, whose deposit would seem to come from nowhere.
    let (mut chain, payment) = paid();
    chain.prunes_purse_before(&payment);
    chain.saves();
    let why = refused(&chain);
    assert!(why.contains("after its creation"), "{why}");
}

#[test]
fn block_without_a_date_takes_it_from_the_list_or_cannot_be_told() {
    let undated = |transaction: &mut Value| transaction["blockTime"] = Value::Null;
    let (chain, payment) = paid();
    assert_eq!(broken(&audited_after(&chain, &payment, undated)), []);
    let (mut chain, payment) = paid();
    chain.forgets_dates();
    chain.saves();
    chain.spoils(&format!("transactions/{payment}"), undated);
    let why = refused(&chain);
    assert!(why.contains(&payment) && why.contains("does not know when"), "{why}");
    // A stranger's transaction that only names the operator leaves nothing open.
    let (mut chain, _) = paid();
    let strangers = chain.mentions_operator(&Keypair::new_from_array([5; 32]));
    chain.forgets_dates();
    chain.saves();
    let report = audited_after(&chain, &strangers, undated);
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[test]
fn directory_from_which_something_was_taken_is_incomplete() {
    let (chain, _) = paid();
    for address in [chain.agent, chain.operator, purser_client::purser::ID] {
        chain.saves();
        let file = chain.folder.path().join(format!("accounts/{address}.json"));
        std::fs::remove_file(&file).expect("it was saved");
        if address == chain.operator {
            assert!(refused(&chain).contains("is not saved"));
            continue;
        }
        let report = audited(chain.folder.path());
        assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
        assert!(open(&report).contains(&address.to_string()), "{}", open(&report));
    }
    chain.saves();
    chain.spoils("audit", |manifest| manifest["agents"] = json!([]));
    let report = audited(chain.folder.path());
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
    assert!(open(&report).contains(&format!("the account {} was created", chain.agent)), "{}", open(&report));
    chain.saves();
    std::fs::remove_file(chain.folder.path().join(format!("signatures/{}.json", chain.agent)))
        .expect("it was saved");
    assert!(refused(&chain).contains("begin with nothing"));
    let told = audited({
        chain.saves();
        chain.folder.path()
    });
    assert!(told.unseen.iter().any(|it| it.contains("Whoever made the directory")), "{:?}", told.unseen);
}

#[test]
fn mint_and_genesis_hash_that_do_not_belong_together_are_named() {
    let (chain, _) = paid();
    chain.spoils("audit", |manifest| {
        manifest["genesis_hash"] = json!("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d");
    });
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Network], "{}", text(&report));
    assert!(found(&report, Check::Network).contains("is not USDC"), "{}", text(&report));
}

#[test]
fn end_before_the_newest_transaction_is_named() {
    let (chain, _) = paid();
    let until = chain.now - 3_600;
    chain.spoils("audit", |manifest| manifest["until_time"] = json!(until));
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Dates], "{}", text(&report));
}

#[test]
fn another_program_or_none_is_named() {
    let (chain, _) = paid();
    let id = purser_client::purser::ID;
    chain.spoils(&format!("accounts/{id}"), |snapshot| snapshot["account"] = Value::Null);
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Program], "{}", text(&report));
    assert!(text(&report).contains("upgradeable by unknown"), "{}", text(&report));
    chain.saves();
    chain.spoils_program(|bytes| bytes[200] ^= 1);
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Program], "{}", text(&report));
    assert!(found(&report, Check::Program).contains("ANOTHER BUILD"));
}

#[test]
fn block_dates_that_are_not_the_accounts_seconds_or_run_backwards_are_named() {
    let spread = |transaction: &mut Value| {
        let date = transaction["blockTime"].as_i64().expect("a date");
        transaction["blockTime"] = json!(date - 20 * 3_600);
    };
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    chain.now += 40 * 3_600;
    let payment = chain.pays(&Paying::usdc(9));
    chain.now += 60;
    chain.pays(&Paying::usdc(1));
    chain.saves();
    let report = audited_after(&chain, &payment, spread);
    assert!(broken(&report).contains(&Check::Dates), "{}", text(&report));
    assert!(
        found(&report, Check::Dates).contains("The account says that the payment with tag "),
        "{}",
        text(&report)
    );
    let (mut chain, payment) = paid();
    chain.now += 3_600;
    chain.pays(&Paying::usdc(1));
    chain.saves();
    let report = audited_after(&chain, &payment, |transaction| {
        let date = transaction["blockTime"].as_i64().expect("a date");
        transaction["blockTime"] = json!(date + 7_200);
    });
    assert!(found(&report, Check::Dates).contains("The node dates the block of slot"), "{}", text(&report));
}

#[test]
fn strangers_can_neither_leave_an_audit_open_nor_fill_its_report() {
    let (mut chain, _) = paid();
    let stranger = Keypair::new_from_array([5; 32]);
    let strangers = chain.mentions_operator(&stranger);
    let event = chain.event_line();
    let report = {
        chain.saves();
        audited_after(&chain, &strangers, |transaction| {
            transaction["version"] = json!(7);
            let own = Pubkey::new_from_array([55; 32]);
            let mut lines = vec![json!(format!("Program {own} invoke [1]"))];
            lines.extend(std::iter::repeat_n(json!(event), 5_000));
            lines.push(json!(format!("Program {own} success")));
            transaction["meta"]["logMessages"] = json!(lines);
        })
    };
    assert!(report.holds && report.complete, "{}", text(&report));
    let told: Vec<&str> = report.remarks.iter().map(|remark| remark.text.as_str()).collect();
    assert_eq!(told.iter().filter(|text| text.contains("in the form of the event")).count(), 1, "{told:?}");
    assert!(
        told.iter().any(|text| text.contains("a message version that this audit does not know")),
        "{told:?}"
    );
}

#[test]
fn policy_that_was_loosened_and_tightened_again_is_told_with_what_left_meanwhile() {
    let strict = OnChainPolicy {
        max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(10 * MICROS)),
        ..OnChainPolicy::default()
    };
    let mut chain = TestChain::new(&strict, 0);
    let key = chain.policy_key.insecure_clone();
    chain.pays(&Paying::usdc(5));
    chain.sets_policy(&OnChainPolicy::default(), &key);
    chain.now += 2;
    chain.pays(&Paying::usdc(900));
    chain.now += 2;
    chain.sets_policy(&strict, &key);
    chain.pays(&Paying::usdc(1));
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    let [loosening] = &report.loosenings[..] else { panic!("{}", text(&report)) };
    assert_eq!(loosening.what, ["the single limit from 10.000000 USDC to none"]);
    assert_eq!((loosening.payments, loosening.paid_usdc.as_str()), (1, "900.000000"));
    assert_eq!(loosening.signer, report.keys.as_ref().expect("keys").policy_authority);
    assert!(loosening.until.is_some());
    assert!(
        report.verdict.contains("1 policy was loosened, and 900.000000 USDC left meanwhile"),
        "{}",
        report.verdict
    );
    let policy = report.accounts[0].policy.as_deref().expect("a policy");
    assert_eq!(policy, "version 3: at most 10.000000 USDC at once, no limit in 24 hours, to anyone");
    for shown in [text(&report), html(&report)] {
        assert!(shown.contains("900.000000 USDC left meanwhile, in 1 payments"), "{shown}");
        assert!(shown.contains("Policy version 2 by"), "{shown}");
    }
}

#[test]
fn unsigned_gift_of_a_local_network_is_a_remark_and_an_unsigned_deposit_or_call_is_named() {
    let (mut chain, _) = paid();
    let gift = chain.gets_an_airdrop();
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    let remark = report.remarks.iter().find(|it| it.text.contains("Nobody signed these gifts"));
    assert_eq!(remark.map(|it| it.at[0].signature.as_str()), Some(gift.as_str()));
    // A node that adds money to it, which the account then holds.
    let purse = chain.purse_of(&chain.agent);
    let report = audited_after(&chain, &gift, |transaction| {
        let keys = transaction["transaction"]["message"]["accountKeys"].as_array_mut().expect("keys");
        keys.push(json!(purse.to_string()));
        let index = keys.len() - 1;
        let mint = chain.mint().to_string();
        for (side, amount) in
            [("preTokenBalances", 999_991_000_000_u64), ("postTokenBalances", 999_992_000_000)]
        {
            transaction["meta"][side] = json!([{ "accountIndex": index, "mint": mint, "owner": chain.agent.to_string(),
                "uiTokenAmount": { "amount": amount.to_string() } }]);
        }
    });
    assert!(broken(&report).contains(&Check::Signatures), "{}", text(&report));
    assert!(found(&report, Check::Signatures).contains("is not signed, and changes the balance"));
    // And what is signed by nobody and does more than to give.
    let (mut chain, _) = paid();
    let gift = chain.gets_an_airdrop();
    chain.saves();
    let report = audited_after(&chain, &gift, |transaction| {
        let calls = &mut transaction["transaction"]["message"]["instructions"];
        let mut other = calls[0].clone();
        other["data"] = json!("111");
        calls.as_array_mut().expect("a list").push(other);
    });
    assert_eq!(broken(&report), [Check::Signatures], "{}", text(&report));
}
