//! What binds an account beside its policy: a cap for 30 days, and a budget that it shares; and its grants. Over REST, and what refuses
//! payments.

use futures::future::join_all;
use purser::error::PurserError;
use purser_client::DraftAccounts;
use purser_client::purser::Bounds;
use purser_tests::agent::{all_at_once, random_tag};
use purser_tests::chain::DirectOutcome;
use purser_tests::{Agent, Operator};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use crate::dashboard::signed_in;
use crate::loosening::{agent_with_delay, loosens_after};

/// Two accounts of one operator that hold 100 USDC each, and a payee.
async fn two_agents() -> ([Agent; 2], Pubkey) {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "100").await;
    let ben = operator.creates_account_with("Ben", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    ([ada, ben], payee)
}

async fn patches(agent: &Agent, policy: Value) -> purser_tests::Answer {
    agent.operator.client.patch(&agent.path("/policy"), &policy).await
}

async fn binds(agent: &Agent, policy: Value) {
    patches(agent, policy).await.has_status(200);
}

async fn limits_of(agent: &Agent) -> Value {
    agent.operator.client.get(&agent.path("/limits")).await.has_status(200).body
}

/// Refused before anything was signed: the chain has seen nothing of it.
async fn is_refused_unsigned(agent: &Agent, usdc: &str, payee: &Pubkey, rule: &str) -> purser_tests::Answer {
    let seen = agent.operator.chain.transactions_of(&agent.address).await;
    let preview = agent.previews(usdc).to(payee).await.has_status(200);
    assert_eq!((preview["allowed"].as_bool(), preview.failed_checks()), (Some(false), vec![rule]));
    let refused = agent.pays(usdc).to(payee).await.is_error(402, "policy_violation");
    assert_eq!(refused["status"], "rejected");
    assert_eq!(refused.failed_checks(), [rule]);
    assert!(refused["approvable"].is_null(), "no grant lets it pass: {}", refused.text);
    assert_eq!(agent.operator.chain.transactions_of(&agent.address).await, seen);
    refused
}

#[tokio::test]
async fn payment_past_the_cap_for_30_days_is_refused_before_it_is_signed() {
    let ([agent, _], payee) = two_agents().await;
    binds(&agent, json!({ "max_30_day_spend": 10 })).await;
    agent.pays("7").to(&payee).await.is_settled();
    let refused = is_refused_unsigned(&agent, "3.000001", &payee, "max_30_day_spend").await;
    let check = refused.check("max_30_day_spend");
    assert_eq!(
        (&check["limit"], &check["used"], &check["remaining"]),
        (&json!("10.000000"), &json!("7.000000"), &json!("3.000000"))
    );
    assert!(refused.text_of("message").contains("the account's 30-day limit"), "{}", refused.text);
    let frees_at = refused.text_of("retry_at").to_owned();
    let limits = limits_of(&agent).await;
    assert_eq!(limits["max_30_day_spend"]["used"], "7.000000", "{limits}");
    assert_eq!(limits["max_30_day_spend"]["remaining"], "3.000000");
    assert_eq!(limits["max_30_day_spend"]["frees_at"], json!(frees_at), "{limits}");
    assert!(limits["budget"].is_null());
    let never = agent.pays("10.000001").to(&payee).await.is_error(402, "policy_violation");
    assert!(never["retry_at"].is_null(), "{}", never.text);
    // The program says the same of the last that fits, and of more.
    agent.pays("3").to(&payee).await.is_settled();
    let order = agent.order("0.000001", &payee, "", random_tag());
    let chain = &agent.operator.chain;
    let order = chain.order(&order).await;
    let payer = agent.operator.app().transfer_authority();
    let direct = chain.program().transfer_extended(payer.pubkey(), &order, None, None);
    let refused = DirectOutcome::Refused(u32::from(PurserError::MonthLimitExceeded));
    assert_eq!(chain.lands(direct, payer).await, refused);
}

#[tokio::test]
async fn cap_for_30_days_frees_by_the_chains_clock_on_the_day_that_the_refusal_named() {
    let app = purser_tests::TestApp::start(purser_tests::TestNetwork::own(), &Default::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    binds(&agent, json!({ "max_30_day_spend": 10 })).await;
    agent.pays("7").to(&payee).await.is_settled();
    let refused = agent.pays("5").to(&payee).await.is_error(402, "policy_violation");
    let free = purser_tests::clock::unix_of(refused.text_of("retry_at"));
    let wait = free - operator.chain.now().await;
    assert!((30 * 86_400..=31 * 86_400).contains(&wait), "{wait}");
    operator.chain.stands_at(free - 1).await;
    agent.lets_the_relayer_read(&operator.client, &payee).await;
    let still = agent.pays("5").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(still["retry_at"], refused["retry_at"]);
    operator.chain.stands_at(free).await;
    agent.lets_the_relayer_read(&operator.client, &payee).await;
    agent.pays("5").to(&payee).await.is_settled();
}

#[tokio::test]
async fn accounts_that_share_a_budget_pay_no_more_than_it_together_and_are_refused_unsigned() {
    let ([ada, ben], payee) = two_agents().await;
    let operator = &ada.operator;
    let budget = operator.makes_budget(1, "10", Some("12")).await;
    for agent in [&ada, &ben] {
        binds(agent, json!({ "budget_id": budget })).await;
    }
    ada.pays("6").to(&payee).await.is_settled();
    ben.pays("3").to(&payee).await.is_settled();
    for agent in [&ada, &ben] {
        let refused = is_refused_unsigned(agent, "1.000001", &payee, "budget").await;
        let check = refused.check("budget");
        assert_eq!(
            (&check["limit"], &check["used"], &check["remaining"]),
            (&json!("10.000000"), &json!("9.000000"), &json!("1.000000"))
        );
        assert!(refused["retry_at"].is_string(), "{}", refused.text);
        let limits = limits_of(agent).await;
        assert_eq!(limits["budget"]["budget_id"], json!(budget), "{limits}");
        assert_eq!(limits["budget"]["max_daily_spend"]["remaining"], "1.000000");
        assert_eq!(limits["budget"]["max_30_day_spend"]["remaining"], "3.000000");
    }
    // An agent sees it with its own key.
    let key = ben.new_key().await;
    let limits = key.get(&ben.path("/limits")).await.has_status(200);
    assert_eq!(limits["budget"]["max_daily_spend"]["used"], "9.000000");
    ben.pays("1").to(&payee).by(&key).await.is_settled();
    let browser = signed_in(operator).await;
    let shown = browser.reads(&format!("/dashboard/accounts/{}", ben.id)).await.has_status(200);
    shown.says(&budget).says("10.00 of 10.00 USDC used in 24 h, 10.00 of 12.00 in 30 days");
    // Lowered below what was spent, it lets nothing pass.
    let lowered =
        operator.client.patch(&format!("/v1/budgets/{budget}"), &json!({ "max_daily_spend": 5 })).await;
    assert_eq!(lowered.has_status(200)["max_daily_spend"], 5);
    is_refused_unsigned(&ada, "0.000001", &payee, "budget").await;
}

#[tokio::test]
async fn two_accounts_that_race_on_one_budget_are_paid_or_refused_and_never_fail() {
    let ([ada, ben], payee) = two_agents().await;
    let budget = ada.operator.makes_budget(7, "5", None).await;
    for agent in [&ada, &ben] {
        binds(agent, json!({ "budget_id": budget })).await;
    }
    let before = ada.balance_micros().await + ben.balance_micros().await;
    let payments = (0..12).map(|number| if number % 2 == 0 { &ada } else { &ben }.pays("1").to(&payee));
    let answers = all_at_once(payments).await;
    let mut paid = 0;
    for answer in answers {
        match answer.status {
            200 => paid += 1,
            402 => {
                let refused = answer.is_error(402, "policy_violation");
                assert_eq!(refused.failed_checks(), ["budget"], "{}", refused.text);
            }
            status => panic!("{status}: {}", answer.text),
        }
    }
    assert_eq!(paid, 5);
    let after = ada.balance_micros().await + ben.balance_micros().await;
    assert_eq!(before - after, 5_000_000);
}

#[tokio::test]
async fn account_whose_budget_was_closed_is_refused_until_it_names_another_or_none() {
    let ([ada, _], payee) = two_agents().await;
    let operator = &ada.operator;
    let budget = operator.makes_budget(3, "10", None).await;
    binds(&ada, json!({ "budget_id": budget })).await;
    let (chain, admin) = (&operator.chain, operator.app().admin());
    let address: Pubkey = budget.strip_prefix("bdg_").and_then(|text| text.parse().ok()).expect("an address");
    let close = chain.program().close_budget(admin.pubkey(), operator.address, address);
    assert!(matches!(chain.lands(close, admin).await, DirectOutcome::Settled(_)));
    operator.client.get(&format!("/v1/budgets/{budget}")).await.is_error(404, "not_found");
    let refused = is_refused_unsigned(&ada, "1", &payee, "budget").await;
    assert!(refused.text_of("message").contains("closed"), "{}", refused.text);
    assert_eq!(limits_of(&ada).await["budget"]["max_daily_spend"]["remaining"], "0.000000");
    binds(&ada, json!({ "budget_id": null })).await;
    ada.pays("1").to(&payee).await.is_settled();
}

#[tokio::test]
async fn payment_that_breaks_a_rule_a_grant_waives_and_a_cap_that_none_does_is_not_approvable() {
    let ([ada, _], payee) = two_agents().await;
    binds(&ada, json!({ "max_single_transfer": 5, "max_30_day_spend": 10 })).await;
    let within = ada.pays("6").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!((&within["approvable"], within.failed_checks()), (&json!(true), vec!["max_single_transfer"]));
    let past = ada.pays("11").to(&payee).field("approval", json!("request")).await;
    let past = past.is_error(402, "policy_violation");
    assert_eq!(past.failed_checks(), ["max_single_transfer", "max_30_day_spend"]);
    assert!(past["approvable"].is_null(), "{}", past.text);
}

#[tokio::test]
async fn policy_takes_and_shows_cap_and_budget_and_keeps_what_it_leaves_out() {
    let ([ada, ben], _) = two_agents().await;
    let (client, path) = (&ada.operator.client, ada.path("/policy"));
    let budget = ada.operator.makes_budget(1, "10", None).await;
    let open = client.get(&path).await.has_status(200);
    assert_eq!(
        (&open["max_30_day_spend"], &open["budget_id"], &open["by_grant_only"]),
        (&json!(null), &json!(null), &json!(false))
    );
    let version = open["version"].as_u64().expect("a number");
    let asked = json!({ "max_30_day_spend": "12.5", "budget_id": budget });
    let bound = client.patch(&path, &asked).await.has_status(200);
    assert_eq!((&bound["max_30_day_spend"], &bound["budget_id"]), (&json!(12.5), &json!(budget)));
    assert_eq!(bound["version"], version, "the policy itself is as it was");
    assert!(bound["tx_signature"].is_string());
    // A PUT that leaves them out, and one of what was read, keep them.
    let put = client.put(&path, &json!({ "max_single_transfer": 5 })).await.has_status(200);
    assert_eq!((&put["max_30_day_spend"], &put["budget_id"]), (&json!(12.5), &json!(budget)));
    let read = client.get(&path).await.has_status(200).body;
    let again = client.put(&path, &read).await.has_status(200);
    assert_eq!((&again["max_30_day_spend"], &again["budget_id"]), (&json!(12.5), &json!(budget)));
    assert_eq!(again["max_single_transfer"], 5);
    // Both in one request with a rule of the policy.
    let both = json!({ "max_30_day_spend": 20, "max_single_transfer": null });
    let both = client.patch(&path, &both).await.has_status(200);
    assert_eq!((&both["max_30_day_spend"], &both["max_single_transfer"]), (&json!(20), &json!(null)));
    let lifted = client.patch(&path, &json!({ "max_30_day_spend": null, "budget_id": null })).await;
    let lifted = lifted.has_status(200);
    assert_eq!((&lifted["max_30_day_spend"], &lifted["budget_id"]), (&json!(null), &json!(null)));

    // What is no budget of one's own.
    let theirs = ada.operator.app().new_operator().await.makes_budget(1, "10", None).await;
    for foreign in
        [theirs, format!("bdg_{}", ben.address), "bdg_1".to_owned(), budget.replace("bdg_", "grt_")]
    {
        client.patch(&path, &json!({ "budget_id": foreign })).await.blames("budget_id");
    }
    client.patch(&path, &json!({ "budget_id": 7 })).await.blames("budget_id");
    client.patch(&path, &json!({ "max_30_day_spend": -1 })).await.blames("max_30_day_spend");
    client.patch(&path, &json!({ "by_grant_only": true })).await.blames("by_grant_only");
    let new = json!({ "name": "New", "policy": { "budget_id": budget } });
    client.post("/v1/accounts", &new).await.blames("policy.budget_id");
    let expected = json!({ "max_30_day_spend": 1, "expected_version": 1_000 });
    client.patch(&path, &expected).await.is_error(409, "policy_changed");
    let key = ada.new_key().await;
    key.patch(&path, &json!({ "max_30_day_spend": 1 })).await.is_error(403, "forbidden");
    let stands = client.get(&path).await.has_status(200);
    assert!(stands["max_30_day_spend"].is_null() && stands["budget_id"].is_null(), "{}", stands.text);
}

#[tokio::test]
async fn under_a_delay_the_service_tightens_what_binds_an_account_and_the_admin_alone_loosens_it() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let budget = operator.makes_budget(1, "10", None).await;
    let other = operator.makes_budget(2, "1000", None).await;
    binds(&agent, json!({ "max_30_day_spend": 50, "budget_id": budget })).await;
    for loosening in [
        json!({ "max_30_day_spend": 51 }),
        json!({ "max_30_day_spend": null }),
        json!({ "budget_id": other }),
        json!({ "budget_id": null }),
    ] {
        let refused = patches(&agent, loosening).await.is_error(403, "forbidden");
        assert!(refused.text_of("message").contains("admin"), "{}", refused.text);
    }
    // Nothing of a change is done if that part of it is refused.
    let mixed = json!({ "max_single_transfer": 1, "max_30_day_spend": 51 });
    patches(&agent, mixed).await.is_error(403, "forbidden");
    let stands = operator.client.get(&agent.path("/policy")).await.has_status(200);
    assert_eq!((&stands["max_single_transfer"], &stands["max_30_day_spend"]), (&json!(10), &json!(50)));
    binds(&agent, json!({ "max_30_day_spend": 40 })).await;
    let (chain, admin) = (&operator.chain, operator.app().admin());
    let at = DraftAccounts { authority: admin.pubkey(), operator: operator.address, agent: agent.address };
    let refund = chain.agent(&agent.address).await.agent.rent_refund;
    let raised = chain.program().set_bounds(
        at,
        admin.pubkey(),
        refund,
        Bounds { max_30_day_spend: Some(60_000_000), ..Bounds::default() },
        None,
    );
    assert!(matches!(chain.lands(raised, admin).await, DirectOutcome::Settled(_)));
    let stands = operator.client.get(&agent.path("/policy")).await.has_status(200);
    assert_eq!((&stands["max_30_day_spend"], &stands["budget_id"]), (&json!(60), &json!(null)));
}

#[tokio::test]
async fn budgets_are_listed_read_and_changed_by_their_operator_alone() {
    let operator = Operator::shared().await;
    let client = &operator.client;
    assert_eq!(client.get("/v1/budgets").await.has_status(200)["data"], json!([]));
    let mut made = Vec::new();
    for number in [3, 1, 2] {
        made.push((number, operator.makes_budget(number, "10", (number == 1).then_some("100")).await));
    }
    made.sort();
    let listed = client.get("/v1/budgets").await.has_status(200);
    let ids: Vec<&str> =
        listed["data"].as_array().expect("a list").iter().filter_map(|it| it["budget_id"].as_str()).collect();
    assert_eq!(ids, made.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>());
    let page = client.get("/v1/budgets?limit=2").await.has_status(200);
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(2), &json!(true)));
    let next =
        client.get(&format!("/v1/budgets?limit=2&cursor={}", page.text_of("cursor"))).await.has_status(200);
    assert_eq!((next["data"].as_array().map(Vec::len), &next["has_more"]), (Some(1), &json!(false)));
    assert_eq!(next["data"][0]["number"], 3);

    let path = format!("/v1/budgets/{}", made[0].1);
    let read = client.get(&path).await.has_status(200);
    assert_eq!(read.body, listed["data"][0]);
    assert_eq!(
        (&read["number"], &read["max_daily_spend"], &read["max_30_day_spend"]),
        (&json!(1), &json!(10), &json!(100))
    );
    assert!(read["pending"].is_null() && made[0].1.ends_with(read.text_of("solana_address")));
    assert_eq!(read["limits"]["max_daily_spend"]["remaining"], "10.000000");
    // Without a delay, what is raised holds at once.
    let raised = client.patch(&path, &json!({ "max_daily_spend": "20.5" })).await.has_status(200);
    assert_eq!((&raised["max_daily_spend"], &raised["max_30_day_spend"]), (&json!(20.5), &json!(100)));
    let lifted = client.patch(&path, &json!({ "max_30_day_spend": null })).await.has_status(200);
    assert_eq!((&lifted["max_daily_spend"], &lifted["max_30_day_spend"]), (&json!(20.5), &json!(null)));
    assert_eq!(client.patch(&path, &json!({})).await.has_status(200)["max_daily_spend"], 20.5);
    client.patch(&path, &json!({ "max_daily_spend": null })).await.blames("max_daily_spend");
    client.patch(&path, &json!({ "max_daily_spend": "1e3" })).await.blames("max_daily_spend");
    client.patch(&path, &json!({ "number": 4 })).await.blames("number");

    let browser = signed_in(&operator).await;
    let shown = browser.reads("/dashboard/budgets").await.has_status(200);
    shown.says(&made[0].1).says("20.50").says("no cap");

    // Whoever else asks.
    let stranger = operator.app().new_operator().await;
    assert_eq!(stranger.client.get("/v1/budgets").await.has_status(200)["data"], json!([]));
    stranger.client.get(&path).await.is_error(404, "not_found");
    stranger.client.patch(&path, &json!({ "max_daily_spend": 1 })).await.is_error(404, "not_found");
    let agent = operator.creates_account("Ada").await;
    let key = agent.new_key().await;
    for answer in [
        key.get("/v1/budgets").await,
        key.get(&path).await,
        key.patch(&path, &json!({ "max_daily_spend": 1 })).await,
    ] {
        answer.is_error(403, "forbidden");
    }
    for unknown in [format!("bdg_{}", agent.address), "bdg_1".to_owned(), "x".to_owned()] {
        client.get(&format!("/v1/budgets/{unknown}")).await.is_error(404, "not_found");
    }
    assert_eq!(client.get(&path).await.has_status(200)["max_daily_spend"], 20.5);
}

#[tokio::test]
async fn two_changes_of_a_budget_at_once_both_hold() {
    let operator = Operator::shared().await;
    let path = format!("/v1/budgets/{}", operator.makes_budget(1, "50", Some("100")).await);
    for round in 1..=3 {
        let lower = [json!({ "max_daily_spend": 50 - round }), json!({ "max_30_day_spend": 100 - round })];
        let changed = lower.each_ref().map(|caps| operator.client.patch(&path, caps));
        for answer in join_all(changed).await {
            answer.has_status(200);
        }
        let read = operator.client.get(&path).await.has_status(200);
        let caps = (&read["max_daily_spend"], &read["max_30_day_spend"]);
        assert_eq!(caps, (&json!(50 - round), &json!(100 - round)), "round {round}");
    }
}

#[tokio::test]
async fn raised_budget_waits_for_the_delay_and_a_lowered_one_does_not() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let budget = operator.makes_budget(1, "5", None).await;
    let path = format!("/v1/budgets/{budget}");
    binds(&agent, json!({ "budget_id": budget })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let raise = json!({ "max_daily_spend": 20 });
    let raised = operator.client.patch(&path, &raise).await.has_status(202);
    assert_eq!((&raised["max_daily_spend"], &raised["pending"]["max_daily_spend"]), (&json!(5), &json!(20)));
    assert!(raised["pending"]["effective_at"].is_string(), "{}", raised.text);
    agent.pays("6").to(&payee).await.is_error(402, "policy_violation");
    let lowered = operator.client.patch(&path, &json!({ "max_daily_spend": 4 })).await.has_status(200);
    assert_eq!((&lowered["max_daily_spend"], &lowered["pending"]), (&json!(4), &json!(null)));

    // A raise takes effect by itself, a payment after it without another look of anybody.
    loosens_after(&operator, 2).await;
    operator.client.patch(&path, &raise).await.has_status(202);
    for _ in 0..600 {
        if operator.client.get(&path).await.has_status(200)["max_daily_spend"] == 20 {
            let read = operator.client.get(&path).await.has_status(200);
            assert!(read["pending"].is_null(), "{}", read.text);
            agent.pays("5").to(&payee).await.is_settled();
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the raise never took effect");
}

#[tokio::test]
async fn nothing_of_a_budget_begins_to_wait_in_a_halt() {
    let (operator, _) = agent_with_delay(3_600).await;
    let budget = operator.makes_budget(1, "10", None).await;
    operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    let path = format!("/v1/budgets/{budget}");
    let refused = operator.client.patch(&path, &json!({ "max_daily_spend": 20 })).await;
    assert!(refused.is_error(403, "forbidden").text_of("message").contains("halted"));
    operator.client.patch(&path, &json!({ "max_daily_spend": 5 })).await.has_status(200);
}

#[tokio::test]
async fn grants_are_listed_as_they_stand_and_taken_back_one_by_one_or_all_at_once() {
    let ([ada, ben], payee) = two_agents().await;
    let (client, path) = (&ada.operator.client, ada.path("/grants"));
    assert_eq!(client.get(&path).await.has_status(200)["data"], json!([]));
    let mut ids = Vec::new();
    for usdc in ["1", "2", "3"] {
        ids.push(ada.opens_grant(usdc, &payee).await);
    }
    let other = ben.opens_grant("9", &payee).await;
    let listed = client.get(&path).await.has_status(200);
    let grants = listed["data"].as_array().expect("a list");
    assert_eq!(grants.len(), 3, "{}", listed.text);
    for grant in grants {
        let id = grant["grant_id"].as_str().expect("an id");
        let number = ids.iter().position(|known| known == id).expect("one of them");
        assert_eq!(grant["left_usdc"], json!(format!("{}.000000", number + 1)));
        assert_eq!((&grant["state"], &grant["opened_by"]), (&json!("open"), &json!("admin")));
        assert_eq!(
            (&grant["payee"], &grant["payee_kind"]),
            (&json!(payee.to_string()), &json!("token_account"))
        );
        assert_eq!(grant["beyond"], json!(["allowed_counterparties", "max_single_transfer"]));
        assert_eq!((&grant["one_payment"], &grant["effective_at"]), (&json!(false), &grant["opened_at"]));
    }
    // An agent sees its own; nobody else's key does, and it takes none back.
    let key = ada.new_key().await;
    assert_eq!(key.get(&path).await.has_status(200)["data"].as_array().map(Vec::len), Some(3));
    key.get(&ben.path("/grants")).await.is_error(403, "forbidden");
    key.delete(&path).await.is_error(403, "forbidden");
    key.delete(&format!("{path}/{}", ids[0])).await.is_error(403, "forbidden");
    let stranger = ada.operator.app().new_operator().await;
    for answer in [
        stranger.client.get(&path).await,
        stranger.client.delete(&path).await,
        stranger.client.delete(&format!("{path}/{}", ids[0])).await,
        // Another account's, and what is none.
        client.delete(&format!("{path}/{other}")).await,
        client.delete(&format!("{path}/grt_{}", ben.address)).await,
        client.delete(&format!("{path}/x")).await,
    ] {
        answer.is_error(404, "not_found");
    }

    client.delete(&format!("{path}/{}", ids[0])).await.has_status(204);
    client.delete(&format!("{path}/{}", ids[0])).await.is_error(404, "not_found");
    client.delete(&path).await.has_status(204);
    let mut cursor = None;
    let mut seen = Vec::new();
    loop {
        let next = cursor.map_or(String::new(), |cursor: String| format!("&cursor={cursor}"));
        let page = client.get(&format!("{path}?limit=1{next}")).await.has_status(200);
        let grant = &page["data"][0];
        assert_eq!(
            (&grant["state"], &grant["effective_at"]),
            (&json!("void"), &json!(null)),
            "{}",
            page.text
        );
        seen.push(grant["grant_id"].as_str().expect("an id").to_owned());
        cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    seen.sort();
    let mut left = ids[1..].to_vec();
    left.sort();
    assert_eq!(seen, left);
    let bens = client.get(&ben.path("/grants")).await.has_status(200);
    assert_eq!(bens["data"][0]["state"], "open", "{}", bens.text);
}
