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
    assert!(refused(&["--remove-transfer-authority", &old]).contains("is no transfer authority"));
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
