//! Nodes that leave things out, stand still or contradict each other.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anchor_lang::Discriminator;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::state::{Agent, Operator};
use purser::{GrantPayee, GrantTerms};
use purser_audit::archive::{Archive, Memory};
use purser_audit::check::Check;
use purser_audit::gather::Subject;
use purser_audit::node::node_at;
use purser_audit::report::{Report, Verdict, text};
use purser_audit::{AuditError, Request, Source, audit};
use purser_client::OnChainPolicy;
use purser_replay::{Inputs, Reading};
use purser_tests::saved;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use support::{PAYEE, Paying, TestChain, auditor, page, tried};

async fn audited_alone(chain: &TestChain, urls: &[&str], save: Option<&Path>) -> Result<Report, AuditError> {
    let source = Source::Node {
        urls: urls.iter().map(|url| url.parse().expect("a URL")).collect(),
        program: purser_client::purser::ID,
        subject: Subject::Operator(chain.operator),
        save: save.map(Path::to_owned),
    };
    audit(Request { source, api: None, explorer: None }, &|_| {}).await
}

/// `auditor.mts` comes to the same.
async fn audited(chain: &TestChain, urls: &[&str], save: Option<&Path>) -> Result<Report, AuditError> {
    let audited = audited_alone(chain, urls, save).await;
    let operator = chain.operator.to_string();
    let asked = urls.iter().flat_map(|url| ["--url", url]).chain(["--operator", &operator]);
    auditor::says_the_same_by(&asked.collect::<Vec<_>>(), &audited).await;
    audited
}

fn check(report: &Report, check: Check) -> (Verdict, String) {
    let check = report.checks.iter().find(|it| it.check == check).expect("every check is reported");
    let findings = check.findings.iter().map(|finding| finding.text.as_str());
    (check.result, findings.chain(check.unchecked.iter().map(String::as_str)).collect::<Vec<_>>().join("\n"))
}

/// Three payments, saved.
fn paid() -> (TestChain, [String; 3]) {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let payments = [1, 2, 3].map(|amount| chain.pays(&Paying::usdc(amount)));
    chain.saves();
    (chain, payments)
}

#[tokio::test]
async fn page_that_came_empty_once_leaves_no_gap() {
    let (chain, _) = paid();
    let asked: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let url = saved::lies(chain.folder.path(), move |call, answer| {
        if call["method"] != "getSignaturesForAddress" {
            return answer;
        }
        // The first time that it is asked for.
        let mut asked = asked.lock().expect("nobody panics");
        let times = asked.entry(call["params"].to_string()).or_default();
        *times += 1;
        if *times % 2 == 1 { json!([]) } else { answer }
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts[0].payments, 3);
}

#[tokio::test]
async fn list_that_was_saved_without_its_end_is_completed_by_the_next_audit() {
    let (chain, _) = paid();
    let saved = tempfile::tempdir().expect("a temporary folder can be made");
    let url = saved::serves(chain.folder.path()).await;
    assert!(audited(&chain, &[&url], Some(saved.path())).await.expect("it can be done").holds);
    for list in std::fs::read_dir(saved.path().join("signatures")).expect("lists were saved") {
        let path = list.expect("lists were saved").path();
        let mut lines: Vec<Value> =
            serde_json::from_slice(&std::fs::read(&path).expect("a list")).expect("JSON");
        lines.truncate(2);
        std::fs::write(&path, json!(lines).to_string()).expect("the folder is writable");
    }
    let report = audited(&chain, &[&url], Some(saved.path())).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts[0].payments, 3);
}

#[tokio::test]
async fn account_whose_every_transaction_is_hidden_shows_where_accounts_are_listed() {
    let (mut chain, _) = paid();
    chain.hides_the_account();
    chain.saves();
    let url = saved::serves(chain.folder.path()).await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    let (verdict, found) = check(&report, Check::State);
    assert_eq!(verdict, Verdict::DoesNotHold, "{}", text(&report));
    assert!(found.contains("is on the chain, and by what was signed it does not exist"), "{found}");
    // A node that lists no accounts leaves the question open.
    let (chain, _) = paid();
    let url = saved::lies(chain.folder.path(), |call, answer| {
        if call["method"] == "getProgramAccounts" { Value::Null } else { answer }
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    let (verdict, open) = check(&report, Check::State);
    assert_eq!((verdict, report.complete), (Verdict::Incomplete, false), "{}", text(&report));
    assert!(open.contains("no node listed the program's accounts"), "{open}");
}

#[tokio::test]
async fn second_node_shows_what_the_first_leaves_out_and_the_odd_one_is_named() {
    let (mut chain, payments) = paid();
    let whole = tempfile::tempdir().expect("a temporary folder can be made");
    let honest = saved::serves(chain.folder.path()).await;
    assert!(audited(&chain, &[&honest], Some(whole.path())).await.expect("it can be done").holds);
    let honest = saved::serves(whole.path()).await;
    chain.hides(&payments[1]);
    chain.saves();
    let hides = saved::serves(chain.folder.path()).await;
    assert!(!audited(&chain, &[&hides], None).await.expect("it can be done").holds);
    for urls in [[&hides, &honest], [&honest, &hides]] {
        let report = audited(&chain, &urls.map(String::as_str), None).await.expect("it can be done");
        assert!(report.holds && !report.complete, "{}", text(&report));
        assert_eq!(report.accounts[0].payments, 3);
        let (verdict, told) = check(&report, Check::Nodes);
        let odd = hides.trim_start_matches("http://");
        assert_eq!(verdict, Verdict::Incomplete);
        assert!(told.contains(&format!("{odd} leaves out the transaction {}", payments[1])), "{told}");
    }
    let report = audited(&chain, &[&honest, &honest], None).await.expect("it can be done");
    assert_eq!(
        (report.complete, check(&report, Check::Nodes).0),
        (true, Verdict::Holds),
        "{}",
        text(&report)
    );
}

#[tokio::test]
async fn second_node_that_shows_something_else_is_named() {
    let (chain, payments) = paid();
    let honest = saved::serves(chain.folder.path()).await;
    let asked = payments[1].clone();
    let lies = saved::lies(chain.folder.path(), move |call, mut answer| {
        if call["method"] == "getTransaction" && call["params"][0] == asked.as_str() {
            answer["transaction"]["message"]["instructions"][0]["data"] = json!("111");
        }
        answer
    })
    .await;
    let report = audited(&chain, &[&honest, &lies], None).await.expect("it can be done");
    assert!(report.holds && !report.complete, "{}", text(&report));
    let (_, told) = check(&report, Check::Nodes);
    let odd = lies.trim_start_matches("http://");
    assert!(
        told.contains(&format!("{odd} shows what was not signed: the transaction {}", payments[1])),
        "{told}"
    );
}

#[tokio::test]
async fn contradictions_and_the_root_do_not_follow_the_order_of_answers() {
    let (mut chain, payments) = paid();
    let whole = tempfile::tempdir().expect("a temporary folder can be made");
    let honest = saved::serves(chain.folder.path()).await;
    assert!(audited(&chain, &[&honest], Some(whole.path())).await.expect("it can be done").holds);
    chain.hides(&payments[1]);
    chain.saves();
    let (first, last) = (chain.operator.to_string(), chain.purse_of(&chain.agent).to_string());
    let waits = Arc::new(Mutex::new(String::new()));
    let asked = Arc::clone(&waits);
    let slow = saved::gated(whole.path(), move |call| {
        let is_late = call["params"][0] == asked.lock().expect("nobody panics").as_str();
        async move {
            if is_late && call["method"] == "getSignaturesForAddress" {
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            None
        }
    })
    .await;
    let hides = saved::serves(chain.folder.path()).await;
    let mut roots = Vec::new();
    for late in [first, last] {
        *waits.lock().expect("nobody panics") = late;
        let report = audited(&chain, &[&hides, &slow], None).await.expect("it can be done");
        let (_, told) = check(&report, Check::Nodes);
        assert_eq!(told.matches("leaves out").count(), 3, "{told}");
        roots.push((report.archive_sha256, told));
    }
    assert_eq!(roots[0], roots[1]);
}

/// Changes what a node says of a transaction.
fn another_log(signature: &str, call: &Value, mut answer: Value) -> Value {
    if call["method"] == "getTransaction" && call["params"][0] == signature {
        answer["meta"]["logMessages"] = json!(["Program 1 invoke [1]", "Program 1 success"]);
    }
    answer
}

#[tokio::test]
async fn contradiction_is_not_forgotten_by_the_next_audit_into_the_same_directory() {
    let (chain, payments) = paid();
    let saved = tempfile::tempdir().expect("a temporary folder can be made");
    let honest = saved::serves(chain.folder.path()).await;
    let asked = payments[1].clone();
    let lies = saved::lies(chain.folder.path(), move |call, answer| another_log(&asked, call, answer)).await;
    for _ in 0..2 {
        let report = audited(&chain, &[&honest, &lies], Some(saved.path())).await.expect("it can be done");
        assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
        assert!(check(&report, Check::Nodes).1.contains(&payments[1]), "{}", text(&report));
    }
    // Once they agree, it is settled.
    let report = audited(&chain, &[&honest, &honest], Some(saved.path())).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[tokio::test]
async fn lie_that_was_followed_by_an_error_is_not_kept() {
    let (chain, payments) = paid();
    let saved = tempfile::tempdir().expect("a temporary folder can be made");
    let honest = saved::serves(chain.folder.path()).await;
    let (asked, is_honest) = (payments[1].clone(), Arc::new(AtomicU64::new(0)));
    let turns = Arc::clone(&is_honest);
    let lies = saved::lies(chain.folder.path(), move |call, answer| match call["method"].as_str() {
        _ if turns.load(Ordering::SeqCst) == 1 => answer,
        Some("getBlockTime" | "getProgramAccounts") => answer,
        // Accounts are read after the operator's transactions.
        Some("getMultipleAccounts") if call["params"][0].as_array().is_some_and(|keys| keys.len() > 1) => {
            Value::Null
        }
        _ => another_log(&asked, call, answer),
    })
    .await;
    let broken = audited(&chain, &[&lies, &honest], Some(saved.path())).await;
    assert!(broken.is_err(), "the first node gave up");
    is_honest.store(1, Ordering::SeqCst);
    let report = audited(&chain, &[&lies, &honest], Some(saved.path())).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[tokio::test]
async fn node_that_stands_still_is_incomplete_whatever_date_it_gives() {
    let chain = TestChain::begun_at(1_700_000_000, &OnChainPolicy::default(), 0);
    chain.saves();
    let old = saved::serves(chain.folder.path()).await;
    let report = audited(&chain, &[&old], None).await.expect("it can be done");
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
    let (_, open) = check(&report, Check::Dates);
    assert!(open.contains("by this machine's clock long ago"), "{open}");
    let (chain, _) = paid();
    // The date of now, and the chain's clock of an hour ago.
    let until = chain.now;
    let frozen = saved::lies(chain.folder.path(), move |call, mut answer| {
        if call["method"] == "getMultipleAccounts" {
            let keys = call["params"][0].as_array().expect("keys");
            if let Some(at) = keys.iter().position(|key| key == "SysvarC1ock11111111111111111111111111111111")
            {
                let slot = answer["context"]["slot"].as_u64().unwrap_or_default();
                answer["value"][at] = saved::clock(slot, until - 3_600);
            }
        }
        answer
    })
    .await;
    let report = audited(&chain, &[&frozen], None).await.expect("it can be done");
    let (verdict, open) = check(&report, Check::Dates);
    assert_eq!(verdict, Verdict::Incomplete, "{}", text(&report));
    assert!(open.contains("it may be old"), "{open}");
}

#[tokio::test]
async fn node_is_not_called_old_because_reading_took_long() {
    let (chain, _) = paid();
    let url = saved::serves(chain.folder.path()).await.parse().expect("a URL");
    let (archive, looks) = (Archive::over(Memory::default()), AtomicU64::new(0));
    // Two hours pass between the first look at the clock and the second.
    let clock = || chain.now + if looks.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { 7_200 };
    let nodes = vec![node_at(&url).expect("a node")];
    let (program, subject) = (purser_client::purser::ID, Subject::Operator(chain.operator));
    let inputs = Inputs {
        archive: &archive,
        reading: Some(Reading { nodes, program, subject }),
        read_from: String::new(),
        api: None,
        explorer: None,
        clock: &clock,
    };
    let report = purser_replay::audit(inputs, &|_| {}).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[tokio::test]
async fn node_that_asks_to_wait_is_not_asked_before() {
    let (chain, _) = paid();
    let turned_away: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&turned_away);
    let url = saved::gated(chain.folder.path(), move |call| {
        let times = Arc::clone(&times);
        async move {
            let mut times = times.lock().expect("nobody panics");
            if call["method"] != "getGenesisHash" || times.len() > 2 {
                return None;
            }
            times.push(Instant::now());
            // More than the pause that is usual, and the third time it is let in.
            (times.len() < 3).then_some(2)
        }
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    let times = turned_away.lock().expect("nobody panics");
    let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses.len(), 2);
    assert!(pauses.iter().all(|pause| *pause >= Duration::from_secs(2)), "{pauses:?}");
}

/// Each list waits until two others are asked for.
#[tokio::test]
async fn lists_of_several_addresses_are_asked_for_at_the_same_time() {
    let (chain, _) = paid();
    let operator = json!(chain.operator.to_string());
    let asked: Arc<tokio::sync::watch::Sender<usize>> = Arc::new(tokio::sync::watch::channel(0).0);
    let url = saved::gated(chain.folder.path(), move |call| {
        let (asked, operator) = (Arc::clone(&asked), operator.clone());
        async move {
            // The operator's own list comes first, and alone.
            if call["method"] != "getSignaturesForAddress" || call["params"][0] == operator {
                return None;
            }
            asked.send_modify(|count| *count += 1);
            let mut seen = asked.subscribe();
            let together = seen.wait_for(|count| *count >= 3);
            assert!(
                tokio::time::timeout(Duration::from_secs(60), together).await.is_ok(),
                "one after the other"
            );
            None
        }
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[tokio::test]
async fn transaction_that_is_not_shown_once_is_asked_for_again() {
    let (chain, payments) = paid();
    let asked: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let url = saved::lies(chain.folder.path(), move |call, answer| {
        let mut asked = asked.lock().expect("nobody panics");
        let times = asked.entry(call["params"].to_string()).or_default();
        *times += 1;
        if call["method"] == "getTransaction" && *times % 2 == 1 { Value::Null } else { answer }
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    let hidden = payments[1].clone();
    let url = saved::lies(chain.folder.path(), move |call, answer| {
        if call["method"] == "getTransaction" && call["params"][0] == hidden.as_str() {
            Value::Null
        } else {
            answer
        }
    })
    .await;
    assert!(audited(&chain, &[&url], None).await.is_err());
}

#[tokio::test]
async fn node_that_lists_accounts_of_others_accuses_nobody() {
    let (chain, _) = paid();
    let (own, other) = (chain.agent.to_string(), Pubkey::new_from_array([91; 32]).to_string());
    let at = Operator::DISCRIMINATOR.len() + std::mem::offset_of!(Agent, operator);
    let theirs = other.clone();
    let url = saved::lies(chain.folder.path(), move |call, mut answer| {
        match call["method"].as_str() {
            Some("getProgramAccounts") => {
                answer.as_array_mut().expect("a list").push(json!({ "pubkey": theirs }))
            }
            Some("getMultipleAccounts")
                if call["params"][0].as_array().is_some_and(|keys| keys.contains(&json!(theirs))) =>
            {
                let keys = call["params"][0].as_array().expect("keys");
                let place =
                    |key: &String| keys.iter().position(|it| it == key.as_str()).expect("it was asked for");
                let mut account = answer["value"][place(&own)].clone();
                let mut data = STANDARD.decode(account["data"][0].as_str().expect("data")).expect("base64");
                data[at..at + 32].copy_from_slice(&[92; 32]);
                account["data"][0] = json!(STANDARD.encode(data));
                answer["value"][place(&theirs)] = account;
            }
            _ => {}
        }
        answer
    })
    .await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(report.accounts.len(), 1, "{other} is none of its");
}

#[tokio::test]
async fn nodes_that_date_a_block_differently_are_named() {
    let (chain, payments) = paid();
    let honest = saved::serves(chain.folder.path()).await;
    let asked = payments[1].clone();
    let behind = saved::lies(chain.folder.path(), move |call, mut answer| {
        if call["method"] == "getTransaction" && call["params"][0] == asked.as_str() {
            answer["blockTime"] = json!(answer["blockTime"].as_i64().expect("a date") - 3_600);
        }
        answer
    })
    .await;
    let report = audited(&chain, &[&honest, &behind], None).await.expect("it can be done");
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
    assert!(
        check(&report, Check::Nodes).1.contains("contradict each other about /blockTime"),
        "{}",
        text(&report)
    );
}

#[tokio::test]
async fn grant_that_was_closed_and_opened_again_in_one_transaction_is_read_as_it_stands() {
    let (mut chain, _) = paid();
    let admin = chain.admin.insecure_clone();
    let terms = GrantTerms {
        payee: GrantPayee::Wallet(PAYEE),
        amount: 5,
        expires_at: chain.now + 3_600,
        beyond_allowlist: true,
        beyond_single_limit: false,
        beyond_daily_limit: false,
        tag: None,
        memo_hash: None,
        policy_version: None,
    };
    chain.opens_grant(terms, &admin);
    chain.reopens_grant(GrantTerms { amount: 6, ..terms }, &admin);
    chain.saves();
    let url = saved::serves(chain.folder.path()).await;
    let report = audited(&chain, &[&url], None).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[tokio::test]
async fn node_that_stands_still_with_a_clock_of_its_own_contradicts_one_that_goes_on() {
    let (mut chain, _) = paid();
    let frozen = tempfile::tempdir().expect("a temporary folder can be made");
    let past = saved::serves(chain.folder.path()).await;
    assert!(audited(&chain, &[&past], Some(frozen.path())).await.expect("it can be done").holds);
    chain.pays(&Paying::usdc(500));
    chain.saves();
    let (old, new) = (saved::serves(frozen.path()).await, saved::serves(chain.folder.path()).await);
    let report = audited_by_all(&chain, &[&old, &new]).await.expect("it can be done");
    let (verdict, told) = check(&report, Check::Nodes);
    assert_eq!((report.holds, verdict), (true, Verdict::Incomplete), "{}", text(&report));
    let [old_host, new_host] = [&old, &new].map(|url| url.trim_start_matches("http://").to_owned());
    assert!(told.contains(&format!("{new_host} had come to slot")), "{told}");
    assert!(told.contains(&format!("{old_host} showed nothing after slot")), "{told}");
    // The other way round: it says that it has come as far, and its list has not.
    let until = chain.slot();
    let lies = saved::lies(
        frozen.path(),
        move |call, answer| {
            if call["method"] == "getSlot" { json!(until) } else { answer }
        },
    )
    .await;
    let report = audited_by_all(&chain, &[&new, &lies]).await.expect("it can be done");
    let (verdict, told) = check(&report, Check::Nodes);
    assert_eq!((report.holds, verdict), (true, Verdict::Incomplete), "{}", text(&report));
    assert!(told.contains(&format!("{} leaves out", lies.trim_start_matches("http://"))), "{told}");
}

/// Such an audit, which the page makes too.
async fn audited_by_all(chain: &TestChain, urls: &[&str]) -> Result<Report, AuditError> {
    let audited = audited(chain, urls, None).await;
    let said = page::says_the_same_at(urls, &chain.operator.to_string(), &audited).await;
    if let (Err(error), Some(said)) = (&audited, said) {
        let error = error.to_string();
        let named =
            urls.iter().map(|url| url.trim_start_matches("http://")).filter(|host| error.contains(host));
        named.for_each(|host| assert!(said.contains(host), "{host} is not in {said}"));
    }
    audited
}

/// Accounts of now beside the lists of before are no audit: neither command line, page nor `auditor.mts` accuses anybody.
#[tokio::test]
async fn directory_into_which_an_audit_reads_again_accuses_nobody() {
    let (mut chain, _) = paid();
    let saved = tempfile::tempdir().expect("a temporary folder can be made");
    let url = saved::serves(chain.folder.path()).await;
    assert!(audited(&chain, &[&url], Some(saved.path())).await.expect("it can be done").holds);
    let payment = chain.pays(&Paying::usdc(500));
    chain.saves();
    let look = |folder: std::path::PathBuf| async move {
        let looked = tokio::task::spawn_blocking(move || tried(&folder).map_err(|error| error.to_string()));
        looked.await.expect("it ends")
    };
    let is_refused = |looked: Result<Report, String>| {
        assert!(looked.as_ref().is_err_and(|why| why.contains("goes on or was interrupted")), "{looked:?}");
    };
    // It is interrupted: accounts and lists are of now, and a transaction is missing.
    let interrupted = saved::lies(chain.folder.path(), move |call, answer| {
        if call["method"] == "getTransaction" && call["params"][0] == payment.as_str() {
            Value::Null
        } else {
            answer
        }
    })
    .await;
    assert!(audited(&chain, &[&interrupted], Some(saved.path())).await.is_err());
    is_refused(look(saved.path().to_owned()).await);
    // It goes on.
    let looks: Arc<Mutex<Vec<Result<Report, String>>>> = Arc::default();
    let (looked, folder) = (Arc::clone(&looks), saved.path().to_owned());
    let url = saved::gated(chain.folder.path(), move |call| {
        let (looked, folder) = (Arc::clone(&looked), folder.clone());
        async move {
            if call["method"] == "getTransaction" {
                let found = look(folder).await;
                looked.lock().expect("nobody panics").push(found);
            }
            None
        }
    })
    .await;
    // By the command line alone: `auditor.mts` looks meanwhile.
    let report = audited_alone(&chain, &[&url], Some(saved.path())).await.expect("it can be done");
    assert!(report.holds && report.complete, "{}", text(&report));
    let looks = std::mem::take(&mut *looks.lock().expect("nobody panics"));
    assert!(!looks.is_empty(), "nobody looked");
    looks.into_iter().for_each(is_refused);
    let whole = look(saved.path().to_owned()).await.expect("it is whole again");
    assert!(whole.holds && whole.complete && whole.accounts[0].payments == 4, "{}", text(&whole));
}

#[tokio::test]
async fn node_that_does_not_answer_is_named() {
    let (chain, _) = paid();
    let honest = saved::serves(chain.folder.path()).await;
    let mute = saved::lies(chain.folder.path(), |call, answer| {
        if call["method"] == "getSignaturesForAddress" { Value::Null } else { answer }
    })
    .await;
    let error = audited_by_all(&chain, &[&honest, &mute]).await.expect_err("it cannot be done").to_string();
    assert!(error.contains(mute.trim_start_matches("http://")), "{error}");
}
