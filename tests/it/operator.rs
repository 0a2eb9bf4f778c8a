//! An operator with its own wallet, from nothing to an audit, in the order of README and docs/operating.md: with `anchor run`
//! by Anchor's own command line, the API, and the dashboard. Only processes: a network, a relayer, and shell commands.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use purser_tests::network::path_text;
use purser_tests::{Browser, Client, anchor, binaries, wallet};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::set_up::{Scene, named, printed, word};

/// The operator's machine.
struct Own<'a> {
    scene: &'a Scene,
    wallet: PathBuf,
}

impl Own<'_> {
    /// Runs `anchor run NAME -- ARGUMENTS`, which must end with this status, and returns its answer.
    fn runs(&self, name: &str, arguments: &str, status: i32) -> Value {
        let migrate = binaries::relayer().with_file_name("purser-migrate");
        let arguments = format!("{arguments} --json");
        let ran = anchor::run(&self.scene.network.rpc_url, &self.wallet, &migrate, name, &arguments);
        let (answer, said) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(status), "anchor run {name} -- {arguments}: {answer}{said}");
        let line = answer.lines().rfind(|line| line.starts_with('{'));
        let line = line.unwrap_or_else(|| panic!("anchor run {name} -- {arguments}: {answer}{said}"));
        serde_json::from_str(line).expect("a line of JSON")
    }

    /// First without, then with `--yes`.
    fn does(&self, name: &str, arguments: &str) -> Value {
        let shown = self.runs(name, arguments, 3);
        assert_eq!(shown["done"], json!(false), "{shown}");
        self.runs(name, &format!("{arguments} --yes"), 0)
    }
}

/// Polls the page until it contains this text.
async fn comes_to_say(browser: &Browser, path: &str, text: &str) {
    let begun = Instant::now();
    loop {
        let page = browser.reads(path).await.text;
        if page.contains(text) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{path} does not say {text:?}: {page}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_with_a_wallet_of_its_own_gets_from_nothing_to_an_audit() {
    let mut scene = Scene::set().await;
    let chain = scene.network.chain();
    let blocks = printed("self-custodied");
    let [init, add, key] = &blocks[..] else { panic!("{blocks:?}") };
    let made = scene.types(init);
    let policy = scene.funds(&made, "policy authority").await;
    let transfer = scene.funds(&made, "transfer authority").await;
    let keypair = Keypair::new();
    chain.funds(&keypair.pubkey(), 1).await;
    let wallet = scene.folder.path().join("wallet.json");
    fs::write(&wallet, json!(keypair.to_bytes().to_vec()).to_string()).expect("the folder is writable");

    // Create: the operator, the service's knowledge of it, and an account with a first policy.
    let own = Own { scene: &scene, wallet: wallet.clone() };
    let keys = format!("--policy-authority {policy} --transfer-authority {transfer}");
    let mint = scene.network.usdc_mint;
    let created = own.does("operator-create", &format!("{keys} --usdc-mint {mint} --loosening-delay 1d"));
    let operator = created["operator"].as_str().expect("an address").to_owned();
    let again =
        own.runs("operator-create", &format!("{keys} --usdc-mint {mint} --loosening-delay 1d --yes"), 0);
    assert_eq!(again["operator"], json!(operator), "asked for twice, it is there once");
    scene.variables.push(("OPERATOR", operator.clone()));
    let operator_id = word(&scene.types(add), |word| word.starts_with("op_"));
    scene.variables.push(("OPERATOR_ID", operator_id));
    let printed = scene.types(key);
    assert!(printed.contains("Everything is well."), "{printed}");
    let operator_key = named(&printed, "key");
    let (_serving, url) = scene.serves();
    let own = Own { scene: &scene, wallet };
    let of_operator = format!("--operator {operator}");
    let limits = "--max-single-transfer 25 --max-daily-spend 50";
    let account = own.runs("account-create", &format!("{of_operator} {limits} --yes"), 0);
    let text = |name: &str| account[name].as_str().expect("a text").to_owned();
    let (account_id, agent, token_account) = (text("account_id"), text("agent"), text("usdc_token_account"));

    // Fund it.
    wallet::mints(&chain, "100", &token_account.parse().expect("an address")).await;

    // A policy, from its own wallet: one payee, 10 at most.
    let (payee, _) = chain.new_payee().await;
    let rules = format!("--account {agent} --max-single-transfer 10 --require-memo true --allow {payee}");
    let set = own.does("set-policy", &rules);
    assert_eq!(set["max_single_transfer_usdc"], json!("10.000000"), "{set}");

    // Pay, as the agent, with a key that the dashboard shows once.
    let browser = Browser::signed_in(&url, &operator_key).await;
    let page = format!("/dashboard/accounts/{account_id}");
    comes_to_say(&browser, &page, "100.00").await;
    let shown = browser.sends_form(&format!("{page}/keys"), &[("name", "Ada")]).await.has_status(200);
    let secret =
        shown.text.split(r#"<p class="secret"><code>"#).nth(1).and_then(|rest| rest.split('<').next());
    let paying = Client::new(&url, Some(secret.expect("the key is shown")));
    let pays = async |usdc: &str, to: &Pubkey, memo: &str, key: &str| {
        let order = json!({
            "from": account_id, "to": to.to_string(), "amount": usdc, "memo": memo, "idempotency_key": key
        });
        paying.post("/v1/transfers", &order).await
    };
    pays("7.5", &payee, "invoice 1", "first").await.is_settled();
    pays("7.5", &payee, "invoice 1", "first").await.is_settled();
    pays("10.01", &payee, "invoice 2", "second").await.is_error(402, "policy_violation");
    let (stranger, _) = chain.new_payee().await;
    pays("1", &stranger, "invoice 3", "third").await.is_error(402, "policy_violation");
    assert_eq!(chain.usdc_micros(&payee).await, 7_500_000);

    // See it.
    comes_to_say(&browser, &page, "92.50").await;
    comes_to_say(&browser, &format!("{page}/history"), "invoice 1").await;
    browser.reads("/dashboard").await.has_status(200).says("92.50");
    let rejected = browser.reads("/dashboard/transfers?status=rejected").await.has_status(200);
    rejected.says("10.01").says(&account_id);

    // Stop all. Only the operator's own wallet resumes.
    browser.sends_form("/dashboard/stop-all", &[]).await.leads_to("/dashboard?stopped=1");
    pays("1", &payee, "invoice 4", "fourth").await.is_error(402, "account_paused");
    assert!(own.runs("operator-show", &of_operator, 0)["halted_by"].is_string());
    own.does("resume-all", &of_operator);
    pays("1", &payee, "invoice 4", "fifth").await.is_settled();
    // An audit reads finalized data.
    own.runs("halt-all", &format!("{of_operator} --commitment finalized"), 0);
    pays("1", &payee, "invoice 5", "sixth").await.is_error(402, "account_paused");
    assert_eq!(chain.usdc_micros(&payee).await, 8_500_000);

    // Audit it, on a machine that has only the address; then the service's history, too.
    let network = ["audit", "--url", &scene.network.rpc_url, "--operator", &operator];
    for more in [&[][..], &["--api", &url, "--key", &operator_key]] {
        let mut audit = Command::new(binaries::relayer());
        audit
            .args(network)
            .args(more)
            .env_remove("PURSER_CONFIG")
            .current_dir(path_text(scene.folder.path()));
        let audited = audit.output().expect("the relayer binary starts");
        let report = String::from_utf8_lossy(&audited.stdout);
        assert_eq!(audited.status.code(), Some(0), "{report}{}", String::from_utf8_lossy(&audited.stderr));
        assert!(report.contains("Everything that was checked holds."), "{report}");
    }
}
