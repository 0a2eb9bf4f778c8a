//! An operator with its own wallet, from nothing to an audit: the commands of docs/run/own-wallet.md as printed, with Anchor's own command
//! line, and between them the dashboard. Only processes: a network, a relayer, and a shell.

use std::fs;
use std::time::{Duration, Instant};

use purser_tests::{Browser, Client, anchor, page, wallet};
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::set_up::{Scene, named, printed, word};

/// Makes the service's folder by docs/run/set-up.md, and the operator's wallet and checkout.
pub async fn begins(scene: &mut Scene) {
    let made = scene.types(&printed("self-custodied")[0]);
    for (role, name) in
        [("policy authority", "POLICY_AUTHORITY"), ("transfer authority", "TRANSFER_AUTHORITY")]
    {
        let address = scene.funds(&made, role).await;
        scene.variables.push((name, address.to_string()));
    }
    let keypair = Keypair::new();
    scene.network.chain().funds(&keypair.pubkey(), 1).await;
    let wallet = scene.folder.path().join("wallet.json");
    fs::write(&wallet, json!(keypair.to_bytes().to_vec()).to_string()).expect("the folder is writable");
    anchor::is_set_up(scene.folder.path(), &scene.network.rpc_url, &wallet);
}

/// The service learns of an operator, and makes it a key, which is returned.
pub fn is_added(scene: &mut Scene, operator: String) -> String {
    let blocks = printed("self-custodied");
    let [_init, add, key] = &blocks[..] else { panic!("{blocks:?}") };
    scene.variables.push(("OPERATOR", operator));
    let operator_id = word(&scene.types(add), |word| word.starts_with("op_"));
    scene.variables.push(("OPERATOR_ID", operator_id));
    let well = scene.types(key);
    assert!(well.contains("Everything is well."), "{well}");
    named(&well, "key")
}

/// Reads until this text is there.
async fn comes_to_say(reads: impl AsyncFn() -> String, text: &str) {
    let begun = Instant::now();
    loop {
        let said = reads().await;
        if said.contains(text) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text:?} is not in {said}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Audits until all that was paid is final, and returns the report.
async fn audits_until_final(scene: &mut Scene, audit: &str, paid: &str) -> String {
    let begun = Instant::now();
    loop {
        let report = scene.types(audit);
        assert!(report.contains("Everything that was checked holds."), "{report}");
        if report.contains(paid) {
            return report;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{paid} is not in {report}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Types a line without its `--yes`, which must only show the change.
fn only_shows(scene: &mut Scene, line: &str) {
    let line = line.strip_suffix(" --yes").unwrap_or_else(|| panic!("{line}"));
    let shown = scene.types(&format!("{line} && exit 1 || [ $? = 3 ]"));
    assert!(shown.contains("nothing was done. With --yes: "), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_with_a_wallet_of_its_own_gets_from_nothing_to_an_audit() {
    let mut scene = Scene::set().await;
    let chain = scene.network.chain();
    begins(&mut scene).await;

    // Create: the operator, and an account with a first policy.
    let blocks = page::blocks("docs/run/own-wallet.md", "sh operator");
    let [create, set_policy, pay, stop] = &blocks[..] else { panic!("{blocks:?}") };
    let lines = |block: &str| block.lines().map(str::to_owned).collect::<Vec<_>>();
    let [create_operator, create_account] = &lines(create)[..] else { panic!("{create}") };
    only_shows(&mut scene, create_operator);
    let operator = named(&scene.types(create_operator), "operator");
    assert_eq!(
        named(&scene.types(create_operator), "operator"),
        operator,
        "asked for twice, it is there once"
    );
    only_shows(&mut scene, create_account);
    let account = scene.types(create_account);
    let (account_id, agent) = (named(&account, "account_id"), named(&account, "agent"));

    let operator_key = is_added(&mut scene, operator);
    let (_serving, url) = scene.serves();

    // Fund it.
    let token_account = named(&account, "usdc_token_account").parse().expect("an address");
    wallet::mints(&chain, "100", &token_account).await;

    // A policy, from its own wallet: one payee, 10 at most.
    let (payee, _) = chain.new_payee().await;
    scene.variables.extend([("PURSER_ACCOUNT", account_id.clone()), ("PURSER_PAYEE", payee.to_string())]);
    only_shows(&mut scene, set_policy.trim_end());
    let set = scene.types(set_policy);
    assert_eq!(named(&set, "max_single_transfer_usdc"), "10.000000", "{set}");

    // Pay, as the agent, with a key that the dashboard shows once.
    let browser = Browser::signed_in(&url, &operator_key).await;
    let page = format!("/dashboard/accounts/{account_id}");
    comes_to_say(async || browser.reads(&page).await.text, "100.00").await;
    let shown = browser.sends_form(&format!("{page}/keys"), &[("name", "Ada")]).await.has_status(200);
    let secret =
        shown.text.split(r#"<p class="secret"><code>"#).nth(1).and_then(|rest| rest.split('<').next());
    let secret = secret.expect("the key is shown");
    scene.variables.extend([
        ("PURSER_URL", format!("{}/v1", url.trim_end_matches('/'))),
        ("PURSER_AGENT_KEY", secret.to_owned()),
    ]);
    let answer = |printed: String| serde_json::from_str::<Value>(&printed).expect("an answer of the API");
    let paid = answer(scene.types(pay));
    assert_eq!(paid["status"], "settled", "{paid}");
    assert_eq!(answer(scene.types(pay))["tx_signature"], paid["tx_signature"], "it is paid once");
    let paying = Client::new(&url, Some(secret));
    let pays = async |usdc: &str, to: &str, memo: &str| {
        let order =
            json!({ "from": account_id, "to": to, "amount": usdc, "memo": memo, "idempotency_key": memo });
        paying.post("/v1/transfers", &order).await
    };
    let (stranger, _) = chain.new_payee().await;
    let (payee_text, stranger) = (payee.to_string(), stranger.to_string());
    pays("10.01", &payee_text, "invoice 2").await.is_error(402, "policy_violation");
    pays("1", &stranger, "invoice 3").await.is_error(402, "policy_violation");
    assert_eq!(chain.usdc_micros(&payee).await, 7_500_000);

    // See it.
    comes_to_say(async || browser.reads(&page).await.text, "92.50").await;
    comes_to_say(async || browser.reads(&format!("{page}/history")).await.text, "invoice 1").await;
    browser.reads("/dashboard").await.has_status(200).says("92.50");
    let rejected = browser.reads("/dashboard/transfers?status=rejected").await.has_status(200);
    rejected.says("10.01").says(&account_id);

    // Stop all, from the wallet and from the dashboard. Only the wallet resumes.
    let [halt, resume, audit] = &lines(stop)[..] else { panic!("{stop}") };
    scene.types(halt);
    pays("1", &payee_text, "invoice 4").await.is_error(402, "account_paused");
    only_shows(&mut scene, resume);
    pays("1", &payee_text, "invoice 5").await.is_error(402, "account_paused");
    scene.types(resume);
    pays("1", &payee_text, "invoice 6").await.is_settled();
    browser.sends_form("/dashboard/stop-all", &[]).await.leads_to("/dashboard?stopped=1");
    pays("1", &payee_text, "invoice 7").await.is_error(402, "account_paused");
    scene.types(resume);
    pays("1", &payee_text, "invoice 8").await.is_settled();
    assert_eq!(chain.usdc_micros(&payee).await, 9_500_000);

    // Audit it, from the chain alone; then the service's history, too.
    let report = audits_until_final(&mut scene, audit, "9.500000").await;
    assert!(report.contains(&agent), "{report}");
    let history = format!("/v1/accounts/{account_id}/transactions");
    // What nobody asked the service for, it reads by and by.
    comes_to_say(async || paying.get(&history).await.text, "\"deposit\"").await;
    let compared = scene.types(&format!("{audit} --api {url} --key {operator_key}"));
    assert!(compared.contains("Everything that was checked holds."), "{compared}");
}
