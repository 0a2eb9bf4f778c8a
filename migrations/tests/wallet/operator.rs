use purser_client::{OnChainPolicy, Proposal};
use purser_tests::DirectOutcome;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::Room;

fn any_key() -> String {
    Keypair::new().pubkey().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_is_created_once_and_its_keys_change_hands() {
    let room = Room::new();
    let (admin, policy, next) =
        (room.wallet("admin").await, room.wallet("policy").await, room.wallet("next").await);
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "2h"]);
    let shown = room.done(&admin, &["operator", "show"]);
    assert_eq!(shown["operator"], json!(operator));
    assert_eq!((&shown["admin"], &shown["guardian"]), (&json!(admin.address()), &Value::Null));
    assert_eq!((&shown["halted_by"], &shown["loosening_delay_seconds"]), (&Value::Null, &json!(7_200)));

    // Once more as it is, and once with other keys.
    let transfer = shown["transfer_authorities"][0].as_str().unwrap();
    let (policy_key, mint) = (policy.address(), room.network.usdc_mint.to_string());
    let create = |transfer: &str, delay: &str| {
        let words = [
            ["operator", "create"],
            ["--policy-authority", &policy_key],
            ["--transfer-authority", transfer],
            ["--usdc-mint", &mint],
            ["--loosening-delay", delay],
        ];
        words.concat().into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let words = create(transfer, "7200");
    let again = room.done(&admin, &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(again["create_signature"], Value::Null);
    for words in [create(&any_key(), "2h"), create(transfer, "3h")] {
        let refused = room.refused(&admin, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(refused.contains("exists with other keys"), "{refused}");
    }

    let guardian = any_key();
    let offer = ["operator", "update", "--guardian", &guardian, "--pending-admin", &next.address()];
    let updated = room.done(&admin, &offer);
    assert_eq!((&updated["guardian"], &updated["pending_admin"]), (&json!(guardian), &json!(next.address())));
    assert_eq!(updated["loosening_delay_seconds"], json!(7_200));
    let accept = ["operator", "accept-admin", "--operator", &operator];
    assert!(room.refused(&policy, &accept).contains("not offered"));
    let handed = room.done(&next, &accept);
    assert_eq!((&handed["admin"], &handed["pending_admin"]), (&json!(next.address()), &Value::Null));
    let refused = room.refused(&admin, &["operator", "update", "--guardian", "none"]);
    assert!(refused.contains(&format!("the wallet {} signed", admin.address())), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_authorities_are_rotated_side_by_side() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    room.creates_operator(&admin, &policy, &["--guardian", &policy.address()]);
    let keys = |answer: &Value| answer["transfer_authorities"].clone();
    let old = keys(&room.done(&admin, &["operator", "show"]))[0].as_str().unwrap().to_string();
    let new = any_key();
    let update = |more: &[&str]| room.done(&admin, &[&["operator", "update"], more].concat());
    let refused = |more: &[&str]| room.refused(&admin, &[&["operator", "update"], more].concat());

    assert_eq!(keys(&update(&["--add-transfer-authority", &new])), json!([old, new]));
    assert_eq!(keys(&update(&["--add-transfer-authority", &new])), json!([old, new]));
    assert_eq!(keys(&update(&["--remove-transfer-authority", &old])), json!([new]));
    assert!(refused(&["--remove-transfer-authority", &old]).contains("is not a transfer authority"));
    assert!(refused(&["--remove-transfer-authority", &new]).contains("one to 8 transfer authorities"));
    let both = [any_key(), any_key()];
    let replace = ["--transfer-authority", &both[0], "--transfer-authority", &both[1]];
    assert_eq!(keys(&update(&replace)), json!(both));
    for shared in [admin.address(), policy.address()] {
        assert!(refused(&["--add-transfer-authority", &shared]).contains("give it a key of its own"));
    }
    let nine: Vec<String> = (0..9).map(|_| any_key()).collect();
    let nine: Vec<&str> = nine.iter().flat_map(|key| ["--transfer-authority", key.as_str()]).collect();
    assert!(refused(&nine).contains("these would be 9"));
    // The others stay as they are, and the delay changes by itself.
    let updated = update(&["--loosening-delay", "1d"]);
    assert_eq!(updated["loosening_delay_seconds"], json!(86_400));
    assert_eq!((keys(&updated), &updated["guardian"]), (json!(both), &json!(policy.address())));
}

#[tokio::test(flavor = "multi_thread")]
async fn halts_are_set_by_the_guardian_and_lifted_by_the_admin_alone() {
    let room = Room::new();
    let (admin, policy, guardian) =
        (room.wallet("admin").await, room.wallet("policy").await, room.wallet("guardian").await);
    let operator = room.creates_operator(&admin, &policy, &["--guardian", &guardian.address()]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let all = |verb: &'static str| ["operator", verb, "--operator", operator.as_str()];
    let one = |verb: &'static str| ["account", verb, "--account", agent.as_str()];

    assert_eq!(room.done(&guardian, &all("halt"))["halted_by"], json!("guardian"));
    // The first halt stays whose it is.
    assert_eq!(room.done(&admin, &all("halt"))["halted_by"], json!("guardian"));
    for other in [&guardian, &policy] {
        assert!(room.refused(other, &all("resume")).contains("may not do this"));
    }
    let halted = room.done(&policy, &one("halt"));
    assert_eq!(
        (&halted["halted_by"], &halted["operator_halted_by"]),
        (&json!("policy_authority"), &json!("guardian"))
    );
    assert_eq!(room.done(&admin, &all("resume"))["halted_by"], Value::Null);
    assert_eq!(room.done(&admin, &one("show"))["status"], json!("halted"));
    assert!(room.refused(&policy, &one("resume")).contains("may not do this"));
    assert_eq!(room.done(&admin, &one("resume"))["halted_by"], Value::Null);
    // A pause is of the policy, and none of the guardian's business.
    assert!(room.refused(&guardian, &one("pause")).contains("may not do this"));
    assert_eq!(room.done(&policy, &one("pause"))["policy_version"], json!(2));
    assert_eq!(room.done(&admin, &one("show"))["status"], json!("paused"));
    assert_eq!(room.done(&policy, &one("unpause"))["paused"], json!(false));
    assert_eq!(room.done(&admin, &one("show"))["status"], json!("active"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_of_the_admin_lifts_the_halts_of_many_accounts_and_shows_what_waits() {
    let room = Room::new();
    let (admin, policy, guardian) =
        (room.wallet("admin").await, room.wallet("policy").await, room.wallet("guardian").await);
    let keys = ["--guardian", &guardian.address(), "--loosening-delay", "1h"];
    let operator = room.creates_operator(&admin, &policy, &keys);
    // One more than fits a transaction.
    let mut agents = Vec::new();
    for number in 0..25u8 {
        let (program, authority) = (room.chain.program(), policy.keypair.pubkey());
        let at = operator.parse().unwrap();
        let create = program.create_agent(
            authority,
            authority,
            authority,
            at,
            [number; 16],
            &OnChainPolicy::default(),
        );
        assert!(matches!(room.chain.lands(create, &policy.keypair).await, DirectOutcome::Settled(_)));
        agents.push(program.agent_address(&at, &[number; 16]));
    }
    let one = agents[0].to_string();
    let set = ["account", "set-policy", "--account", &one, "--max-daily-spend"];
    room.done(&policy, &[&set[..], &["5"]].concat());
    room.done(&policy, &[&set[..], &["6"]].concat());
    for agent in &agents {
        room.done(&guardian, &["account", "halt", "--account", &agent.to_string()]);
    }
    room.done(&guardian, &["operator", "halt", "--operator", &operator]);

    // Ripe by now, and still the admin's alone.
    room.chain.stands_at(room.chain.now().await + 3_601).await;
    let apply = ["account", "apply-policy", "--account", &one];
    assert!(room.refused(&policy, &apply).contains("only the admin's wallet applies it"));
    let shown = room.done(&admin, &["account", "show", "--account", &one]);
    assert_eq!(shown["waiting_policy"]["state"], json!("halted"));

    let resume = ["operator", "resume", "--operator", &operator, "--accounts", "all"];
    assert!(room.refused(&policy, &resume).contains("may not do this"));
    let shown = room.shown(&admin, &resume);
    assert_eq!((&shown["transactions_left"], shown["accounts"].as_array().unwrap().len()), (&json!(2), 25));
    let waiting = shown["waiting_policies"].as_array().unwrap();
    assert_eq!((waiting.len(), &waiting[0]["max_daily_spend_usdc"]), (1, &json!("6.000000")));
    assert_eq!(waiting[0]["account_id"], shown["accounts"][0]);
    let does = room.printed(&admin, &resume)["does"].clone();
    assert_eq!(does[0]["resume"]["more_agents"].as_array().map(Vec::len), Some(24), "{does}");
    let done = room.done(&admin, &resume);
    assert_eq!((&done["halted_by"], done["signatures"].as_array().unwrap().len()), (&Value::Null, 2));
    for agent in &agents {
        assert_eq!(room.chain.agent(agent).await.agent.halted_by, 0);
    }
    assert_eq!(room.done(&admin, &resume)["accounts"], json!([]));
    let stranger = any_key();
    let wrong = ["operator", "resume", "--operator", &operator, "--accounts", &stranger];
    assert!(room.refused(&admin, &wrong).contains("is not an account of the operator"));
    room.done(&policy, &apply);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_without_a_delay_is_shown_when_one_is_set_and_waits_for_the_admin() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await;
    let name = agent.to_string();
    room.done(&policy, &["account", "set-policy", "--account", &name, "--max-daily-spend", "5"]);
    // As a thief would: sealed, and not applied.
    let (program, authority, at) = (room.chain.program(), policy.keypair.pubkey(), operator.parse().unwrap());
    let proposal = Proposal { agent, expected_version: 2, policy: OnChainPolicy::default() };
    let open = program.open_draft(authority, authority, authority, at, &proposal);
    assert!(matches!(room.chain.lands(open, &policy.keypair).await, DirectOutcome::Settled(_)));

    let delay = ["operator", "update", "--loosening-delay", "1h"];
    for answer in [room.shown(&admin, &delay), room.done(&admin, &delay)] {
        let waiting = &answer["waiting_policies"][0];
        assert_eq!((&waiting["state"], &waiting["effective_at"]), (&json!("admin_only"), &Value::Null));
        assert_eq!(waiting["max_daily_spend_usdc"], Value::Null);
    }
    room.chain.stands_at(room.chain.now().await + 100_000).await;
    let apply = ["account", "apply-policy", "--account", &name];
    assert!(room.refused(&policy, &apply).contains("sealed before the operator let that wait"));
    assert_eq!(room.done(&admin, &apply)["max_daily_spend_usdc"], Value::Null);
}
