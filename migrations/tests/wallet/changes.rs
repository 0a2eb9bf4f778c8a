//! Nothing is done without `--yes`: what would change is shown.

use std::process::Stdio;

use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::program::gives_upgrade_authority;
use crate::room::{Room, row};

#[tokio::test(flavor = "multi_thread")]
async fn without_yes_the_rules_are_shown_before_and_after_and_stay() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let set =
        |more: &[&'static str]| [&["account", "set-policy", "--account", agent.as_str()], more].concat();
    room.done(
        &policy,
        &set(&["--max-single-transfer", "10", "--max-daily-spend", "50", "--require-memo", "true"]),
    );
    let as_it_was = room.done(&admin, &["account", "show", "--account", &agent]);
    let held = room.chain.lamports(&policy.keypair.pubkey()).await;

    let shown = room.shown(&policy, &set(&["--max-single-transfer", "25.5", "--allow-nobody"]));
    assert_eq!(
        row(&shown, "account", "max_single_transfer_usdc"),
        (&json!("10.000000"), &json!("25.500000"))
    );
    let nobody = json!({ "wallets": [], "token_accounts": [] });
    assert_eq!(row(&shown, "account", "allowed_counterparties"), (&json!("anyone"), &nobody));
    assert_eq!(row(&shown, "account", "policy_version"), (&json!(2), &json!(3)));
    // What is not named stays, and is no change.
    let names: Vec<&Value> = shown["changes"].as_array().unwrap().iter().map(|row| &row["what"]).collect();
    for stays in ["max_daily_spend_usdc", "require_memo", "paused"] {
        assert!(!names.contains(&&json!(stays)), "{shown}");
    }
    let after = room.done(&admin, &["account", "show", "--account", &agent]);
    for fact in ["policy_version", "max_single_transfer_usdc", "allowed_counterparties"] {
        assert_eq!(after[fact], as_it_was[fact], "{fact}");
    }
    assert_eq!(room.chain.lamports(&policy.keypair.pubkey()).await, held);

    // For people, the same as a table.
    let output = room.command(&policy, &set(&["--max-single-transfer", "25.5"])).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.starts_with("nothing was done. With --yes: policy set\n"), "{text}");
    let line =
        |word: &str| text.lines().find(|line| line.trim_start().starts_with(word)).unwrap().to_string();
    assert_eq!(line("what").split_whitespace().collect::<Vec<_>>(), ["what", "before", "after"]);
    let rule: Vec<String> = line("max_single").split_whitespace().map(str::to_string).collect();
    assert_eq!(rule, ["max_single_transfer_usdc", "10.000000", "25.500000"]);
    // Where nothing would change, nothing is missing.
    let same = room.answers(&policy, &set(&["--max-single-transfer", "10"]), 0);
    assert_eq!((&same["signature"], &same["done"]), (&Value::Null, &Value::Null));
}

/// One line of each command that changes something; a second one does it.
#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_made_without_yes() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let guardian = room.wallet("guardian").await;
    let keys = ["--guardian", &guardian.address(), "--loosening-delay", "1h"];
    let operator = room.creates_operator(&admin, &policy, &keys);
    let agent = room.creates_agent(&operator, &policy, 40_000_000).await;
    let name = agent.to_string();
    let (payee, _) = room.chain.new_payee().await;
    let payee = payee.to_string();
    gives_upgrade_authority(&room, &admin).await;
    let of_agent = |verb: &'static str| ["account", verb, "--account", &name].map(str::to_string).to_vec();
    let with = |mut words: Vec<String>, more: &[&str]| {
        words.extend(more.iter().map(|word| (*word).to_string()));
        words
    };
    room.done(&policy, &strs(&with(of_agent("set-policy"), &["--max-single-transfer", "10"])));
    room.done(&policy, &strs(&with(of_agent("set-policy"), &["--max-single-transfer", "20"])));
    room.done(&guardian, &["operator", "halt", "--operator", &operator]);
    room.done(&guardian, &strs(&of_agent("halt")));
    let next = Keypair::new().pubkey().to_string();
    let update = |more: &[&str]| with(vec!["operator".into(), "update".into()], more);
    let upgrade = |more: &[&str]| with(vec!["upgrade-authority".into()], more);
    let cases: Vec<(Vec<String>, &str, &str, Value, Value)> = vec![
        (update(&["--pending-admin", &next]), "operator", "pending_admin", Value::Null, json!(next)),
        (
            update(&["--loosening-delay", "2h"]),
            "operator",
            "loosening_delay_seconds",
            json!(3_600),
            json!(7_200),
        ),
        (vec!["operator".into(), "resume".into()], "operator", "halted_by", json!("guardian"), Value::Null),
        (of_agent("resume"), "account", "halted_by", json!("guardian"), Value::Null),
        (
            of_agent("apply-policy"),
            "account",
            "max_single_transfer_usdc",
            json!("10.000000"),
            json!("20.000000"),
        ),
        (of_agent("drop-policy"), "draft", "sealed", json!(true), Value::Null),
        (
            with(of_agent("withdraw"), &["--amount", "1.5", "--to", &payee]),
            "token account",
            "balance",
            json!("40.000000"),
            json!("38.500000"),
        ),
        (with(of_agent("close"), &["--to", &payee]), "closed account", "paused", json!(false), Value::Null),
        (upgrade(&["--to", &next]), "program data", "upgrade_authority", json!(admin.address()), json!(next)),
        (upgrade(&["--drop"]), "program data", "upgrade_authority", json!(admin.address()), Value::Null),
    ];
    let places = [operator.parse().unwrap(), agent, room.chain.program().draft_address(&agent)];
    let state = async || {
        let mut data = Vec::new();
        for place in &places {
            data.push(room.chain.data(place).await);
        }
        (data, room.chain.lamports(&admin.keypair.pubkey()).await)
    };
    let before = state().await;
    for (words, kind, what, old, new) in &cases {
        let shown = room.shown(&admin, &strs(words));
        let expected = json!({ "kind": kind, "what": what, "before": old, "after": new });
        let rows = shown["changes"].as_array().unwrap().iter().cloned();
        let mut rows = rows.map(|mut row| {
            row.as_object_mut().unwrap().remove("address");
            row
        });
        assert!(rows.any(|row| row == expected), "{words:?}: {shown}");
        assert_eq!(shown["fee_sol"], json!("0.000005000"), "{words:?}");
    }
    assert_eq!(state().await, before);
    // What the chain would refuse is refused before anybody says yes.
    for words in [of_agent("resume"), with(of_agent("withdraw"), &["--amount", "1", "--to", &payee])] {
        assert!(room.fails(&policy, &strs(&words)).contains("may not do this"), "{words:?}");
    }
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// A guardian at three in the morning types one line.
#[tokio::test(flavor = "multi_thread")]
async fn changes_that_only_stop_something_are_made_at_once() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let one = |verb: &'static str| ["account", verb, "--account", agent.as_str()];
    let paused = room.answers(&policy, &one("pause"), 0);
    assert_eq!((&paused["done"], &paused["paused"]), (&json!(true), &json!(true)));
    assert_eq!(room.answers(&policy, &one("halt"), 0)["halted_by"], json!("policy_authority"));
    let all = ["operator", "halt", "--operator", &operator];
    assert_eq!(room.answers(&policy, &all, 0)["halted_by"], json!("policy_authority"));
    // Undone it is with a yes.
    for words in [&one("unpause")[..], &one("resume"), &["operator", "resume"]] {
        room.shown(&admin, words);
    }
    // Printed, it is not done either.
    room.done(&admin, &one("unpause"));
    room.printed(&admin, &one("pause"));
    assert_eq!(room.done(&admin, &one("show"))["paused"], json!(false));
}

/// As `anchor run set-policy -- ... 2>&1 | head -1` has it: the list is written whole.
#[tokio::test(flavor = "multi_thread")]
async fn reader_that_goes_away_leaves_nothing_half_done() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let recipients: Vec<String> = (0..60).map(|_| Keypair::new().pubkey().to_string()).collect();
    let file = room.folder.path().join("recipients");
    std::fs::write(&file, recipients.join("\n")).unwrap();
    let set = ["account", "set-policy", "--account", &agent, "--allow-file", file.to_str().unwrap(), "--yes"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = room.command(&policy, &set);
    command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    assert_eq!(command.status().unwrap().code(), Some(0));
    let shown = room.done(&admin, &["account", "show", "--account", &agent]);
    assert_eq!(shown["allowed_counterparties"]["wallets"].as_array().unwrap().len(), 60);
    assert_eq!(shown["waiting_policy"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_that_is_missing_or_empty_is_named() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let update = ["operator", "update", "--operator", &operator, "--guardian", "none"];
    let mut missing = room.wallet("missing").await;
    missing.file = room.folder.path().join("nowhere.json");
    for words in [&update[..], &["operator", "show"], &["account", "list"]] {
        let error = room.fails(&missing, words);
        assert!(error.contains("no wallet to sign with") && error.contains("nowhere.json"), "{error}");
    }
    // Who only reads, and names what to read, needs none.
    room.answers(&missing, &["operator", "show", "--operator", &operator], 0);
    room.answers(&missing, &["account", "list", "--operator", &operator], 0);

    let poor = room.wallet("poor").await;
    let poor_key: Pubkey = poor.keypair.pubkey();
    room.chain.sets_lamports(&poor_key, 1_000).await;
    let error = room.fails(&poor, &update);
    assert!(error.contains(&format!("{poor_key} has too little SOL")), "{error}");
}
