//! `purser doctor` finds what is wrong, says how to fix it, and prints no secret. `purser init` and `purser keygen`: what they
//! make, and who may read it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use purser::OperatorUpdate;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::{AppSettings, Proxy, TestApp, TestDatabase, TestNetwork, Wire, binaries};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

fn purser(arguments: &[&str]) -> Output {
    Command::new(binaries::relayer()).args(arguments).output().expect("the relayer binary starts")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The doctor's report on a configuration, as JSON; compared with its text output.
#[track_caller]
fn doctor(config: &Path) -> Value {
    let json = purser(&["doctor", "--json", "--config", path_text(config)]);
    let report: Value = serde_json::from_slice(&json.stdout).unwrap_or_else(|_| panic!("{}", said(&json)));
    assert_eq!(json.status.code(), Some(if report["ok"] == true { 0 } else { 1 }), "{report:#}");
    let text = purser(&["doctor", "--config", path_text(config)]);
    assert_eq!(text.status.code(), json.status.code(), "{}", said(&text));
    for check in report["checks"].as_array().expect("checks") {
        let word = if check["ok"] == true { "ok      " } else { "not ok  " };
        let line = format!("{word}{}: ", check["check"].as_str().expect("a name"));
        assert!(said(&text).contains(&line), "{line} is not in {}", said(&text));
        assert_eq!(check["ok"] == true, check["mend"].is_null(), "{check}");
    }
    for printed in [said(&json), said(&text)] {
        for secret in ["5e5e5e5e5e5e", "hush-hush"] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
    report
}

/// Name, finding and fix of everything that is wrong.
fn wrong(report: &Value) -> Vec<(String, String, String)> {
    let checks = report["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    checks.map(|check| (text(&check["check"]), text(&check["found"]), text(&check["mend"]))).collect()
}

#[track_caller]
fn only_wrong(report: &Value, check: &str, found: &str, mend: &str) {
    let all = wrong(report);
    let [(name, what, how)] = &all[..] else { panic!("one is wrong: {report:#}") };
    assert!(name.contains(check) && what.contains(found) && how.contains(mend), "{all:?}");
}

#[tokio::test]
async fn doctor_finds_a_running_relayer_well_and_each_thing_that_is_not() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let config = app.config();
    fs::set_permissions(&config, Permissions::from_mode(0o600)).expect("own file");
    only_wrong(&doctor(&config), "operators", "none", "purser operator create");
    let operator = app.new_operator().await;
    // The file contains the key that seals secrets.
    fs::set_permissions(&config, Permissions::from_mode(0o644)).expect("own file");
    only_wrong(&doctor(&config), "purser.toml", "others can read", "chmod 600");
    fs::set_permissions(&config, Permissions::from_mode(0o600)).expect("own file");
    let well = doctor(&config);
    assert_eq!((&well["ok"], wrong(&well).len()), (&json!(true), 0), "{well:#}");
    let names: Vec<&str> =
        well["checks"].as_array().expect("checks").iter().filter_map(|one| one["check"].as_str()).collect();
    for part in
        ["configuration", "database", "webhooks", "node 0", "program", "mint", "clock", "SOL of transfer"]
    {
        assert!(names.iter().any(|name| name.contains(part)), "{part} is not in {names:?}");
    }

    let key = app.folder().join("transfer-authority.json");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("own file");
    let report = doctor(&config);
    let mend = format!("chmod 600 {}", key.display());
    assert!(wrong(&report).iter().any(|(.., how)| *how == mend), "{report:#}");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("own file");

    let chain = &operator.chain;
    let payer = app.transfer_authority().pubkey();
    chain.sets_lamports(&payer, 890_880).await;
    only_wrong(&doctor(&config), "SOL of transfer authority", "0.000000000 SOL", &payer.to_string());
    chain.sets_lamports(&payer, 1_000_000_000).await;

    let rotates = async |keys: Vec<Pubkey>| {
        let update = OperatorUpdate { transfer_authorities: Some(keys), ..Default::default() };
        chain.updates_operator(operator.address, update, app.admin()).await;
    };
    rotates(vec![Keypair::new().pubkey()]).await;
    only_wrong(&doctor(&config), &operator.id, "no transfer authority of ours", "--add-transfer-authority");
    rotates(vec![payer]).await;
    assert_eq!(doctor(&config)["ok"], true);
}

#[tokio::test]
async fn doctor_sees_that_this_machines_clock_is_wrong() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await;
    fs::set_permissions(app.config(), Permissions::from_mode(0o600)).expect("own file");
    let ahead = app.folder().join("ahead");
    let doctor_at = |seconds: &str| {
        fs::write(&ahead, seconds).expect("the folder is writable");
        let mut command = Command::new(binaries::fault_injection_relayer());
        command.args(["doctor", "--json", "--config", path_text(&app.config())]);
        let output = command.env("PURSER_HOST_CLOCK_AHEAD", &ahead).output().expect("it starts");
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
    };
    assert_eq!(doctor_at("0")["ok"], true);
    only_wrong(&doctor_at("3600"), "clock", "s behind this machine's", "timedatectl set-ntp true");
}

fn changed(app: &TestApp, from: &str, to: &str) -> std::path::PathBuf {
    let text = fs::read_to_string(app.config()).expect("it is there");
    assert!(text.contains(from), "{from} is not in {text}");
    let file = app.folder().join("changed.toml");
    fs::write(&file, text.replace(from, to)).expect("the folder is writable");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("own file");
    file
}

#[tokio::test]
async fn doctor_says_what_is_wrong_with_settings_nodes_and_programs_and_prints_no_url() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let url = format!("{}/hush-hush?api-key=hush-hush", proxy.url());
    let app = TestApp::start(
        network.clone(),
        &AppSettings { rpc_url: Some(url.clone()), ..AppSettings::default() },
    )
    .await;
    app.new_operator().await;
    fs::set_permissions(app.config(), Permissions::from_mode(0o600)).expect("own file");
    assert_eq!(doctor(&app.config())["ok"], true);
    proxy.cuts();
    only_wrong(&doctor(&app.config()), "network test: node 0", "unavailable", "rpc_url");
    // A second node, which works.
    let second = format!("rpc_url = \"{url}\"\nrpc_urls = [\"{}\"]", network.rpc_url);
    let file = changed(&app, &format!("rpc_url = \"{url}\""), &second);
    only_wrong(&doctor(&file), "network test: node 0", "unavailable", "rpc_url");
    proxy.mends();
    let mint = format!("usdc_mint = \"{}\"", network.usdc_mint);
    let file = changed(&app, &mint, &format!("usdc_mint = \"{}\"", Pubkey::new_unique()));
    only_wrong(&doctor(&file), "mint", "is not a legacy SPL Token mint", "usdc_mint");
    let file = changed(&app, &mint, "usdc_mint = \"hush-hush\"");
    let report = purser(&["doctor", "--config", path_text(&file)]);
    assert_eq!(report.status.code(), Some(1));
    assert!(said(&report).contains("networks.test.usdc_mint"), "{}", said(&report));
    let program = format!("program_id = \"{}\"", network.program_id);
    let file = changed(&app, &program, &format!("program_id = \"{}\"", Pubkey::new_unique()));
    let report = doctor(&file);
    let all = wrong(&report);
    assert!(
        all.iter().any(|(name, what, _)| name.contains("program") && what.contains("not deployed")),
        "{all:?}"
    );
    let empty = temp_folder();
    let report =
        Command::new(binaries::relayer()).args(["doctor", "--json"]).current_dir(empty.path()).output();
    let report: Value = serde_json::from_slice(&report.expect("it starts").stdout).expect("JSON");
    only_wrong(&report, "configuration", "purser init", "docs/operating.md");
}

#[tokio::test]
async fn doctor_makes_no_database_and_prints_no_password() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let other = app.folder().join("other.db");
    let file = changed(&app, "/purser.db", "/other.db");
    only_wrong(&doctor(&file), "database", "has no tables", "purser migrate");
    assert!(!other.exists(), "the doctor made a database");
    fs::write(&other, "").expect("the folder is writable");
    fs::set_permissions(&other, Permissions::from_mode(0o600)).expect("own file");
    only_wrong(&doctor(&file), "database", "has no tables", "purser migrate");
    assert_eq!(fs::read(&other).expect("read").len(), 0, "the doctor wrote to it");
    let sqlite = format!("sqlite://{}/purser.db", path_text(app.folder()));
    let file = changed(&app, &sqlite, "postgres://purser:hush-hush@127.0.0.1:1/purser");
    only_wrong(&doctor(&file), "database", "unavailable", "database.url");
    let Some(database) = TestDatabase::create().await else { return };
    let line = Wire::to_postgres(&database.url());
    let file = changed(&app, &sqlite, &line.postgres_url(&database.url()));
    only_wrong(&doctor(&file), "database", "has no tables", "purser migrate");
    line.swallows();
    only_wrong(&doctor(&file), "database", "no answer", "database.url");
}

#[test]
fn keygen_writes_for_its_owner_alone_and_over_nothing() {
    let folder = temp_folder();
    let file = |name: &str| folder.path().join(name);
    let made = purser(&["keygen", path_text(&file("a.json")), path_text(&file("b.json")), "--json"]);
    assert!(made.status.success(), "{}", said(&made));
    let printed: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    for (row, name) in [(0, "a.json"), (1, "b.json")] {
        let bytes: Vec<u8> = serde_json::from_slice(&fs::read(file(name)).expect("made")).expect("a keypair");
        let address = Keypair::try_from(&bytes[..]).expect("a keypair").pubkey().to_string();
        assert_eq!(printed[row]["address"], address);
        assert!(!said(&made).contains(&format!("{}, {}", bytes[0], bytes[1])), "a secret is printed");
        assert_eq!(fs::metadata(file(name)).expect("made").permissions().mode() & 0o777, 0o600);
    }
    let before = fs::read(file("a.json")).expect("made");
    let again = purser(&["keygen", path_text(&file("a.json"))]);
    assert!(!again.status.success() && said(&again).contains("a.json"), "{}", said(&again));
    assert_eq!(fs::read(file("a.json")).expect("kept"), before);
}

#[test]
fn init_makes_a_folder_for_its_owner_alone_and_writes_over_nothing() {
    let folder = temp_folder();
    let place = folder.path().join("deep/purser");
    let arguments = ["init", path_text(&place), "--network", "test", "--managed"];
    let made = purser(&[&arguments[..], &["--json"]].concat());
    assert!(made.status.success(), "{}", said(&made));
    let printed: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    assert_eq!(printed["fund"].as_array().map(Vec::len), Some(3), "{printed:#}");
    for entry in fs::read_dir(&place).expect("made") {
        let entry = entry.expect("a file");
        let mode = entry.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
    assert_eq!(fs::metadata(&place).expect("made").permissions().mode() & 0o777, 0o700);
    let config = fs::read_to_string(place.join("purser.toml")).expect("made");
    assert!(config.contains("api.devnet.solana.com") && config.contains("admin_listen"), "{config}");
    let key = fs::read_to_string(place.join("policy-authority.json")).expect("made");
    let again = purser(&arguments);
    assert!(!again.status.success() && said(&again).contains("nothing was written"), "{}", said(&again));
    // Existing keys stay.
    fs::remove_file(place.join("purser.toml")).expect("removed");
    assert!(purser(&arguments).status.success());
    assert_eq!(fs::read_to_string(place.join("policy-authority.json")).expect("kept"), key);
    let odd =
        purser(&["init", path_text(&folder.path().join("x")), "--network", "test", "--listen", "nowhere"]);
    assert!(!odd.status.success() && said(&odd).contains("server.listen"), "{}", said(&odd));
    assert!(!folder.path().join("x/purser.toml").exists() && !folder.path().join("x/webhook-key").exists());
}
