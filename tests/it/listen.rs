//! `purser listen`: events reach a receiver that the service cannot reach, signed as deliveries are.

use std::time::Duration;

use purser_tests::network::temp_folder;
use purser_tests::process::Process;
use purser_tests::receiver::Delivery;
use purser_tests::{Operator, Receiver, binaries, until};

use crate::webhooks::signature;

const READY_WITHIN: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";

#[tokio::test]
async fn listen_prints_events_and_posts_them_as_a_webhook_gets_them() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let receiver = Receiver::start();
    let to = receiver.url("/listened");
    let url = format!("{}/v1", operator.app().base_url());
    let folder = temp_folder();
    let arguments = ["listen", "--url", &url, "--forward-to", &to, "--events", "transfer.settled", "--json"];
    let environment = [
        ("PURSER_OPERATOR_KEY", operator.client.key().to_owned()),
        ("PURSER_WEBHOOK_SECRET", SECRET.to_owned()),
    ];
    let log = folder.path().join("listen.log");
    let listening = Process::start_with(&binaries::relayer(), &arguments, &environment, &log, None);
    listening.says("listening", READY_WITHIN);
    agent.pays("0.1").to(&payee).await.is_settled();
    let ours = |delivery: &&Delivery| delivery.event()["data"]["account_id"] == agent.id.as_str();
    until("the agent's event is posted", async || {
        receiver.received("/listened").iter().any(|one| ours(&one))
    })
    .await;
    let received = receiver.received("/listened");
    let one = received.iter().find(ours).expect("the agent's");
    assert_eq!(one.event_type(), "transfer.settled");
    assert_eq!(one.header("webhook-id"), one.event_id());
    assert!(one.header("webhook-signature").starts_with("v1,"));
    assert_eq!(one.header("x-service-signature"), signature(SECRET, &one.body));
    let printed = listening.says("event", READY_WITHIN);
    assert_eq!(printed["answer"], 204, "{printed}");
}
