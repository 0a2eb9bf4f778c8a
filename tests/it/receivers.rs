//! The receivers of `docs/build/webhooks.md`, exactly as printed, with real deliveries.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use purser_tests::binaries::workspace;
use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{Answer, Operator, foreign};
use serde_json::json;

use crate::webhooks::{registers, signature};

/// The page's only code block in this language, changed to listen on `port`.
fn receiver_of_the_page(language: &str, port: u16) -> String {
    let page =
        std::fs::read_to_string(workspace().join("docs/build/webhooks.md")).expect("webhooks are explained");
    let blocks: Vec<&str> = page.split(&format!("```{language}\n")).skip(1).collect();
    let [block] = blocks[..] else { panic!("one receiver in {language}, not {}", blocks.len()) };
    let text = block.split("```").next().expect("a block ends");
    assert!(text.contains("3000"), "it listens on port 3000");
    text.replace("3000", &port.to_string())
}

/// A running receiver, which records the events that it processes in a file.
struct Running {
    _process: Process,
    port: u16,
    printed: PathBuf,
    log: PathBuf,
}

impl Running {
    async fn starts(program: &[&str], folder: &Path, file: &Path, port: u16, secret: &str) -> Running {
        let [printed, log] = ["printed", "log"].map(|name| folder.join(name));
        let mut arguments = vec!["-c", "exec \"$@\" >\"$PRINTED\"", "receiver"];
        arguments.extend(program);
        arguments.push(path_text(file));
        let environment =
            [("PURSER_WEBHOOK_SECRET", secret.to_owned()), ("PRINTED", path_text(&printed).to_owned())];
        let process = Process::start_with(Path::new("/bin/sh"), &arguments, &environment, &log, None);
        let running = Running { _process: process, port, printed, log };
        running.waits(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()).await;
        running
    }

    /// Waits until its output satisfies `done`; panics after 20 s.
    async fn waits(&self, done: impl Fn(&str) -> bool) -> String {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        for _ in 0..400 {
            let printed = read(&self.printed);
            if done(&printed) {
                return printed;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it printed {:?}\n{}", read(&self.printed), read(&self.log));
    }

    /// Its response status for this body with this signature.
    async fn answers(&self, body: &str, signature: Option<&str>) -> u16 {
        let url = format!("http://127.0.0.1:{}/purser", self.port);
        let mut request = reqwest::Client::new().post(url).body(body.to_owned());
        if let Some(signature) = signature {
            request = request.header("X-Service-Signature", signature);
        }
        request.send().await.expect("an answer").status().as_u16()
    }
}

async fn receives(name: &str, program: &[&str], text: impl Fn(u16) -> String) {
    let (operator, folder, port) = (Operator::shared().await, temp_folder(), free_port());
    let file = folder.path().join(name);
    std::fs::write(&file, text(port)).expect("the folder is writable");
    let url = format!("http://127.0.0.1:{port}/purser");
    let webhook = registers(&operator, &url, &["transfer.settled", "transfer.rejected"]).await;
    let secret = webhook.text_of("secret");
    let running = Running::starts(program, folder.path(), &file, port, secret).await;

    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let paid: Answer = agent.pays("1").to(&payee).memo("caf\u{e9} \u{1F600}").await.is_settled();
    running.waits(|printed| printed.contains("transfer.settled")).await;
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    for _ in 0..200 {
        let delivered = operator.client.get(&format!("{path}/deliveries?status=delivered")).await;
        if delivered["data"].as_array().is_some_and(|data| data.len() == 1) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let events = operator.client.get("/v1/events?type=transfer.settled").await.has_status(200);
    let replay = json!({ "event_id": events["data"][0]["id"] });
    let replayed = operator.client.post(&format!("{path}/replay"), &replay).await.has_status(202);
    assert_eq!(replayed["replayed"], 1, "the receiver has acknowledged the first delivery");

    let body = r#"{"id":"evt_1","type":"transfer.settled","created_at":"","data":{"forged":true}}"#;
    let good = signature(secret, body.as_bytes());
    let changed = signature(secret, body.replace("true", "false").as_bytes());
    for wrong in [None, Some(""), Some("00"), Some("\u{e9}zz"), Some(changed.as_str()), Some(&good[..62])] {
        assert_eq!(running.answers(body, wrong).await, 401, "{wrong:?}");
    }
    assert_eq!(running.answers(&body.replace("forged", "genuine"), Some(&good)).await, 401);
    assert_eq!(running.answers(body, Some(&good)).await, 204);
    let printed = running.waits(|printed| printed.contains("forged")).await;
    let lines = |text: &str| printed.lines().filter(|line| line.contains(text)).count();
    assert_eq!(lines("transfer.settled"), 2, "a replayed event is worked on once: {printed}");
    assert!(printed.contains(paid.text_of("transfer_id")), "{printed}");
}

#[test]
fn receiver_in_rust_is_the_example_that_is_compiled() {
    let example = std::fs::read_to_string(workspace().join("relayer/webhooks/examples/webhook_receiver.rs"));
    let example = example.expect("the example is there");
    let (about, text) = example.split_once("\n\n").expect("it says what it is");
    assert!(about.starts_with("//! "));
    assert_eq!(receiver_of_the_page("rust", 3000), text);
}

/// The program's version as numbers, if it is installed.
fn version_of(program: &str) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = text.trim().trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let mut numbers = numbers.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[tokio::test]
async fn receiver_in_python_takes_what_is_ours_once_and_nothing_else() {
    match version_of("python3") {
        Some(version) if version >= (3, 9) => {
            receives("receiver.py", &["python3", "-u"], |port| receiver_of_the_page("python", port)).await;
        }
        other => eprintln!("not run: it needs Python 3.9, and there is {other:?}"),
    }
}

#[tokio::test]
async fn receiver_in_typescript_takes_what_is_ours_once_and_nothing_else() {
    let Some(modules) = foreign::node_modules() else { return };
    // The version that the page names; the machine's own may be older.
    let node = modules.join(".bin/node");
    receives("receiver.mts", &[path_text(&node)], |port| receiver_of_the_page("ts", port)).await;
}
