//! Grants, the approvers who open some, and accounts that pay by grants alone.

use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::{Room, row};
use crate::unsigned::signed;

#[tokio::test(flavor = "multi_thread")]
async fn grants_are_opened_by_three_kinds_of_keys_listed_and_taken_back() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let (approver, guardian) = (room.wallet("approver").await, room.wallet("guardian").await);
    let keys = ["--guardian", &guardian.address(), "--loosening-delay", "1h"];
    let operator = room.creates_operator(&admin, &policy, &keys);
    let agent = room.creates_agent(&operator, &policy, 5_000_000).await.to_string();
    let payee = Keypair::new().pubkey().to_string();
    let usual =
        ["grant", "open", "--account", &agent, "--to-wallet", &payee, "--amount", "2.5", "--for", "1d"];
    let open = |more: &[&'static str]| [&usual[..], more].concat();
    let by_admin = open(&["--beyond-list", "--beyond-daily-limit", "--grant-id", "1"]);
    let shown = room.shown(&admin, &by_admin);
    assert_eq!(row(&shown, "grant", "left_usdc"), (&Value::Null, &json!("2.500000")));
    let opened = room.done(&admin, &by_admin);
    assert_eq!((&opened["state"], &opened["opened_by"]), (&json!("open"), &json!("admin")));
    assert_eq!(opened["beyond"], json!(["list", "daily_limit"]));

    // The policy authority's waits, and never goes past the daily limit.
    let by_policy = open(&["--beyond-list", "--grant-id", "2"]);
    let opened = room.done(&policy, &by_policy);
    assert_eq!((&opened["state"], &opened["opened_by"]), (&json!("waiting"), &json!("policy_authority")));
    assert!(opened["pays_from"].is_string());
    let past = open(&["--beyond-daily-limit"]);
    assert!(room.refused(&policy, &past).contains("admin alone"));

    // An approver says what it approves in a memo.
    let add = ["approver", "add", "--operator", &operator, "--max-grant", "3", "--max-daily", "4", "--key"];
    assert!(room.refused(&admin, &[&add[..], &[&policy.address()]].concat()).contains("a server holds"));
    assert!(room.refused(&policy, &[&add[..], &[&approver.address()]].concat()).contains("may not do this"));
    let added = room.done(&admin, &[&add[..], &[&approver.address()]].concat());
    assert_eq!(added["max_daily_usdc"], json!("4.000000"));
    let one = ["--beyond-single-limit", "--tag", "77", "--memo", "tea", "--this-policy", "--grant-id"];
    let loose = open(&["--beyond-list"]);
    assert!(room.refused(&approver, &loose).contains("for one payment"));
    let by_approver = open(&[&one[..], &["3"]].concat());
    let printed = room.printed(&approver, &by_approver);
    let said = printed["does"][0]["memo"]["text"].as_str().unwrap();
    assert_eq!(printed["memo"], json!(said));
    let expected = format!("Purser: let {agent} pay 2.500000 USDC to the wallet {payee} until 20");
    assert!(said.starts_with(&expected), "{said}");
    room.done(&admin, &["submit", &signed(&printed, &approver.keypair)]);
    // Four USDC a day.
    let again = open(&[&one[..], &["4"]].concat());
    assert!(room.refused(&approver, &again).contains("above what this approver may grant"));
    let approvers = room.answers(&admin, &["approver", "list", "--operator", &operator], 0);
    assert_eq!(approvers["approvers"][0]["granted_last_24_hours_usdc"], json!("2.500000"));

    let list = |expected: &[&str]| {
        let listed = room.answers(&admin, &["grant", "list", "--account", &agent], 0);
        let states: Vec<_> =
            listed["grants"].as_array().unwrap().iter().map(|grant| &grant["state"]).collect();
        assert_eq!(states, expected, "{listed}");
        listed
    };
    list(&["open", "waiting", "open"]);
    room.done(&admin, &["approver", "remove", "--operator", &operator, "--key", &approver.address()]);
    let listed = list(&["open", "waiting", "void"]);
    let second = listed["grants"][1]["grant"].as_str().unwrap();
    // It takes something back: nobody has to say --yes.
    room.answers(&guardian, &["grant", "close", "--grant", second], 0);
    list(&["open", "void"]);
    room.answers(&guardian, &["grant", "void", "--account", &agent], 0);
    list(&["void", "void"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn account_pays_by_grants_alone_until_the_admin_says_otherwise() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "1h"]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let set = |value| ["account", "set-bounds", "--account", agent.as_str(), "--by-grant-only", value];
    let shown = room.shown(&policy, &set("true"));
    assert_eq!(row(&shown, "account", "by_grant_only"), (&json!(false), &json!(true)));
    room.done(&policy, &set("true"));
    // A policy changes nothing of it.
    room.done(&policy, &["account", "set-policy", "--account", &agent, "--max-single-transfer", "1"]);
    let shown = room.answers(&admin, &["account", "show", "--account", &agent], 0);
    assert_eq!(shown["by_grant_only"], json!(true));
    assert!(room.refused(&policy, &set("false")).contains("the admin alone"));
    room.done(&admin, &set("false"));
    let month = |usdc| ["account", "set-bounds", "--account", agent.as_str(), "--max-30-days", usdc];
    let shown = room.shown(&policy, &month("50"));
    assert_eq!(row(&shown, "account", "max_30_days_usdc"), (&Value::Null, &json!("50.000000")));
    room.done(&policy, &month("50"));
    // What is not named stays.
    room.done(&policy, &set("true"));
    let shown = room.answers(&admin, &["account", "show", "--account", &agent], 0);
    assert_eq!(shown["max_30_days_usdc"], json!("50.000000"));
    assert!(room.refused(&policy, &month("51")).contains("the admin alone"));
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_is_made_named_raised_lowered_and_closed() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "1h"]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let to = |verb: &'static str, daily| {
        ["budget", verb, "--operator", operator.as_str(), "--max-daily", daily, "--max-30-days", "90"]
    };
    assert!(room.refused(&admin, &to("set", "10")).contains("make it with `budget create`"));
    assert!(room.refused(&policy, &to("create", "10")).contains("may not do this"));
    let made = room.done(&admin, &to("create", "10"));
    assert!(room.refused(&admin, &to("create", "10")).contains("is there already"));
    let budget = made["budget"].as_str().unwrap();
    let name = |budget| ["account", "set-bounds", "--account", agent.as_str(), "--budget", budget];
    assert!(room.refused(&policy, &name(agent.as_str())).contains("is no budget"));
    let shown = room.shown(&policy, &name(budget));
    assert_eq!(row(&shown, "account", "budget"), (&Value::Null, &json!(budget)));
    room.done(&policy, &name(budget));
    assert!(room.refused(&policy, &name("none")).contains("the admin alone"));
    let raised = room.done(&policy, &to("set", "20"));
    assert_eq!(
        (&raised["max_daily_usdc"], &raised["waiting"]["max_daily_usdc"]),
        (&json!("10.000000"), &json!("20.000000"))
    );
    let lowered = room.done(&policy, &to("set", "5"));
    assert_eq!((&lowered["max_daily_usdc"], &lowered["waiting"]), (&json!("5.000000"), &Value::Null));
    let listed = room.answers(&admin, &["budget", "list", "--operator", &operator], 0);
    assert_eq!(listed["budgets"][0]["empty"], json!(true));
    let closed = room.done(&admin, &["budget", "close", "--operator", &operator]);
    assert_eq!(closed["named_by"], json!([agent]));
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_and_raises_that_wait_are_shown_before_a_halt_is_lifted_and_where_the_delay_changes() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "1h"]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let payee = Keypair::new().pubkey().to_string();
    let open = |id: &'static str, more: &[&'static str]| {
        let usual = ["grant", "open", "--account", &agent, "--to-wallet", &payee, "--amount", "2.5"];
        [&usual[..], &["--for", "1d", "--grant-id", id], more].concat()
    };
    let waiting = room.done(&policy, &open("1", &["--beyond-list"]));
    // One that allows nothing more does not wait, nor does the admin's. One that was taken back is gone.
    assert_eq!(room.done(&policy, &open("2", &[]))["state"], json!("open"));
    room.done(&admin, &open("3", &["--beyond-list"]));
    let taken_back = room.done(&policy, &open("4", &["--beyond-list"]));
    room.answers(&policy, &["grant", "close", "--grant", taken_back["grant"].as_str().unwrap()], 0);
    let caps = |verb: &'static str, daily| ["budget", verb, "--operator", &operator, "--max-daily", daily];
    let made = room.done(&admin, &caps("create", "10"));
    let raised = room.done(&policy, &caps("set", "20"));
    room.done(&policy, &["operator", "halt", "--operator", &operator]);
    let account_id = room.answers(&admin, &["account", "show", "--account", &agent], 0)["account_id"].clone();

    let resume_all = ["operator", "resume", "--operator", &operator];
    let states = |shown: &Value, grants: &[&str], budgets: &[&str]| {
        let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let (waiting, raises) = (of(&shown["waiting_grants"]), of(&shown["waiting_budgets"]));
        assert_eq!(waiting.iter().map(|grant| &grant["state"]).collect::<Vec<_>>(), grants, "{shown}");
        let raises: Vec<_> = raises.iter().map(|budget| &budget["raised_to"]["state"]).collect();
        assert_eq!(raises, budgets, "{shown}");
    };
    for resume in [&resume_all[..], &["account", "resume", "--account", &agent]] {
        let shown = room.shown(&admin, resume);
        states(&shown, &["waiting"], &["waiting"]);
        let (grant, budget) = (&shown["waiting_grants"][0], &shown["waiting_budgets"][0]);
        assert_eq!((&grant["grant"], &grant["account_id"]), (&waiting["grant"], &account_id));
        assert_eq!(grant["pays_from"], waiting["pays_from"]);
        assert_eq!((&budget["budget"], &budget["raised_to"]), (&made["budget"], &raised["waiting"]));
        assert_eq!(budget["raised_to"]["max_daily_usdc"], json!("20.000000"));
        assert_eq!(shown["waiting_policies"], Value::Null);
    }
    // Where an account pays by grants alone, each of them lets it pay.
    room.done(&admin, &["account", "set-bounds", "--account", &agent, "--by-grant-only", "true"]);
    states(&room.shown(&admin, &resume_all), &["waiting", "waiting"], &["waiting"]);
    // What has waited long enough is held up by the halt alone, and by a longer delay.
    room.chain.stands_at(room.chain.now().await + 3_601).await;
    states(&room.shown(&admin, &resume_all), &["open", "open"], &["in_force"]);
    let delay = ["operator", "update", "--operator", &operator, "--loosening-delay", "2h"];
    states(&room.shown(&admin, &delay), &["waiting", "waiting"], &["waiting"]);
    states(&room.done(&admin, &delay), &["waiting", "waiting"], &["waiting"]);
    room.answers(&admin, &["grant", "void", "--account", &agent], 0);
    room.done(&policy, &caps("set", "5"));
    states(&room.done(&admin, &resume_all), &[], &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_transaction_does_with_grants_approvers_budgets_and_bounds_is_read_from_its_bytes() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let key = Keypair::new().pubkey().to_string();
    let reads = |name: &str, words: &[&str]| {
        let printed = room.printed(&admin, words);
        let does = printed["does"][0][name].clone();
        assert!(does.is_object(), "{printed}");
        assert_eq!(printed["refused_now"], Value::Null);
        (does, printed)
    };
    let open = |to| {
        ["grant", "open", "--account", &agent, to, &key, "--amount", "2.5", "--for", "1d", "--beyond-list"]
    };
    for (to, kind) in [("--to-token-account", "TokenAccount"), ("--to-wallet", "Wallet")] {
        let (does, printed) = reads("open_grant", &open(to));
        let terms = &does["terms"];
        assert_eq!((&terms["payee"], &terms["amount_usdc"]), (&json!({ kind: key }), &json!("2.500000")));
        assert_eq!((&terms["beyond_allowlist"], &does["agent"]), (&json!(true), &json!(agent)));
        assert_eq!((&terms["expires_at"], &does["approver"]), (&printed["ends_at"], &Value::Null));
    }
    let opened = room.done(&admin, &open("--to-wallet"));
    let (does, printed) =
        reads("close_grant", &["grant", "close", "--grant", opened["grant"].as_str().unwrap()]);
    assert_eq!((&does["grant"], row(&printed, "grant", "left_usdc").1), (&opened["grant"], &Value::Null));
    let (does, printed) = reads("void_grants", &["grant", "void", "--account", &agent]);
    assert_eq!(does["agent"], json!(agent));
    let (before, after) = row(&printed, "account", "grants_revoked_at");
    assert!(before.is_null() && after.is_string(), "{printed}");

    let approver = |verb| ["approver", verb, "--operator", &operator, "--key", &key];
    let add = [&approver("add")[..], &["--max-grant", "3", "--max-daily", "4"]].concat();
    let (does, _) = reads("set_approver", &add);
    assert_eq!((&does["max_grant_usdc"], &does["max_daily_usdc"]), (&json!("3.000000"), &json!("4.000000")));
    assert_eq!(does["key"], json!(key));
    room.done(&admin, &add);
    let (_, printed) = reads("remove_approver", &approver("remove"));
    let (before, after) = row(&printed, "operator", "approvers_grants_revoked_at");
    assert!(before.is_null() && after.is_string(), "{printed}");

    let create = ["budget", "create", "--operator", &operator, "--max-daily", "10", "--max-30-days", "90"];
    let (does, _) = reads("set_budget", &create);
    let caps = json!({ "max_daily_spend_usdc": "10.000000", "max_30_day_spend_usdc": "90.000000" });
    assert_eq!(does["caps"], caps);
    let budget = room.done(&admin, &create)["budget"].clone();
    let name = ["account", "set-bounds", "--account", &agent, "--budget", budget.as_str().unwrap()];
    let (does, _) = reads("set_bounds", &[&name[..], &["--max-30-days", "50"]].concat());
    let bounds = json!({ "by_grant_only": false, "max_30_day_spend_usdc": "50.000000", "budget": budget });
    assert_eq!(does["bounds"], bounds);
    let (does, printed) = reads("close_budget", &["budget", "close", "--operator", &operator]);
    assert_eq!((&does["budget"], row(&printed, "budget", "empty").1), (&budget, &Value::Null));
}

fn words(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_that_waits_is_approved_unsigned_and_signed_elsewhere_or_at_once() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let approver = room.wallet("approver").await;
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "1h"]);
    let agent = room.creates_agent(&operator, &policy, 5_000_000).await.to_string();
    let payee = Keypair::new().pubkey().to_string();
    let add = ["approver", "add", "--operator", &operator, "--max-grant", "3", "--max-daily", "9"];
    room.done(&admin, &[&add[..], &["--key", &approver.address()]].concat());
    let asked_at = room.chain.now().await.unsigned_abs() * 1_000;
    let transfer = |random| format!("txn_{}", ulid::Ulid::from_parts(asked_at, random));
    let approve = |transfer: &str, more: &[&str]| -> Vec<String> {
        let usual =
            ["approve", "--account", &agent, "--to", &payee, "--amount", "2.5", "--transfer", transfer];
        usual.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    let first = transfer(77);
    let printed =
        room.printed(&approver, &words(&approve(&first, &["--memo", "tea", "--policy-version", "1"])));
    let expected = format!("Purser: let {agent} pay 2.500000 USDC to the token account {payee} until 20");
    let said = printed["does"][0]["memo"]["text"].as_str().unwrap();
    assert!(said.starts_with(&expected), "{said}");
    let tag = purser_policy::tag_of(&ulid::Ulid::from_parts(asked_at, 77).to_bytes());
    let terms = &printed["does"][1]["open_grant"]["terms"];
    assert_eq!(
        (&terms["beyond_allowlist"], &terms["beyond_single_limit"], &terms["beyond_daily_limit"]),
        (&json!(true), &json!(true), &json!(false)),
        "{printed}"
    );
    let grant = room.chain.program().grant_address(&agent.parse().unwrap(), tag).to_string();
    assert_eq!(printed["grant"], json!(grant));
    room.done(&admin, &["submit", &signed(&printed, &approver.keypair)]);
    let listed = room.answers(&admin, &["grant", "list", "--account", &agent], 0);
    let opened = &listed["grants"][0];
    assert_eq!((&opened["grant"], &opened["state"]), (&json!(grant), &json!("open")));
    assert_eq!((&opened["opened_by"], &opened["one_payment"]), (&json!("approver"), &json!(true)));

    // Once for a transfer, under the policy that was asked about, within 24 hours, and above the approver's limit by the admin alone.
    assert!(room.refused(&approver, &words(&approve(&first, &[]))).contains("is there already"));
    let second = transfer(78);
    let other = approve(&second, &["--policy-version", "2"]);
    assert!(room.refused(&approver, &words(&other)).contains("policy has changed"));
    let old = format!("txn_{}", ulid::Ulid::from_parts(asked_at - 86_401_000, 1));
    assert!(room.refused(&approver, &words(&approve(&old, &[]))).contains("24 hours"));
    let mut large = approve(&second, &[]);
    large[6] = "4".to_owned();
    assert!(room.refused(&approver, &words(&large)).contains("above what this approver may grant"));
    assert_eq!(room.done(&admin, &words(&large))["opened_by"], json!("admin"));
}
