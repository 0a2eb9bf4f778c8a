//! `purser audit --follow`: what happens is told once, also what happened while nobody watched.

use std::path::Path;
use std::time::Duration;

use purser::OperatorUpdate;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, Operator, Receiver, TestApp, TestNetwork, binaries, waits};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::loosening::loosens_after;

const PATH: &str = "/watch";
/// The one of the Standard Webhooks libraries' own example.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct Watch {
    process: Process,
    metrics: String,
}

impl Watch {
    fn starts(operator: &Operator, saved: &Path, receiver: &Receiver) -> Watch {
        let (url, address) = (&operator.network().rpc_url, operator.address.to_string());
        let webhook = receiver.url(PATH);
        let arguments = [
            "audit",
            "--follow",
            "--json",
            "--url",
            url,
            "--operator",
            &address,
            "--save",
            path_text(saved),
            "--interval",
            "1",
            "--webhook",
            &webhook,
            "--metrics",
            "127.0.0.1:0",
        ];
        let environment = [("PURSER_AUDIT_WEBHOOK_SECRET", SECRET.to_owned())];
        let log = saved.join("log");
        let process = Process::start_with(&binaries::relayer(), &arguments, &environment, &log, None);
        let metrics = process.says("metrics", Duration::from_secs(60))["metrics"].clone();
        Watch { process, metrics: metrics.as_str().expect("a URL").to_owned() }
    }

    async fn figure(&self, name: &str) -> u64 {
        let answer = reqwest::get(&self.metrics).await.expect("it answers").text().await.expect("text");
        let line = answer.lines().find_map(|line| line.strip_prefix(&format!("purser_audit_{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {answer}")).parse().expect("a number")
    }

    /// Waits until a whole audit was made that began after now.
    async fn looks_again(&self) {
        let before = self.figure("rounds_total").await;
        waits::until("two more audits", async || self.figure("rounds_total").await >= before + 2).await;
    }
}

fn told(receiver: &Receiver) -> Vec<Value> {
    receiver.received(PATH).iter().map(|delivery| delivery.event()).collect()
}

fn types(receiver: &Receiver) -> Vec<String> {
    told(receiver).iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

async fn is_told(receiver: &Receiver, expected: &[&str]) {
    let what = format!("{expected:?} are told");
    waits::until(&what, async || types(receiver).len() >= expected.len()).await;
    assert_eq!(types(receiver), expected, "{:#}", json!(told(receiver)));
}

async fn offers_the_admins_place(operator: &Operator, to: Pubkey) {
    let update = OperatorUpdate { pending_admin: Some(to), ..OperatorUpdate::default() };
    operator.chain.updates_operator(operator.address, update, operator.app().admin()).await;
}

#[tokio::test]
async fn follower_tells_each_change_once_goes_on_after_a_stop_and_repeats_what_was_not_delivered() {
    let app = TestApp::start(TestNetwork::own(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    // By a transaction: money that the network writes into an account is a finding.
    mints(&operator.chain, "100", &ada.token_account).await;
    ada.sets_policy(json!({ "max_single_transfer": 10 })).await;
    // Older than the watch.
    ada.sets_policy(json!({ "max_single_transfer": 20 })).await;
    let (saved, receiver) = (temp_folder(), Receiver::start());
    let watch = Watch::starts(&operator, saved.path(), &receiver);
    watch.looks_again().await;
    assert_eq!(
        types(&receiver),
        Vec::<String>::new(),
        "what lies behind is known: {:#}",
        json!(told(&receiver))
    );
    assert_eq!((watch.figure("findings").await, watch.figure("incomplete_checks").await), (0, 0));

    ada.sets_policy(json!({ "max_single_transfer": 30 })).await;
    let mut expected = vec!["audit.policy_loosened"];
    is_told(&receiver, &expected).await;
    let delivery = receiver.received(PATH).remove(0);
    let event = delivery.event();
    assert!(
        event["text"].as_str().is_some_and(|text| text.contains("from 20.000000 USDC to 30.000000 USDC")),
        "{event}"
    );
    assert_eq!(event["account"], ada.address.to_string());
    assert_eq!(delivery.header("webhook-id"), event["id"].as_str().expect("an id"));
    assert!(delivery.header("webhook-signature").starts_with("v1,"));
    assert!(event["at"]["signature"].is_string(), "{event}");

    offers_the_admins_place(&operator, Keypair::new().pubkey()).await;
    expected.push("audit.admin_changed");
    is_told(&receiver, &expected).await;

    // Nobody watches while a policy is sealed, and the endpoint is down at first.
    assert!(watch.process.stops(Duration::from_secs(60)), "it stops when it is asked to");
    loosens_after(&operator, 3_600).await;
    operator.client.put(&ada.path("/policy"), &json!({ "max_single_transfer": 40 })).await.has_status(202);
    receiver.answers(PATH, 503);
    let watch = Watch::starts(&operator, saved.path(), &receiver);
    waits::until("it fails to deliver", async || watch.figure("failures_total").await >= 2).await;
    assert_eq!(watch.figure("alerts_pending").await, 1);
    receiver.answers(PATH, 204);
    waits::until("it is delivered", async || watch.figure("alerts_pending").await == 0).await;
    let events = told(&receiver);
    let sealed: Vec<&Value> = events.iter().filter(|it| it["type"] == "audit.draft_sealed").collect();
    assert!(sealed.len() >= 3, "twice refused, then taken: {events:#?}");
    assert!(sealed.iter().all(|it| it["id"] == sealed[0]["id"]), "under one id: {sealed:#?}");
    assert_eq!(events.len(), sealed.len() + expected.len(), "{events:#?}");

    let count = events.len();
    watch.looks_again().await;
    assert_eq!(told(&receiver).len(), count, "nothing is told twice");
    assert!(watch.process.stops(Duration::from_secs(60)));
}
