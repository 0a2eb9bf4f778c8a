//! `purser doctor` finds what is wrong, says how to fix it, and prints no secret. `purser init` and `purser keygen`: what they
//! make, and who may read it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use purser::OperatorUpdate;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::proxy::faults::Fault;
use purser_tests::{
    AppSettings, Browser, Client, Proxy, Receiver, TestApp, TestDatabase, TestNetwork, Wire, binaries,
};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::webhooks::registers;

fn purser(arguments: &[&str]) -> Output {
    Command::new(binaries::relayer()).args(arguments).output().expect("the relayer binary starts")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The doctor's report on a configuration, as JSON; compared with its text output.
#[track_caller]
pub fn doctor(config: &Path) -> Value {
    let json = purser(&["doctor", "--json", "--config", path_text(config)]);
    let report: Value = serde_json::from_slice(&json.stdout).unwrap_or_else(|_| panic!("{}", said(&json)));
    assert_eq!(json.status.code(), Some(if report["ok"] == true { 0 } else { 1 }), "{report:#}");
    let text = purser(&["doctor", "--config", path_text(config)]);
    assert_eq!(text.status.code(), json.status.code(), "{}", said(&text));
    for check in report["checks"].as_array().expect("checks") {
        let is_weak = check["weak"] == true;
        let word = match (check["ok"] == true, is_weak) {
            (true, false) => "ok      ",
            (true, true) => "weak    ",
            (false, _) => "not ok  ",
        };
        let line = format!("{word}{}: ", check["check"].as_str().expect("a name"));
        assert!(said(&text).contains(&line), "{line} is not in {}", said(&text));
        assert_eq!(check["ok"] == true && !is_weak, check["mend"].is_null(), "{check}");
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
    let report = doctor_at("3600");
    only_wrong(&report, "clock", "s behind this machine's", "timedatectl set-ntp true");
    only_wrong(&report, "clock", "s behind this machine's", "purser dev --reset");
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
    // A plan of a provider that allows five accounts in one call; the relayer asks another one.
    let few = Proxy::to(&network.rpc_url);
    few.faults().orders("getMultipleAccounts", [Fault::Code(200, -32602)]);
    let file = changed(&app, &format!("rpc_url = \"{url}\""), &format!("rpc_url = \"{}\"", few.url()));
    // The first call for accounts is the one that asks for many.
    let report = purser(&["doctor", "--json", "--config", path_text(&file)]);
    let report: Value =
        serde_json::from_slice(&report.stdout).unwrap_or_else(|_| panic!("{}", said(&report)));
    only_wrong(&report, "node 0: accounts at once", "-32602", "getMultipleAccounts");
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
    only_wrong(&report, "configuration", "purser init", "docs/run/configuration.md");
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

#[tokio::test]
async fn doctor_names_certificates_modes_and_disks_that_cannot_be_used() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await;
    let sqlite = format!("sqlite://{}/purser.db", path_text(app.folder()));
    let pem = app.folder().join("ca.pem");
    let with = |query: &str| {
        changed(&app, &sqlite, &format!("postgres://purser:hush-hush@127.0.0.1:1/purser?{query}"))
    };
    let named = format!("sslmode=verify-full&sslrootcert={}", path_text(&pem));
    only_wrong(&doctor(&with(&named)), "database: sslrootcert", "No such file", "sslrootcert");
    let garbage = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
    for text in ["", "no certificate", garbage, key] {
        fs::write(&pem, text).expect("the folder is writable");
        only_wrong(&doctor(&with(&named)), "database: sslrootcert", "holds no certificate", "sslrootcert");
    }
    fs::write(&pem, [0xff; 9]).expect("the folder is writable");
    only_wrong(&doctor(&with(&named)), "database: sslrootcert", "no PEM text", "sslrootcert");
    fs::write(&pem, garbage.replace("!!!", "MAA=")).expect("the folder is writable");
    // It looks like one: what remains is the server's matter.
    only_wrong(&doctor(&with(&named)), "database", "unavailable", "sslmode");
    only_wrong(&doctor(&with("sslmode=full")), "database: sslmode", "`full`", "verify-full");
    let node = format!("rpc_url = \"{}\"", TestNetwork::shared().await.rpc_url);
    let proxy = Proxy::to(&TestNetwork::shared().await.rpc_url);
    proxy.faults().orders("*", (0..99).map(|_| Fault::Status(401)));
    let file = changed(&app, &node, &format!("rpc_url = \"{}\"", proxy.url()));
    only_wrong(&doctor(&file), "node 0", "HTTP 401", "takes the key in its URL");

    let disk = app.folder().join("disk");
    fs::create_dir(&disk).expect("the folder is writable");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=20m", "tmpfs"]).arg(&disk).status();
    if !mount.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user cannot mount");
        return;
    }
    app.crashes();
    for ending in ["", "-wal", "-shm"] {
        let from = app.folder().join(format!("purser.db{ending}"));
        _ = fs::copy(from, disk.join(format!("purser.db{ending}")));
    }
    let report = doctor(&changed(&app, "/purser.db", "/disk/purser.db"));
    let unmounted = Command::new("umount").arg(&disk).status().expect("it starts");
    assert!(unmounted.success());
    only_wrong(&report, "database", "kB left", "free space");
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

#[tokio::test]
async fn what_is_made_is_printed_as_variables_of_a_shell() {
    let evaluated = |printed: &str, words: &str| {
        let script = format!("set -eu\n{printed}\nprintf '%s\\n' {words}");
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh");
        assert!(output.status.success(), "{}: {printed}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let folder = temp_folder();
    let file = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let (one, two) = (file("it's one.json"), file("two.json"));
    let made = purser(&["keygen", &one, &two, "-o", "env"]);
    let words = "\"$PURSER_KEYPAIR_FILE\" \"$PURSER_KEYPAIR_FILE_2\" \"$PURSER_KEYPAIR_ADDRESS\"";
    let told = evaluated(&said(&made), words);
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[..2], [one.as_str(), two.as_str()]);
    told[2].parse::<Pubkey>().expect("an address");

    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let config = app.config();
    let creates = ["key", "create", "--operator", &operator.id, "-o", "env", "--config", path_text(&config)];
    let made = said(&purser(&creates));
    let words = "\"$PURSER_OPERATOR_KEY\" \"$PURSER_OPERATOR_KEY_ID\" \"$PURSER_OPERATOR_KEY_OPERATOR_ID\"";
    let told = evaluated(&made, words);
    let told: Vec<&str> = told.lines().collect();
    assert!(told[0].starts_with("psr_op_") && told[1].starts_with("key_"), "{told:?}");
    assert_eq!(told[2], operator.id);
    Client::new(&app.base_url(), Some(told[0])).get("/v1/accounts").await.has_status(200);
}

#[tokio::test]
async fn commands_print_their_result_and_no_lines_of_a_log() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let (folder, config) = (temp_folder(), app.config());
    let file = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let (keypair, made) = (file("a.json"), file("made"));
    let of_operator = ["--operator", &operator.id];
    for arguments in [
        vec!["keygen", &keypair],
        vec!["init", &made, "--network", "test", "--guardian", "none"],
        vec!["migrate"],
        [&["key", "create"][..], &of_operator].concat(),
        [&["key", "list"][..], &of_operator].concat(),
        vec!["doctor"],
        [&["halt"][..], &of_operator].concat(),
    ] {
        let needs_config = !matches!(arguments[0], "keygen" | "init");
        let of_config = ["--config", path_text(&config)];
        let mut command = Command::new(binaries::relayer());
        command.args(&arguments).args(of_config.iter().filter(|_| needs_config)).env_remove("PURSER_LOG");
        let output = command.output().expect("the relayer binary starts");
        let is_log = |line: &str| ["INFO", "DEBUG", "TRACE"].iter().any(|level| line.contains(level));
        assert!(!output.stdout.is_empty(), "{arguments:?}: {}", said(&output));
        assert!(!said(&output).lines().any(is_log), "{arguments:?}: {}", said(&output));
    }
}

#[tokio::test]
async fn migrate_names_the_version_of_the_schema_once_in_both_forms() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let folder = binaries::workspace().join("relayer/store/migrations");
    let files = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("readable").file_name());
    let numbers =
        files.filter_map(|file| file.to_str()?.strip_suffix(".sql")?.split('_').next()?.parse().ok());
    let newest: u64 = numbers.max().expect("there are migrations");
    assert_eq!(app.runs(&["migrate"]), json!({ "database": "sqlite", "schema_version": newest }));
    let config = app.config();
    let text = purser(&["migrate", "--config", path_text(&config)]);
    let text = said(&text);
    assert_eq!(text.matches(&newest.to_string()).count(), 1, "{text}");
    assert_eq!(text.matches("schema_version").count(), 1, "{text}");
    assert!(!text.contains("migrations"), "{text}");
}

#[test]
fn init_makes_a_folder_for_its_owner_alone_and_writes_over_nothing() {
    let folder = temp_folder();
    let place = folder.path().join("deep/purser");
    let arguments = ["init", path_text(&place), "--network", "test", "--managed", "--guardian", "none"];
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
    let odd = purser(&[
        "init",
        path_text(&folder.path().join("x")),
        "--network",
        "test",
        "--guardian",
        "none",
        "--listen",
        "nowhere",
    ]);
    assert!(!odd.status.success() && said(&odd).contains("server.listen"), "{}", said(&odd));
    // Whoever does without a guardian says so, and what comes next has both defences.
    let silent = purser(&["init", path_text(&folder.path().join("y")), "--network", "test"]);
    assert!(!silent.status.success() && said(&silent).contains("--guardian"), "{}", said(&silent));
    let guardian = Keypair::new().pubkey().to_string();
    for more in [&[][..], &["--managed"]] {
        let place = folder.path().join(format!("z{}", more.len()));
        let named = ["init", path_text(&place), "--network", "test", "--guardian", &guardian];
        let printed = said(&purser(&[&named[..], more].concat()));
        let create = printed.lines().find(|line| line.contains("create")).expect("it is a step").to_owned();
        assert!(create.contains(&format!("--guardian {guardian}")), "{printed}");
        assert!(create.contains("--loosening-delay 1d"), "{printed}");
    }
    assert!(!folder.path().join("x/purser.toml").exists() && !folder.path().join("x/webhook-key").exists());
}

/// Name and mend of every defence that is off.
fn weak(report: &Value) -> Vec<(String, String)> {
    let checks = report["checks"].as_array().expect("checks").iter().filter(|check| check["weak"] == true);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    checks.map(|check| (text(&check["check"]), text(&check["mend"]))).collect()
}

#[tokio::test]
async fn defences_that_are_off_are_named_until_they_are_on() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    fs::set_permissions(app.config(), Permissions::from_mode(0o600)).expect("own file");
    let report = doctor(&app.config());
    let off = weak(&report);
    let admin = app.folder().join("admin.json");
    for (name, mend) in [
        ("loosening delay", "--loosening-delay 1d --yes"),
        ("guardian", "--guardian ADDRESS --yes"),
        (path_text(&admin), "a machine that serves nothing"),
    ] {
        let is_named = |(check, how): &(String, String)| {
            check.contains(&operator.id) && check.contains(name) && how.contains(mend)
        };
        assert!(off.iter().any(is_named), "{name}: {report:#}");
    }
    assert_eq!((off.len(), &report["ok"]), (3, &json!(true)), "{report:#}");
    let text = said(&purser(&["doctor", "--config", path_text(&app.config())]));
    assert!(text.contains("Everything works, and 3 defences are off."), "{text}");
    let browser = Browser::signed_in(&app.base_url(), operator.client.key()).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    let home = home.says("There is no loosening delay").says("There is no guardian");
    home.says("The admin&#39;s key lies on the server");

    let cold = temp_folder();
    let guardian = Keypair::new().pubkey();
    let update =
        OperatorUpdate { guardian: Some(guardian), loosening_delay_seconds: Some(60), ..Default::default() };
    operator.chain.updates_operator(operator.address, update, app.admin()).await;
    fs::copy(&admin, cold.path().join("admin.json")).expect("the folder is writable");
    fs::remove_file(&admin).expect("own file");
    // It could not pay for its halt.
    let [(check, mend)] = &weak(&doctor(&app.config()))[..] else { panic!("{:#}", doctor(&app.config())) };
    assert!(check.contains("SOL of guardian") && mend.ends_with(&guardian.to_string()), "{check}: {mend}");
    operator.chain.funds(&guardian, 1).await;
    assert!(weak(&doctor(&app.config())).is_empty());
    let text = said(&purser(&["doctor", "--config", path_text(&app.config())]));
    assert!(text.contains("Everything is well."), "{text}");
    let home = browser.reads("/dashboard").await.has_status(200);
    for defence in ["loosening delay", "guardian"] {
        assert!(!home.text.contains(&format!("There is no {defence}")), "{}", home.text);
    }

    // An account may pay anyone any amount until it has a policy.
    let ada = operator.creates_account("Ada").await;
    operator.creates_account("Ben").await.sets_policy(json!({ "max_daily_spend": 10 })).await;
    let of_limits =
        |report: &Value| weak(report).into_iter().filter(|(check, _)| check.contains("limits")).count();
    let report = doctor(&app.config());
    let found = report["checks"].as_array().expect("checks").iter().find(|check| {
        check["found"].as_str().is_some_and(|found| found.starts_with("Ada may pay anyone any amount"))
    });
    assert!(found.is_some() && of_limits(&report) == 1, "{report:#}");
    ada.sets_policy(json!({ "allowed_counterparties": [] })).await;
    assert_eq!(of_limits(&doctor(&app.config())), 0);
}

#[tokio::test]
async fn doctor_finds_a_port_that_is_taken_and_knows_a_relayer_there() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await;
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = other.local_addr().expect("bound");
    // It takes connections and answers nothing.
    std::thread::spawn(move || other.incoming().for_each(drop));
    let free = "listen = \"127.0.0.1:0\"";
    let file = changed(&app, free, &format!("listen = \"{taken}\""));
    only_wrong(&doctor(&file), "server.listen", "another program listens", "ss -ltnp");
    let both = format!("{free}\nadmin_listen = \"{taken}\"");
    only_wrong(
        &doctor(&changed(&app, free, &both)),
        "server.admin_listen",
        "another program",
        "admin_listen",
    );
    let own = app.base_url().trim_start_matches("http://").to_owned();
    let report = doctor(&changed(&app, free, &format!("listen = \"{own}\"")));
    assert_eq!(report["ok"], true, "{report:#}");
    assert!(report.to_string().contains("a relayer serves at"), "{report:#}");
    let nowhere = changed(&app, free, "listen = \"203.0.113.1:8080\"");
    only_wrong(&doctor(&nowhere), "server.listen", "203.0.113.1", "an address of this machine");
}

#[tokio::test]
async fn doctor_finds_a_dead_websocket() {
    let network = TestNetwork::shared().await;
    let app = TestApp::start(network.clone(), &AppSettings::default()).await;
    app.new_operator().await;
    let named = format!("ws_url = \"{}\"", network.ws_url);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let file = changed(&app, &named, &format!("ws_url = \"ws://{nobody}\""));
    only_wrong(&doctor(&file), "websocket of node 0", "cannot connect", "`ws_url`");
    assert_eq!(doctor(&changed(&app, &named, &named))["ok"], true);
    let report = doctor(&changed(&app, &named, ""));
    assert!(report["ok"] == true && report.to_string().contains("none is configured"), "{report:#}");
}

#[tokio::test]
async fn doctor_finds_that_webhooks_were_sealed_with_another_key() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let (operator, receiver) = (app.new_operator().await, Receiver::start());
    for _ in 0..2 {
        registers(&operator, &receiver.url("/hook"), &["transfer.settled"]).await;
    }
    let named = format!("secret_key = \"{}\"", "5e".repeat(32));
    assert_eq!(doctor(&changed(&app, &named, &named))["ok"], true);
    let file = changed(&app, &named, &format!("secret_key = \"{}\"", "6f".repeat(32)));
    only_wrong(&doctor(&file), "secrets of webhooks", "2 of 2 were sealed with another key", "rotate_secret");
    let file = changed(&app, &named, "");
    only_wrong(&doctor(&file), "secrets of webhooks", "no key is configured", "secret_key_file");
}

/// Each mend is what helps: what it names is typed here, or does what it says.
#[tokio::test]
async fn what_mends_a_fault_is_of_its_cause() {
    let network = TestNetwork::shared().await;
    let app = TestApp::start(network.clone(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    // A key that is not there is put back or made, and no mode of it is changed.
    let key = app.folder().join("policy-authority.json");
    let lost = app.folder().join("absent.json");
    let file = changed(&app, path_text(&key), path_text(&lost));
    let all = wrong(&doctor(&file));
    assert!(!all.is_empty() && all.iter().all(|(.., how)| how.contains("purser keygen")), "{all:?}");
    assert!(all.iter().all(|(.., how)| !how.contains("chmod")), "{all:?}");
    assert!(purser(&["keygen", path_text(&lost)]).status.success());
    // A new key has no SOL either.
    let all = wrong(&doctor(&file));
    let named = all.iter().find(|(check, ..)| check.contains(&operator.id)).expect("named");
    assert!(
        named.1.contains("no policy authority of ours") && named.2.contains("--policy-authority"),
        "{all:?}"
    );
    // A file that holds no key is not made anew: keygen writes over nothing.
    let denials = app.folder().join("denials-key.json");
    let whole = fs::read(&denials).expect("the relayer has one");
    fs::write(&denials, "[1, 2]").expect("the folder is writable");
    let file = changed(&app, "[indexer]", "[indexer]");
    only_wrong(&doctor(&file), "denials", "not a keypair", "move the file away");
    fs::write(&denials, whole).expect("the folder is writable");
    // One that signs refusals and moves money keeps the service from its start.
    let file = changed(&app, path_text(&denials), path_text(&key));
    only_wrong(
        &doctor(&file),
        "denials",
        "is a policy authority or a transfer authority too",
        "purser keygen",
    );
    // The node answers, and is another cluster's.
    let named = format!("[networks.test]\ngenesis_hash = \"{}\"", Pubkey::new_unique());
    let all = wrong(&doctor(&changed(&app, "[networks.test]", &named)));
    assert!(
        matches!(&all[..], [(name, _, how)] if name.contains("node 0") && how.contains("genesis_hash")),
        "{all:?}"
    );
    // The operator is on the chain, and of another program.
    let program = format!("program_id = \"{}\"", network.program_id);
    let file = changed(&app, &program, "program_id = \"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"");
    let all = wrong(&doctor(&file));
    let of_operator = all.iter().find(|(name, ..)| name.contains(&operator.id)).expect("it is wrong");
    assert!(of_operator.2.contains("program_id"), "{all:?}");
    // The database's folder is made before its file.
    let folder = app.folder().join("not/there");
    let file = changed(&app, "/purser.db", "/not/there/purser.db");
    only_wrong(
        &doctor(&file),
        "database",
        "has no tables",
        &format!("mkdir -p {} && purser migrate", folder.display()),
    );
    fs::create_dir_all(&folder).expect("the folder is writable");
    assert!(purser(&["migrate", "--config", path_text(&file)]).status.success());
    only_wrong(&doctor(&file), "operators", "none", "purser operator create");
    // A file that is no database is none of a server's.
    let file = changed(&app, "/purser.db", "/text.db");
    fs::write(app.folder().join("text.db"), "no database at all, but some text".repeat(99)).expect("written");
    fs::set_permissions(app.folder().join("text.db"), Permissions::from_mode(0o600)).expect("own file");
    only_wrong(&doctor(&file), "database", "text.db", "restore a copy");
}
