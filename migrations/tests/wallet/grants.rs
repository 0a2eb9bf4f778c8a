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
