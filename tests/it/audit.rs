//! `purser audit`: an honest run holds, and each way of cheating is found and named. The audited transactions are real, on a
//! network with the real program. Then a copy of the audit's saved data is tampered with, or the relayer's database.

mod attest;
mod auditor;
mod cheats;
mod closed;
mod follow;
mod grants;
mod meanwhile;
mod own_program;
mod page;
mod rebuild;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use purser_client::TransferOrder;
use purser_policy::id_with_tag;
use purser_tests::agent::random_tag;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::wallet::{mints, withdraws};
use purser_tests::{Agent, AppSettings, DirectOutcome, Operator, TestApp, TestNetwork, Wallet, binaries};
use serde_json::{Value, json};
use solana_sdk::instruction::{AccountMeta, Instruction};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

use crate::dashboard_browser::chromium;
use crate::history::entries_once;

const TOKEN_PROGRAM: Pubkey = purser_tests::chain::TOKEN_PROGRAM;
/// `TokenInstruction::GetAccountDataSize`: five bytes of a transaction, and several hundred bytes of its log.
const GET_ACCOUNT_DATA_SIZE: u8 = 21;

/// Runs `purser audit` and returns its exit status with its report.
fn audits(arguments: &[&str]) -> (i32, Value) {
    // In another folder than any configuration.
    let nowhere = temp_folder();
    let mut audit = Command::new(binaries::relayer());
    audit.arg("audit").args(arguments).arg("--json").current_dir(nowhere.path());
    let output = audit.env_remove("PURSER_CONFIG").output().expect("the binary starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(printed.trim())
        .unwrap_or_else(|_| json!({ "error": String::from_utf8_lossy(&output.stderr) }));
    (output.status.code().expect("it ends by itself"), report)
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap_or_else(|| panic!("no report: {report}"));
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no check {name}"))
}

/// A check's findings, in one text.
fn findings(report: &Value, name: &str) -> String {
    let findings = check(report, name)["findings"].as_array().expect("findings are a list");
    let texts: Vec<&str> = findings.iter().filter_map(|finding| finding["text"].as_str()).collect();
    texts.join("\n")
}

fn remarks(report: &Value) -> String {
    let remarks = report["remarks"].as_array().expect("remarks are a list");
    remarks.iter().filter_map(|remark| remark["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The real transactions.
struct Scene {
    app: Arc<TestApp>,
    operator: Operator,
    ada: Agent,
    ben: Agent,
    /// Ada's payments, in order.
    payments: Vec<String>,
    /// The payment that the chain refused: above the single limit.
    too_much: String,
    saved: TempDir,
}

impl Scene {
    async fn new() -> Scene {
        let settings = AppSettings { indexer_interval_ms: 200, denials: Some(1), ..AppSettings::default() };
        let app = TestApp::start(TestNetwork::own(), &settings).await;
        let operator = app.new_operator().await;
        let ada = operator.creates_account("Ada").await;
        let ben = operator.creates_account("Ben").await;
        let chain = operator.chain.clone();
        let (payee, payee_wallet) = chain.new_payee().await;
        mints(&chain, "100", &ada.token_account).await;
        let allowed = allowlist(&payee_wallet.pubkey(), &ben.token_account);
        ada.sets_policy(json!({
            "max_single_transfer": 10, "max_daily_spend": 30, "require_memo": true, "allowed_counterparties": allowed,
        }))
        .await;
        let settled = |answer: purser_tests::Answer| answer.is_settled().text_of("tx_signature").to_owned();
        let mut payments = vec![settled(ada.pays("3").to(&payee).memo("rent").await)];
        payments.push(settled(ada.pays("4.5").to(&ben).memo("tea 🫖").await));
        ada.pays("11").to(&payee).memo("refused before the chain").await.is_error(402, "policy_violation");
        let too_much = refused_on_chain(&ada, &payee).await;
        payments.push(pays_behind_a_full_log(&ada, &payee).await);
        let halted = chain.halts(operator.address, None, app.policy_authority()).await;
        assert!(matches!(halted, DirectOutcome::Settled(_)), "{halted:?}");
        let resumed = chain.resumes(operator.address, None, app.admin()).await;
        assert!(matches!(resumed, DirectOutcome::Settled(_)), "{resumed:?}");
        let DirectOutcome::Settled(direct) = ada.pays_directly_checked("1", &payee, "by hand").await else {
            panic!("the transfer lands")
        };
        payments.push(direct.to_string());
        withdraws(&ada, "5", &ben.token_account, app.admin()).await;
        ben.pays("2").to(&payee).await.is_settled();
        // Ada: a deposit, four payments, a withdrawal, a refusal; Ben: two deposits and a payment.
        entries_once(&ada, 7).await;
        entries_once(&ben, 3).await;
        // No wait for finality: an honest operator is not accused right after a payment.
        Scene { app, operator, ada, ben, payments, too_much, saved: temp_folder() }
    }

    fn url(&self) -> &str {
        &self.operator.network().rpc_url
    }

    /// Audits the operator, and saves what it read.
    fn audited(&self, more: &[&str]) -> (i32, Value) {
        let operator = self.operator.address.to_string();
        let saved = path_text(self.saved.path());
        audits(&[&["--url", self.url(), "--operator", &operator, "--save", saved], more].concat())
    }

    /// A copy of the saved data.
    fn copy(&self) -> Copy {
        let folder = temp_folder();
        for part in ["signatures", "transactions", "accounts"] {
            fs::create_dir(folder.path().join(part)).expect("the folder is writable");
            for entry in fs::read_dir(self.saved.path().join(part)).expect("it was saved") {
                let path = entry.expect("it was saved").path();
                let name = path.file_name().expect("files have names");
                fs::copy(&path, folder.path().join(part).join(name)).expect("the folder is writable");
            }
        }
        let manifest = "audit.json";
        fs::copy(self.saved.path().join(manifest), folder.path().join(manifest)).expect("it was saved");
        Copy { folder }
    }
}

/// A wallet, a token account, and more wallets than fit one transaction, so that the policy needs a draft.
fn allowlist(wallet: &Pubkey, token_account: &Pubkey) -> Value {
    let others = (0..30).map(|_| Keypair::new().pubkey().to_string());
    others.chain([wallet.to_string(), token_account.to_string()]).collect::<Vec<_>>().into()
}

/// Signs a payment above the limit, bypassing the relayer, and returns the signature of the refused transaction.
async fn refused_on_chain(ada: &Agent, payee: &Pubkey) -> String {
    let landing = ada.pays_directly("12", payee, "too much").await;
    assert!(matches!(landing, DirectOutcome::Refused(_)), "{landing:?}");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "getSignaturesForAddress",
        "params": [ada.address.to_string(), { "commitment": "confirmed" }] });
    let url = &ada.operator.network().rpc_url;
    let answer = reqwest::Client::new().post(url).json(&list).send().await.expect("the network answers");
    let answer: Value = answer.json().await.expect("JSON");
    let lines = answer["result"].as_array().expect("a list").clone();
    let failed = lines.iter().find(|line| !line["err"].is_null()).expect("it is listed");
    failed["signature"].as_str().expect("a signature").to_owned()
}

/// Pays in a transaction whose log is already full, so that the log truncates the payment's event.
async fn pays_behind_a_full_log(ada: &Agent, payee: &Pubkey) -> String {
    let chain = &ada.operator.chain;
    let wallet = Wallet::with(chain, "0").await;
    let authority = ada.operator.app().transfer_authority();
    let order = TransferOrder {
        operator: ada.operator.address,
        agent: ada.address,
        source: ada.token_account,
        destination: *payee,
        transfer_id: id_with_tag([7; 8], random_tag()),
        asked_at: chain.now().await as u32,
        amount: 2_000_000,
        memo: "behind a full log",
    };
    let noise = Instruction {
        program_id: TOKEN_PROGRAM,
        accounts: vec![AccountMeta::new_readonly(chain.usdc_mint, false)],
        data: vec![GET_ACCOUNT_DATA_SIZE],
    };
    let mut instructions = vec![noise; 50];
    instructions.push(chain.program().transfer(authority.pubkey(), &order));
    match chain.all_land(&instructions, &[&wallet.keypair, authority]).await {
        DirectOutcome::Settled(signature) => signature.to_string(),
        other => panic!("the payment did not land well: {other:?}"),
    }
}

/// An audit's saved data, to be tampered with.
struct Copy {
    folder: TempDir,
}

/// A way of hiding or forging something, and what each check reports.
struct Cheat {
    copy: Copy,
    found: Vec<(&'static str, &'static str)>,
}

impl Copy {
    fn audited(&self) -> (i32, Value) {
        audits(&["--from", path_text(self.folder.path())])
    }

    fn transaction(&self, signature: &str) -> PathBuf {
        self.folder.path().join("transactions").join(format!("{signature}.json"))
    }

    /// Tampers with a saved transaction.
    fn spoils(&self, signature: &str, spoil: impl FnOnce(&mut Value)) {
        spoils(&self.transaction(signature), spoil);
    }

    /// Tampers with every list.
    fn each_list(&self, spoil: impl Fn(&mut Vec<Value>)) {
        for entry in fs::read_dir(self.folder.path().join("signatures")).expect("lists were saved") {
            spoils(&entry.expect("lists were saved").path(), |list| {
                spoil(list.as_array_mut().expect("a list"))
            });
        }
    }

    /// Removes a transaction from every list, and its file.
    fn hides(&self, signature: &str) {
        self.each_list(|lines| lines.retain(|line| line["signature"] != signature));
        fs::remove_file(self.transaction(signature)).expect("it was saved");
    }
}

fn spoils(file: &Path, spoil: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(file).expect("it was saved")).expect("JSON");
    spoil(&mut value);
    fs::write(file, value.to_string()).expect("the folder is writable");
}

/// The log line with the payment's event.
fn event_line(transaction: &mut Value) -> (usize, &mut Vec<Value>) {
    let lines = transaction["meta"]["logMessages"].as_array_mut().expect("a log");
    let is_event = |line: &Value| line.as_str().is_some_and(|line| line.starts_with("Program data: "));
    (lines.iter().position(is_event).expect("an event"), lines)
}

/// Prints the page with a browser, if there is one.
fn prints(page: &Path) {
    let Some(chromium) = chromium() else { return eprintln!("not run: there is no Chromium to print with") };
    let folder = temp_folder();
    let printed = folder.path().join("report.pdf");
    let mut browser = Command::new(chromium);
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]);
    browser.arg(format!("--user-data-dir={}", path_text(folder.path())));
    browser.arg(format!("--print-to-pdf={}", path_text(&printed))).arg(format!("file://{}", path_text(page)));
    let output = browser.output().expect("Chromium starts");
    let pdf = fs::read(&printed).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 10_000, "{} bytes", pdf.len());
}

#[tokio::test]
async fn honest_operator_holds_from_a_node_from_a_directory_and_after_an_interruption() {
    let scene = Scene::new().await;
    let page = scene.saved.path().join("report.html");
    let api = scene.app.base_url();
    let key = scene.operator.client.key();
    let [ledger, book] = ["ledger.csv", "ledger.xlsx"].map(|name| scene.saved.path().join(name));
    let files = ["--html", path_text(&page), "--csv", path_text(&ledger), "--xlsx", path_text(&book)];
    let (status, report) = scene.audited(&[&files[..], &["--api", &api, "--key", key]].concat());
    assert_eq!(
        (status, &report["holds"], &report["complete"]),
        (0, &json!(true), &json!(true)),
        "{report:#}"
    );
    for name in [
        "program",
        "dates",
        "recipients",
        "signatures",
        "signer",
        "numbering",
        "paid_once",
        "halted",
        "memo",
        "allowlist",
        "single_limit",
        "daily_limit",
        "rolling_day",
        "policy_changes",
        "log",
        "balances",
        "state",
        "history",
        "solvency",
    ] {
        let check = check(&report, name);
        assert_eq!(check["result"], "holds", "{name}: {check:#}");
        assert!(check["examined"].as_u64().is_some_and(|count| count > 0), "{name} looked at nothing");
    }
    let count = |name| check(&report, name)["examined"].clone();
    assert_eq!(
        (count("numbering"), count("rolling_day")),
        (json!(5), json!(4)),
        "four of Ada's, and one of Ben's, who has no limit"
    );
    assert!(remarks(&report).contains("1 event(s) were cut off by full logs"), "{}", remarks(&report));
    assert!(remarks(&report).contains("The admin took money out"), "{}", remarks(&report));
    assert_eq!(report["program"]["is_committed_build"], true);
    let ada = report["accounts"].as_array().expect("accounts").iter();
    let ada = ada.clone().find(|account| account["account_id"] == scene.ada.id.as_str()).expect("Ada");
    assert_eq!((&ada["payments"], &ada["paid_usdc"]), (&json!(4), &json!("10.500000")));
    assert_eq!(
        (&ada["first_balance_usdc"], &ada["last_balance_usdc"]),
        (&json!("0.000000"), &json!("84.500000"))
    );
    // Three deposits, five payments and a withdrawal.
    let ledger = fs::read_to_string(&ledger).expect("the ledger was written");
    assert_eq!(ledger.lines().count(), 1 + 9, "{ledger}");
    for payment in &scene.payments {
        assert!(ledger.contains(payment), "{payment} is not in {ledger}");
    }
    assert!(ledger.contains("\"behind a full log\""), "{ledger}");
    assert!(fs::read(&book).expect("the workbook was written").starts_with(b"PK"));
    prints(&page);
    let page = fs::read_to_string(&page).expect("the page was written");
    assert!(
        page.contains("Everything that was checked holds.") && page.contains(&scene.payments[2]),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("src="), "it fetches nothing");

    let (status, offline) = scene.copy().audited();
    assert_eq!(status, 0, "{offline:#}");
    assert_eq!(offline["accounts"], report["accounts"]);
    attest::fits_its_schema(&[&report, &offline]).await;
    attest::verdict_is_signed_and_verified(&scene);
    links_lead_where_they_are_told_to(&scene);

    // An interrupted download resumes with what is there.
    let interrupted = scene.copy();
    fs::remove_file(interrupted.folder.path().join("audit.json")).expect("it was saved");
    fs::remove_file(interrupted.transaction(&scene.payments[1])).expect("it was saved");
    let (status, refused) = interrupted.audited();
    assert_eq!(status, 2, "{refused}");
    assert!(refused["error"].as_str().is_some_and(|text| text.contains("interrupted")), "{refused}");
    let address = scene.operator.address.to_string();
    let folder = path_text(interrupted.folder.path());
    let (status, again) = audits(&["--url", scene.url(), "--operator", &address, "--save", folder]);
    assert_eq!((status, &again["accounts"]), (0, &report["accounts"]), "{again:#}");

    // One account, with its own agent key.
    let agent_key = scene.ben.new_key().await;
    let address = scene.ben.address.to_string();
    let arguments = ["--url", scene.url(), "--account", &address, "--api", &api, "--key", agent_key.key()];
    let (status, ben) = audits(&arguments);
    assert_eq!((status, ben["accounts"].as_array().map(Vec::len)), (0, Some(1)), "{ben:#}");
    assert_eq!(check(&ben, "numbering")["examined"], 1);
}

/// In the page and in the JSON, of everything that names a transaction.
fn links_lead_where_they_are_told_to(scene: &Scene) {
    let (saved, page) = (path_text(scene.saved.path()), scene.saved.path().join("linked.html"));
    let explorer = "https://explorer.example/tx/{signature}?a=1&b=2";
    let (status, report) = audits(&["--from", saved, "--explorer", explorer, "--html", path_text(&page)]);
    assert_eq!(status, 0, "{report:#}");
    let page = fs::read_to_string(&page).expect("the page was written");
    let accounts = report["accounts"].as_array().expect("accounts").iter();
    let created = accounts.map(|account| &account["created"]);
    let remarks = report["remarks"].as_array().expect("remarks").iter();
    let told = remarks.flat_map(|remark| remark["at"].as_array().expect("a list"));
    let mut links = 0;
    for at in created.chain(told) {
        let signature = at["signature"].as_str().expect("a signature");
        let link = explorer.replace("{signature}", signature);
        assert_eq!(at["explorer"], link, "{at}");
        let shown = format!("<a href=\"{}\"><code>{signature}</code></a>", link.replace('&', "&amp;"));
        assert!(page.contains(&shown), "{shown} is not in {page}");
        links += 1;
    }
    // Two accounts, a log that was cut off and a withdrawal, at least.
    assert!(links >= 4, "{report:#}");
    let (status, refused) = audits(&["--from", saved, "--explorer", "https://explorer.example/"]);
    assert_eq!(status, 2, "{refused}");
    assert!(refused["error"].as_str().is_some_and(|text| text.contains("{signature}")), "{refused}");
}

#[tokio::test]
async fn each_way_of_cheating_is_found_and_named() {
    let scene = Scene::new().await;
    let (status, report) = scene.audited(&[]);
    assert_eq!(status, 0, "{report:#}");
    for Cheat { copy, found } in scene.cheats() {
        let (status, report) = copy.audited();
        assert_eq!(status, 1, "{found:?}\n{report:#}");
        for (check, says) in found {
            assert!(findings(&report, check).contains(says), "{says} is not in\n{report:#}");
        }
    }
    let lost = scene.copy();
    fs::remove_file(lost.transaction(&scene.payments[0])).expect("it was saved");
    let (status, refused) = lost.audited();
    assert_eq!(status, 2, "{refused}");
    assert!(refused["error"].as_str().is_some_and(|text| text.contains("listed and not saved")), "{refused}");
    for (copy, says) in scene.untellable() {
        let (status, refused) = copy.audited();
        assert_eq!(status, 2, "{refused}");
        assert!(refused["error"].as_str().is_some_and(|text| text.contains(says)), "{refused}");
    }
    assert_eq!(audits(&["--from", "/nowhere"]).0, 2);
}

/// The trace of a program that allows everything, for a payment that the real one refused: the instruction has a real
/// signature and is above the limit. `migrations/tests/wallet/upgrades.rs` has a program that does.
#[tokio::test]
async fn payment_that_a_modified_program_let_pass_is_found_by_the_rule_that_refuses_it() {
    let scene = Scene::new().await;
    assert_eq!(scene.audited(&[]).0, 0);
    let copy = scene.lets_too_much_pass().await;
    let (status, report) = copy.audited();
    assert_eq!(status, 1, "{report:#}");
    let found = findings(&report, "single_limit");
    assert!(found.contains("Payment 3 of 12.000000 USDC was made although policy version"), "{report:#}");
    assert!(found.contains("at most 10.000000 USDC at once"), "{found}");
    let finding = &check(&report, "single_limit")["findings"][0];
    assert_eq!(finding["signature"], scene.too_much.as_str());
    assert_eq!(finding["account"], scene.ada.address.to_string());
    // And other checks contradict it.
    assert!(findings(&report, "numbering").contains("it is number"), "{report:#}");
}

#[tokio::test]
async fn event_forged_by_another_program_is_reported_and_changes_nothing() {
    let scene = Scene::new().await;
    let (_, honest) = scene.audited(&[]);
    let (forged, other) = scene.adds_a_line_of_another_program();
    let (status, report) = forged.audited();
    assert_eq!((status, &report["accounts"]), (0, &honest["accounts"]), "{report:#}");
    let text = remarks(&report);
    assert!(
        text.contains(&format!(
            "The program {other} wrote 1 line(s) in the form of the event TransferExecuted"
        )),
        "{text}"
    );
}

#[tokio::test]
async fn history_that_the_relayer_tampered_with_is_found_entry_by_entry() {
    let scene = Scene::new().await;
    let (api, key) = (scene.app.base_url(), scene.operator.client.key());
    assert_eq!(scene.audited(&["--api", &api, "--key", key]).0, 0);
    let file = scene.app.folder().join("purser.db");
    let database = rusqlite::Connection::open(file).expect("the database opens");
    let [first, second, _, last] = [0, 1, 2, 3].map(|at| scene.payments[at].clone());
    let of_ada = format!("account_id = '{}' AND kind = 'transfer'", scene.ada.id);
    for change in [
        format!(
            "UPDATE history SET amount_usdc = '2.000000', memo = 'gift' WHERE tx_signature = '{first}' AND {of_ada}"
        ),
        format!("DELETE FROM history WHERE tx_signature = '{second}' AND {of_ada}"),
        format!(
            "UPDATE history SET tx_signature = '{}' WHERE tx_signature = '{last}' AND {of_ada}",
            bs58::encode([9; 64]).into_string()
        ),
    ] {
        database.execute(&change, ()).expect("the database takes it");
    }
    let (status, report) = scene.audited(&["--api", &api, "--key", key]);
    assert_eq!(status, 1, "{report:#}");
    let found = findings(&report, "history");
    for expected in [
        "The relayer says that the amount is \"2.000000\"; on the chain it is \"3.000000\".",
        "The relayer says that the memo is \"gift\"; on the chain it is \"rent\".",
        "The relayer's history lacks a transfer of 4.500000 USDC that is on the chain.",
        "The relayer's history lacks a transfer of 1.000000 USDC that is on the chain.",
        "The relayer's history has a transfer of 1.000000 USDC in the transaction",
    ] {
        assert!(found.contains(expected), "{expected}\nis not in\n{found}");
    }
    let (status, wrong_key) = scene.audited(&["--api", &api, "--key", "not_a_key"]);
    assert_eq!(status, 2, "{wrong_key}");
}

/// The page's blocks of one kind, in order.
fn printed(kind: &str) -> Vec<String> {
    let page =
        fs::read_to_string(binaries::workspace().join("docs/trust/auditing.md")).expect("the page is there");
    let begin = format!("```{kind}\n");
    let blocks = page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

/// Runs the commands of `docs/trust/auditing.md`, as printed, in order, in one folder.
#[tokio::test]
async fn commands_of_the_page_for_auditors_run_as_printed() {
    let scene = Scene::new().await;
    let commands = printed("sh");
    assert_eq!(commands.len(), 9, "{commands:?}");
    let folder = temp_folder();
    let on_path = folder.path().join("bin");
    fs::create_dir(&on_path).expect("the folder is writable");
    std::os::unix::fs::symlink(binaries::relayer(), on_path.join("purser")).expect("the folder is writable");
    let path = format!("{}:{}", path_text(&on_path), std::env::var("PATH").unwrap_or_default());
    let auditor = Keypair::new();
    let keypair = folder.path().join("auditor.json");
    fs::write(&keypair, format!("{:?}", auditor.to_bytes())).expect("the folder is writable");
    fs::set_permissions(&keypair, fs::Permissions::from_mode(0o600)).expect("it is ours");
    // What follows does not end by itself: `follow.rs` tries it.
    for command in commands.into_iter().filter(|command| !command.contains("--follow")) {
        let mut shell = Command::new("sh");
        shell.args(["-ec", &command]).current_dir(folder.path()).env("PATH", &path);
        shell.env("AUDITOR", auditor.pubkey().to_string());
        shell
            .env("RPC_URL", scene.url())
            .env("SECOND_RPC_URL", scene.url())
            .env("OPERATOR", scene.operator.address.to_string());
        shell.env("ACCOUNT", scene.ada.address.to_string()).env("API_URL", scene.app.base_url());
        shell.env("API_KEY", scene.operator.client.key());
        shell.env("DENIALS_KEY", scene.app.denials_key().pubkey().to_string());
        let output = shell.output().expect("there is a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}{printed}{}", String::from_utf8_lossy(&output.stderr));
        let verdict =
            if command.contains("verify-program") { "same" } else { "Everything that was checked holds." };
        assert!(printed.contains(verdict), "{command}{printed}");
    }
    assert!(folder.path().join("report.html").is_file());
}

#[tokio::test]
async fn exit_status_shows_a_missing_or_foreign_program() {
    let network = TestNetwork::shared().await;
    let verifies = |arguments: &[&str]| -> (Option<i32>, Value) {
        let mut command = Command::new(binaries::relayer());
        let output = command.args(["verify-program", "--json"]).args(arguments).output().expect("it starts");
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    };
    let url = ["--url", network.rpc_url.as_str()];
    let (status, same) = verifies(&url);
    assert_eq!((status, &same["verdict"]), (Some(0), &json!("same")), "{same}");
    assert_eq!(same["sha256_on_chain"], same["sha256_expected"]);
    assert!(same["changed_in_slot"].is_u64() && same["upgrade_authority"].is_string(), "{same}");
    assert_eq!(same["security_txt"]["name"], "Purser", "{same}");
    assert!(same["security_txt"]["contacts"].is_string(), "{same}");
    let (status, other) = verifies(&[&url[..], &["--sha256", &"5E".repeat(32)]].concat());
    assert_eq!((status, &other["verdict"]), (Some(1), &json!("another program")), "{other}");
    assert!(other["sha256_on_chain"].as_str().is_some_and(|hash| hash.len() == 64), "{other}");
    // An empty address, and one that is no program.
    for address in [Pubkey::new_unique(), network.usdc_mint] {
        let (status, none) = verifies(&[&url[..], &["--program-id", &address.to_string()]].concat());
        assert_eq!((status, &none["verdict"]), (Some(1), &json!("there is no program")), "{none}");
    }
    assert_eq!(verifies(&[&url[..], &["--sha256", "5e"]].concat()).0, Some(2));
}

async fn fetched(url: &str, signature: &str) -> Value {
    let params = json!([signature, { "encoding": "json", "maxSupportedTransactionVersion": 1 }]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "getTransaction", "params": params });
    let answer = reqwest::Client::new().post(url).json(&call).send().await.expect("the network answers");
    let mut answer: Value = answer.json().await.expect("JSON");
    answer["result"].take()
}
