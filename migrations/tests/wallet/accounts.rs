use purser_client::{OnChainPolicy, owned};
use purser_tests::DirectOutcome;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::{Room, row};

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_created_by_a_wallet_and_listed_from_the_chain() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &["--guardian", "none"]);
    let empty = room.done(&admin, &["account", "list"]);
    assert_eq!((&empty["count"], &empty["accounts"]), (&json!(0), &json!([])));

    let at = ["--operator", &operator];
    let create = |more: &[&'static str]| [&["account", "create"], &at[..], more].concat();
    let rules =
        create(&["--max-single-transfer", "25", "--max-daily-spend", "100.5", "--require-memo", "true"]);
    let first = room.done(&policy, &rules);
    assert_eq!((&first["done"], &first["max_daily_spend_usdc"]), (&json!(true), &json!("100.500000")));
    let shown = room.done(&admin, &["account", "show", "--account", first["account_id"].as_str().unwrap()]);
    for fact in ["agent", "usdc_token_account", "max_single_transfer_usdc", "require_memo"] {
        assert_eq!(shown[fact], first[fact], "{fact}");
    }
    assert_eq!(shown["rent_back_to"], json!(policy.address()));

    // The admin's wallet may too, and the same agent id again is the same account.
    let agent_id = "0190a1b2c3d4e5f60718293a4b5c6d7e";
    let second = room.done(&admin, &create(&["--agent-id", agent_id, "--paused", "true"]));
    assert_eq!(second["agent_id"], json!(agent_id));
    let again = room.done(&admin, &create(&["--agent-id", agent_id, "--paused", "true"]));
    assert_eq!((&again["signature"], &again["agent"]), (&Value::Null, &second["agent"]));
    assert_eq!(again["account_id"], second["account_id"]);
    let other = room.refused(&admin, &create(&["--agent-id", agent_id]));
    assert!(other.contains("exists with another policy"), "{other}");
    let stranger = room.wallet("stranger").await;
    assert!(room.refused(&stranger, &create(&[])).contains("may not do this"));
    let many: Vec<String> = (0..21).map(|_| Keypair::new().pubkey().to_string()).collect();
    let many: Vec<&str> = many.iter().flat_map(|key| ["--allow-wallet", key.as_str()]).collect();
    let refused = room.refused(&admin, &[&["account", "create"], &at[..], &many].concat());
    assert!(refused.contains("--allow-nobody") && refused.contains("these are 21"), "{refused}");

    // Another operator's is not in the list.
    room.creates_operator(&stranger, &policy, &[]);
    let foreign = room.done(&stranger, &["account", "create", "--agent-id", agent_id]);
    assert_ne!(
        foreign["account_id"], second["account_id"],
        "an agent id of another operator is another account"
    );
    let of_another = ["account", "show", "--account", second["account_id"].as_str().unwrap()];
    assert!(room.fails(&stranger, &of_another).contains("is not an agent account of the operator"));
    let agent = first["agent"].as_str().unwrap().parse().unwrap();
    room.chain.sets_usdc(&agent, 1_500_000).await;
    let listed = room.done(&admin, &["account", "list"]);
    assert_eq!((&listed["count"], &listed["total_usdc"]), (&json!(2), &json!("1.500000")));
    let rows = listed["accounts"].as_array().unwrap();
    let find = |id: &Value| rows.iter().find(|row| row["account_id"] == *id);
    assert!(find(&foreign["account_id"]).is_none(), "{listed}");
    let row = find(&first["account_id"]).unwrap();
    assert_eq!((&row["status"], &row["balance_usdc"]), (&json!("active"), &json!("1.500000")));
    assert_eq!((&row["agent"], &row["max_single_transfer_usdc"]), (&first["agent"], &json!("25.000000")));
    let row = find(&second["account_id"]).unwrap();
    assert_eq!((&row["status"], &row["max_daily_spend_usdc"]), (&json!("paused"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_of_an_account_is_shown_before_it_is_paid() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent_id = "0190a1b2c3d4e5f60718293a4b5c6d7e";
    let create =
        ["account", "create", "--operator", &operator, "--agent-id", agent_id, "--max-single-transfer", "3"];
    let shown = room.shown(&policy, &create);
    let id = shown["account_id"].as_str().unwrap();
    assert_eq!(row(&shown, "account", "max_single_transfer_usdc"), (&Value::Null, &json!("3.000000")));
    let (before, after) = row(&shown, "wallet", "sol");
    assert_eq!(*before, json!(sol(room.chain.lamports(&policy.keypair.pubkey()).await)));
    assert_eq!(shown["fee_sol"], json!("0.000005000"));
    // Rent and fee are all that is gone.
    let lamports = |value: &Value| value.as_str().unwrap().replace('.', "").parse::<u64>().unwrap();
    assert_eq!(
        lamports(before) - lamports(after),
        lamports(&shown["rent_sol"]) + lamports(&shown["fee_sol"])
    );
    assert!(room.fails(&admin, &["account", "show", "--account", id]).contains("is not an agent account"));

    room.done(&policy, &create);
    assert_eq!(json!(sol(room.chain.lamports(&policy.keypair.pubkey()).await)), *after);
}

/// The relayer's accounts and those of a wallet are the same.
#[tokio::test(flavor = "multi_thread")]
async fn account_of_a_wallet_is_like_one_of_the_relayer() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let ours = room.creates_agent(&operator, &policy, 0).await;
    let theirs = room.done(&policy, &["account", "create", "--operator", &operator])["agent"].clone();
    let theirs = theirs.as_str().unwrap().parse().unwrap();
    let (ours, theirs) = (room.chain.agent(&ours).await, room.chain.agent(&theirs).await);
    assert_eq!(owned(&theirs.policy()), OnChainPolicy::default());
    assert_eq!(owned(&ours.policy()), OnChainPolicy::default());
    assert_eq!(
        (ours.agent.operator, ours.agent.rent_refund),
        (theirs.agent.operator, theirs.agent.rent_refund)
    );
    // The agent id is taken: nobody makes it again.
    let program = room.chain.program();
    let authority = policy.keypair.pubkey();
    let again = program.create_agent(
        authority,
        authority,
        authority,
        operator.parse().unwrap(),
        theirs.agent.agent_id,
        &OnChainPolicy::default(),
    );
    assert!(!matches!(room.chain.lands(again, &policy.keypair).await, DirectOutcome::Settled(_)));
}

fn sol(lamports: u64) -> String {
    format!("{}.{:09}", lamports / 1_000_000_000, lamports % 1_000_000_000)
}
