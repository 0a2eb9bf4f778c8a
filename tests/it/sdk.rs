//! The SDKs in `sdk/`: payments through a bad line, their own tests, strict type checks, and their examples. A test that finds no
//! Python or no Node with the packages of `.ci/run` says so and skips.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use purser_tests::bad_line::{BadLine, Trouble};
use purser_tests::binaries::workspace;
use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{Agent, AppSettings, Operator, TestApp, TestNetwork, foreign};
use serde_json::{Value, json};
use solana_sdk::signer::Signer;
use tempfile::TempDir;
use tokio::process::Command;

use crate::webhooks::{registers, signature};
use crate::x402::shop::{Shop, holds, packages};

const WITHIN: Duration = Duration::from_secs(60);

/// A copy of an SDK with what its programs need.
struct Sdk {
    folder: TempDir,
    programs: PathBuf,
    /// What runs a program of the SDK.
    runs: PathBuf,
    end: &'static str,
}

impl Sdk {
    fn python() -> Option<Sdk> {
        let programs = foreign::python()?;
        let runs = programs.join("python");
        Some(Sdk { folder: copy_of("python"), programs, runs, end: "py" })
    }

    fn typescript() -> Option<Sdk> {
        let modules = foreign::node_modules()?;
        let folder = copy_of("typescript");
        let link = folder.path().join("node_modules");
        std::os::unix::fs::symlink(&modules, link).expect("the folder is writable");
        let programs = modules.join(".bin");
        let runs = programs.join("node");
        Some(Sdk { folder, programs, runs, end: "ts" })
    }

    /// A shell at the SDK.
    fn shell(&self, line: &str) -> Command {
        let mut shell = foreign::shell(self.folder.path(), std::slice::from_ref(&self.programs), line);
        shell.env("PYTHONPATH", self.folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
        shell
    }

    /// A program of the SDK as an agent of this service.
    fn program(&self, name: &str, arguments: &[&str], url: &str, agent_key: &str) -> Command {
        let mut shell = self.shell("exec \"$@\"");
        shell.arg("program").arg(&self.runs).arg(format!("{name}.{}", self.end)).args(arguments);
        shell.env("PURSER_URL", format!("{url}/v1")).env("PURSER_AGENT_KEY", agent_key);
        // The key says which account it opens.
        shell.env_remove("PURSER_ACCOUNT");
        shell
    }

    /// An example that goes on until it is dropped.
    fn starts(&self, name: &str, arguments: &[&str], environment: &[(&str, String)]) -> Process {
        let example = self.folder.path().join(format!("examples/{name}.{}", self.end));
        let mut all = vec![path_text(&example)];
        all.extend(arguments);
        let mut environment = environment.to_vec();
        environment.push(("PYTHONPATH", path_text(self.folder.path()).to_owned()));
        let log = self.folder.path().join("example.log");
        Process::start_with(&self.runs, &all, &environment, &log, None)
    }
}

/// The files of an SDK in a folder of their own, because its programs write beside them.
fn copy_of(language: &str) -> TempDir {
    let folder = temp_folder();
    copies(&workspace().join("sdk").join(language), folder.path());
    folder
}

fn copies(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the SDK is there").map_while(Result::ok) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let is_made = ["node_modules", "dist", "__pycache__"].iter().any(|name| entry.file_name() == *name);
        if path.is_dir() && !is_made {
            fs::create_dir(&copy).expect("the folder is writable");
            copies(&path, &copy);
        } else if path.is_file() {
            fs::copy(&path, &copy).expect("the folder is writable");
        }
    }
}

/// Payments with a name each; then 100 callers ask for one payment.
fn payments() -> u64 {
    if std::env::var_os("PURSER_TEST_LONG").is_some() { 1_000 } else { 100 }
}

/// `tests/storm` of the SDK pays 0.01 USDC per name through a line that fails half of all requests.
async fn pays_each_name_once(sdk: &Sdk, seed: u64) {
    // The long form makes more payments than an account has room for by default.
    let room = ("PURSER__QUOTAS__TAG_BUCKETS_PER_ACCOUNT", "200".to_owned());
    let settings = AppSettings { environment: vec![room], ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account_with("Storm", "1000").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let key = agent.new_key().await;
    let line = BadLine::to(&agent.operator.app().base_url(), seed);
    let mut storm = sdk.program("tests/storm", &[], &line.url(), key.key());
    storm.env("PURSER_PAYEE", payee.to_string()).env("PURSER_PAYMENTS", payments().to_string());
    let printed = foreign::printed(storm).await;
    let summary: Value = serde_json::from_str(printed.trim()).expect("it prints JSON");
    let (asked, names) = (payments() + 100, payments() + 1);
    let expected = json!({ "asked": asked, "settled": asked, "names": names, "signatures": names });
    assert_eq!(summary, expected, "no error reaches the caller, and a name is one payment");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, names * 10_000, "none is paid twice");
    let happened = line.happened();
    let kinds = happened.keys().filter(|trouble| **trouble != Trouble::None).count();
    assert_eq!(kinds, 12, "every trouble was met: {happened:?}");
}

#[tokio::test]
async fn python_pays_each_name_once_through_a_bad_line() {
    let Some(sdk) = Sdk::python() else { return };
    pays_each_name_once(&sdk, 7).await;
}

#[tokio::test]
async fn typescript_pays_each_name_once_through_a_bad_line() {
    let Some(sdk) = Sdk::typescript() else { return };
    pays_each_name_once(&sdk, 8).await;
}

/// As docs show it, with a check of the types.
const IN_DENO: &str = r#"import { Purser } from "PURSER_SDK/src/index.ts";
const agent = new Purser();
const paid = await agent.pay({ to: Deno.args[0], amountUsdc: "0.25", idempotencyKey: Deno.args[1] });
console.log(paid.status, paid.amountUsdc);
"#;

#[tokio::test]
async fn typescript_pays_in_deno_without_a_package() {
    let Some(sdk) = Sdk::typescript().filter(|sdk| sdk.programs.join("deno").exists()) else {
        eprintln!("not run: npm did not bring Deno");
        return;
    };
    let (agent, payee) = agent_that_may("25", "50").await;
    let key = agent.new_key().await;
    let folder = temp_folder();
    let program = IN_DENO.replace("PURSER_SDK", path_text(sdk.folder.path()));
    fs::write(folder.path().join("pay.ts"), program).expect("the folder is writable");
    for _ in 0..2 {
        let line =
            "deno run --check --quiet --no-remote --no-npm --allow-net=127.0.0.1 --allow-env pay.ts \"$@\"";
        let mut shell = foreign::shell(folder.path(), std::slice::from_ref(&sdk.programs), line);
        shell.args(["deno", &payee, &format!("{}:deno", agent.id)]);
        shell.env("PURSER_URL", format!("{}/v1", agent.operator.app().base_url()));
        shell.env("PURSER_AGENT_KEY", key.key()).env_remove("PURSER_ACCOUNT");
        shell.env("DENO_DIR", folder.path()).env("DENO_NO_UPDATE_CHECK", "1");
        assert_eq!(foreign::printed(shell).await, "settled 0.250000\n");
    }
    let payee = payee.parse().expect("an address");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 250_000, "one payment");
}

#[tokio::test]
async fn python_sdk_passes_its_own_tests_and_strict_type_checks() {
    let Some(sdk) = Sdk::python() else { return };
    foreign::printed(sdk.shell("python -m unittest discover -s tests")).await;
    // What the standard library does with a connection differs between versions: try the system's, and each other one here.
    let line = "for python in /usr/bin/python3 python3.10 python3.11 python3.12 python3.13 python3.14; do
        if \"$python\" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then \"$python\" -m unittest discover -s tests; fi
    done";
    foreign::printed(sdk.shell(line)).await;
    let line = "mypy purser_pay tests && for example in examples/*.py; do mypy \"$example\"; done";
    foreign::printed(sdk.shell(line)).await;
}

#[tokio::test]
async fn typescript_sdk_passes_its_own_tests_and_strict_type_checks() {
    let Some(sdk) = Sdk::typescript() else { return };
    foreign::printed(sdk.shell("tsc && tsc -p tsconfig.tests.json && node --test tests/*.test.ts")).await;
}

#[tokio::test]
async fn types_of_both_sdks_are_those_of_the_description() {
    let Some(python) = foreign::python() else { return };
    let generator = workspace().join("sdk/generate.py");
    let folder = temp_folder();
    let line = "purser openapi | python \"$GENERATOR\" --check";
    let mut shell = foreign::shell(folder.path(), &[python], line);
    shell.env("GENERATOR", generator).env("PYTHONDONTWRITEBYTECODE", "1");
    foreign::printed(shell).await;
}

/// An agent with a policy, and the address of a payee.
async fn agent_that_may(single: &str, daily: &str) -> (Agent, String) {
    let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": single, "max_daily_spend": daily })).await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    (agent, payee.to_string())
}

async fn example_pays_once_and_says_what_could_be_paid(sdk: &Sdk) {
    let (agent, payee) = agent_that_may("25", "50").await;
    let key = agent.new_key().await;
    let url = agent.operator.app().base_url();
    let pay = |usdc: &'static str, name: &'static str| {
        let name = format!("{}:{name}", agent.id);
        sdk.program("examples/pay", &[&payee, usdc, &name], &url, key.key())
    };
    let (first, second) =
        (foreign::printed(pay("0.25", "a")).await, foreign::printed(pay("0.25", "a")).await);
    // The SDK repeats what a busy relayer did not answer in time, so even the first may say "before".
    assert_eq!(first.replace("paid now", "paid before"), second, "one payment");
    assert!(second.starts_with("settled 0.250000 ") && second.ends_with(" paid before\n"), "{second}");
    for (usdc, name, says) in
        [("26", "b", "At most 25.000000 now"), ("1", "a", "a new payment needs a new one")]
    {
        let output = pay(usdc, name).output().await.expect("the program starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && complaint.contains(says), "{complaint}");
    }
}

async fn example_receives_what_is_signed_once(sdk: &Sdk, name: &str) {
    let (agent, payee) = agent_that_may("25", "50").await;
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/");
    let webhook = registers(&agent.operator, &url, &["transfer.settled"]).await;
    let secret = webhook.text_of("secret");
    let receiver = sdk.starts(name, &[&port.to_string()], &[("PURSER_WEBHOOK_SECRET", secret.to_owned())]);
    // A forged event, then one whose signature says nothing of the time.
    let forged = r#"{"id":"evt_1","type":"transfer.settled","created_at":"2026-01-01T00:00:00Z","data":{}}"#;
    let post = || reqwest::Client::new().post(&url).body(forged);
    let mut refused = 0;
    for _ in 0..400 {
        // Until it listens.
        if let Ok(answer) = post().send().await {
            refused = answer.status().as_u16();
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(refused, 401, "{}", receiver.log());
    let stale = post().header("X-Service-Signature", signature(secret, forged.as_bytes()));
    assert_eq!(stale.send().await.expect("an answer").status(), 401);
    let paid = agent.pays("1").to(&payee.as_str()).await.is_settled();
    let line = receiver.prints("transfer.settled", WITHIN);
    assert!(line.contains(paid.text_of("transfer_id")), "{line}");
}

async fn example_pauses_who_spends_too_much(sdk: &Sdk, name: &str) {
    let (agent, payee) = agent_that_may("10", "10").await;
    let operator = &agent.operator;
    let url = format!("{}/v1", operator.app().base_url());
    let key = operator.client.key().to_owned();
    let guard = sdk.starts(name, &[], &[("PURSER_URL", url), ("PURSER_OPERATOR_KEY", key)]);
    guard.prints("watching", WITHIN);
    agent.pays("7.9").to(&payee.as_str()).await.is_settled();
    agent.pays("0.1").to(&payee.as_str()).await.is_settled();
    let line = guard.prints("paused", WITHIN);
    assert_eq!(line, format!("paused {} which spent 8.000000 of 10.000000", agent.id));
    let refused = agent.pays("0.1").to(&payee.as_str()).await;
    assert_eq!((refused.status, refused.text_of("error")), (402, "account_paused"));
}

/// What an account holds above 2 USDC goes to the treasury, once a day.
async fn example_sweeps_once_a_day(sdk: &Sdk, name: &str) {
    let (agent, treasury) = agent_that_may("25", "50").await;
    let operator = &agent.operator;
    agent.holds("10").await;
    let poor = operator.creates_account_with("Poor", "1").await;
    let url = operator.app().base_url();
    let sweep = || {
        let mut program = sdk.program(name, &[&treasury, "2"], &url, "");
        program.env("PURSER_OPERATOR_KEY", operator.client.key());
        program
    };
    assert_eq!(foreign::printed(sweep()).await, format!("swept {} 8.000000\n", agent.id));
    assert_eq!(foreign::printed(sweep()).await, "");
    agent.holds("5").await;
    assert_eq!(foreign::printed(sweep()).await, format!("swept today already {}\n", agent.id));
    assert_eq!((agent.balance_micros().await, poor.balance_micros().await), (5_000_000, 1_000_000));
}

/// A stock shop sells a report for 0.25.
async fn example_buys_by_x402_once(sdk: &Sdk) {
    let Some(packages) = packages() else { return };
    let agent = Operator::shared().await.creates_account_with("Buyer", "10").await;
    let operator = &agent.operator;
    let (_, payee) = operator.chain.new_payee().await;
    let shop = Shop::opens(&packages, operator.network(), &payee.pubkey(), 250_000, Some(None)).await;
    let (key, url) = (agent.new_key().await, operator.app().base_url());
    let name = format!("{}:report", agent.id);
    let buy = |max: &'static str| sdk.program("examples/buy", &[&shop.url, max, &name], &url, key.key());
    let first = foreign::printed(buy("0.30")).await;
    assert!(first.starts_with("paid 0.250000\n") && first.contains("\"report\""), "{first}");
    assert_eq!(foreign::printed(buy("0.30")).await, first);
    let name = format!("{}:cheaper", agent.id);
    let mut dear = sdk.program("examples/buy", &[&shop.url, "0.20", &name], &url, key.key());
    let output = dear.output().await.expect("the program starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("offer_refused"), "{output:?}");
    assert_eq!(holds(&operator.chain, &payee.pubkey()).await, 250_000);
}

#[tokio::test]
async fn examples_in_python_do_what_they_say() {
    let Some(sdk) = Sdk::python() else { return };
    example_pays_once_and_says_what_could_be_paid(&sdk).await;
    example_receives_what_is_signed_once(&sdk, "webhook_receiver").await;
    example_pauses_who_spends_too_much(&sdk, "budget_guard").await;
    example_sweeps_once_a_day(&sdk, "examples/treasury_sweep").await;
    example_buys_by_x402_once(&sdk).await;
}

#[tokio::test]
async fn examples_in_typescript_do_what_they_say() {
    let Some(sdk) = Sdk::typescript() else { return };
    // They import the built package by its name.
    foreign::printed(sdk.shell("tsc")).await;
    example_pays_once_and_says_what_could_be_paid(&sdk).await;
    example_receives_what_is_signed_once(&sdk, "webhook-receiver").await;
    example_pauses_who_spends_too_much(&sdk, "budget-guard").await;
    example_sweeps_once_a_day(&sdk, "examples/treasury-sweep").await;
    example_buys_by_x402_once(&sdk).await;
}

/// Whoever types a command of ours gets our package, which no registry has.
#[test]
fn no_page_installs_the_package_from_a_registry() {
    let of_folder = |folder: &str| {
        let entries = fs::read_dir(workspace().join("docs").join(folder)).expect("the pages are there");
        entries.map_while(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file())
    };
    let mut pages: Vec<PathBuf> =
        ["start", "build", "run", "trust", "dev"].into_iter().flat_map(of_folder).collect();
    let others =
        ["README.md", "sdk/python/README.md", "sdk/typescript/README.md", "deploy/archive/README.md"];
    pages.extend(others.map(|page| workspace().join(page)));
    let mut installing = BTreeSet::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("the page is there");
        for line in text.lines() {
            let words: Vec<&str> = line.split([' ', '`']).collect();
            let installs = ["install", "add", "uvx", "npx", "dlx"].iter().any(|word| words.contains(word));
            // With these, what is not there already is not fetched.
            let is_local = ["--no-index", "--no"].iter().any(|word| words.contains(word));
            if installs && !is_local && words.contains(&"purser-pay") {
                installing.insert(format!("{}: {line}", page.display()));
            }
        }
    }
    assert!(installing.is_empty(), "{installing:?}");
}
