//! Deposits from outside are told by the token account that they reach.

use std::time::Duration;

use purser_tests::wallet::mints;
use purser_tests::{AppSettings, TestApp, TestNetwork};

use crate::history::{entries, entries_once};

/// How long a subscription may need to stand, in tries a second apart.
const TRIES: usize = 30;

#[tokio::test]
async fn deposit_shows_though_no_balances_are_compared() {
    // So rarely that nothing here is found by the timer.
    let settings = AppSettings { indexer_interval_ms: 600_000, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let mut agent = operator.creates_account("Payee").await;
    // The comparison at the start of a relayer is where it learns of the account.
    assert!(app.stops(Duration::from_secs(20)).await);
    app.starts();
    agent.operator = operator.reconnected();
    let mut deposits = 0;
    while entries(&agent, "").await.is_empty() {
        assert!(deposits < TRIES, "no deposit is shown");
        mints(&operator.chain, "1", &agent.token_account).await;
        deposits += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // Those that came before the subscription stood are found with the first that was told.
    assert_eq!(entries_once(&agent, deposits).await.len(), deposits);
    mints(&operator.chain, "2", &agent.token_account).await;
    let shown = entries_once(&agent, deposits + 1).await;
    assert_eq!(shown.len(), deposits + 1);
    assert_eq!(shown[0]["amount_usdc"], "2.000000");
}
