//! The relayer's outgoing requests go straight to their target, not to a proxy that the environment names.

use purser_tests::{AppSettings, TestApp, TestNetwork};

#[tokio::test]
async fn proxy_of_the_environment_does_not_get_the_calls_to_nodes() {
    let nowhere = || "http://127.0.0.1:1".to_owned();
    let environment = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let environment = environment.into_iter().map(|name| (name, nowhere())).collect();
    let settings = AppSettings { environment, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    operator.creates_account("Ada").await;
}
