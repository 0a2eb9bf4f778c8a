use purser_client::{OnChainPolicy, OwnedAllowlist, Proposal, Staging};
use purser_tests::DirectOutcome;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::{Room, Wallet};

fn sorted(list: &Value) -> Vec<String> {
    let mut texts: Vec<String> = serde_json::from_value(list.clone()).unwrap();
    texts.sort_unstable();
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_not_named_stay_as_they_are() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 40_000_000).await.to_string();
    let set = |wallet: &Wallet, more: &[&str]| {
        room.done(wallet, &[&["account", "set-policy", "--account", &agent], more].concat())
    };
    let shown = set(&policy, &["--max-single-transfer", "12.5", "--require-memo", "true", "--allow-nobody"]);
    assert_eq!(
        (&shown["max_single_transfer_usdc"], &shown["require_memo"]),
        (&json!("12.500000"), &json!(true))
    );
    let nobody = json!({ "wallets": [], "token_accounts": [] });
    assert_eq!((&shown["max_daily_spend_usdc"], &shown["allowed_counterparties"]), (&Value::Null, &nobody));
    assert_eq!(shown["balance_usdc"], json!("40.000000"));

    // Found by its id under the admin's operator; the pause and everything else outlive what does not speak of them.
    let by_id = shown["account_id"].as_str().unwrap();
    assert_eq!(room.done(&admin, &["account", "pause", "--account", by_id])["paused"], json!(true));
    let shown = set(&policy, &["--max-daily-spend", "0.000001"]);
    assert_eq!((&shown["paused"], &shown["require_memo"]), (&json!(true), &json!(true)));
    assert_eq!(shown["max_single_transfer_usdc"], json!("12.500000"));
    assert_eq!((&shown["policy_version"], &shown["allowed_counterparties"]), (&json!(4), &nobody));
    let shown = set(&admin, &["--max-daily-spend", "0.000001", "--paused", "true"]);
    assert_eq!((&shown["signature"], &shown["policy_version"]), (&Value::Null, &json!(4)));

    // 256 recipients, one of them twice, through a draft whose rent comes back.
    let recipients: Vec<String> = (0..256).map(|_| Keypair::new().pubkey().to_string()).collect();
    let file = room.folder.path().join("recipients");
    let text = format!("# who may be paid\n{}\n{} # again\n", recipients.join("\n"), recipients[0]);
    std::fs::write(&file, text).unwrap();
    let long = ["--allow-file", file.to_str().unwrap()];
    let shown = set(&policy, &long);
    let listed = sorted(&shown["allowed_counterparties"]["wallets"]);
    assert_eq!(listed, sorted(&json!(recipients)));
    assert_eq!((&shown["paused"], &shown["waiting_policy"]), (&json!(true), &Value::Null));
    std::fs::write(&file, format!("{}\n{}", recipients.join("\n"), Keypair::new().pubkey())).unwrap();
    let too_long = [&["account", "set-policy", "--account", &agent], &long[..]].concat();
    assert!(room.refused(&policy, &too_long).contains("at most 256 entries, and these are 257"));
    let shown = set(&policy, &["--allow-anyone", "--require-memo", "false", "--max-daily-spend", "none"]);
    assert_eq!((&shown["allowed_counterparties"], &shown["require_memo"]), (&json!("anyone"), &json!(false)));
    assert_eq!(shown["max_daily_spend_usdc"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_have_a_kind_that_the_chain_or_the_operator_says() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let set = ["account", "set-policy", "--account", &agent];
    let (payee, _) = room.chain.new_payee().await;
    let (payee, wallet) = (payee.to_string(), Keypair::new().pubkey().to_string());
    let shown = room.done(&policy, &[&set[..], &["--allow", &payee, "--allow", &wallet]].concat());
    let expected = json!({ "wallets": [wallet], "token_accounts": [payee] });
    assert_eq!(shown["allowed_counterparties"], expected);

    // Its own address has no key: it is refused until somebody says what it is.
    let refused = room.refused(&policy, &[&set[..], &["--allow", &agent]].concat());
    assert!(refused.contains(&format!("--allow-wallet {agent}")), "{refused}");
    let outright = ["--allow-wallet", &agent, "--allow-token-account", &wallet];
    let shown = room.done(&policy, &[&set[..], &outright].concat());
    let expected = json!({ "wallets": [agent], "token_accounts": [wallet] });
    assert_eq!(shown["allowed_counterparties"], expected);
    let id = shown["account_id"].as_str().unwrap();
    let shown = room.done(&policy, &[&set[..], &["--allow", id, "--operator", &operator]].concat());
    assert_eq!(shown["allowed_counterparties"], json!({ "wallets": [agent], "token_accounts": [] }));

    let other = room.chain.new_payee_of_other_mint().await.to_string();
    let refused = room.refused(&policy, &[&set[..], &["--allow", &other]].concat());
    assert!(refused.contains("no USDC can be paid to"), "{refused}");
    let mint = room.network.usdc_mint.to_string();
    let refused = room.refused(&policy, &[&set[..], &["--allow", &mint]].concat());
    assert!(refused.contains("neither a token account nor a wallet"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn loosened_policy_waits_and_is_applied_or_dropped() {
    let room = Room::new();
    let (admin, policy, guardian) =
        (room.wallet("admin").await, room.wallet("policy").await, room.wallet("guardian").await);
    let keys = ["--guardian", &guardian.address(), "--loosening-delay", "1h"];
    let operator = room.creates_operator(&admin, &policy, &keys);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let to = |verb: &'static str| ["account", verb, "--account", agent.as_str()];
    let set = |limit: &'static str| [&to("set-policy")[..], &["--max-single-transfer", limit]].concat();

    // Tighter at once; looser from an hour on.
    assert_eq!(room.done(&policy, &set("10"))["waiting_policy"], Value::Null);
    let shown = room.done(&policy, &set("20"));
    assert_eq!(shown["max_single_transfer_usdc"], json!("10.000000"));
    let waiting = shown["waiting_policy"].clone();
    assert_eq!((&waiting["state"], &waiting["over_policy_version"]), (&json!("waiting"), &json!(2)));
    assert_eq!(waiting["max_single_transfer_usdc"], json!("20.000000"));
    // The same again changes nothing, another one is not put in its place, and it is not applied too early.
    assert_eq!(room.done(&policy, &set("20"))["waiting_policy"], waiting);
    assert!(room.refused(&policy, &set("30")).contains("another policy is pending"));
    let early = room.refused(&policy, &to("apply-policy"));
    assert!(early.contains(waiting["effective_at"].as_str().unwrap()), "{early}");

    // The guardian may drop it, if it is the one that was meant.
    let other = [&to("drop-policy")[..], &["--hash", "00"]].concat();
    assert!(room.refused(&guardian, &other).contains("another policy is pending"));
    let hash = [&to("drop-policy")[..], &["--hash", waiting["hash"].as_str().unwrap()]].concat();
    assert_eq!(room.done(&guardian, &hash)["rent_back_to"], json!(policy.address()));
    assert!(room.refused(&guardian, &to("drop-policy")).contains("no policy is pending"));

    room.done(&policy, &set("20"));
    room.chain.stands_at(room.chain.now().await + 3_601).await;
    assert_eq!(room.done(&admin, &to("show"))["waiting_policy"]["state"], json!("ready"));
    let shown = room.done(&policy, &to("apply-policy"));
    assert_eq!(
        (&shown["max_single_transfer_usdc"], &shown["waiting_policy"]),
        (&json!("20.000000"), &Value::Null)
    );

    // The admin waits for nothing, and what waited for the version before can only be dropped.
    room.done(&policy, &set("none"));
    let shown = room.done(&admin, &set("25"));
    assert_eq!(shown["waiting_policy"]["state"], json!("outdated"));
    assert!(room.refused(&admin, &to("apply-policy")).contains("give it up with"));
    let shown = room.done(&policy, &set("40"));
    assert_eq!(shown["waiting_policy"]["max_single_transfer_usdc"], json!("40.000000"));
    assert_eq!(room.done(&admin, &to("apply-policy"))["max_single_transfer_usdc"], json!("40.000000"));

    // A pause is lifted at once by the admin alone.
    room.done(&policy, &to("pause"));
    assert!(room.refused(&policy, &to("unpause")).contains("--paused false"));
    assert_eq!(room.done(&admin, &to("unpause"))["paused"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn run_that_broke_off_is_gone_on_with() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await;
    let recipients: Vec<Keypair> = (0..60).map(|_| Keypair::new()).collect();
    let wallets = recipients.iter().map(|recipient| recipient.pubkey().to_bytes()).collect();
    let allowlist = OwnedAllowlist::only(wallets, Vec::new());
    let proposal = Proposal {
        agent,
        expected_version: 1,
        policy: OnChainPolicy { allowlist, ..OnChainPolicy::default() },
    };
    let authority = policy.keypair.pubkey();
    let staging = Staging {
        deployment: room.chain.program(),
        authority,
        payer: authority,
        rent_refund: authority,
        operator: operator.parse().unwrap(),
        proposal: &proposal,
    };
    for step in staging.steps(None).into_iter().take(2) {
        let landing = room.chain.lands(step.instruction, &policy.keypair).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    }
    let agent = agent.to_string();
    let shown = room.done(&admin, &["account", "show", "--account", &agent]);
    assert_eq!(shown["waiting_policy"]["state"], json!("incomplete"));
    assert!(room.refused(&policy, &["account", "apply-policy", "--account", &agent]).contains("in part"));

    let file = room.folder.path().join("recipients");
    let addresses: Vec<String> = recipients.iter().map(|recipient| recipient.pubkey().to_string()).collect();
    std::fs::write(&file, addresses.join("\n")).unwrap();
    let set = ["account", "set-policy", "--account", &agent, "--allow-file", file.to_str().unwrap()];
    let shown = room.done(&policy, &set);
    assert_eq!(sorted(&shown["allowed_counterparties"]["wallets"]), sorted(&json!(addresses)));
    assert_eq!((&shown["policy_version"], &shown["waiting_policy"]), (&json!(2), &Value::Null));
    // Opened once: the rest of its transactions were two writes, the last of which sealed it, and the one that applied it.
    let draft = room.chain.program().draft_address(&proposal.agent);
    assert_eq!(room.chain.transactions_of(&draft).await, 2 + 2 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_never_apply_are_warned_of_in_the_words_of_the_service() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    let set = ["account", "set-policy", "--account", &agent];
    let above = [&set[..], &["--max-single-transfer", "20", "--max-daily-spend", "10"]].concat();
    let sentence = json!(["The limit for a single transfer is above the daily limit, so it never applies."]);
    assert_eq!(room.shown(&policy, &above)["warnings"], sentence);
    assert_eq!(room.done(&policy, &above)["warnings"], sentence);
    let itself = [&set[..], &["--max-daily-spend", "30", "--allow-wallet", &agent]].concat();
    let warned = room.done(&policy, &itself)["warnings"].to_string();
    assert!(warned.contains("only this account itself or closed accounts"), "{warned}");
    let fine = [&set[..], &["--allow-anyone"]].concat();
    assert_eq!(room.done(&policy, &fine)["warnings"], json!([]));

    let by_grants = ["account", "set-bounds", "--account", &agent, "--max-30-days", "15"];
    let warned = room.done(&admin, &by_grants)["warnings"].to_string();
    assert!(warned.contains("limit for 30 days"), "{warned}");
    let budget = ["budget", "create", "--operator", &operator, "--max-daily", "25"];
    let made = room.done(&admin, &budget);
    assert_eq!(made["warnings"], json!([]));
    let named = ["account", "set-bounds", "--account", &agent, "--max-30-days", "none", "--budget"];
    let named = [&named[..], &[made["budget"].as_str().unwrap()]].concat();
    assert_eq!(room.done(&admin, &named)["warnings"], json!([]));
    let lower = ["budget", "set", "--operator", &operator, "--max-daily", "15"];
    let warned = room.done(&admin, &lower)["warnings"].to_string();
    assert!(warned.contains("below the single-transfer limit"), "{warned}");
}
