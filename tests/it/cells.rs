//! Two cells behind a real haproxy with the configuration of `docs/run/scaling.md`. Each cell is one relayer with its own SQLite
//! file: this tests the routing to a cell. `relayers.rs` tests several relayers on one Postgres.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use purser_tests::binaries::{self, workspace};
use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{AppSettings, Browser, Client, Operator, TestApp, TestNetwork};
use reqwest::{Certificate, ClientBuilder, Method};
use serde_json::json;
use tempfile::TempDir;

use crate::mcp::{calls, initializes, succeeds};

const NAMES: [&str; 3] = ["purser.example.com", "a.purser.example.com", "b.purser.example.com"];
const CELL_A: &str = r#"[keys]
cell = "a"
[mcp]
allowed_hosts = ["purser.example.com", "a.purser.example.com"]
"#;
const CELL_B: &str = r#"[keys]
cell = "b"
[mcp]
allowed_hosts = ["purser.example.com", "b.purser.example.com"]
"#;
const WITHIN: Duration = Duration::from_secs(60);

/// `haproxy`, from `PURSER_HAPROXY` or the path; `None`, with a note on standard error, if there is none.
fn haproxy() -> Option<PathBuf> {
    let program = std::env::var_os("PURSER_HAPROXY").unwrap_or_else(|| "haproxy".into());
    // Debian installs it outside of a normal user's path.
    for program in [PathBuf::from(program), PathBuf::from("/usr/sbin/haproxy")] {
        if Command::new(&program).arg("-v").output().is_ok_and(|output| output.status.success()) {
            return Some(program);
        }
    }
    let _ = writeln!(std::io::stderr(), "skipped: cells behind haproxy, since there is none");
    None
}

/// Cell `a`, which gets requests that name no cell, and cell `b`, on one network.
struct Cells {
    a: Arc<TestApp>,
    b: Arc<TestApp>,
    port: u16,
    certificate: Certificate,
    _proxy: Process,
    _folder: TempDir,
}

impl Cells {
    async fn start() -> Option<Cells> {
        let haproxy = haproxy()?;
        let cell = async |sections| {
            let server = "trusted_proxies = [\"127.0.0.1\"]\n";
            let settings = AppSettings { server, sections, ..AppSettings::default() };
            TestApp::start(TestNetwork::shared().await, &settings).await
        };
        let (a, b) = tokio::join!(cell(CELL_A), cell(CELL_B));
        let folder = temp_folder();
        let path = |name: &str| folder.path().join(name);
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).expect("a certificate");
        let pem = format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem());
        fs::write(path("purser.pem"), pem).expect("the folder is writable");
        for map in ["cells.map", "hosts.map"] {
            fs::copy(deployed(map), path(map)).expect("the folder is writable");
        }
        let port = free_port();
        let place = |app: &TestApp| app.base_url().trim_start_matches("http://").to_owned();
        // Replaces another machine's addresses and files, and keeps one relayer of each cell.
        let text = fs::read_to_string(deployed("haproxy.cfg")).expect("it is there");
        let lines = text.lines().filter(|line| !line.contains("10.0.1.12") && !line.contains("10.0.2.12"));
        let text = lines
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .replace("bind :443", &format!("bind 127.0.0.1:{port}"))
            .replace("/etc/haproxy/certs/", "/etc/haproxy/")
            .replace("/etc/haproxy/", &format!("{}/", path_text(folder.path())))
            .replace("10.0.1.11:8080", &place(&a))
            .replace("10.0.2.11:8080", &place(&b));
        assert!(!text.contains("10.0.") && !text.contains("/etc/"), "{text}");
        fs::write(path("haproxy.cfg"), text).expect("the folder is writable");
        let log = path("haproxy.log");
        let proxy = Process::start(&haproxy, &["-db", "-f", path_text(&path("haproxy.cfg"))], &log, None);
        for _ in 0..100 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                break;
            }
            assert!(!proxy.has_ended(), "{}", proxy.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!proxy.log().contains("WARNING"), "{}", proxy.log());
        let certificate = Certificate::from_pem(made.cert.pem().as_bytes()).expect("a certificate");
        Some(Cells { a, b, port, certificate, _proxy: proxy, _folder: folder })
    }

    /// The proxy's URL under a host name.
    fn url(&self, name: &str) -> String {
        format!("https://{name}:{}", self.port)
    }

    fn connections(&self) -> ClientBuilder {
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let trusting = reqwest::Client::builder().add_root_certificate(self.certificate.clone());
        NAMES.iter().fold(trusting, |client, name| client.resolve(name, proxy))
    }

    fn client(&self, name: &str, key: Option<&str>) -> Client {
        Client::over(self.connections().build().expect("a client"), &self.url(name), key)
    }

    /// A new operator of a cell, whose client uses the proxy under the name that all cells share.
    async fn new_operator(&self, app: &Arc<TestApp>) -> Operator {
        let mut operator = app.new_operator().await;
        operator.client = self.client(NAMES[0], Some(operator.client.key()));
        operator
    }
}

fn deployed(file: &str) -> PathBuf {
    workspace().join("deploy/haproxy").join(file)
}

#[tokio::test]
async fn a_key_leads_to_its_cell_and_to_no_other() {
    let Some(cells) = Cells::start().await else { return };
    let (one, other) = (cells.new_operator(&cells.a).await, cells.new_operator(&cells.b).await);
    assert!(
        one.client.key().starts_with("psr_op_test_a_") && other.client.key().starts_with("psr_op_test_b_")
    );
    let (ada, ben) =
        (one.creates_account_with("Ada", "5").await, other.creates_account_with("Ben", "5").await);
    let (ada_key, ben_key) = (ada.new_key().await, ben.new_key().await);
    assert!(ada_key.key().starts_with("psr_ag_test_a_") && ben_key.key().starts_with("psr_ag_test_b_"));
    // The token account of another cell's account is payable like any other, but its id is unknown.
    ada.pays("1").to(&ben.token_account).by(&ada_key).await.is_settled();
    ben.pays("2").to(&ada.token_account).by(&ben_key).await.is_settled();
    ada.pays("1").to(&ben).await.is_error(422, "invalid_recipient");
    assert_eq!((ada.balance_micros().await, ben.balance_micros().await), (6_000_000, 4_000_000));
    other.client.get(&ada.path("")).await.is_error(404, "not_found");
    // Without the proxy, or under the other cell's own name, that cell refuses the key because of the cell in it.
    let directly = Client::new(&cells.b.base_url(), Some(ada_key.key()));
    for elsewhere in [directly, cells.client(NAMES[2], Some(ada_key.key()))] {
        let refused = elsewhere.get(&ada.path("")).await.is_error(401, "unauthorized");
        assert!(refused.text_of("message").contains("another cell"), "{}", refused.text);
    }
    cells.client(NAMES[1], Some(ada_key.key())).get(&ada.path("")).await.has_status(200);
}

#[tokio::test]
async fn key_that_names_no_cell_is_answered_by_the_first() {
    let Some(cells) = Cells::start().await else { return };
    let operator = cells.new_operator(&cells.a).await;
    let (key, accounts) = (operator.client.key(), "/v1/accounts");
    let missing = operator.client.without_key().get(accounts).await.is_error(401, "unauthorized");
    assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
    for (unknown, word) in [
        (key.replace("_a_", "_c_"), "another cell"),
        (key.replace("_a_", "_"), "not valid"),
        (key.replace("_a_", "_a_b_"), "not valid"),
        ("nothing".to_owned(), "not valid"),
    ] {
        let refused = operator.client.with_key(&unknown).get(accounts).await.is_error(401, "unauthorized");
        assert!(refused.text_of("message").contains(word), "{}", refused.text);
    }
    // A key from before its cell had a name.
    let config = fs::read_to_string(cells.a.config()).expect("it is there").replace("cell = \"a\"\n", "");
    let before = cells.a.folder().join("before.toml");
    fs::write(&before, config).expect("the folder is writable");
    let made = Command::new(binaries::relayer())
        .args(["key", "create", "--operator", &operator.id, "--json", "--config", path_text(&before)])
        .output();
    let made: serde_json::Value = serde_json::from_slice(&made.expect("it starts").stdout).expect("JSON");
    let old = operator.client.with_key(made["key"].as_str().expect("a key"));
    assert!(old.key().starts_with("psr_op_test_") && !old.key().starts_with("psr_op_test_a_"));
    old.get(accounts).await.has_status(200);
    cells.client(NAMES[2], Some(old.key())).get(accounts).await.is_error(401, "unauthorized");
    for page in ["/healthz", "/openapi.json"] {
        old.without_key().get(page).await.has_status(200);
    }
}

#[tokio::test]
async fn mcp_and_the_stream_of_events_pass_through() {
    let Some(cells) = Cells::start().await else { return };
    let operator = cells.new_operator(&cells.b).await;
    let (ada, ben) = (operator.creates_account_with("Ada", "5").await, operator.creates_account("Ben").await);
    let stream = operator.client.request(Method::GET, "/v1/events").header("accept", "text/event-stream");
    let mut stream = stream.send().await.expect("an answer");
    assert_eq!(
        (stream.status().as_u16(), &stream.headers()["content-type"]),
        (200, &"text/event-stream".parse().expect("a value"))
    );
    let key = ada.new_key().await;
    initializes(&key).await;
    let sent = json!({ "to": ben.id, "amount": "1", "idempotency_key": format!("{}-1", ada.id) });
    assert_eq!(succeeds(&calls(&key, "send_transfer", sent).await)["status"], "settled");
    let seen = async {
        let mut text = String::new();
        while !text.contains("\"transfer.settled\"") {
            let bytes = stream.chunk().await.expect("it goes on").expect("it goes on");
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    };
    tokio::time::timeout(WITHIN, seen).await.expect("the stream sends the payment");
}

#[tokio::test]
async fn dashboard_is_signed_in_to_under_the_cells_own_name() {
    let Some(cells) = Cells::start().await else { return };
    for (app, own, others) in [(&cells.a, NAMES[1], NAMES[2]), (&cells.b, NAMES[2], NAMES[1])] {
        let operator = app.new_operator().await;
        let form = [("key", operator.client.key())];
        let browser = |name: &str| Browser::over(cells.connections(), &cells.url(name));
        let (at_home, elsewhere) = (browser(own), browser(others));
        at_home.sends_form("/dashboard/sign-in", &form).await.leads_to("/dashboard");
        let cookie = at_home.cookie().expect("signed in");
        assert!(cookie.starts_with("__Host-purser="), "{cookie}");
        at_home
            .sends_form(
                "/dashboard/accounts",
                &[
                    ("name", "Ada"),
                    ("max_single_transfer", "none"),
                    ("max_daily_spend", "none"),
                    ("allowed", "anyone"),
                ],
            )
            .await
            .has_status(303);
        at_home.reads("/dashboard/accounts").await.has_status(200).says("Ada");
        elsewhere.sends_form("/dashboard/sign-in", &form).await.has_status(401).says("another cell");
        assert_eq!(elsewhere.cookie(), None);
        // Copied to the other cell, the session opens nothing either.
        elsewhere.holds(Some(&cookie));
        elsewhere.reads("/dashboard").await.leads_to("/dashboard/sign-in");
    }
}
