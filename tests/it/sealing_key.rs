//! A relayer whose key does not open its webhooks' secrets reports that once, and shows why deliveries wait.

use std::time::Duration;

use purser_tests::settings::Webhooks;
use purser_tests::{AppSettings, Client, Receiver, TestApp, TestNetwork};
use serde_json::json;

use crate::webhooks::registers;

const WEBHOOKS: usize = 5;

#[tokio::test]
async fn wrong_sealing_key_is_said_once_and_shown_on_the_deliveries() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let receiver = Receiver::start();
    let mut paths = Vec::new();
    for _ in 0..WEBHOOKS {
        let created = registers(&operator, &receiver.url("/hook"), &["transfer.settled"]).await;
        paths.push(format!("/v1/webhooks/{}", created.text_of("id")));
    }
    assert!(app.stops(Duration::from_secs(60)).await);
    let settings = AppSettings { webhooks: Webhooks::WithAnotherKey, ..AppSettings::default() };
    let beside = app.twin(&settings);
    let client = Client::new(&beside.base_url(), Some(operator.client.key()));
    for path in &paths {
        client.post(&format!("{path}/test"), &json!({})).await.has_status(202);
    }
    for path in &paths {
        let listed = client.get(&format!("{path}/deliveries")).await.has_status(200);
        let delivery = &listed["data"][0];
        assert_eq!(delivery["status"], "pending");
        assert_eq!(delivery["blocked_by"], "secret_sealed_with_another_key", "{}", listed.text);
    }
    // A new secret is sealed with the current key.
    client.post(&format!("{}/rotate_secret", paths[0]), &json!({})).await.has_status(200);
    for _ in 0..100 {
        let listed = client.get(&format!("{}/deliveries", paths[0])).await;
        if listed["data"][0]["status"] == "delivered" {
            assert!(listed["data"][0]["blocked_by"].is_null());
            // How often the other deliveries were checked by now is unknown; a unit test covers repeated checks.
            let log = beside.log();
            let said: Vec<&str> =
                log.lines().filter(|line| line.contains("sealed with another key")).collect();
            assert_eq!(said.len(), 1, "{said:#?}");
            assert!(said[0].contains("count=5"), "{said:#?}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("never delivered: {}", beside.log_tail());
}
