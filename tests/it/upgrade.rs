//! An upgrade keeps what a company has. This build opens the databases that were kept of earlier versions, and ones that it made
//! itself: everything that the API said is there, keys of every kind hold, and what was in flight or asked for as a build was killed ends
//! once, though the next build is killed over it too.
//!
//! `tests/upgrade/VERSION/` has a folder for each database: the database, the network with what is on its chain, the keys, and what
//! was said (`said.json`). `PURSER_TEST_KEEP=VERSION` keeps what this build makes: once for each release, see docs/trust/versions.md.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purser_tests::agent::unique_key;
use purser_tests::browser::Browser;
use purser_tests::clock::HostClock;
use purser_tests::layout_3;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::proxy::lies::WrongHistory;
use purser_tests::proxy::outcomes::Outcome;
use purser_tests::wallet::{finalizes_all, mints, withdraws};
use purser_tests::{
    Agent, Answer, AppSettings, Client, Operator, Proxy, TestApp, TestDatabase, TestNetwork, until,
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use tempfile::TempDir;
use tokio::task::{JoinHandle, JoinSet};

use crate::admin::ADMIN;
use crate::denials::{audits, file_of};
use crate::event_stream::Stream;
use crate::history::entries_once;
use crate::loosening::loosens_after;

const KEYPAIRS: [&str; 4] = ["admin", "policy-authority", "transfer-authority", "denials-key"];
/// What the engine has anew at each start, and what nobody asks for: most of what a network weighs.
const NOT_KEPT: &str = "DELETE FROM registered_idls; DELETE FROM executed_transaction_profiles;
    DELETE FROM accounts WHERE length(value) > 100000; VACUUM;";

/// How many payments are asked for at once as a build is killed, and of how much each is.
const STORM: usize = 16;
const STORM_USDC: &str = "0.1";

/// Tables that are empty in a database that this build makes, and why.
const EMPTY: [(&str, &str); 4] = [
    ("co_signatures", "need an approver's wallet"),
    ("grants_opened", "need an approver's wallet, or the admin's"),
    ("passkeys", "need a browser's authenticator"),
    ("token_account_creations", "need a quota, which is 0"),
];

/// Fields that change by themselves.
const MOVING: [&str; 4] = ["balance_as_of", "failing_since", "last_used_at", "request_id"];

/// A database, and everything that belongs to it, in a folder.
struct Kept {
    folder: TempDir,
    is_postgres: bool,
}

#[tokio::test]
async fn this_build_opens_a_database_that_it_made_and_the_payment_in_flight_ends_once() {
    for is_postgres in [false, true] {
        let Some(kept) = makes(is_postgres).await else { continue };
        if let Ok(version) = std::env::var("PURSER_TEST_KEEP") {
            kept.stays_at(&kept_at(&version).join(kept.name()));
        }
        opens(kept).await;
    }
}

#[tokio::test]
async fn databases_that_earlier_versions_made_are_opened_with_everything_in_them() {
    for version in fs::read_dir(kept_at("")).into_iter().flatten().map_while(Result::ok) {
        for name in ["sqlite", "postgres"] {
            let from = version.path().join(name);
            if from.is_dir() && (name == "sqlite" || can_restore().await) {
                eprintln!("{}", from.display());
                opens(Kept::at(&from)).await;
            }
        }
    }
}

fn kept_at(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("upgrade").join(version)
}

/// Whether there are a Postgres and its programs.
async fn can_restore() -> bool {
    let is_there = |program| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    purser_tests::postgres::server().is_some() && is_there("psql") && is_there("pg_dump")
}

impl Kept {
    fn name(&self) -> &'static str {
        if self.is_postgres { "postgres" } else { "sqlite" }
    }

    /// A copy of a kept folder, which the test may change.
    fn at(from: &Path) -> Kept {
        let folder = temp_folder();
        copies(from, folder.path());
        Kept { folder, is_postgres: from.ends_with("postgres") }
    }

    fn stays_at(&self, to: &Path) {
        let _ = fs::remove_dir_all(to);
        copies(self.folder.path(), to);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The database that a build writes, seen from beside it.
enum Seen {
    Sqlite(PathBuf),
    Postgres(Arc<TestDatabase>),
}

impl Seen {
    async fn counts(&self, table: &str, condition: &str) -> i64 {
        match self {
            Self::Postgres(database) => database.counts(table, condition).await,
            Self::Sqlite(file) => {
                let file = rusqlite::Connection::open(file).expect("it opens");
                file.busy_timeout(Duration::from_secs(10)).expect("it can wait");
                let counted = format!("SELECT COUNT(*) FROM {table} WHERE {condition}");
                file.query_row(&counted, [], |row| row.get(0)).expect("it is counted")
            }
        }
    }

    /// The tables without a row.
    async fn empty(&self) -> Vec<String> {
        let mut empty = Vec::new();
        for table in tables() {
            if self.counts(&table, "TRUE").await == 0 {
                empty.push(table);
            }
        }
        empty
    }
}

/// The tables of this build, by what makes them.
fn tables() -> Vec<String> {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../relayer/store/migrations");
    let (mut made, mut dropped) = (BTreeSet::new(), BTreeSet::new());
    for file in fs::read_dir(migrations).expect("it is there").map_while(Result::ok) {
        let text = fs::read_to_string(file.path()).expect("it is text");
        let named = |what: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(what));
            lines.map(|line| line.trim_end_matches([' ', '(', ';']).to_owned()).collect::<Vec<_>>()
        };
        made.extend(named("CREATE TABLE "));
        dropped.extend(named("DROP TABLE "));
    }
    made.difference(&dropped).cloned().collect()
}

fn copies(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be made");
    for file in fs::read_dir(from).expect("the folder is there").map_while(Result::ok) {
        let copy = to.join(file.file_name());
        fs::copy(file.path(), &copy).expect("the file can be copied");
        // A clone lets others read it, and a relayer refuses such keys.
        fs::set_permissions(copy, fs::Permissions::from_mode(0o600)).expect("the copy is ours");
    }
}

fn unix_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    i64::try_from(now.as_millis()).expect("a time of this age")
}

/// What this build makes: rows of every kind, and a payment in flight as it is killed. `None` without a Postgres.
async fn makes(is_postgres: bool) -> Option<Kept> {
    let database = match is_postgres {
        true if !can_restore().await => return None,
        true => TestDatabase::create().await,
        false => None,
    };
    let kept = Kept { folder: temp_folder(), is_postgres };
    let network = TestNetwork::kept_in(kept.folder.path());
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings {
        rpc_url: Some(proxy.url()),
        database: database.clone(),
        host_clock: Some(HostClock::new()),
        indexer_interval_ms: 200,
        // Their chain's head is written to the network at once, and not again.
        denials: Some(86_400),
        server: ADMIN,
        ..AppSettings::default()
    };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let seen = match &database {
        Some(database) => Seen::Postgres(Arc::clone(database)),
        None => Seen::Sqlite(app.folder().join("purser.db")),
    };
    let operator = app.new_operator().await;
    let second_key = app.new_operator_key(&operator.id);
    let client = &operator.client;
    let [ada, ben, dana] = [
        operator.creates_account("Ada").await,
        operator.creates_account("Ben").await,
        operator.creates_account("Dana").await,
    ];
    for (agent, usdc) in [(&ada, "50"), (&dana, "20")] {
        mints(&operator.chain, usdc, &agent.token_account).await;
    }
    let agent_key = ada.new_key().await.key().to_owned();
    ada.sets_policy(json!({ "max_single_transfer": 10, "max_daily_spend": 40 })).await;
    ada.sets_policy(json!({ "max_single_transfer": 10, "require_memo": true,
        "allowed_counterparties": [ben.id] }))
        .await;
    let hook =
        json!({ "url": "http://127.0.0.1:9/purser", "events": ["transfer.settled", "policy.changed"] });
    client.post("/v1/webhooks", &hook).await.has_status(201);
    let watches = json!({ "url": "http://127.0.0.1:9/low", "low_balance_threshold_usdc": 6,
        "events": ["balance.low_threshold", "limit.threshold"] });
    client.post("/v1/webhooks", &watches).await.has_status(201);
    let (payee, _) = operator.chain.new_payee().await;
    let mut asked = Vec::new();
    let payments = [
        ada.pays("1.5").to(&ben).memo("settled"),
        ada.pays("11").to(&ben).memo("rejected"),
        ada.pays("2").to(&payee).memo("rejected for its payee"),
        ben.pays("100").to(&payee).memo("failed"),
    ];
    for payment in payments {
        let answer = payment.clone().await;
        asked.push(json!({ "path": "/v1/transfers", "name": null, "body": payment.body(),
            "status": answer.status, "answer": answer.without_request_id() }));
    }
    let (named, body) = (unique_key(), json!({ "name": "Cleo" }));
    let answer = posts(client, "/v1/accounts", &named, &body).await.has_status(201);
    asked.push(json!({ "path": "/v1/accounts", "name": named, "body": body,
        "status": answer.status, "answer": answer.without_request_id() }));
    withdraws(&ada, "2", &ben.token_account, app.admin()).await;
    finalizes_all(&operator.chain).await;
    entries_once(&ada, 5).await;
    entries_once(&ben, 2).await;
    let denials = file_of(client, 2).await;
    loosens_after(&operator, 86_400).await;
    client.patch(&ada.path("/policy"), &json!({ "max_single_transfer": 50 })).await.has_status(202);
    let browser = Browser::signed_in(&app.base_url(), client.key()).await;
    app.admin_client().get("/readyz").await.has_status(200);
    let stream = Stream::open(client, "", None).await;
    until("the head of the refusals is on the network", async || {
        seen.counts("operators", "head_signature IS NOT NULL").await == 1
    })
    .await;
    let mut said = says(client, &[&ada, &ben]).await;
    // What it holds is about to change.
    let listed = said["/v1/accounts"]["data"].as_array_mut().expect("a list");
    listed.retain(|account| account["account_id"] != dana.id.as_str());

    // The node lists a transaction and does not show it.
    proxy.lies().shows_history(Some((1, WrongHistory::NotFetched { per_mille: 1_000 })));
    let eve = operator.creates_account("Eve").await;
    mints(&operator.chain, "1", &eve.token_account).await;
    until("it is asked for again and again", async || seen.counts("pending_fetches", "tries > 4").await > 0)
        .await;
    proxy.lies().clears();
    let old = json!({ "url": "http://127.0.0.1:9/old", "events": ["account.halted"] });
    let old = client.post("/v1/webhooks", &old).await.has_status(201);
    eve.sets_policy(json!({ "paused": true })).await;

    let mark = unique_key();
    proxy.outcomes().orders(&mark, [Outcome::Dropped { sends: u32::MAX }; 3]);
    let in_flight = dana.pays("3").to(&payee).memo(&mark).key(&mark);
    let order = in_flight.body().clone();
    let asking = tokio::spawn(async move { in_flight.await });
    until("a payment is in flight", async || {
        let listed = client.get(&format!("/v1/transfers?idempotency_key={mark}")).await;
        listed["data"][0]["status"] == "submitted" && listed["data"][0]["tx_signature"].is_string()
    })
    .await;
    asking.abort();
    let storm: Vec<Value> = (0..STORM)
        .map(|number| dana.pays(STORM_USDC).to(&payee).key(&format!("{mark}-{number}")).body().clone())
        .collect();
    let asking = all_ask(client, &storm);
    until("some of the storm are paid", async || operator.chain.usdc_micros(&payee).await > 0).await;
    client.delete(&format!("/v1/webhooks/{}", old.text_of("id"))).await.has_status(204);
    app.crashes();
    asking.await.expect("nobody waits for an answer any more");
    assert_eq!(seen.empty().await, EMPTY.map(|(table, _)| table));
    let facts = json!({
        "made_at_ms": unix_ms(),
        "operator": { "id": operator.id, "address": operator.address.to_string(),
            "keys": [client.key(), second_key] },
        "agent": { "id": ada.id, "key": agent_key },
        "payee": payee.to_string(),
        "allowed": ben.id,
        "in_flight": order,
        "storm": storm,
        "cookie": browser.cookie(),
        "stream": stream.last_id,
        "paused": eve.id,
        "asked": asked,
        "denials": denials,
        "said": said,
    });
    fs::write(kept.file("said.json"), serde_json::to_string_pretty(&facts).expect("it is JSON"))
        .expect("the folder is writable");
    for name in KEYPAIRS.map(|name| format!("{name}.json")) {
        fs::copy(app.folder().join(&name), kept.file(&name)).expect("it can be copied");
    }
    match &database {
        Some(database) => {
            let to = path_text(&kept.file("purser.sql")).to_owned();
            runs(&["pg_dump", "--no-owner", "--no-privileges", "--file", &to, &database.url()]);
        }
        None => {
            for (path, bytes) in app.saved_database() {
                fs::write(kept.file(path.file_name().and_then(|it| it.to_str()).expect("a name")), bytes)
                    .expect("the folder is writable");
            }
            // One file, with what its log held.
            let file = rusqlite::Connection::open(kept.file("purser.db")).expect("it opens");
            file.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("it is written");
        }
    }
    network.stops();
    let chain = rusqlite::Connection::open(kept.file("chain.sqlite")).expect("it opens");
    chain.execute_batch(NOT_KEPT).expect("it is written");
    Some(kept)
}

async fn posts(client: &Client, path: &str, name: &str, body: &Value) -> Answer {
    client.sends(client.request(Method::POST, path).header("idempotency-key", name).json(body)).await
}

fn runs(command: &[&str]) {
    let output = Command::new(command[0]).args(&command[1..]).output().expect("the program is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the API says of an operator and these accounts, by path.
async fn says(client: &Client, agents: &[&Agent]) -> Value {
    let mut paths: Vec<String> =
        ["/v1/accounts", "/v1/transfers", "/v1/webhooks", "/v1/events"].map(str::to_owned).to_vec();
    for agent in agents {
        let below = ["", "/policy", "/policy/versions", "/keys", "/transactions"];
        paths.extend(below.map(|below| agent.path(below)));
    }
    let mut said = json!({});
    for path in paths {
        said[&path] = client.get(&with_limit(&path)).await.has_status(200).body.clone();
    }
    said
}

/// Lists are asked for whole; an account and a policy are no lists.
fn with_limit(path: &str) -> String {
    let is_account = path.starts_with("/v1/accounts/") && path.matches('/').count() == 3;
    if is_account || path.ends_with("/policy") { path.to_owned() } else { format!("{path}?limit=100") }
}

/// Starts this build on what was kept, at the time at which it was made.
async fn opens(kept: Kept) {
    let facts: Value =
        serde_json::from_slice(&fs::read(kept.file("said.json")).expect("it is there")).expect("it is JSON");
    let behind_ms = facts["made_at_ms"].as_i64().expect("a time") - unix_ms();
    let record = kept.file("network.json");
    let mut network: Value =
        serde_json::from_slice(&fs::read(&record).expect("it is there")).expect("it is JSON");
    network["clock_ahead_ms"] = behind_ms.into();
    fs::write(&record, network.to_string()).expect("the folder is writable");
    // The network of a version before keeps accounts in the layout of its program, and runs this build's.
    layout_3::convert_network(&kept.file("chain.sqlite"), &purser::ID);
    let network = TestNetwork::kept_in(kept.folder.path());
    let clock = HostClock::new();
    clock.is_ahead(behind_ms / 1_000);
    let database = match kept.is_postgres {
        true => TestDatabase::create().await,
        false => None,
    };
    if let Some(database) = &database {
        let psql = ["psql", "-q", "-v", "ON_ERROR_STOP=1", &database.url()];
        runs(&[&psql[..], &["-f", path_text(&kept.file("purser.sql"))]].concat());
        runs(&[&psql[..], &["-c", &server_clock(behind_ms)]].concat());
    }
    let settings =
        AppSettings { database, host_clock: Some(clock), indexer_interval_ms: 200, ..AppSettings::default() };
    let app = TestApp::start_from(kept.folder, network, &settings).await;
    let text = |pointer: &str| facts.pointer(pointer).and_then(Value::as_str).expect("a text").to_owned();
    let address: Pubkey = text("/operator/address").parse().expect("base58");
    let operator = Operator::kept(&app, &text("/operator/id"), address, &text("/operator/keys/0"));
    // Killed under load once more, as it takes up what it found.
    let storm = facts["storm"].as_array().map_or(&[][..], Vec::as_slice);
    let asking = all_ask(&operator.client, storm);
    tokio::time::sleep(Duration::from_millis(150)).await;
    app.crashes();
    asking.await.expect("nobody waits for an answer any more");
    app.starts();
    let operator = operator.reconnected();
    let client = &operator.client;

    for (path, before) in facts["said"].as_object().expect("by path") {
        for by in ["/operator/keys/0", "/operator/keys/1"] {
            let now = client.with_key(&text(by)).get(&with_limit(path)).await.has_status(200);
            keeps(path, before, &now.body);
        }
    }
    let own = format!("/v1/accounts/{}", text("/agent/id"));
    client.with_key(&text("/agent/key")).get(&own).await.has_status(200);
    // Keys of before there were scopes have all.
    for (list, scopes) in [("/v1/keys", json!(["admin"])), (&*format!("{own}/keys"), json!(["read", "pay"]))]
    {
        let listed = client.get(list).await.has_status(200);
        let keys = listed["data"].as_array().expect("a list");
        assert!(!keys.is_empty() && keys.iter().all(|key| key["scopes"] == scopes), "{}", listed.text);
    }
    for asked in facts["asked"].as_array().expect("a list") {
        let path = asked["path"].as_str().expect("a text");
        let again = match asked["name"].as_str() {
            Some(name) => posts(client, path, name, &asked["body"]).await,
            None => client.post(path, &asked["body"]).await,
        };
        assert_eq!(again.status, asked["status"], "{asked}: {}", again.text);
        // A payment that failed is tried anew.
        if again["error"] != "insufficient_balance" {
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{asked}");
            keeps(path, &asked["answer"], &again.body);
        }
    }
    let browser = Browser::new(&app.base_url());
    browser.holds(facts["cookie"].as_str());
    browser.reads("/dashboard").await.has_status(200).says("Ada");
    Stream::open(client, "", facts["stream"].as_str()).await.event().await;
    let eve = operator.reads_account(&text("/paused")).await.has_status(200);
    assert_eq!(eve["status"], "paused");
    // The deposit that no node showed.
    entries_once(&Agent::of(&operator, &eve), 1).await;
    ends_once(&operator, &facts).await;
    goes_on(&operator, &facts).await;
}

/// Whether a later answer still says what an earlier one did. It may say more.
fn keeps(path: &str, before: &Value, now: &Value) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (field, before) in before.iter().filter(|(field, _)| !MOVING.contains(&field.as_str())) {
                let now = now.get(field).unwrap_or_else(|| panic!("{path}: {field} is gone"));
                keeps(&format!("{path} {field}"), before, now);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.iter().any(Value::is_object) => {
            for one in before {
                let name = |value: &Value| {
                    ["account_id", "transfer_id", "id", "version", "rule"].map(|field| value[field].clone())
                };
                let found = now.iter().find(|other| name(other) == name(one));
                keeps(path, one, found.unwrap_or_else(|| panic!("{path}: {one} is gone")));
            }
        }
        _ => assert_eq!(before, now, "{path}"),
    }
}

/// Has a Postgres show the time at which the database was made: by its clock sessions end and rows are deleted.
fn server_clock(ahead_ms: i64) -> String {
    format!(
        "CREATE SCHEMA clock; CREATE FUNCTION clock.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql
            AS $$ SELECT pg_catalog.clock_timestamp() + INTERVAL '{ahead_ms} milliseconds' $$;
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET search_path = public, clock, pg_catalog', current_database());
        END $$;"
    )
}

/// All of these at once, some of which get no answer.
fn all_ask(client: &Client, orders: &[Value]) -> JoinHandle<()> {
    let asked: Vec<_> = orders
        .iter()
        .map(|order| (client.clone(), client.request(Method::POST, "/v1/transfers").json(order)))
        .collect();
    tokio::spawn(async move {
        let mut asking: JoinSet<_> = asked
            .into_iter()
            .map(|(client, request)| async move { drop(client.tries(request).await) })
            .collect();
        while asking.join_next().await.is_some() {}
    })
}

/// What was in flight or asked for is paid once, under one transfer each.
async fn ends_once(operator: &Operator, facts: &Value) {
    let storm = facts["storm"].as_array().map_or(&[][..], Vec::as_slice);
    for order in [&facts["in_flight"]].into_iter().chain(storm) {
        let key = order["idempotency_key"].as_str().expect("a text");
        let mut paid = operator.client.post("/v1/transfers", order).await;
        until("the payment ends", async || {
            if paid.status != 200 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                paid = operator.client.post("/v1/transfers", order).await;
            }
            paid.status == 200
        })
        .await;
        let settled = format!("/v1/transfers?idempotency_key={key}&status=settled");
        let listed = operator.client.get(&settled).await;
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{}", listed.text);
        assert!(operator.chain.has_settled(paid.text_of("tx_signature")).await);
    }
    let payee: Pubkey = facts["payee"].as_str().expect("a text").parse().expect("base58");
    let paid = 3_000_000 + 100_000 * storm.len() as u64;
    assert_eq!(operator.chain.usdc_micros(&payee).await, paid);
}

/// Payments are made, and refusals are signed in the chain that was there.
async fn goes_on(operator: &Operator, facts: &Value) {
    let own = format!("/v1/accounts/{}", facts["agent"]["id"].as_str().expect("a text"));
    let ada = Agent::of(operator, &operator.client.get(&own).await.has_status(200));
    let payment = |usdc: &str| ada.pays(usdc).field("to", facts["allowed"].clone()).memo("after");
    payment("1").insists().await;
    payment("11").await.is_error(402, "policy_violation");
    // An event about no account, which the tables of 0.1.0 refused.
    operator.client.patch(&own, &json!({ "name": "Ada after" })).await.has_status(200);
    let announced = operator.client.get("/v1/events?type=action.recorded&limit=1").await.has_status(200);
    assert_eq!(announced["data"][0]["data"]["after"], json!({ "name": "Ada after" }));
    let before = facts["denials"].as_str().expect("a text");
    let file = file_of(&operator.client, before.lines().count() + 1).await;
    assert!(file.starts_with(before), "{file}");
    let (status, report) = audits(&file, &[]);
    assert_eq!(status, 0, "{report}");
}
