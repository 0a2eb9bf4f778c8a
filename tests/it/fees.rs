//! Other senders' fees: the network accepts only transactions that pay at least as much.

use std::sync::Arc;

use purser_tests::agent::all_at_once;
use purser_tests::{Agent, AppSettings, Operator, Proxy, TestApp, TestNetwork, until};

const MAX: &str = "PURSER__NETWORKS__TEST__PRIORITY_FEE_MICRO_LAMPORTS_MAX";
const LOOKS: &str = "getRecentPrioritizationFees";

/// An agent with 100 USDC at a relayer that pays up to `most`, if given, and the relayer's line to the network.
async fn paying_up_to(
    network: Arc<TestNetwork>,
    most: Option<u64>,
    deadline_seconds: u64,
) -> (Proxy, Operator, Agent) {
    let proxy = Proxy::to(&network.rpc_url);
    let environment = most.map(|most| (MAX, most.to_string())).into_iter().collect();
    let rpc_url = Some(proxy.url());
    let server = "admin_listen = \"127.0.0.1:0\"";
    let settings = AppSettings { rpc_url, environment, deadline_seconds, server, ..AppSettings::default() };
    let operator = TestApp::start(network, &settings).await.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    (proxy, operator, agent)
}

fn looks(proxy: &Proxy) -> u64 {
    proxy.calls().get(LOOKS).copied().unwrap_or_default()
}

/// Waits until the relayer has read the present price of others. One look may have begun earlier; the next is over once another begins.
async fn learns_the_price(proxy: &Proxy) {
    let before = looks(proxy);
    until("two more looks at the price", async || looks(proxy) >= before + 2).await;
}

#[tokio::test]
async fn payments_among_others_that_pay_more_land_and_none_expires() {
    let (proxy, operator, agent) = paying_up_to(TestNetwork::shared().await, Some(100_000), 30).await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(
        proxy.outcomes().prices().into_iter().max(),
        Some(0),
        "nobody competes: nothing is paid for it"
    );
    proxy.outcomes().competes(5_000);
    agent.gets_room(8).await;
    learns_the_price(&proxy).await;
    proxy.outcomes().clears();
    let before = looks(&proxy);
    let begun = std::time::Instant::now();
    const PAYMENTS: usize = 40;
    for answer in all_at_once((0..PAYMENTS).map(|_| agent.pays("1").to(&payee))).await {
        answer.is_settled();
    }
    let prices = proxy.outcomes().prices();
    assert_eq!(prices.len(), PAYMENTS, "each was signed once: none expired");
    assert!(prices.iter().all(|price| *price == 5_000), "{prices:?}");
    let asked = looks(&proxy) - before;
    assert!(asked <= 2 + begun.elapsed().as_secs() / 4, "{asked} questions for {PAYMENTS} payments");
}

#[tokio::test]
async fn without_a_maximum_nothing_more_is_paid_and_nobody_is_asked() {
    // On the slow network a blockhash lives for half a minute.
    let (proxy, operator, agent) = paying_up_to(TestNetwork::slow(), None, 3).await;
    let (payee, _) = operator.chain.new_payee().await;
    proxy.outcomes().competes(5_000);
    let waits = agent.pays("1").to(&payee).await.has_status(202);
    let metrics = operator.app().admin_client().get("/metrics").await.has_status(200).text;
    assert!(metrics.contains(r#"purser_tasks{task="submitter"}"#), "{metrics}");
    assert!(!metrics.contains(r#"purser_tasks{task="prices"}"#), "nobody is going to ask: {metrics}");
    assert_eq!(looks(&proxy), 0);
    // The competition is gone: the same bytes land.
    proxy.outcomes().competes(0);
    let settled = crate::transfers::settles(&agent, waits.text_of("transfer_id")).await;
    assert_eq!(settled["tx_signature"], waits["tx_signature"]);
    assert!(proxy.outcomes().prices().iter().all(|price| *price == 0));
}

#[tokio::test]
async fn payment_that_expired_is_signed_anew_for_the_most_that_may_be_paid() {
    let (proxy, operator, agent) = paying_up_to(TestNetwork::shared().await, Some(70_000), 50).await;
    let (payee, _) = operator.chain.new_payee().await;
    // The nodes do not report the real price yet.
    proxy.outcomes().says_that_others_pay(Some(1_000));
    learns_the_price(&proxy).await;
    proxy.outcomes().clears();
    proxy.outcomes().competes(50_000);
    let paid = agent.pays("1").to(&payee).await;
    let paid = match paid.status {
        200 => paid.body.clone(),
        _ => {
            crate::transfers::settles(&agent, paid.has_status(202).text_of("transfer_id")).await.body.clone()
        }
    };
    assert_eq!(paid["status"], "settled");
    let mut prices = proxy.outcomes().prices();
    prices.sort_unstable();
    assert_eq!(prices, [1_000, 70_000]);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}
