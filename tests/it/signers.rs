//! Keys elsewhere than in a file: in the environment, or in another service: Vault, Turnkey, Privy, and with `cargo xtask test
//! --optional-features` AWS KMS and Google's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purser::OperatorUpdate;
use purser_tests::binaries;
use purser_tests::keeper::{Kind, Mood};
use purser_tests::{Agent, Answer, AppSettings, Client, Keeper, TestApp, TestNetwork, until};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

const TRANSFER: &str = "TRANSFER_AUTHORITY_KEYPAIR";
const POLICY: &str = "POLICY_AUTHORITY_KEYPAIR";

/// An agent that holds 100, its payee, and a relayer whose key is in a service.
struct Kept {
    agent: Agent,
    payee: Pubkey,
    app: Arc<TestApp>,
    client: Client,
}

impl Kept {
    /// The first relayer has the keys in files; a second one takes over its accounts, with the keys that `keeper` describes.
    async fn with(
        settings: AppSettings,
        keeps: impl FnOnce(&TestApp) -> Vec<(&'static str, String)>,
    ) -> Kept {
        let first = TestApp::start(TestNetwork::shared().await, &settings).await;
        let agent = first.new_operator().await.creates_account_with("Ada", "100").await;
        let (payee, _) = agent.operator.chain.new_payee().await;
        first.crashes();
        let environment = keeps(&first);
        let app = first.twin(&AppSettings { environment, ..settings });
        let client = Client::new(&app.base_url(), Some(agent.operator.client.key()));
        Kept { agent, payee, app, client }
    }

    async fn pays(&self) -> Answer {
        self.agent.pays("1").to(&self.payee).by(&self.client).await
    }

    async fn paid(&self) -> u64 {
        self.agent.operator.chain.usdc_micros(&self.payee).await / 1_000_000
    }

    /// The problem codes.
    async fn problems(&self) -> Vec<String> {
        let health = self.app.client().get("/healthz").await;
        let listed = health["problems"].as_array().cloned().unwrap_or_default();
        let code = |problem: &Value| problem.as_str()?.split(": ").nth(1).map(str::to_owned);
        listed.iter().filter_map(code).collect()
    }

    async fn until_problems_are(&self, codes: &[&str]) {
        for _ in 0..300 {
            if self.problems().await == codes {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{:?} instead of {codes:?}{}", self.problems().await, self.app.log_tail());
    }
}

/// A 503 that asks for a retry.
#[track_caller]
fn is_refused(answer: Answer) -> Answer {
    let answer = answer.is_error(503, "signer_unavailable");
    assert_eq!(answer["retryable"], true, "{}", answer.text);
    assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    answer
}

/// Pays through the service, in each of its moods.
async fn pays_through(kind: Kind) {
    let mut kept_by = None;
    let kept = Kept::with(AppSettings::default(), |app| {
        let keeper = Keeper::start(kind, app.transfer_authority());
        let environment = keeper.environment(TRANSFER);
        kept_by = Some(keeper);
        environment
    });
    let kept = kept.await;
    let keeper = kept_by.expect("it was started");
    kept.pays().await.is_settled();
    assert!(keeper.signed() > 0 && keeper.turned_away().is_empty(), "{:?}", keeper.turned_away());
    let mut paid = 1;
    for mood in [Mood::Fails, Mood::SignsOther, Mood::SignsAsOther, Mood::Hangs] {
        keeper.is(mood);
        let payment = kept.agent.pays("1").to(&kept.payee).by(&kept.client).key(&format!("{mood:?}"));
        let begun = Instant::now();
        let refused = is_refused(payment.clone().await);
        // The signer's limit is one second, a request's is thirty.
        assert!(begun.elapsed() < Duration::from_secs(20), "{mood:?} {:?}", begun.elapsed());
        assert_eq!(refused["transfer_id"], Value::Null, "nothing was claimed: {}", refused.text);
        assert_eq!(kept.paid().await, paid, "{mood:?}: nothing was sent");
        keeper.is(Mood::Signs);
        let settled = payment.clone().insists().await;
        paid += 1;
        assert_eq!(payment.await.is_settled()["tx_signature"], settled["tx_signature"]);
        assert_eq!(kept.paid().await, paid, "{mood:?}: paid once");
    }
    assert!(keeper.turned_away().is_empty(), "{:?}", keeper.turned_away());
    let log = kept.app.log();
    assert!(
        log.contains("the signer did not sign") && log.contains("the signer is available again"),
        "{}",
        kept.app.log_tail()
    );
    for secret in ["hvs.CAESIJ-purser", "487f361ddfd73440", "privy-app-secret", "wJalrXUtnFEMI", "1//refresh"]
    {
        assert!(!log.contains(secret), "the log has a secret of {kind:?}");
    }
}

#[tokio::test]
async fn vault_keeps_a_transfer_key() {
    pays_through(Kind::Vault).await;
}

#[tokio::test]
async fn turnkey_keeps_a_transfer_key() {
    pays_through(Kind::Turnkey).await;
}

#[tokio::test]
async fn privy_keeps_a_transfer_key() {
    pays_through(Kind::Privy).await;
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn aws_kms_keeps_a_transfer_key() {
    pays_through(Kind::AwsKms).await;
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn gcp_kms_keeps_a_transfer_key() {
    pays_through(Kind::GcpKms).await;
}

/// The variables that name a variable as the place of a setting's key.
fn in_variable(setting: &str, variable: &str) -> [(&'static str, String); 2] {
    // Leaked for the rest of the process: relayers take environments with static names.
    let name = |field| &*format!("PURSER__NETWORKS__TEST__{setting}__{field}").leak();
    [(name("KIND"), "environment".to_owned()), (name("VARIABLE"), variable.to_owned())]
}

#[tokio::test]
async fn environment_keeps_policy_and_transfer_keys_as_a_key_file_or_in_base58() {
    let kept = Kept::with(AppSettings::default(), |app| {
        let file = format!(" {:?}\n", app.transfer_authority().to_bytes());
        let variables = [
            ("PURSER_TEST_TRANSFER", file),
            ("PURSER_TEST_POLICY", app.policy_authority().to_base58_string()),
        ];
        let places =
            [in_variable(TRANSFER, "PURSER_TEST_TRANSFER"), in_variable(POLICY, "PURSER_TEST_POLICY")];
        places.concat().into_iter().chain(variables).collect()
    });
    let kept = kept.await;
    kept.pays().await.is_settled();
    assert_eq!(kept.paid().await, 1);
    kept.client.put(&kept.agent.path("/policy"), &json!({ "max_single_transfer": 5 })).await.has_status(200);
    kept.pays().await.is_settled();
}

#[tokio::test]
async fn variable_that_is_missing_or_holds_no_key_is_refused_by_its_name_and_never_shown() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.crashes();
    let keypair = app.transfer_authority();
    let mut torn = keypair.to_bytes();
    torn[40] ^= 1;
    let base58 = |bytes: &[u8]| bs58::encode(bytes).into_string();
    let refused = |key: Option<&str>| -> String {
        let place = in_variable(TRANSFER, "PURSER_TEST_KEY");
        let key = key.map(|key| ("PURSER_TEST_KEY", key));
        let environment: Vec<(&str, &str)> =
            place.iter().map(|(name, value)| (*name, value.as_str())).chain(key).collect();
        app.refuses_to_start_with(&environment)
    };
    let said = refused(None);
    assert!(said.contains("environment variable PURSER_TEST_KEY is not set"), "{said}");
    let half = base58(&keypair.to_bytes()[..32]);
    let longer = base58(&[&keypair.to_bytes()[..], &[1]].concat());
    let rubbish = [
        "",
        "  ",
        "[]",
        "[1, 2, 3]",
        "[256]",
        "{}",
        "0OIl",
        &format!("{torn:?}"),
        &base58(&torn),
        &half,
        &longer,
    ];
    for key in rubbish {
        let said = refused(Some(key));
        assert!(said.contains("environment variable PURSER_TEST_KEY holds no keypair of 64 bytes"), "{said}");
        assert!(key.len() < 10 || !said.contains(key), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[tokio::test]
async fn policy_and_transfer_keys_are_kept_by_different_services() {
    let mut keepers = Vec::new();
    let kept = Kept::with(AppSettings::default(), |app| {
        keepers.push(Keeper::start(Kind::Vault, app.policy_authority()));
        keepers.push(Keeper::start(Kind::Turnkey, app.transfer_authority()));
        [keepers[0].environment(POLICY), keepers[1].environment(TRANSFER)].concat()
    });
    let kept = kept.await;
    kept.pays().await.is_settled();
    assert_eq!((keepers[0].signed(), keepers[1].signed()), (0, 1));
    // More entries than fit one transaction: several signatures, in order.
    let entries: Value = (0..30).map(|_| json!({ "wallet": Pubkey::new_unique().to_string() })).collect();
    let path = kept.agent.path("/policy");
    kept.client.put(&path, &json!({ "allowed_counterparties": entries })).await.has_status(200);
    assert!(keepers[0].signed() > 2, "{}", keepers[0].signed());
    keepers[0].is(Mood::Fails);
    is_refused(kept.client.put(&path, &json!({})).await);
    is_refused(kept.client.post("/v1/accounts", &json!({ "name": "Ben" })).await);
    is_refused(kept.client.post("/v1/halt", &json!({})).await);
    // Transfers are refused because of the policy in force, not because the other key is missing.
    kept.pays().await.is_error(402, "policy_violation");
    keepers[0].is(Mood::Signs);
    kept.client.put(&path, &json!({})).await.has_status(200);
    kept.pays().await.is_settled();
    let listed = kept.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "nothing is left of what was refused");
}

/// Two keys: one in a service that hangs for longer than the test, one in a file.
#[tokio::test]
async fn hanging_signer_does_not_hold_up_payments_with_another() {
    let settings = AppSettings { second_keys: true, deadline_seconds: 40, ..AppSettings::default() };
    let mut kept_by = None;
    let kept = Kept::with(settings, |app| {
        let keeper = Keeper::start(Kind::Vault, app.transfer_authority());
        let mut environment = keeper.environment("TRANSFER_AUTHORITY_KEYPAIR__0");
        let second = app.folder().join("transfer-authority-2.json").display().to_string();
        environment.push(("PURSER__NETWORKS__TEST__TRANSFER_AUTHORITY_KEYPAIR__1", second));
        environment
            .push(("PURSER__NETWORKS__TEST__TRANSFER_AUTHORITY_KEYPAIR__0__TIME_LIMIT_MS", "10000".into()));
        kept_by = Some(keeper);
        environment
    });
    let kept = kept.await;
    let keeper = kept_by.expect("it was started");
    let operator = &kept.agent.operator;
    let [first, second] =
        [operator.app().transfer_authority(), &operator.app().second_keys()[1]].map(Signer::pubkey);
    let names = async |keys: &[Pubkey]| {
        let update = OperatorUpdate { transfer_authorities: Some(keys.to_vec()), ..Default::default() };
        operator.chain.updates_operator(operator.address, update, operator.app().admin()).await;
    };
    names(&[first]).await;
    keeper.is(Mood::Hangs);
    let hangs = kept.agent.pays("1").to(&kept.payee).by(&kept.client).key("hangs");
    let waits = tokio::spawn(async move { hangs.await });
    until("the first key is asked for", async || keeper.hung().iter().any(|path| path.contains("/sign/")))
        .await;
    names(&[second]).await;
    kept.agent.lets_the_relayer_read(&kept.client, &kept.payee).await;
    for answer in futures::future::join_all((0..3).map(|_| kept.pays())).await {
        answer.is_settled();
    }
    assert!(!waits.is_finished(), "the other one was to wait for ten seconds");
    assert_eq!(kept.paid().await, 3);
    // Of two listed keys the relayer uses the one that signs; it tried the one that hung for one payment.
    names(&[first, second]).await;
    waits.await.expect("it does not panic");
    for _ in 0..6 {
        kept.pays().await.is_settled();
    }
    keeper.is(Mood::Signs);
}

#[tokio::test]
async fn fault_of_a_signer_is_reported_before_anybody_pays_and_until_it_is_mended() {
    let settings = AppSettings { server: "admin_listen = \"127.0.0.1:0\"", ..AppSettings::default() };
    let mut kept_by = None;
    let kept = Kept::with(settings, |app| {
        let keeper = Keeper::start(Kind::Turnkey, app.transfer_authority());
        keeper.is(Mood::Fails);
        let environment = keeper.environment(TRANSFER);
        kept_by = Some(keeper);
        environment
    });
    let kept = kept.await;
    let keeper = kept_by.expect("it was started");
    kept.until_problems_are(&["signer_unavailable"]).await;
    kept.app.admin_client().get("/readyz").await.has_status(503);
    // Requests without a signature go on.
    kept.client.get("/v1/accounts").await.has_status(200);
    keeper.is(Mood::Signs);
    kept.until_problems_are(&[]).await;
    kept.app.admin_client().get("/readyz").await.has_status(200);
    assert_eq!(keeper.signed(), 0, "a check signs nothing");
    kept.pays().await.is_settled();
}

#[tokio::test]
async fn doctor_asks_the_signers() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await;
    let keeper = Keeper::start(Kind::Privy, app.transfer_authority());
    let asks = || {
        let mut doctor = std::process::Command::new(binaries::relayer());
        doctor.args(["doctor", "--json", "--config"]).arg(app.config()).envs(keeper.environment(TRANSFER));
        let output = doctor.output().expect("the relayer binary starts");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let wrong = report["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false);
        wrong.map(|check| check["check"].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
    };
    let is_of_signer = |check: &String| check.starts_with("network test: signer of transfer authority ");
    assert!(!asks().iter().any(is_of_signer), "{:?}", asks());
    keeper.is(Mood::Fails);
    assert!(asks().iter().any(is_of_signer), "{:?}", asks());
}

#[tokio::test]
#[cfg_attr(
    feature = "optional-features",
    ignore = "this relayer has every feature: `cargo xtask test` runs it"
)]
async fn relayer_without_a_feature_refuses_the_kind_that_needs_it() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.crashes();
    let config = std::fs::read_to_string(app.config()).expect("it is there");
    let line = config.lines().find(|line| line.starts_with("transfer_authority_keypair")).expect("a key");
    for (kind, key) in [("aws-kms", "alias/purser"), ("gcp-kms", "projects/p")] {
        let public_key = app.transfer_authority().pubkey();
        let table = format!(
            "transfer_authority_keypair = {{ kind = \"{kind}\", key = \"{key}\", public_key = \"{public_key}\" }}"
        );
        std::fs::write(app.config(), config.replace(line, &table)).expect("the folder is writable");
        let said = app.refuses_to_start();
        assert!(said.contains(&format!("cargo feature `signer-{kind}`")), "{said}");
    }
}
