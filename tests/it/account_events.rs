//! Account events on the chain, as webhooks get them: deposits and withdrawals, reached limits, changed policies, halts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use purser_client::{OnChainPolicy, OwnedAllowlist, Proposal, RentRefunds, Staging};
use purser_policy::{Limit, UsdcAmount};
use purser_tests::agent::all_at_once;
use purser_tests::clock::{HostClock, unix_of};
use purser_tests::wallet::{mints, withdraws};
use purser_tests::{
    Agent, Answer, AppSettings, DirectOutcome, Operator, Receiver, TestApp, TestNetwork, until,
};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use crate::history::entries_once;
use crate::webhooks::{TRANSFERS, registers};

async fn own_operator() -> (Arc<TestApp>, Operator) {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    (app, operator)
}

async fn listed(operator: &Operator, path: &str) -> Vec<Value> {
    operator.client.get(path).await.has_status(200)["data"].as_array().expect("a list").clone()
}

/// Waits until the indexer has read all that is on the chain now. It alone announces changed policies, and it looks once at a
/// time: the look that finds the second change begins when the one that found the first is over.
async fn indexer_looks(witness: &Agent) {
    let path = format!("/v1/events?type=policy.changed&account_id={}&limit=100", witness.id);
    for limit in [1, 2] {
        let changed = witness.sets_policy(json!({ "max_single_transfer": limit })).await;
        let is_it = |event: &Value| event["data"]["tx_signature"] == changed["tx_signature"];
        until("the policy of the witness is read", async || {
            listed(&witness.operator, &path).await.iter().any(is_it)
        })
        .await;
    }
}

/// The deliveries to a webhook, except those that tell of the witness.
async fn deliveries(witness: &Agent, webhook: &Answer) -> usize {
    let ids = |list: Vec<Value>, field: &str| -> BTreeSet<String> {
        list.iter().map(|one| one[field].as_str().expect("an id").to_owned()).collect()
    };
    let path = format!("/v1/webhooks/{}/deliveries?limit=100", webhook.text_of("id"));
    let all = ids(listed(&witness.operator, &path).await, "event_id");
    let path = format!("/v1/events?account_id={}&limit=100", witness.id);
    all.difference(&ids(listed(&witness.operator, &path).await, "id")).count()
}

/// Waits for `count` events and for a look of the indexer, checks that no more were made, and returns their data in the order in which
/// they came. An event whose answer was late comes twice.
async fn delivered(witness: &Agent, receiver: &Receiver, webhook: &Answer, count: usize) -> Vec<Value> {
    let (_, path) = webhook.text_of("url").rsplit_once('/').expect("a URL has a path");
    let path = format!("/{path}");
    let received = || {
        let mut known = BTreeSet::new();
        let events = receiver.received(&path).into_iter().map(|delivery| delivery.event());
        let fresh = events.filter(|event| known.insert(event["id"].to_string()));
        let data = fresh.map(|mut event| event["data"].take());
        data.filter(|data| data["account_id"] != witness.id.as_str()).collect::<Vec<_>>()
    };
    until(&format!("{count} events came to {path}"), async || received().len() >= count).await;
    indexer_looks(witness).await;
    assert_eq!(deliveries(witness, webhook).await, count, "{path}");
    let data = received();
    assert_eq!(data.len(), count, "{path}: {data:#?}");
    data
}

#[tokio::test]
async fn deposits_and_withdrawals_are_announced_however_they_came() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let events = ["deposit.settled", "withdrawal.settled"];
    let money = registers(&operator, &receiver.url("/money"), &events).await;
    registers(&operator, &receiver.url("/transfers"), &TRANSFERS).await;
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account("Ada").await;
    let ben = operator.creates_account("Ben").await;
    // By a wallet, by another account of this operator, and by one of another operator.
    let minted = mints(&operator.chain, "10", &ada.token_account).await;
    entries_once(&ada, 1).await;
    let paid = ada.pays("2").to(&ben).memo("rent").await.is_settled();
    let strangers = app.new_operator().await.creates_account_with("Stranger", "5").await;
    let gift = strangers.pays("1").to(&ben.token_account).await.is_settled();
    let (payee, _) = operator.chain.new_payee().await;
    let withdrawn = withdraws(&ada, "3", &payee, app.admin()).await;
    let data = delivered(&witness, &receiver, &money, 4).await;
    let of = |signature: &str| {
        let mut found = data.iter().filter(|data| data["tx_signature"] == signature);
        found.next().unwrap_or_else(|| panic!("{signature}: {data:#?}")).clone()
    };
    let deposit = of(&minted);
    assert_eq!((&deposit["account_id"], &deposit["amount_usdc"]), (&json!(ada.id), &json!("10.000000")));
    assert_eq!((&deposit["from"], &deposit["transfer_id"]), (&Value::Null, &Value::Null));
    let rent = of(paid.text_of("tx_signature"));
    assert_eq!(
        rent,
        json!({
            "account_id": ben.id, "entry_id": rent["entry_id"], "amount_usdc": "2.000000",
            "from": ada.token_account.to_string(), "memo": "rent", "transfer_id": paid["transfer_id"],
            "tx_signature": paid["tx_signature"], "settled_at": paid["settled_at"],
        })
    );
    assert_eq!(of(gift.text_of("tx_signature"))["account_id"], ben.id);
    let withdrawal = of(&withdrawn);
    assert_eq!((&withdrawal["account_id"], &withdrawal["to"]), (&json!(ada.id), &json!(payee.to_string())));
    let [entry] = &entries_once(&ben, 2).await[1..] else { panic!("the older of two") };
    assert_eq!(rent["entry_id"], entry["id"]);
    // The webhook that did not subscribe to these events gets only what it got before.
    let types: Vec<String> =
        receiver.received("/transfers").iter().map(|delivery| delivery.event_type()).collect();
    assert!(types.iter().all(|event_type| TRANSFERS.contains(&event_type.as_str())), "{types:?}");
}

#[tokio::test]
async fn daily_limit_that_is_reached_is_announced_once_and_again_when_it_was_left() {
    // A relayer of its own, because the chain's clock moves.
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own(), &settings).await;
    let (operator, receiver) = (app.new_operator().await, Receiver::start());
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    ada.sets_policy(json!({ "max_daily_spend": 100 })).await;
    // A limit that was reached before any webhook existed is not announced.
    ada.pays("1").to(&payee).await.is_settled();
    let limits = registers(&operator, &receiver.url("/limits"), &["limit.threshold"]).await;
    ada.pays("78").to(&payee).await.is_settled();
    let eighty = ada.pays("1").to(&payee).await.is_settled();
    ada.pays("5").to(&payee).await.is_settled();
    receiver.waits_for("/limits", 1).await;
    // The transfer authority pays without the relayer; the limit is reached all the same.
    let direct = ada.pays_directly("15", &payee, "the rest").await;
    assert!(matches!(direct, DirectOutcome::Settled(_)), "{direct:?}");
    let mut data = delivered(&witness, &receiver, &limits, 2).await;
    data.sort_by_key(|data| data["threshold_percent"].as_u64());
    let first = json!({
        "account_id": ada.id, "limit": "daily", "budget_id": null, "threshold_percent": 80,
        "spent_usdc": "80.000000", "limit_usdc": "100.000000", "max_daily_spend_usdc": "100.000000",
        "policy_version": data[0]["policy_version"], "entry_id": data[0]["entry_id"], "amount_usdc": "1.000000",
        "transfer_id": eighty["transfer_id"], "tx_signature": eighty["tx_signature"],
        "settled_at": eighty["settled_at"],
    });
    assert_eq!(data[0], first);
    assert_eq!((&data[1]["threshold_percent"], &data[1]["spent_usdc"]), (&json!(100), &json!("100.000000")));
    ada.pays("1").to(&payee).await.is_error(402, "policy_violation");
    // A day later none of it counts any more: one payment reaches both limits again.
    let now = operator.chain.now().await;
    operator.chain.stands_at(now + 90_000).await;
    app.host_stands_at(now + 90_000);
    let all = ada.pays("100").to(&payee).insists().await;
    let data = delivered(&witness, &receiver, &limits, 4).await;
    let mut percents: Vec<&Value> = data[2..].iter().map(|data| &data["threshold_percent"]).collect();
    percents.sort_by_key(|percent| percent.as_u64());
    assert_eq!(percents, [&json!(80), &json!(100)]);
    assert!(data[2..].iter().all(|data| data["tx_signature"] == all["tx_signature"]));
}

#[tokio::test]
async fn limit_is_announced_once_though_the_relayer_is_killed_again_and_again() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let mut witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    ada.sets_policy(json!({ "max_daily_spend": 10 })).await;
    registers(&operator, &receiver.url("/limits"), &["limit.threshold"]).await;
    ada.pays("7.9").to(&payee).await.is_settled();
    ada.pays("0.1").to(&payee).await.is_settled();
    for pause in [0, 100, 400, 900, 1_600] {
        app.crashes();
        app.starts();
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    receiver.waits_for("/limits", 1).await;
    witness.operator = operator.reconnected();
    indexer_looks(&witness).await;
    let mut ids: Vec<String> =
        receiver.received("/limits").iter().map(|delivery| delivery.event_id()).collect();
    // A delivery may come twice, but it is one event.
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let announced = listed(&witness.operator, "/v1/events?type=limit.threshold").await;
    assert_eq!(announced.len(), 1, "{announced:#?}");
}

#[tokio::test]
async fn limit_that_payments_made_at_once_reach_is_announced_once() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account_with("Ada", "1000").await;
    ada.sets_policy(json!({ "max_daily_spend": 10 })).await;
    let limits = registers(&operator, &receiver.url("/limits"), &["limit.threshold"]).await;
    let (payee, _) = operator.chain.new_payee().await;
    // Many at once: whichever one crosses the limit on the chain, there is one event.
    let payments = (0..20).map(|_| ada.pays("0.5").to(&payee));
    for answer in all_at_once(payments).await {
        answer.is_settled();
    }
    let data = delivered(&witness, &receiver, &limits, 2).await;
    let mut percents: Vec<u64> =
        data.iter().map(|data| data["threshold_percent"].as_u64().expect("a number")).collect();
    percents.sort_unstable();
    assert_eq!(percents, [80, 100], "{}", app.log_tail());
}

#[tokio::test]
async fn caps_of_30_days_and_of_budgets_that_are_reached_are_announced_once_and_say_which() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account_with("Ada", "1000").await;
    let ben = operator.creates_account_with("Ben", "1000").await;
    let budget = operator.makes_budget(1, "100", Some("120")).await;
    ada.sets_policy(json!({ "max_30_day_spend": 50, "budget_id": budget })).await;
    ben.sets_policy(json!({ "budget_id": budget })).await;
    let limits = registers(&operator, &receiver.url("/limits"), &["limit.threshold"]).await;
    let (payee, _) = operator.chain.new_payee().await;
    ada.pays("39").to(&payee).await.is_settled();
    let forty = ada.pays("1").to(&payee).await.is_settled();
    let mut data = delivered(&witness, &receiver, &limits, 1).await;
    let month = data.remove(0);
    assert_eq!((&month["limit"], &month["budget_id"]), (&json!("30_days"), &Value::Null), "{month}");
    assert_eq!((&month["threshold_percent"], &month["limit_usdc"]), (&json!(80), &json!("50.000000")));
    assert_eq!((&month["spent_usdc"], &month["account_id"]), (&json!("40.000000"), &json!(ada.id)));
    assert_eq!(month["tx_signature"], forty["tx_signature"]);
    // 40 of the budget's 100 are used; another account brings it to 80 %, and then to all of both of its caps.
    let eighty = ben.pays("40").to(&payee).await.is_settled();
    let data = delivered(&witness, &receiver, &limits, 2).await;
    let daily = data.iter().find(|data| data["limit"] == "budget_daily").expect("the budget's");
    assert_eq!((&daily["budget_id"], &daily["account_id"]), (&json!(budget), &json!(ben.id)), "{daily}");
    assert_eq!((&daily["threshold_percent"], &daily["spent_usdc"]), (&json!(80), &json!("80.000000")));
    assert_eq!(daily["tx_signature"], eighty["tx_signature"]);
    let rest = ["10", "8", "2"].map(|usdc| if usdc == "10" { ada.pays(usdc) } else { ben.pays(usdc) });
    for payment in rest {
        payment.to(&payee).await.is_settled();
    }
    // All of the 30 days of Ada, 80 % of those of the budget, and all of its day.
    let data = delivered(&witness, &receiver, &limits, 5).await;
    let mut reached: Vec<(&str, u64)> = data
        .iter()
        .map(|data| {
            (data["limit"].as_str().expect("a word"), data["threshold_percent"].as_u64().expect("a number"))
        })
        .collect();
    reached.sort_unstable();
    let all = [
        ("30_days", 80),
        ("30_days", 100),
        ("budget_30_days", 80),
        ("budget_daily", 80),
        ("budget_daily", 100),
    ];
    assert_eq!(reached, all, "{}", app.log_tail());
    // A relayer that begins anew looks at them again, and announces none again.
    app.crashes();
    app.starts();
    let again = operator.reconnected();
    let mut witness = witness;
    witness.operator = again.clone();
    indexer_looks(&witness).await;
    let announced = listed(&again, "/v1/events?type=limit.threshold").await;
    assert_eq!(announced.len(), 5, "{announced:#?}");
}

#[tokio::test]
async fn changed_policy_is_announced_with_before_and_after() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let policies = registers(&operator, &receiver.url("/policies"), &["policy.changed"]).await;
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account("Ada").await;
    let (payee, _) = operator.chain.new_payee().await;
    // Right after the account's creation, and right after each other.
    ada.sets_policy(json!({ "max_daily_spend": 5, "allowed_counterparties": [payee.to_string()] })).await;
    let paused = ada.sets_policy(json!({ "paused": true })).await;
    let mut data = delivered(&witness, &receiver, &policies, 2).await;
    // Deliveries may overtake each other.
    data.sort_by_key(|data| data["after"]["version"].as_u64());
    let (set, pause) = (&data[0], &data[1]);
    assert_eq!((&set["account_id"], &set["before"]["version"]), (&json!(ada.id), &json!(1)));
    assert!(set["before"]["policy"]["max_daily_spend"].is_null(), "{set}");
    assert!(set["before"]["policy"]["allowed_counterparties"].is_null(), "{set}");
    assert_eq!(
        (&set["after"]["version"], &set["after"]["policy"]["max_daily_spend"]),
        (&json!(2), &json!(5))
    );
    assert_eq!(set["after"]["policy"]["allowed_counterparties"], json!([payee.to_string()]));
    assert_eq!(set["after"]["policy"]["counterparty_kinds"], json!(["token_account"]));
    assert_eq!(pause["before"], set["after"]);
    assert_eq!(pause["after"]["version"], json!(3));
    assert_eq!(pause["after"]["policy"]["paused"], json!(true));
    assert_eq!(pause["after"]["policy"]["allowed_counterparties"], json!([payee.to_string()]));
    assert_eq!(pause["signer"], app.policy_authority().pubkey().to_string());
    assert_eq!(pause["tx_signature"], paused["tx_signature"]);
    assert!(unix_of(pause["changed_at"].as_str().expect("a moment")) > 0);
}

#[tokio::test]
async fn long_allowlist_is_announced_whole() {
    let (_app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let policies = registers(&operator, &receiver.url("/policies"), &["policy.changed"]).await;
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account("Ada").await;
    let wallets: Vec<Value> =
        (0..60).map(|_| json!({ "wallet": Pubkey::new_unique().to_string() })).collect();
    ada.sets_policy(json!({ "allowed_counterparties": wallets })).await;
    let data = delivered(&witness, &receiver, &policies, 1).await;
    let listed = data[0]["after"]["policy"]["allowed_counterparties"].as_array().expect("a list");
    assert_eq!(listed.len(), 60);
}

/// Where the indexer's timer would come an hour later.
#[tokio::test]
async fn what_the_relayer_does_itself_is_announced_at_once() {
    let settings = AppSettings { indexer_interval_ms: 3_600_000, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let receiver = Receiver::start();
    let events = ["policy.changed", "limit.threshold", "account.halted"];
    registers(&operator, &receiver.url("/own"), &events).await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let (payee, _) = operator.chain.new_payee().await;
    let types = async |count: usize| -> Vec<String> {
        let deliveries = receiver.waits_for("/own", count).await;
        deliveries.iter().map(|delivery| delivery.event_type()).collect()
    };
    let changed = ada.sets_policy(json!({ "max_daily_spend": 10 })).await;
    assert_eq!(types(1).await, ["policy.changed"]);
    let versions = listed(&operator, &ada.path("/policy/versions")).await;
    assert_eq!(versions[0]["tx_signature"], changed["tx_signature"]);
    ada.pays("8").to(&payee).await.is_settled();
    assert_eq!(types(2).await[1], "limit.threshold");
    operator.client.post(&ada.path("/halt"), &json!({})).await.has_status(200);
    assert_eq!(types(3).await[2], "account.halted");
}

/// The account shows none of them any more when the indexer gets to it.
#[tokio::test]
async fn long_policies_that_were_replaced_at_once_are_told_with_what_they_said() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let policies = registers(&operator, &receiver.url("/policies"), &["policy.changed"]).await;
    let witness = operator.creates_account("Witness").await;
    let ada = operator.creates_account("Ada").await;
    let keys: Vec<[u8; 32]> = (0..30).map(|_| Pubkey::new_unique().to_bytes()).collect();
    let (program, admin) = (operator.chain.program(), app.admin());
    let own = admin.pubkey();
    for version in 1..=4_u32 {
        let policy = OnChainPolicy {
            max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(u64::from(version) * 1_000_000)),
            ..OnChainPolicy::default().over(OwnedAllowlist::only(keys.clone(), Vec::new()))
        };
        let proposal = Proposal { agent: ada.address, expected_version: version, policy };
        let staging = Staging {
            deployment: program,
            authority: own,
            payer: own,
            rent_refund: own,
            operator: operator.address,
            proposal: &proposal,
        };
        let mut steps: Vec<_> = staging.steps(None).into_iter().map(|step| step.instruction).collect();
        let rent = RentRefunds { agent: app.policy_authority().pubkey(), draft: own };
        steps.push(staging.apply(rent));
        for step in steps {
            let landing = operator.chain.lands(step, admin).await;
            assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        }
    }
    let mut data = delivered(&witness, &receiver, &policies, 4).await;
    data.sort_by_key(|data| data["after"]["version"].as_u64());
    for (at, data) in (1..).zip(&data) {
        let after = &data["after"];
        assert_eq!((&after["version"], &data["before"]["version"]), (&json!(at + 1), &json!(at)));
        assert_eq!(after["policy"]["max_daily_spend"], json!(at), "{data}");
        let entries = after["policy"]["allowed_counterparties"].as_array().expect("a list");
        assert_eq!((entries.len(), &data["signer"]), (30, &json!(own.to_string())));
    }
}

#[tokio::test]
async fn halts_are_announced_for_every_account_they_stop() {
    let (app, operator) = own_operator().await;
    let receiver = Receiver::start();
    let witness = operator.creates_account("Witness").await;
    let (ada, ben) = (operator.creates_account("Ada").await, operator.creates_account("Ben").await);
    let of = |agent: &Agent, path: &str| json!({ "url": receiver.url(path), "events": ["account.halted"], "account_ids": [agent.id] });
    let of_ada = operator.client.post("/v1/webhooks", &of(&ada, "/ada")).await.has_status(201);
    let of_ben = operator.client.post("/v1/webhooks", &of(&ben, "/ben")).await.has_status(201);
    operator.chain.halts(operator.address, Some(ada.address), app.admin()).await;
    let data = delivered(&witness, &receiver, &of_ada, 1).await;
    assert_eq!((&data[0]["account_id"], &data[0]["scope"]), (&json!(ada.id), &json!("account")));
    assert_eq!(data[0]["halted_by"], "admin");
    assert_eq!(deliveries(&witness, &of_ben).await, 0);
    let halted = operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    let data = delivered(&witness, &receiver, &of_ben, 1).await;
    assert_eq!((&data[0]["scope"], &data[0]["halted_by"]), (&json!("operator"), &json!("policy_authority")));
    assert_eq!(data[0]["tx_signature"], halted["tx_signature"]);
    delivered(&witness, &receiver, &of_ada, 2).await;
}
