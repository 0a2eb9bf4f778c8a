//! Schemathesis generates good and bad requests from the OpenAPI document, and checks the answers against it. Exceptions and
//! their reasons are in `tests/foreign/schemathesis.toml` and `hooks.py`.

use std::env;

use purser_tests::network::temp_folder;
use purser_tests::{AppSettings, TestApp, TestNetwork, foreign};
use solana_sdk::signer::Signer;

/// For each operation and kind of test; `PURSER_SCHEMATHESIS_EXAMPLES` sets more.
const EXAMPLES: &str = "12";

#[tokio::test]
async fn schemathesis_finds_nothing_that_the_description_does_not_say() {
    let Some(python) = foreign::python() else { return };
    // It sends random halts and policies, so it gets its own operators and its own relayer.
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (key, given_back) = (agent.new_key().await, agent.new_key().await);
    let (payee, wallet) = operator.chain.new_payee().await;
    let examples = env::var("PURSER_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());

    let folder = temp_folder();
    let line =
        "schemathesis --config-file \"$CONFIG\" run \"$URL/openapi.json\" --max-examples \"$EXAMPLES\"";
    let mut command = foreign::shell(folder.path(), &[python], line);
    let config = foreign::file("schemathesis.toml");
    command.env("PYTHONPATH", config.parent().expect("a folder")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("CONFIG", config).env("URL", app.base_url()).env("EXAMPLES", examples);
    command.env("PURSER_SERVICE", app.base_url());
    let halted = operator.creates_account("Halted").await;
    command.env("PURSER_HALTED_KEY", app.new_operator().await.client.key());
    command.env("PURSER_HALTED_ACCOUNT", &halted.id);
    command.env("PURSER_OPERATOR_KEY", operator.client.key()).env("PURSER_AGENT_KEY", key.key());
    command.env("PURSER_KEY_GIVEN_BACK", given_back.key());
    command.env("PURSER_ACCOUNT", &agent.id).env("PURSER_PAYEE", payee.to_string());
    command.env("PURSER_WALLET", wallet.pubkey().to_string());
    let report = foreign::printed(command).await;
    for phase in ["Examples", "Coverage", "Fuzzing", "Stateful"] {
        assert!(report.contains(&format!("✅ {phase}")), "{phase} was left out: {report}");
    }
    assert!(report.contains("Operations:       56 selected / 56 total"), "{report}");
    assert!(operator.chain.usdc_micros(&payee).await > 0, "nothing was paid: {report}");
}
