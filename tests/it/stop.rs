//! A stop: the relayer accepts nothing new, finishes what it can, reports how far the rest has come, and ends.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use purser_tests::agent::unique_key;
use purser_tests::proxy::outcomes::Outcome;
use purser_tests::{Agent, AppSettings, Client, Proxy, TestApp, TestNetwork, until};
use reqwest::Method;
use solana_sdk::pubkey::Pubkey;

/// A relayer with a payment in flight that does not end: its transaction goes nowhere for 30 seconds.
async fn with_an_endless_payment()
-> (Arc<TestApp>, Agent, Pubkey, tokio::task::JoinHandle<purser_tests::Answer>) {
    let network = TestNetwork::slow();
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), ..AppSettings::default() };
    let app = TestApp::start(network, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let mark = unique_key();
    proxy.outcomes().orders(&mark, [Outcome::Dropped { sends: 12 }]);
    let paying = tokio::spawn(agent.pays("1").to(&payee).memo(&mark).into_future());
    let sent = || proxy.calls().get("sendTransaction").copied().unwrap_or_default();
    let before = sent();
    until("the payment is sent", async || sent() > before).await;
    (app, agent, payee, paying)
}

/// Waits until new connections are refused: the relayer has noticed the stop.
async fn takes_nothing_new(base_url: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let newcomer = Client::new(base_url, None);
        if newcomer.tries(newcomer.request(Method::GET, "/v1/accounts")).await.is_err() {
            return;
        }
        assert!(Instant::now() < deadline, "new connections are still taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn relayer_with_a_delay_is_unready_first_and_refuses_no_connection_until_it_is_over() {
    let delay = ("PURSER__SERVER__STOP_DELAY_SECONDS", "3".to_owned());
    let settings = AppSettings { environment: vec![delay], ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let base_url = app.base_url();
    let asks = async |path: &str| Client::new(&base_url, Some(operator.client.key())).get(path).await;
    let before = asks("/v1/accounts").await.has_status(200);
    assert_ne!(before.header("connection"), Some("close"));
    let begun = Instant::now();
    let stopping = tokio::spawn({
        let app = Arc::clone(&app);
        async move { app.stops(Duration::from_secs(60)).await }
    });
    until("it says that it leaves", async || asks("/healthz").await.status == 503).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "while it still takes requests");
    let answers = asks("/v1/accounts").await.has_status(200);
    assert_eq!(answers.header("connection"), Some("close"));
    takes_nothing_new(&base_url).await;
    assert!(begun.elapsed() >= Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(stopping.await.expect("waiting does not panic"), "the relayer ends by itself");
}

#[tokio::test]
async fn relayer_that_stops_takes_nothing_new_and_says_how_far_a_payment_has_come() {
    let (app, agent, payee, paying) = with_an_endless_payment().await;
    let base_url = app.base_url();
    let begun = Instant::now();
    let stopping = tokio::spawn({
        let app = Arc::clone(&app);
        async move { app.stops(Duration::from_secs(60)).await }
    });
    takes_nothing_new(&base_url).await;
    // The relayer waits for the payment in flight, which gets its answer.
    let answer = paying.await.expect("the request is answered").has_status(202);
    assert_eq!(answer["status"], "submitted");
    assert!(stopping.await.expect("waiting does not panic"), "the relayer ends by itself");
    assert!(begun.elapsed() < Duration::from_secs(16), "{:?}", begun.elapsed());

    app.starts();
    let mut agent = agent;
    agent.operator = agent.operator.reconnected();
    let settled = crate::transfers::settles(&agent, answer.text_of("transfer_id")).await;
    assert_eq!(
        settled["tx_signature"], answer["tx_signature"],
        "the lease was given back, the bytes sent again"
    );
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn second_signal_stops_at_once_and_loses_nothing() {
    let (app, agent, payee, paying) = with_an_endless_payment().await;
    let begun = Instant::now();
    app.begins_to_stop();
    takes_nothing_new(&app.base_url()).await;
    assert!(app.stops(Duration::from_secs(60)).await);
    // For so long the first signal alone lets requests finish.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let _ = paying.await;

    app.starts();
    let operator = agent.operator.reconnected();
    let mut paid = 0;
    for _ in 0..300 {
        paid = operator.chain.usdc_micros(&payee).await;
        if paid > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(paid, 1_000_000, "the next start finishes the payment, though nobody asks");
}
