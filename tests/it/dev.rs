//! `purser dev`: network, relayer and a funded agent by one program, and a network that can be steered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use purser_tests::agent::unique_key;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{Answer, Client, binaries, foreign, page, until};
use serde_json::{Value, json};
use tempfile::TempDir;

const READY_WITHIN: Duration = Duration::from_secs(120);

struct Dev {
    folder: TempDir,
    process: Process,
    ready: Value,
}

impl Dev {
    fn starts() -> Dev {
        Dev::starts_in(temp_folder())
    }

    fn starts_in(folder: TempDir) -> Dev {
        let state = folder.path().join("state");
        let arguments = ["dev", "--dir", path_text(&state), "--port", "0", "--rpc-port", "0", "--json"];
        let log = folder.path().join("dev.log");
        let process = Process::start_with(&binaries::relayer(), &arguments, &environment(), &log, None);
        let ready = process.says("base_url", READY_WITHIN);
        Dev { folder, process, ready }
    }

    fn fact(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {}", self.ready))
    }

    fn agent(&self) -> Client {
        Client::new(self.fact("base_url").trim_end_matches("/v1"), Some(self.fact("agent_key")))
    }

    async fn pays(&self, amount: &str) -> Answer {
        let order = json!({ "from": self.fact("account_id"), "to": self.fact("payee_token_account"),
            "amount": amount, "idempotency_key": unique_key() });
        self.agent().post("/v1/transfers", &order).await
    }

    /// Types `purser dev WORDS`; the answer of what it did.
    fn does(&self, words: &[&str]) -> Value {
        self.types(&[&["dev"], words].concat())
    }

    fn types(&self, words: &[&str]) -> Value {
        let mut typed = Command::new(binaries::relayer());
        typed.args(words).arg("--dir").arg(self.folder.path().join("state")).arg("--json");
        let output = typed.output().expect("the program is there");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one line of JSON")
    }

    fn stops(self) -> TempDir {
        assert!(self.process.stops(READY_WITHIN), "it stops by itself");
        self.folder
    }
}

/// What may lie beside `purser` lies elsewhere in a build.
fn environment() -> [(&'static str, String); 2] {
    let (localnet, program) = (binaries::localnet(), binaries::program_so());
    [
        ("PURSER_LOCALNET_BIN", path_text(&localnet).to_owned()),
        ("PURSER_PROGRAM_SO", path_text(&program).to_owned()),
    ]
}

#[tokio::test]
async fn dev_starts_everything_and_a_second_start_goes_on_with_it() {
    let dev = Dev::starts();
    dev.pays("1.5").await.is_settled();
    dev.pays("26").await.is_error(402, "policy_violation");
    let (account, key) = (dev.fact("account_id").to_owned(), dev.fact("agent_key").to_owned());
    let folder = dev.stops();
    assert!(fs::read_to_string(folder.path().join("state/env")).is_ok_and(|text| text.contains(&key)));
    let dev = Dev::starts_in(folder);
    assert_eq!((dev.fact("account_id"), dev.fact("agent_key")), (account.as_str(), key.as_str()));
    let listed = dev.agent().get("/v1/transfers?status=settled").await;
    assert_eq!(listed["data"][0]["amount_usdc"], "1.500000", "{}", listed.text);
}

#[tokio::test]
async fn dev_gives_money_and_time_and_makes_events_happen() {
    let dev = Dev::starts();
    let account = format!("/v1/accounts/{}", dev.fact("account_id"));
    let funded = dev.does(&["fund", dev.fact("account_id"), "5.25"]);
    assert_eq!(funded["balance_micros"], 105_250_000, "{funded}");
    until("the service knows the money", async || {
        dev.agent().get(&account).await["balance_usdc"] == "105.250000"
    })
    .await;

    dev.pays("25").await.is_settled();
    dev.pays("25").await.is_settled();
    dev.pays("1").await.is_error(402, "policy_violation");
    let moved = dev.does(&["advance", "24h"]);
    let by = |field: &str| moved[field].as_i64().expect("a second");
    assert_eq!(by("unix_timestamp") - by("unix_timestamp_before"), 86_400);
    until("yesterday's payments no longer count", async || dev.pays("1").await.status == 200).await;

    let operator = dev.agent().with_key(dev.fact("operator_key"));
    for event in ["transfer.settled", "transfer.rejected", "deposit.settled", "policy.changed"] {
        let count = async || {
            let listed = operator.get(&format!("/v1/events?type={event}&limit=100")).await.has_status(200);
            listed["data"].as_array().map_or(0, Vec::len)
        };
        let before = count().await;
        // The same command, in short.
        if before == 0 {
            dev.types(&["trigger", event])
        } else {
            dev.does(&["trigger", event])
        };
        until(event, async || count().await > before).await;
    }
}

#[tokio::test]
async fn dev_approves_what_waits_for_a_person_as_a_phone_would() {
    let dev = Dev::starts();
    let order = json!({
        "from": dev.fact("account_id"), "to": dev.fact("payee_token_account"), "amount": "30", "memo": "printer",
        "idempotency_key": "printer-1", "approval": "request",
    });
    let asked = dev.agent().post("/v1/transfers", &order).await.has_status(202);
    assert_eq!(asked["status"], "pending_approval");
    let paid = dev.does(&["approve", asked.text_of("transfer_id")]);
    assert_eq!((&paid["status"], &paid["transfer_id"]), (&json!("settled"), &asked["transfer_id"]));
    let again = dev.agent().post("/v1/transfers", &order).await.has_status(200);
    assert_eq!(again["transfer_id"], asked["transfer_id"]);

    // A request and its grant end by the chain's clock, which alone is moved.
    dev.does(&["advance", "24h"]);
    until("today's payments no longer count", async || dev.pays("21").await.status == 200).await;
    let mut order = order;
    order["idempotency_key"] = json!("printer-2");
    order["amount"] = json!("28");
    let asked = dev.agent().post("/v1/transfers", &order).await.has_status(202);
    let paid = dev.does(&["approve", asked.text_of("transfer_id")]);
    assert_eq!((&paid["status"], &paid["transfer_id"]), (&json!("settled"), &asked["transfer_id"]));
}

/// What a newcomer types in the folder of `purser dev`, after the variables of `.purser/env`.
fn typed(dev: &Dev, line: &str) -> Value {
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!(". .purser/env\n{line}")]).current_dir(dev.folder.path());
    let output = shell.output().expect("a shell");
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}: {printed}{said}");
    serde_json::from_str(&printed).unwrap_or(Value::String(printed.into_owned()))
}

#[tokio::test]
async fn page_on_approvals_is_followed_by_typing_what_it_says() {
    let dev = Dev::starts();
    // Where `purser dev` keeps its state if nobody says otherwise.
    std::os::unix::fs::symlink("state", dev.folder.path().join(".purser")).expect("the folder is writable");
    let [asks, approves, ..] = &page::blocks("docs/start/approvals.md", "sh")[..] else {
        panic!("two blocks")
    };
    let asked = typed(&dev, asks);
    assert_eq!((&asked["status"], &asked["error"]), (&json!("pending_approval"), &json!("policy_violation")));
    let url = asked["approval_url"].as_str().expect("a page for a person");
    // On a free port, which is not known when the service learns its address, the path alone is right.
    let path = url.strip_prefix("http://127.0.0.1").expect("the service's own address");
    let page = dev.agent().without_key().get(path).await.has_status(200).text;
    assert!(page.contains("30.00") && page.contains("printer"), "{page}");
    assert!(
        asked["message"]
            .as_str()
            .is_some_and(|text| text.contains("over the account's limit of 25.00 USDC per payment"))
    );
    let transfer = asked["transfer_id"].as_str().expect("an id");
    assert!(approves.contains("txn_..."), "{approves}");
    typed(&dev, &approves.replace("txn_...", transfer));
    let again = typed(&dev, asks);
    assert_eq!((&again["status"], &again["transfer_id"]), (&json!("settled"), &asked["transfer_id"]));
    assert!(again["tx_signature"].is_string(), "{again}");
}

/// A shell for the blocks of a page, in a folder that looks like a checkout with `.purser`.
struct Checkout<'a> {
    folder: &'a Path,
    node: Option<PathBuf>,
}

impl Checkout<'_> {
    fn of(dev: &Dev) -> Checkout<'_> {
        let folder = dev.folder.path();
        std::os::unix::fs::symlink("state", folder.join(".purser")).expect("the folder is writable");
        let sdk = binaries::workspace().join("sdk");
        std::os::unix::fs::symlink(sdk, folder.join("sdk")).expect("the folder is writable");
        Checkout { folder, node: foreign::node_modules().map(|modules| modules.join(".bin")) }
    }

    async fn types(&self, block: &str) -> String {
        let line = "exec bash -ec \". .purser/env\n$0\"";
        let mut shell = foreign::shell(self.folder, self.node.as_slice(), line);
        shell.arg(block).env("PYTHONDONTWRITEBYTECODE", "1");
        foreign::printed(shell).await.replace('\r', "")
    }
}

/// The head and the body that `curl -i` prints.
fn answer(printed: &str) -> (&str, &str) {
    printed.split_once("\n\n").unwrap_or_else(|| panic!("no head in {printed}"))
}

async fn has_left(dev: &Dev, usdc: &str) {
    let balance = dev.agent().get(&format!("/v1/accounts/{}/balance", dev.fact("account_id"))).await;
    assert_eq!(balance["balance_usdc"], usdc, "{}", balance.text);
}

#[tokio::test]
async fn readme_is_followed_in_order_on_one_network() {
    let dev = Dev::starts();
    let checkout = Checkout::of(&dev);
    let blocks = page::blocks("README.md", "sh readme");
    let [pays, is_refused, python, typescript] = &blocks[..] else { panic!("{blocks:?}") };

    let (first, second) = (checkout.types(pays).await, checkout.types(pays).await);
    let ((first_head, first_body), (second_head, second_body)) = (answer(&first), answer(&second));
    assert!(
        first_head.starts_with("HTTP/1.1 200") && first_body.contains("\"status\":\"settled\""),
        "{first}"
    );
    let replayed = |head: &str| head.lines().any(|line| line == "idempotent-replayed: true");
    assert!(!replayed(first_head) && replayed(second_head), "{first}{second}");
    assert_eq!(first_body, second_body);
    let refused = checkout.types(is_refused).await;
    assert!(refused.starts_with("HTTP/1.1 402") && refused.contains("policy_violation"), "{refused}");
    assert!(checkout.types(python).await.starts_with("settled "));
    has_left(&dev, "98.250000").await;
    if checkout.node.is_some() {
        assert!(checkout.types(typescript).await.starts_with("settled "));
        has_left(&dev, "98.000000").await;
    }
}

#[tokio::test]
async fn quickstart_is_followed_in_order_on_one_network() {
    const PAGE: &str = "docs/start/quickstart.md";
    let dev = Dev::starts();
    let checkout = Checkout::of(&dev);
    let blocks = page::blocks(PAGE, "sh quickstart");
    let [source, pays, looks, python, mcp] = &blocks[..] else { panic!("{blocks:?}") };
    checkout.types(source).await;
    let paid = checkout.types(pays).await;
    assert!(answer(&paid).1.contains("\"status\":\"settled\""), "{paid}");
    let looked = checkout.types(looks).await;
    assert!(looked.contains("\"allowed\":false") && looked.contains("\"frees_at\""), "{looked}");
    let is_paid_and_refused = |printed: &str| {
        let refused = printed.contains("over the account's limit of 25.00 USDC per payment")
            && printed.ends_with("At most 25.000000\n");
        assert!(printed.starts_with("settled ") && refused, "{printed}");
    };
    is_paid_and_refused(&checkout.types(python).await);
    if checkout.node.is_some() {
        is_paid_and_refused(&checkout.types(&page::blocks(PAGE, "sh quickstart-node")[0]).await);
    }
    let tool = async || {
        let printed = checkout.types(mcp).await;
        let answer: Value = serde_json::from_str(&printed).expect("an answer of MCP");
        answer["result"]["structuredContent"].clone()
    };
    let (first, second) = (tool().await, tool().await);
    assert_eq!(first["status"], "settled", "{first}");
    assert_eq!(first["transfer_id"], second["transfer_id"], "it is paid once");
    has_left(&dev, if checkout.node.is_some() { "97.750000" } else { "98.000000" }).await;
}

#[tokio::test]
async fn dev_lets_the_network_be_slow_and_fail_and_the_payment_is_made_once() {
    let dev = Dev::starts();
    let held = dev.does(&["slow", "2s"]);
    assert_eq!(held, json!({ "slow_ms": 2_000 }));
    let asked = Instant::now();
    let answer = dev.pays("1").await;
    assert!(asked.elapsed() >= Duration::from_secs(2), "{}", answer.text);
    dev.does(&["slow", "0s"]);
    dev.does(&["fail", "next-send"]);
    dev.pays("2").await;
    until("both are settled", async || {
        let listed = dev.agent().get("/v1/transfers?status=settled").await;
        listed["data"].as_array().is_some_and(|settled| settled.len() == 2)
    })
    .await;
    let account = dev.agent().get(&format!("/v1/accounts/{}", dev.fact("account_id"))).await;
    assert_eq!(account["balance_usdc"], "97.000000", "{}", account.text);
}

#[test]
fn what_is_steered_must_run() {
    let folder = temp_folder();
    for words in [&["fund", "acct_1", "1"][..], &["advance", "24h"], &["slow", "0s"], &["fail", "next-send"]]
    {
        let typed =
            Command::new(binaries::relayer()).arg("dev").args(words).arg("--dir").arg(folder.path()).output();
        let typed = typed.expect("the program is there");
        let said = String::from_utf8_lossy(&typed.stderr);
        assert!(!typed.status.success() && said.contains("`purser dev` has not run"), "{said}");
    }
}
