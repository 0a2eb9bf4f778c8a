//! The relayer as it ships has no crash points: what ends a relayer under test does nothing to it.

use purser_tests::{AppSettings, TestApp, TestNetwork};

#[tokio::test]
async fn shipped_relayer_pays_where_a_relayer_under_test_would_die() {
    let environment =
        vec![("PURSER_CRASH_AT", "send.before:1".to_owned()), ("PURSER_PANIC_AT", "send.after:1".to_owned())];
    let settings = AppSettings { environment, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "2").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}
