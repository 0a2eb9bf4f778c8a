//! Pasts that are honest and odd, which accuse nobody, and beside each the cheat that looks like it.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser::{GrantPayee, GrantTerms};
use purser_audit::check::Check;
use purser_audit::report::text;
use purser_policy::DAY_SECONDS;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use support::{BEGIN, MICROS, PAYEE, Paying, TestChain, audited, broken, found, strict, tried};

/// Another token account of the payee.
const SECOND: Pubkey = Pubkey::new_from_array([89; 32]);

/// An account that paid 9 USDC long ago.
fn paid_long_ago() -> TestChain {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(9));
    chain.now += 2 * DAY_SECONDS;
    chain
}

#[test]
fn account_that_was_closed_and_created_anew_begins_again() {
    let mut chain = paid_long_ago();
    let admin = chain.admin.insecure_clone();
    chain.closes_agent(&PAYEE);
    let report = chain.audited();
    assert!(report.holds && report.complete, "closed: {}", text(&report));
    // Whoever knows its address may still send it money.
    chain.now += 60;
    chain.deposits(7 * MICROS);
    let report = chain.audited();
    assert!(report.holds && report.complete, "closed, and it got money: {}", text(&report));
    chain.now += 60;
    chain.creates_agent(&strict(), &admin);
    chain.deposits(100 * MICROS);
    for _ in 0..3 {
        chain.pays(&Paying::usdc(10));
    }
    let report = chain.audited();
    assert!(report.holds && report.complete, "created anew: {}", text(&report));
    let account = &report.accounts[0];
    assert_eq!((account.payments, account.last_balance_usdc.as_deref()), (4, Some("77.000000")));
    chain.pays(&Paying::usdc(10));
    assert_eq!(broken(&chain.audited()), [Check::DailyLimit, Check::RollingDay]);
}

#[test]
fn account_that_was_closed_to_forget_what_it_paid_or_created_anew_by_who_may_not() {
    let mut chain = TestChain::new(&strict(), 0);
    for _ in 0..3 {
        chain.pays(&Paying::usdc(10));
    }
    let admin = chain.admin.insecure_clone();
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&strict(), &admin);
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::DailyLimit], "{}", text(&report));
    assert!(found(&report, Check::DailyLimit).contains("created anew"), "{}", text(&report));
    let mut chain = paid_long_ago();
    let key = chain.policy_key.insecure_clone();
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&strict(), &key);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
}

/// 5 USDC to the payee beyond the single limit.
fn granted() -> GrantTerms {
    GrantTerms {
        payee: GrantPayee::Wallet(PAYEE),
        amount: 15 * MICROS,
        expires_at: BEGIN + 20 * DAY_SECONDS,
        beyond_allowlist: false,
        beyond_single_limit: true,
        beyond_daily_limit: false,
        tag: None,
        memo_hash: None,
        policy_version: None,
    }
}

#[test]
fn grant_of_an_account_that_was_closed_pays_nothing_for_the_next_one_at_its_address() {
    let mut chain = paid_long_ago();
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    chain.closes_agent(&PAYEE);
    chain.creates_agent(&strict(), &admin);
    chain.deposits(100 * MICROS);
    assert_eq!(broken(&chain.audited()), []);
    chain.pays(&Paying { by_grant: true, ..Paying::usdc(15) });
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::Allowlist, Check::SingleLimit], "{}", text(&report));
}

#[test]
fn wallet_on_the_list_is_paid_in_any_token_account_of_its_own() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(1));
    chain.moves_to(PAYEE, SECOND);
    let payment = chain.pays(&Paying::usdc(2));
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    // The same token account of somebody else.
    chain.spoils(&format!("transactions/{payment}"), |transaction| {
        for side in ["preTokenBalances", "postTokenBalances"] {
            transaction["meta"][side][1]["owner"] = json!(Pubkey::new_from_array([66; 32]).to_string());
        }
    });
    assert!(broken(&audited(chain.folder.path())).contains(&Check::Allowlist));
}

#[test]
fn payment_of_what_came_in_the_same_transaction_accuses_nobody() {
    let mut chain = TestChain::new(&strict(), 0);
    let payment = chain.pays(&Paying::usdc(9));
    let deposit = chain.deposit();
    chain.hides(&deposit);
    chain.saves();
    let holds = |chain: &TestChain, before: u64, after: u64| {
        chain.spoils(&format!("transactions/{payment}"), |it| {
            for (side, micros) in [("preTokenBalances", before), ("postTokenBalances", after)] {
                it["meta"][side][0]["uiTokenAmount"]["amount"] = json!(micros.to_string());
            }
        });
        audited(chain.folder.path())
    };
    let report = holds(&chain, 0, 999_991 * MICROS);
    assert!(report.holds && report.complete, "{}", text(&report));
    let balances: Vec<_> = report.ledger.iter().map(|it| (it.kind, it.balance)).collect();
    assert_eq!(balances, [("deposit", 1_000_000_000_000), ("payment", 999_991_000_000)]);
    // Money that left beside it.
    let report = holds(&chain, 0, 999_990 * MICROS);
    assert_eq!(broken(&report), [Check::Balances], "{}", text(&report));
}

#[test]
fn list_that_names_a_transaction_twice_changes_nothing_and_one_in_another_slot_cannot_be_told() {
    let mut chain = TestChain::new(&strict(), 0);
    let payment = chain.pays(&Paying::usdc(1));
    chain.pays(&Paying::usdc(2));
    let list = format!("signatures/{}", chain.purse_of(&chain.agent));
    let lines = |value: &mut Value, change: &dyn Fn(&mut Vec<Value>, usize)| {
        let lines = value.as_array_mut().expect("a list");
        let at = lines.iter().position(|line| line["signature"] == payment.as_str()).expect("it is listed");
        change(lines, at);
    };
    chain.saves();
    chain.spoils(&list, |value| lines(value, &|lines, at| lines.insert(at, lines[at].clone())));
    let report = audited(chain.folder.path());
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts[0].payments, 2);
    // It would be paid twice.
    chain.saves();
    chain.spoils(&list, |value| {
        lines(value, &|lines, at| {
            let slot = lines[at]["slot"].as_u64().expect("a slot");
            lines[at]["slot"] = json!(slot + 1);
        });
    });
    let why = tried(chain.folder.path()).expect_err("it cannot be told").to_string();
    assert!(why.contains(&payment) && why.contains("lists the transaction"), "{why}");
}

/// The embedded network lists what it got at once in any order within a slot.
#[test]
fn payments_that_are_listed_out_of_order_within_a_slot_stand_in_the_order_of_their_balances() {
    let mut chain = TestChain::new(&strict(), 0);
    let payments = [1, 2, 3].map(|usdc| chain.pays(&Paying::usdc(usdc)));
    let in_one_slot = |chain: &TestChain| {
        let mut slot = json!(null);
        for payment in &payments {
            chain.spoils(&format!("transactions/{payment}"), |it| {
                if slot.is_null() {
                    slot = it["slot"].clone();
                }
                it["slot"] = slot.clone();
            });
        }
        for address in [chain.operator, chain.agent, chain.purse_of(&chain.agent)] {
            chain.spoils(&format!("signatures/{address}"), |value| {
                let lines = value.as_array_mut().expect("a list");
                let is_one = |line: &Value| payments.iter().any(|payment| line["signature"] == **payment);
                let places: Vec<usize> = (0..lines.len()).filter(|at| is_one(&lines[*at])).collect();
                places.iter().for_each(|at| lines[*at]["slot"] = slot.clone());
                lines.swap(places[0], places[2]);
            });
        }
    };
    chain.saves();
    in_one_slot(&chain);
    let report = audited(chain.folder.path());
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts[0].payments, 3);
    // One of them that is hidden is missing in any order.
    chain.saves();
    in_one_slot(&chain);
    for address in [chain.operator, chain.agent, chain.purse_of(&chain.agent)] {
        chain.spoils(&format!("signatures/{address}"), |value| {
            value.as_array_mut().expect("a list").retain(|line| line["signature"] != *payments[1]);
        });
    }
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Numbering, Check::Balances], "{}", text(&report));
}

#[test]
fn directory_that_names_an_account_twice_counts_it_once() {
    let mut chain = TestChain::new(&strict(), 0);
    chain.pays(&Paying::usdc(1));
    chain.saves();
    chain.spoils("audit", |manifest| {
        let agent = manifest["agents"][0].clone();
        manifest["agents"] = json!([agent, agent]);
    });
    let report = audited(chain.folder.path());
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts.len(), 1);
}

#[test]
fn dates_at_the_ends_of_time_and_amounts_that_are_none_end_an_audit_and_break_nothing() {
    let mut chain = TestChain::new(&strict(), 3_600);
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_bounds(purser::Bounds { budget: Some(budget), ..purser::Bounds::default() }, &admin);
    chain.pays(&Paying { by_grant: true, ..Paying::usdc(12) });
    chain.saves();
    let files = std::fs::read_dir(chain.folder.path().join("transactions")).expect("they were saved");
    let files: Vec<String> = files
        .map(|file| file.expect("it was saved").path().file_stem().expect("a name").to_string_lossy().into())
        .collect();
    for date in [i64::MIN, -1, 0, i64::MAX] {
        // One transaction of them, and then all.
        for some in [&files[..1], &files[..]] {
            chain.saves();
            let kept: Vec<(String, Vec<u8>)> = some
                .iter()
                .map(|file| {
                    let path = chain.folder.path().join(format!("transactions/{file}.json"));
                    (file.clone(), std::fs::read(path).expect("it was saved"))
                })
                .collect();
            for file in some {
                chain.spoils(&format!("transactions/{file}"), |it| it["blockTime"] = json!(date));
            }
            let report = tried(chain.folder.path()).expect("it can be done");
            assert!(!report.holds, "{date}: {}", text(&report));
            for (file, bytes) in kept {
                std::fs::write(chain.folder.path().join(format!("transactions/{file}.json")), bytes)
                    .expect("the folder is writable");
            }
        }
    }
    let purse = chain.purse_of(&chain.agent);
    for (file, field, value) in [
        ("audit".to_owned(), "/until_time", json!(i64::MIN)),
        ("audit".to_owned(), "/until_slot", json!(u64::MAX)),
        (format!("accounts/{purse}"), "/slot", json!(u64::MAX)),
    ] {
        chain.saves();
        chain.spoils(&file, |it| *it.pointer_mut(field).expect("it is there") = value);
        let _ = tried(chain.folder.path());
    }
}
