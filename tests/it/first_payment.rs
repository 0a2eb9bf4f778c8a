//! Follows `docs/build/sdk.md` from an empty folder, with clients that are generated from the description. `.ci/run` has
//! already installed what the page installs.

use std::path::PathBuf;
use std::{env, fs};

use purser_tests::binaries::workspace;
use purser_tests::network::temp_folder;
use purser_tests::{Operator, foreign};

/// The part of the page whose heading begins with this.
fn part(heading: &str) -> String {
    let page = fs::read_to_string(workspace().join("docs/build/sdk.md")).expect("the page is there");
    let part = page.split("\n## ").find(|part| part.starts_with(heading));
    part.unwrap_or_else(|| panic!("no part is called {heading}")).to_owned()
}

/// The only code block in this language.
fn block<'a>(part: &'a str, language: &str) -> &'a str {
    let blocks: Vec<&str> = part.split(&format!("```{language}\n")).skip(1).collect();
    let [block] = blocks[..] else { panic!("one block in {language}, not {}", blocks.len()) };
    block.split("```").next().expect("a block ends")
}

/// Saves a part's program in an empty folder and runs its commands, with these programs on the path. Returns the output, and
/// what the payee got.
async fn follows(part: &str, (language, name): (&str, &str), programs: &[PathBuf]) -> (String, u64) {
    let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let key = agent.new_key().await;
    let folder = temp_folder();
    assert!(part.contains(&format!("Save as `{name}`")));
    fs::write(folder.path().join(name), block(part, language)).expect("the folder is writable");
    if let Some(modules) = env::var_os("PURSER_NODE_MODULES") {
        let link = folder.path().join("node_modules");
        std::os::unix::fs::symlink(modules, link).expect("the folder is writable");
    }
    let mut shell = foreign::shell(folder.path(), programs, block(part, "sh"));
    shell.env("PURSER_URL", format!("{}/v1", agent.operator.app().base_url()));
    shell.env("PURSER_AGENT_KEY", key.key()).env("PURSER_ACCOUNT", &agent.id);
    shell.env("PURSER_PAYEE", payee.to_string());
    let printed = foreign::printed(shell).await;
    (printed, agent.operator.chain.usdc_micros(&payee).await)
}

/// The last three lines are two answers about one payment, and a list that contains it.
fn tells_of_one_payment(printed: &str) {
    let lines: Vec<&str> = printed.lines().collect();
    let [.., first, second, listed] = lines[..] else { panic!("{printed}") };
    let (first, second) = (first.strip_prefix("1 settled txn_"), second.strip_prefix("2 settled txn_"));
    assert!(first.is_some() && first == second, "{printed}");
    assert_eq!(listed, "1 settled 0.250000");
}

#[tokio::test]
async fn generated_client_of_python_makes_retries_and_lists_a_payment() {
    let Some(python) = foreign::python() else { return };
    let (printed, micros) =
        follows(&part("Generate a client for Python"), ("python", "pay.py"), &[python]).await;
    tells_of_one_payment(&printed);
    assert_eq!(micros, 250_000);
}

/// Statuses, codes and types may be added to `/v1`.
#[tokio::test]
async fn generated_client_of_python_reads_words_that_it_does_not_know_as_text() {
    const READS: &str = r#"
import json, os
from purser_api.models import ErrorBody, PageEvent, Transfer, Webhook
transfer = json.loads(os.environ["TRANSFER"])
print(Transfer.from_dict(dict(transfer)).status == "settled")
read = Transfer.from_dict(dict(transfer, status="taken_back", error="fork"))
print(read.status, read.error)
print(ErrorBody.from_dict({"error": "new_code", "message": "New.", "request_id": "req_1"}).error)
event = {"id": "evt_1", "type": "transfer.taken_back", "created_at": transfer["created_at"], "data": {}}
page = PageEvent.from_dict({"data": [event], "cursor": None, "has_more": False})
print(page.data[0].type_)
webhook = json.loads(os.environ["WEBHOOK"])
print(Webhook.from_dict(dict(webhook)).events[0] == "transfer.settled")
read = Webhook.from_dict(dict(webhook, status="asleep", events=["transfer.settled", "transfer.taken_back"]))
print(read.status, read.events[1])
"#;
    let Some(python) = foreign::python() else { return };
    let agent = Operator::shared().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let paid = agent.pays("1").to(&payee).await.is_settled();
    let asked = serde_json::json!({ "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"] });
    let made = agent.operator.client.post("/v1/webhooks", &asked).await.has_status(201);
    let webhook = agent.operator.client.get(&format!("/v1/webhooks/{}", made.text_of("id"))).await;
    let folder = temp_folder();
    fs::write(folder.path().join("reads.py"), READS).expect("the folder is writable");
    let line = "purser openapi > openapi.json
        openapi-python-client generate --path openapi.json --meta none --output-path purser_api >&2
        python reads.py";
    let mut shell = foreign::shell(folder.path(), &[python], line);
    shell.env("TRANSFER", &paid.text).env("WEBHOOK", &webhook.text);
    let said = "True\ntaken_back fork\nnew_code\ntransfer.taken_back\nTrue\nasleep transfer.taken_back\n";
    assert_eq!(foreign::printed(shell).await, said);
}

#[tokio::test]
async fn generated_client_of_typescript_is_checked_and_makes_retries_and_lists_a_payment() {
    let Some(modules) = foreign::node_modules() else { return };
    let programs = [modules.join(".bin")];
    let (printed, micros) =
        follows(&part("Generate a client for TypeScript"), ("ts", "pay.mts"), &programs).await;
    tells_of_one_payment(&printed);
    assert_eq!(micros, 250_000);
}

#[tokio::test]
async fn type_check_of_the_page_refuses_what_the_document_does_not_take() {
    let Some(modules) = foreign::node_modules() else { return };
    let part = part("Generate a client for TypeScript").replace("amount: \"0.25\"", "amount: 0.25");
    let wrong = block(&part, "sh").lines().take(3).collect::<Vec<_>>().join("\n");
    let part = part.replace(block(&part, "sh"), &format!("{wrong} || echo refused\n"));
    let (printed, micros) = follows(&part, ("ts", "pay.mts"), &[modules.join(".bin")]).await;
    assert!(printed.contains("Type 'number' is not assignable to type 'string'"), "{printed}");
    assert!(printed.ends_with("refused\n"), "{printed}");
    assert_eq!(micros, 0);
}

#[test]
fn page_installs_what_the_gate_installs() {
    let gate = fs::read_to_string(workspace().join(".ci/run")).expect("the gate is there");
    let page = fs::read_to_string(workspace().join("docs/build/sdk.md")).expect("the page is there");
    let installed =
        page.lines().filter_map(|line| line.split_once(" install ")).flat_map(|(_, what)| what.split(' '));
    let mut packages = 0;
    for package in installed {
        assert!(gate.contains(package), "{package} is not what .ci/run installs");
        packages += 1;
    }
    assert_eq!(packages, 5);
}
